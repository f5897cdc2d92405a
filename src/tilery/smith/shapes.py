"""Makers of the core operations on shapes, and of reductions and scans."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeGuard

from .. import ops
from ..analysis.intervals import signed_limits
from ..attrs import Attr, ComparisonPredicate, FloatAttr, IntAttr, Signedness
from ..declare.constraints import AnyTile, BaseFloatTile, IntTile, NumberTile4
from ..declare.operation import OpDef
from ..ir import Block, Op, Value, walk
from ..types import I8, I32, TF32, Ptr, Scalar, Tile, Type
from . import draw
from .kernel import Draft, create
from .memory import new_global
from .values import any_type, constant, elements, fits, get, index, make, pick, reshaped, scalar_of, tile_of
from .versions import Feature

LARGEST = 4096

SIGNED, UNSIGNED = Signedness.SIGNED, Signedness.UNSIGNED


def some_tile(k: Draft, ranks: range) -> Value:
    """Find or make a tile of any element type, of one of these ranks."""
    found = pick(k, lambda t: isinstance(t, Tile) and t.rank in ranks) if k.chance(0.9) else None
    if found is not None:
        return found
    dims = draw.shape(k.rng, rank=k.rng.choice(ranks))
    choices = [s for s in elements(AnyTile, k.version) if fits(dims, s)]
    return get(k, Tile(dims, k.rng.choice(choices)))


def fresh_constant(k: Draft, opdef: OpDef) -> bool:
    """A constant of any type."""
    constant(k, any_type(k, ops.Constant.opdef.field("result").kind))
    return True


def iota(k: Draft, opdef: OpDef) -> bool:
    """An `iota` with as many elements as the type can count."""
    element = k.rng.choice(elements(IntTile, k.version))
    size = 1 << k.rng.randrange(min(element.bits, 9) + 1)
    k.emit(ops.Iota(result=Value(Tile((size,), element))))
    return True


def block_id(k: Draft, opdef: OpDef) -> bool:
    """The position of the tile block in the grid."""
    o = k.emit(ops.GetTileBlockId())
    for value, size in zip(o.results, k.grid):
        k.facts.know(value, 0, size - 1)
    return True


def grid_size(k: Draft, opdef: OpDef) -> bool:
    """The size of the grid."""
    o = k.emit(ops.GetNumTileBlocks())
    for value, size in zip(o.results, k.grid):
        k.facts.know(value, size, size)
    return True


def address_of_global(k: Draft, opdef: OpDef) -> bool:
    """The address of an existing global, or of a new one."""
    if not k.unit.globals or (len(k.unit.globals) < 4 and k.chance(0.3)):
        new_global(k)
    target = k.rng.choice(k.unit.globals)
    o = k.emit(ops.GetGlobal(name_=target.sym_name, result=Value(Tile((), Ptr(target.value.element)))))
    k.point_to_global(target, o.result)
    return True


# ---------------------------------------------------------------- moving elements


def broadcast(k: Draft, opdef: OpDef) -> bool:
    """A broadcast of dimensions of size one."""
    value = pick(k, lambda t: isinstance(t, Tile) and 1 in t.shape)
    if value is None:
        value = pick(k, lambda t: isinstance(t, Tile) and not t.shape)
        value = some_tile(k, range(1, 4)) if value is None else reshaped(k, value, (1,) * k.rng.randrange(1, 4))
    t = tile_of(value)
    dims = tuple(1 << k.rng.randrange(4) if dim == 1 else dim for dim in t.shape)
    if Tile(dims, t.element).size > LARGEST:
        return False
    k.emit(ops.Broadcast(source=value, result=Value(Tile(dims, t.element))))
    return True


def reshape(k: Draft, opdef: OpDef) -> bool:
    """A reshape to any other dimensions."""
    value = some_tile(k, range(4))
    t = tile_of(value)
    powers = [0] * k.rng.randrange(1 if t.size > 1 else 0, 5)
    for _ in range(t.size.bit_length() - 1):
        powers[k.rng.randrange(len(powers))] += 1
    k.emit(ops.Reshape(source=value, result=Value(Tile([1 << p for p in powers], t.element))))
    return True


def permute(k: Draft, opdef: OpDef) -> bool:
    """A permutation of two or more dimensions."""
    value = some_tile(k, range(2, 5))
    order = list(range(tile_of(value).rank))
    k.rng.shuffle(order)
    k.emit(ops.Permute(source=value, permutation=tuple(order)))
    return True


def cat(k: Draft, opdef: OpDef) -> bool:
    """A `cat` of two tiles of one type: only equal dimensions add up to a power of two."""
    lhs = some_tile(k, range(1, 5))
    t = tile_of(lhs)
    dim = k.rng.randrange(t.rank)
    if t.size * 2 > LARGEST:
        return False
    dims = [2 * n if i == dim else n for i, n in enumerate(t.shape)]
    k.emit(ops.Cat(lhs=lhs, rhs=get(k, t), dim=dim, result=Value(Tile(dims, t.element))))
    return True


def part_of(k: Draft, t: Tile) -> tuple[Tile, tuple[Value, ...]] | None:
    """Choose the type of a smaller tile that divides the tile, and the indices of one."""
    counts = [1 << k.rng.randrange(n.bit_length()) for n in t.shape]
    dims = tuple(n // count for n, count in zip(t.shape, counts))
    if isinstance(t.element, Scalar) and not fits(dims, t.element):
        return None
    return Tile(dims, t.element), tuple(index(k, count) for count in counts)


def extract(k: Draft, opdef: OpDef) -> bool:
    """An `extract` with indices in bounds."""
    value = some_tile(k, range(4))
    part = part_of(k, tile_of(value))
    if part is not None:
        k.emit(ops.Extract(source=value, indices=part[1], result=Value(part[0])))
    return part is not None


def insert(k: Draft, opdef: OpDef) -> bool:
    """An `insert` with indices in bounds."""
    value = some_tile(k, range(4))
    part = part_of(k, tile_of(value))
    if part is not None:
        k.emit(ops.Insert(source=get(k, part[0]), destination=value, indices=part[1]))
    return part is not None


def packed_bits(element: Scalar) -> int:
    return 32 if element is TF32 else element.bits


def pack(k: Draft, opdef: OpDef) -> bool:
    """A `pack` of elements that fill whole bytes."""
    kinds = [s for s in elements(NumberTile4, k.version) if s.bits != 8]
    value = pick(k, lambda t: isinstance(t, Tile) and t.element in kinds) if k.chance(0.7) else None
    element = k.rng.choice(kinds) if value is None else scalar_of(value.type)
    size = tile_of(value).size if value is not None else 1 << k.rng.randrange(3, 8)
    total = size * packed_bits(element)
    if total % 8 or total // 8 > LARGEST:
        return False
    row = make(k, Tile((size,), element)) if value is None else reshaped(k, value, (size,))
    k.emit(ops.Pack(source=row, result=Value(Tile((total // 8,), I8))))
    return True


def unpack(k: Draft, opdef: OpDef) -> bool:
    """An `unpack` of bytes to whole elements."""
    value = pick(k, lambda t: isinstance(t, Tile) and t.element is I8)
    size = tile_of(value).size if value is not None and k.chance(0.7) else 1 << k.rng.randrange(3, 7)
    kinds = [s for s in elements(NumberTile4, k.version) if s.bits != 8 and 8 * size % packed_bits(s) == 0]
    element = k.rng.choice(kinds)
    row = reshaped(k, value, (size,)) if value is not None and tile_of(value).size == size else None
    if row is None:
        row = get(k, Tile((size,), I8))
    k.emit(ops.Unpack(source=row, result=Value(Tile((8 * size // packed_bits(element),), element))))
    return True


# ---------------------------------------------------------------- reductions and scans

Combine = Callable[[Value, Value], Any]
"""Creates the operation that combines two elements."""


def _integer_sums(element: Scalar) -> list[tuple[int, Combine]]:
    """List the ways to combine integers: the bits of the identity, and the operation."""
    ones = (1 << element.bits) - 1
    top = ones >> 1
    return [
        (0, lambda a, b: ops.AddI(lhs=a, rhs=b)),
        (1, lambda a, b: ops.MulI(lhs=a, rhs=b)),
        (ones, lambda a, b: ops.AndI(lhs=a, rhs=b)),
        (0, lambda a, b: ops.OrI(lhs=a, rhs=b)),
        (0, lambda a, b: ops.XOrI(lhs=b, rhs=a)),
        (top, lambda a, b: ops.MinI(lhs=a, rhs=b, signedness=SIGNED)),
        (ones, lambda a, b: ops.MinI(lhs=a, rhs=b, signedness=UNSIGNED)),
        (top + 1, lambda a, b: ops.MaxI(lhs=a, rhs=b, signedness=SIGNED)),
        (0, lambda a, b: ops.MaxI(lhs=b, rhs=a, signedness=UNSIGNED)),
    ]


def _float_sums(element: Scalar) -> list[tuple[int, Combine]]:
    """List the ways to combine floats. Extremes propagate NaN: those that drop it have no neutral identity."""
    form = element.format
    sign, infinity = 1 << element.bits - 1, form.top + 1
    return [
        (sign, lambda a, b: ops.AddF(lhs=a, rhs=b)),
        (0, lambda a, b: ops.AddF(lhs=b, rhs=a)),
        (draw.float_bits(element, draw.ONE), lambda a, b: ops.MulF(lhs=a, rhs=b)),
        (infinity, lambda a, b: ops.MinF(lhs=b, rhs=a, propagate_nan=True)),
        (infinity, lambda a, b: ops.MinF(lhs=a, rhs=b, propagate_nan=True)),
        (sign | infinity, lambda a, b: ops.MaxF(lhs=a, rhs=b, propagate_nan=True)),
    ]


def identity(element: Scalar, bits: int) -> Attr:
    return (IntAttr if element.is_int else FloatAttr)(element, bits)


def aggregate(k: Draft, opdef: OpDef) -> bool:
    """A `reduce` or `scan` of one to three tiles, with operations whose order does not matter."""
    value = pick(k, lambda t: _has_sums(t) and t.rank > 0) if k.chance(0.85) else None
    if value is None:
        dims = draw.shape(k.rng, rank=k.rng.randrange(1, 4))
        value = get(k, Tile(dims, k.rng.choice((*elements(IntTile, k.version), *elements(BaseFloatTile, k.version)))))
    t = tile_of(value)
    if scalar_of(t).is_int and scalar_of(t).bits > 1 and k.chance(0.2):
        return _extremum(k, opdef, value)
    inputs = [value]
    for _ in range(k.rng.choice((0, 0, 0, 1, 2))):
        more = pick(k, lambda u: _has_sums(u) and u.shape == t.shape)
        inputs.append(value if more is None else more)
    identities, args, body, results = [], [], [], []
    for v in inputs:
        element = scalar_of(v.type)
        bits, combine = k.rng.choice(_integer_sums(element) if element.is_int else _float_sums(element))
        a, b = Value(Tile((), element)), Value(Tile((), element))
        o = combine(a, b)
        identities.append(identity(element, bits))
        args += [a, b]
        body.append(o)
        results.append(o.result)
    _emit(k, opdef, inputs, identities, args, [*body, ops.Yield(operands_=tuple(results))])
    return True


def _has_sums(t: Type) -> TypeGuard[Tile]:
    """Whether the elements can be combined in any order."""
    return IntTile.ok(t) or BaseFloatTile.ok(t)


def _extremum(k: Draft, opdef: OpDef, value: Value) -> bool:
    """Emit a search for the largest element and its position; of equal ones, the first."""
    t = tile_of(value)
    element = scalar_of(t)
    places = get(k, Tile(t.shape, I32))
    a, b, i, j = (Value(Tile((), e)) for e in (element, element, I32, I32))
    more = ops.CmpI(comparison_predicate=ComparisonPredicate.GREATER_THAN, lhs=a, rhs=b, signedness=SIGNED)
    equal = ops.CmpI(comparison_predicate=ComparisonPredicate.EQUAL, lhs=a, rhs=b, signedness=SIGNED)
    first = ops.CmpI(comparison_predicate=ComparisonPredicate.LESS_THAN, lhs=i, rhs=j, signedness=SIGNED)
    tie = ops.AndI(lhs=equal.result, rhs=first.result)
    left = ops.OrI(lhs=more.result, rhs=tie.result)
    body: list[Op] = [more, equal, first, tie, left]
    if not k.can(Feature.IF_IN_REDUCTION) or k.chance(0.5):
        one = ops.Select(cond=left.result, val_if_true=a, val_if_false=b)
        two = ops.Select(cond=left.result, val_if_true=i, val_if_false=j)
        body += [one, two, ops.Yield(operands_=(one.result, two.result))]
    else:
        then, other = Block([], [ops.Yield(operands_=(a, i))]), Block([], [ops.Yield(operands_=(b, j))])
        results = (Value(a.type), Value(i.type))
        chosen = ops.If(condition=left.result, results_=results, thenRegion=then, elseRegion=other)
        body += [chosen, ops.Yield(operands_=chosen.results_)]
    lowest = signed_limits(element).lo & (1 << element.bits) - 1
    identities = [identity(element, lowest), identity(I32, signed_limits(I32).hi)]
    _emit(k, opdef, [value, places], identities, [a, b, i, j], body)
    return True


def _emit(
    k: Draft, opdef: OpDef, inputs: list[Value], identities: list[Attr], args: list[Value], body: list[Op]
) -> None:
    if k.debug is not None:
        for o in body:
            o.loc = k.debug.location()
    k.count += len(body)
    more = {"reverse": k.chance(0.4)} if opdef.cls is ops.Scan else {}
    dim = k.rng.randrange(tile_of(inputs[0]).rank)
    block = Block(args, body)
    for o in walk(block):
        k.ask(o)
    k.emit(create(opdef, operands_=inputs, dim=dim, identities=tuple(identities), body=block, **more))
