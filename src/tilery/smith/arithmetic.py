"""Makers of arithmetic and conversions: divisions, shifts and conversions are defined, promises hold."""

from __future__ import annotations

from .. import ops
from ..analysis.intervals import Range, limits, signed_limits
from ..analysis.range_rules import EXACT
from ..attrs import IntegerOverflow, RoundingMode, Signedness
from ..declare.constraints import BaseFloatTile, Constraint, FloatTile, IntTile, IntTile4, NumberTile
from ..declare.operation import OpDef
from ..ir import Value
from ..types import BF16, F16, F32, F64, I1, I4, I8, I32, SCALARS, TF32, Scalar, Tile
from . import draw
from .facts import F4
from .generic import attributes, generic, operands, promises
from .kernel import Draft, create
from .values import (
    E8M0,
    any_of,
    clamped,
    constant,
    elements,
    fits,
    get,
    index,
    number,
    pick,
    scalar_of,
    tile_of,
)
from .versions import float_roundings

UNSIGNED = Signedness.UNSIGNED
E4M3, E5M2, E5M3 = SCALARS["f8E4M3FN"], SCALARS["f8E5M2"], SCALARS["fnv8E5M3FNU"]

ACCUMULATORS = {
    F16: (F16, F32),
    BF16: (F32,),
    TF32: (F32,),
    F32: (F32,),
    F64: (F64,),
    E4M3: (F16, F32),
    E5M2: (F16, F32),
}
"""The accumulators of `mmaf` for each element type."""

SCALES = (
    (E4M3, E8M0, 32),
    (E5M2, E8M0, 32),
    (F4, E4M3, 16),
    (F4, E8M0, 16),
    (F4, E8M0, 32),
    (F4, E5M3, 16),
    (F4, E5M3, 32),
)
"""The combinations of element, scale and block size that `mmaf_scaled` accepts."""


# ---------------------------------------------------------------- integers


def small(k: Draft, t: Tile) -> Value:
    """Integers known to lie in a small range."""
    known = [v for v in k.pool[-24:] if v.type is t and v in k.facts.ranges and k.facts.within(v, -64, 64)]
    if known and k.chance(0.7):
        return k.rng.choice(known)
    most = min(signed_limits(scalar_of(t)).hi, k.rng.choice((1, 3, 15, 63)))
    return index(k, most + 1, t.shape, scalar_of(t)) if most else number(k, t, 0)


def wrapping(k: Draft, opdef: OpDef) -> bool:
    """`addi`, `subi`, `muli` or `negi`, with a promise about overflow that holds."""
    values = operands(k, opdef)
    assert values is not None
    tile = tile_of(next(iter(values.values())))
    if k.chance(0.4):
        values = {name: small(k, tile) for name in values}
    ranges = [k.facts.range(v) for v in values.values()]
    if opdef.cls is ops.NegI:
        flags = promises(tile, EXACT[ops.SubI](Range(0, 0), *ranges), ranges)
        flags = [f for f in flags if f is not IntegerOverflow.NUW] if k.has(ops.NegI, "overflow") else flags[:1]
    else:
        flags = promises(tile, EXACT[opdef.cls](*ranges), ranges)
    k.emit(create(opdef, **values, overflow=k.rng.choice(flags)))
    return True


def shift(k: Draft, opdef: OpDef) -> bool:
    """`shli` or `shri` by less than the width."""
    value = any_of(k, IntTile)
    t = tile_of(value)
    by = small_shift(k, t)
    if opdef.cls is ops.ShLI:
        source = k.facts.range(value)
        exact = EXACT[ops.ShLI](source, k.facts.range(by))
        k.emit(ops.ShLI(lhs=value, rhs=by, overflow=k.rng.choice(promises(t, exact, [source]))))
    else:
        k.emit(create(opdef, lhs=value, rhs=by, **attributes(k, opdef)))
    return True


def small_shift(k: Draft, t: Tile) -> Value:
    width = scalar_of(t).bits
    return number(k, t, 0) if width == 1 else index(k, width, t.shape, scalar_of(t))


def divide(k: Draft, opdef: OpDef) -> bool:
    """`divi` or `remi`, never by zero and never the smallest integer by -1."""
    value = any_of(k, IntTile)
    t = tile_of(value)
    element = scalar_of(t)
    sign = UNSIGNED if element is I1 else k.rng.choice(tuple(Signedness))
    known = [v for v in k.pool[-24:] if v.type is t and k.facts.range(v)[0] > 0]
    if known and k.chance(0.5):
        by = k.rng.choice(known)
    elif element is I1:
        by = constant(k, t, 1)
    elif k.chance(0.5):
        by = constant(k, t, k.rng.randrange(1, 100))
    else:
        one = number(k, t, 1)
        by = k.emit(ops.MaxI(lhs=get(k, t), rhs=one, signedness=Signedness.SIGNED)).result
    drawn = attributes(k, opdef, signedness=sign)
    if sign is UNSIGNED and drawn.get("rounding") is RoundingMode.NEGATIVE_INF:
        drawn["rounding"] = RoundingMode.ZERO
    k.emit(create(opdef, lhs=value, rhs=by, **drawn))
    return True


# ---------------------------------------------------------------- floats


def add_floats(k: Draft, opdef: OpDef) -> bool:
    """`addf`, often of a product on the right."""
    if k.chance(0.6):
        return generic(k, opdef)
    value = any_of(k, BaseFloatTile)
    t = tile_of(value)
    drawn = attributes(k, ops.MulF.opdef, t.element)
    product = k.emit(ops.MulF(lhs=get(k, t), rhs=get(k, t), **drawn)).result
    k.emit(ops.AddF(lhs=value, rhs=product, **attributes(k, opdef, t.element)))
    return True


# ---------------------------------------------------------------- conversions


def source_of(k: Draft, kind: Constraint) -> tuple[Value, tuple[int, ...], Scalar]:
    value = any_of(k, kind)
    return value, tile_of(value).shape, scalar_of(value.type)


def bitcast(k: Draft, opdef: OpDef) -> bool:
    """A bitcast to a type of the same width."""
    value, dims, element = source_of(k, NumberTile)
    to = k.rng.choice([s for s in elements(NumberTile, k.version) if s.bits == element.bits])
    k.emit(ops.Bitcast(source=value, result=Value(Tile(dims, to))))
    return True


def extend(k: Draft, opdef: OpDef) -> bool:
    """An extension to a wider integer type."""
    value, dims, element = source_of(k, IntTile4)
    wider = [s for s in elements(IntTile4, k.version) if s.bits > element.bits]
    if wider:
        k.emit(ops.ExtI(from_=value, **attributes(k, opdef), to=Value(Tile(dims, k.rng.choice(wider)))))
    return bool(wider)


def truncate(k: Draft, opdef: OpDef) -> bool:
    """A truncation to a narrower integer type, with a promise if the value is known to fit."""
    value, dims, element = source_of(k, IntTile4)
    narrower = [s for s in elements(IntTile4, k.version) if s.bits < element.bits]
    if not narrower:
        return False
    to = Tile(dims, k.rng.choice(narrower))
    if k.chance(0.4) and element is not I4:
        value = small(k, Tile(dims, element))
    exact = k.facts.range(value)
    k.emit(ops.TruncI(from_=value, overflow=k.rng.choice(promises(to, exact, [exact])), to=Value(to)))
    return True


def float_to_float(k: Draft, opdef: OpDef) -> bool:
    """A conversion to another float type, in a rounding mode that is legal for the two types."""
    value, dims, element = source_of(k, FloatTile)
    others = [s for s in elements(FloatTile, k.version) if s is not element and fits(dims, s)]
    to = k.rng.choice([s for s in others if float_roundings(element, s, k.version)])
    mode = k.rng.choice(float_roundings(element, to, k.version))
    k.emit(ops.FToF(from_=value, rounding_mode=mode, to=Value(Tile(dims, to))))
    return True


def float_to_int(k: Draft, opdef: OpDef) -> bool:
    """A conversion of floats that fit: they are clamped first, or small constants if the type has no arithmetic."""
    value, dims, element = source_of(k, FloatTile)
    to = k.rng.choice(elements(IntTile, k.version))
    drawn = attributes(k, opdef)
    low, high = limits(to, drawn["signedness"])
    if not drawn.get("saturating"):
        if BaseFloatTile.ok(value.type):
            value = clamped(k, value, max(low, -100), min(high, 100))
        else:
            # All bits clear is less than one, even in a format without zero.
            value = constant(k, Tile(dims, element), draw.float_bits(element, draw.ONE) if high else 0)
    k.emit(ops.FToI(from_=value, **drawn, to=Value(Tile(dims, to))))
    return True


def int_to_float(k: Draft, opdef: OpDef) -> bool:
    """A conversion to any float type that has a zero."""
    value, dims, _ = source_of(k, IntTile)
    to = k.rng.choice([s for s in elements(FloatTile, k.version) if s is not E8M0 and fits(dims, s)])
    sign = k.rng.choice(tuple(Signedness))
    k.emit(ops.IToF(from_=value, signedness=sign, to=Value(Tile(dims, to))))
    return True


# ---------------------------------------------------------------- matrices


def matrix(k: Draft, element: Scalar, accumulator: Scalar, block: int = 1) -> tuple[Value, Value, Value, list[int]]:
    """Two matrices and an accumulator: M x K, K x N and M x N, or batches of them. K is a multiple of `block`."""
    batch = [1 << k.rng.randrange(3)] if k.chance(0.3) else []
    m, n, depth = (1 << k.rng.randrange(5) for _ in range(3))
    given = pick(k, lambda t: isinstance(t, Tile) and t.element is element and t.rank in (2, 3))
    if given is not None and tile_of(given).size <= draw.USUAL and not tile_of(given).shape[-1] % block:
        *batch, m, depth = tile_of(given).shape
        lhs = given
    else:
        depth *= block
        lhs = get(k, Tile((*batch, m, depth), element))
    rhs = get(k, Tile((*batch, depth, n), element))
    return lhs, rhs, get(k, Tile((*batch, m, n), accumulator)), [*batch, m, depth // block, n]


def mma_float(k: Draft, opdef: OpDef) -> bool:
    """`mmaf`."""
    element = k.rng.choice([s for s in ACCUMULATORS if s.since <= k.version])
    lhs, rhs, acc, _ = matrix(k, element, k.rng.choice(ACCUMULATORS[element]))
    k.emit(ops.MmaF(lhs=lhs, rhs=rhs, acc=acc, **attributes(k, opdef)))
    return True


def mma_int(k: Draft, opdef: OpDef) -> bool:
    """`mmai`."""
    lhs, rhs, acc, _ = matrix(k, I8, I32)
    k.emit(ops.MmaI(lhs=lhs, rhs=rhs, acc=acc, **attributes(k, opdef)))
    return True


def mma_scaled(k: Draft, opdef: OpDef) -> bool:
    """`mmaf_scaled`: a scale for each block of elements along K."""
    rows = [row for row in SCALES if max(s.since for s in row[:2]) <= k.version]
    element, scale, block = k.rng.choice(rows)
    lhs, rhs, acc, (*batch, m, blocks, n) = matrix(k, element, F32, block)
    scales = []
    for dims in ((*batch, m, blocks), (*batch, blocks, n)):
        t = Tile(dims, scale)
        # Scales of a signed type must not be negative.
        scales.append(constant(k, t, draw.bits(k.rng, scale) & 0x7F) if scale is E4M3 else get(k, t))
    k.emit(ops.MmaFScaled(lhs=lhs, rhs=rhs, acc=acc, lhs_scale=scales[0], rhs_scale=scales[1]))
    return True
