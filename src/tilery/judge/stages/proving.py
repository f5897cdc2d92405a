"""Prove that a candidate and a reference kernel compute the same functions, where `tilery.prove` is there."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ...types import Ptr, Tile
from ..problem import Problem, Shape
from ..program import Program
from ..results import FAILED, PASSED, SKIPPED
from .executing import Loaded


def prove(
    candidate: tuple[Loaded, Program], reference: tuple[Loaded, Program] | None, problem: Problem, shape: Shape
) -> tuple[str, str]:
    """Return a verdict and a reason."""
    if find_spec("tilery.prove") is None:
        return SKIPPED, "this tilery has no package tilery.prove"
    if reference is None:
        return SKIPPED, "the reference is a Python function; a proof needs a kernel"
    package = import_module("tilery.prove")
    pair = [_program(package, *each) for each in (reference, candidate)]
    if None in pair:
        return SKIPPED, "an argument of a launch starts inside an array"
    arrays = [each for each in problem.typed(shape) if each.is_array]
    inputs = {each.name: problem.extents(each, shape) for each in arrays if each.is_read}
    outs: Any = {each.name: problem.extents(each, shape) for each in arrays if each.is_written}
    verdict = package.reals(*pair, inputs, outs)
    said = f"{verdict.answer}: {verdict.theorem or verdict.reason}"
    return {"equal": PASSED, "different": FAILED}.get(verdict.answer, SKIPPED), said


def _program(package: Any, loaded: Loaded, program: Program) -> Any:
    stages = []
    for launch in program.launches:
        module = loaded.modules[launch.module]
        entry = loaded.kernel(launch.module, launch.entry).name
        if any(slot.buffer and slot.offset for slot in launch.slots):
            return None
        params = module.entry(entry).function_type.params
        pointers = [isinstance(p, Tile) and isinstance(p.element, Ptr) for p in params]
        args = [slot.buffer if is_ptr else slot.value for slot, is_ptr in zip(launch.slots, pointers)]
        stages.append(package.Stage(module, launch.grid, args, entry))
    scratch = {name: (each.size,) for name, each in program.scratch.items()}
    return package.Program(stages, scratch)
