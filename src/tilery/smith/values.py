"""Operands: found among the visible values, or made when they are needed."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from .. import ops
from ..analysis.intervals import signed_limits
from ..attrs import ComparisonOrdering, ComparisonPredicate, Dense, Signedness
from ..declare.constraints import BaseFloatTile, Constraint
from ..ir import Value
from ..types import I1, I4, I8, I32, SCALARS, Ptr, Scalar, Tile, Type
from ..version import Version
from . import draw
from .kernel import Draft
from .versions import float_roundings

E8M0 = SCALARS["f8E8M0FNU"]
FULL_CONSTANT = 64
"""Larger constants are splats."""

RECENT = 200
"""How far back to search for a visible value, so that the time per operation does not grow with the module."""


def tile_of(value: Value) -> Tile:
    assert isinstance(value.type, Tile)
    return value.type


def scalar_of(t: Type) -> Scalar:
    """Return the element type of a tile of numbers."""
    assert isinstance(t, Tile) and isinstance(t.element, Scalar)
    return t.element


def fits(shape: tuple[int, ...], element: Scalar) -> bool:
    """Whether there is such a tile: elements that share a byte come in even numbers."""
    return not element.is_packed or any(dim > 1 for dim in shape)


@lru_cache(maxsize=1024)
def elements(kind: Constraint, version: Version) -> tuple[Scalar, ...]:
    """List the element types of which some tile satisfies a constraint."""
    known = [s for s in SCALARS.values() if s.since <= version]
    return tuple(s for s in known if kind.ok(Tile((2,), s)) or (not s.is_packed and kind.ok(Tile((), s))))


# ---------------------------------------------------------------- found


def among(k: Draft, found: list[Value]) -> Value:
    """Choose one of these, preferably one that is unused, preferably a recent one."""
    if k.chance(0.75):
        found = [v for v in found if v in k.unused] or found
    return found[-1 - int(k.rng.random() ** 2 * len(found))]


def pick(k: Draft, ok: Callable[[Type], bool]) -> Value | None:
    """Find a visible tile of such a type."""
    found = [v for v in k.pool[-24:] if ok(v.type)] or [v for v in k.pool[-RECENT:] if ok(v.type)]
    return among(k, found) if found else None


def get(k: Draft, t: Tile) -> Value:
    """Find or make a tile of this type."""
    found = [v for v in k.pool[-RECENT:] if v.type is t]
    if found and k.chance(0.9):
        return among(k, found)
    return make(k, t)


def shape(k: Draft, limit: int = draw.USUAL) -> tuple[int, ...]:
    """Choose the shape of a visible tile, or a random one."""
    if k.pool and k.chance(0.6):
        seen = tile_of(k.pool[-1 - k.rng.randrange(min(16, len(k.pool)))])
        if seen.size <= limit:
            return seen.shape
    return draw.shape(k.rng, limit)


def any_of(k: Draft, kind: Constraint) -> Value:
    """Find or make a tile that satisfies a constraint."""
    found = pick(k, kind.ok) if k.chance(0.9) else None
    return make(k, any_type(k, kind)) if found is None else found


def any_type(k: Draft, kind: Constraint) -> Tile:
    element = k.rng.choice(elements(kind, k.version))
    dims = shape(k)
    for given in (dims, (2,), ()):
        if fits(given, element) and kind.ok(Tile(given, element)):
            return Tile(given, element)
    raise AssertionError(f"no tile of numbers is a {kind.text}")


def shaped(k: Draft, dims: tuple[int, ...], kind: Constraint) -> Value | None:
    """Find or make a tile of this shape that satisfies a constraint."""
    found = pick(k, lambda t: isinstance(t, Tile) and t.shape == dims and kind.ok(t))
    if found is not None and k.chance(0.85):
        return found
    allowed = [s for s in elements(kind, k.version) if fits(dims, s)]
    return get(k, Tile(dims, k.rng.choice(allowed))) if allowed else None


# ---------------------------------------------------------------- made


def make(k: Draft, t: Tile) -> Value:
    """Make a tile of this type: by one operation from a visible tile, or as a constant."""
    element = t.element
    if isinstance(element, Ptr):
        return _pointers(k, t)
    if element is I4:
        return k.emit(ops.TruncI(from_=get(k, Tile(t.shape, I8)), to=Value(t))).to
    way = k.rng.random()
    made: Value | None = None
    if way < 0.4:
        made = _other_shape(k, t) or _other_element(k, t)
    elif way < 0.7:
        made = _other_element(k, t) or _other_shape(k, t)
    elif way < 0.8 and element.is_int and t.size - 1 <= signed_limits(element).hi:
        made = reshaped(k, k.emit(ops.Iota(result=Value(Tile((t.size,), element)))).result, t.shape)
    elif way < 0.85 and not t.shape and len(k.params) < 6:
        made = k.scalar(element, draw.bits(k.rng, element))
    return constant(k, t) if made is None else made


def constant(k: Draft, t: Tile, *given: int) -> Value:
    """Emit a constant of these bits (one is a splat), or of random bits."""
    element = scalar_of(t)
    if given:
        numbers = list(given)
    elif t.size <= FULL_CONSTANT and k.chance(0.3):
        numbers = [draw.bits(k.rng, element) for _ in range(t.size)]
    else:
        numbers = [draw.bits(k.rng, element)]
    return k.emit(ops.Constant(value=Dense.of(t, numbers))).result


def number(k: Draft, t: Tile, value: int) -> Value:
    """Find or make a tile of integers that all have this value."""
    known = [v for v in k.pool[-RECENT:] if v.type is t and k.facts.range(v) == (value, value)]
    if known and k.chance(0.85):
        return k.rng.choice(known)
    element = scalar_of(t)
    bits = value & (1 << element.bits) - 1
    if not t.shape and len(k.params) < 6 and k.chance(0.15):
        return k.scalar(element, bits)
    return constant(k, t, bits)


def reshaped(k: Draft, value: Value, dims: tuple[int, ...]) -> Value:
    """Emit a reshape to this shape, if one is needed."""
    old = tile_of(value)
    if old.shape == dims:
        return value
    return k.emit(ops.Reshape(source=value, result=Value(Tile(dims, old.element)))).result


def spread(k: Draft, value: Value, dims: tuple[int, ...]) -> Value:
    """Emit a broadcast of a scalar to this shape."""
    ones = reshaped(k, value, (1,) * len(dims))
    if tile_of(ones).shape == dims:
        return ones
    return k.emit(ops.Broadcast(source=ones, result=Value(Tile(dims, tile_of(value).element)))).result


def _other_shape(k: Draft, t: Tile) -> Value | None:
    for v in reversed(k.pool[-12:]):
        old = tile_of(v)
        if old.element is t.element and old is not t:
            if old.size == t.size:
                return reshaped(k, v, t.shape)
            if not old.shape:
                return spread(k, v, t.shape)
            if old.rank == t.rank and all(a in (1, b) for a, b in zip(old.shape, t.shape)):
                return k.emit(ops.Broadcast(source=v, result=Value(t))).result
    return None


def _other_element(k: Draft, t: Tile) -> Value | None:
    for v in reversed(k.pool[-12:]):
        old = tile_of(v)
        if old.shape == t.shape and old.element is not t.element and isinstance(old.element, Scalar):
            return convert(k, v, scalar_of(t))
    return None


def _pointers(k: Draft, t: Tile) -> Value:
    """Find or make pointers to any memory of that element type."""
    assert isinstance(t.element, Ptr)
    one = Tile((), t.element)
    bases = [v for v in k.bases + k.param_bases if v.type is one]
    if bases:
        base = k.rng.choice(bases)
    else:
        # The cast sets the pointer's kind, which is random for a parameter.
        pointee = t.element.pointee
        base = k.emit(ops.PtrToPtr(source=k.buffer(pointee, 64, writable=False), result=Value(one))).result
    return spread(k, base, t.shape)


def negated(k: Draft, value: Value) -> Value:
    """Emit `not value`, in the form in which passes recognise it."""
    t = tile_of(value)
    return k.emit(ops.XOrI(lhs=value, rhs=constant(k, t, 1))).result


# ---------------------------------------------------------------- converted


def convert(k: Draft, value: Value, to: Scalar) -> Value | None:
    """Emit a conversion to another type; return None if it takes more than one operation."""
    old = tile_of(value)
    source, result = old.element, Value(Tile(old.shape, to)) if fits(old.shape, to) else None
    if result is None or not isinstance(source, Scalar) or source is to:
        return None
    sign = k.rng.choice(tuple(Signedness))
    if source.is_int and to.is_int:
        if source.bits < to.bits:
            return k.emit(ops.ExtI(from_=value, signedness=sign, to=result)).to
        return k.emit(ops.TruncI(from_=value, to=result)).to
    if source is I4 or to is I4:
        return None
    if source.is_int:
        return None if to is E8M0 else k.emit(ops.IToF(from_=value, signedness=sign, to=result)).to
    if to.is_float:
        modes = float_roundings(source, to, k.version)
        return k.emit(ops.FToF(from_=value, rounding_mode=k.rng.choice(modes), to=result)).to if modes else None
    if source.bits == to.bits:
        return k.emit(ops.Bitcast(source=value, result=result)).result
    if to is I1 and BaseFloatTile.ok(old):
        predicate, ordering = k.rng.choice(tuple(ComparisonPredicate)), k.rng.choice(tuple(ComparisonOrdering))
        zero = constant(k, old, 0)
        return k.emit(
            ops.CmpF(comparison_predicate=predicate, comparison_ordering=ordering, lhs=value, rhs=zero)
        ).result
    return None


def clamped(k: Draft, value: Value, low: int, high: int) -> Value:
    """Clamp floats to a range; NaN becomes the lower limit."""
    t = tile_of(value)
    bits = [draw.float_bits(scalar_of(t), Fraction(n)) for n in (low, high)]
    raised = k.emit(ops.MaxF(lhs=value, rhs=constant(k, t, bits[0]))).result
    return k.emit(ops.MinF(lhs=raised, rhs=constant(k, t, bits[1]))).result


# ---------------------------------------------------------------- in range


def index(k: Draft, limit: int, dims: tuple[int, ...] = (), element: Scalar = I32) -> Value:
    """Find or make integers from 0 to `limit - 1`."""
    t = Tile(dims, element)
    known = [v for v in k.pool[-32:] if v.type is t and k.facts.within(v, 0, limit - 1)]
    if known and k.chance(0.6):
        return k.rng.choice(known)
    if not dims and k.chance(0.5):
        return number(k, t, k.rng.randrange(limit))
    if k.chance(0.5):
        # Mask with the largest power of two that fits, less one.
        mask = number(k, t, (1 << limit.bit_length() - 1) - 1)
        return k.emit(ops.AndI(lhs=get(k, t), rhs=mask)).result
    lot = number(k, t, limit)
    rest = k.emit(ops.RemI(lhs=get(k, t), rhs=lot, signedness=Signedness.UNSIGNED)).result
    k.facts.know(rest, 0, limit - 1)
    return rest


def positions(k: Draft, limit: int, dims: tuple[int, ...], element: Scalar = I32) -> Value:
    """Make distinct integers from 0 to `limit - 1`."""
    size = Tile(dims, element).size
    assert size <= limit
    row = k.emit(ops.Iota(result=Value(Tile((size,), element)))).result
    way = k.rng.random()
    if way < 0.25:
        row = k.emit(ops.XOrI(lhs=row, rhs=constant(k, tile_of(row), k.rng.randrange(size)))).result
        k.facts.know(row, 0, size - 1)
    elif way < 0.5 and limit > size:
        start = spread(k, index(k, limit - size + 1, (), element), (size,))
        row = k.emit(ops.AddI(lhs=row, rhs=start)).result
    return reshaped(k, row, dims)


def index_element(k: Draft, limit: int) -> Scalar:
    """Choose an integer type that can represent this limit."""
    return k.rng.choice(
        [s for s in map(SCALARS.__getitem__, ("i8", "i16", "i32", "i64")) if limit <= signed_limits(s).hi]
    )
