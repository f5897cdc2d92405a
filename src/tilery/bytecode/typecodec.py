"""The layout of types in bytecode: one row per type, from which they are read and written."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

from ..checking import TYPE_CHECKING
from ..declare.fastclass import dataclass
from ..diag import ErrorKind, TileError
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
from .wire import Cursor, brief_type, put_fixed, put_varint

if TYPE_CHECKING:
    from typing import Any

UNIFIED = V13_3
"""From this version on, one word of flags says which optional parameters follow; before, each had a byte of its own."""


class TypeTag(IntEnum):
    """The first number of a type's entry. The tags of scalars are in their rows in `types`."""

    POINTER = 12
    TILE = 13
    TENSOR_VIEW = 14
    PARTITION_VIEW = 15
    FUNCTION = 16
    TOKEN = 17
    GATHER_SCATTER_VIEW = 20
    STRIDED_VIEW = 21


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter: NVIDIA's name, ours, its form (type, i64s, i32s, u32, enum) and its first version."""

    name: str
    attr: str
    form: str
    since: Version = V13_1
    enum: type[TileEnum] | None = None
    must_be: type[Type] | None = None
    failure: str = ""
    """The message of the newest reader if it cannot be read; filled in."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "failure", self.failure_of(self.name))

    def failure_of(self, name: str) -> str:
        """Return the message of a reader that calls the parameter by this name."""
        if self.form == "type":
            return f"failed to get {name} type"
        return f"failed to read {name}" + (" data" if self.form == "i32s data" else "")


@dataclass(frozen=True, slots=True)
class TypeRow:
    """A type: its tag, NVIDIA's name, and its parameters in wire order. Its class takes them by our names."""

    cls: type[Type]
    tag: TypeTag
    cname: str
    params: tuple[Param, ...]

    @property
    def since(self) -> Version:
        return self.cls.since

    def has_flags(self, version: Version) -> bool:
        """Return whether the entry starts with a word of flags."""
        optional = [p.since for p in self.params if p.form == "enum"]
        return bool(optional) and version >= UNIFIED and version >= max(min(optional), self.since)


_TENSOR_VIEW = Param("tensor_view", "tensor_view", "type", must_be=TensorView)
_PADDING = Param("padding_value", "padding_value", "enum", enum=PaddingValue)
_PTR_ATTR = Param("ptrAttr", "ptr_attr", "enum", V13_4, PtrAttr)
_TILE_SHAPE = Param("tile_shape", "tile_shape", "i32s data")
_DIM_MAP = Param("dim_map", "dim_map", "i32s")

ROWS = (
    TypeRow(Ptr, TypeTag.POINTER, "PointerType", (Param("pointeeType", "pointee", "type"), _PTR_ATTR)),
    TypeRow(Tile, TypeTag.TILE, "TileType", (Param("elementType", "element", "type"), Param("shape", "shape", "i64s"))),
    TypeRow(
        TensorView,
        TypeTag.TENSOR_VIEW,
        "TensorViewType",
        (
            Param("elementType", "element", "type"),
            Param("shape", "shape", "i64s"),
            Param("strides", "strides", "i64s"),
            _PTR_ATTR,
        ),
    ),
    TypeRow(
        PartitionView, TypeTag.PARTITION_VIEW, "PartitionViewType", (_TILE_SHAPE, _TENSOR_VIEW, _DIM_MAP, _PADDING)
    ),
    TypeRow(Token, TypeTag.TOKEN, "TokenType", ()),
    TypeRow(
        GatherScatterView,
        TypeTag.GATHER_SCATTER_VIEW,
        "GatherScatterViewType",
        (_TILE_SHAPE, _TENSOR_VIEW, Param("sparse_dim", "sparse_dim", "u32"), _PADDING),
    ),
    TypeRow(
        StridedView,
        TypeTag.STRIDED_VIEW,
        "StridedViewType",
        (_TILE_SHAPE, Param("traversal_strides", "traversal_strides", "i32s data"), _TENSOR_VIEW, _DIM_MAP, _PADDING),
    ),
)

_BY_TAG: dict[int, TypeRow] = {row.tag: row for row in ROWS}
_BY_CLASS = {row.cls: row for row in ROWS}
_SCALAR_BY_TAG = {s.tag: s for s in SCALARS.values()}

ReadRef = Callable[[Cursor, str], Type]
"""Reads the index of a type and returns the type; the text is what a failure is called."""


def read_type(c: Cursor, version: Version, profile: Profile, ref: ReadRef, shown: str = "") -> Type:
    """Read the type at the cursor, whose range is exactly its entry."""
    start = c.pos
    tag = c.varint() & 0xFF  # NVIDIA's readers keep only the low byte
    if (scalar := _SCALAR_BY_TAG.get(tag)) is not None:
        _check_version(scalar.cname, scalar.since, version, shown, profile, tag, start)
        c.mark(start, f"type {scalar.text}")
        return scalar
    if tag == TypeTag.FUNCTION:
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
        message = f"type '{cname}' requires bytecode version {since}+, file version is {shown}"
        raise TileError(message, kind=ErrorKind.VERSION, offset=start)


def _read_row(c: Cursor, row: TypeRow, version: Version, profile: Profile, ref: ReadRef) -> Type:
    flags, bit = 0, 0
    start = c.pos
    unified = row.has_flags(version)
    if unified:
        flags = c.varint("failed to read optional parameter flags")
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
            values[p.attr] = read_enum(c, p.enum, p.name, profile.latest)
    try:
        return row.cls(**values)
    except TileError as e:
        e.offset = c.pos if e.offset is None else e.offset
        if row.cname in profile.element_texts and e.rule == "elementType":
            e.message = f"{profile.element_texts[row.cname]}, got: {quoted(values['element'])}"
        elif e.rule in ("elementType", "pointeeType"):
            for new in (s for s in SCALARS.values() if s.listed_since > profile.latest):
                e.message = e.message.replace(f" or {new.text}", "")
        raise


def _read_param(c: Cursor, row: TypeRow, p: Param, profile: Profile, ref: ReadRef) -> Any:
    start = c.pos
    failure = p.failure
    if profile.qualifies_parameters:
        failure = profile.say(p.failure_of(f"{row.cname}.{p.name}"))
    if p.form == "type":
        t = ref(c, failure)
        if c.marks is not None:
            c.mark(start, f"{p.name} {brief_type(t)}")
        if p.must_be is not None and not isinstance(t, p.must_be):
            problem = f"expected ::mlir::cuda_tile::{p.must_be.__name__}Type but got {quoted(t)}"
            raise TileError(profile.say_prefixed(problem), offset=start)
        return t
    if p.form == "u32":
        number = c.varint(failure)
        c.mark(start, f"{p.name} {number}")
        if number > 0xFFFFFFFF:
            raise TileError(f"{p.name} value {number} exceeds uint32_t range", offset=start)
        return number
    values = c.sized(8 if p.form == "i64s" else 4, failure)
    if c.marks is not None:
        c.mark(start, f"{p.name} {values}")
    if p.form == "i32s data" and profile.refuses_extreme_tile_shapes:
        refuse_extremes(values, 32, start, "tile shape")
    return values


def _read_presence(c: Cursor, profile: Profile) -> bool:
    start = c.pos
    if not c.remaining and profile.missing_bytes_are_zero:
        return False
    present = c.byte("failed to read OptionalEnum presence flag") != 0
    c.mark(start, "a padding value follows" if present else "no padding value")
    return present


def refuse_extremes(values: tuple[int, ...], width: int, offset: int, what: str = "array") -> None:
    """Raise an error if the smallest or the largest integer is among the values."""
    top = (1 << (width - 1)) - 1
    for value in values:
        if value in (top, -top - 1):
            raise TileError(f"{what} contains unsupported value {value}", offset=offset)


def read_enum(c: Cursor, enum: type[TileEnum], label: str, latest: Version) -> TileEnum:
    """Read the number of an enum's member that a reader knows; NVIDIA's readers keep its low 32 bits."""
    start = c.pos
    number = c.varint("failed to read VarInt for enum attribute.") & 0xFFFFFFFF
    member = next((m for m in enum if m.num == number and m.since <= latest), None)
    if member is None:
        raise TileError(f"invalid integer value for enum type: {number}", offset=start, field=label)
    c.mark(start, f"{label} {member.text}")
    return member


def _read_function(c: Cursor, ref: ReadRef) -> Function:
    lists: list[list[Type]] = []
    for many, one in (("parameters", "parameter"), ("results", "result")):
        start = c.pos
        count = c.count(f"failed to read number of {many}")
        c.mark(start, f"{count} {many}")
        types: list[Type] = []
        for _ in range(count):
            start = c.pos
            types.append(ref(c, f"failed to get {one} type"))
            c.mark(start, f"{one} {brief_type(types[-1])}" if not isinstance(types[-1], Function) else one)
        lists.append(types)
    return Function(lists[0], lists[1])


# ---------------------------------------------------------------- writing


def write_type(t: Type, version: Version, ref: Callable[[Type], int]) -> bytes:
    """Return the entry of a type; `ref` returns the index of another one. Refuse, by name, what `version` lacks."""
    require(t, version)
    out = bytearray()
    if isinstance(t, Scalar):
        put_varint(out, t.tag)
        return bytes(out)
    if isinstance(t, Function):
        put_varint(out, TypeTag.FUNCTION)
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
    """Refuse a type that `version` lacks, or a parameter of it."""
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
    """Return the types that a type refers to, in wire order."""
    if isinstance(t, Function):
        return [*t.params, *t.results]
    row = _BY_CLASS.get(type(t))
    return [] if row is None else [getattr(t, p.attr) for p in row.params if p.form == "type"]
