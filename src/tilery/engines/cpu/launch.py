"""The fast CPU engine: kernels compiled by LLVM, launched on all cores.

The reference engine stands by. It owns the globals, runs what this engine does not (tile blocks that wait for each
other, writes to arrays with gaps, limits on steps, sanitizers, observers), and finds the words for a fault: this
engine only knows which operation of which tile block gave up.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any
from weakref import finalize

from ...diag import ErrorKind, TileError, enough_memory
from ...ops import Entry, Module
from ...source.positions import add_position
from ..arguments import BoundArguments, arguments, bind
from ..kernel import (
    Buffers,
    ExecutionError,
    Limits,
    Stats,
    check_grid,
    check_parameters,
    check_threads,
    describe_kernel,
    find_entry,
    refuse_options,
)
from ..reference import launch as reference
from ..reference.watch import Late
from .abi import Lowered, fault_place
from .callbacks import ADDRESS as CALLS_ADDRESS
from .callbacks import Calls
from .native import pool
from .native.build import build, compiled, lower_kernel
from .native.jobs import Job, Prepared, fast_key, prepare
from .native.targets import TARGETS, named

PREPARED = 16
"""How many sets of arguments a kernel remembers, so that launching it again with the same arrays costs less."""
EXPLAIN_SECONDS = 60.0
"""How long the reference engine may look for the words of a fault."""
MAX_SECONDS = 1e9
"""Of the clock that deadlines are measured by; later ones are not reached."""
EMITS = {"llvm": "LLVM IR", "asm": "assembly of this machine", "object": "an ELF object"}
"""What `emit` can produce."""


def load(module: Module, **options: Any) -> Loaded:
    """Load a module on this engine. `exact=True` asks for the reference engine's bits of all functions."""
    refuse_options("cpu", options, ("exact",))
    return Loaded(module, **options)


def targets() -> dict[str, str]:
    """Return the targets that code can be compiled for; only that for `host` is run."""
    return {"host": "this machine"} | {name: f"{t.cpu} on {t.triple}" for name, t in TARGETS.items()}


def emit(module: Module, entry: str | None, kind: str, *, target: str = "host", **options: Any) -> str | bytes:
    """Return the code of a kernel, as one of `EMITS`, for a target that `targets.TARGETS` names."""
    refuse_options("cpu", options, ("exact",))
    chosen = named(target)
    lowered = lower_kernel(module, find_entry(module, entry), options.get("exact", False), chosen)
    if lowered is None:
        raise TileError("this kernel is not compiled: the reference engine runs it")
    if kind == "llvm":
        return lowered.text
    (made,) = compiled(lowered, [lowered.text], chosen, "asm" if kind == "asm" else "object")
    return made.decode() if kind == "asm" else made


class Loaded:
    """A module in memory. A copy, by `copy` or `pickle`, has its own globals, and compiles its kernels again."""

    def __init__(self, module: Module, *, exact: bool = False, memory: reference.Loaded | None = None) -> None:
        self.module, self.exact = module, exact
        self.reference = memory or reference.Loaded(module)
        self._kernels: dict[str, Kernel] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return _load_with, (self.reference, self.exact)

    def content(self, name: str) -> bytes:
        """Return the bytes that a global holds now."""
        return self.reference.content(name)

    def kernel(self, entry: str | None = None) -> Kernel:
        """Return the kernel of that name, or the only kernel."""
        found = find_entry(self.module, entry)
        kernel = self._kernels.get(found.sym_name)
        if kernel is None:
            kernel = self._kernels[found.sym_name] = Kernel(self, found)
        return kernel


def _load_with(loaded: reference.Loaded, exact: bool) -> Loaded:
    return Loaded(loaded.module, exact=exact, memory=loaded)


class Kernel:
    """An entry of a loaded module, compiled. A deep or pickled copy has its own globals and is compiled again."""

    engine = "cpu"

    def __init__(self, loaded: Loaded, entry: Entry) -> None:
        self.loaded, self.entry = loaded, entry
        self.name, self.params = entry.sym_name, check_parameters(entry)
        built = build(loaded.module, entry, loaded.exact)
        self.lowered = None if built is None else built[0]
        """What is known about the code; None if the reference engine runs this kernel."""
        self._prepared: dict[Any, Prepared] = {}
        self.pace = [0.0]
        """Nanoseconds that a tile block took lately; 0 if unknown."""
        self.calls = 0
        """How often the last launch called the reference engine for an operation."""
        if built is not None:
            self.code = built[1]
            self.address = self.code.address("run")
            if built[0].arena * pool.available_cores() > pool.KEPT:
                finalize(self, pool.trim).atexit = False

    def __repr__(self) -> str:
        return describe_kernel(self.name, self.params, self.engine)

    def __reduce__(self) -> tuple[Any, ...]:
        return Loaded.kernel, (self.loaded, self.name)

    @cached_property
    def reference(self) -> reference.Kernel:
        """The same kernel on the reference engine."""
        return self.loaded.reference.kernel(self.name)

    @enough_memory("launch the kernel")
    def launch(
        self,
        grid: int | Sequence[int],
        args: Sequence[Any] = (),
        *,
        names: Sequence[str] = (),
        convention: str | None = None,
        batch: int | None = None,
        threads: int | None = None,
        limits: Limits | None = None,
        buffers: Buffers = (),
        output: Callable[[str], None] | None = None,
        progress: Callable[[int], None] | None = None,
        sanitize: Any = None,
        observe: Any = None,
    ) -> Stats:
        """Run the kernel on a grid of tile blocks; it writes into the arrays among the arguments.

        See `tilery.engines.kernel.Kernel.launch` for the arguments. `threads` is all cores by default; `batch` is
        ignored. Of the statistics, only tile blocks are counted.
        """
        shape = check_grid(grid)
        if threads is not None:
            check_threads(threads)
        args = arguments(args)  # `progress` may change a list; what it holds is needed until the end
        lowered = self.lowered
        key = fast_key(args, convention) if lowered is not None and not buffers else None
        prepared = None if key is None else self._prepared.get(key)
        if prepared is None:
            buffers = list(buffers)
            bound = bind(self.entry, args, names=names, convention=convention, buffers=buffers)
            prepared = self._prepare(bound)
            if key is not None:
                for old in list(self._prepared)[: 1 - PREPARED]:
                    self._prepared.pop(old, None)
                self._prepared[key] = prepared
        watched = sanitize is not None or observe is not None or (limits and limits.steps is not None)
        if lowered is None or not prepared.checked or watched:
            return self.reference.launch(
                shape,
                args,
                names=names,
                convention=convention,
                batch=batch,
                threads=threads,
                limits=limits,
                buffers=buffers,
                output=output,
                progress=progress,
                sanitize=sanitize,
                observe=observe,
            )
        count = self._threads(threads, lowered, limits)
        code = self._run(prepared, shape, count, limits, progress, output)
        if code is not None:
            bound = bind(self.entry, args, names=names, convention=convention, buffers=buffers)
            raise self._explain(code, shape, bound, limits)
        return Stats(blocks=shape[0] * shape[1] * shape[2])

    def bind(
        self, grid: int | Sequence[int], args: Sequence[Any] = (), *, convention: str | None = None
    ) -> Callable[[], Stats]:
        """Return a function that launches the kernel on these arguments, for those who launch it very often.

        The arrays are kept alive. Their memory must stay where it is: do not resize them.
        """
        shape, args = check_grid(grid), arguments(args)
        prepared = self._prepare(bind(self.entry, args, convention=convention))
        lowered = self.lowered
        if lowered is None or not prepared.checked:
            return lambda: self.reference.launch(shape, args, convention=convention)
        count = self._threads(None, lowered, None)
        blocks = shape[0] * shape[1] * shape[2]

        def launch() -> Stats:
            code = self._run(prepared, shape, count, None, None, None)
            if code is not None:
                raise self._explain(code, shape, bind(self.entry, args, convention=convention), None)
            return Stats(blocks=blocks)

        return launch

    # ------------------------------------------------------------ one launch

    def _prepare(self, bound: BoundArguments) -> Prepared:
        memory = reference.memory_of(self.loaded.reference, bound)
        names, written = (self.lowered.globals, self.lowered.written) if self.lowered is not None else ((), None)
        addresses = [self.loaded.reference.globals[name] for name in names]
        return prepare(bound, self.params, memory, addresses, written)

    def _threads(self, threads: int | None, lowered: Lowered, limits: Limits | None) -> int:
        """Choose how many threads to use; each needs an arena."""
        most = (limits or Limits()).memory
        if lowered.arena > most:
            raise TileError(
                f"a tile block of @{self.name} needs {lowered.arena} bytes at once, the limit is {most}",
                kind=ErrorKind.MEMORY,
            )
        if lowered.ordered:
            return 1
        wanted = pool.available_cores() if threads is None else threads
        return max(1, min(wanted, most // max(lowered.arena, 1)))

    def _run(
        self,
        prepared: Prepared,
        shape: tuple[int, int, int],
        threads: int,
        limits: Limits | None,
        progress: Callable[[int], None] | None,
        output: Callable[[str], None] | None,
    ) -> int | None:
        """Run the grid; return the code of a fault, if there was one."""
        lowered = self.lowered
        assert lowered is not None
        job = prepared.take(self.address, shape)
        seconds = None if limits is None else limits.seconds
        deadline = 0 if seconds is None else int(min(time.monotonic() + max(seconds, 0), MAX_SECONDS) * 1e9) or 1
        if lowered.callbacks:
            return self._run_calling(prepared, job, shape, threads, limits, deadline, progress, output)
        # Only the main thread sees Ctrl-C, so it must not be inside a tile block that may take long.
        apart = deadline > 0 or (lowered.long and threading.get_ident() == threading.main_thread().ident)
        if not job.run(lowered.arena, threads, apart, deadline, progress, self.pace):
            raise self._late(limits)
        fault = job.fault()
        prepared.give_back(job)  # only here: a job that was interrupted is not used again
        return fault

    def _run_calling(
        self,
        prepared: Prepared,
        job: Job,
        shape: tuple[int, int, int],
        threads: int,
        limits: Limits | None,
        deadline: int,
        progress: Callable[[int], None] | None,
        output: Callable[[str], None] | None,
    ) -> int | None:
        """Run the grid of a kernel that calls the reference engine."""
        assert self.lowered is not None
        calls = Calls(self.lowered, reference.printer(output), (limits or Limits()).memory, deadline, job.is_stopped)
        job.calls(CALLS_ADDRESS, calls.number)
        # The main thread must not enter Python from native code: what a signal raises there is lost.
        apart = deadline > 0 or threading.get_ident() == threading.main_thread().ident
        try:
            done = job.run(self.lowered.arena, threads, apart, deadline, progress, self.pace)
        finally:
            self.calls = calls.count
            calls.close()
        if not done or isinstance(calls.error, Late):
            raise self._late(limits)
        if isinstance(calls.error, MemoryError):
            number, block = calls.place
            o = self.lowered.ops[number]
            message = f"{o.name}: out of memory: the system has no more, or the limit is reached ({calls.limit} bytes)"
            raise self._placed(ExecutionError(o, message, kind=ErrorKind.MEMORY, block=_index(shape, block)))
        if calls.error is not None:
            raise calls.error
        fault = job.fault()
        prepared.give_back(job)
        return fault

    def _late(self, limits: Limits | None) -> ExecutionError:
        message = f"entry: stopped after {limits.seconds if limits else 0} seconds"
        return ExecutionError(self.entry, message, kind=ErrorKind.TIMEOUT)

    def _explain(
        self, code: int, shape: tuple[int, int, int], bound: BoundArguments, limits: Limits | None
    ) -> TileError:
        """Let the reference engine run the tile block that gave up, on a copy of the memory, and return its error."""
        block, number = fault_place(code)
        assert self.lowered is not None
        limits = limits or Limits()
        seconds = EXPLAIN_SECONDS if limits.seconds is None else limits.seconds
        try:
            self.reference.run_block(shape, block, bound, Limits(seconds=seconds, memory=limits.memory))
        except ExecutionError as error:
            if error.kind is not ErrorKind.TIMEOUT:
                return self._placed(error)
        except MemoryError:
            pass
        ops = self.lowered.ops
        o = ops[number] if number < len(ops) else self.entry
        message = f"{o.name}: the kernel did something illegal here"
        vague = ExecutionError(o, message, kind=ErrorKind.BOUNDS, block=_index(shape, block))
        vague.notes.append("the memory has changed since: with engine 'reference' the error is more precise")
        return self._placed(vague)

    def _placed(self, error: ExecutionError) -> ExecutionError:
        add_position(error, self.loaded.module)
        return error


def _index(shape: tuple[int, int, int], block: int) -> tuple[int, int, int]:
    """Return the index of a tile block from its number."""
    x, y, _ = shape
    return block % x, block // x % y, block // (x * y)
