"""Threads that run tile blocks: workers that wait in native code, and memory that each thread may scribble on.

There is one pool per process, made by the first launch. A launch that finds it busy runs on its own thread alone, so
launches from several threads, and launches from inside a launch, never wait for each other.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
from typing import Any

import numpy as np

from ...addresses import HoldsAddresses
from . import pool_ir
from .compiler import compile_texts, host
from .objects import Code

SPINS = 2000
"""How often a worker looks for the next job before it sleeps: about 50 microseconds."""
SLICE = 50_000_000
"""Nanoseconds after which a waiting caller looks for signals."""
LINE = 64

_P, _I = ctypes.c_void_p, ctypes.c_int64


class Arena(HoldsAddresses):
    """Memory for one thread, aligned to a cache line."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._raw = np.empty(size + LINE, np.uint8)
        start = self._raw.ctypes.data
        self.address = start + -start % LINE


class Pool(HoldsAddresses):
    """The native code that shares out tile blocks, and the threads that wait in it."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.work = ctypes.CFUNCTYPE(None, _P, _P)(self.code.address("work"))
        self.workers = 0
        self.lock = threading.Lock()
        self._arenas: list[Arena] = []
        """Arenas that no caller uses now."""
        self._held: list[Arena] = []
        """The arenas of the workers."""
        if "linux" in host().triple:
            self._start_workers(available_cores())

    def _start_workers(self, count: int) -> None:
        self.post = ctypes.CFUNCTYPE(None, _P, _P)(self.code.address("post"))
        self.finish = ctypes.CFUNCTYPE(_I, _P, _P, _I)(self.code.address("finish"))
        worker = ctypes.CFUNCTYPE(None, _P, _P, _I, _I)(self.code.address("worker"))
        self._shared = np.zeros(pool_ir.SHARED_WORDS + count, np.int64)
        self.shared: int = self._shared.ctypes.data
        self._threads = []
        for number in range(count):
            cell = self.shared + 8 * (pool_ir.SHARED_WORDS + number)
            # The last one helps where the caller only waits, and would otherwise take a core from it.
            spins = SPINS if number < count - 1 else 0
            thread = threading.Thread(target=worker, args=(self.shared, cell, number, spins), daemon=True)
            thread.start()
            self._threads.append(thread)
        self.workers = count

    def stop(self) -> None:
        """End the workers."""
        if self.workers:
            self._shared[3] = 1
            idle = np.zeros(pool_ir.JOB_WORDS, np.int64)
            self.post(self.shared, idle.ctypes.data)
            self.finish(self.shared, idle.ctypes.data, SLICE)
            for thread in self._threads:
                thread.join(1)
            self.workers = 0

    def provide(self, size: int, count: int) -> None:
        """Give each of the first workers an arena of at least this size; the lock must be held."""
        for number in range(count):
            if number == len(self._held):
                self._held.append(Arena(size))
            elif self._held[number].size < size:
                self._held[number] = Arena(size)
            self._shared[pool_ir.SHARED_WORDS + number] = self._held[number].address

    def borrow(self, size: int) -> Arena:
        """Return an arena for the calling thread, to be given back with `give_back`."""
        try:
            arena = self._arenas.pop()
        except IndexError:
            return Arena(size)
        return arena if arena.size >= size else Arena(size)

    def give_back(self, arena: Arena) -> None:
        if len(self._arenas) < 8:
            self._arenas.append(arena)


def available_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_current: list[Pool] = []
_making = threading.Lock()


def get() -> Pool:
    """Return the pool of this process."""
    if not _current:
        (data,) = compile_texts([pool_ir.text(host())], host())
        return make(Code((data, pool_ir.SYMBOLS)))
    return _current[0]


def exists() -> bool:
    """Whether this process has a pool."""
    return bool(_current)


def make(code: Code) -> Pool:
    """Make the pool from code that contains `pool_ir.text`, unless another thread has made it."""
    with _making:
        if not _current:
            _current.append(Pool(code))
    return _current[0]


def _stop() -> None:
    """Leave native code before Python unloads it."""
    while _current:
        _current.pop().stop()


def _forget() -> None:
    """A forked process has none of the threads."""
    global _making
    _making = threading.Lock()
    _lost.extend(_current)  # never unloaded: it is the parent's, and its destructor would wait for threads
    _current.clear()


_lost: list[Any] = []
atexit.register(_stop)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
