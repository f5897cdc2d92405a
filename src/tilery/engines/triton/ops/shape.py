"""Constants, and operations on the shape of tiles."""

from __future__ import annotations

from ....ops import Broadcast, Cat, Constant, Extract, GetGlobal, Insert, Iota, Offset, Permute, Reshape, Select
from ....types import Ptr
from ..emit import FLOAT_BITS, INTEGERS, Val, tile_type
from ..registry import lowers
from ..state import Lowering

CHAIN = 16
"""Up to this many elements, a constant is made by selects; above, it is read from memory."""


SPLIT = 1024
"""Below this many elements Triton may take forever to split a tile."""


@lowers(Constant)
def constant(low: Lowering, o: Constant) -> Val:
    """A splat, a chain of selects, or a buffer: Triton hangs when it changes the layout of any other constant."""
    element, shape = low.element(o.result), low.shape(o.result)
    dense = o.value
    shift = dense.element.row.memory_bits - dense.element.bits if dense.element.name == "tf32" else 0
    if dense.splat is not None:
        return low.constant(dense.splat << shift, shape, element)
    bits = [b << shift for b in dense.elements()]
    count = len(bits)
    raw = f"i{max(8, INTEGERS.get(element) or FLOAT_BITS[element])}"
    if count <= CHAIN:
        flat = low.constant(bits[0], (count,), raw)
        index = low.iota(count)
        for i, b in enumerate(bits):
            if b != bits[0]:
                flat = low.select(low.compare("eq", index, low.like(i, index)), low.like(b, flat), flat)
    else:
        width = INTEGERS[raw] // 8
        base = low.constant_buffer(b"".join(b.to_bytes(width, "little") for b in bits), raw)
        pointers = low.splat(base, (count,))
        index = low.iota(count)
        text = f"tt.addptr {pointers.name}, {index.name} : {pointers.type}, {index.type}"
        pointers = low.make(text, (count,), base.element)
        flat = low.make(f"tt.load {pointers.name} : {pointers.type}", (count,), raw)
    shaped = low.reshape(flat, shape)
    return low.compare("ne", shaped, low.like(0, shaped)) if element == "i1" else low.bitcast(shaped, element)


@lowers(Iota)
def iota(low: Lowering, o: Iota) -> Val:
    element = low.element(o.result)
    return low.iota(low.shape(o.result)[0], element)


@lowers(Broadcast)
def broadcast(low: Lowering, o: Broadcast, source: Val) -> Val:
    return low.broadcast(source, low.shape(o.result))


@lowers(Reshape)
def reshape(low: Lowering, o: Reshape, source: Val) -> Val:
    return low.reshape(source, low.shape(o.result))


@lowers(Permute)
def permute(low: Lowering, o: Permute, source: Val) -> Val:
    return low.transpose(source, o.permutation)


@lowers(Cat)
def cat(low: Lowering, o: Cat, lhs: Val, rhs: Val) -> Val:
    """One tile after the other: joined along a new dimension, which then moves to its place."""
    shape, dim = low.shape(o.result), o.dim
    rank = len(shape)
    a, b = low.held(lhs), low.held(rhs)
    if dim == rank - 1 and lhs.shape[-1] == 1 and rank > 1:
        joined = low.join(low.reshape(a, lhs.shape[:-1]), low.reshape(b, lhs.shape[:-1]))
    else:
        joined = low.transpose(low.join(a, b), [*range(dim), rank, *range(dim, rank)])
    return low.released(low.reshape(joined, shape), lhs.element)


@lowers(Extract)
def extract(low: Lowering, o: Extract, source: Val, indices: tuple[Val, ...]) -> Val:
    """A part of a tile: each dimension that is cut becomes two, which part and where in it."""
    shape = low.shape(o.result)
    half = _half(low, o, source, shape)
    if half is not None:
        return half
    for dim, (index, size) in enumerate(zip(indices, shape)):
        count = source.shape[dim] // size
        if count > 1:
            grid = low.reshape(low.held(source), (*source.shape[:dim], count, size, *source.shape[dim + 1 :]))
            source = low.released(low.pick(grid, _wrapped(low, index, count), dim), source.element)
    return source


def _wrapped(low: Lowering, index: Val, count: int) -> Val:
    """The number of a part; one outside the grid of parts wraps around."""
    return low.map("arith.andi", index, low.like(count - 1, index))


def _half(low: Lowering, o: Extract, source: Val, shape: tuple[int, ...]) -> Val | None:
    """One of the two elements of the last dimension, which need not go through shared memory."""
    if (
        source.shape[:-1] == ()
        or tile_type(o.source.type).size < SPLIT
        or source.shape[:-1] != shape[:-1]
        or (source.shape[-1], shape[-1]) != (2, 1)
    ):
        return None
    index = low.ranges.constant(o.indices[-1])
    if index is None:
        return None
    part = low.split(low.held(source))[index & 1]
    return low.released(low.reshape(part, shape), source.element)


@lowers(Insert)
def insert(low: Lowering, o: Insert, source: Val, destination: Val, indices: tuple[Val, ...]) -> Val:
    """The part is repeated over the whole tile, and selected where it belongs."""
    shape = destination.shape
    inside: Val | None = None
    for dim, (index, whole) in enumerate(zip(indices, shape)):
        size = source.shape[dim]
        count = whole // size
        if count == 1:
            continue
        source = low.repeated(source, count, dim)
        place = low.positions(shape, dim)
        part = low.map("arith.shrui", place, low.like(size.bit_length() - 1, place))
        found = low.compare("eq", part, low.splat(_wrapped(low, index, count), shape))
        inside = found if inside is None else low.map("arith.andi", inside, found)
    return source if inside is None else low.select(inside, source, destination)


@lowers(Select)
def select(low: Lowering, o: Select, condition: Val, yes: Val, no: Val) -> Val:
    return low.select(condition, yes, no)


@lowers(Offset)
def offset(low: Lowering, o: Offset, pointers: Val, by: Val) -> Val:
    """Pointers moved by elements; two four-bit elements share an address."""
    if by.bits < 32:
        by = low.integer(by, "i32", signed=True)
    element = tile_type(o.result.type).element
    assert isinstance(element, Ptr)
    if element.pointee.is_packed:
        by = low.map("arith.shrsi", by, low.like(1, by))
    text = f"tt.addptr {pointers.name}, {by.name} : {pointers.type}, {by.type}"
    return low.make(text, pointers.shape, pointers.element)


@lowers(GetGlobal)
def get_global(low: Lowering, o: GetGlobal) -> Val:
    element = low.element(o.result)
    return low.bitcast(low.global_address(o.name_, "i8"), element)
