"""Time a submission in a process of its own; refuse times that no machine can reach, and wrong outputs."""

from __future__ import annotations

import io
import json
import os
import secrets
import subprocess
import sys
from dataclasses import asdict
from math import prod
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from ...child import run_program
from ...cost.gpus import find_gpu
from ...diag import ErrorKind, TileError
from ..program import Submission, as_json
from ..results import MachineError
from ..timer import WARM, inputs_of
from ..values import Array, storage
from .comparing import compare

if TYPE_CHECKING:
    from ..judging import Judge

HEADROOM = 1.5
"""How many times the measured or published bandwidth a result may reach: caches keep a little, clocks are imprecise."""
SECONDS = 300.0
ROUNDS = 15


def time_submission(judge: Judge, submission: Submission, options: dict[str, Any]) -> dict[str, Any]:
    """Return median and spread for the last shape of a problem, and the floor.

    `impossible` says why the time is refused, and `wrong` what is wrong with the outputs of a timed launch.
    """
    index = int(options.get("shape", len(judge.problem.shapes) - 1))
    seed, keep = secrets.randbits(32), WARM + secrets.randbelow(int(options.get("rounds", ROUNDS)))
    found, outputs = measure(judge, submission, index, {**options, "seed": seed, "keep": keep})
    times = sorted(found["seconds"])
    middle, quarter = median(times), len(times) // 4
    moved = bytes_moved(judge, index)
    bandwidth = 1e9 * find_gpu(options["gpu"]).bandwidth if options.get("gpu") else found["bandwidth"]
    floor = moved / bandwidth / HEADROOM
    made: dict[str, Any] = {
        "engine": found["engine"], "shape": judge.problem.shapes[index].name, "launches": len(times),
        "median": middle, "spread": [times[quarter], times[-1 - quarter]], "bytes": moved, "bandwidth": bandwidth,
        "floor": floor, "clock": found["clock"], "copies": found.get("copies", 1),
        "wrong": check_outputs(judge, index, seed, keep, outputs),
    }  # fmt: skip
    if middle < floor:
        made["impossible"] = (
            f"the median of {middle:.3g} s is below {floor:.3g} s, the least time in which this machine moves "
            f"{moved} bytes"
        )
    if judge.kernel is not None:
        other, _ = measure(judge, judge.kernel.submission, index, {**options, "seed": seed, "keep": keep})
        made["reference"] = median(other["seconds"])
        made["speedup"] = made["reference"] / middle
    return made


def bytes_moved(judge: Judge, index: int) -> int:
    """Return the bytes that every correct kernel reads and writes."""
    shape = judge.problem.shapes[index]
    return sum(
        prod(judge.problem.extents(each, shape)) * storage(each).itemsize * (each.is_read + each.is_written)
        for each in judge.problem.typed(shape)
        if each.is_array and not each.unused
    )


def check_outputs(judge: Judge, index: int, seed: int, keep: int, outputs: dict[str, Array]) -> str:
    """Return what is wrong with the outputs of a timed launch: a kernel may be right only where it is not timed."""
    shape = judge.problem.shapes[index]
    expected = judge.expect(shape, index, inputs_of(judge.problem, shape, seed, keep), seed)
    for argument in judge.problem.typed(shape):
        if argument.is_written:
            found = compare(argument, outputs[argument.name], expected[argument.name])
            if found.wrong:
                return (
                    f"in a timed launch, '{argument.name}'{list(found.where)} is {found.got}, expected {found.wanted}"
                )
    return ""


def measure(
    judge: Judge, submission: Submission, index: int, options: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Ask a timer, which is a new process that knows no results; return its times and the outputs of one launch."""
    shape = judge.problem.shapes[index]
    request = {
        **as_json(Submission(submission.modules, [submission.programs[index]])),
        "arguments": [asdict(each) for each in judge.problem.typed(shape)],
        "shape": {"sizes": dict(shape.sizes), "types": {}, "layout": shape.layout},
        "engine": options.get("engine", "cpu"),
        "rounds": int(options.get("rounds", ROUNDS)),
        "seed": options["seed"],
        "keep": options["keep"],
    }
    root = str(Path(__file__).resolve().parents[3])
    path = os.pathsep.join(dict.fromkeys([root, *filter(None, sys.path)]))
    command = [sys.executable, "-P", "-m", "tilery.judge.timer"]
    try:
        asked = json.dumps(request).encode()
        done = run_program(command, SECONDS, request=asked, env={**os.environ, "PYTHONPATH": path})
    except subprocess.TimeoutExpired:
        raise TileError(f"timing took more than {SECONDS:g} seconds", kind=ErrorKind.TIMEOUT) from None
    answer = io.BytesIO(done.stdout)
    try:
        made: dict[str, Any] = json.loads(answer.readline())
        outputs = {name: np.load(answer, allow_pickle=False) for name in made["outputs"]}
    except ValueError:
        last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        raise TileError(f"the timer died: {''.join(last)[:300]}", kind=ErrorKind.COMPILER_CRASH) from None
    if "error" in made:
        kind = ErrorKind(made["error"]["kind"])
        error = MachineError if kind is ErrorKind.MISSING_TOOL else TileError
        raise error(made["error"]["message"], kind=kind, notes=made["error"]["notes"])
    return made, outputs
