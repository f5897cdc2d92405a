"""Time a submission in a process of its own, and refuse times that no machine can reach."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from ...child import run_program
from ...cost.gpus import find_gpu
from ...diag import ErrorKind, TileError
from ..memory import OFFSET, span_of, strides_of
from ..program import Submission, as_json
from ..values import storage

if TYPE_CHECKING:
    from ..judging import Judge

HEADROOM = 1.5
"""How many times the measured or published bandwidth a result may reach: caches keep a little, clocks are imprecise."""
SECONDS = 300.0


def time_submission(judge: Judge, submission: Submission, options: dict[str, Any]) -> dict[str, Any]:
    """Return median and spread for the last shape of a problem, and the floor; `impossible` says why it is refused."""
    index = int(options.get("shape", len(judge.problem.shapes) - 1))
    found = measure(judge, submission, index, options)
    shape = judge.problem.shapes[index]
    times = sorted(found["seconds"])
    middle = median(times)
    quarter = len(times) // 4
    arrays = [each for each in judge.problem.typed(shape) if each.is_array and not each.unused]
    moved = 0
    for each in arrays:
        extents = judge.problem.extents(each, shape)
        count = storage(each).itemsize
        for n in extents:
            count *= n
        moved += count * (each.is_read + each.is_written)
    bandwidth = 1e9 * find_gpu(options["gpu"]).bandwidth if options.get("gpu") else found["bandwidth"]
    floor = moved / bandwidth / HEADROOM
    made: dict[str, Any] = {
        "engine": found["engine"], "shape": shape.name, "launches": len(times), "median": middle,
        "spread": [times[quarter], times[-1 - quarter]], "bytes": moved, "bandwidth": bandwidth, "floor": floor,
        "clock": found["clock"],
    }  # fmt: skip
    if middle < floor:
        made["impossible"] = (
            f"the median of {middle:.3g} s is below {floor:.3g} s, the least time in which this machine moves "
            f"{moved} bytes"
        )
    if judge.kernel is not None:
        other = measure(judge, judge.kernel.submission, index, options)
        made["reference"] = median(other["seconds"])
        made["speedup"] = made["reference"] / middle
    return made


def measure(judge: Judge, submission: Submission, index: int, options: dict[str, Any]) -> dict[str, Any]:
    """Ask a timer, which is a new process that knows no results."""
    shape = judge.problem.shapes[index]
    arrays = []
    for each in judge.problem.typed(shape):
        if each.is_array:
            extents = judge.problem.extents(each, shape)
            size = span_of(extents, strides_of(extents, shape.layout)) * storage(each).itemsize
            offset = OFFSET * storage(each).itemsize if shape.layout == "offset" else 0
            element = each.element
            kind = element.name if element.is_float else "int"
            arrays.append(
                {"name": each.name, "size": size, "offset": offset, "kind": kind, "high": _top(each, shape.sizes)}
            )
    request = {
        **as_json(Submission(submission.modules, [submission.programs[index]])),
        "arrays": arrays,
        "engine": options.get("engine", "cpu"),
        "rounds": int(options.get("rounds", 15)),
        "seed": judge.salt % (1 << 32),
    }
    command = [sys.executable, "-P", "-m", "tilery.judge.timer"]
    root = str(Path(__file__).resolve().parents[3])
    return _asked(command, request, root)


def _top(argument: Any, sizes: Any) -> int:
    from ..expressions import evaluate

    if argument.high is None:
        return 100
    return evaluate(argument.high, sizes) if isinstance(argument.high, str) else int(argument.high)


def _asked(command: list[str], request: dict[str, Any], root: str) -> dict[str, Any]:
    import os
    import tempfile

    path = os.pathsep.join(dict.fromkeys([root, *filter(None, sys.path)]))
    with tempfile.TemporaryDirectory(prefix="tilery-judge-") as folder:
        file = Path(folder) / "request.json"
        file.write_text(json.dumps(request))
        try:
            done = run_program([*command, str(file)], SECONDS, env={**os.environ, "PYTHONPATH": path})
        except subprocess.TimeoutExpired:
            raise TileError(f"timing took more than {SECONDS:g} seconds", kind=ErrorKind.TIMEOUT) from None
    try:
        made: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        raise TileError(f"the timer died: {''.join(last)[:300]}", kind=ErrorKind.COMPILER_CRASH) from None
    if "error" in made:
        raise TileError(made["error"]["message"], kind=ErrorKind(made["error"]["kind"]))
    return made
