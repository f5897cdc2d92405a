"""The fast CPU engine: kernels compiled by LLVM, launched on all cores.

The reference engine stands by. It owns the globals, runs what this engine does not (tile blocks that wait for each
other, writes to arrays with gaps, limits on steps, sanitizers, observers), and finds the words for a fault: this
engine only knows which operation of which tile block gave up.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any
from weakref import finalize

import numpy as np

from ... import hooks
from ...diag import ErrorKind, TileError
from ...ir import Refused, walk
from ...ops import Entry, Module, PrintTko
from ...source.positions import attach_place
from ..common.addresses import HoldsAddresses
from ..common.arguments import BoundArguments
from ..common.errors import ExecutionError
from ..common.kernel import Kernel, find_entry, refuse_options
from ..common.launch import Launch
from ..common.limits import Limits, Stats
from ..common.memory import Memory, Segment
from ..common.output import printer
from ..common.watch import Late
from ..reference import launch as reference
from .abi import Lowered, NotLowered, fault_place
from .callbacks import ADDRESS as CALLS_ADDRESS
from .callbacks import Calls
from .loops.printer import print_kernel
from .lower import lower as lower_to_loops
from .lower.checks import CHECKS
from .native import pool
from .native.build import build, compiled, lower_kernel
from .native.jobs import Job, Prepared, Private, fast_key, prepare, private
from .native.objects import Code
from .native.targets import TARGETS, named

PREPARED = 16
"""The number of sets of arguments that a kernel remembers; launching it again with the same arrays costs less."""
BYTE = np.dtype(np.uint8)
EXPLAIN_SECONDS = 60.0
"""The seconds that the reference engine has to find the words for a fault."""
MAX_SECONDS = 1e9
"""Of the clock that deadlines are measured by; later ones are not reached."""
EMITS = {
    "llvm": "LLVM IR",
    "asm": "assembly of this machine",
    "object": "an ELF object",
    "loops": "loop IR, before any pass",
}
"""The forms that `emit` can produce."""


def load(module: Module, **options: Any) -> CpuLoaded:
    """Load a module on this engine. `exact=True` asks for the reference engine's bits of all functions."""
    refuse_options("cpu", options, ("exact",))
    return CpuLoaded(module, **options)


def targets() -> dict[str, str]:
    """Return the targets that code can be compiled for; only that for `host` is run."""
    return {"host": "this machine"} | {name: f"{t.cpu} on {t.triple}" for name, t in TARGETS.items()}


def emit(module: Module, entry: str | None, kind: str, *, target: str = "host", **options: Any) -> str | bytes:
    """Return the code of a kernel, as one of `EMITS`, for a target that `targets.TARGETS` names."""
    refuse_options("cpu", options, ("exact",))
    chosen = named(target)
    if kind == "loops":
        return _loops(module, find_entry(module, entry))
    lowered = lower_kernel(module, find_entry(module, entry), options.get("exact", False), chosen)
    if lowered is None:
        raise TileError("this kernel is not compiled: the reference engine runs it")
    if kind == "llvm":
        return lowered.text
    (made,) = compiled(lowered, [lowered.text], chosen, "asm" if kind == "asm" else "object")
    return made.decode() if kind == "asm" else made


def _loops(module: Module, entry: Entry) -> str:
    try:
        return print_kernel(lower_to_loops(module, entry))
    except NotLowered as error:
        raise TileError(f"this kernel has no loop IR: {error}") from None


class CpuLoaded:
    """A module in memory. A copy, by `copy` or `pickle`, has its own globals, and compiles its kernels again."""

    def __init__(self, module: Module, *, exact: bool = False, memory: reference.ReferenceLoaded | None = None) -> None:
        self.module, self.exact = module, exact
        self.reference = memory or reference.ReferenceLoaded(module)
        self._kernels: dict[str, CpuKernel] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return _load_with, (self.reference, self.exact)

    def content(self, name: str) -> bytes:
        """Return the bytes that a global holds now."""
        return self.reference.content(name)

    def kernel(self, entry: str | None = None) -> CpuKernel:
        """Return the kernel of that name, or the only kernel."""
        found = find_entry(self.module, entry)
        kernel = self._kernels.get(found.sym_name)
        if kernel is None:
            kernel = self._kernels[found.sym_name] = CpuKernel(self, found)
        return kernel


def _load_with(loaded: reference.ReferenceLoaded, exact: bool) -> CpuLoaded:
    return CpuLoaded(loaded.module, exact=exact, memory=loaded)


class CpuKernel(Kernel):
    """An entry of a loaded module, compiled. A deep or pickled copy has its own globals and is compiled again.

    A launch uses all cores by default, ignores `batch`, and counts tile blocks only.
    """

    engine = "cpu"
    loaded: CpuLoaded

    def __init__(self, loaded: CpuLoaded, entry: Entry) -> None:
        super().__init__(loaded, entry)
        built = build(loaded.module, entry, loaded.exact)
        self.lowered = None if built is None else built[0]
        """The facts about the code; None if the reference engine runs this kernel."""
        self._prepared: dict[Any, Prepared] = {}
        self._checked: dict[frozenset[str], tuple[Lowered, Code] | None] = {}
        """The code with checks of the sanitizer."""
        self.pace = [0.0]
        """Nanoseconds that a tile block took lately; 0 if unknown."""
        self.calls = 0
        """The number of operations for which the last launch called the reference engine."""
        if built is not None:
            self.code = built[1]
            self.address = self.code.address("run")
            if built[0].arena * pool.available_cores() > pool.KEPT:
                finalize(self, pool.trim).atexit = False

    @cached_property
    def reference(self) -> reference.ReferenceKernel:
        """The same kernel on the reference engine."""
        return self.loaded.reference.kernel(self.name)

    def run(self, launch: Launch) -> Stats:
        """Run a launch on all cores, or let the reference engine do it."""
        lowered = self.lowered
        if launch.sanitize is not None:
            return self._sanitize(launch)
        if lowered is None or launch.is_watched or launch.limits.steps is not None:
            return self.reference.run(launch)
        key = None if launch.buffers else fast_key(launch.args, launch.convention)
        prepared = None if key is None else self._prepared.get(key)
        if prepared is None:
            prepared = self._prepare(launch.bound, lowered)
            if key is not None:
                for old in list(self._prepared)[: 1 - PREPARED]:
                    self._prepared.pop(old, None)
                self._prepared[key] = prepared
        if not prepared.checked:
            return self.reference.run(launch)
        return self._start(launch, lowered, prepared, self._threads(launch, lowered))

    # ------------------------------------------------------------ the sanitizer

    def _sanitize(self, launch: Launch) -> Stats:
        """Run instrumented code; where it finds something, let the reference engine start again and report it."""
        sanitizer = hooks.sanitizer(launch.sanitize)
        checks: frozenset[str] | None = sanitizer.native_checks()
        more = launch.observe is not None or launch.machine is not None or launch.limits.steps is not None
        if checks is None or more or not checks <= CHECKS:
            return self.reference.run(launch)
        built = self._instrumented(checks | {"bounds"})  # without it accesses of different arguments might meet
        memory = reference.memory_of(self.loaded.reference, launch.bound)
        if built is None or any(segment.arrays for segment in memory.segments):
            return self.reference.run(launch)
        if not all(each.size for each in launch.bound.ranges):  # an empty array may lie in another one
            return self.reference.run(launch)
        lowered, code = built
        prepared = self._prepare(launch.bound, lowered)
        if not prepared.checked or lowered.arena > launch.limits.memory:
            return self.reference.run(launch)
        saved = Saved(memory, launch.bound, lowered.updated)
        job = prepared.take(code.address("run"), launch.grid)
        self._run_job(launch, lowered, job, self._threads(launch, lowered), None)
        if job.fault() is not None:
            saved.restore()
            return self.reference.run(launch)
        if launch.progress is not None:
            launch.progress(job.total)
        sanitizer.passed(self.name)
        return Stats(job.total)

    def _instrumented(self, checks: frozenset[str]) -> tuple[Lowered, Code] | None:
        """Return the kernel with checks, compiled at the first launch that asks for them."""
        if checks not in self._checked:
            built = None
            if not any(isinstance(o, PrintTko) for o in walk(self.entry)):  # text would be printed twice
                with suppress(Refused):  # the reference engine can do without
                    built = build(self.loaded.module, self.entry, self.loaded.exact, checks)
            self._checked[checks] = built
        return self._checked[checks]

    def bind(
        self, grid: int | Sequence[int], args: Sequence[Any] = (), *, convention: str | None = None
    ) -> Callable[[], Stats]:
        """Return a function that launches the kernel on these arguments, for those who launch it very often.

        The arrays are kept alive. Their memory must stay where it is: do not resize them.
        """
        launch = Launch(self.entry, grid, args, convention=convention)
        bound, lowered = launch.bound, self.lowered
        prepared = None if lowered is None else self._prepare(bound, lowered)
        if lowered is None or prepared is None or not prepared.checked:
            return lambda: self.launch(grid, args, convention=convention)
        count, module = self._threads(launch, lowered), self.loaded.module

        def launch_again() -> Stats:
            try:
                return self._start(launch, lowered, prepared, count)
            except Refused as error:
                attach_place(error, module)
                raise

        return launch_again

    # ------------------------------------------------------------ one launch

    def _prepare(self, bound: BoundArguments, lowered: Lowered) -> Prepared:
        memory = reference.memory_of(self.loaded.reference, bound)
        addresses = [self.loaded.reference.globals[name] for name in lowered.globals]
        return prepare(bound, self.params, memory, addresses, lowered.written)

    def _threads(self, launch: Launch, lowered: Lowered) -> int:
        """Choose how many threads to use; each needs an arena."""
        most = launch.limits.memory
        if lowered.arena > most:
            raise TileError(
                f"a tile block of @{self.name} needs {lowered.arena} bytes at once, the limit is {most}",
                kind=ErrorKind.MEMORY,
            )
        if lowered.ordered:
            return 1
        wanted = pool.available_cores() if launch.threads is None else launch.threads
        return max(1, min(wanted, most // max(lowered.arena, 1)))

    def _start(self, launch: Launch, lowered: Lowered, prepared: Prepared, threads: int) -> Stats:
        """Run the grid in native code; raise the error of a fault, if there was one."""
        job = prepared.take(self.address, launch.grid)
        own = self._private(launch, lowered, prepared, job.total, threads)
        self._run_job(launch, lowered, job, threads, launch.progress, own)
        if own is not None and job.fault() is not None:  # some access needs the memory of the arguments
            job.reset(launch.grid)
            self._run_job(launch, lowered, job, threads, launch.progress)
        fault = job.fault()
        prepared.give_back(job)  # only here: a job that was interrupted is not used again
        if fault is not None:
            raise self._explain(fault, launch, lowered)
        return Stats(job.total)

    def _private(
        self, launch: Launch, lowered: Lowered, prepared: Prepared, blocks: int, threads: int
    ) -> Private | None:
        """Return how threads can add to memory of their own, if it pays."""
        if not lowered.gathered or launch.progress is not None:
            return None
        found = private(prepared.slots, lowered, len(self.params), blocks, threads)
        most = launch.limits.memory // threads
        return None if found is None or lowered.arena + found.bytes + 64 > most else found

    def _run_job(
        self,
        launch: Launch,
        lowered: Lowered,
        job: Job,
        threads: int,
        progress: Callable[[int], None] | None,
        own: Private | None = None,
    ) -> None:
        """Run the grid in native code until it ends or faults."""
        seconds = launch.limits.seconds
        deadline = 0 if seconds is None else int(min(time.monotonic() + max(seconds, 0), MAX_SECONDS) * 1e9) or 1
        if lowered.callbacks:
            self._run_calling(launch, lowered, job, threads, deadline)
        else:
            # Only the main thread sees Ctrl-C, so it must not be inside a tile block that may take long.
            apart = deadline > 0 or (lowered.long and threading.get_ident() == threading.main_thread().ident)
            if not job.run(lowered.arena, threads, apart, deadline, progress, self.pace, own):
                raise self._late(launch)

    def _run_calling(self, launch: Launch, lowered: Lowered, job: Job, threads: int, deadline: int) -> None:
        """Run the grid of a kernel that calls the reference engine."""
        calls = Calls(lowered, printer(launch.output), launch.limits.memory, deadline, job.is_stopped)
        job.calls(CALLS_ADDRESS, calls.number)
        # The main thread must not enter Python from native code: what a signal raises there is lost.
        apart = deadline > 0 or threading.get_ident() == threading.main_thread().ident
        try:
            done = job.run(lowered.arena, threads, apart, deadline, launch.progress, self.pace)
        finally:
            self.calls = calls.count
            calls.close()
        if not done or isinstance(calls.error, Late):
            raise self._late(launch)
        if isinstance(calls.error, MemoryError):
            number, block = calls.place
            o = lowered.ops[number]
            message = f"{o.name}: out of memory: the system has no more, or the limit is reached ({calls.limit} bytes)"
            raise ExecutionError(o, message, kind=ErrorKind.MEMORY, block=_index(launch.grid, block))
        if calls.error is not None:
            raise calls.error

    def _late(self, launch: Launch) -> ExecutionError:
        message = f"entry: stopped after {launch.limits.seconds or 0} seconds"
        return ExecutionError(self.entry, message, kind=ErrorKind.TIMEOUT)

    def _explain(self, code: int, launch: Launch, lowered: Lowered) -> ExecutionError:
        """Return the error of a tile block that gave up.

        The reference engine runs it again, on a copy of the memory as the launch left it. A block that updates memory
        in place may then succeed or fail elsewhere: an error at another operation is not the one that happened.
        """
        block, number = fault_place(code)
        o = lowered.ops[number] if number < len(lowered.ops) else self.entry
        seconds = EXPLAIN_SECONDS if launch.limits.seconds is None else launch.limits.seconds
        try:
            limits = Limits(seconds=seconds, memory=launch.limits.memory)
            self.reference.run_block(launch.grid, block, launch.bound, limits)
        except ExecutionError as error:
            if error.kind is not ErrorKind.TIMEOUT and error.op is o:
                return error
        except MemoryError:
            pass
        message = f"{o.name}: the kernel did something illegal here"
        vague = ExecutionError(o, message, kind=ErrorKind.BOUNDS, block=_index(launch.grid, block))
        vague.notes.append("the memory has changed since: with engine 'reference' the error is more precise")
        return vague


class Saved(HoldsAddresses):
    """The bytes of memory that a launch may read and write, to start again from: some arguments, and all globals."""

    def __init__(self, memory: Memory, bound: BoundArguments, params: Sequence[int]) -> None:
        chosen = {int.from_bytes(bound.slots[n], "little") for n in params if len(bound.slots[n]) == 8}
        passed = {each.address for each in bound.ranges}
        segments = [s for s in memory.segments if s.writable]
        self._bytes = [s.typed(BYTE)[1] for s in segments if s.address not in passed or memory_has(s, chosen)]
        self._copies = [each.copy() for each in self._bytes]

    def restore(self) -> None:
        for place, copy in zip(self._bytes, self._copies):
            place[...] = copy


def memory_has(segment: Segment, addresses: set[int]) -> bool:
    """Tell whether some address is in a segment."""
    return any(segment.address <= address < segment.end for address in addresses)


def _index(shape: tuple[int, int, int], block: int) -> tuple[int, int, int]:
    """Return the index of a tile block from its number."""
    x, y, _ = shape
    return block % x, block // x % y, block // (x * y)
