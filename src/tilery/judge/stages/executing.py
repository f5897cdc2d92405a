"""Run the launches of a submission on memory of the judge's own, and look at that memory afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...diag import ErrorKind, TileError
from ...engines.common.kernel import find_entry
from ...engines.common.launch import Launch
from ...engines.kernel import Kernel, Limits
from ...engines.reference.launch import ReferenceKernel
from ...engines.reference.machine import Machine
from ...engines.registry import compile_kernel
from ...ops import Module
from ...sanitize import Access, AccessKind, Check, Sanitizer
from ...sanitize.schedule import ScheduledMachine
from ...source.input import Input
from ...types import Ptr, Tile
from ...verifier.explain import read_legal
from ..memory import GuardedMemory, Poison, array_buffer, scratch_buffer, slot_value
from ..problem import Case, Problem, Shape
from ..program import CandidateProgram, Submission
from ..values import Array

STEPS = 2_000_000
"""Operations on batches that a launch may take."""
MEMORY = 1 << 30
TOGETHER = 1 << 24
"""The most bytes of memory of cases that run side by side."""


@dataclass(slots=True)
class LoadedSubmission:
    """The modules of a submission, read and verified, and their kernels."""

    modules: list[Module]
    kernels: dict[tuple[str, int, str], Kernel] = field(default_factory=dict)

    def kernel(self, module: int, entry: str, engine: str = "reference") -> Kernel:
        """Return a kernel, compiled once."""
        key = (engine, module, entry)
        if key not in self.kernels:
            self.kernels[key] = compile_kernel(self.modules[module], entry or None, engine=engine)
        return self.kernels[key]


def load(submission: Submission) -> LoadedSubmission:
    """Read and verify the modules, and check the launches against them."""
    loaded = LoadedSubmission([read_legal(Input(code)) for code in submission.modules])
    for program in submission.programs:
        for number, launch in enumerate(program.launches):
            entry = find_entry(loaded.modules[launch.module], launch.entry or None)
            params = entry.function_type.params
            if len(params) != len(launch.slots):
                wanted = ", ".join(p.text for p in params)
                raise TileError(
                    f"@{entry.sym_name} has {len(params)} parameters ({wanted}), launch {number} passes "
                    f"{len(launch.slots)}",
                    kind=ErrorKind.ARGUMENT,
                )
    return loaded


def make_buffers(
    problem: Problem, shape: Shape, program: CandidateProgram, inputs: Mapping[str, Array], poison: Poison
) -> dict[str, GuardedMemory]:
    """Return the memory of a launch: inputs with their values, everything else poisoned."""
    made = {}
    for argument in problem.typed(shape):
        if argument.is_array:
            extents = problem.extents(argument, shape)
            content = inputs.get(argument.name)
            made[argument.name] = array_buffer(argument, extents, shape.layout, content, poison)
    for name, scratch in program.scratch.items():
        made[name] = scratch_buffer(name, scratch, poison)
    return made


def execute(
    loaded: LoadedSubmission,
    program: CandidateProgram,
    buffers: Mapping[str, GuardedMemory],
    *,
    left: Callable[[], float],
    sanitize: Sanitizer | None = None,
    schedule: Schedule | None = None,
    engine: str = "reference",
) -> None:
    """Run all launches of a program; `left` returns the seconds of the next one. What kernels print is dropped."""
    extents = [each.extent() for each in buffers.values()]
    for launch in program.launches:
        kernel = loaded.kernel(launch.module, launch.entry, engine)
        pointers = [isinstance(p, Tile) and isinstance(p.element, Ptr) for p in kernel.params]
        args = [slot_value(slot, buffers, is_ptr) for slot, is_ptr in zip(launch.slots, pointers)]
        options: dict[str, Any] = {}
        if sanitize is not None:
            options["sanitize"] = sanitize
        elif schedule is not None:
            options["machine"] = schedule.machine
        limits = Limits(STEPS, left(), MEMORY)
        kernel.launch(launch.grid, args, limits=limits, buffers=extents, output=lambda text: None, **options)


def execute_together(
    loaded: LoadedSubmission,
    program: CandidateProgram,
    many: Sequence[Mapping[str, GuardedMemory]],
    *,
    left: Callable[[], float],
    schedule: Schedule | None = None,
) -> None:
    """Run all launches of a program on several sets of buffers side by side; faults do not tell on which one."""
    extents = [[each.extent() for each in buffers.values()] for buffers in many]
    for launch in program.launches:
        kernel = loaded.kernel(launch.module, launch.entry)
        assert isinstance(kernel, ReferenceKernel)
        pointers = [isinstance(p, Tile) and isinstance(p.element, Ptr) for p in kernel.params]
        limits = Limits(STEPS * len(many), left(), MEMORY)
        launches = []
        for buffers, known in zip(many, extents):
            args = [slot_value(slot, buffers, is_ptr) for slot, is_ptr in zip(launch.slots, pointers)]
            machine = None if schedule is None else schedule.machine
            made = Launch(kernel.entry, launch.grid, args, limits=limits, buffers=known, machine=machine)
            made.output = lambda text: None
            launches.append(made)
        kernel.launch_together(launches)


def in_groups(cases: Sequence[Case], size: Callable[[Case], int]) -> Iterator[list[Case]]:
    """Yield cases that may run side by side: they have one shape, and their memory is small.

    >>> a, b, c = Case(0, "ones", 0), Case(0, "nan", 0), Case(1, "ones", 0)
    >>> [len(group) for group in in_groups([a, b, c], lambda case: 1)]
    [2, 1]
    >>> [len(group) for group in in_groups([a, b, c], lambda case: TOGETHER)]
    [1, 1, 1]
    """
    group: list[Case] = []
    for case in cases:
        if group and (case.shape != group[0].shape or (len(group) + 1) * size(case) > TOGETHER):
            yield group
            group = []
        group.append(case)
    if group:
        yield group


@dataclass(frozen=True, slots=True)
class Schedule:
    """Another order of tile blocks, which take turns, drawn from a seed."""

    seed: int

    def machine(self, *args: Any, **options: Any) -> Machine:
        """Return a machine that runs them in this order. A batch starts in few parts: each costs a run of its own."""
        return ScheduledMachine(self.seed, *args, deepest=2, **options)


def outputs_of(problem: Problem, shape: Shape, buffers: Mapping[str, GuardedMemory]) -> dict[str, Array]:
    """Return copies of the outputs, as bits."""
    found = {}
    for argument in problem.typed(shape):
        view = buffers[argument.name].view if argument.is_written else None
        if view is not None:
            found[argument.name] = np.ascontiguousarray(view)
    return found


class ReadObserver(Check):
    """Notes which buffers are read."""

    name = "reads"
    starts: Sequence[int]
    names: Sequence[str]
    seen: set[str]
    wanted: frozenset[str]
    """Once all of these are seen, nothing more is noted."""

    def after(self, access: Access) -> None:
        if access.kind is AccessKind.WRITE or self.wanted <= self.seen or not access.mask.any():
            return
        at = np.searchsorted(self.starts, access.addresses[access.mask], "right") - 1
        self.seen.update(self.names[n] for n in np.unique(at).tolist() if n >= 0)


def watch_reads(buffers: Mapping[str, GuardedMemory], seen: set[str], wanted: frozenset[str]) -> type[Check]:
    """Return a check that adds the names of buffers that a launch reads to `seen`, until it has those `wanted`."""
    ordered = sorted((each.address, name) for name, each in buffers.items())
    facts = {"starts": [a for a, _ in ordered], "names": [n for _, n in ordered], "seen": seen, "wanted": wanted}
    return type("ReadObserver", (ReadObserver,), facts)


def sanitizer_for(
    problem: Problem, shape: Shape, program: CandidateProgram, buffers: Mapping[str, GuardedMemory], seen: set[str]
) -> Sanitizer:
    """Return a sanitizer that knows which memory is undefined."""
    undefined: list[Array] = []
    for argument in problem.typed(shape):
        view = buffers[argument.name].view if argument.is_array else None
        if argument.role == "out" and view is not None:
            undefined.append(view)
    for name, scratch in program.scratch.items():
        if scratch.content is None and scratch.size:
            buffer = buffers[name]
            undefined.append(buffer.raw[buffer.start : buffer.start + buffer.size])
    return Sanitizer("all", uninit=undefined, more=[watch_reads(buffers, seen, must_read(problem))])


def must_read(problem: Problem) -> frozenset[str]:
    """Return the names of the inputs that a correct kernel reads."""
    return frozenset(each.name for each in problem.arguments if each.is_array and each.is_read and not each.unused)
