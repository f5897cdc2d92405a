"""The layout of debug information in bytecode: one row per kind of entry, from which it is read and written."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from functools import cache
from operator import attrgetter

from ..attrs import Attr, CallSite, DICompileUnit, DIFile, DILexicalBlock, DILoc, DISubprogram, Loc, place_in_scope
from ..checking import TYPE_CHECKING
from ..declare.codegen import GiveUp, build
from ..declare.fastclass import dataclass
from ..diag import TileError
from .wire import Cursor, brief, decode_varint, put_varint

if TYPE_CHECKING:
    from typing import Any

QuickReader = Callable[[bytes, int, dict[int, str], dict[int, "Any"]], tuple["Any", int]]

Scope = (DISubprogram, DILexicalBlock)


class DebugTag(IntEnum):
    """The first byte of an entry. Any other one is an unknown location."""

    COMPILE_UNIT = 1
    FILE = 2
    LEXICAL_BLOCK = 3
    LOCATION = 4
    SUBPROGRAM = 5
    CALL_SITE = 6


_NUMBER = rb"[\x80-\xff]{0,4}[\0-\x7f]"
LOCATION_ENTRY = rb"%c((?:%b){2})(?:%b){2}" % (DebugTag.LOCATION, _NUMBER, _NUMBER)
"""The entry of a location: its scope and file, which are captured, then line and column."""


@dataclass(frozen=True, slots=True)
class DebugField:
    """A field of an entry: our name, its form (a class, `str` or `int`), and NVIDIA's message if it cannot be read."""

    attr: str
    form: Any
    failure: str


@dataclass(frozen=True, slots=True)
class DebugRow:
    """A kind of entry."""

    cls: type[Attr]
    tag: DebugTag
    parts: tuple[DebugField, ...]


def _fields(of: str, *fields: tuple[str, Any, str]) -> tuple[DebugField, ...]:
    return tuple(DebugField(attr, form, f"failed to read {words} when parsing {of}") for attr, form, words in fields)


ROWS = (
    DebugRow(
        DICompileUnit,
        DebugTag.COMPILE_UNIT,
        _fields("DICompileUnitAttr", ("file", DIFile, "file attribute")),
    ),
    DebugRow(
        DIFile,
        DebugTag.FILE,
        _fields("DIFileAttr", ("name", str, "file name attribute"), ("directory", str, "directory attribute")),
    ),
    DebugRow(
        DILexicalBlock,
        DebugTag.LEXICAL_BLOCK,
        _fields(
            "DILexicalBlockAttr",
            ("scope", Scope, "scope attribute"),
            ("file", DIFile, "file attribute"),
            ("line", int, "line number"),
            ("column", int, "column number"),
        ),
    ),
    DebugRow(
        DILoc,
        DebugTag.LOCATION,
        (
            *_fields("DILocAttr", ("scope", Scope, "scope attribute")),
            # The source position is not an entry of its own, but NVIDIA's messages name the type that it becomes.
            *_fields(
                "FileLineColLoc",
                ("filename", str, "file name attribute"),
                ("line", int, "line number"),
                ("column", int, "column number"),
            ),
        ),
    ),
    DebugRow(
        DISubprogram,
        DebugTag.SUBPROGRAM,
        _fields(
            "DISubprogramAttr",
            ("file", DIFile, "file attribute"),
            ("line", int, "line number"),
            ("name", str, "name attribute"),
            ("linkageName", str, "linkage name attribute"),
            ("compileUnit", DICompileUnit, "compile unit attribute"),
            ("scopeLine", int, "scope line number"),
        ),
    ),
    DebugRow(
        CallSite,
        DebugTag.CALL_SITE,
        _fields("CallSiteLoc", ("callee", Loc, "callee attribute"), ("caller", Loc, "caller attribute")),
    ),
)
_BY_TAG: dict[int, DebugRow] = {row.tag: row for row in ROWS}
_BY_CLASS = {row.cls: row for row in ROWS}
_GETTERS = {row.cls: [(p.form, attrgetter(p.attr)) for p in row.parts] for row in ROWS}


def read_entry(
    c: Cursor,
    string: Callable[[Cursor, str], str],
    ref: Callable[[Cursor, Any, str], Any],
    has_flags: bool = False,
) -> Attr | None:
    """Read the entry at the cursor, or None for an unknown location, which every unassigned tag means too.

    `string` reads the index of a string, `ref` that of an entry of a form; the text is what a failure is called. If it
    `has_flags`, a subprogram ends with flags, none of which is known.
    """
    start = c.pos
    tag = c.varint() & 0xFF
    row = _BY_TAG.get(tag)
    c.mark(start, row.cls.__name__ if row else "unknown location")
    if row is None:
        return None
    values: dict[str, Any] = {}
    for p in row.parts:
        start = c.pos
        if p.form is str:
            values[p.attr] = string(c, p.failure)
        elif p.form is int:
            # MLIR keeps lines and columns in 32 bits.
            values[p.attr] = c.varint(p.failure) & 0xFFFFFFFF
        else:
            values[p.attr] = ref(c, p.form, p.failure)
        shown = values[p.attr]
        if c.marks is not None:
            said = brief(shown) if isinstance(shown, str) else str(shown) if isinstance(shown, int) else ""
            c.mark(start, f"{p.attr} {said}".rstrip())
    if row.cls is DILoc:
        return place_in_scope(**values)
    if row.cls is DISubprogram and has_flags:
        start = c.pos
        flags = c.varint("failed to read flags when parsing DISubprogramAttr")
        c.mark(start, f"flags {flags:#b}")
        if flags:
            raise TileError(f"flags {flags:#x} of subprogram '{values['name']}' are not known", offset=start)
    return row.cls(**values)


@cache
def quick_reader(tag: int) -> QuickReader:
    """Generate a reader of a kind of entry: it returns the entry and its end, or gives up if it refers to a new one."""
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
    reader: QuickReader = build(f"reader of {row.cls.__name__}", "\n".join(lines), names)
    return reader


def entry_parts(node: Attr) -> list[tuple[Any, Any]]:
    """Return (form, value) of each field of a node, in wire order."""
    return [(form, get(node)) for form, get in _GETTERS[type(node)]]


def write_entry(node: Attr, string: Callable[[str], int], ref: Callable[[Any], int]) -> bytes:
    """Return the entry of a node."""
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
