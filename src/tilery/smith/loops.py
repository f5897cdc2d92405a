"""Makers of loops, all of which end."""

from __future__ import annotations

from dataclasses import replace

from .. import ops
from ..analysis.intervals import signed_limits
from ..attrs import ComparisonPredicate, Signedness
from ..declare.operation import OpDef
from ..ir import Value
from ..types import SCALARS, Tile
from .branches import emit_if
from .control import DEEPEST, block_size, emit_break, emit_continue, handed_out
from .kernel import Draft, EnclosingLoop
from .values import index, number

COUNTERS = tuple(SCALARS[name] for name in ("i8", "i16", "i32", "i32", "i64"))


def for_loop(k: Draft, opdef: OpDef) -> bool:
    """A `for` of a few iterations."""
    if k.depth >= DEEPEST:
        return False
    kind = k.rng.choice(COUNTERS)
    counter = Tile((), kind)
    start, step, trips = k.rng.choice((0, 0, 0, 1, 5, -3)), k.rng.choice((1, 1, 2, 7)), k.rng.randrange(5)
    unsigned = k.has(ops.For, "unsignedCmp") and start >= 0 and k.chance(0.3)
    low, by = number(k, counter, start), number(k, counter, step)
    near = k.rng.randrange(start - 1, start + trips * step + 2)
    bound = number(k, counter, near if k.chance(0.9) else k.rng.choice(signed_limits(kind)))
    if start == 0 and step == 1 and k.chance(0.3):
        high = index(k, 4, (), kind)
        last = k.facts.range(high)[1] - 1
    else:
        last = start + (trips - 1) * step
        high = number(k, counter, last + 1 if trips else start)
    inits = handed_out(k, 3)
    effects = k.effects and k.chance(0.7)
    types = tuple(v.type for v in inits)
    carried = inits + k.carried_token(effects)
    args = [Value(counter), *(Value(v.type) for v in carried)]
    k.facts.know(args[0], start, max(start, last))
    passed = (args[0], bound, Signedness.UNSIGNED if unsigned else Signedness.SIGNED)
    frame = EnclosingLoop(ops.For, types, types, effects, passed=passed)
    with k.region(args, effects) as body:
        enter(k, frame, args)
        k.fill(block_size(k))
        if k.depth < DEEPEST and k.chance(0.4):
            emit_if(k, leaving=k.chance(0.15))
        emit_continue(k, frame)
        k.frames.pop()
    o = ops.For(lowerBound=low, upperBound=high, step=by, initValues=carried, unsignedCmp=unsigned, region=body)
    k.emit(o)
    if effects:
        k.wrote(o.resultValues[-1])
    return True


def enter(k: Draft, frame: EnclosingLoop, args: list[Value]) -> None:
    k.frames.append(frame)
    if frame.token:
        k.wrote(args[-1])


def loop(k: Draft, opdef: OpDef) -> bool:
    """A `loop` that counts, or one that breaks at the end of its body."""
    if k.depth >= DEEPEST:
        return False
    counting = k.chance(0.75)
    effects = k.effects and k.chance(0.7)
    inits = handed_out(k, 2)
    types = tuple(v.type for v in inits)
    results = tuple(v.type for v in handed_out(k, 2)) if k.chance(0.7) else types
    kind = k.rng.choice(COUNTERS)
    counter = Tile((), kind)
    first = (number(k, counter, 0),) if counting else ()
    carried = first + inits + k.carried_token(effects)
    args = [Value(v.type) for v in carried]
    if counting:
        k.facts.know(args[0], 0, signed_limits(kind).hi)
    with k.region(args, effects) as body:
        enter(k, EnclosingLoop(ops.Loop, types, results, effects), args)
        if counting:
            count(k, args[0], counter)
        k.fill(block_size(k))
        frame = k.frames.pop()
        if counting:
            emit_continue(k, frame)
        else:
            emit_break(k, frame)
    given = tuple(Value(t) for t in results + k.token_type(effects))
    k.emit(ops.Loop(initValues=carried, resultValues=given, region=body))
    if effects:
        k.wrote(given[-1])
    return True


def count(k: Draft, counter: Value, t: Tile) -> None:
    """Break when the counter has reached a limit; every path back to the start increments it."""
    frame = k.frames[-1]
    limit = number(k, t, k.rng.randrange(1, 4))
    at_end = ComparisonPredicate.GREATER_THAN_OR_EQUAL
    done = ops.CmpI(comparison_predicate=at_end, lhs=counter, rhs=limit, signedness=Signedness.SIGNED)
    k.emit(done, visible=False)
    k.facts.know(counter, 0, 3)
    with k.region(effects=frame.token) as leaving:
        if k.chance(0.3):
            k.fill(1)
        emit_break(k, frame)
    k.emit(ops.If(condition=done.result, results_=(), thenRegion=leaving, elseRegion=None))
    more = k.emit(ops.AddI(lhs=counter, rhs=number(k, t, 1)), visible=False).result
    k.frames[-1] = replace(frame, counter=more)
