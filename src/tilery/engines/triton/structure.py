"""Control flow: early exits become structured branches.

Triton IR has loops and branches with one way out. Where a branch may leave early (`break`, `continue`, `return`), the
rest of the block moves into the branch that goes on. If both may go on, a flag says whether to skip the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ...ir import Block, Op, Value, walk
from ...ops import Break, Continue, For, If, Loop, Return, Yield
from ...types import Token
from .emit import Val, names, type_text, types
from .limits import DEEP
from .state import MAX_DEPTH, Lowering, Tok, join

Kind = tuple[tuple[int, ...], str]
"""The shape and element of a value of Triton IR."""

EXITS = (Break, Continue, Return)
RUNNING, LEFT, RETURNED = 0, -1, -2
"""The state of a loop: running (0 or 1, in turn), left by `break`, or by `return`."""


@dataclass(frozen=True, slots=True)
class Exits:
    """A way to leave a construct: the values that all its paths end with, and how a terminator makes them."""

    kinds: Sequence[Kind]
    leave: Callable[[Op | None], list[Val]]


def lower_ops(low: Lowering, ops: list[Op], start: int, exits: Exits) -> list[Val]:
    """Lower the operations of a block from a position on; return the values that the construct ends with."""
    low.depth += 1
    low.op = ops[start] if start < len(ops) else low.op
    if low.depth > MAX_DEPTH:
        raise low.refuse(DEEP)
    try:
        for i in range(start, len(ops)):
            o = ops[i]
            if o in low.skipped:
                continue
            if isinstance(o, (*EXITS, Yield)):
                return exits.leave(o)
            if isinstance(o, If) and any(leaves(b) for b in o.blocks):
                low.op = o
                return _lower_leaving_if(low, o, ops, i + 1, exits)
            if isinstance(o, Loop) and returns(o):
                low.op = o
                return _lower_returning_loop(low, o, ops, i + 1, exits)
            low.one(o)
        return exits.leave(None)
    finally:
        low.depth -= 1


def leaves(block: Block) -> bool:
    """Tell whether a branch may leave the construct around its `if`."""
    for o in block.ops:
        if isinstance(o, EXITS) or (isinstance(o, If) and any(leaves(b) for b in o.blocks)):
            return True
        if isinstance(o, Loop) and returns(o):
            return True
    return False


def returns(loop: Loop) -> bool:
    return any(isinstance(o, Return) for o in walk(loop.region))


# ---------------------------------------------------------------- helpers


def open_op(low: Lowering, text: str, kinds: Sequence[Kind]) -> list[Val]:
    """Append the head of an operation with regions and return its results."""
    name = low.fresh("r")
    many = len(kinds) > 1
    left = f"{name}:{len(kinds)} = " if many else f"{name} = " if kinds else ""
    low.line(left + text)
    return [Val(f"{name}#{i}" if many else name, *kind) for i, kind in enumerate(kinds)]


def end_region(low: Lowering, values: Sequence[Val]) -> None:
    if values:
        low.line(f"scf.yield {names(values)} : {types(values)}")


def kinds_text(kinds: Sequence[Kind]) -> str:
    return ", ".join(type_text(*kind) for kind in kinds)


def branch(
    low: Lowering, condition: Val, kinds: Sequence[Kind], then: Callable[[], list[Val]], other: Callable[[], list[Val]]
) -> list[Val]:
    """Append an `scf.if`, whose branches are made by two functions."""
    arrow = f" -> ({kinds_text(kinds)})" if kinds else ""
    found = open_op(low, f"scf.if {condition.name}{arrow} {{", kinds)
    before, after = low.fenced, []
    for number, make in enumerate((then, other)):
        if number:
            low.line("} else {")
        low.fenced = before
        end_region(low, make())
        after.append(low.fenced)
    low.line("}")
    low.fenced = min(after)
    return found


def kind_of(low: Lowering, value: object) -> Kind:
    return low.shape(value), low.element(value)  # type: ignore[arg-type]


def dummies(low: Lowering, kinds: Sequence[Kind]) -> list[Val]:
    """Values that are never read."""
    return [low.constant(0, shape, element) for shape, element in kinds]


# ---------------------------------------------------------------- branches


def lower_if(low: Lowering, o: If, condition: Val) -> tuple[object, ...]:
    """A branch that does not leave early."""
    real = [v for v in o.results_ if not _is_token(v)]
    tokens: list[list[Tok]] = []

    def region(block: Block | None) -> list[Val]:
        ended: list[object] = []

        def leave(end: Op | None) -> list[Val]:
            ended.extend(_yielded(low, end))
            return []

        if block is not None:
            lower_ops(low, block.ops, 0, Exits((), leave))
        tokens.append([v for v in ended if isinstance(v, Tok)])
        return [v for v in ended if isinstance(v, Val)]

    kinds = [kind_of(low, v) for v in real]
    found = iter(branch(low, condition, kinds, lambda: region(o.thenRegion), lambda: region(o.elseRegion)))
    joined = iter(join(*pair) for pair in zip(*tokens))
    return tuple(next(joined, Tok()) if _is_token(v) else next(found) for v in o.results_)


def _yielded(low: Lowering, end: Op | None) -> list[object]:
    return [] if end is None else [low.get(v) for v in end.operands]


def _lower_leaving_if(low: Lowering, o: If, ops: list[Op], rest: int, exits: Exits) -> list[Val]:
    """A branch that may leave early, and everything after it in the block."""
    blocks = (o.thenRegion, o.elseRegion)
    goes_on = [b is None or not b.ops or isinstance(b.ops[-1], Yield) for b in blocks]
    if all(goes_on):
        return _lower_flagged_if(low, o, ops, rest, exits)

    def region(block: Block | None) -> list[Val]:
        def leave(end: Op | None) -> list[Val]:
            if isinstance(end, EXITS):
                return exits.leave(end)
            for value, made in zip(o.results_, _yielded(low, end)):
                low.values[value] = made
            return lower_ops(low, ops, rest, exits)

        return leave(None) if block is None else lower_ops(low, block.ops, 0, Exits(exits.kinds, leave))

    condition = low.get(o.condition)
    return branch(low, condition, exits.kinds, lambda: region(o.thenRegion), lambda: region(o.elseRegion))


def _lower_flagged_if(low: Lowering, o: If, ops: list[Op], rest: int, exits: Exits) -> list[Val]:
    """A branch both of whose sides may leave or go on: a flag tells which, and guards the rest of the block."""
    real = [v for v in o.results_ if not _is_token(v)]
    kinds = [kind_of(low, v) for v in real]
    tokens: list[list[Tok]] = []

    def region(block: Block | None) -> list[Val]:
        def leave(end: Op | None) -> list[Val]:
            if isinstance(end, EXITS):
                return [low.constant(1, (), "i1"), *exits.leave(end), *dummies(low, kinds)]
            ended = _yielded(low, end)
            tokens.append([v for v in ended if isinstance(v, Tok)])
            values = [v for v in ended if isinstance(v, Val)]
            return [low.constant(0, (), "i1"), *dummies(low, exits.kinds), *values]

        inner = Exits([((), "i1"), *exits.kinds, *kinds], leave)
        return leave(None) if block is None else lower_ops(low, block.ops, 0, inner)

    every = [((), "i1"), *exits.kinds, *kinds]
    flag, *found = branch(
        low, low.get(o.condition), every, lambda: region(o.thenRegion), lambda: region(o.elseRegion)
    )  # fmt: skip
    left, made = found[: len(exits.kinds)], iter(found[len(exits.kinds) :])
    joined = iter(join(*pair) for pair in zip(*tokens))
    for value in o.results_:
        low.values[value] = next(joined, Tok()) if _is_token(value) else next(made)
    return branch(low, flag, exits.kinds, lambda: left, lambda: lower_ops(low, ops, rest, exits))


def _is_token(value: object) -> bool:
    return isinstance(value, Value) and isinstance(value.type, Token)


# ---------------------------------------------------------------- loops


def lower_for(
    low: Lowering, o: For, first: Val, limit: Val, step: Val, carried: tuple[object, ...]
) -> tuple[object, ...]:
    """A loop over a range."""
    counter, *args = o.region.args
    real = [i for i, v in enumerate(args) if low.is_carried(v)]
    kinds = [kind_of(low, args[i]) for i in real] + [(v.shape, v.element) for v in low.threaded]
    inner = [Val(low.fresh("a"), *kind) for kind in kinds]
    index = Val(low.fresh("i"), first.shape, first.element)
    starts = [*(carried[i] for i in real), *low.threaded]
    pairs = ", ".join(f"{a.name} = {b.name}" for a, b in zip(inner, starts) if isinstance(b, Val))
    values = f" iter_args({pairs}) -> ({kinds_text(kinds)})" if kinds else ""
    unsigned = "unsigned " if o.unsignedCmp else ""
    head = f"scf.for {unsigned}{index.name} = {first.name} to {limit.name} step {step.name}{values} : {first.type} {{"
    found = open_op(low, head, kinds)
    low.values[counter] = index
    for i, value in zip(real, inner):
        low.values[args[i]] = value
    low.threaded = inner[len(real) :]
    ordered = {i: start for i, start in enumerate(carried) if isinstance(start, Tok)}
    entered = _enter(low, o.region, [(args[i], start) for i, start in ordered.items()])

    def leave(end: Op | None) -> list[Val]:
        assert end is not None
        for i in ordered:
            entered.passes(i, low.get(end.operands[i]))
        return [*(low.get(end.operands[i]) for i in real), *low.threaded]

    end_region(low, lower_ops(low, o.region.ops, 0, Exits(kinds, leave)))
    low.line("}" + _attributes(low, o))
    _leave(low, entered)
    low.threaded = found[len(real) :]
    made = dict(zip(real, found))
    return tuple(
        _exit(low, entered, i, ordered[i]) if _is_token(v) else made.get(i) for i, v in enumerate(o.resultValues)
    )


def _attributes(low: Lowering, o: For) -> str:
    """Return the attributes of a loop that Triton reads."""
    inner = o.region.ops
    if any(isinstance(i, (For, Loop)) for i in inner):
        return ""
    if any(i.name.startswith("mma") for i in inner):
        return f" {{tt.num_stages = {low.config.num_stages} : i32}}"
    if low.config.pipeline:
        return f" {{tt.num_stages = {low.config.pipeline} : i32}}"
    return f" {{tt.loop_unroll_factor = {low.config.unroll} : i32}}" if low.config.unroll else ""


@dataclass(slots=True)
class Body:
    """The known order of accesses when the body of a loop starts."""

    fenced: int
    reads: bool
    writes: bool
    plain: int
    """The number of accesses before it, other than through tensor maps."""
    before: Tok
    """The accesses before any token that the body has from outside."""
    ended: dict[int, Tok] = field(default_factory=dict)
    """The accesses before the tokens that the body passes on as each of the results."""

    def passes(self, number: int, token: Tok) -> None:
        """Note a token that the body passes on."""
        self.ended[number] = join(self.ended.get(number, Tok()), token)


def _enter(low: Lowering, block: Block, tokens: list[tuple[Value, Tok]]) -> Body:
    """Start the body of a loop: carried tokens follow whatever the body does, or passes on from outside."""
    traffic = low.traffic(block)
    reads, writes = traffic.reads, traffic.writes
    taken = join(*map(low.get, traffic.taken))
    before = join(taken, *(start for _, start in tokens))
    body = Body(low.fenced, reads, writes, low.plain, before)
    low.tick += 1
    for arg, start in tokens:
        found = join(start, taken)
        low.values[arg] = Tok(
            low.tick if reads else found.read,
            low.tick if writes else found.write,
            writes or found.wrote,
            traffic.plain or found.plain,
        )
    return body


def _exit(low: Lowering, body: Body, number: int, start: Tok) -> Tok:
    """Return the token of a result of a loop: it follows all of the body, which may not have run."""
    found = join(start, body.ended.get(number, Tok()))
    return Tok(
        low.tick if body.reads else found.read,
        low.tick if body.writes else found.write,
        body.writes or found.wrote,
        body.before.plain or low.plain > body.plain,
    )


def _leave(low: Lowering, body: Body) -> None:
    """End the body of a loop, which may not have run."""
    low.fenced = min(low.fenced, body.fenced)
    low.tick += 1


def _lower_while(low: Lowering, o: Loop, carried: tuple[object, ...]) -> tuple[Val, tuple[object, ...]]:
    """A loop that is left by `break` or `return`: its state at the end, and its results."""
    args = list(o.region.args)
    real = [i for i, v in enumerate(args) if not _is_token(v)]
    out = [v for v in o.resultValues if not _is_token(v)]
    inner, outer = [kind_of(low, args[i]) for i in real], [kind_of(low, v) for v in out]
    kinds: list[Kind] = [((), "i32"), *inner, *outer]
    zero = low.constant(0, (), "i32")
    starts = [zero, *(v for i, v in enumerate(carried) if i in real), *dummies(low, outer)]
    heads = [Val(low.fresh("a"), *kind) for kind in kinds]
    pairs = ", ".join(f"{a.name} = {b.name}" for a, b in zip(heads, starts) if isinstance(b, Val))
    found = open_op(low, f"scf.while ({pairs}) : ({kinds_text(kinds)}) -> ({kinds_text(kinds)}) {{", kinds)
    going = low.compare("sge", heads[0], zero)
    low.line(f"scf.condition({going.name}) {names(heads)} : {types(heads)}")
    low.line("} do {")
    body = [Val(low.fresh("b"), *kind) for kind in kinds]
    low.line(f"^bb0({', '.join(f'{v.name}: {v.type}' for v in body)}):")
    kept, ends = body[1 : 1 + len(real)], body[1 + len(real) :]
    for i, value in zip(real, kept):
        low.values[args[i]] = value
    ordered = [(args[i], start) for i, start in enumerate(carried) if isinstance(start, Tok)]
    entered = _enter(low, o.region, ordered)
    # Triton before 3.9 asserts if a carried value never changes: the state alternates.
    toggled = low.map("arith.xori", body[0], low.constant(1, (), "i32"))

    def leave(end: Op | None) -> list[Val]:
        if isinstance(end, Break):
            values = []
            for i, (v, result) in enumerate(zip(end.operands, o.resultValues)):
                if _is_token(result):
                    entered.passes(i, low.get(v))
                else:
                    values.append(low.get(v))
            return [low.constant(LEFT, (), "i32"), *kept, *values]
        if isinstance(end, Return):
            return [low.constant(RETURNED, (), "i32"), *kept, *ends]
        assert end is not None
        return [toggled, *(low.get(end.operands[i]) for i in real), *ends]

    end_region(low, lower_ops(low, o.region.ops, 0, Exits(kinds, leave)))
    low.line("}")
    _leave(low, entered)
    made = iter(found[1 + len(real) :])
    return found[0], tuple(
        _exit(low, entered, i, Tok()) if _is_token(v) else next(made) for i, v in enumerate(o.resultValues)
    )


def lower_loop(low: Lowering, o: Loop, carried: tuple[object, ...]) -> tuple[object, ...]:
    return _lower_while(low, o, carried)[1]


def _lower_returning_loop(low: Lowering, o: Loop, ops: list[Op], rest: int, exits: Exits) -> list[Val]:
    """A loop inside of which the kernel may end, and everything after it in the block."""
    state, results = _lower_while(low, o, tuple(low.get(v) for v in o.initValues))
    for value, made in zip(o.resultValues, results):
        low.values[value] = made
    ended = low.compare("eq", state, low.constant(RETURNED, (), "i32"))
    final = next(i for i in walk(o.region) if isinstance(i, Return))
    return branch(low, ended, exits.kinds, lambda: exits.leave(final), lambda: lower_ops(low, ops, rest, exits))
