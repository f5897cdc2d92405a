"""The process that times a submission: fresh inputs for each launch, and nothing of them in caches.

Only one of them measures at a time on a machine: they would slow each other down. It reads a request from stdin, and
writes an answer to stdout: a line of JSON, then the outputs of one launch, which the judge chose and compares. It does
not know what is right. As it has no files, none are left behind, whatever ends it.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..diag import TileError
from ..engines.kernel import Limits
from ..types import Ptr, Tile
from .memory import Poison, slot_value
from .problem import Argument, Problem, Shape
from .program import CandidateProgram, parse_submission
from .stages.executing import LoadedSubmission, load, make_buffers, outputs_of
from .values import Array, draw_all

FLUSH = 64 << 20
"""Bytes that are written before each launch, more than caches hold."""
WARM = 2
"""Launches before those that count."""
LAUNCH_SECONDS = 60.0
DEVICES = ("gpu", "triton", "tileiras")
"""Engines whose kernels run on a GPU."""


def main() -> None:
    request = json.load(sys.stdin)
    outputs: dict[str, Array] = {}
    try:
        made, outputs = (measure_gpu if request["engine"] in DEVICES else measure)(request)
    except TileError as error:
        notes = [str(each) for each in error.notes]
        made = {"error": {"kind": error.kind.value, "message": error.message, "notes": notes}}
    out = sys.stdout.buffer
    out.write(json.dumps({**made, "outputs": list(outputs)}).encode() + b"\n")
    for bits in outputs.values():
        np.save(out, bits, allow_pickle=False)


def inputs_of(problem: Problem, shape: Shape, seed: int, number: int) -> dict[str, Array]:
    """Return the inputs of a launch."""
    return draw_all(problem, shape, "normal", np.random.default_rng([seed, number]))


def problem_of(request: dict[str, Any]) -> tuple[Problem, Shape]:
    """Return the arguments and the shape that a request describes."""
    arguments = [Argument(**{**each, "shape": tuple(each["shape"])}) for each in request["arguments"]]
    shape = Shape(**request["shape"])
    return Problem(arguments, [shape], []), shape


def submitted(request: dict[str, Any], problem: Problem) -> tuple[LoadedSubmission, CandidateProgram]:
    """Return the modules and launches of a request."""
    submission = parse_submission(request, [each.name for each in problem.arguments if each.is_array], 1)
    return load(submission), submission.programs[0]


@contextmanager
def alone() -> Iterator[None]:
    """Wait until no other timer of this machine measures. The lock is on this file, so nothing is left behind."""
    import fcntl

    with open(__file__, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def measure_gpu(request: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Time a request on a GPU; return the times and the outputs of a launch."""
    import resource

    from .device import measure_on_device

    most = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (most, most))  # NVIDIA's driver maps far more than a worker may take
    problem, shape = problem_of(request)
    loaded, program = submitted(request, problem)
    inputs = inputs_of(problem, shape, request["seed"], request["keep"])
    found, outputs = measure_on_device(loaded, program, problem, shape, inputs, request, LAUNCH_SECONDS, alone)
    return {**found, "engine": request["engine"]}, outputs


def measure(request: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Time the launches of a request; return the times and the outputs of one of them."""
    with alone():
        return _measure(request)


def _measure(request: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Array]]:
    problem, shape = problem_of(request)
    loaded, program = submitted(request, problem)
    scrub = np.ones(FLUSH, np.uint8)
    seconds: list[float] = []
    outputs: dict[str, Array] = {}
    for number in range(WARM + request["rounds"]):
        buffers = make_buffers(
            problem, shape, program, inputs_of(problem, shape, request["seed"], number), Poison(number)
        )
        extents = [each.extent() for each in buffers.values()]
        launches = []
        for launch in program.launches:
            kernel = loaded.kernel(launch.module, launch.entry, request["engine"])
            pointers = [isinstance(p, Tile) and isinstance(p.element, Ptr) for p in kernel.params]
            args = [slot_value(slot, buffers, is_ptr) for slot, is_ptr in zip(launch.slots, pointers)]
            launches.append((kernel, launch.grid, args))
        scrub += 1
        limits = Limits(seconds=LAUNCH_SECONDS)
        start = time.perf_counter()
        for kernel, grid, args in launches:
            kernel.launch(grid, args, buffers=extents, limits=limits, output=lambda text: None)
        taken = time.perf_counter() - start
        if number >= WARM:
            seconds.append(taken)
        if number == request["keep"]:
            outputs = outputs_of(problem, shape, buffers)
    found = {"seconds": seconds, "engine": request["engine"], "bandwidth": bandwidth(), "clock": "wall"}
    return found, outputs


def bandwidth() -> float:
    """Return the bytes per second that this machine cannot exceed: those of a copy by one core, for each core."""
    a = np.ones(FLUSH, np.uint8)
    b = np.empty_like(a)
    best = 0.0
    for _ in range(8):
        start = time.perf_counter()
        np.copyto(b, a)
        best = max(best, 2 * FLUSH / (time.perf_counter() - start))
    return best * len(os.sched_getaffinity(0))


if __name__ == "__main__":
    main()
