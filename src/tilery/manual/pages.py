"""The reference as plain data and as Markdown, made from the tables. `python -m tilery.docs` rewrites the pages."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from enum import Enum
from inspect import cleandoc
from pathlib import Path
from textwrap import dedent
from typing import Any

from .. import attrs, types
from ..attrs import Attr, TileEnum
from ..bytecode import debuginfo, typecodec
from ..bytecode.layout import OpLayout, WireKind, WireStep, flag_bits, layout
from ..declare.fastclass import fields
from ..declare.fields import INFER, REQUIRED, AttrKind, Field
from ..declare.operation import OpDef, registered
from ..declare.relations import Trait
from ..text import format
from ..types import F32, I32, SCALARS, PaddingValue, PtrAttr, Scalar, Tile, Type
from ..version import SUPPORTED, Version

HEADER = "<!-- Made by `python -m tilery.docs` from the tables in src/tilery. Do not edit. -->\n"
FORMS = {
    "type": "index of a type",
    "i64s": "count and 64-bit integers",
    "i32s": "count and 32-bit integers",
    "u32": "integer",
    "enum": "number of a keyword",
}
ROLES = {"operand": "operands", "attr": "attributes", "out": "results", "region": "regions"}


# ---------------------------------------------------------------- operations as data


def describe(opdef: OpDef, version: Version | None = None) -> dict[str, Any]:
    """All that the table says of an operation, as plain data; with a version, without what is newer."""
    fields = [f for f in opdef.fields if f.role in ROLES and (version is None or f.since <= version)]
    return {
        "name": opdef.mnemonic,
        "class": opdef.cls.__name__,
        "opcode": opdef.opcode,
        "since": str(opdef.since),
        "group": opdef.group,
        "summary": opdef.summary,
        "description": opdef.description,
        "formerly": opdef.formerly or None,
        **{title: [_field(f) for f in fields if f.role == role] for role, title in ROLES.items()},
        "traits": {trait.name.lower(): trait.value for trait in Trait if opdef.has(trait)},
        "constraints": [rule.text for rule in opdef.rules],
        "parents": list(opdef.parents),
        "implicit_terminator": opdef.implicit or None,
        "format": None if opdef.format == "custom" else opdef.format,
        "example": dedent(opdef.example).strip("\n"),
        "layout": {str(v): wire(opdef, v) for v in SUPPORTED if opdef.since <= v and version in (None, v)},
    }


def _field(f: Field) -> dict[str, Any]:
    data: dict[str, Any] = {"name": f.name, "python": f.attr, "type": _kind(f), "since": str(f.since), "doc": f.doc}
    if f.role in ("operand", "attr"):
        data["required"] = f.default is REQUIRED
        data["default"] = None if f.default is REQUIRED or f.arity == "var" else _default(f)
    if f.enum is not None:
        data["values"] = [{"text": m.text, "since": str(m.since)} for m in f.only or f.enum]
    return data


def _kind(f: Field) -> str:
    """What a field holds, in words."""
    if f.role == "region":
        return "region" if f.arity == "one" else "region, may be absent"
    if f.role == "attr":
        text: str = f.enum.__name__ if f.enum is not None else f.kind.value
        return text if f.minimum is None else f"{text}, at least {f.minimum}"
    text = f.kind.text
    if text.endswith(" or "):  # NVIDIA's message for "a number or any type of the dialect" ends like this
        text = "any type"
    text = text.replace(" or ", ", ")
    return f"any number of: {text}" if f.arity == "var" else text


def _default(f: Field) -> str:
    if f.default is INFER:
        return "follows from the operands"
    match f.default:
        case None | False:
            return "absent"
        case TileEnum():
            return str(f.default.text)
    return str(f.default)


def wire(opdef: OpDef, version: Version) -> list[str] | None:
    """What an operation looks like in bytecode, one phrase per item; None for what has a section of its own."""
    if opdef.has(Trait.SYMBOL):
        return None
    plan = layout(opdef, version)
    return [f"opcode 0x{opdef.opcode:02X}", *(_step(plan, step) for step in plan.steps)]


def _step(plan: OpLayout, step: WireStep) -> str:
    name = f"'{step.field.name}'" if step.field else ""
    when = " if flagged" if step.bit >= 0 else ""
    match step.kind:
        case WireKind.RESULT:
            return f"type of {name}"
        case WireKind.RESULTS:
            return f"types of {name}"
        case WireKind.FLAGS:
            bits = {n: bit for n, bit in flag_bits(plan.opdef).items() if plan.opdef.field(n).since <= plan.version}
            return "flags (" + ", ".join(f"bit {bit} '{n}'" for n, bit in bits.items()) + ")"
        case WireKind.SEGMENT:
            return f"number of {name}, {name}"
        case WireKind.REGION:
            return f"region {name}"
        case WireKind.ATTR | WireKind.OPERAND | WireKind.OPTIONAL | WireKind.REST:
            return name + when
    return str(step.kind.value).removeprefix("the ")


def groups() -> dict[str, list[OpDef]]:
    """The operations by chapter, both in alphabetical order."""
    out: dict[str, list[OpDef]] = {}
    for opdef in sorted(registered(), key=lambda d: (d.group, d.mnemonic)):
        out.setdefault(opdef.group, []).append(opdef)
    return out


# ---------------------------------------------------------------- operations as Markdown


def _slug(title: str) -> str:
    return title.lower().replace(" ", "-")


def _cell(text: object) -> str:
    return str(text).replace("|", "\\|")


def _table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> Iterator[str]:
    columns = list(head)
    yield "| " + " | ".join(columns) + " |"
    yield "|" + "---|" * len(columns)
    for row in rows:
        yield "| " + " | ".join(map(_cell, row)) + " |"
    yield ""


def _code(text: str, language: str = "") -> Iterator[str]:
    yield from (f"```{language}", text, "```", "")


def _operation(opdef: OpDef) -> Iterator[str]:
    data = describe(opdef)
    yield from (f"## {opdef.mnemonic}", "")
    yield from (data["summary"], "")
    if data["description"]:
        yield from (data["description"], "")
    facts = [f"Since {data['since']}", f"opcode 0x{opdef.opcode:02X}", f"Python class `{data['class']}`"]
    if opdef.formerly:
        facts.append(f"formerly `{opdef.formerly}`")
    yield from (", ".join(facts) + ".", "")
    if data["format"]:
        yield from _code(_syntax(opdef))
    for title in ROLES.values():
        yield from _fields(title, data[title])
    yield from _rules(data)
    yield from ("Example:", "")
    yield from _code(data["example"], "mlir")
    yield from _layouts(data["layout"])


def _syntax(opdef: OpDef) -> str:
    results = ", ".join(f"%{f.name}" for f in opdef.outs)
    return (results + " = " if results else "") + f"`{opdef.mnemonic}` {opdef.format}"


def _fields(title: str, fields: list[dict[str, Any]]) -> Iterator[str]:
    if not fields:
        return
    defaults = "default" in fields[0]
    head = [title.capitalize().removesuffix("s"), "Type", *(["Default"] if defaults else []), "Since", "Meaning"]
    rows = []
    for f in fields:
        python = "" if f["python"] == f["name"] else f" (Python: `{f['python']}`)"
        default = [] if not defaults else ["required" if f["required"] else f["default"] or ""]
        rows.append([f"`{f['name']}`{python}", _linked(f), *default, f["since"], f["doc"]])
    yield from _table(head, rows)


def _linked(f: dict[str, Any]) -> str:
    if "values" not in f:
        return str(f["type"])
    name = f["type"]
    return f"[{name}](../enums.md#{name.lower()}): " + ", ".join(f"`{v['text']}`" for v in f["values"])


def _rules(data: dict[str, Any]) -> Iterator[str]:
    lines = [f"`{name}`: {text}" for name, text in data["traits"].items()]
    lines += [f"`{text}`" for text in data["constraints"]]
    if data["parents"]:
        lines.append("stands in " + ", ".join(f"`{p}`" for p in data["parents"]))
    if data["implicit_terminator"]:
        lines.append(f"text may leave out an empty `{data['implicit_terminator']}` at the end of its body")
    if lines:
        yield from ("Traits and constraints:", "")
        yield from (f"- {line}" for line in lines)
        yield ""


def spans(layouts: dict[str, list[str] | None]) -> list[tuple[str, list[str]]]:
    """Layouts by span of versions, neighbours that are equal taken together."""
    found: list[tuple[str, str, list[str]]] = []
    for version, items in layouts.items():
        if items is None:
            continue
        if found and found[-1][2] == items:
            found[-1] = (found[-1][0], version, items)
        else:
            found.append((version, version, items))
    return [(a if a == b else f"{a} to {b}", items) for a, b, items in found]


def _layouts(layouts: dict[str, list[str] | None]) -> Iterator[str]:
    rows = [(label, " · ".join(items).replace("'", "`")) for label, items in spans(layouts)]
    if rows:
        yield from _table(["Bytecode", "Layout"], rows)
    else:
        yield from ("It is no item of a function's code: see [the bytecode container](../../bytecode.md).", "")


def _group_page(group: str, opdefs: list[OpDef]) -> Iterator[str]:
    yield from (f"# {group}", "")
    yield " · ".join(f"[{d.mnemonic}](#{d.mnemonic})" for d in opdefs)
    yield ""
    for opdef in opdefs:
        yield from _operation(opdef)


def _index_page(chapters: dict[str, list[OpDef]]) -> Iterator[str]:
    total = sum(map(len, chapters.values()))
    yield from ("# Operations", "", f"{total} operations in {len(chapters)} chapters.", "")
    yield from _legend()
    for group, opdefs in chapters.items():
        yield from (f"## [{group}]({_slug(group)}.md)", "")
        rows = [(f"[{d.mnemonic}]({_slug(group)}.md#{d.mnemonic})", d.since, d.summary) for d in opdefs]
        yield from _table(["Operation", "Since", "Summary"], rows)


def _legend() -> Iterator[str]:
    """How to read the syntax, in the words of the module that defines it."""
    yield from ("## How to read the syntax", "")
    yield from _code(cleandoc(format.__doc__ or "").partition("\n\n")[2])
    yield from _table(
        ["Form", "Meaning"], [(f"`{k}($field)`" if k else "`$field`", v) for k, v in format.KINDS.items()]
    )


# ---------------------------------------------------------------- types, attributes, enums


def type_examples() -> list[Type]:
    """One type of each class but Scalar."""
    view = types.TensorView(F32, (types.DYNAMIC, 64), (64, 1))
    return [
        types.Ptr(F32),
        Tile((4, 8), F32),
        view,
        types.PartitionView((8, 64), view, padding_value=PaddingValue.ZERO),
        types.StridedView((8, 64), (4, 64), view),
        types.GatherScatterView((8, 64), view, 0),
        types.TOKEN,
        types.STRING,
        types.Function((Tile((), types.Ptr(F32)), Tile((), I32))),
        types.Foreign("tensor<4xf32>"),
    ]


def _types_page() -> Iterator[str]:
    yield from ("# Types", "", "Types are interned: equal types are the same object.", "")
    yield from ("## Element types", "", _paragraph(Scalar), "")
    rows = [(f"`{s.name}`", s.kind, s.bits, s.tag, s.since) for s in SCALARS.values()]
    yield from _table(["Name", "Kind", "Bits", "Tag in bytecode", "Since"], rows)
    for example in type_examples():
        yield from _type(example)


def _type(example: Type) -> Iterator[str]:
    cls = example.__class__
    yield from (f"## {cls.__name__}", "", _paragraph(cls), "")
    yield from _code(example.text, "mlir")
    row = next((row for row in typecodec.ROWS if row.cls is cls), None)
    if row is not None:
        yield from (f"Since {row.since}, tag {row.tag} in bytecode.", "")
    elif cls is types.Function:
        yield from (f"Tag {typecodec.FUNCTION_TAG} in bytecode; a count and types, for parameters and for results.", "")
    else:
        yield from ("It has no place in bytecode.", "")
    if row is not None and row.params:
        yield from _table(["Parameter", "In bytecode", "Since"], map(_param, row.params))


def _param(p: typecodec.Param) -> tuple[str, str, Version]:
    form = FORMS[p.form.split()[0]]
    return f"`{p.attr}`", f"{form}: {p.enum.__name__}, may be absent" if p.enum else form, p.since


def _paragraph(cls: type) -> str:
    """The docstring of a class without its doctests."""
    return cleandoc(cls.__doc__ or "").split(">>>")[0].strip()


def _subclasses(root: type) -> list[type]:
    """All classes of `attrs` below, in the order of their definition."""
    found: list[type] = []
    todo = [root]
    while todo:
        below: list[type] = todo.pop(0).__subclasses__()
        found += [cls for cls in below if cls.__module__ == attrs.__name__]
        todo += below
    return found


def _attributes_page() -> Iterator[str]:
    yield from ("# Attributes", "")
    yield from ("## What a field of an operation may hold", "")
    uses: dict[AttrKind, list[str]] = {kind: [] for kind in AttrKind}
    for opdef in registered():
        for f in opdef.attrs:
            if opdef.mnemonic not in uses[f.kind]:
                uses[f.kind].append(opdef.mnemonic)
    rows = [(f"`{kind.name}`", kind.value, _some(names)) for kind, names in uses.items()]
    yield from _table(["Kind", "Value", "Used by"], rows)
    yield from ("## Attribute values", "", "Attributes are immutable and compare by content.", "")
    # Debug information has tables of its own in bytecode.
    debug = {row.cls.__name__: row for row in debuginfo.ROWS}
    for cls in _subclasses(Attr):
        if "_specs" not in cls.__dict__:
            continue
        yield from (f"### {cls.__name__}", "", _paragraph(cls), "")
        if names := fields(cls):
            yield from ("Fields: " + ", ".join(f"`{n}`" for n in names) + ".", "")
        if (row := debug.get(cls.__name__)) is not None:
            parts = ", ".join(f"`{p.attr}`" for p in row.parts)
            yield from (f"In the debug section: tag {row.tag}, then {parts}.", "")


def _some(names: list[str], limit: int = 8) -> str:
    shown = ", ".join(f"`{n}`" for n in names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"


def enums() -> list[type[Enum]]:
    """Every closed set of keywords."""
    return [*_subclasses(TileEnum), PaddingValue, PtrAttr]


def _enums_page() -> Iterator[str]:
    yield from ("# Enums", "", "Text has the keyword, bytecode the number.", "")
    for cls in enums():
        yield from (f"## {cls.__name__}", "", _paragraph(cls), "")
        rows = [(f"`{m.text}`", m.value, getattr(m, "since", "")) for m in cls]  # type: ignore[attr-defined]  # every enum here has `text`
        yield from _table(["Keyword", "Number", "Since"], rows)
        used = [f"`{d.mnemonic}`" for d in registered() if any(f.enum is cls for f in d.attrs)]
        if used:
            yield from ("Used by " + ", ".join(used) + ".", "")


def _versions_page() -> Iterator[str]:
    yield from (
        "# What versions add",
        "",
        f"{SUPPORTED[0]} is the first version of the bytecode; what came later is here.",
        "",
    )
    for version in SUPPORTED[1:]:
        yield from (f"## {version}", "")
        yield from (f"- {line}" for line in _news(version))
        yield ""


def _news(version: Version) -> Iterator[str]:
    for opdef in registered():
        link = f"[{opdef.mnemonic}](operations/{_slug(opdef.group)}.md#{opdef.mnemonic})"
        if opdef.since == version:
            yield f"operation {link}: {opdef.summary}"
        else:
            yield from (
                f"`{f.name}` of {link}: {f.doc}" for f in opdef.fields if f.since == version and f.role in ROLES
            )
    yield from (f"element type `{s.name}`" for s in SCALARS.values() if s.since == version)
    for row in typecodec.ROWS:
        if row.since == version:
            yield f"type [{row.cls.__name__}](types.md#{row.cls.__name__.lower()})"
        else:
            yield from (f"`{p.attr}` of type {row.cls.__name__}" for p in row.params if p.since == version)
    for cls in enums():
        yield from (f"`{m.text}` of {cls.__name__}" for m in cls if getattr(m, "since", None) == version)  # type: ignore[attr-defined]  # every enum here has `text`


# ---------------------------------------------------------------- execution


def _execution_page() -> Iterator[str]:
    """What the reference engine gives for each operation. NumPy is needed to know it."""
    from ..engines.reference import load_operations
    from ..engines.reference.registry import RUNS

    load_operations()
    yield from ("# What executing an operation gives", "")
    yield from (
        "The reference engine is exact: integers wrap around, floats are rounded once in the mode that the operation",
        "names, a NaN that arithmetic makes has NVIDIA's bits. The table says for each operation what is not exact but",
        "within a bound, what the specification leaves open, and what the engine does then. The same inputs give the",
        "same bits whatever the size of the batch and the number of threads, unless tile blocks race for memory; only",
        "the last bits of transcendental functions and of matrix products can depend on the libraries behind NumPy.",
        "",
    )
    for group, opdefs in groups().items():
        yield from (f"## {group}", "")
        rows = []
        for d in opdefs:
            run = RUNS.get(d.cls)
            rows.append((f"[{d.mnemonic}](operations/{_slug(group)}.md#{d.mnemonic})", (run and run.note) or "exact"))
        yield from _table(["Operation", "Result"], rows)


# ---------------------------------------------------------------- files


def pages() -> dict[str, str]:
    """Every generated page by its path below docs/reference."""
    chapters = groups()
    made: dict[str, Iterator[str]] = {
        "types.md": _types_page(),
        "attributes.md": _attributes_page(),
        "enums.md": _enums_page(),
        "versions.md": _versions_page(),
        "execution.md": _execution_page(),
        "operations/index.md": _index_page(chapters),
    }
    for group, opdefs in chapters.items():
        made[f"operations/{_slug(group)}.md"] = _group_page(group, opdefs)
    return {path: HEADER + "\n" + "\n".join(lines).rstrip("\n") + "\n" for path, lines in made.items()}


def stale(folder: Path) -> list[str]:
    """The pages below `folder` that differ from the tables, are missing, or should not be there."""
    made = pages()
    found = {str(p.relative_to(folder)).replace("\\", "/"): p.read_text("utf-8") for p in folder.rglob("*.md")}
    return sorted(path for path in {*made, *found} if made.get(path) != found.get(path))


def main(argv: list[str] | None = None) -> int:
    """Rewrite the pages, or with --check say which ones are stale."""
    parser = argparse.ArgumentParser(prog="python -m tilery.docs", description=main.__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("docs/reference"), help="default: docs/reference")
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 if a page is stale")
    args = parser.parse_args(argv)
    old = stale(args.folder)
    if args.check:
        for path in old:
            sys.stderr.write(f"stale: {args.folder / path}\n")
        return int(bool(old))
    made = pages()
    for path in old:
        target = args.folder / path
        if path not in made:
            target.unlink()
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(made[path], "utf-8")
    sys.stdout.write(f"{len(made)} pages, {len(old)} rewritten\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
