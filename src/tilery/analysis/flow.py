"""Flow: where the values that control flow defines come from."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..ir import Block, Op, Value
from ..ops import Break, Continue, For, If, Loop, Reduce, Scan, Yield
from .liveness import captures


@dataclass(slots=True)
class Flow:
    """The values inside an operation that are not computed from operands: results and arguments of regions."""

    copies: dict[Value, list[tuple[Value, Op]]] = field(default_factory=dict)
    """Results of `if`, `for` and `loop` and the carried arguments of loops: each is one of these values at run time,
    handed over by that terminator, or as an initial value by that loop."""
    counters: dict[Value, For] = field(default_factory=dict)
    """The counters of `for` loops."""
    combined: dict[Value, tuple[Reduce | Scan, int]] = field(default_factory=dict)
    """Arguments of the body and results of `reduce` and `scan`, and to which operand they belong. Their elements are
    elements of that operand, its identity, or what the body yields for it."""
    outside: list[Value] = field(default_factory=list)
    """The arguments of `root`, where nothing else says what they are, and values from outside that are used inside."""
    ops: list[Op] = field(default_factory=list)
    """All operations inside, in textual order."""

    def defines(self, value: Value) -> bool:
        """Whether control flow defines a value."""
        return value in self.copies or value in self.counters or value in self.combined


@dataclass(slots=True)
class _Level:
    """An operation whose regions are being walked."""

    op: Op
    loop: For | Loop | None
    """The innermost loop, for `continue`."""
    breaks: Loop | None
    """The innermost `loop`, for `break`."""


def flow(root: Op) -> Flow:
    """Find out where the values inside `root` come from."""
    found = Flow(outside=captures(root))
    stack: list[tuple[_Level, list[Op]]] = []

    def enter(o: Op, loop: For | Loop | None, breaks: Loop | None) -> None:
        level = _Level(o, o if isinstance(o, (For, Loop)) else loop, o if isinstance(o, Loop) else breaks)
        for block in reversed(o.blocks):
            _arguments(found, o, block)
            stack.append((level, block.ops[::-1]))

    _results(found, root)
    enter(root, None, None)
    found.outside += [arg for block in root.blocks for arg in block.args if not found.defines(arg)]
    while stack:
        level, todo = stack[-1]
        if not todo:
            stack.pop()
            continue
        o = todo.pop()
        found.ops.append(o)
        _leave(found, o, level)
        if o.blocks:
            _results(found, o)
            enter(o, level.loop, level.breaks)
    return found


def _arguments(found: Flow, o: Op, block: Block) -> None:
    """Record the arguments of a block."""
    match o:
        case For():
            counter, *carried = block.args
            found.counters[counter] = o
            found.copies.update((arg, [(value, o)]) for arg, value in zip(carried, o.initValues))
        case Loop():
            found.copies.update((arg, [(value, o)]) for arg, value in zip(block.args, o.initValues))
        case Reduce() | Scan():
            # The body takes a pair of elements for each operand.
            found.combined.update((arg, (o, index // 2)) for index, arg in enumerate(block.args))


def _results(found: Flow, o: Op) -> None:
    """Record the results of an operation with regions."""
    match o:
        case If():
            found.copies.update((result, []) for result in o.results_)
        case For():
            # Without an iteration, the initial values are the results.
            found.copies.update((result, [(value, o)]) for result, value in zip(o.resultValues, o.initValues))
        case Loop():
            found.copies.update((result, []) for result in o.resultValues)
        case Reduce() | Scan():
            found.combined.update((result, (o, index)) for index, result in enumerate(o.results_))


def _leave(found: Flow, o: Op, level: _Level) -> None:
    """Record where a terminator hands its operands."""
    targets: list[Value] = []
    match o:
        case Yield() if isinstance(level.op, If):
            targets = list(level.op.results_)
        case Continue() if level.loop is not None:
            loop = level.loop
            targets = list(loop.region.args[1:] if isinstance(loop, For) else loop.region.args)
            if isinstance(loop, For):
                _add(found, list(loop.resultValues), o)
        case Break() if level.breaks is not None:
            targets = list(level.breaks.resultValues)
    _add(found, targets, o)


def _add(found: Flow, targets: list[Value], o: Op) -> None:
    for target, value in zip(targets, o.operands):
        found.copies[target].append((value, o))
