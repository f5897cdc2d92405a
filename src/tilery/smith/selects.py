"""Makers of `select`: plain ones, and the shapes that the rules of `canonicalize` look for."""

from __future__ import annotations

from .. import ops
from ..attrs import ComparisonPredicate, Signedness
from ..declare.constraints import IntTile
from ..declare.operation import OpDef
from ..ir import Value
from ..types import I1, Tile
from . import draw
from .facts import F4
from .kernel import Draft
from .memory import stored
from .shapes import some_tile
from .values import FULL_CONSTANT, any_of, constant, elements, get, make, negated, pick, shape, tile_of


def select(k: Draft, opdef: OpDef) -> bool:
    """A choice between two tiles of bytes or more; half of the time in a special shape."""
    if k.chance(0.5):
        made = k.rng.choice(SHAPES)(k)
        if k.effects and k.chance(0.5):
            stored(k, made)  # so that it is not dead
        return True
    value = some_tile(k, range(5))
    t = tile_of(value)
    if t.element is F4:
        return False
    choose(k, get(k, Tile(t.shape, I1)), value, get(k, t))
    return True


def choose(k: Draft, cond: Value, yes: Value, no: Value) -> Value:
    """Emit a `select`."""
    return k.emit(ops.Select(cond=cond, val_if_true=yes, val_if_false=no)).result


def condition(k: Draft) -> Value:
    """A tile of conditions that is not a constant."""
    found = pick(k, lambda t: isinstance(t, Tile) and t.element is I1)
    if found is not None and not isinstance(found.owner, ops.Constant) and k.chance(0.7):
        return found
    a = any_of(k, IntTile)
    predicate, sign = k.rng.choice(tuple(ComparisonPredicate)), k.rng.choice(tuple(Signedness))
    return k.emit(ops.CmpI(comparison_predicate=predicate, lhs=a, rhs=get(k, tile_of(a)), signedness=sign)).result


def another(k: Draft, value: Value) -> Value:
    """A different tile of the same type."""
    found = get(k, tile_of(value))
    return make(k, tile_of(value)) if found is value else found


# ---------------------------------------------------------------- shapes that rules look for


def of_zero_and_one(k: Draft) -> Value:
    """Between 0 and 1 in any order: the condition itself, its inverse, or its extension to another integer type."""
    cond = condition(k)
    element = I1 if k.chance(0.5) else k.rng.choice(elements(IntTile, k.version))
    t, yes = Tile(tile_of(cond).shape, element), k.rng.randrange(2)
    return choose(k, cond, constant(k, t, yes), constant(k, t, 1 - yes))


def of_compared(k: Draft) -> Value:
    """Between the two integers that the condition compares."""
    a = any_of(k, IntTile)
    b = another(k, a)
    equality = (ComparisonPredicate.EQUAL, ComparisonPredicate.NOT_EQUAL)
    predicate = k.rng.choice(equality if k.chance(0.8) else tuple(ComparisonPredicate))
    sign = k.rng.choice(tuple(Signedness))
    cond = k.emit(ops.CmpI(comparison_predicate=predicate, lhs=a, rhs=b, signedness=sign)).result
    return choose(k, cond, *k.rng.choice(((a, b), (b, a))))


def inverted(k: Draft) -> Value:
    """By the inverse of a condition."""
    cond = condition(k)
    a = get(k, Tile(tile_of(cond).shape, k.rng.choice(elements(IntTile, k.version))))
    return choose(k, negated(k, cond), a, another(k, a))


def nested(k: Draft) -> Value:
    """Between a tile and another choice by the same condition."""
    cond = condition(k)
    t = Tile(tile_of(cond).shape, k.rng.choice(elements(IntTile, k.version)))
    a = get(k, t)
    b = another(k, a)
    inner = choose(k, cond, a, b)
    return choose(k, cond, *k.rng.choice(((inner, b), (a, inner), (inner, a), (b, inner))))


def of_constants(k: Draft) -> Value:
    """Between constants, by a constant whose elements differ."""
    dims = shape(k, FULL_CONSTANT)
    t = Tile(dims if Tile(dims, I1).size > 1 else (4,), k.rng.choice(elements(IntTile, k.version)))
    bits = [draw.bits(k.rng, I1) for _ in range(t.size)]
    bits[:2] = [0, 1]
    return choose(k, constant(k, Tile(t.shape, I1), *bits), constant(k, t), constant(k, t))


SHAPES = (of_zero_and_one, of_zero_and_one, of_compared, inverted, nested, of_constants)
