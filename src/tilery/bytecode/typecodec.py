"""How types are laid out in bytecode: one row per type, read and written by the same walk."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

from ..declare.fastclass import dataclass
from ..diag import TileError
from ..enums import TileEnum
from ..types import (
    SCALARS,
    TOKEN,
    Function,
    GatherScatterView,
    PaddingValue,
    PartitionView,
    Ptr,
    PtrAttr,
    Scalar,
    StridedView,
    TensorView,
    Tile,
    Token,
    Type,
    quoted,
)
from ..version import V13_1, V13_3, V13_4, Version
from .profile import Profile
from .wire import Cursor, enclose, put_fixed, put_varint

UNIFIED = V13_3
"""From here on one word of flags says which optional parameters follow; before, each had a byte of its own."""


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter: NVIDIA's name, ours, its form (type, i64s, i32s, u32, enum) and since when it exists."""

    name: str
    attr: str
    form: str
    since: Version = V13_1
    enum: type[TileEnum] | None = None
    must_be: type[Type] | None = None


@dataclass(frozen=True, slots=True)
class TypeRow:
    """A type: its tag, NVIDIA's name, and its parameters in wire order; `make` takes them by our names."""

    cls: type[Type]
    tag: int
    cname: str
    params: tuple[Param, ...]

    @property
    def since(self) -> Version:
        return self.cls.since

    def has_flags(self, version: Version) -> bool:
        """Whether a word of flags stands first."""
        optional = [p.since for p in self.params if p.form == "enum"]
        return bool(optional) and version >= UNIFIED and version >= max(min(optional), self.since)


_TENSOR_VIEW = Param("tensor_view", "tensor_view", "type", must_be=TensorView)
_PADDING = Param("padding_value", "padding_value", "enum", enum=PaddingValue)
_PTR_ATTR = Param("ptrAttr", "ptr_attr", "enum", V13_4, PtrAttr)
_TILE_SHAPE = Param("tile_shape", "tile_shape", "i32s data")
_DIM_MAP = Param("dim_map", "dim_map", "i32s")

ROWS = (
    TypeRow(Ptr, 12, "PointerType", (Param("pointeeType", "pointee", "type"), _PTR_ATTR)),
    TypeRow(Tile, 13, "TileType", (Param("elementType", "element", "type"), Param("shape", "shape", "i64s"))),
    TypeRow(
        TensorView,
        14,
        "TensorViewType",
        (
            Param("elementType", "element", "type"),
            Param("shape", "shape", "i64s"),
            Param("strides", "strides", "i64s"),
            _PTR_ATTR,
        ),
    ),
    TypeRow(PartitionView, 15, "PartitionViewType", (_TILE_SHAPE, _TENSOR_VIEW, _DIM_MAP, _PADDING)),
    TypeRow(Token, 17, "TokenType", ()),
    TypeRow(
        GatherScatterView,
        20,
        "GatherScatterViewType",
        (_TILE_SHAPE, _TENSOR_VIEW, Param("sparse_dim", "sparse_dim", "u32"), _PADDING),
    ),
    TypeRow(
        StridedView,
        21,
        "StridedViewType",
        (_TILE_SHAPE, Param("traversal_strides", "traversal_strides", "i32s data"), _TENSOR_VIEW, _DIM_MAP, _PADDING),
    ),
)
FUNCTION_TAG = 16

_BY_TAG = {row.tag: row for row in ROWS}
_BY_CLASS = {row.cls: row for row in ROWS}
_SCALAR_BY_TAG = {s.tag: s for s in SCALARS.values()}

ReadRef = Callable[[Cursor], Type]
"""Reads a type index and gives the type; a failure is silent, the caller names it."""


def read_type(c: Cursor, version: Version, profile: Profile, ref: ReadRef, shown: str = "") -> Type:
    """The type at the cursor, whose range is exactly its entry."""
    start = c.pos
    tag = c.varint() & 0xFF if c.remaining else c.varint()  # NVIDIA's readers keep only the low byte
    if (scalar := _SCALAR_BY_TAG.get(tag)) is not None:
        _check_version(scalar.cname, scalar.since, version, shown, profile, tag, start)
        c.mark(start, f"type {scalar.text}")
        return scalar
    if tag == FUNCTION_TAG:
        c.mark(start, "function type")
        return _read_function(c, ref)
    row = _BY_TAG.get(tag)
    if row is None:
        raise TileError(f"unknown type tag: {tag}", offset=start)
    _check_version(row.cname, row.since, version, shown, profile, tag, start)
    c.mark(start, row.cname)
    return TOKEN if row.cls is Token else _read_row(c, row, version, profile, ref)


def _check_version(
    cname: str, since: Version, version: Version, shown: str, profile: Profile, tag: int, start: int
) -> None:
    if since > profile.latest:
        raise TileError(f"unknown type tag: {tag}", offset=start)
    if since > version:
        shown = shown or str(version)
        raise TileError(f"type '{cname}' requires bytecode version {since}+, file version is {shown}", offset=start)


def _read_row(c: Cursor, row: TypeRow, version: Version, profile: Profile, ref: ReadRef) -> Type:
    flags, bit = 0, 0
    start = c.pos
    unified = row.has_flags(version)
    if unified:
        try:
            flags = c.varint()
        except TileError as e:
            raise enclose(e, "failed to read optional parameter flags") from None
        c.mark(start, f"flags {flags:#b}")
    values: dict[str, Any] = {}
    for p in row.params:
        if p.form != "enum":
            values[p.attr] = _read_param(c, row, p, profile, ref)
            continue
        if unified:
            present = flags >> bit & 1 == 1
            bit += 1
        elif p.since > version:
            present = False
        else:
            present = _read_presence(c, profile)
        if present:
            assert p.enum is not None
            values[p.attr] = read_enum(c, p.enum, p.name)
    try:
        return row.cls(**values)
    except TileError as e:
        e.offset = c.pos if e.offset is None else e.offset
        raise _first_wording(e, row, values, profile) from None


def _first_wording(e: TileError, row: TypeRow, values: dict[str, Any], profile: Profile) -> TileError:
    """The 13.1 reader looked at the element before it built the type."""
    if profile.first and e.message.startswith("failed to verify 'elementType'"):
        if row.cls is Tile:
            what = "tile element type must be integer, float, or valid pointer"
        else:
            what = "tensor_view element type must be integer or float"
        e.message = f"{what}, got: {quoted(values['element'])}"
    return e


def _read_param(c: Cursor, row: TypeRow, p: Param, profile: Profile, ref: ReadRef) -> Any:
    start = c.pos
    where = f"{row.cname}.{p.name}" if profile.first else p.name
    if p.form == "type":
        try:
            t = ref(c)
        except TileError as e:
            raise enclose(e, profile.say(f"failed to get {where} type")) from None
        c.mark(start, f"{p.name} {t}")
        if p.must_be is not None and not isinstance(t, p.must_be):
            message = f"expected ::mlir::cuda_tile::{p.must_be.__name__}Type but got {quoted(t)}"
            if profile.first:
                message = "invalid tensor_view type for tile partition view"
            raise TileError(message, offset=start)
        return t
    suffix = " data" if p.form == "i32s data" else ""
    try:
        value: Any = c.varint() if p.form == "u32" else c.sized(8 if p.form == "i64s" else 4)
    except TileError as e:
        raise enclose(e, profile.say(f"failed to read {where}{suffix}")) from None
    c.mark(start, f"{p.name} {value}")
    if p.form == "u32" and value > 0xFFFFFFFF:
        raise TileError(f"{p.name} value {value} exceeds uint32_t range", offset=start)
    if profile.first and suffix and any(v in (0x7FFFFFFF, -0x80000000) for v in value):
        bad = next(v for v in value if v in (0x7FFFFFFF, -0x80000000))
        raise TileError(f"tile shape contains unsupported value {bad}", offset=start)
    return value


def _read_presence(c: Cursor, profile: Profile) -> bool:
    start = c.pos
    try:
        present = c.byte() != 0
    except TileError as e:
        if profile.first:
            return False  # the 13.1 reader takes a missing byte for zero
        raise enclose(e, "failed to read OptionalEnum presence flag") from None
    c.mark(start, "a padding value follows" if present else "no padding value")
    return present


def read_enum(c: Cursor, enum: type[Enum], label: str) -> Enum:
    """An enum's number; NVIDIA's readers keep its low 32 bits."""
    start = c.pos
    try:
        number = c.varint() & 0xFFFFFFFF
    except TileError as e:
        raise enclose(e, "failed to read VarInt for enum attribute.") from None
    try:
        member = enum(number)
    except ValueError:
        raise TileError(f"invalid integer value for enum type: {number}", offset=start, field=label) from None
    c.mark(start, f"{label} {member.text}")  # type: ignore[attr-defined]  # all our enums have a keyword
    return member


def _read_function(c: Cursor, ref: ReadRef) -> Function:
    lists: list[list[Type]] = []
    for many, one in (("parameters", "parameter"), ("results", "result")):
        start = c.pos
        try:
            count = read_count(c)
        except TileError as e:
            raise enclose(e, f"failed to read number of {many}") from None
        c.mark(start, f"{count} {many}")
        types: list[Type] = []
        for _ in range(count):
            start = c.pos
            try:
                types.append(ref(c))
            except TileError as e:
                raise enclose(e, f"failed to get {one} type") from None
            c.mark(start, f"{one} {types[-1]}" if not isinstance(types[-1], Function) else one)
        lists.append(types)
    return Function(lists[0], lists[1])


def read_count(c: Cursor) -> int:
    """A count that must stay below 2**32; each counted thing takes at least a byte, so memory stays bounded."""
    start, limit = c.pos, 0xFFFFFFFE
    count = c.varint()
    if count > limit:
        raise TileError(
            f"varint value exceeds maximum supported capacity. (expected value less than {limit}, got {count}).",
            offset=start,
        )
    return count


# ---------------------------------------------------------------- writing


def write_type(t: Type, version: Version, ref: Callable[[Type], int]) -> bytes:
    """The entry of a type; `ref` gives the index of another one. Refuses, by name, what `version` cannot say."""
    require(t, version)
    out = bytearray()
    if isinstance(t, Scalar):
        put_varint(out, t.tag)
        return bytes(out)
    if isinstance(t, Function):
        put_varint(out, FUNCTION_TAG)
        for types in (t.params, t.results):
            put_varint(out, len(types))
            for inner in types:
                put_varint(out, ref(inner))
        return bytes(out)
    row = _BY_CLASS.get(type(t))
    if row is None:
        raise TileError(f"type {t} cannot be written to bytecode")
    put_varint(out, row.tag)
    _write_row(out, t, row, version, ref)
    return bytes(out)


def require(t: Type, version: Version) -> None:
    """Refuse a type that `version` does not have, or a parameter of it."""
    if isinstance(t, Scalar):
        cname, since = t.cname, t.since
    elif (row := _BY_CLASS.get(type(t))) is not None:
        cname, since = row.cname, row.since
        for p in row.params:
            if p.since > version and getattr(t, p.attr) is not None:
                problem = f"parameter '{p.name}' requires bytecode version {p.since}+, but targeting {version}"
                raise TileError(problem, field=p.name, notes=(f"type: {t}",))
    else:
        return
    if since > version:
        problem = f"type '{cname}' requires bytecode version {since}+, targeting {version}"
        raise TileError(problem, notes=(f"type: {t}",))


def _write_row(out: bytearray, t: Type, row: TypeRow, version: Version, ref: Callable[[Type], int]) -> None:
    unified = row.has_flags(version)
    if unified:
        optional = [p for p in row.params if p.form == "enum"]
        put_varint(out, sum((getattr(t, p.attr) is not None) << bit for bit, p in enumerate(optional)))
    for p in row.params:
        value = getattr(t, p.attr)
        match p.form:
            case "type":
                put_varint(out, ref(value))
            case "i64s":
                put_fixed(out, 8, value)
            case "i32s" | "i32s data":
                put_fixed(out, 4, value)
            case "u32":
                put_varint(out, value)
            case _ if p.since <= version:
                if not unified:
                    out.append(value is not None)
                if value is not None:
                    put_varint(out, value.value)


def parts(t: Type) -> list[Type]:
    """The types that a type refers to, in wire order."""
    if isinstance(t, Function):
        return [*t.params, *t.results]
    row = _BY_CLASS.get(type(t))
    return [] if row is None else [getattr(t, p.attr) for p in row.params if p.form == "type"]
