"""Take a branch or one iteration in the place of an operation with regions, and drop values that it passes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ..ir import Block, Op, Value, walk
from ..ops import Break, Continue, For, If, Loop, Return, Yield
from ..rewrite.editing import replace_uses
from .case import Case
from .fill import CONSTANTS, OPERANDS, Filler


class Arm(NamedTuple):
    """A region that can take the place of its operation: what its arguments become, and how it passes results on."""

    block: Block
    args: Sequence[Value]
    passes: type[Op]
    same: bool
    """Whether the operands of its terminator are the results."""


def _arms_of_if(o: If) -> list[Arm]:
    return [Arm(b, (), Yield, True) for b in (o.thenRegion, o.elseRegion) if b is not None]


def _arms_of_for(o: For) -> list[Arm]:
    return [Arm(o.region, (o.lowerBound, *o.initValues), Continue, True)]


def _arms_of_loop(o: Loop) -> list[Arm]:
    last = o.region.ops[-1] if o.region.ops else None
    return [Arm(o.region, o.initValues, type(last) if isinstance(last, Break) else Continue, isinstance(last, Break))]


ARMS: dict[type[Op], Callable[[Any], list[Arm]]] = {If: _arms_of_if, For: _arms_of_for, Loop: _arms_of_loop}
"""The regions that can take the place of an operation."""


def region_places(case: Case) -> list[tuple[int, int]]:
    """Return the regions that can take the place of their operation: position in the walk, and number."""
    return [
        (number, arm)
        for number, o in enumerate(walk(case.module))
        if type(o) in ARMS
        for arm in range(len(ARMS[type(o)](o)))
    ]


def take_region(case: Case, number: int, which: int) -> Case | None:
    """Return a copy in which a region takes the place of its operation."""
    case = case.copy()
    target = next(o for n, o in enumerate(walk(case.module)) if n == number)
    home = next(b for o in walk(case.module) for b in o.blocks if any(x is target for x in b.ops))
    arm = ARMS[type(target)](target)[which]
    if not arm.block.ops:
        return None
    values: dict[Value, Value] = dict(zip(arm.block.args, arm.args))
    if not isinstance(target, If):
        _leave_out_exits(case, target, arm.block)
    at = home.ops.index(target)
    last = arm.block.ops[-1]
    if isinstance(last, arm.passes):
        body, rest = arm.block.ops[:-1], home.ops[at + 1 :]
        if arm.same:
            values |= zip(target.results, last.operands)
        elif target.results:
            filled = _fill(case, target, target.results)
            if filled is None:
                return None
            case = filled
    else:  # it leaves an outer operation, so nothing follows
        body, rest = arm.block.ops, []
    home.ops = [*home.ops[:at], *body, *rest]
    replace_uses(case.module, _resolved(values))
    return case


def _resolved(values: dict[Value, Value]) -> dict[Value, Value]:
    def end(value: Value) -> Value:
        for _ in range(len(values) + 1):
            if value not in values:
                break
            value = values[value]
        return value

    return {value: end(value) for value in values}


def _leave_out_exits(case: Case, loop: Op, body: Block) -> None:
    """End branches inside a loop with `yield` where they leave the loop."""
    for o, block in _branches(loop):
        last = block.ops[-1] if block.ops else None
        if block is not body and isinstance(last, (Break, Continue)):
            defaults = _defaults(case, o, block)
            if defaults is not None:
                block.ops[-1] = Yield(operands_=defaults)


def _defaults(case: Case, o: Op, block: Block) -> tuple[Value, ...] | None:
    """Return a value for each result of an operation: one that is defined in the block or before, or a constant."""
    found = []
    for result in o.results:
        inside = [v for x in block.ops[:-1] for v in x.results if v.type is result.type]
        if not inside:
            return None
        found.append(inside[-1])
    return tuple(found)


def _branches(loop: Op) -> Iterator[tuple[Op, Block]]:
    """Yield the blocks from which `break` and `continue` lead to a loop, each with its operation."""
    todo = [loop]
    while todo:
        o = todo.pop()
        for block in o.blocks:
            yield o, block
            todo += [x for x in block.ops if isinstance(x, If)]


# ---------------------------------------------------------------- dropping what is passed on


class PassedValue(NamedTuple):
    """A value that an operation with regions passes on: what it is called in each place."""

    results: str
    inits: str
    leaves: tuple[type[Op], ...]
    skipped: int
    """arguments of the region that come first and are not passed on; -1 if the region has no such argument"""


SLOTS: dict[type[Op], tuple[PassedValue, ...]] = {
    If: (PassedValue("results_", "", (Yield,), -1),),
    For: (PassedValue("resultValues", "initValues", (Continue,), 1),),
    Loop: (PassedValue("", "initValues", (Continue,), 0), PassedValue("resultValues", "", (Break,), -1)),
}
"""The operations that pass values on, and those values."""


def slot_places(case: Case) -> list[tuple[int, int, int]]:
    """Return what can be dropped: position of the operation in the walk, slot, and index."""
    return [
        (number, kind, index)
        for number, o in enumerate(walk(case.module))
        for kind, slot in enumerate(SLOTS.get(type(o), ()))
        for index in range(len(getattr(o, slot.results or slot.inits)))
    ]


def drop_slot(case: Case, number: int, kind: int, index: int) -> Case | None:
    """Return a copy in which an operation passes one value less on."""
    case = case.copy()
    target: Any = next(o for n, o in enumerate(walk(case.module)) if n == number)
    slot = SLOTS[type(target)][kind]
    dropped: list[Value] = []
    init = getattr(target, slot.inits)[index] if slot.inits else None
    if slot.results:
        dropped.append(getattr(target, slot.results)[index])
    if slot.skipped >= 0:
        dropped.append(target.region.args[slot.skipped + index])
    if init is not None:
        replace_uses(case.module, dict.fromkeys(dropped, init))
    else:
        filled = _fill(case, target, dropped)
        if filled is None:
            return None
        case = filled
    for o in _passing(target, slot.leaves):
        o.operands_ = _less(o.operands_, index)
    for name in filter(None, (slot.results, slot.inits)):
        setattr(target, name, _less(getattr(target, name), index))
    if slot.skipped >= 0:
        del target.region.args[slot.skipped + index]
    return case


def _fill(case: Case, target: Op, values: list[Value]) -> Case | None:
    filler = Filler(case, OPERANDS if isinstance(target, Loop) else CONSTANTS)
    steps = filler.walk()
    try:
        o, _ = next(steps)
        while o is not target:
            o, _ = steps.send(None)
        if not all(filler.find(value, target.operands) for value in values):
            return None
        while True:
            steps.send(None)
    except StopIteration:
        pass
    return replace(case, launch=filler.finish())


def _passing(target: Op, leaves: tuple[type[Op], ...]) -> Iterator[Any]:
    """Yield the terminators that pass values to an operation."""
    blocks = [(target, b) for b in target.blocks] if isinstance(target, If) else _branches(target)
    for _, block in blocks:
        if block.ops and isinstance(block.ops[-1], leaves):
            yield block.ops[-1]


def _less(values: tuple[Value, ...], index: int) -> tuple[Value, ...]:
    return values[:index] + values[index + 1 :]


def end_early(case: Case, number: int) -> Case | None:
    """Return a copy in which an entry's own block ends before an operation."""
    case = case.copy()
    target = next(o for n, o in enumerate(walk(case.module)) if n == number)
    home = next((e.body for e in case.module.entries if any(o is target for o in e.body.ops)), None)
    if home is None or isinstance(target, Return):
        return None
    at = home.ops.index(target)
    home.ops = [*home.ops[:at], Return()]
    return case
