"""Prove that a candidate and a reference kernel compute the same functions of real numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ... import prove
from ...types import Ptr, Tile
from ..problem import Problem, Shape
from ..program import CandidateProgram
from ..results import FAILED, PASSED, SKIPPED
from ..values import Array, widen
from .executing import LoadedSubmission

Side = tuple[LoadedSubmission, CandidateProgram]


def prove_equal(
    candidate: Side, reference: Side, problem: Problem, shape: Shape, inputs: Mapping[str, Array]
) -> tuple[str, str]:
    """Return a verdict and a reason. Floats are any real numbers; integers are those of `inputs`."""
    if shape.layout != "dense":
        return SKIPPED, f"arrays of layout '{shape.layout}' are not proven"
    pair = [_program(*each) for each in (reference, candidate)]
    if pair[0] is None or pair[1] is None:
        return SKIPPED, "an argument of a launch starts inside an array, or scratch memory has a content"
    given: dict[str, Any] = {}
    outs: dict[str, Any] = {}
    for each in problem.typed(shape):
        if each.is_array and each.is_read:
            is_real = each.element.is_float
            given[each.name] = problem.extents(each, shape) if is_real else widen(inputs[each.name], each)
        if each.is_array and each.is_written:
            outs[each.name] = problem.extents(each, shape)
    verdict = prove.reals(pair[0], pair[1], given, outs)
    said = f"{verdict.answer}: {verdict.theorem or verdict.reason}"
    return {"equal": PASSED, "different": FAILED}.get(verdict.answer, SKIPPED), said


def _program(loaded: LoadedSubmission, program: CandidateProgram) -> prove.Program | None:
    stages = []
    if any(each.content is not None for each in program.scratch.values()):
        return None
    for launch in program.launches:
        module = loaded.modules[launch.module]
        entry = loaded.kernel(launch.module, launch.entry).name
        if any(slot.buffer and slot.offset for slot in launch.slots):
            return None
        params = module.entry(entry).function_type.params
        pointers = [isinstance(p, Tile) and isinstance(p.element, Ptr) for p in params]
        args = [slot.buffer if is_ptr else slot.value for slot, is_ptr in zip(launch.slots, pointers)]
        stages.append(prove.Stage(module, launch.grid, args, entry))
    return prove.Program(stages, {name: (each.size,) for name, each in program.scratch.items()})
