"""Grammars for editors, made from the tables: TextMate (VS Code, GitHub) and Vim. `highlighting` is for Pygments."""

from __future__ import annotations

import json
import re

from ..declare.operation import BY_NAME
from ..ops import registered
from ..text import DIALECT
from ..text.format import literals, pieces_of
from ..text.parse.types import MNEMONICS
from ..types import SCALARS
from .describe import enums

SCOPE = "source.tileir"
CUSTOM = ("in", "to", "step", "iter_values", "unsigned", "shape", "strides", "else", "attributes", "optimization_hints",
          "loc", "dense", "array", "true", "false", "unit", "callsite", "fused", "at", "unknown", "tile", "dim_map",
          "padding_value", "traversal_strides", "sparse_dim", "div_by", "same_elements", "bounded", "every",
          "along")  # fmt: skip
"""The words of forms that are parsed by hand, and of attributes and types."""
NUMBER = r"-?\b(?:0x[0-9A-Fa-f]+|[0-9]+(?:\.[0-9]*(?:[eE][-+]?[0-9]+)?)?)\b"


def operations() -> list[str]:
    """Return the names of all operations, old names too, longest first."""
    known = {id(d) for d in registered(testing=True)}
    return _ordered({name for name, d in BY_NAME.items() if id(d) in known} | {"module"})


def types() -> list[str]:
    """Return the words that start types."""
    return _ordered({*SCALARS, *MNEMONICS, "token"})


def enum_words() -> list[str]:
    """Return the words of all enums."""
    return _ordered({member.text for enum in enums() for member in enum})


def keywords() -> list[str]:
    """Return the words of the formats that are neither operations nor words of enums."""
    found = {word for d in registered() if d.format != "custom" for word in literals(pieces_of(d.cls))}
    return _ordered((found | set(CUSTOM)) - set(enum_words()) - set(types()))


def _ordered(words: set[str]) -> list[str]:
    return sorted(words, key=lambda word: (-len(word), word))


def alternatives(words: list[str]) -> str:
    """Return a pattern for one of the words, as a whole word."""
    return rf"(?<![\w$.%@#!])(?:{'|'.join(map(re.escape, words))})(?![\w$.])"


def rules() -> list[tuple[str, str]]:
    """Return a scope and a pattern for each kind of token; the first that matches counts."""
    prefix = f"(?:{re.escape(DIALECT)})?"
    names = "|".join(map(re.escape, operations()))
    return [
        ("comment.line.double-slash", r"//.*$"),
        ("entity.name.function", r'@(?:[A-Za-z_][\w$.]*|"(?:[^"\\]|\\.)*")'),
        ("support.function.generic", rf'"{re.escape(DIALECT)}[a-z_0-9$]+"(?=\()'),
        ("string.quoted.double", r'"(?:[^"\\]|\\.)*"'),
        ("variable.other", r"%(?:[0-9]+|[A-Za-z$._-][\w$.-]*)(?:#[0-9]+)?"),
        ("entity.name.type.alias", r"![A-Za-z_][\w$-]*(?![\w.])"),
        ("constant.other.alias", r"#[A-Za-z_][\w$.-]*"),
        ("entity.name.label", r"\^[\w$.-]+"),
        ("keyword.control", rf"(?:(?<==\s)|(?<==)|^\s*|(?<=[{{}}]\s))({prefix}(?:{names}))(?![\w$.])"),
        ("storage.type", rf"!?{prefix}{alternatives(types())}"),
        ("constant.language", alternatives(enum_words())),
        ("keyword.other", alternatives(keywords())),
        ("storage.type", r"(?<=x)(?:[a-z]+[0-9][A-Za-z0-9]*|ptr)\b"),
        ("constant.numeric", r"(?:\b|(?<=x))[0-9]+(?=x)"),
        ("constant.numeric", NUMBER),
        ("keyword.operator", r"->|="),
    ]


def textmate() -> str:
    """Return the grammar in TextMate's format."""
    patterns = []
    for scope, pattern in rules():
        rule: dict[str, object] = {"match": pattern}
        if scope == "keyword.control":
            rule["captures"] = {"1": {"name": f"{scope}.tileir"}}
        else:
            rule["name"] = f"{scope}.tileir"
        patterns.append(rule)
    grammar = {
        "$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json",
        "name": "CUDA Tile IR",
        "scopeName": SCOPE,
        "fileTypes": ["tileir", "cuda_tile.mlir"],
        "patterns": patterns,
    }
    return json.dumps(grammar, indent=2) + "\n"


def vim() -> str:
    """Return the syntax file of Vim and Neovim."""
    lines = [
        '" Syntax of CUDA Tile IR. Made by scripts/editors/grammars.py; do not edit.',
        'if exists("b:current_syntax") | finish | endif',
        "syntax iskeyword @,48-57,_,$,.",
    ]
    taken: set[str] = set()
    for group, words in (
        ("tileirOperation", [*operations(), *(DIALECT + name for name in operations())]),
        ("tileirType", types()),
        ("tileirEnum", enum_words()),
        ("tileirKeyword", keywords()),
    ):
        # The last group would win, but a word such as `addf` or `constant` is mostly an operation.
        seen = [word for word in sorted(words) if "$" not in word and word not in taken]
        taken.update(seen)
        lines += [f"syntax keyword {group} {' '.join(seen[at : at + 12])}" for at in range(0, len(seen), 12)]
    lines += [
        r"syntax match tileirNumber /-\?\<\(0x\x\+\|\d\+\(\.\d*\([eE][-+]\?\d\+\)\?\)\?\)/",
        r"syntax match tileirNumber /x\@<=\d\+\(x\|>\)\@=/",
        r"syntax match tileirElement /x\@<=\(ptr\|[a-z]\+\d\w*\)/",
        r"syntax match tileirValue /%[A-Za-z0-9$._-]\+\(#\d\+\)\?/",
        r"syntax match tileirSymbol /@[A-Za-z_][A-Za-z0-9_$.]*/",
        r"syntax match tileirAlias /[#!][A-Za-z_][A-Za-z0-9_$.-]*/",
        r'syntax region tileirString start=/"/ skip=/\\./ end=/"/ oneline',
        r"syntax match tileirComment /\/\/.*$/ contains=@Spell",
    ]
    links = {"Operation": "Statement", "Type": "Type", "Element": "Type", "Enum": "Constant", "Keyword": "Keyword",
             "Number": "Number", "Value": "Identifier", "Symbol": "Function", "Alias": "PreProc", "String": "String",
             "Comment": "Comment"}  # fmt: skip
    lines += [f"highlight default link tileir{name} {group}" for name, group in links.items()]
    return "\n".join([*lines, 'let b:current_syntax = "tileir"', ""])
