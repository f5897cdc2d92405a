"""Makers of assumptions, assertions and prints; all that they claim holds."""

from __future__ import annotations

from .. import ops
from ..analysis.intervals import signed_limits
from ..attrs import Bounded, ComparisonPredicate, DivBy, Predicate, SameElements, Signedness
from ..declare.constraints import IntTile
from ..declare.operation import OpDef
from ..ir import Value
from ..types import I1, I8, I32, I64, Ptr, Scalar, Tile
from . import draw
from .kernel import Draft
from .values import among, constant, get, make, number, pick, scalar_of, tile_of

FORMATS = {"int": ("%d", "%i", "%x", "%5d", "%-3u"), "float": ("%f", "%g", "%.3e", "%8.2f")}
MOST_DIVISOR = 1 << 62


# ---------------------------------------------------------------- assert


def assertion(k: Draft, opdef: OpDef) -> bool:
    """An assertion that holds."""
    k.emit(ops.Assert(condition=true_tile(k), message=draw.text(k.rng)))
    return True


def true_tile(k: Draft) -> Value:
    """Make a tile that is always true: `x == x`, a range check that holds, or `x or true`."""
    x = pick(k, IntTile.ok)
    if x is None:
        return constant(k, Tile((), I1), 1)
    t = tile_of(x)
    way = k.rng.random()
    lo, hi = k.facts.range(x)
    if way < 0.3:
        return _compare(k, ComparisonPredicate.EQUAL, x, x)
    if way < 0.5:
        return _compare(k, ComparisonPredicate.GREATER_THAN_OR_EQUAL, x, number(k, t, lo))
    if way < 0.7:
        return _compare(k, ComparisonPredicate.LESS_THAN_OR_EQUAL, x, number(k, t, hi))
    whole = Tile(t.shape, I1)
    return k.emit(ops.OrI(lhs=get(k, whole), rhs=constant(k, whole, 1))).result


def _compare(k: Draft, predicate: ComparisonPredicate, a: Value, b: Value) -> Value:
    return k.emit(ops.CmpI(comparison_predicate=predicate, lhs=a, rhs=b, signedness=Signedness.SIGNED)).result


# ---------------------------------------------------------------- assume


def assume(k: Draft, opdef: OpDef) -> bool:
    """An `assume` of integers, pointers or a tensor that holds; sometimes the same one twice."""
    if k.tensors and k.chance(0.1):
        _assume_tensor(k)
        return True
    value = pick(k, lambda t: isinstance(t, Tile) and (IntTile.ok(t) or isinstance(t.element, Ptr)))
    if value is None:
        value = make(k, Tile((), k.rng.choice((I1, I8, I32, I64))))
    t = tile_of(value)
    pointer = isinstance(t.element, Ptr)
    way = k.rng.random()
    predicate: Predicate
    if way < 0.3:
        equal = k.facts.same(value)
        predicate = SameElements(tuple(k.rng.choice((1, n)) if equal else 1 for n in t.shape))
    elif way < 0.65 and not pointer:
        predicate = _bounds(k, value)
    else:
        value, predicate = _divisible(k, value)
    o = k.emit(ops.Assume(value=value, predicate=predicate))
    if k.chance(0.2):
        k.emit(ops.Assume(value=o.result, predicate=predicate))
    return True


def _assume_tensor(k: Draft) -> None:
    """Emit an assumption that the base address of a tensor is aligned."""
    tensor = k.rng.choice(k.tensors)
    k.emit(ops.Assume(value=tensor.value, predicate=DivBy(_power(k, tensor.target.align))))


def _power(k: Draft, most: int) -> int:
    """Draw a power of two up to `most`, which is one, too."""
    return 1 << k.rng.randrange(most.bit_length())


def _bounds(k: Draft, value: Value) -> Bounded:
    """Return the known range or a wider one; either end may be open."""
    (lo, hi), (low, high) = k.facts.range(value), signed_limits(scalar_of(value.type))
    lb = k.rng.choice((lo, max(low, lo - 7), None))
    ub = k.rng.choice((hi, min(high, hi + 7), None))
    return Bounded(lb, ub)


def _divisible(k: Draft, value: Value) -> tuple[Value, DivBy]:
    """Find or make a value that is divisible: aligned pointers, a known number, cleared low bits, or an `iota`."""
    t = tile_of(value)
    if isinstance(t.element, Ptr):
        target = k.facts.targets.get(value)
        return value, DivBy(_power(k, target.align if target else 1))
    lo, hi = k.facts.range(value)
    if lo == hi:
        return value, DivBy(_power(k, min(lo & -lo, MOST_DIVISOR) if lo else MOST_DIVISOR))
    if isinstance(value.owner, ops.Iota) and k.chance(0.6):
        every = 1 << k.rng.randrange(t.size.bit_length())
        if t.size - 1 <= hi:
            return value, DivBy(_power(k, every), every, 0)
    assert isinstance(t.element, Scalar)
    if t.element is I1 or not k.chance(0.7):
        return value, DivBy(1, *((1, k.rng.randrange(t.rank)) if t.rank and k.chance(0.3) else ()))
    divisor = 1 << k.rng.randrange(t.element.bits - 1)
    even = k.emit(ops.AndI(lhs=value, rhs=constant(k, t, -divisor & (1 << t.element.bits) - 1))).result
    return even, DivBy(divisor)


# ---------------------------------------------------------------- print


def print_values(k: Draft, opdef: OpDef) -> bool:
    """A string with a format for each value. Addresses are not printed, because they differ between runs."""
    args: list[Value] = []
    pieces = [draw.text(k.rng)]
    for _ in range(k.rng.choice((0, 1, 1, 2, 3))):
        found = [v for v in k.pool[-24:] if isinstance(tile_of(v).element, Scalar)]
        if found:
            value = among(k, found)
            args.append(value)
            pieces += [k.rng.choice(FORMATS[scalar_of(value.type).kind]), draw.text(k.rng)]
    o = ops.PrintTko(str_=" ".join(pieces), args=tuple(args))
    if k.has(ops.PrintTko, "token") and k.effects:
        o.token = k.settle()
        k.wrote(k.emit(o).result_token)
    else:
        k.emit(o)
    return True
