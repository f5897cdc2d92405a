"""The process that times a submission: fresh inputs for each launch, caches flushed before it.

It reads a request from the file that its argument names, and writes an answer to stdout, both JSON. It does not know
what is right. It keeps the outputs of one launch, which the judge chose, for the judge to compare.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from ..diag import TileError
from ..engines.kernel import Limits
from ..types import Ptr, Tile
from .memory import Poison, slot_value
from .problem import Argument, Problem, Shape
from .program import parse_submission
from .stages.executing import load, make_buffers, outputs_of
from .values import Array, draw_all

FLUSH = 64 << 20
"""Bytes that are written before each launch, more than caches hold."""
WARM = 2
"""Launches before those that count."""
LAUNCH_SECONDS = 60.0


def main() -> None:
    request = json.loads(Path(sys.argv[1]).read_text())
    try:
        made = measure(request, Path(sys.argv[1]).parent)
    except TileError as error:
        made = {"error": {"kind": error.kind.value, "message": error.message}}
    sys.stdout.write(json.dumps(made))


def inputs_of(problem: Problem, shape: Shape, seed: int, number: int) -> dict[str, Array]:
    """Return the inputs of a launch."""
    return draw_all(problem, shape, "normal", np.random.default_rng([seed, number]))


def problem_of(request: dict[str, Any]) -> tuple[Problem, Shape]:
    """Return the arguments and the shape that a request describes."""
    arguments = [Argument(**{**each, "shape": tuple(each["shape"])}) for each in request["arguments"]]
    shape = Shape(**request["shape"])
    return Problem(arguments, [shape], []), shape


def measure(request: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Time the launches of a request, and write the outputs of one of them to a folder."""
    problem, shape = problem_of(request)
    submission = parse_submission(request, [each.name for each in problem.arguments if each.is_array], 1)
    loaded, program = load(submission), submission.programs[0]
    scrub = np.ones(FLUSH, np.uint8)
    seconds: list[float] = []
    clock = "wall"
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
        device = 0
        limits = Limits(seconds=LAUNCH_SECONDS)
        start = time.perf_counter()
        for kernel, grid, args in launches:
            stats = kernel.launch(grid, args, buffers=extents, limits=limits, output=lambda text: None)
            device += stats.device_nanoseconds
        taken = time.perf_counter() - start
        if device:
            taken, clock = device * 1e-9, "device"
        if number >= WARM:
            seconds.append(taken)
        if number == request["keep"]:
            for name, bits in outputs_of(problem, shape, buffers).items():
                np.save(folder / f"{name}.npy", bits, allow_pickle=False)
    return {"seconds": seconds, "engine": request["engine"], "bandwidth": bandwidth(), "clock": clock}


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
