"""Launching a kernel: the grid is cut into batches of tile blocks, which one or several machines execute."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from typing import Any

import numpy as np

from ... import hooks
from ...diag import ErrorKind, TileError
from ...ir import Refused, walk
from ...ops import Entry, Global, Module, PrintTko
from ..common.arguments import BoundArguments
from ..common.kernel import Kernel, find_entry, refuse_options
from ..common.launch import Launch
from ..common.limits import Limits, Stats
from ..common.memory import Memory
from ..common.output import printer
from ..common.tiles import dense_array, packed, scalar_lane
from .batch import Batch, merge
from .cores import quiet
from .crew import MachineCrew
from .machine import Machine, Stopped, grid_batches, total
from .observe import observers_of, observing
from .ops import RUNS, mma
from .program import CONTROL, RegionCode, build

BATCH_BYTES = 1 << 20
"""The target size of a kernel's largest tile, over all tile blocks of a batch: a core's cache holds a few of these."""
MAX_LANES = 1 << 14
EXECUTED = (*RUNS, *CONTROL, Module, Global, Entry)
"""Every operation that this engine executes: by a function, by control flow, or by loading and launching."""


def load(module: Module, **options: Any) -> ReferenceLoaded:
    """Load a module on this engine, which has no options."""
    refuse_options("reference", options)
    return ReferenceLoaded(module)


class ReferenceLoaded:
    """A module in memory. Its globals keep what kernels write to them for as long as this object lives.

    A copy, by `copy` or `pickle`, has its own memory, holding the bytes that the globals had when it was made.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self.memory = Memory()
        self.globals: dict[str, int] = {}
        for o in module.globals:
            content = dense_array(o.value).reshape(-1)
            if o.value.element.bits == 4:
                content = packed(content)
            label = f"global @{o.sym_name}"
            try:
                address = self.memory.allocate(content.nbytes, o.alignment, label, writable=not o.constant)
            except (MemoryError, ValueError):
                raise Refused(o, f"{label}: cannot allocate {content.nbytes} bytes aligned to {o.alignment}") from None
            segment = self.memory.at(address)
            assert segment is not None
            segment.typed(content.dtype)[1][:] = content
            self.globals[o.sym_name] = address

    def __reduce__(self) -> tuple[Any, ...]:
        return _load_with, (self.module, {name: self.content(name) for name in self.globals})

    def content(self, name: str) -> bytes:
        """Return the bytes that a global holds now."""
        return self._bytes(name).tobytes()

    def _bytes(self, name: str) -> np.ndarray[Any, np.dtype[np.uint8]]:
        segment = self.memory.at(self.globals[name])
        assert segment is not None
        return segment.typed(np.dtype(np.uint8))[1]

    def kernel(self, entry: str | None = None) -> ReferenceKernel:
        """Return the kernel of that name, or the only kernel."""
        return ReferenceKernel(self, find_entry(self.module, entry))


def _load_with(module: Module, contents: dict[str, bytes]) -> ReferenceLoaded:
    """Load a module and set the bytes of its globals."""
    loaded = ReferenceLoaded(module)
    for name, content in contents.items():
        loaded._bytes(name)[:] = np.frombuffer(content, np.uint8)
    return loaded


class ReferenceKernel(Kernel):
    """An entry of a loaded module, ready to run. A deep or pickled copy has its own globals.

    More than one thread is used only if tile blocks cannot observe each other and do not print. There is one with
    `sanitize`, `observe` or `machine`. `sanitize` and `machine` exclude each other.
    """

    engine = "reference"
    loaded: ReferenceLoaded

    def __init__(self, loaded: ReferenceLoaded, entry: Entry) -> None:
        super().__init__(loaded, entry)
        self.program = build(entry, entry.body)
        prints = any(isinstance(o, PrintTko) for o in walk(entry))
        self._parallel = self.program.steady and not prints
        runs = (RUNS[type(o)].function for o in walk(entry) if type(o) in RUNS)
        self._cores = quiet if any(run.__module__ == mma.__name__ for run in runs) else nullcontext

    def run(self, launch: Launch) -> Stats:
        """Run a launch: batches of tile blocks, one after the other on each machine."""
        memory = memory_of(self.loaded, launch.bound)
        env = self._environment(launch.bound)
        lanes = self._lanes(launch.batch, launch.limits)
        sanitizer = None if launch.sanitize is None else hooks.sanitizer(launch.sanitize)
        if sanitizer is not None and not sanitizer.takes(self.name):
            sanitizer = None
        if sanitizer is not None and launch.machine is not None:
            raise TileError(
                "launch: 'sanitize' and 'machine' exclude each other: each executes the kernel in its own way"
            )
        observers = observers_of(launch.observe)
        alone = sanitizer is not None or launch.machine is not None or bool(observers)
        chunks = -(-launch.blocks // lanes)
        workers = min(launch.threads or 1, chunks) if self._parallel and not alone else 1
        facts: dict[str, Any] = {"limits": launch.limits, "output": printer(launch.output), "progress": launch.progress}
        make = launch.machine or (Machine if sanitizer is None else sanitizer.machine)
        with nullcontext() if sanitizer is None else sanitizer.lock:
            machines = [make(Memory(memory), launch.grid, self.loaded.globals, **facts) for _ in range(workers)]
            if sanitizer is not None:
                observers = (sanitizer.observer(), *observers)
            watched = observing(machines[0], self, launch.bound, observers) if observers else None
            with self._cores(), watched or nullcontext(self.program) as program:
                self._run(machines, program, env, lanes)
        return total(machines)

    def launch_together(self, launches: Sequence[Launch]) -> Stats:
        """Run launches of one grid side by side: each tile block has the arguments of its own launch.

        Their memory must not overlap. They share the limits, the machine and the output of the first one. An error is
        raised as if one launch had all tile blocks.
        """
        first = launches[0]
        memory = memory_of(self.loaded, *(each.bound for each in launches))
        facts: dict[str, Any] = {"limits": first.limits, "output": printer(first.output), "progress": first.progress}
        machine = (first.machine or Machine)(memory, first.grid, self.loaded.globals, **facts)
        lanes = max(1, self._lanes(first.batch, first.limits) // len(launches))
        batches = [
            grid_batches(machine, self.program, self._environment(each.bound), lanes, itertools.count())
            for each in launches
        ]
        with self._cores():
            machine.run(merge(_apart(parts, first.blocks)) for parts in zip(*batches))
        return total([machine])

    def _environment(self, bound: BoundArguments) -> dict[int, Any]:
        values = [scalar_lane(param, slot) for param, slot in zip(self.params, bound.slots)]
        return dict(zip(self.program.params, values))

    def run_block(self, grid: tuple[int, int, int], number: int, bound: BoundArguments, limits: Limits) -> None:
        """Run one tile block on a copy of the memory, for the error that it raises."""
        memory = memory_of(self.loaded, bound).copy()
        machine = Machine(memory, grid, self.loaded.globals, limits=limits, output=lambda text: None)
        machine.run(grid_batches(machine, self.program, self._environment(bound), 1, iter([number])))

    def _lanes(self, batch: int | None, limits: Limits) -> int:
        """Choose how many tile blocks to run at once."""
        peak = max(self.program.peak, 1)
        if peak > limits.memory:
            raise TileError(
                f"a tile block of @{self.name} needs {peak} bytes at once, the limit is {limits.memory}",
                kind=ErrorKind.MEMORY,
            )
        wanted = BATCH_BYTES // max(self.program.widest, 1) if batch is None else batch
        return max(1, min(wanted, limits.memory // peak, MAX_LANES))

    def _run(self, machines: list[Machine], program: RegionCode, env: dict[int, Any], lanes: int) -> None:
        chunks = _Counter()
        if len(machines) == 1:
            machines[0].run(grid_batches(machines[0], program, env, lanes, chunks))
            return

        def work(machine: Machine) -> None:
            with suppress(Stopped):  # another thread failed, and reports it
                machine.run(grid_batches(machine, program, env, lanes, chunks))

        MachineCrew(machines, work).run()


def _apart(parts: Iterable[Batch], blocks: int) -> list[Batch]:
    """Number the tile blocks of several launches one after the other."""
    made = list(parts)
    for number, batch in enumerate(made):
        batch.ranks = batch.ranks + number * blocks
    return made


def memory_of(loaded: ReferenceLoaded, *bound: BoundArguments) -> Memory:
    """Return the memory that launches may access: globals, arguments and buffers."""
    memory = Memory(loaded.memory)
    for each in itertools.chain.from_iterable(arguments.ranges for arguments in bound):
        if not each.device.is_host:
            raise TileError(f"{each.label}: the array is not in host memory")
        memory.add(each.address, each.size, each.label, writable=each.writable, owner=each.owner, runs=each.runs)
    return memory


class _Counter(Iterator[int]):
    """A thread-safe counter that hands out the numbers of batches."""

    def __init__(self) -> None:
        self._count = itertools.count()
        self._lock = threading.Lock()

    def __next__(self) -> int:
        with self._lock:
            return next(self._count)
