"""Constraints on the type of a value."""

from __future__ import annotations

from collections.abc import Callable

from ..types import (
    FLOATS,
    I4,
    NUMBERS,
    SCALARS,
    TOKEN,
    Function,
    GatherScatterView,
    PartitionView,
    Ptr,
    StridedView,
    TensorView,
    Tile,
    Type,
)
from ..version import V13_1, Version
from .fastclass import dataclass


@dataclass(frozen=True, slots=True)
class Constraint:
    """The types that a value may have, and NVIDIA's words for them."""

    text: str
    ok: Callable[[Type], bool]
    only: Type | None = None
    """The only type that satisfies the constraint, if there is just one."""
    before: Callable[[Version], Constraint] | None = None
    """Return the constraint of a version that lacks some of the element types."""


def tile_of(*elements: str, rank: int | None = None, what: str = "tile") -> Constraint:
    """Accept tiles of these elements (`ptr` is any pointer), of any rank or of a given one."""
    scalars = {SCALARS[name] for name in elements if name != "ptr"}
    pointers = "ptr" in elements

    def ok(t: Type) -> bool:
        if not isinstance(t, Tile) or (rank is not None and t.rank != rank):
            return False
        return t.element in scalars or (pointers and isinstance(t.element, Ptr))

    names = " or ".join("Pointer type" if name == "ptr" else name for name in elements)
    prefix = what if rank is None else f"{rank}D {what}"
    only = Tile((), SCALARS[elements[0]]) if rank == 0 and len(elements) == 1 and not pointers else None
    newest = max((_listed_since(name) for name in elements), default=V13_1)

    def before(latest: Version) -> Constraint:
        older = [name for name in elements if _listed_since(name) <= latest]
        return tile_of(*older, rank=rank, what=what)

    return Constraint(f"{prefix} of {names} values", ok, only, before if newest > V13_1 else None)


def _listed_since(name: str) -> Version:
    return V13_1 if name == "ptr" else SCALARS[name].listed_since


def instance_of(text: str, *classes: type[Type]) -> Constraint:
    return Constraint(text, lambda t: isinstance(t, classes))


_INTS = tuple(s.name for s in NUMBERS if s.is_int)
_BASE_FLOATS = tuple(s.name for s in FLOATS if s.format.base)
_FLOATS = (*_BASE_FLOATS, *(s.name for s in FLOATS if not s.format.base))

AnyType = Constraint("any type", lambda t: True)
AnyTile = instance_of("Tile type", Tile)
IntTile = tile_of(*_INTS)
IntTile4 = tile_of(*_INTS, "i4")
BaseFloatTile = tile_of(*_BASE_FLOATS)
FloatTile = tile_of(*_FLOATS)
NumberTile = tile_of(*_INTS, *_FLOATS)
NumberTile4 = tile_of(*_INTS, *_FLOATS, "i4")
PtrTile = tile_of("ptr")
BoolTile = tile_of("i1")
I8Tile = tile_of("i8")
I64Tile = tile_of("i64")
SmallIntTile = tile_of("i1", "i8", "i16", "i32")
ScalarBool = tile_of("i1", rank=0)
ScalarI32 = tile_of("i32", rank=0)
ScalarInt = tile_of(*_INTS, rank=0)
ScalarPtr = tile_of("ptr", rank=0)
TokenType = Constraint("cuda tile token type", lambda t: t is TOKEN, TOKEN)
AnyTensorView = instance_of("tensor view type", TensorView)
AnyPartitionView = instance_of("partition view type", PartitionView)
AnyStridedView = instance_of("strided view type", StridedView)
AnyGatherScatterView = instance_of("gather/scatter view type", GatherScatterView)
AnyTileView = instance_of("TileView instance", PartitionView, StridedView, GatherScatterView)
_NUMBER_NAMES = " or ".join(s.text for s in NUMBERS)
DialectType = Constraint(
    f"{_NUMBER_NAMES} or ", lambda t: not isinstance(t, Function) and t is not I4
)  # a number or any type of the dialect; NVIDIA's message really ends like this
