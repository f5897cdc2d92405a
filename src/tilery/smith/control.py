"""Makers of control flow: loops that end, branches that merge, and ways to leave them early."""

from __future__ import annotations

from dataclasses import replace

from .. import ops
from ..attrs import ComparisonPredicate, Signedness
from ..declare.operation import OpDef
from ..ir import Block, Value
from ..types import I1, SCALARS, Ptr, Tile, Type
from ..version import V13_4
from .facts import limits
from .kernel import Frame, Kernel
from .values import among, get, index, number, tile_of

DEEPEST = 4
COUNTERS = tuple(SCALARS[name] for name in ("i8", "i16", "i32", "i32", "i64"))
RETURN_IN_LOOP = V13_4
"""Since when a kernel may end inside a `loop`."""


def block_size(k: Kernel) -> int:
    """The size of a nested block: at most half of what is left."""
    return max(1, min(k.rng.choice((1, 2, 3, 5, 8)), (k.goal - k.count) // 2))


def values_of(k: Kernel, types: tuple[Type, ...]) -> tuple[Value, ...]:
    """Tiles of these types, to hand out of a block."""
    return tuple(get(k, t) for t in types if isinstance(t, Tile))


def handed_out(k: Kernel, most: int, start: int = 0) -> tuple[Value, ...]:
    """Some visible tiles from `start` on, rather unused ones; rarely pointers, of which nothing is known afterwards."""
    fine = [v for v in k.pool[start:] if not isinstance(tile_of(v).element, Ptr) or k.chance(0.1)]
    count = min(len(fine), k.rng.randrange(most + 1))
    return tuple(dict.fromkeys(among(k, fine) for _ in range(count)))


# ---------------------------------------------------------------- if


def branch(k: Kernel, opdef: OpDef) -> bool:
    """An `if` whose branches give results, or of which one leaves early."""
    return k.depth < DEEPEST and _if(k, leave=k.chance(0.15))


def early_return(k: Kernel, opdef: OpDef) -> bool:
    """An `if` in which the kernel ends."""
    if k.depth >= DEEPEST or not _may_return(k):
        return False
    return _if(k, leave=True, returning=True)


def _may_return(k: Kernel) -> bool:
    loops = {frame.op for frame in k.frames}
    return ops.For not in loops and (ops.Loop not in loops or k.version >= RETURN_IN_LOOP)


def _if(k: Kernel, leave: bool, returning: bool = False) -> bool:
    condition = _condition(k)
    effects = k.effects and k.chance(0.6)
    given: tuple[Value, ...] = ()
    with k.region(effects=effects) as then:
        start = len(k.pool)
        k.fill(block_size(k))
        if leave and _leave(k, returning):
            token = False
        else:
            leave = False
            given = handed_out(k, 3, start)
            # An `if` that may have touched memory hands on its token.
            token = k.effects
            k.emit(ops.Yield(operands_=given + k.carried_token(token)))
    types = tuple(v.type for v in given)
    other: Block | None = None
    if leave:
        # The results, if any, come from the other branch alone.
        if k.chance(0.7):
            with k.region(effects=effects) as other:
                start = len(k.pool)
                k.fill(block_size(k))
                given = handed_out(k, 2, start)
                types, token = tuple(v.type for v in given), k.effects
                k.emit(ops.Yield(operands_=given + k.carried_token(token)))
    elif types or token or k.chance(0.5):
        with k.region(effects=effects) as other:
            k.fill(block_size(k))
            k.emit(ops.Yield(operands_=values_of(k, types) + k.carried_token(token)))
    results = tuple(Value(t) for t in types + k.token_type(token))
    k.emit(ops.If(condition=condition, results_=results, thenRegion=then, elseRegion=other))
    if token:
        k.wrote(results[-1])
    return True


def _condition(k: Kernel) -> Value:
    """Any condition; in a `for` often whether its counter has passed a bound from outside: there it can be split."""
    passed = k.frames[-1].passed if k.frames else None
    if passed is None or k.chance(0.3):
        return get(k, Tile((), I1))
    counter, bound, signedness = passed
    lhs, rhs = k.rng.choice(((counter, bound), (bound, counter)))
    predicate = k.rng.choice(list(ComparisonPredicate))
    return k.emit(ops.CmpI(comparison_predicate=predicate, lhs=lhs, rhs=rhs, signedness=signedness)).result


def _leave(k: Kernel, returning: bool) -> bool:
    """End the block by leaving the loop or the kernel, where that is possible."""
    frame = k.frames[-1] if k.frames else None
    ways = []
    if _may_return(k):
        ways.append("return")
    if frame is not None and not returning:
        if frame.op is ops.For or frame.counter is not None:
            ways.append("continue")
        if frame.op is ops.Loop:
            ways.append("break")
    if not ways:
        return False
    match k.rng.choice(ways):
        case "return":
            k.emit(ops.Return())
        case "continue":
            assert frame is not None
            go_on(k, frame)
        case _:
            assert frame is not None
            k.emit(ops.Break(operands_=values_of(k, frame.results) + k.carried_token(frame.token)))
    return True


def go_on(k: Kernel, frame: Frame) -> None:
    """`continue` with new values of what the loop carries."""
    counter = () if frame.counter is None else (frame.counter,)
    k.emit(ops.Continue(operands_=counter + values_of(k, frame.carried) + k.carried_token(frame.token)))


# ---------------------------------------------------------------- loops


def for_loop(k: Kernel, opdef: OpDef) -> bool:
    """A `for` of a few iterations."""
    if k.depth >= DEEPEST:
        return False
    counter = Tile((), k.rng.choice(COUNTERS))
    start, step, trips = k.rng.choice((0, 0, 0, 1, 5, -3)), k.rng.choice((1, 1, 2, 7)), k.rng.randrange(5)
    unsigned = k.has(ops.For, "unsignedCmp") and start >= 0 and k.chance(0.3)
    low, by = number(k, counter, start), number(k, counter, step)
    near = k.rng.randrange(start - 1, start + trips * step + 2)
    bound = number(k, counter, near if k.chance(0.9) else k.rng.choice(limits(counter.element)))  # type: ignore[arg-type]  # an integer
    if start == 0 and step == 1 and k.chance(0.3):
        high = index(k, 4, (), counter.element)  # type: ignore[arg-type]  # an integer
        last = k.facts.range(high)[1] - 1
    else:
        last = start + (trips - 1) * step
        high = number(k, counter, last + 1 if trips else start)
    inits = handed_out(k, 3)
    effects = k.effects and k.chance(0.7)
    types = tuple(v.type for v in inits)
    carried = inits + k.carried_token(effects)
    args = [Value(counter), *(Value(v.type) for v in carried)]
    k.facts.ranges[args[0]] = (start, max(start, last))
    passed = (args[0], bound, Signedness.UNSIGNED if unsigned else Signedness.SIGNED)
    frame = Frame(ops.For, types, types, effects, passed=passed)
    with k.region(args, effects) as body:
        _enter(k, frame, args)
        k.fill(block_size(k))
        if k.depth < DEEPEST and k.chance(0.4):
            _if(k, leave=k.chance(0.15))
        go_on(k, frame)
        k.frames.pop()
    o = ops.For(lowerBound=low, upperBound=high, step=by, initValues=carried, unsignedCmp=unsigned, region=body)
    k.emit(o)
    if effects:
        k.wrote(o.resultValues[-1])
    return True


def _enter(k: Kernel, frame: Frame, args: list[Value]) -> None:
    k.frames.append(frame)
    if frame.token:
        k.wrote(args[-1])


def loop(k: Kernel, opdef: OpDef) -> bool:
    """A `loop` that counts, or one that breaks at its end."""
    if k.depth >= DEEPEST:
        return False
    counting = k.chance(0.75)
    effects = k.effects and k.chance(0.7)
    inits = handed_out(k, 2)
    types = tuple(v.type for v in inits)
    results = tuple(v.type for v in handed_out(k, 2)) if k.chance(0.7) else types
    counter = Tile((), k.rng.choice(COUNTERS))
    first = (number(k, counter, 0),) if counting else ()
    carried = first + inits + k.carried_token(effects)
    args = [Value(v.type) for v in carried]
    if counting:
        k.facts.ranges[args[0]] = (0, limits(counter.element)[1])  # type: ignore[arg-type]  # an integer
    with k.region(args, effects) as body:
        _enter(k, Frame(ops.Loop, types, results, effects), args)
        if counting:
            _count(k, args[0], counter)
        k.fill(block_size(k))
        frame = k.frames.pop()
        if counting:
            go_on(k, frame)
        else:
            k.emit(ops.Break(operands_=values_of(k, results) + k.carried_token(effects)))
    given = tuple(Value(t) for t in results + k.token_type(effects))
    k.emit(ops.Loop(initValues=carried, resultValues=given, region=body))
    if effects:
        k.wrote(given[-1])
    return True


def _count(k: Kernel, counter: Value, t: Tile) -> None:
    """Break when the counter has reached its end; otherwise it grows, whatever happens."""
    frame = k.frames[-1]
    most = number(k, t, k.rng.randrange(1, 4))
    at_end = ComparisonPredicate.GREATER_THAN_OR_EQUAL
    done = ops.CmpI(comparison_predicate=at_end, lhs=counter, rhs=most, signedness=Signedness.SIGNED)
    k.emit(done, visible=False)
    k.facts.ranges[counter] = (0, 3)
    with k.region(effects=frame.token) as leaving:
        if k.chance(0.3):
            k.fill(1)
        k.emit(ops.Break(operands_=values_of(k, frame.results) + k.carried_token(frame.token)))
    k.emit(ops.If(condition=done.result, results_=(), thenRegion=leaving, elseRegion=None))
    more = k.emit(ops.AddI(lhs=counter, rhs=number(k, t, 1)), visible=False).result
    k.frames[-1] = replace(frame, counter=more)
