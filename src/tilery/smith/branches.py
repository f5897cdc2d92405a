"""Makers of `if`: plain ones, and the shapes that the rules of `canonicalize` look for."""

from __future__ import annotations

from .. import ops
from ..attrs import ComparisonPredicate
from ..declare.operation import OpDef
from ..ir import Block, Value
from ..types import I1, Tile, Type
from .control import DEEPEST, block_size, handed_out, leave, may_return, values_of, ways_to_leave
from .kernel import Draft
from .values import constant, get, negated

BOOL = Tile((), I1)


def branch(k: Draft, opdef: OpDef) -> bool:
    """An `if` whose branches have results, or one of which leaves early; half of the time in a special shape."""
    if k.depth >= DEEPEST:
        return False
    if k.chance(0.5):
        k.rng.choice(SHAPES)(k)
    else:
        emit_if(k, leaving=k.chance(0.15))
    return True


def early_return(k: Draft, opdef: OpDef) -> bool:
    """An `if` in which the kernel ends."""
    if k.depth >= DEEPEST or not may_return(k):
        return False
    emit_if(k, leaving=True, returning=True)
    return True


# ---------------------------------------------------------------- plain


def emit_if(k: Draft, leaving: bool, returning: bool = False, condition: Value | None = None) -> None:
    """Emit an `if`; with `leaving`, its first branch leaves early where that is possible."""
    condition = any_condition(k) if condition is None else condition
    effects = k.effects and k.chance(0.6)
    leaving = leaving and bool(ways_to_leave(k, returning))
    types: tuple[Type, ...] = ()
    token = False
    other: Block | None = None
    if leaving:
        with k.region(effects=effects) as then:
            k.fill(block_size(k))
            leave_early(k, returning)
        # The results, if any, come from the other branch alone.
        if k.chance(0.7):
            other, types, token = first_branch(k, effects)
    else:
        then, types, token = first_branch(k, effects)
        if types or token or k.chance(0.5):
            with k.region(effects=effects) as other:
                k.fill(block_size(k))
                k.emit(ops.Yield(operands_=values_of(k, types) + k.carried_token(token)))
    finish_if(k, condition, types, token, then, other)


def first_branch(k: Draft, effects: bool) -> tuple[Block, tuple[Type, ...], bool]:
    """A branch that decides the results: its block, their types, and whether there is a token too.

    A branch that may have touched memory passes on its token.
    """
    with k.region(effects=effects) as block:
        start = len(k.pool)
        k.fill(block_size(k))
        given, token = handed_out(k, 3, start), k.effects
        k.emit(ops.Yield(operands_=given + k.carried_token(token)))
    return block, tuple(v.type for v in given), token


def finish_if(
    k: Draft, condition: Value, types: tuple[Type, ...], token: bool, then: Block, other: Block | None
) -> ops.If:
    """Emit an `if` with these branches. With a `token`, its last result orders what follows."""
    results = tuple(Value(t) for t in types + k.token_type(token))
    o = k.emit(ops.If(condition=condition, results_=results, thenRegion=then, elseRegion=other))
    if token:
        k.wrote(results[-1])
    return o


def any_condition(k: Draft) -> Value:
    """A condition, sometimes negated.

    In a `for` it often asks whether the counter has passed a bound from outside: there the loop can be split.
    """
    passed = k.frames[-1].passed if k.frames else None
    if passed is None or k.chance(0.3):
        found = get(k, BOOL)
        return negated(k, found) if k.chance(0.15) else found
    counter, bound, signedness = passed
    lhs, rhs = k.rng.choice(((counter, bound), (bound, counter)))
    predicate = k.rng.choice(list(ComparisonPredicate))
    return k.emit(ops.CmpI(comparison_predicate=predicate, lhs=lhs, rhs=rhs, signedness=signedness)).result


def leave_early(k: Draft, returning: bool) -> None:
    """Leave the block; sometimes in both branches of an `if`, after which nothing is executed."""
    if k.depth < DEEPEST and k.chance(0.2):
        condition = any_condition(k)
        branches = []
        for _ in range(2):
            with k.region(effects=False) as block:
                k.fill(1)
                leave(k, returning)
            branches.append(block)
        finish_if(k, condition, (), False, *branches)
    leave(k, returning)


# ---------------------------------------------------------------- shapes that rules look for


def adjacent(k: Draft) -> None:
    """Two `if` in a row, on one condition or on a condition and its inverse."""
    condition = any_condition(k)
    second = negated(k, condition) if k.chance(0.4) else condition
    emit_if(k, leaving=False, condition=condition)
    emit_if(k, leaving=k.chance(0.15), condition=second)


def nested(k: Draft) -> None:
    """An `if` with nothing in it but another one; every other way through them yields the same values."""
    if k.depth + 1 >= DEEPEST:
        adjacent(k)
        return
    outer, inner = any_condition(k), any_condition(k)
    effects = k.effects and k.chance(0.5)
    outside = handed_out(k, 2)
    start = k.carried_token(effects)
    types = tuple(v.type for v in outside)
    otherwise = bool(outside + start)
    with k.region(effects=effects) as then:
        with k.region(effects=effects) as body:
            k.fill(block_size(k))
            if otherwise or not k.chance(0.3) or not leave(k, False):
                k.emit(ops.Yield(operands_=values_of(k, types) + k.carried_token(effects)))
        o = finish_if(k, inner, types, effects, body, yielding(k, outside + start) if otherwise else None)
        k.emit(ops.Yield(operands_=o.results_))
    finish_if(k, outer, types, effects, then, yielding(k, outside + start) if otherwise else None)


def passing_through(k: Draft) -> None:
    """An `if` that yields values from outside: the same in both branches, true and false, or different ones."""
    pairs = [(v, v if k.chance(0.3) else get(k, v.type)) for v in handed_out(k, 2) if isinstance(v.type, Tile)]
    if k.chance(0.6):
        yes = k.rng.randrange(2)
        pairs.append((constant(k, BOOL, yes), constant(k, BOOL, 1 - yes)))
    condition = any_condition(k)
    types = tuple(a.type for a, _ in pairs)
    branches = []
    for values in ([a for a, _ in pairs], [b for _, b in pairs]):
        with k.region(effects=False) as block:
            if k.chance(0.3):
                k.fill(1)
            k.emit(ops.Yield(operands_=tuple(values)))
        branches.append(block)
    finish_if(k, condition, types, False, *branches)


def known(k: Draft) -> None:
    """An `if` on a constant."""
    emit_if(k, leaving=k.chance(0.15), condition=constant(k, BOOL, k.rng.randrange(2)))


def yielding(k: Draft, values: tuple[Value, ...]) -> Block:
    """A block that only yields values from outside."""
    with k.region(effects=False) as block:
        k.emit(ops.Yield(operands_=values))
    return block


SHAPES = (adjacent, adjacent, nested, passing_through, passing_through, known)
