"""One launch as native code sees it: the slots of the arguments, and a job that threads take tile blocks from."""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....types import Ptr, Tile, Type
from ...common.addresses import HoldsAddresses
from ...common.arguments import BoundArguments
from ...common.memory import Memory, Segment
from ..abi import CALLBACK, CONTEXT, CONTROL_WORDS, FAULT_CELL, PRIVATE, STOP, STREAM, Lowered
from ..stores import keeps_gaps
from . import pool, pool_ir

LINE = 64
"""Bytes of a cache line."""
LARGE = 8 << 20
"""Memory that is written past the caches, if it has at least this many bytes."""
BRIEF = 20e6
"""Nanoseconds of work after which progress is reported."""
MOST = 1 << 40
"""Tile blocks of one turn; more of them than numbers of 64 bits count would take centuries."""
PRIVATE_BYTES = 1 << 20
"""The most memory of arguments that each thread has of its own."""
OFTEN = 4
"""Threads have memory of their own if it is added to this many times as often as it has elements."""
TURN = 512
"""Tile blocks that a thread takes at once, at most. After them it waits until its stores have reached memory."""
FIRST = 256
"""Tile blocks to run before it is known how long they take, where progress is reported."""


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


@dataclass(frozen=True, slots=True)
class Part:
    """Memory of an argument that each thread has for itself."""

    param: int
    low: int
    high: int
    item: int
    """The bytes of an element."""

    @property
    def count(self) -> int:
        return (self.high - self.low) // self.item


@dataclass(slots=True)
class Private:
    """Where threads have slots and memory of their own, and what their slots say."""

    parts: list[Part]
    slots: np.ndarray[Any, Any]
    params: int

    @property
    def bytes(self) -> int:
        """The bytes that each thread needs besides its arena."""
        return self.slots.nbytes + sum(part.high - part.low + 2 * LINE for part in self.parts) + LINE

    def places(self, start: int) -> Iterator[tuple[Part, int]]:
        """Yield the addresses of the parts after the slots, in lines like those of the arguments."""
        at = start + self.slots.nbytes
        for part in self.parts:
            at += (part.low - at) % LINE
            yield part, at
            at += part.high - part.low

    def begin(self, start: int) -> None:
        """Write the slots of a thread, and clear its memory."""
        slots, n = self.slots.copy(), self.params
        for part, at in self.places(start):
            ctypes.memset(at, 0, part.high - part.low)
            slots[part.param] += at - part.low
            slots[n + 3 * part.param : n + 3 * part.param + 2] = at, at + part.high - part.low
        ctypes.memmove(start, slots.ctypes.data, slots.nbytes)

    def end(self, start: int, workers: pool.Pool) -> None:
        """Add the memory of a thread to that of the arguments."""
        for part, at in self.places(start):
            workers.gather[part.item](part.low, at, part.count)


def private(slots: np.ndarray[Any, Any], lowered: Lowered, params: int, blocks: int, threads: int) -> Private | None:
    """Return how threads can have memory of their own, or None if they cannot, or if it is not worth it."""
    parts, own = [], slots.copy()
    first = 4 * params + 4 * len(lowered.globals)  # the number of segments
    bounds = [tuple(slots[params + 3 * n : params + 3 * n + 2].tolist()) for n in range(params + len(lowered.globals))]
    for param, item in lowered.gathered:
        low, high = bounds[param]
        if bounds.count((low, high)) > 1 or low % item or high % item or not slots[params + 3 * param + 2]:
            return None
        parts.append(Part(param, low, high, item))
        (at,) = (at for at in range(first + 1, len(own), 3) if own[at] == low)
        own[at + 1] = low  # no access is in this segment
    size, count = sum(part.high - part.low for part in parts), sum(part.count for part in parts)
    if not parts or size > PRIVATE_BYTES or blocks * lowered.additions < OFTEN * count * threads:
        return None
    return Private(parts, own, params)


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
        words = self._words.data
        self._job = words[skip : skip + pool_ir.JOB_WORDS]
        self._control = words[skip + 16 : skip + 16 + CONTROL_WORDS]
        self._grid = words[skip + 32 : skip + 35]
        self.address = base + skip * 8
        job = self._job
        job[pool_ir.RUN], job[pool_ir.SLOTS] = run, prepared.slots.ctypes.data
        job[pool_ir.GRID], job[pool_ir.CONTROL] = self.address + 256, self.address + 128
        self.total = 0
        self._queues = np.zeros(2 * pool_ir.QUEUE_WORDS, np.int64)

    def reset(self, grid: tuple[int, int, int]) -> None:
        self.total = grid[0] * grid[1] * grid[2]
        cells = self._grid
        cells[0], cells[1], cells[2] = grid
        control = self._control
        control[STOP] = 0
        control[FAULT_CELL] = -1
        control[STREAM] = self._prepared.large
        control[PRIVATE] = 0
        self._job[pool_ir.STATUS] = self._job[pool_ir.OWN_SLOTS] = 0

    def calls(self, function: int, context: int) -> None:
        """Set the function that native code calls for operations without code of their own."""
        self._control[CALLBACK], self._control[CONTEXT] = function, context

    def stop(self) -> None:
        """Make all threads leave the job soon."""
        self._control[STOP] = 1

    def is_stopped(self) -> bool:
        """Whether threads have been told to leave the job."""
        return self._control[STOP] != 0

    def fault(self) -> int | None:
        """Return the code of the first fault."""
        code = self._control[FAULT_CELL]
        return None if code == -1 else code

    def run(
        self,
        arena: int,
        threads: int,
        apart: bool,
        deadline: int,
        progress: Callable[[int], None] | None,
        pace: list[float],
        private: Private | None = None,
    ) -> bool:
        """Run all tile blocks, and return whether they were done before the deadline, in nanoseconds or 0.

        The calling thread takes part, unless the job runs `apart` from it. `pace` is the nanoseconds of a tile block,
        kept up to date. When this returns or raises, no thread uses the job or the memory of its arguments. Where
        threads have `private` memory, that of the arguments has changed only if all tile blocks ran.
        """
        workers = pool.get()
        threads = min(threads, workers.workers + (not apart)) or 1
        skip = -(-arena // LINE) * LINE
        room = workers.borrow(arena if private is None else skip + private.bytes, threads)
        starts = [] if private is None else [room.address + n * room.stride + skip for n in range(threads)]
        if private is not None:
            self._control[PRIVATE], self._job[pool_ir.OWN_SLOTS] = 1, skip
            for start in starts:
                private.begin(start)
        _running[self.address] = self
        try:
            done = self._slices(workers, room, threads, apart, deadline, progress, pace)
        finally:
            _running.pop(self.address, None)
        if private is not None and done and not self._job[pool_ir.STATUS]:
            for start in starts:
                private.end(start, workers)
        workers.give_back(room)
        return done

    def _slices(
        self,
        workers: pool.Pool,
        room: pool.Arena,
        threads: int,
        apart: bool,
        deadline: int,
        progress: Callable[[int], None] | None,
        pace: list[float],
    ) -> bool:
        first, job = 0, self._job
        own = room.address + (threads - 1) * room.stride
        job[pool_ir.ARENA], job[pool_ir.STRIDE] = room.address, room.stride
        job[pool_ir.WANTED] = threads - (not apart)
        while first < self.total:
            whole = progress is None and workers.workers  # else Python handles signals between parts
            size = min(self.total - first, MOST if whole else self._slice(pace[0], threads))
            job[pool_ir.NEXT], job[pool_ir.LAST] = first, first + size
            job[pool_ir.CHUNK] = max(1, min(TURN, size // (16 * threads)))
            self._share(first, size, threads)
            start = time.perf_counter_ns()
            found = self._drive(workers, own, threads, apart, deadline)
            pace[0] = (time.perf_counter_ns() - start) / size * threads
            if job[pool_ir.STATUS]:
                return found != pool_ir.EXPIRED
            first += size
            if progress is not None:
                progress(size)
        return True

    def _share(self, first: int, size: int, parts: int) -> None:
        """Give each thread a part of the tile blocks to begin with."""
        job = self._job
        if len(self._queues) < (parts + 1) * pool_ir.QUEUE_WORDS:
            self._queues = np.zeros((parts + 1) * pool_ir.QUEUE_WORDS, np.int64)
        start = self._queues.ctypes.data
        skip = -start % LINE // 8
        job[pool_ir.PARTS], job[pool_ir.QUEUES] = parts, start + 8 * skip
        queues = self._queues.data
        for n in range(parts):
            at = skip + n * pool_ir.QUEUE_WORDS
            queues[at], queues[at + 1] = first + n * size // parts, first + (n + 1) * size // parts

    def _slice(self, pace: float, threads: int) -> int:
        """Choose how many tile blocks to run before progress is reported."""
        return max(FIRST, int(BRIEF * threads / pace)) if pace else FIRST

    def _drive(self, workers: pool.Pool, own: int, threads: int, apart: bool, deadline: int) -> int:
        if not workers.workers:
            return self._alone(workers, own, deadline)
        found = workers.run(self.address, own, threads, apart, deadline)
        if found == pool_ir.CLOSED:
            if threading.current_thread() is not threading.main_thread():
                raise SystemExit("the interpreter exits")
            found = workers.run_closed(self.address, own)
        elif pool.is_closed() and self._control[STOP]:
            raise SystemExit("the interpreter exits")
        return found

    def _alone(self, workers: pool.Pool, own: int, deadline: int) -> int:
        """Run the job on this thread; Python handles signals, and looks at the clock, from time to time."""
        timer = None
        if deadline:
            timer = threading.Timer((deadline - time.monotonic_ns()) / 1e9, self.stop)
            timer.daemon = True
            timer.start()
        try:
            while not workers.work(self.address, own, 0, 1):
                pass
        finally:
            if timer is not None:
                timer.cancel()
        return pool_ir.EXPIRED if deadline and time.monotonic_ns() >= deadline else pool_ir.FINISHED


_running: dict[int, Job] = {}
"""Jobs that run now."""


def _stop_all() -> None:
    for job in list(_running.values()):
        job.stop()


pool.at_exit(_stop_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_running.clear)  # they run in the parent
