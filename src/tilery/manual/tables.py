"""The pages about types, attributes, enums, versions and execution."""

from __future__ import annotations

from collections.abc import Iterator

from .. import types
from ..attrs import Attr
from ..bytecode import debuginfo, typecodec
from ..declare.fastclass import fields
from ..declare.fields import AttrKind
from ..engines.semantics import SEMANTICS
from ..ops import registered
from ..types import SCALARS, Scalar, Type
from ..version import SUPPORTED, Version
from .describe import ROLES, enums, groups, subclasses, type_examples
from .markdown import code, paragraph, slug, table

FORMS = {
    "type": "index of a type",
    "i64s": "count and 64-bit integers",
    "i32s": "count and 32-bit integers",
    "u32": "integer",
    "enum": "number of a keyword",
}


def types_page() -> Iterator[str]:
    yield from ("# Types", "", "Types are interned: equal types are the same object.", "")
    yield from ("## Element types", "", paragraph(Scalar), "")
    rows = [(f"`{s.name}`", s.kind, s.bits, s.tag, s.since) for s in SCALARS.values()]
    yield from table(["Name", "Kind", "Bits", "Tag in bytecode", "Since"], rows)
    for example in type_examples():
        yield from _type(example)


def _type(example: Type) -> Iterator[str]:
    cls = example.__class__
    yield from (f"## {cls.__name__}", "", paragraph(cls), "")
    yield from code(example.text, "mlir")
    row = next((row for row in typecodec.ROWS if row.cls is cls), None)
    if row is not None:
        yield from (f"Since {row.since}, tag {row.tag} in bytecode.", "")
    elif cls is types.Function:
        yield from (
            f"Tag {typecodec.TypeTag.FUNCTION} in bytecode; a count and types, for parameters and for results.",
            "",
        )
    else:
        yield from ("It has no encoding in bytecode.", "")
    if row is not None and row.params:
        yield from table(["Parameter", "In bytecode", "Since"], map(_param, row.params))


def _param(p: typecodec.Param) -> tuple[str, str, Version]:
    form = FORMS[p.form.split()[0]]
    return f"`{p.attr}`", f"{form}: {p.enum.__name__}, may be absent" if p.enum else form, p.since


def attributes_page() -> Iterator[str]:
    yield from ("# Attributes", "")
    yield from ("## Kinds of attribute fields", "")
    uses: dict[AttrKind, list[str]] = {kind: [] for kind in AttrKind}
    for opdef in registered():
        for f in opdef.attrs:
            if opdef.mnemonic not in uses[f.kind]:
                uses[f.kind].append(opdef.mnemonic)
    rows = [(f"`{kind.name}`", kind.value, _some(names)) for kind, names in uses.items()]
    yield from table(["Kind", "Value", "Used by"], rows)
    yield from ("## Attribute values", "", "Attributes are immutable and compare by content.", "")
    # Debug information has its own tables in bytecode.
    debug = {row.cls.__name__: row for row in debuginfo.ROWS}
    for cls in subclasses(Attr):
        if "_specs" not in cls.__dict__:
            continue
        yield from (f"### {cls.__name__}", "", paragraph(cls), "")
        if names := fields(cls):
            yield from ("Fields: " + ", ".join(f"`{n}`" for n in names) + ".", "")
        if (row := debug.get(cls.__name__)) is not None:
            parts = ", ".join(f"`{p.attr}`" for p in row.parts)
            yield from (f"In the debug section: tag {row.tag}, then {parts}.", "")


def _some(names: list[str], limit: int = 8) -> str:
    shown = ", ".join(f"`{n}`" for n in names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"


def enums_page() -> Iterator[str]:
    yield from ("# Enums", "", "Text contains the keyword, bytecode the number.", "")
    for cls in enums():
        yield from (f"## {cls.__name__}", "", paragraph(cls), "")
        rows = [(f"`{m.text}`", m.num, m.since) for m in cls]
        yield from table(["Keyword", "Number", "Since"], rows)
        used = [f"`{d.mnemonic}`" for d in registered() if any(f.enum is cls for f in d.attrs)]
        if used:
            yield from ("Used by " + ", ".join(used) + ".", "")


def versions_page() -> Iterator[str]:
    yield from (
        "# What versions add",
        "",
        f"{SUPPORTED[0]} is the first bytecode version; this page lists everything that was added later.",
        "",
    )
    for version in SUPPORTED[1:]:
        yield from (f"## {version}", "")
        yield from (f"- {line}" for line in _news(version))
        yield ""


def _news(version: Version) -> Iterator[str]:
    for opdef in registered():
        link = f"[{opdef.mnemonic}](operations/{slug(opdef.group)}.md#{opdef.mnemonic})"
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
        yield from (f"`{m.text}` of {cls.__name__}" for m in cls if m.since == version)


# ---------------------------------------------------------------- execution


def execution_page() -> Iterator[str]:
    """Say for each operation how exactly it is defined."""
    yield from ("# Results of execution", "")
    yield from (
        "The reference engine is exact: integers wrap around, floats are rounded once in the mode that the operation",
        "names, and arithmetic produces NaN with NVIDIA's bits. For every other case the table states the error bound,",
        "or what the specification leaves open and what the engine does then. The same inputs produce the same bits,",
        "whatever the batch size and the number of threads, unless tile blocks race for memory. Only the last bits of",
        "transcendental functions and matrix products may depend on the libraries that NumPy uses.",
        "",
    )
    for group, opdefs in groups().items():
        yield from (f"## {group}", "")
        rows = [(f"[{d.mnemonic}](operations/{slug(group)}.md#{d.mnemonic})", SEMANTICS[d.cls].text) for d in opdefs]
        yield from table(["Operation", "Result"], rows)
