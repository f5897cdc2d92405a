"""How debug information is laid out in bytecode: one row per kind of entry, read and written by the same walk."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any

from ..attrs import Attr, CallSite, DICompileUnit, DIFile, DILexicalBlock, DILoc, DISubprogram, Loc, place_in_scope
from ..declare.codegen import GiveUp, build
from ..declare.fastclass import dataclass
from ..diag import TileError
from .wire import Cursor, decode_varint, enclose, put_varint

Scope = (DISubprogram, DILexicalBlock)


@dataclass(frozen=True, slots=True)
class DebugField:
    """A part of an entry: our name, its form (a class, `str` or `int`), NVIDIA's words for it, and for what."""

    attr: str
    form: Any
    words: str
    of: str


@dataclass(frozen=True, slots=True)
class DebugRow:
    """A kind of entry, by tag."""

    cls: type[Attr]
    tag: int
    parts: tuple[DebugField, ...]


def _row(cls: type[Attr], tag: int, of: str, *parts: tuple[str, Any, str]) -> DebugRow:
    return DebugRow(cls, tag, tuple(DebugField(attr, form, words, of) for attr, form, words in parts))


# The location of DILoc is flattened: NVIDIA's messages name its parts by the type they build.
_PLACE = (
    DebugField("filename", str, "file name attribute", "FileLineColLoc"),
    DebugField("line", int, "line number", "FileLineColLoc"),
    DebugField("column", int, "column number", "FileLineColLoc"),
)
ROWS = (
    _row(DICompileUnit, 1, "DICompileUnitAttr", ("file", DIFile, "file attribute")),
    _row(
        DIFile,
        2,
        "DIFileAttr",
        ("name", str, "file name attribute"),
        ("directory", str, "directory attribute"),
    ),
    _row(
        DILexicalBlock,
        3,
        "DILexicalBlockAttr",
        ("scope", Scope, "scope attribute"),
        ("file", DIFile, "file attribute"),
        ("line", int, "line number"),
        ("column", int, "column number"),
    ),
    DebugRow(DILoc, 4, (DebugField("scope", Scope, "scope attribute", "DILocAttr"), *_PLACE)),
    _row(
        DISubprogram,
        5,
        "DISubprogramAttr",
        ("file", DIFile, "file attribute"),
        ("line", int, "line number"),
        ("name", str, "name attribute"),
        ("linkageName", str, "linkage name attribute"),
        ("compileUnit", DICompileUnit, "compile unit attribute"),
        ("scopeLine", int, "scope line number"),
    ),
    _row(CallSite, 6, "CallSiteLoc", ("callee", Loc, "callee attribute"), ("caller", Loc, "caller attribute")),
)
_BY_TAG = {row.tag: row for row in ROWS}
_BY_CLASS = {row.cls: row for row in ROWS}
_GETTERS = {row.cls: [(p.form, attrgetter(p.attr)) for p in row.parts] for row in ROWS}


def read_entry(c: Cursor, string: Callable[[Cursor], str], ref: Callable[[Cursor, Any], Any]) -> Attr | None:
    """The entry at the cursor; None is an unknown location, which every unassigned tag means too."""
    start = c.pos
    tag = c.varint() & 0xFF
    row = _BY_TAG.get(tag)
    c.mark(start, row.cls.__name__ if row else "unknown location")
    if row is None:
        return None
    values: dict[str, Any] = {}
    for p in row.parts:
        start = c.pos
        try:
            if p.form is str:
                values[p.attr] = string(c)
            elif p.form is int:
                # MLIR keeps lines and columns in 32 bits.
                values[p.attr] = c.varint() & 0xFFFFFFFF
            else:
                values[p.attr] = ref(c, p.form)
        except TileError as e:
            raise enclose(e, f"failed to read {p.words} when parsing {p.of}") from None
        shown = values[p.attr]
        c.mark(start, f"{p.attr} {shown!r}" if isinstance(shown, (str, int)) else p.attr)
    if row.cls is DILoc:
        return place_in_scope(**values)
    return row.cls(**values)


Quick = Callable[[bytes, int, dict[int, str], dict[int, Any]], tuple[Any, int]]


@cache
def quick_reader(tag: int) -> Quick:
    """What reads an entry of a kind, and says where it ends, if all that it refers to is known; else it trips."""
    row = _BY_TAG[tag]
    make = place_in_scope if row.cls is DILoc else row.cls
    names: dict[str, Any] = {"decode_varint": decode_varint, "GiveUp": GiveUp, "make": make}
    lines = ["def bind(data, at, strings, known):"]
    for p in row.parts:
        lines += ["    n = data[at]", "    at += 1", "    if n > 127: n, at = decode_varint(data, at - 1)"]
        if p.form is str:
            lines.append(f"    {p.attr} = strings[n]")
        elif p.form is int:
            lines.append(f"    {p.attr} = n & 0xFFFFFFFF")
        else:
            names[f"form_{p.attr}"] = p.form
            lines += [f"    {p.attr} = known[n]", f"    if not isinstance({p.attr}, form_{p.attr}): raise GiveUp"]
    lines += [f"    return make({', '.join(p.attr for p in row.parts)}), at", ""]
    reader: Quick = build(f"reader of {row.cls.__name__}", "\n".join(lines), names)
    return reader


def entry_parts(node: Attr) -> list[tuple[Any, Any]]:
    """(form, value) of each part of a node, in wire order."""
    return [(form, get(node)) for form, get in _GETTERS[type(node)]]


def write_entry(node: Attr, string: Callable[[str], int], ref: Callable[[Any], int]) -> bytes:
    """The entry of a node."""
    out = bytearray()
    put_varint(out, _BY_CLASS[type(node)].tag)
    for form, value in entry_parts(node):
        if form is str:
            put_varint(out, string(value))
        elif form is int:
            put_varint(out, value)
        else:
            put_varint(out, ref(value))
    return bytes(out)
