"""Rewrite text in the spelling of documents as real text: names, comments and order stay."""

from __future__ import annotations

from collections.abc import Callable

from ..declare.fastclass import dataclass, replace
from ..diag import TileError
from ..ir import Block, Op, Value
from ..ops import Assume, Entry
from ..text.lexer import tokens
from ..text.parse.parser import parse as parse_real
from ..text.parse.state import Extensions, Parser, Syntax
from ..text.print.chosen import show_named
from ..types import Function
from .parsing import TIMES, documented_syntax, parse_documented, respell_tokens


@dataclass(slots=True)
class _Edit:
    start: int
    end: int
    text: str


@dataclass(slots=True)
class _Statement:
    """An operation that has a documented form: its first token, the token after it, and the operations it became."""

    first: int
    end: int
    ops: list[Op]
    names: dict[Value, str]


def respell(text: str, *, file: str = "") -> str:
    """Return documented text in the real spelling; raise TileError if it cannot be read.

    >>> print(respell("entry @k() { %a = constant dense<i32: 1> : tile<i32> // one\\n return }"))
    entry @k() { %a = constant <i32: 1> : tile<i32> // one
     return }
    """
    found: list[_Statement] = []
    parsed = parse_documented(text, file=file, extensions=_recording(found))
    p = parsed.parser
    assert p is not None
    edits = [edit for statement in found for edit in _statement_edits(p, statement)]
    inside = [(edit.start, edit.end) for edit in edits]
    edits += [e for e in _token_edits(p) if not any(start <= e.start < end for start, end in inside)]
    out, at = [], 0
    for edit in sorted(edits, key=lambda e: e.start):
        out += [text[at : edit.start], edit.text]
        at = edit.end
    made = _with_letters("".join([*out, text[at:]]))
    try:
        parse_real(made, file=file)
    except TileError as error:
        error.notes = [*error.notes, "the text was read with --input documented, and this is how it reads without"]
        raise
    return made


def _recording(found: list[_Statement]) -> Extensions:
    """Return the extensions of the parser, such that they note each operation that they read."""
    usual = documented_syntax()

    def noting(parse: Callable[[Parser, int], object]) -> Callable[[Parser, int], Op]:
        def run(p: Parser, at: int) -> Op:
            block = p.scopes[-1].block
            before = len(block.ops)
            made = parse(p, at)
            assert isinstance(made, Op)
            ops = [*block.ops[before:], made]
            names = {value: name for name, value in p.values.items()}
            used = {v: names[v] for o in ops for v in o.operands if v in names}
            found.append(_Statement(at, p.i, ops, used))
            return made

        return run

    forms = {name: Syntax(form.mnemonic, noting(form.parse)) for name, form in usual.forms.items()}
    return replace(usual, forms=forms)


def _statement_edits(p: Parser, statement: _Statement) -> list[_Edit]:
    """Print an operation in its real form, unless it has that already."""
    lines = _printed(statement)
    start, end = p.token_span(statement.first)[0], p.token_span(statement.end - 1)[1]
    old = p.text[start:end]
    if len(lines) == 1 and tokens(old) == tokens(lines[0]):
        return []
    comments = "".join(f"// {c}\n" for c in _comments(old))
    if len(lines) > 1:
        lines = _several(p, statement, lines)
        start = p.token_span(statement.first - 2)[0]
    elif comments:
        return [_Edit(start, end, lines[0]), _Edit(_line_start(p.text, start), _line_start(p.text, start), comments)]
    return [_Edit(start, end, comments + "\n".join(lines))]


def _printed(statement: _Statement) -> list[str]:
    """Return each operation as text without its results, with the operands that the author wrote."""
    inner = {v for o in statement.ops for v in o.results}
    values = list(dict.fromkeys(v for o in statement.ops for v in o.operands if v not in inner))
    chosen = {v: f"operand{i}_" for i, v in enumerate(values)} | {v: f"made{i}_" for i, v in enumerate(inner)}
    entry = Entry(sym_name="k", function_type=Function([v.type for v in values]), body=Block(values, statement.ops))
    lines = show_named(entry, chosen).splitlines()[1 : 1 + len(statement.ops)]
    out = []
    for line, o in zip(lines, statement.ops):
        text = line.strip()
        text = text.split(" = ", 1)[1] if o.results else text
        for v in values:
            text = text.replace(f"%{chosen[v]}", statement.names.get(v, f"%{chosen[v]}"))
        out.append(text)
    return out


def _several(p: Parser, statement: _Statement, lines: list[str]) -> list[str]:
    """Name the results of assumptions that come from one statement."""
    name = p.toks[statement.first - 2]
    assert all(isinstance(o, Assume) for o in statement.ops)
    names: list[str] = []
    for _ in lines[:-1]:
        number = 0
        while (made := f"{name}_{number}") in p.toks or made in names:
            number += 1
        names.append(made)
    first = statement.names.get(statement.ops[0].operands[0], "")
    operands = [first, *names]
    out = []
    for index, (line, target) in enumerate(zip(lines, [*names, name])):
        predicate, _, _ = line.partition(", %")
        out.append(f"{target} = {predicate}, {operands[index]} : {statement.ops[index].results[0].type}")
    return out


def _token_edits(p: Parser) -> list[_Edit]:
    """Replace the words that have another spelling, and remove labels of bodies."""
    old = tokens(p.text)
    new = list(old)
    respell_tokens(new)
    edits = [_Edit(*p.token_span(i), b) for i, (a, b) in enumerate(zip(old, new)) if a != b]
    for i, token in enumerate(old[:-1]):
        if token[:1] == "^" and old[i + 1] == ":":
            edits.append(_Edit(p.token_span(i)[0], p.token_span(i + 1)[1], ""))
    return edits


def _with_letters(text: str) -> str:
    """Write a multiplication sign between sizes as a letter, without blanks around it."""
    return TIMES.sub(lambda found: found[0] if found[0][0] in '"/' else "x", text)


def _comments(text: str) -> list[str]:
    return [line.partition("//")[2].strip() for line in text.splitlines() if "//" in line]


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1
