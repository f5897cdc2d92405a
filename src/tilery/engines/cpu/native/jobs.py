"""One launch as native code sees it: the slots of the arguments, and a job that threads take tile blocks from."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from ....types import Ptr, Tile, Type
from ...addresses import HoldsAddresses
from ...arguments import BoundArguments
from ...reference.memory import Memory, Segment
from ..abi import CALLBACK, CONTEXT, CONTROL_WORDS, FAULT_CELL, STOP, STREAM
from ..stores import keeps_gaps
from . import pool, pool_ir

LARGE = 8 << 20
"""Memory that is written past the caches, if it has at least this many bytes."""
BRIEF = 20e6
"""Nanoseconds of work after which a caller that runs tile blocks itself looks for signals."""
TURN = 512
"""Tile blocks that a thread takes at once, at most. After them it waits until its stores have reached memory."""
FIRST = 256
"""Tile blocks to run before it is known how long they take."""


def fast_key(args: Sequence[Any], convention: str | None) -> Any:
    """Return what the slots depend on, or None if some argument is not an array of NumPy or a number of Python."""
    key: list[Any] = [convention]
    for value in args:
        kind = type(value)
        if kind is np.ndarray and value.ndim:  # one without dimensions may be passed by its value
            key += (value.ctypes.data, value.shape, value.strides, value.dtype, value.flags.writeable)
        elif kind is int or kind is bool:
            key += (kind, value)
        elif kind is float:
            key += (kind, value.hex())  # -0.0 equals 0.0, and NaN nothing
        else:
            return None
    return tuple(key)


class Prepared(HoldsAddresses):
    """The slots of a set of arguments. It does not keep the arrays alive."""

    def __init__(self, slots: list[int], large: bool, checked: bool) -> None:
        self.slots = np.array([word - (1 << 64) if word >> 63 else word for word in slots], np.int64)
        self.large = large
        self.checked = checked
        """Whether checking ranges is enough; else the reference engine has to run the launch."""
        self._jobs: list[Job] = []

    def take(self, run: int, grid: tuple[int, int, int]) -> Job:
        """Return a job that no other thread uses."""
        try:
            job = self._jobs.pop()
        except IndexError:
            job = Job(self, run)
        job.reset(grid)
        return job

    def give_back(self, job: Job) -> None:
        self._jobs.append(job)


def prepare(
    bound: BoundArguments, params: Sequence[Type], memory: Memory, globals: Sequence[int], written: list[Any] | None
) -> Prepared:
    """Lay out the slots as `abi` describes them."""
    words = [int.from_bytes(slot, "little") for slot in bound.slots]
    pointers = [isinstance(p, Tile) and isinstance(p.element, Ptr) for p in params]
    slots = list(words)
    for word, pointer in zip(words, pointers):
        slots += _bounds(memory.at(word) if pointer else None)
    for address in globals:
        slots += _bounds(memory.at(address))
    slots += globals
    slots.append(len(memory.segments))
    for segment in memory.segments:
        low, high, writable = _bounds(segment)
        slots += (low, high, int(writable and not segment.parts))
    large = any(segment.writable and segment.size >= LARGE for segment in memory.segments)
    return Prepared(slots, large, keeps_gaps(written, words, memory.segments))


def _bounds(segment: Segment | None) -> tuple[int, int, int]:
    return (0, 0, 0) if segment is None else (segment.address, segment.end, int(segment.writable))


class Job(HoldsAddresses):
    """The words that native code reads and writes during one launch."""

    def __init__(self, prepared: Prepared, run: int) -> None:
        self._prepared = prepared
        # Words that threads write are on lines of their own.
        self._words = np.zeros(64, np.int64)
        base = self._words.ctypes.data
        skip = -base % 64 // 8
        self._job = self._words[skip : skip + pool_ir.JOB_WORDS]
        self._control = self._words[skip + 16 : skip + 16 + CONTROL_WORDS]
        self._grid = self._words[skip + 32 : skip + 35]
        self.address = base + skip * 8
        start = np.zeros(pool_ir.JOB_WORDS, np.int64)
        start[pool_ir.RUN], start[pool_ir.SLOTS] = run, prepared.slots.ctypes.data
        start[pool_ir.GRID], start[pool_ir.CONTROL] = self.address + 256, self.address + 128
        self._job[:] = start
        self.total = 0

    def reset(self, grid: tuple[int, int, int]) -> None:
        self.total = grid[0] * grid[1] * grid[2]
        self._grid[:] = grid
        control = self._control
        control[STOP] = 0
        control[FAULT_CELL] = -1
        control[STREAM] = self._prepared.large
        self._job[pool_ir.STATUS] = 0

    def calls(self, function: int, context: int) -> None:
        """Set the function that native code calls for operations without code of their own."""
        self._control[CALLBACK], self._control[CONTEXT] = function, context

    def stop(self) -> None:
        """Make all threads leave the job soon."""
        self._control[STOP] = 1

    def fault(self) -> int | None:
        """Return the code of the first fault."""
        code = int(self._control[FAULT_CELL])
        return None if code == -1 else code

    def run(
        self, arena: int, threads: int, waits: bool, progress: Callable[[int], None] | None, pace: list[float]
    ) -> None:
        """Run all tile blocks, in slices between which Python handles signals.

        The calling thread takes part, unless it `waits`. `pace` is the nanoseconds of a tile block, kept up to date.
        """
        workers = pool.get()
        alone = threads == 1 and not waits
        shared = not alone and workers.workers > 0 and workers.lock.acquire(blocking=False)
        try:
            if shared:
                workers.provide(arena, min(threads, workers.workers))
            own = workers.borrow(arena)
            try:
                self._slices(workers, own.address, threads, shared, shared and waits, progress, pace)
            finally:
                workers.give_back(own)
        finally:
            if shared:
                workers.lock.release()

    def _slices(
        self,
        workers: pool.Pool,
        arena: int,
        threads: int,
        shared: bool,
        waits: bool,
        progress: Callable[[int], None] | None,
        pace: list[float],
    ) -> None:
        first = 0
        job = self._job
        while first < self.total:
            left = self.total - first
            size = left if waits and progress is None else min(left, self._slice(pace[0], threads))
            job[pool_ir.NEXT], job[pool_ir.LAST] = first, first + size
            job[pool_ir.CHUNK] = max(1, min(TURN, size // (16 * threads)))
            job[pool_ir.WANTED] = threads - (0 if waits else 1)
            start = time.perf_counter_ns()
            if not shared:
                workers.work(self.address, arena)
            else:
                self._with_workers(workers, arena, waits)
            pace[0] = (time.perf_counter_ns() - start) / size * (threads if shared else 1)
            if job[pool_ir.STATUS]:
                return
            first += size
            if progress is not None:
                progress(size)

    def _slice(self, pace: float, threads: int) -> int:
        """Choose how many tile blocks to run before looking for signals."""
        return max(FIRST, int(BRIEF * threads / pace)) if pace else FIRST

    def _with_workers(self, workers: pool.Pool, arena: int, waits: bool) -> None:
        workers.post(workers.shared, self.address)
        try:
            if not waits:
                workers.work(self.address, arena)
            while not workers.finish(workers.shared, self.address, pool.SLICE):
                pass
        except BaseException:  # Ctrl-C: nobody may use the memory of this launch once it has ended
            self.stop()
            self._drain(workers)
            raise

    def _drain(self, workers: pool.Pool) -> None:
        """Wait until the workers have left this job, whatever else happens."""
        while True:
            with suppress(KeyboardInterrupt):
                if workers.finish(workers.shared, self.address, pool.SLICE):
                    return
