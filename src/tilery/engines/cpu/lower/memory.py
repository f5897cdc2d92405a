"""Access through tiles of pointers, atomic updates, and memory by name.

Stores run in the order of the elements, since pointers may be equal: the last element stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....ir import Value
from ....ops import (
    Alloca,
    AtomicCASTko,
    AtomicRMWTko,
    GdcLaunchDependentsTko,
    GdcWaitTko,
    GetGlobal,
    JoinTokens,
    LoadPtrTko,
    MakeToken,
    MemoryFenceAliasTko,
    StorePtrTko,
)
from ....types import I8, I64, Ptr, Scalar, Tile
from ...common.layout import alloca_bytes
from ...common.tiles import pointee_bytes
from ..abi import NotLowered
from ..loops.nodes import Atomic, Buffer, Declare, Home, Kind, Locate, Operand, Scope, index
from ..loops.nodes import Value as Result
from .state import Lowering, lowers, shape


@lowers(MakeToken, JoinTokens, MemoryFenceAliasTko, GdcLaunchDependentsTko, GdcWaitTko)
def make_token(g: Lowering, o: Any) -> None:
    """Accesses happen in the order of the program, so that tokens are nothing."""
    g.held[o.results[0]] = None


def pointee(v: Value) -> Scalar:
    assert isinstance(v.type, Tile) and isinstance(v.type.element, Ptr)
    return v.type.element.pointee


def whole_bytes(o: Any, v: Value) -> Scalar:
    """Return the element that pointers point to, which must have an address of its own."""
    element = pointee(v)
    if element.bits == 4:
        raise NotLowered(f"{o.name} of {element}: two elements share an address")
    return element


def guarded(
    g: Lowering, o: Any, pointers: Value, mask: Value | None, at: Sequence[Operand], writes: bool
) -> tuple[Operand, Operand | None]:
    """Check an element of a tile of pointers; return its address and whether it is accessed."""
    address = address_of(g, pointers, at)
    chosen = None if mask is None else g.at(mask, at)
    g.b.guard(address, pointee_bytes(pointee(pointers)), writes, g.numbers[o], g.homes.get(pointers), mask=chosen)
    return address, chosen


def address_of(g: Lowering, pointers: Value, at: Sequence[Operand]) -> Operand:
    """Return an element of a tile of pointers; where all of a row are neighbours, only the first one is looked up."""
    item, sizes = pointee_bytes(pointee(pointers)), shape(pointers)
    if not sizes or sizes[-1] == 1 or g.alignment[pointers].contiguity[-1] < sizes[-1]:
        return g.at(pointers, at)
    return g.b.add(g.at(pointers, (*at[:-1], index(0))), g.b.mul(at[-1], index(item)))


@lowers(LoadPtrTko)
def load_ptr(g: Lowering, o: LoadPtrTko) -> None:
    element = whole_bytes(o, o.source)
    with g.defining(o.result) as (at, made):
        address, mask = guarded(g, o, o.source, o.mask, at, False)
        other = None if o.paddingValue is None else g.at(o.paddingValue, at)
        if mask is None:
            other = None
        made.append(g.b.read(element, address, mask, other, g.homes.get(o.source)))
    g.held[o.result_token] = None


@lowers(StorePtrTko)
def store_ptr(g: Lowering, o: StorePtrTko) -> None:
    whole_bytes(o, o.destination)
    with g.b.nest(Kind.SERIAL, shape(o.value)) as at:
        address, mask = guarded(g, o, o.destination, o.mask, at, True)
        g.b.write(address, g.at(o.value, at), mask, g.homes.get(o.destination))
    g.held[o.result_token] = None


# ---------------------------------------------------------------- atomics


@lowers(AtomicRMWTko)
def atomic_rmw(g: Lowering, o: AtomicRMWTko) -> None:
    update(g, o, (o.arg,), None)


@lowers(AtomicCASTko)
def atomic_cas(g: Lowering, o: AtomicCASTko) -> None:
    update(g, o, (o.cmp, o.val), o.cmp)


def update(g: Lowering, o: Any, values: tuple[Value, ...], masked: Value | None) -> None:
    """Update memory element by element; the result of one that is masked is an element of `masked`, or 0."""
    element = whole_bytes(o, o.pointers)
    buffer = g.b.declare(element, shape(o.result))
    with g.b.nest(Kind.SERIAL, buffer.shape) as at:
        address, mask = guarded(g, o, o.pointers, o.mask, at, True)
        found: Operand = Result(element)
        assert isinstance(found, Result)
        g.b.emit(Atomic(found, o, address, tuple(g.at(v, at) for v in values), mask))
        if mask is not None and masked is not None:
            found = g.b.select(mask, found, g.at(masked, at))
        g.b.store(buffer, at, found)
    g.held[o.result] = g.b.load(buffer, at) if o.result.type.size == 1 else buffer
    g.held[o.result_token] = None


# ---------------------------------------------------------------- memory by name


@lowers(Alloca)
def alloca(g: Lowering, o: Alloca) -> None:
    """Memory of the tile block, the same each time; it is declared where the tile block begins."""
    result = Result(I64)
    g.b.emit(Locate(result, g.allocas[o]))
    g.held[o.result], g.homes[o.result] = result, Home("own", 0)


def declare_allocas(g: Lowering, allocas: list[Alloca]) -> None:
    """Declare the memory of every `alloca` at the beginning of the tile block."""
    for o in allocas:
        g.allocas[o] = Buffer(I8, (alloca_bytes(o),), Scope.MEMORY, "own", alignment=o.alignment)
        g.b.emit(Declare(g.allocas[o]))


@lowers(GetGlobal)
def get_global(g: Lowering, o: GetGlobal) -> None:
    names = [name for name, _ in g.kernel.globals]
    if o.name_ not in names:
        g.kernel.globals.append((o.name_, Result(I64, 1, f"at_{o.name_}")))
        names.append(o.name_)
    number = names.index(o.name_)
    g.held[o.result] = g.kernel.globals[number][1]
    g.homes[o.result] = Home("global", number)
