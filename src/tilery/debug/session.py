"""A debugging session: one launch, stopped before an operation, with commands that go on or back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..engines.common.errors import ExecutionError
from ..engines.reference.launch import ReferenceKernel
from ..engines.reference.program import CopyAndJump, Test
from ..ir import Op, walk
from ..ops import For, Loop
from ..source.positions import attach_place
from .breakpoints import is_visible
from .stops import Stop, Stopping

POLL = 256
"""Instructions between two questions whether to pause."""

Wanted = Callable[[], bool]


class Session(Stopping):
    """A launch on the reference engine under control of a debugger. The arguments are those of `Kernel.launch`.

    Tile blocks run together in batches, in step; one of them is in focus. A position is the number of instructions that
    the launch has executed.

    >>> import tilery
    >>> kernel = tilery.compile(tilery.parse('''entry @k(%n: tile<i32>) {
    ...   %twice = addi %n, %n : tile<i32>
    ...   %more = addi %twice, %n : tile<i32>
    ...   return
    ... }'''))
    >>> session = Session(kernel, 1, [20])
    >>> session.step().reason, session.op.name, str(session.value("%twice"))
    ('step', 'addi', '40')
    >>> session.step_back().reason, session.place.line
    ('step', 2)
    """

    def __init__(self, kernel: Any, grid: int | Sequence[int], args: Sequence[Any] = (), **options: Any) -> None:
        super().__init__(kernel, grid, args, **options)
        self._around = _around(self.kernel)
        self._anchor = 0
        """The position that the last command stopped at; what follows it may not be visible."""
        with self._running():
            self.machine.start(self.program)
            self._to_visible()
        self._focus()

    # ------------------------------------------------------------ forward

    def cont(self, poll: Wanted | None = None) -> Stop:
        """Run until something stops it; `poll` is asked now and then whether to pause."""
        return self._forward(lambda: False, alone=False, poll=poll)

    def step(self) -> Stop:
        """Execute one operation of the tile block in focus."""
        return self._forward(lambda: True)

    def step_line(self) -> Stop:
        """Execute up to another source line of the tile block in focus."""
        return self._forward(self._other_line())

    def step_iteration(self) -> Stop:
        """Execute up to the next iteration of the innermost loop, or its end."""
        loop = self._loop()
        if loop is None:
            return self.step_block()
        return self._forward(lambda: self._starts(loop) or not self._inside(loop))

    def step_out(self) -> Stop:
        """Execute up to the end of the innermost loop or branch."""
        around = self._around.get(self.op) if self.op is not None else None
        if around is None:
            return self.step_block()
        return self._forward(lambda: not self._inside(around))

    def step_block(self) -> Stop:
        """Execute the tile block in focus to its end."""
        return self._forward(lambda: False)

    def run_to(self, position: int) -> Stop:
        """Go to a position, forward or back, past all breakpoints."""
        with self._running():
            try:
                self.machine.goto(max(0, position))
                self._to_visible()
            except ExecutionError as error:
                return self._failed(error)
        self._notices.clear()
        return self._stopped(Stop("end" if self.ended else "step"))

    def _forward(self, wanted: Wanted, *, alone: bool = True, poll: Wanted | None = None) -> Stop:
        machine, rank = self.machine, self.rank
        if self.failure is not None:
            return Stop("exception", self.failure.message)
        if self.ended:
            return Stop("end")
        start = machine.count
        with self._running():
            while True:
                try:
                    machine.advance()
                except ExecutionError as error:
                    return self._failed(error)
                if (stop := self._noticed()) is not None:
                    return self._at_visible(stop)
                if machine.current is None:
                    self.rank = rank
                    return self._stopped(Stop("end"))
                if poll is not None and (machine.count - start) % POLL == 0 and poll():
                    return self._at_visible(Stop("pause"))
                if not is_visible(machine.instruction):
                    continue
                if (stop := self._hit()) is not None:
                    return self._stopped(stop)
                if not alone:
                    continue
                if rank not in machine.current.ranks:
                    if any(rank in batch.ranks for batch in machine.active):
                        continue
                    return self._stopped(Stop("step", f"tile block {self.block_of(rank)} has finished"))
                if wanted():
                    return self._stopped(Stop("step"))

    # ------------------------------------------------------------ back

    def step_back(self) -> Stop:
        """Go back to the operation that the tile block in focus executed last."""
        return self._back(lambda: True)

    def line_back(self) -> Stop:
        """Go back to the first operation of the source line before."""
        if (stop := self._back(self._other_line())).reason != "step":
            return stop
        here = self._other_line()
        before = self.position
        moved = self._back(here)
        if moved.reason == "step":
            return self._forward(lambda: not here()) if self.position < before else moved
        return moved if here() is False else self._forward(lambda: not here())

    def iteration_back(self) -> Stop:
        """Go back to the start of the iteration, or of the one before."""
        loop = self._loop()
        if loop is None:
            return self._back(lambda: False)
        return self._back(lambda: self._starts(loop) or not self._inside(loop))

    def reverse(self) -> Stop:
        """Go back to the last stop: a breakpoint, a write to a watched element, NaN, a report."""
        return self._back(lambda: False, alone=False)

    def last_write(self, text: str) -> Stop | None:
        """Go back to just after the last write of an element; stay, and return None, if there was none."""
        here, rank, failure = self.position, self.rank, self.failure
        point = self.watch(text)
        known, marks = (self._at, self.marks)
        self._at, self.marks = {}, set()
        try:
            stop = self._back(lambda: False, alone=False)
        finally:
            self._at, self.marks = known, marks
            self.delete(point.number)
        if stop.reason == "data":
            return stop
        self.run_to(here)
        self.rank, self.failure = rank, failure
        return None

    def _back(self, wanted: Wanted, *, alone: bool = True) -> Stop:
        machine, rank = self.machine, self.rank
        stops: dict[int, tuple[Stop, int]] = {}
        self.failure = None

        def here() -> bool:
            if machine.current is None or not is_visible(machine.instruction):
                return False
            self.rank = rank
            if not alone and (stop := self._hit(count=False)) is not None:
                stops[machine.count] = stop, self.rank
                return True
            return alone and rank in machine.current.ranks and wanted()

        def noticed() -> bool:
            stop = self._noticed()
            if stop is not None and not alone:
                stops[machine.count] = stop, self.rank
            return stop is not None and not alone

        with self._running():
            found = machine.back(min(machine.count, self._anchor), here, noticed)
            self._notices.clear()
            self.rank = rank
            if not found:
                self._to_visible()
                return self._stopped(Stop("entry", "the start of the launch"))
            stop, self.rank = stops.get(machine.count, (Stop("step"), rank))
        return self._at_visible(stop)

    # ------------------------------------------------------------ tile blocks

    def switch(self, block: Sequence[int]) -> Stop:
        """Look at another tile block: now, when it runs next, or, if it has finished, its last operation."""
        rank = self.rank_of(block)
        batch = self.machine.current
        if batch is not None and rank in batch.ranks:
            self.rank = rank
            return Stop("step")
        started = any(rank in each.ranks for each in self.machine.active) or not self._finished(rank)
        self.rank = rank
        with self._running():
            if not started:
                self.machine.back(self.machine.count, lambda: self._runs(rank), lambda: False)
                return self._stopped(Stop("step", "it has finished: this is its last operation"))
            while not self.ended and not self._runs(rank):
                try:
                    self.machine.advance()
                except ExecutionError as error:
                    return self._failed(error)
        self._notices.clear()
        return self._stopped(Stop("end" if self.ended else "step"))

    def _runs(self, rank: int) -> bool:
        batch = self.machine.current
        return batch is not None and rank in batch.ranks and is_visible(self.machine.instruction)

    def _finished(self, rank: int) -> bool:
        started = sum(batch.lanes for batch in self.machine.fresh.taken_batches())
        return rank < started

    # ------------------------------------------------------------ parts

    def _other_line(self) -> Wanted:
        start = None if self.place is None else (self.place.file, self.place.line)

        def other() -> bool:
            place = self.place
            return place is not None and (place.file, place.line) != start

        return other

    def _loop(self) -> Op | None:
        """Return the innermost loop around the next operation; the loop itself if that is its head."""
        o = self.op
        if isinstance(o, (For, Loop)):
            return o
        while o is not None and not isinstance(o, (For, Loop)):
            o = self._around.get(o)
        return o

    def _starts(self, loop: Op) -> bool:
        """Tell whether the next operation starts an iteration of a loop."""
        instruction = self.machine.instruction
        if isinstance(loop, For):
            return isinstance(instruction, Test) and instruction.op is loop
        return instruction.op is loop.blocks[0].ops[0] and not isinstance(instruction, CopyAndJump)

    def _inside(self, region: Op) -> bool:
        o = self.op
        while o is not None and o is not region:
            o = self._around.get(o)
        return o is region

    def _to_visible(self) -> None:
        while not self.machine.done and not is_visible(self.machine.instruction):
            self.machine.advance()

    def _at_visible(self, stop: Stop) -> Stop:
        """Stop after something happened, before the next operation that people see."""
        here = self.machine.count
        try:
            self._to_visible()
        except ExecutionError as error:
            return self._failed(error)
        self._stopped(stop)
        self._anchor = here
        return stop

    def _stopped(self, stop: Stop) -> Stop:
        self._focus()
        self._anchor = self.machine.count
        return stop

    def _failed(self, error: ExecutionError) -> Stop:
        self.failure = error
        attach_place(error, self.kernel.loaded.module)
        if error.block:
            self.rank = self.rank_of(error.block)
        return self._stopped(Stop("exception", error.message))


def _around(kernel: ReferenceKernel) -> dict[Op | None, Op]:
    """Return, for each operation, the loop or branch around it."""
    return {inner: o for o in walk(kernel.entry) if o is not kernel.entry for b in o.blocks for inner in b.ops}
