"""Schedules: which tile blocks run next, and how many of them together, drawn from a seed.

A launch with a seed runs the same schedule each time, so that what was found in it can be replayed. `explore` runs a
launch in several schedules, each on the same arguments.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..engines.common.arrays import locate
from ..engines.common.limits import Stats
from ..engines.common.tiles import Array
from ..engines.reference.batch import Batch
from ..engines.reference.machine import Machine
from ..engines.reference.program import Compute, Slots
from .reports import Occurrence

if TYPE_CHECKING:
    from .sanitizer import Sanitizer

TURN = 12
"""Operations that a batch executes at a time, on average."""
MOST_SPLITS = 64
WAITING = 64
"""Batches of the grid from which the next one is drawn."""


class ScheduledMachine(Machine):
    """Runs batches in a random order: it splits them at random when they start, and stops them at random.

    A batch is split at most `deepest` times, each part of it again.
    """

    def __init__(self, seed: int, *args: Any, deepest: int = MOST_SPLITS, **options: Any) -> None:
        super().__init__(*args, **options)
        self._random = random.Random(seed)
        self._deepest = deepest

    def run(self, more: Iterator[Batch]) -> None:
        super().run(self._shuffled(more))

    def _shuffled(self, more: Iterator[Batch]) -> Iterator[Batch]:
        """Yield parts of batches in a random order."""
        waiting: list[Batch] = []
        for batch in more:
            waiting += self._parts(batch, self._deepest)
            while len(waiting) >= WAITING:
                yield waiting.pop(self._random.randrange(len(waiting)))
        self._random.shuffle(waiting)
        yield from waiting

    def _parts(self, batch: Batch, splits: int) -> list[Batch]:
        """Split a batch, or do not, into tile blocks that start together."""
        if not splits or batch.lanes == 1 or self._random.random() < 0.25:
            return [batch]
        chosen = np.array([self._random.random() < 0.5 for _ in range(batch.lanes)])
        if chosen.all() or not chosen.any():
            return [batch]
        return [part for half in batch.split(chosen) for part in self._parts(half, splits - 1)]

    def _choose(self, active: list[Batch], more: Iterator[Batch]) -> Batch | None:
        if not active:
            return None
        ready = [b for b in active if not self._waits(b)]
        wants = not ready or self._random.random() < 0.3
        if wants and self._has_room(active, bool(ready)) and (fresh := next(more, None)) is not None:
            active.append(fresh)
            ready.append(fresh)
        if not ready:
            raise self._deadlock(active)
        chosen = self._random.choice(ready)
        active.remove(chosen)
        return chosen

    def _proceed(self, batch: Batch, active: list[Batch], limit: int, finished: list[tuple[Batch, Slots]]) -> None:
        """Run a batch for a random number of operations, or until it finishes, splits or waits."""
        code = batch.program.code
        for _ in range(1 + int(self._random.expovariate(1 / TURN))):
            instruction = code[batch.pc]
            if instruction.__class__ is Compute:
                self._compute(instruction, batch)
                batch.pc += 1
            elif not self._control(instruction, batch, active, finished):
                return
        active.append(batch)


class SequentialMachine(Machine):
    """Runs each tile block as far as it can before the next one starts, or the one before it if backwards."""

    def __init__(self, *args: Any, is_backwards: bool = False, **options: Any) -> None:
        super().__init__(*args, **options)
        self._is_backwards = is_backwards

    def run(self, more: Iterator[Batch]) -> None:
        alone = self._alone(more)
        super().run(reversed(list(alone)) if self._is_backwards else alone)

    def _alone(self, more: Iterator[Batch]) -> Iterator[Batch]:
        for batch in more:
            while batch.lanes > 1:
                first = np.arange(batch.lanes) == 0
                one, batch = batch.split(first)
                yield one
            yield batch

    def _choose(self, active: list[Batch], more: Iterator[Batch]) -> Batch | None:
        if not active:
            return None
        ready = next((b for b in active if not self._waits(b)), None)
        if ready is None:
            ready = next(more, None) if self._has_room(active, False) else None
            if ready is None:
                raise self._deadlock(active)
            return ready
        active.remove(ready)
        return ready

    def _proceed(self, batch: Batch, active: list[Batch], limit: int, finished: list[tuple[Batch, Slots]]) -> None:
        super()._proceed(batch, active, len(batch.program.code), finished)


def explore(
    launch: Callable[[], Stats], sanitizer: Sanitizer, arrays: Sequence[Any], schedules: int, *, seed: int = 0
) -> Stats:
    """Call `launch` in random schedules with the seeds from `seed` on, and finally in the engine's own.

    `launch` must pass the sanitizer on. Memory that it may change must be among the arrays, which have their first
    contents at the start of each run; those of globals that the kernel writes are not reset. With the check
    `order-sensitive`, results that depend on the schedule are reported, unless a race explains them.
    """
    contents = [np.array(array, copy=True) for array in arrays]
    undefined = [region.save() for region in sanitizer.uninit]
    results: list[list[Array]] = []
    try:
        for number in range(seed, seed + schedules):
            sanitizer.schedule = number
            launch()
            _compare(sanitizer, arrays, results)
            for array, content in zip(arrays, contents):
                array[...] = content
            for region, saved in zip(sanitizer.uninit, undefined):
                region.restore(saved)
    finally:
        sanitizer.schedule = None
    stats = launch()
    _compare(sanitizer, arrays, results)
    return stats


def _compare(sanitizer: Sanitizer, arrays: Sequence[Any], results: list[list[Array]]) -> None:
    """Report an element whose result is another one than in the first schedule; keep the first results."""
    checks = sanitizer.last
    if "order-sensitive" not in sanitizer.names or checks is None:
        return
    if not results:
        results.append([np.array(array, copy=True) for array in arrays])
        return
    if any(report.check == "race" for report in sanitizer.reports):
        return
    for array, first in zip(arrays, results[0]):
        raw, before = (np.ascontiguousarray(a).view(np.uint8).reshape(a.size, a.itemsize) for a in (array, first))
        different = (raw != before).any(axis=1)
        if not different.any():
            continue
        index = np.unravel_index(int(np.argmax(different)), array.shape)
        address = locate(array).address + sum(int(i) * stride for i, stride in zip(index, array.strides))
        report = sanitizer.reports.add(
            "order-sensitive", "the result depends on the schedule", [Occurrence(checks.store_to(address))], hint=True
        )
        if report is not None and not report.count:
            element = checks.element(address)
            report.values = {"the element": element} if element else {}
            if array.dtype != np.uint8:  # programs show bytes
                report.values |= {"one result": first[index], "another": array[index]}
            report.notes = ["no race explains it: atomic operations or reductions happen in another order"]
            sanitizer.complete(report, checks.kernel_name, sanitizer.launched)
        if report is not None:
            report.count += int(np.count_nonzero(different))
