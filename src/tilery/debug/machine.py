"""A machine that executes one instruction at a time and can go back: by re-execution from checkpoints.

The reference engine is deterministic, so a position in a launch is the number of instructions executed so far. A
checkpoint has the batches and the memory at a position. Values are shared with the running machine, as an observed
launch never overwrites them; memory is copied if it has changed since the checkpoint before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..engines.common.errors import ExecutionError
from ..engines.common.limits import Stats
from ..engines.common.memory import Segment
from ..engines.common.tiles import Array
from ..engines.reference.batch import Batch
from ..engines.reference.machine import Machine
from ..engines.reference.program import Compute, Instruction, Observed, RegionCode
from ..ir import Op
from .marks import MARK

INTERVAL = 500
"""Instructions between checkpoints, at first; it doubles when there are too many of them."""
MOST = 64
MOST_BYTES = 1 << 28
"""Checkpoints that are kept, and the bytes of memory that they may copy."""
NEAR = 64
"""Instructions between the checkpoints that going back leaves behind, as the next command often goes back too."""
NEAR_BYTES = 1 << 22
"""The most memory of a launch for which going back leaves checkpoints behind."""
BYTES = np.dtype(np.uint8)

Content = list[tuple[Segment, Array]]
"""The bytes of segments."""


@dataclass(slots=True)
class Checkpoint:
    """The state of a machine at a position."""

    count: int
    active: list[Batch]
    current: Batch | None
    limit: int
    taken: int
    segments: list[Segment]
    content: Content
    changes: int
    moved: tuple[int, int]
    arenas: dict[Op, dict[int, int]]
    stats: Stats
    bytes: int
    """The size of its copy of memory; 0 if it shares that of another checkpoint."""


class _Fresh(Iterator[Batch]):
    """The batches of the grid, each as often as execution returns to where it starts."""

    def __init__(self, more: Iterator[Batch]) -> None:
        self._more, self._made, self.taken = more, list[Batch](), 0
        self.program: RegionCode | None = None
        """The program that the batches execute instead of their own."""

    def __next__(self) -> Batch:
        if self.taken == len(self._made):
            self._made.append(next(self._more))
        self.taken += 1
        made = clone(self._made[self.taken - 1])
        made.program = self.program or made.program
        return made

    def taken_batches(self) -> list[Batch]:
        """Return the batches that have started."""
        return self._made[: self.taken]


def clone(batch: Batch) -> Batch:
    """Return a batch that executes on its own, with the same values."""
    made = Batch(batch.machine, batch.program, batch.ranks, batch.blocks, dict(batch.env))
    made.pc, made.turn, made.waits, made.stuck = batch.pc, batch.turn, batch.waits, batch.stuck
    made.seen = dict(batch.seen)
    return made


class SteppingMachine(Machine):
    """Executes instructions when asked to. `run`, which a launch calls, only takes the batches of the grid."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.count = 0
        """Instructions executed so far: the position."""
        self.furthest = 0
        """The furthest position so far; text is printed when execution first gets there."""
        self.active: list[Batch] = []
        self.current: Batch | None = None
        """The batch that executes next; None at the end."""
        self.limit = 0
        self.checkpoints: list[Checkpoint] = []
        self.near: list[Checkpoint] = []
        """Checkpoints of the stretch that was last gone back over."""
        self.interval = INTERVAL
        self.on_restart: Callable[[], RegionCode] | None = None
        """Starts observers again, and returns the program that tells them what it does."""
        self.say: Callable[[str], None] | None = self.output
        self.output = None

    def run(self, more: Iterator[Batch]) -> None:
        """Take the batches of a launch."""
        self.fresh = _Fresh(more)

    def start(self, program: RegionCode) -> None:
        """Stop before the first instruction of this program."""
        self.fresh.program = program
        self._settle()
        self.checkpoints = [self._checkpoint()]

    @property
    def done(self) -> bool:
        return self.current is None

    @property
    def instruction(self) -> Instruction:
        """The instruction that executes next."""
        assert self.current is not None
        found = self.current.program.code[self.current.pc]
        return found.inner if isinstance(found, Observed) else found

    # ------------------------------------------------------------ forward

    def advance(self) -> None:
        """Execute one instruction; raises what it raises, and stays before it."""
        batch = self.current
        assert batch is not None
        if self.count - self.checkpoints[-1].count >= self.interval and self.on_restart is None:
            self._keep(self._checkpoint())
        instruction = batch.program.code[batch.pc]
        if isinstance(instruction, Compute):
            self._compute(instruction, batch)
            batch.pc += 1
            going = True
        else:
            going = self._control(instruction, batch, self.active, [])
        self.count += 1
        self.furthest = max(self.furthest, self.count)
        if going and batch.pc < self.limit:
            return
        if going:
            self.active.append(batch)
        self.current = None
        self._settle()

    def _settle(self) -> None:
        """Choose the batch that executes next."""
        if not self.active:
            self._clean_up()
            first = next(self.fresh, None)
            if first is None:
                return
            self.active = [first]
        try:
            batch = self._choose(self.active, self.fresh)
        except ExecutionError:  # a deadlock: show one of the batches that wait
            self.current = self.active[0]
            raise
        assert batch is not None
        others = (b.pc for b in self.active if b.turn <= batch.turn and not self._waits(b))
        self.current, self.limit = batch, min(others, default=len(batch.program.code))

    def write(self, rank: int, text: bytes) -> None:
        """Print at once, but not again when execution has gone back."""
        if self.say is not None and self.count >= self.furthest and text != MARK.encode():
            self.say(text.decode("utf-8", "surrogateescape"))

    # ------------------------------------------------------------ back

    def goto(self, count: int) -> None:
        """Go to a position, forward or back."""
        if count < self.count:
            self._restore(next(c for c in self.known() if c.count <= count))
        while self.count < count and not self.done:
            self.advance()

    def back(self, end: int, wanted: Callable[[], bool], noticed: Callable[[], bool]) -> bool:
        """Go to the last position before `end` where a condition holds; to the start if there is none.

        `wanted` is asked before each instruction, `noticed` after it.
        """
        for checkpoint in self.known():
            if checkpoint.count >= end:
                continue
            self._restore(checkpoint)
            found = None
            dense = end - self.count > NEAR and self.on_restart is None
            if dense:
                self.near = []
            while self.count < end:
                if wanted():
                    found = self.count
                if dense and (self.count - checkpoint.count) % NEAR == 0 and self._written() <= NEAR_BYTES:
                    self.near.append(self._checkpoint())
                self.advance()
                if noticed() and self.count < end:
                    found = self.count
            if found is not None:
                self.goto(found)
                return True
            end = checkpoint.count
        self.goto(0)
        return False

    def known(self) -> list[Checkpoint]:
        """Return all checkpoints, the latest first."""
        return sorted((*self.checkpoints, *self.near), key=lambda each: -each.count)

    def _written(self) -> int:
        return sum(each.size for each in self.memory.segments if each.writable or each.parts)

    def _checkpoint(self) -> Checkpoint:
        memory = self.memory
        before = (*self.checkpoints[-1:], *self.near[-1:])
        last = max(before, key=lambda each: each.changes, default=None)
        if last is not None and last.changes == memory.changes and last.segments == memory.segments:
            content, size = last.content, 0
        else:
            kept = [each for each in memory.segments if each.writable or each.parts]
            content = [(each, each.typed(BYTES)[1].copy()) for each in kept]
            size = sum(len(data) for _, data in content)
        return Checkpoint(
            count=self.count,
            active=[clone(batch) for batch in self.active],
            current=None if self.current is None else clone(self.current),
            limit=self.limit,
            taken=self.fresh.taken,
            segments=list(memory.segments),
            content=content,
            changes=memory.changes,
            moved=(memory.bytes_read, memory.bytes_written),
            arenas={o: dict(known) for o, known in self._arenas.items()},
            stats=replace(self.stats),
            bytes=size,
        )

    def _keep(self, checkpoint: Checkpoint) -> None:
        kept = self.checkpoints
        kept.append(checkpoint)
        if len(kept) > MOST or (len(kept) > 4 and sum(each.bytes for each in kept) > MOST_BYTES):
            self.checkpoints = [each for at, each in enumerate(kept) if at % 2 == 0]
            self.interval *= 2

    def _restore(self, checkpoint: Checkpoint) -> None:
        memory = self.memory
        self.count, self.limit = checkpoint.count, checkpoint.limit
        self.active = [clone(batch) for batch in checkpoint.active]
        self.current = None if checkpoint.current is None else clone(checkpoint.current)
        self.fresh.taken = checkpoint.taken
        memory.segments = list(checkpoint.segments)
        memory._starts = [each.address for each in memory.segments]
        memory.changes = checkpoint.changes
        memory.bytes_read, memory.bytes_written = checkpoint.moved
        for segment, data in checkpoint.content:
            now = segment.typed(BYTES)[1]
            np.copyto(now, data, where=now != data)  # what is read-only has not changed
        self._arenas = {o: dict(known) for o, known in checkpoint.arenas.items()}
        self.stats = replace(checkpoint.stats)
        if self.on_restart is not None:
            self.fresh.program = self.on_restart()
            for batch in (*self.active, *([] if self.current is None else [self.current])):
                batch.program = self.fresh.program
