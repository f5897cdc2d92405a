"""The machine: runs batches of tile blocks through a program, splits them where control flow diverges, and merges them.

The batch that is furthest back runs first, so that others can merge with it. A batch that spins in a loop (neither its
values nor memory changed since the last iteration) is suspended until memory changes. When all batches are suspended,
new tile blocks are started; when there are none left, it is a deadlock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from ...diag import ErrorKind
from ...ir import Op
from ...ops import Loop, Return
from ...types import TileView
from ..common.errors import ExecutionError
from ..common.limits import Limits, Stats
from ..common.memory import AssertFailed, Fault, Memory
from ..common.tiles import Array
from ..common.watch import Late, watched
from .batch import Batch, join, merge
from .deadlock import polled
from .ops.views import padding
from .program import Advance, Branch, Compute, CopyAndJump, Finish, Leave, Observed, RegionCode, Slots, Test

if TYPE_CHECKING:
    from .observe import Observer

PATIENCE = 1000
"""After this many iterations of a loop that accesses memory, other batches get a turn."""
PER_TEXT = 120
"""Bytes that a printed text takes besides its characters."""
JOINED_BYTES = 1 << 20
MANY = 32
"""Above this many batches, merging is cheaper than searching."""


def total(machines: list[Machine]) -> Stats:
    """Add up the statistics of several machines."""
    for machine in machines:
        memory = machine.memory
        machine.stats.bytes_read, machine.stats.bytes_written = memory.bytes_read, memory.bytes_written
    names = [f.name for f in fields(Stats) if f.name != "complete"]
    return Stats(**{name: sum(getattr(m.stats, name) for m in machines) for name in names}, complete=True)


class Stopped(Exception):
    """Another thread asked this one to stop."""


class Machine:
    """Executes batches of tile blocks; a launch has one machine per thread."""

    def __init__(
        self,
        memory: Memory,
        grid: tuple[int, int, int],
        globals: dict[str, int],
        *,
        limits: Limits | None = None,
        output: Callable[[str], None] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        self.memory, self.grid, self.globals = memory, grid, globals
        self.limits = limits or Limits()
        self.output, self.progress = output, progress
        self.stats = Stats()
        self.stop = False
        self.observers: tuple[Observer, ...] = ()
        self.deadline = None if self.limits.seconds is None else time.monotonic() + self.limits.seconds
        self._printed: list[tuple[int, bytes]] = []
        self._arenas: dict[Op, dict[int, int]] = {}
        self._printed_bytes = 0

    # ------------------------------------------------------------ running

    def run(self, more: Iterator[Batch]) -> None:
        """Execute batches until there are no more."""
        with np.errstate(all="ignore"), watched(self._ask):
            try:
                for first in more:
                    self._run([first], more, [])
                    self._clean_up()
            finally:
                self._clean_up()

    def evaluate(self, batch: Batch) -> tuple[Array, ...]:
        """Execute the program of a body and return what it yields."""
        finished: list[tuple[Batch, Slots]] = []
        stats = self.stats
        counted = stats.operations, stats.flops
        self._run([batch], iter(()), finished)
        stats.operations, stats.flops = counted  # they are counted with the operation that has the body
        if len(finished) == 1:
            part, slots = finished[0]
            return tuple(part.env[slot] for slot in slots)
        places = [part.ranks for part, _ in finished]
        columns = zip(*([part.env[slot] for slot in slots] for part, slots in finished))
        return tuple(join(list(values), places) for values in columns)

    def _run(self, active: list[Batch], more: Iterator[Batch], finished: list[tuple[Batch, Slots]]) -> None:
        """Run batches to completion; start more only if these wait for them."""
        while (batch := self._choose(active, more)) is not None:
            others = (b.pc for b in active if b.turn <= batch.turn and not self._waits(b))
            self._proceed(batch, active, min(others, default=len(batch.program.code)), finished)

    def _waits(self, batch: Batch) -> bool:
        return batch.stuck == self.memory.changes

    def _choose(self, active: list[Batch], more: Iterator[Batch]) -> Batch | None:
        """Remove and return the batch to run next, merged with those at its position; None when all have finished."""
        if not active:
            return None
        ready = [b for b in active if not self._waits(b)]
        idle = not ready or all(b.turn for b in ready)
        if idle and self._has_room(active, bool(ready)) and (fresh := next(more, None)) is not None:
            active.append(fresh)
            ready.append(fresh)
        if not ready:
            raise self._deadlock(active)
        first = min(ready, key=lambda b: (b.turn, b.pc))
        if len(active) == 1:
            active.clear()
            return first
        together = [b for b in active if b.pc == first.pc]
        active[:] = [b for b in active if b.pc != first.pc]
        self.stats.merges += len(together) - 1
        return self._merge(together)

    def _merge(self, batches: list[Batch]) -> Batch:
        """One batch from several at the same position."""
        for each in self.observers:
            each.merging(batches)
        return merge(batches)

    def _has_room(self, active: list[Batch], others: bool) -> bool:
        """Tell whether more tile blocks fit in memory. Raise if they do not and there is nothing else to run."""
        batch = active[0]
        held = (sum(b.lanes for b in active) + max(b.lanes for b in active)) * batch.program.peak
        if held <= self.limits.memory:
            return True
        if others:
            return False
        o = batch.program.code[batch.pc].op
        message = f"{o.name}: tile blocks wait for others that do not fit in memory beside them"
        raise self.error(batch, o, ErrorKind.MEMORY, f"{message}: the limit is {self.limits.memory} bytes")

    def _deadlock(self, active: list[Batch]) -> ExecutionError:
        batch = active[0]
        o = polled(batch.program, batch.pc)
        lanes = sum(b.lanes for b in active)
        message = f"{o.name}: {lanes} tile blocks are deadlocked: nothing that could end their loops will change"
        return self.error(batch, o, ErrorKind.DEADLOCK, message)

    def _proceed(self, batch: Batch, active: list[Batch], limit: int, finished: list[tuple[Batch, Slots]]) -> None:
        """Run a batch until it finishes, splits, waits, or reaches the position of another one."""
        code = batch.program.code
        while True:
            instruction = code[batch.pc]
            if instruction.__class__ is Compute:
                self._compute(instruction, batch)
                batch.pc += 1
            elif not self._control(instruction, batch, active, finished):
                return
            if batch.pc >= limit:
                active.append(batch)
                return

    def _control(
        self, instruction: Any, batch: Batch, active: list[Batch], finished: list[tuple[Batch, Slots]]
    ) -> bool:
        """Execute a control-flow instruction. Return whether the batch continues."""
        match instruction:
            case CopyAndJump():
                _move(batch, instruction.moves, instruction.frees)
                if instruction.target.pc <= batch.pc:
                    self._count(instruction.op, batch)
                batch.pc = instruction.target.pc
                if isinstance(instruction.op, Loop):
                    batch.seen.pop(batch.pc, None)  # entering a loop again is not an iteration
                elif instruction.polls is not None and self._is_waiting(batch, instruction.polls):
                    active.append(batch)
                    return False
            case Branch():
                return self._part(batch, batch.env[instruction.condition], batch.pc + 1, instruction.target.pc, active)
            case Test():
                counter, bound = batch.env[instruction.counter], batch.env[instruction.bound]
                batch.env[instruction.variable] = counter
                return self._part(
                    batch, _below(instruction.op, counter, bound), batch.pc + 1, instruction.exit.pc, active
                )
            case Advance():
                return self._advance(instruction, batch, active)
            case Leave():
                _move(batch, instruction.moves, ())
                _forget(batch.env, instruction.frees, instruction.inner)
                if instruction.head is not None:
                    batch.seen.pop(instruction.head.pc, None)
                batch.pc += 1
            case Finish():
                if isinstance(instruction.op, Return):
                    self._finish(batch)
                else:
                    finished.append((batch, instruction.values))
                return False
            case Observed():
                for look in instruction.looks:
                    look(batch)
                return self._control(instruction.inner, batch, active, finished)
        return True

    def _part(self, batch: Batch, condition: Array, yes: int, no: int, active: list[Batch]) -> bool:
        """Branch on a condition. Return whether the tile blocks stay together."""
        if len(condition) == 1 or condition.all() or not condition.any():
            batch.pc = yes if condition[0] else no
            return True
        self.stats.splits += 1
        ahead, aside = batch.split(condition)
        ahead.pc, aside.pc = yes, no
        self._put(ahead, active)
        self._put(aside, active)
        return False

    def _put(self, batch: Batch, active: list[Batch]) -> None:
        """Add a batch; if there are many, merge it with those at its position that are not larger."""
        while len(active) > MANY and (other := next((b for b in active if _can_join(b, batch)), None)) is not None:
            active.remove(other)
            batch = self._merge([other, batch])
            self.stats.merges += 1
        active.append(batch)

    def _advance(self, instruction: Advance, batch: Batch, active: list[Batch]) -> bool:
        env = batch.env
        counter, by = env[instruction.counter], env[instruction.step]
        _move(batch, instruction.moves, instruction.frees)
        after = counter + by
        env[instruction.counter] = after
        fits = _below(instruction.op, counter, after)
        if not fits.all():
            if not _below(instruction.op, np.zeros_like(by), by).all():
                raise self.error(batch, instruction.op, ErrorKind.UNDEFINED, "for: the step must be positive")
            return self._part(batch, fits, instruction.target.pc, instruction.exit.pc, active)
        batch.pc = instruction.target.pc
        self._count(instruction.op, batch)
        return True

    def _finish(self, batch: Batch) -> None:
        self.stats.blocks += batch.lanes
        if self.progress is not None:
            self.progress(batch.lanes)

    # ------------------------------------------------------------ steps

    def _compute(self, instruction: Compute, batch: Batch) -> None:
        env = batch.env
        args = [
            env[a] if a.__class__ is int else None if a is None else tuple([env[slot] for slot in a])  # type: ignore[union-attr]  # a class test is quicker than isinstance
            for a in instruction.args
        ]
        self._count(instruction.op, batch)
        self.stats.flops += instruction.flops * batch.lanes
        try:
            result = self._execute(instruction, batch, args)
        except Fault as fault:
            message = f"{instruction.op.name}: address {fault.address:#x} {fault.reason}"
            raise self.error(batch, instruction.op, fault.kind, message, fault.where, fault.address) from None
        except AssertFailed as failed:
            raise self.error(batch, instruction.op, ErrorKind.ASSERTION, failed.message, failed.where[0]) from None
        except Late:
            raise self._late(batch, instruction.op) from None
        except MemoryError:
            message = f"{instruction.op.name}: out of memory: the system has no more, or the limit is reached"
            text = f"{message} ({self.limits.memory} bytes)"
            raise self.error(batch, instruction.op, ErrorKind.MEMORY, text) from None
        outs = instruction.outs
        for slots, value in zip(outs, (result,) if len(outs) == 1 else result or ()):
            if isinstance(slots, int):
                env[slots] = value
            elif slots is not None:
                env.update(zip(slots, value))
        for slot in instruction.frees:
            del env[slot]

    def _execute(self, instruction: Compute, batch: Batch, args: list[Any]) -> Any:
        """Run the function of an operation and return its results."""
        run = instruction.run
        if run.batch:
            return run.function(instruction.op, batch, *args)
        if instruction.reusable and (out := self._spare(instruction.reusable, batch)) is not None:
            return run.function(instruction.op, *args, out=out)
        return run.function(instruction.op, *args)

    def _spare(self, slots: Slots, batch: Batch) -> Array | None:
        """Return a dead array to overwrite. A value with one lane for all blocks may be shared with other batches."""
        for slot in slots:
            array: Array = batch.env[slot]
            if len(array) == batch.lanes > 1:
                return array
        return None

    def padding(self, view: TileView) -> Any:
        """Return the value of elements outside a view's tensor. A subclass whose floats are not floats has its own."""
        return padding(view)

    def _count(self, o: Op, batch: Batch) -> None:
        stats = self.stats
        stats.steps += 1
        stats.operations += batch.lanes
        if self.limits.steps is not None and stats.steps > self.limits.steps:
            raise self.error(batch, o, ErrorKind.STEPS, f"stopped after {self.limits.steps} steps")
        try:
            self._ask()
        except Late:
            raise self._late(batch, o) from None

    def _ask(self) -> None:
        """Raise if the launch should stop."""
        if self.stop:
            raise Stopped
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise Late

    def _late(self, batch: Batch, o: Op) -> ExecutionError:
        return self.error(batch, o, ErrorKind.TIMEOUT, f"stopped after {self.limits.seconds} seconds")

    def error(
        self,
        batch: Batch,
        o: Op,
        kind: ErrorKind,
        message: str,
        where: tuple[int, ...] = (0,),
        address: int | None = None,
    ) -> ExecutionError:
        """Return an error at an element of an operation's tile; `where` is its index, lane first."""
        block = tuple(int(i) for i in batch.blocks[where[0]])
        return ExecutionError(o, message, kind=kind, block=block, element=where[1:], address=address)

    def _is_waiting(self, batch: Batch, carried: Slots) -> bool:
        """Tell at a back edge whether the batch spins, or has iterated so often that others should have a turn."""
        values = tuple([batch.env[slot] for slot in carried])
        changes, seen = self.memory.changes, batch.seen.get(batch.pc)
        batch.seen[batch.pc] = (changes, values)
        if seen is not None and seen[0] == changes and _unchanged(seen[1], values):
            batch.stuck = changes
            return True
        batch.waits += 1
        # If tile blocks cannot observe each other, there is nothing to wait for.
        if batch.waits < PATIENCE or batch.program.steady:
            return False
        batch.waits = 0
        batch.turn += 1
        return True

    # ------------------------------------------------------------ what tile blocks share

    def room_for_text(self) -> int:
        """Return how many more bytes of text may be buffered."""
        return self.limits.memory - self._printed_bytes

    def write(self, rank: int, text: bytes) -> None:
        """Buffer text that a tile block prints."""
        self._printed_bytes += len(text) + PER_TEXT
        self._printed.append((rank, text))

    def arena(self, o: Op, ranks: Array, size: int, alignment: int) -> Array:
        """Return the address of each tile block's memory for an `alloca`, allocated at its first execution."""
        known, numbers = self._arenas.setdefault(o, {}), ranks.tolist()
        if new := [rank for rank in numbers if rank not in known]:
            labels = [f"alloca of tile block {rank}" for rank in new]
            known.update(zip(new, self.memory.allocate_each(size, alignment, labels)))
        return np.array([known[rank] for rank in numbers], np.int64)

    def _clean_up(self) -> None:
        """Print buffered text, block by block, and free the memory of `alloca`; no tile block may be running."""
        if self.output is not None and self._printed:
            self._printed.sort(key=itemgetter(0))
            for text in _joined(text for _, text in self._printed):
                self.output(text.decode("utf-8", "surrogateescape"))
        self._printed.clear()
        self._printed_bytes = 0
        if self._arenas:
            self.memory.free({address for known in self._arenas.values() for address in known.values()})
            self._arenas.clear()
        for each in self.observers:
            each.released()


def _joined(texts: Iterable[bytes]) -> Iterator[bytes]:
    """Join texts to parts of about a megabyte, so that large output is not held twice. No character is cut."""
    some = bytearray()
    for text in texts:
        some += text
        if len(some) >= JOINED_BYTES and some[-1] < 128:
            yield bytes(some)
            some.clear()
    if some:
        yield bytes(some)


def _can_join(other: Batch, batch: Batch) -> bool:
    same = other.pc == batch.pc and other.turn == batch.turn and other.stuck == batch.stuck == -1
    return same and other.lanes <= batch.lanes


def _move(batch: Batch, moves: tuple[Slots, Slots], frees: Slots) -> None:
    env = batch.env
    values = [env[slot] for slot in moves[0]]
    for slot in frees:
        del env[slot]
    env.update(zip(moves[1], values))


def _forget(env: dict[int, Any], frees: Slots, inner: range) -> None:
    for slot in frees:
        del env[slot]
    # Iterate over whichever is smaller: many values may be live around a small loop, or few around a large one.
    for slot in inner if len(inner) < len(env) else [slot for slot in env if slot in inner]:
        env.pop(slot, None)


def _below(o: Any, a: Array, b: Array) -> Array:
    if o.unsignedCmp:
        unsigned = np.dtype(f"u{a.dtype.itemsize}")
        a, b = a.view(unsigned), b.view(unsigned)
    result: Array = a < b
    return result


def _unchanged(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if isinstance(a, tuple):
        return all(map(_unchanged, a, b))
    if a is None or isinstance(a, int):
        return bool(a == b)
    return bool(a.shape == b.shape and a.tobytes() == b.tobytes())


def grid_batches(
    machine: Machine, program: RegionCode, env: dict[int, Any], lanes: int, chunks: Iterator[int]
) -> Iterator[Batch]:
    """Yield the tile blocks of the grid in batches of `lanes`, x varying fastest."""
    gx, gy, gz = machine.grid
    total = gx * gy * gz
    for number in chunks:
        start = number * lanes
        count = min(lanes, total - start)
        if count <= 0:
            return
        x = start % gx + np.arange(count, dtype=np.int64)
        y = start // gx % gy + x // gx
        z = start // (gx * gy) + y // gy
        blocks = np.stack([x % gx, y % gy, z], axis=1).astype(np.int32)
        yield Batch(machine, program, start + np.arange(count, dtype=np.int64), blocks, dict(env))
