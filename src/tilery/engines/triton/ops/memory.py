"""Tokens, access through pointers, and memory of a tile block."""

from __future__ import annotations

from dataclasses import replace

from ....enums import MemoryOrderingSemantics as Ordering
from ....ir import Value
from ....ops import (
    Alloca,
    GdcLaunchDependentsTko,
    GdcWaitTko,
    JoinTokens,
    LoadPtrTko,
    MakeToken,
    MemoryFenceAliasTko,
    StorePtrTko,
)
from ....types import Ptr, Scalar, Type
from ..access import load, store
from ..emit import Val, tile_type
from ..limits import PACKED_POINTERS
from ..nibbles import load_nibbles, paired_dimension, store_nibbles
from ..registry import lowers
from ..state import Lowering, Tok, join
from .misc import get_num_tile_blocks, get_tile_block_id


def pointee(type: Type) -> Scalar:
    element = tile_type(type).element
    assert isinstance(element, Ptr)
    return element.pointee


@lowers(MakeToken)
def make_token(low: Lowering, o: MakeToken) -> Tok:
    return Tok()


@lowers(JoinTokens)
def join_tokens(low: Lowering, o: JoinTokens, tokens: tuple[Tok, ...]) -> Tok:
    return join(*tokens)


@lowers(LoadPtrTko)
def load_ptr_tko(
    low: Lowering, o: LoadPtrTko, source: Val, mask: Val | None, padding: Val | None, token: Tok | None
) -> tuple[Val, Tok]:
    element = pointee(o.source.type)
    made = low.order(token, False, o.memory_ordering_semantics is Ordering.ACQUIRE)
    if padding is not None and padding.element == "i1":
        padding = low.integer(padding, "i8", signed=False)
    if element.is_packed:
        dim = _paired(low, o.source)
        at = low.positions(source.shape, dim)
        upper = low.compare("ne", low.map("arith.andi", at, low.like(1, at)), low.like(0, at))
        return load_nibbles(low, source, upper, mask, padding), made
    return load(low, source, element, mask, padding, o.memory_ordering_semantics, o.memory_scope), made


def _paired(low: Lowering, pointers: Value) -> int:
    found = paired_dimension(low, pointers)
    if found is None:
        raise low.refuse(PACKED_POINTERS)
    return found


@lowers(StorePtrTko)
def store_ptr_tko(
    low: Lowering, o: StorePtrTko, destination: Val, value: Val, mask: Val | None, token: Tok | None
) -> Tok:
    made = low.order(token, write=True)
    if pointee(o.destination.type).is_packed:
        dim, rank = _paired(low, o.destination), len(value.shape)
        order = [*(i for i in range(rank) if i != dim), dim]
        last = None if mask is None else low.transpose(mask, order)
        store_nibbles(low, low.transpose(destination, order), low.transpose(value, order), last)
        return made
    store(low, destination, value, mask, o.memory_ordering_semantics, o.memory_scope)
    return made


@lowers(Alloca)
def alloca(low: Lowering, o: Alloca) -> Val:
    """A part of the memory that the launcher gives to each tile block."""
    element = pointee(o.result.type)
    size = max(o.num_elem * element.row.memory_bits // 8, 1)
    if size > 1 << 30 or o.alignment > 1 << 20:
        raise low.refuse("it is larger than 1 GiB, or aligned to more than 1 MiB")
    at = low.frame(size, o.alignment)
    x, y, z = (low.integer(v, "i64", signed=False) for v in get_tile_block_id(low, o))  # type: ignore[arg-type]
    nx, ny, _ = (low.integer(v, "i64", signed=False) for v in get_num_tile_blocks(low, o))  # type: ignore[arg-type]
    number = low.map("arith.addi", low.map("arith.muli", low.map("arith.addi", low.map("arith.muli", z, ny), y), nx), x)
    # The size of the frame is known when all allocations are, so it is an argument of the text that is filled in last.
    base = low.frame_address()
    scaled = low.map("arith.muli", number, Val("%frame_size", (), "i64"))
    moved = low.map("arith.addi", scaled, low.constant(at, (), "i64"))
    found = low.make(f"tt.addptr {base.name}, {moved.name} : {base.type}, i64", (), base.element)
    return low.bitcast(found, low.element(o.result))


@lowers(GdcWaitTko)
def gdc_wait_tko(low: Lowering, o: GdcWaitTko, token: Tok | None) -> Tok:
    """Wait for the kernels before; targets without such launches have nothing to wait for."""
    if low.target.capability >= 90:
        low.instruction("griddepcontrol.wait;")
    low.tick += 1
    return Tok(low.tick, low.tick, wrote=True)


@lowers(GdcLaunchDependentsTko)
def gdc_launch_dependents_tko(low: Lowering, o: GdcLaunchDependentsTko, token: Tok | None) -> Tok:
    made = low.order(token, write=True)
    if low.target.capability >= 90:
        low.instruction("griddepcontrol.launch_dependents;")
    return made


@lowers(MemoryFenceAliasTko)
def memory_fence_alias_tko(low: Lowering, o: MemoryFenceAliasTko, token: Tok | None) -> Tok:
    low.barrier()
    if low.target.nvidia:
        low.instruction("fence.proxy.alias;")
        low.barrier()
    return Tok() if token is None else replace(token, read=-1, write=-1)
