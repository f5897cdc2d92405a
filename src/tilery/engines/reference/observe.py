"""Observing a launch: functions that are called when chosen operations execute.

Which operations are observed is decided once per launch, by rewriting the kernel's program: an observed instruction has
another function to run, all others are the same objects. A launch without observers runs the program as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...analysis.effects import memory_ordering
from ...diag import TileError
from ...ir import Op, Value
from ...source.positions import op_places
from ...types import TOKEN
from ..common.tiles import Array
from .access import Access, make_access
from .batch import Batch, take
from .program import (
    CONTROL,
    Advance,
    Branch,
    Compute,
    CopyAndJump,
    Finish,
    Instruction,
    Leave,
    Observed,
    RegionCode,
    Test,
)
from .registry import RUNS, Executor

if TYPE_CHECKING:
    from ..common.arguments import BoundArguments
    from .launch import ReferenceKernel
    from .machine import Machine

TOKEN_DTYPE = np.dtype(np.uint64)
"""Tokens are ids, one per lane. No tile has this type: integers are held as signed ones."""

Execute = Callable[..., Any]
"""Executes an operation: takes the operation, the batch and the operands, and returns the result as `Executor` says."""
Look = Callable[[Batch], None]
"""Looks at a batch that is about to execute a control-flow instruction."""
When = Callable[..., Any]
"""A condition on the results of an operation, or on the operands of one without results."""


class Observer:
    """Base of what observes a launch; one object may observe several launches, one after the other.

    While a launch is observed, the memory of a dead value is not used again: arrays that an observer keeps do not
    change.
    """

    tokens = False
    """Whether tokens are ids, new ones at each execution; they are nothing otherwise."""
    bodies = False
    """Whether to observe the bodies of `reduce` and `scan`, which the engine rarely executes operation by operation."""

    keeps = False
    """Whether values stay in their slots after their last use, until their region ends."""

    def begin(self, scene: Scene) -> None:
        """Start: the scene's machine has the memory and the grid of the launch."""

    def compute(self, instruction: Compute, execute: Execute) -> Execute:
        """Return the function that executes an instruction: the given one, or one that calls it and does more."""
        return execute

    def control(self, instruction: Instruction) -> Look | None:
        """Return a function to call before a control-flow instruction, if any."""

    def merging(self, batches: list[Batch]) -> None:
        """Several batches at the same position are about to become one."""

    def released(self) -> None:
        """The memory of every `alloca` so far is freed; no tile block is running."""

    def finish(self, error: Exception | None) -> None:
        """End: the launch has completed, or failed with this error."""


class Scene(NamedTuple):
    """The launch that is observed."""

    machine: Machine
    kernel: ReferenceKernel
    ids: TokenIds
    bound: BoundArguments | None = None
    """The arguments; None in a debugger, which keeps only their memory."""


class TokenIds:
    """Hands out ids for tokens. They grow and are never used twice; 0 is none."""

    def __init__(self) -> None:
        self.last = 0

    def new(self, lanes: int) -> Array:
        first = self.last + 1
        self.last += lanes
        return np.arange(first, first + lanes, dtype=TOKEN_DTYPE)

    def number(self, o: Op, execute: Execute) -> Execute:
        """Return a function that puts new ids into the results of an operation that makes a token."""
        at = token_field(o)
        if at is None:
            return execute
        several = len(o.opdef.outs) > 1

        def numbered(o: Op, batch: Batch, *args: Any) -> Any:
            result = execute(o, batch, *args)
            made = self.new(batch.lanes)
            return tuple(made if i == at else value for i, value in enumerate(result)) if several else made

        return numbered


def token_field(o: Op) -> int | None:
    """Return which result field of an operation is a token, if any."""
    results = o.results
    if not results or (results[-1].type is not TOKEN and results[0].type is not TOKEN):
        return None
    for index, field in enumerate(o.opdef.outs):
        if is_token(getattr(o, field.attr)):
            return index
    return None


def is_token(value: Any) -> bool:
    """Tell whether an operand or result field holds a token, or several."""
    if isinstance(value, tuple):
        return bool(value) and is_token(value[0])
    return isinstance(value, Value) and value.type is TOKEN


# ---------------------------------------------------------------- programs


@contextmanager
def observing(
    machine: Machine, kernel: ReferenceKernel, bound: BoundArguments, observers: Sequence[Observer]
) -> Iterator[RegionCode]:
    """Observe a launch, for the time of the context; it must run the program that this returns."""
    scene = Scene(machine, kernel, TokenIds(), bound)
    machine.observers = tuple(observers)
    for each in observers:
        each.begin(scene)
    try:
        yield instrument(kernel.program, observers, scene.ids)
    except Exception as error:
        for each in observers:
            each.finish(error)
        raise
    for each in observers:
        each.finish(None)


def instrument(program: RegionCode, observers: Sequence[Observer], ids: TokenIds) -> RegionCode:
    """Return a program that tells observers what it does. Positions and labels stay the same."""
    keeps, tokens = any(each.keeps for each in observers), any(each.tokens for each in observers)
    code = [_observed(_keeping(each) if keeps else each, observers, ids, tokens) for each in program.code]
    inner = [each for each in observers if each.bodies]
    bodies = {block: instrument(body, inner, ids) for block, body in program.bodies.items()}
    return replace(program, code=code, bodies=bodies)


def _observed(instruction: Instruction, observers: Sequence[Observer], ids: TokenIds, tokens: bool) -> Instruction:
    if not isinstance(instruction, Compute):
        looks = tuple(look for each in observers if (look := each.control(instruction)) is not None)
        return Observed(instruction.op, instruction, looks) if looks else instruction
    run = instruction.run
    execute = plain = run.function if run.batch else _without_batch(run.function)
    if tokens:
        execute = ids.number(instruction.op, execute)
    for each in observers:
        execute = each.compute(instruction, execute)
    if execute is plain and not instruction.reusable:
        return instruction
    i = instruction
    made = run if execute is plain else Executor(execute, batch=True)
    return Compute(i.op, made, i.args, i.outs, i.frees, (), i.flops)  # `replace` takes ten times as long


def _keeping(instruction: Instruction) -> Instruction:
    """Return an instruction that does not free values; at the end of a region, those inside are freed."""
    return (
        replace(instruction, frees=())
        if isinstance(instruction, (Compute, CopyAndJump, Advance, Leave))
        else instruction
    )


def _without_batch(function: Callable[..., Any]) -> Execute:
    def execute(o: Op, batch: Batch, *args: Any) -> Any:
        return function(o, *args)

    return execute


# ---------------------------------------------------------------- observing some operations


class Lanes(NamedTuple):
    """Some tile blocks of a batch: their numbers in the grid, x varying fastest, and their positions."""

    ranks: Array
    blocks: Array

    @property
    def lanes(self) -> int:
        return len(self.ranks)


@dataclass(slots=True, eq=False)
class Event:
    """One execution of an operation by some tile blocks. Arrays have a row per tile block, or one row for all."""

    op: Op
    ranks: Array
    """The number of each tile block in the grid, x varying fastest."""
    blocks: Array
    """The position of each tile block in the grid: (lanes, 3)."""
    before: dict[str, Any]
    """The operands by the name of their field: an array, a tuple of values, or None; see `tiles`."""
    after: dict[str, Any]
    """The results by the name of their field. Control flow has none."""
    access: Access | None = None
    """The elements of memory that it accesses."""


class Observe(Observer):
    """Call a function with an `Event` for each execution of chosen operations.

    The filters must all agree. No event is made before they do.

    * `ops`: names of operations, such as "addf".
    * `lines`: lines of the text, or of the source that debug information names: 17, or "kernel.py:17".
    * `values`: the operations that define or use one of these values.
    * `blocks`: tile blocks, each a position in the grid or its first coordinate; the event has these only.
    * `when`: a condition on the results as arrays, or on the operands of an operation without results.

    >>> import numpy as np, tilery
    >>> module = tilery.parse('''cuda_tile.module @m { entry @k() {
    ...   %0 = constant <i32: 20> : tile<i32>
    ...   %1 = addi %0, %0 : tile<i32>
    ... } }''')
    >>> seen = []
    >>> stats = tilery.compile(module).launch(2, observe=Observe(seen.append, ops=["addi"]))
    >>> [(event.op.name, event.blocks[:, 0].tolist(), event.after["result"].tolist()) for event in seen]
    [('addi', [0, 1], [40])]
    """

    def __init__(
        self,
        function: Callable[[Event], None],
        *,
        ops: Iterable[str] = (),
        lines: Iterable[int | str] = (),
        values: Iterable[Value] = (),
        blocks: Iterable[int | Sequence[int]] = (),
        when: When | None = None,
        tokens: bool = False,
    ) -> None:
        self.function, self.when, self.tokens = function, when, tokens
        self.ops, self.lines, self.values = frozenset(ops), tuple(lines), frozenset(values)
        self.blocks = [tuple(block) if isinstance(block, Sequence) else (block,) for block in blocks]
        self._ranks: Array | None = None
        self._at_lines: set[Op] = set()

    def begin(self, scene: Scene) -> None:
        self._ranks = np.array([_rank(block, scene.machine.grid) for block in self.blocks]) if self.blocks else None
        if self.lines:
            places = op_places(scene.kernel.loaded.module)
            self._at_lines = {o for o, found in places.items() if any(_matches(p, self.lines) for p in found)}
        elif unknown := [name for name in self.ops if not _is_executed(name)]:
            raise TileError(f"observe: there is no operation '{unknown[0]}'")

    def wants(self, o: Op) -> bool:
        """Tell whether the operation passes the filters that do not depend on the launch's values."""
        if self.ops and o.name not in self.ops:
            return False
        if self.lines and o not in self._at_lines:
            return False
        return not self.values or not self.values.isdisjoint((*o.operands, *o.results))

    def compute(self, instruction: Compute, execute: Execute) -> Execute:
        o = instruction.op
        if not self.wants(o):
            return execute
        names = tuple(f.attr for f in o.opdef.operands)
        outs = tuple(f.attr for f in o.opdef.outs)
        accesses = memory_ordering(o) is not None

        def observed(o: Op, batch: Batch, *args: Any) -> Any:
            result = execute(o, batch, *args)
            lanes = None if self._ranks is None else np.flatnonzero(np.isin(batch.ranks, self._ranks))
            if lanes is not None and not len(lanes):
                return result
            results = result if len(outs) > 1 else (result,) if outs else ()
            some = batch if lanes is None else Lanes(batch.ranks[lanes], batch.blocks[lanes])
            if lanes is not None:
                args, results = take(args, lanes), take(results, lanes)
            if self.when is not None and not self.when(*(results or args)):
                return result
            before = dict(zip(names, args))
            access = make_access(o, some, before, before.get("token")) if accesses else None
            self.function(Event(o, some.ranks, some.blocks, before, dict(zip(outs, results)), access))
            return result

        return observed

    def control(self, instruction: Instruction) -> Look | None:
        values = _controlling(instruction)
        if values is None or not self.wants(instruction.op):
            return None
        names, slots, o = (*values, instruction.op)

        def look(batch: Batch) -> None:
            lanes = None if self._ranks is None else np.flatnonzero(np.isin(batch.ranks, self._ranks))
            if lanes is not None and not len(lanes):
                return
            args = tuple(batch.env[slot] for slot in slots)
            some = batch if lanes is None else Lanes(batch.ranks[lanes], batch.blocks[lanes])
            if lanes is not None:
                args = take(args, lanes)
            if self.when is None or self.when(*args):
                self.function(Event(o, some.ranks, some.blocks, dict(zip(names, args)), {}))

        return look


def _controlling(instruction: Instruction) -> tuple[tuple[str, ...], tuple[int, ...]] | None:
    """Return the names and slots of the values that an instruction reads; None if it only joins or enters a region."""
    match instruction:
        case Branch():
            return ("condition",), (instruction.condition,)
        case Test():
            return ("iteration", "upperBound"), (instruction.counter, instruction.bound)
        case CopyAndJump() if not instruction.op.blocks:  # continue, break or yield, not the start of a loop
            return tuple(f"operands_[{i}]" for i in range(len(instruction.moves[0]))), instruction.moves[0]
        case Finish():
            return tuple(f"operands_[{i}]" for i in range(len(instruction.values))), instruction.values
        case Advance() | Leave():
            return None
    return None


def observers_of(option: Any) -> tuple[Observer, ...]:
    """Return the observers that an option of a launch names: one, several, or a function to call with every event."""
    given = option if isinstance(option, (tuple, list)) else () if option is None else (option,)
    found = tuple(Observe(each) if callable(each) and not isinstance(each, Observer) else each for each in given)
    for each in found:
        if not isinstance(each, Observer):
            raise TileError(f"observe: expected a function, an Observer or a list of them, got a {type(each).__name__}")
    return found


def _is_executed(name: str) -> bool:
    executed: tuple[type[Op], ...] = (*RUNS, *CONTROL)
    return any(cls.opdef.mnemonic == name for cls in executed)


def _rank(block: tuple[int, ...], grid: tuple[int, int, int]) -> int:
    x, y, z = (*block, 0, 0, 0)[:3]
    if len(block) > 3 or not all(0 <= at < size for at, size in zip((x, y, z), grid)):
        raise TileError(f"observe: tile block {block} is not in the grid {grid}")
    return x + grid[0] * (y + grid[1] * z)


def _matches(place: tuple[str, int], lines: tuple[int | str, ...]) -> bool:
    file, line = place
    for wanted in lines:
        if isinstance(wanted, int):
            if wanted == line:
                return True
            continue
        name, _, number = wanted.rpartition(":")
        if number == str(line) and ("/" + file).endswith("/" + name.removeprefix("./")):
            return True
    return False
