"""Run the launches of a submission on memory of the judge's own, and look at that memory afterwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...diag import ErrorKind, TileError
from ...engines.common.kernel import find_entry
from ...engines.kernel import Kernel, Limits
from ...engines.reference.machine import Machine
from ...engines.registry import compile_kernel
from ...ops import Module
from ...sanitize import Access, AccessKind, Check, Sanitizer
from ...sanitize.schedule import ReorderedMachine, ScheduledMachine
from ...source.input import Input
from ...types import Ptr, Tile
from ...verifier.explain import read_legal
from ..memory import GuardedMemory, Poison, array_buffer, scratch_buffer, slot_value
from ..problem import Problem, Shape
from ..program import CandidateProgram, Submission
from ..values import Array

STEPS = 2_000_000
"""Operations on batches that a launch may take."""
MEMORY = 1 << 30


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


@dataclass(frozen=True, slots=True)
class Schedule:
    """Another order of tile blocks, drawn from a seed; with `interrupted`, they also take turns."""

    seed: int
    interrupted: bool

    def machine(self, *args: Any, **options: Any) -> Machine:
        """Return a machine that runs them in this order."""
        kind = ScheduledMachine if self.interrupted else ReorderedMachine
        return kind(self.seed, *args, **options)


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

    def after(self, access: Access) -> None:
        if access.kind is AccessKind.WRITE or not access.mask.any():
            return
        at = np.searchsorted(self.starts, access.addresses[access.mask], "right") - 1
        self.seen.update(self.names[n] for n in np.unique(at).tolist() if n >= 0)


def watch_reads(buffers: Mapping[str, GuardedMemory], seen: set[str]) -> type[Check]:
    """Return a check that adds the names of buffers that a launch reads to `seen`."""
    ordered = sorted((each.address, name) for name, each in buffers.items())
    facts = {"starts": [a for a, _ in ordered], "names": [n for _, n in ordered], "seen": seen}
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
    return Sanitizer("all", uninit=undefined, more=[watch_reads(buffers, seen)])
