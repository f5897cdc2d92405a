"""The process that times a submission: fresh inputs for each launch, caches flushed before it.

It reads a request from the file that its argument names, and writes an answer to stdout, both JSON. It knows neither
the reference nor the inputs that results are compared on.
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
from ..types import SCALARS, Ptr, Tile
from .memory import Buffer, Poison, scratch_buffer, slot_value
from .program import Scratch, parse_submission
from .stages.executing import load
from .values import from_f64

FLUSH = 64 << 20
"""Bytes that are written before each launch, more than caches hold."""
WARM = 2
"""Launches before those that count."""


def main() -> None:
    request = json.loads(Path(sys.argv[1]).read_text())
    try:
        made = measure(request)
    except TileError as error:
        made = {"error": {"kind": error.kind.value, "message": error.message}}
    sys.stdout.write(json.dumps(made))


def measure(request: dict[str, Any]) -> dict[str, Any]:
    """Time the launches of a request."""
    names = [each["name"] for each in request["arrays"]]
    submission = parse_submission(request, names, 1)
    loaded, program = load(submission), submission.programs[0]
    rng = np.random.default_rng(request["seed"])
    scrub = np.ones(FLUSH, np.uint8)
    seconds: list[float] = []
    clock = "wall"
    for number in range(WARM + request["rounds"]):
        buffers = {each["name"]: fresh(each, rng, number) for each in request["arrays"]}
        buffers |= {name: scratch_buffer(name, each, Poison(number)) for name, each in program.scratch.items()}
        extents = [each.extent() for each in buffers.values()]
        launches = []
        for launch in program.launches:
            kernel = loaded.kernel(launch.module, launch.entry, request["engine"])
            pointers = [isinstance(p, Tile) and isinstance(p.element, Ptr) for p in kernel.params]
            args = [slot_value(slot, buffers, is_ptr) for slot, is_ptr in zip(launch.slots, pointers)]
            launches.append((kernel, launch.grid, args))
        scrub += 1
        device = 0
        start = time.perf_counter()
        for kernel, grid, args in launches:
            stats = kernel.launch(grid, args, buffers=extents, limits=Limits(seconds=60), output=lambda text: None)
            device += stats.device_nanoseconds
        taken = time.perf_counter() - start
        if device:
            taken, clock = device * 1e-9, "device"
        if number >= WARM:
            seconds.append(taken)
    return {"seconds": seconds, "engine": request["engine"], "bandwidth": bandwidth(), "clock": clock}


def fresh(facts: dict[str, Any], rng: np.random.Generator, number: int) -> Buffer:
    """Return an array of new random values."""
    buffer = scratch_buffer(facts["name"], Scratch(facts["size"] + facts["offset"]), Poison(number))
    buffer.start += facts["offset"]
    buffer.size -= facts["offset"]
    inside = buffer.raw[buffer.start : buffer.start + buffer.size]
    if facts["kind"] == "int":
        inside[...] = rng.integers(0, max(1, min(facts["high"], 1)) + 1, len(inside), np.uint8)
    else:
        element = SCALARS[facts["kind"]]
        width = element.row.memory_bits // 8
        numbers = from_f64(rng.standard_normal(len(inside) // width), element)
        inside[...] = numbers.view(np.uint8)
    return buffer


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
