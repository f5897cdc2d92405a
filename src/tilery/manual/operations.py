"""The pages about operations: one per chapter, and an index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from inspect import cleandoc
from typing import Any

from ..declare.operation import OpDef
from ..ops.names import also
from ..text import format
from .describe import ROLES, describe, spans
from .markdown import code, slug, table


def _layouts(layouts: dict[str, list[str] | None]) -> Iterator[str]:
    rows = [(label, " · ".join(items).replace("'", "`")) for label, items in spans(layouts)]
    if rows:
        yield from table(["Bytecode", "Layout"], rows)
    else:
        yield from ("Not encoded in a function's body: see [the bytecode container](../../bytecode.md).", "")


def chapter_page(group: str, opdefs: list[OpDef]) -> Iterator[str]:
    yield from (f"# {group}", "")
    yield " · ".join(f"[{d.mnemonic}](#{d.mnemonic})" for d in opdefs)
    yield ""
    for opdef in opdefs:
        yield from operation(opdef)


def index_page(chapters: dict[str, list[OpDef]]) -> Iterator[str]:
    total = sum(map(len, chapters.values()))
    yield from ("# Operations", "", f"{total} operations in {len(chapters)} chapters.", "")
    yield from _legend()
    for group, opdefs in chapters.items():
        yield from (f"## [{group}]({slug(group)}.md)", "")
        rows = [(f"[{d.mnemonic}]({slug(group)}.md#{d.mnemonic})", d.since, d.summary) for d in opdefs]
        yield from table(["Operation", "Since", "Summary"], rows)


def names_page(chapters: dict[str, list[OpDef]]) -> Iterator[str]:
    """List the operations by the names that they have in cuTile, Triton and CUDA."""
    yield from ("# Operations by the names of cuTile, Triton and CUDA", "")
    yield "What `ct.bid`, `tl.dot` or `blockIdx` is called in Tile IR: the name that you know, and the operation."
    yield "`ct` is `cuda.tile`, `tl` is `triton.language`. A name may become several operations, depending on types."
    yield "`tilery ops cumsum` finds them in a terminal."
    yield ""
    found: dict[str, list[str]] = {}
    for group, opdefs in chapters.items():
        for opdef in opdefs:
            link = f"[{opdef.mnemonic}](operations/{slug(group)}.md#{opdef.mnemonic})"
            for name in also(opdef.mnemonic):
                found.setdefault(name, []).append(link)
    order = sorted(found, key=lambda name: (name.rpartition(".")[2].lower(), name))
    yield from table(["You know", "In Tile IR"], [(related([name]), ", ".join(found[name])) for name in order])


def _legend() -> Iterator[str]:
    """Explain how to read the syntax, with the docstring of the module that defines it."""
    yield from ("## How to read the syntax", "")
    yield from code(cleandoc(format.__doc__ or "").partition("\n\n")[2])
    yield from table(["Form", "Meaning"], [(f"`{k}($field)`" if k else "`$field`", v) for k, v in format.KINDS.items()])


def operation(opdef: OpDef) -> Iterator[str]:
    data = describe(opdef)
    yield from (f"## {opdef.mnemonic}", "")
    yield from (data["summary"], "")
    if data["description"]:
        yield from (data["description"], "")
    facts = [f"Since {data['since']}", f"opcode 0x{opdef.opcode:02X}", f"Python class `{data['class']}`"]
    if opdef.formerly:
        facts.append(f"formerly `{opdef.formerly}`")
    yield from (", ".join(facts) + ".", "")
    if data["also"]:
        yield from (f"Related names: {related(data['also'])}.", "")
    yield from code(_syntax(opdef))
    for title in ROLES.values():
        yield from _fields(title, data[title])
    for each in data["tables"]:
        yield from (f"The {each['title']}:", "")
        yield from table([f"`{column.replace(', ', '`, `')}`" for column in each["columns"]], each["rows"])
    yield from _rules(data)
    yield from ("Example:", "")
    yield from code(data["example"], "mlir")
    yield from _layouts(data["layout"])


def related(names: Iterable[str]) -> str:
    """List what other languages call an operation; names of code are marked as such."""
    return ", ".join(f"`{name}`" if "." in name or "_" in name else name for name in names)


def _syntax(opdef: OpDef) -> str:
    results = ", ".join(f"%{f.name}" for f in opdef.outs)
    return (results + " = " if results else "") + f"`{opdef.mnemonic}` {opdef.syntax or opdef.format}"


def _fields(title: str, fields: list[dict[str, Any]]) -> Iterator[str]:
    if not fields:
        return
    defaults = "default" in fields[0]
    head = [title.capitalize().removesuffix("s"), "Type", *(["Default"] if defaults else []), "Since", "Meaning"]
    rows = []
    for f in fields:
        text = "" if f["python"] == f["name"] else f" (text: `{f['name']}`)"
        default = [] if not defaults else ["required" if f["required"] else f["default"] or ""]
        rows.append([f"`{f['python']}`{text}", _linked(f), *default, f["since"], f["doc"]])
    yield from table(head, rows)


def _linked(f: dict[str, Any]) -> str:
    if "values" not in f:
        return str(f["type"])
    name = f["type"]
    return f"[{name}](../enums.md#{name.lower()}): " + ", ".join(f"`{v['text']}`" for v in f["values"])


def _rules(data: dict[str, Any]) -> Iterator[str]:
    lines = [f"`{name}`: {text}" for name, text in data["traits"].items()]
    lines += [f"`{text}`" for text in data["constraints"]]
    if data["parents"]:
        lines.append("must be inside " + ", ".join(f"`{p}`" for p in data["parents"]))
    if data["implicit_terminator"]:
        lines.append(f"in text, an empty `{data['implicit_terminator']}` at the end of its body may be omitted")
    if lines:
        yield from ("Traits and constraints:", "")
        yield from (f"- {line}" for line in lines)
        yield ""
