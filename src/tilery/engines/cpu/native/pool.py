"""Threads that run tile blocks: workers that wait in native code, and memory that each thread may scribble on.

There is one pool per process, made by the first launch. A launch that finds its workers busy runs on its own thread, or
has another crew of one worker if its own thread must stay free for signals, so launches from several threads, and
launches from inside a launch, never wait for each other.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import platform
import threading
from _thread import start_new_thread
from typing import Any

import numpy as np

from ...common.addresses import HoldsAddresses
from . import pool_ir
from .compiler import compile_texts, host
from .objects import Code

SPINS = 2000
"""The number of times that a worker looks for the next job before it sleeps: about 50 microseconds."""
SLICE = 50_000_000
"""Nanoseconds after which a waiting caller looks for signals that reached another thread."""
LINE = 64
KEPT = 16 << 20
"""Larger arenas are freed when a kernel that may have needed them is."""
MAX_CREWS = 64
STACK = 8 << 20
"""Bytes of the stack of a worker."""

_P, _I = ctypes.c_void_p, ctypes.c_int64


class Arena(HoldsAddresses):
    """Memory for the threads of one launch: `count` parts, each aligned to a cache line."""

    def __init__(self, size: int, count: int = 1) -> None:
        self.stride = _whole_lines(size)
        self.bytes = self.stride * count
        self._raw = np.empty(self.bytes + LINE, np.uint8)
        start = self._raw.ctypes.data
        self.address = start + -start % LINE


def _whole_lines(size: int) -> int:
    return -(-size // LINE) * LINE


class Crew(HoldsAddresses):
    """Workers that wait for the same jobs."""

    def __init__(self, worker: Any, count: int) -> None:
        self._shared = np.zeros(pool_ir.SHARED_WORDS, np.int64)
        self.shared: int = self._shared.ctypes.data
        self._worker = worker
        self._locks = [threading.Lock() for _ in range(count)]
        """Held by workers that have not ended."""
        before = threading.stack_size(STACK)
        try:
            for number in range(count):
                # The last one helps where the caller only waits, and would otherwise take a core from it.
                # Not a `threading.Thread`: two signals while it starts leave its locks in disorder.
                start_new_thread(self._run, (number, SPINS if number < count - 1 else 0))
        finally:
            threading.stack_size(before)

    def _run(self, number: int, spins: int) -> None:
        with self._locks[number]:
            self._worker(self.shared, number, spins)

    def stop(self, post: Any, finish: Any) -> None:
        """End the workers, which have no job."""
        self._shared[3] = 1
        idle = np.zeros(pool_ir.JOB_WORDS, np.int64)
        post(self.shared, idle.ctypes.data)
        finish(self.shared, idle.ctypes.data, SLICE)
        for lock in self._locks:
            lock.acquire(timeout=1)


class Pool(HoldsAddresses):
    """The native code that shares out tile blocks, and the threads that wait in it."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.work = ctypes.CFUNCTYPE(_I, _P, _P, _I, _I)(self.code.address("work"))
        gather = ctypes.CFUNCTYPE(None, _P, _P, _I)
        self.gather = {4: gather(self.code.address("gather_32")), 8: gather(self.code.address("gather_64"))}
        """Functions that add integers of some bytes to memory."""
        self.workers = 0
        self._crews: list[Crew] = []
        self._small: list[Arena] = []
        """Arenas of up to `KEPT` bytes that no launch uses now."""
        self._large: list[Arena] = []
        """One larger arena that no launch uses now."""
        # Signals are handled by functions of CPython, workers sleep by those of Linux.
        if "linux" in host().triple and platform.python_implementation() == "CPython":
            self._start_workers(available_cores())

    def _start_workers(self, count: int) -> None:
        self._process = np.zeros(pool_ir.PROCESS_WORDS, np.int64)
        functions = ("PyEval_SaveThread", "PyEval_RestoreThread", "PyErr_CheckSignals")
        api = [ctypes.cast(getattr(ctypes.pythonapi, name), _P).value or 0 for name in functions]
        self._process[2:5] = api
        self.process: int = self._process.ctypes.data
        self._post = ctypes.CFUNCTYPE(None, _P, _P)(self.code.address("post"))
        self._finish = ctypes.CFUNCTYPE(_I, _P, _P, _I)(self.code.address("finish"))
        self._worker = ctypes.CFUNCTYPE(None, _P, _I, _I)(self.code.address("worker"))
        # Holding the GIL, which it releases itself, so that an exception can be its result.
        self._drive = ctypes.PYFUNCTYPE(_I, _P, _P, _P, _I, _I, _I, _P)(self.code.address("drive"))
        self._crews.append(Crew(self._worker, count))
        self.workers = count

    def run(self, job: int, arena: int, threads: int, apart: bool, deadline: int) -> int:
        """Run a job to its end on some threads, and return one of the results of `pool_ir.drive`.

        The calling thread takes part unless the job runs `apart` from it.
        """
        drive, process = self._drive, self.process
        mode = 0 if apart else pool_ir.TAKES_PART
        if apart or threads > 1:
            found: int = drive(self._crews[0].shared, job, arena, mode, deadline, SLICE, process)
            if found != pool_ir.BUSY:
                return found
        if not apart:
            found = drive(None, job, arena, mode, deadline, SLICE, process)
            return found
        return self._run_apart(job, arena, deadline)

    def _run_apart(self, job: int, arena: int, deadline: int) -> int:
        """Run a job on a worker of its own."""
        for crew in self._crews[1:]:
            found: int = self._drive(crew.shared, job, arena, 0, deadline, SLICE, self.process)
            if found != pool_ir.BUSY:
                return found
        if len(self._crews) < MAX_CREWS:
            self._crews.append(Crew(self._worker, 1))
            return self._run_apart(job, arena, deadline)
        return int(self._drive(None, job, arena, pool_ir.TAKES_PART, deadline, SLICE, self.process))

    def run_closed(self, job: int, arena: int) -> int:
        """Run a job on this thread although the interpreter exits."""
        mode = pool_ir.TAKES_PART | pool_ir.ALTHOUGH_CLOSED
        return int(self._drive(None, job, arena, mode, 0, SLICE, self.process))

    def close(self) -> None:
        """Let no job start any more; jobs that run have been told to stop."""
        if self.workers:
            self._process[1] = 1

    def stop(self) -> None:
        """Wait until no job runs, and end the workers."""
        if self.workers:
            idle = ctypes.CFUNCTYPE(None, _P)(self.code.address("idle"))
            idle(self.process)  # without a look at signals
            for crew in self._crews:
                crew.stop(self._post, self._finish)

    def borrow(self, size: int, count: int) -> Arena:
        """Return an arena for a launch, to be given back with `give_back`; one that is not is freed."""
        stride = _whole_lines(size)
        try:
            arena = (self._small if stride * count <= KEPT else self._large).pop()
        except IndexError:
            return Arena(size, count)
        arena.stride = stride
        return arena if arena.bytes >= stride * count else Arena(size, count)

    def give_back(self, arena: Arena) -> None:
        free, most = (self._small, 8) if arena.bytes <= KEPT else (self._large, 1)
        if len(free) < most:
            free.append(arena)

    def trim(self) -> None:
        """Free the large arenas that no launch uses."""
        self._large.clear()


def available_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_current: list[Pool] = []
_making = threading.Lock()
_exiting = False
_closing: list[Any] = []
"""Functions that are called when the interpreter exits, before the pool waits for jobs."""


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


def trim() -> None:
    """Free the large arenas that no launch uses."""
    for pool in _current:
        pool.trim()


def at_exit(function: Any) -> None:
    """Call a function when the interpreter exits, after which no job starts, and before the pool waits for jobs."""
    _closing.append(function)


def is_closed() -> bool:
    """Whether the interpreter exits."""
    return _exiting


def _stop() -> None:
    """Leave native code before Python unloads it."""
    global _exiting
    _exiting = True
    for pool in _current:
        pool.close()
        for function in _closing:
            function()
        pool.stop()


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
