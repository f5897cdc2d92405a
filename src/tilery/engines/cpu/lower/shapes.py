"""Operations that move elements: each is a nest that loads from another index."""

from __future__ import annotations

from collections.abc import Sequence

from ....ops import Broadcast, Cat, Extract, Insert, Pack, Permute, Reshape, Unpack
from ....types import I1, I8, I16, I32, I64, Scalar
from ..loops.builder import element_of
from ..loops.nodes import Buffer, Const, Operand, index
from .state import Lowering, Turned, lowers, shape

INTEGERS: dict[int, Scalar] = {8: I8, 16: I16, 32: I32, 64: I64}
"""Integers by their bits."""


def bits_type(element: Scalar) -> Scalar:
    """Return the integer that takes as many bytes as an element."""
    return INTEGERS[max(8, element.row.memory_bits)]


@lowers(Broadcast)
def broadcast(g: Lowering, o: Broadcast) -> None:
    sizes = shape(o.source)
    if not g.is_spread(o.source):
        g.held[o.result] = g.held[o.source]
        return
    with g.defining(o.result) as (at, made):
        made.append(g.at(o.source, [index(0) if n == 1 else i for i, n in zip(at, sizes)]))


@lowers(Permute)
def permute(g: Lowering, o: Permute) -> None:
    if not g.is_spread(o.source):
        g.held[o.result] = g.held[o.source]
        return
    held = g.held[o.source]
    if isinstance(held, Buffer):
        held = Turned(held, tuple(range(len(o.permutation))))
    if isinstance(held, Turned) and g.comes_from_memory(o.source) and g.may_turn(o.result):
        g.hold(o.result, held.buffer, tuple(o.permutation.index(d) for d in held.order))
        return
    with g.defining(o.result) as (at, made):
        source: list[Operand] = [index(0)] * len(at)
        for i, d in zip(at, o.permutation):
            source[d] = i
        made.append(g.at(o.source, source))


@lowers(Reshape)
def reshape(g: Lowering, o: Reshape) -> None:
    if not g.is_spread(o.source):
        g.held[o.result] = g.held[o.source]
        return
    with g.defining(o.result) as (at, made):
        made.append(g.at(o.source, reshaped(g, at, shape(o.result), shape(o.source))))


def reshaped(g: Lowering, at: Sequence[Operand], before: Sequence[int], after: Sequence[int]) -> list[Operand]:
    """Return the index of the same element in another shape."""
    wide = [(i, n) for i, n in zip(at, before) if n != 1]
    if [n for _, n in wide] == [n for n in after if n != 1]:
        rest = iter(i for i, _ in wide)
        return [index(0) if n == 1 else next(rest) for n in after]
    flat: Operand = index(0)
    for i, n in wide:
        flat = g.b.add(g.b.mul(flat, index(n)), i)
    found: list[Operand] = []
    for n in reversed(after):
        found.insert(0, g.b.integer("urem", flat, index(n)))
        flat = g.b.integer("udiv", flat, index(n))
    return found


@lowers(Cat)
def cat(g: Lowering, o: Cat) -> None:
    first = shape(o.lhs)[o.dim]
    with g.defining(o.result) as (at, made):
        i = at[o.dim]
        is_first = g.b.integer("slt", i, index(first))
        left = g.b.integer("smin", i, index(first - 1))
        right = g.b.integer("smax", g.b.sub(i, index(first)), index(0))
        parts = [g.at(v, [*at[: o.dim], n, *at[o.dim + 1 :]]) for v, n in ((o.lhs, left), (o.rhs, right))]
        made.append(g.b.select(is_first, *parts))


# ---------------------------------------------------------------- parts of tiles


def position(g: Lowering, part: Sequence[int], whole: Sequence[int], indices: Sequence[Operand]) -> list[Operand]:
    """Return which part is meant along each dimension; sizes are powers of two, and indices wrap around."""
    wide = (g.b.resize(i, I64, signed=False) for i in indices)
    return [g.b.both(i, index(n // p - 1)) for i, p, n in zip(wide, part, whole)]


@lowers(Extract)
def extract(g: Lowering, o: Extract) -> None:
    if not g.is_spread(o.source):
        g.held[o.result] = g.held[o.source]
        return
    part = shape(o.result)
    places = position(g, part, shape(o.source), [g.operand(v) for v in o.indices])
    starts = [g.b.mul(i, index(n)) for i, n in zip(places, part)]
    with g.defining(o.result) as (at, made):
        made.append(g.at(o.source, [g.b.add(start, i) for start, i in zip(starts, at)]))


@lowers(Insert)
def insert(g: Lowering, o: Insert) -> None:
    part = shape(o.source)
    places = position(g, part, shape(o.result), [g.operand(v) for v in o.indices])
    with g.defining(o.result) as (at, made):
        inside: Operand = Const(I1, 1)
        for i, n, place in zip(at, part, places):
            inside = g.b.both(inside, g.b.integer("eq", g.b.integer("udiv", i, index(n)), place))
        new = g.at(o.source, [g.b.integer("urem", i, index(n)) for i, n in zip(at, part)])
        made.append(g.b.select(inside, new, g.at(o.destination, at)))


# ---------------------------------------------------------------- bytes


@lowers(Pack)
def pack(g: Lowering, o: Pack) -> None:
    """The bytes of elements; of narrow ones, several in a byte, the first in the lowest bits."""
    element, b = element_of(o.source.type), g.b
    with g.defining(o.result) as ((at,), made):
        if element.bits < 8:
            each = 8 // element.bits
            total: Operand = Const(I8, 0)
            for k in range(each):
                x = g.at(o.source, [b.add(b.mul(at, index(each)), index(k))])
                byte = b.integer("zext", x, to=I8) if element is I1 else b.integer("bits", x, to=I8)
                total = b.either(total, b.integer("shl", byte, Const(I8, k * element.bits)))
            made.append(total)
            return
        wide = bits_type(element)
        size = wide.bits // 8
        x = b.integer("bits", g.at(o.source, [b.integer("udiv", at, index(size))]), to=wide)
        shift = b.mul(b.integer("urem", at, index(size)), index(8))
        made.append(b.resize(b.integer("lshr", x, b.resize(shift, wide, signed=False)), I8, signed=False))


@lowers(Unpack)
def unpack(g: Lowering, o: Unpack) -> None:
    """The elements whose bits are in bytes."""
    element, b = element_of(o.result.type), g.b
    with g.defining(o.result) as ((at,), made):
        if element.bits < 8:
            each = 8 // element.bits
            byte = g.at(o.source, [b.integer("udiv", at, index(each))])
            shift = b.mul(b.integer("urem", at, index(each)), index(element.bits))
            low = b.integer("lshr", byte, b.resize(shift, I8, signed=False))
            low = b.both(low, Const(I8, (1 << element.bits) - 1))
            made.append(b.integer("trunc", low, to=I1) if element is I1 else b.integer("bits", low, to=element))
            return
        wide = bits_type(element)
        size = wide.bits // 8
        total: Operand = Const(wide, 0)
        for k in range(size):
            byte = g.at(o.source, [b.add(b.mul(at, index(size)), index(k))])
            part = b.resize(byte, wide, signed=False)
            total = b.either(total, b.integer("shl", part, Const(wide, 8 * k)))
        made.append(b.integer("bits", total, to=element))
