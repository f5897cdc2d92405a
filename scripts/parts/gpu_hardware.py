"""Kernels that a GPU has run before, run again through an engine.

The answers take more room than some machines accept. `slim` writes a folder with digests in their place: what differs
is then carried back by the result, and judged where the answers are.
"""

from __future__ import annotations

import base64
import hashlib
import json
import lzma
import shutil
import sys
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import hardware_report
import tilery
from parts import gpu_reasons
from parts.gpu_page import DIFFERENT, NANS, PRINTS, SAME, Result
from tilery.engines.common.limits import Limits
from tilery.engines.semantics import same_bits
from tilery.ir import walk

DIGESTS = "digests.json"


@cache
def answers(folder: str) -> Any:
    """Return the cases, inputs and answers of a folder."""
    sys.path.insert(0, folder)
    from hardware import Hardware  # type: ignore[import-not-found]  # from FOLDER

    return Hardware(folder)


@cache
def _digests(folder: str) -> dict[str, list[list[Any]]] | None:
    path = Path(folder, DIGESTS)
    found: dict[str, list[list[Any]]] | None = json.loads(path.read_text("utf-8")) if path.exists() else None
    return found


def digest(array: Any) -> str:
    return hashlib.sha256(array.tobytes()).hexdigest()[:24]


def slim(folder: Path, target: Path) -> None:
    """Write the cases and inputs of a folder to another one, with digests of the answers."""
    target.mkdir(parents=True)
    hw = answers(str(folder.resolve()))
    for name in ("hardware.py", "cases.json.xz", "inputs.bin.xz", "inputs.index.json"):
        shutil.copyfile(folder / name, target / name)
    (target / "outputs.index.json").write_text("{}", "utf-8")
    with lzma.open(target / "outputs.bin.xz", "wb"):
        pass
    found = {name: [[len(a), digest(a)] for a in hw.outputs(name)] for name in hw.cases}
    (target / DIGESTS).write_text(json.dumps(found), "utf-8")


def run(name: str, load: Callable[[Any], Any], folder: str) -> Result:
    """Run a case, and judge it as far as the folder allows."""
    hw = answers(folder)
    case = hw.cases[name]
    module = tilery.parse(case["module"])
    loose = not all(same_bits(o) for o in walk(module))
    args, buffers = hardware_report.arguments(hw, name)
    grid = case["grid"]
    if case["subset"]:
        grid = [max((len(b) for b in buffers), default=hardware_report.TILE) // hardware_report.TILE, 1, 1]
    printed: list[str] = []
    load(module).kernel().launch(grid, args, output=printed.append, limits=Limits(seconds=20.0))
    if "stdout" in case:
        return judge_text(case, "".join(printed), loose)
    memory = [b for p, b in zip([p for p in case["params"] if p["kind"] != "val"], buffers) if "output" in p]
    known = _digests(folder)
    if known is None:
        return judge(hw, name, memory, loose)
    memory = [mine[:length] for mine, (length, _) in zip(memory, known[name])]
    if [digest(mine) for mine in memory] == [wanted for _, wanted in known[name]]:
        return Result("", "", SAME, loose, "", case["op"])
    data = zlib.compress(b"".join(mine.tobytes() for mine in memory), 9)
    return Result("", "", DIFFERENT, loose, "", case["op"], data=base64.b64encode(data).decode())


def judge_text(case: dict[str, Any], text: str, loose: bool) -> Result:
    """Compare what a kernel printed; a GPU runs tile blocks in any order, and each of them prints whole lines."""
    if text == case["stdout"]:
        return Result("", "", SAME, loose, "", case["op"])
    same_lines = sorted(text.splitlines()) == sorted(case["stdout"].splitlines())
    return Result("", "", PRINTS if same_lines else DIFFERENT, loose, repr(text[:200]), case["op"])


def judge(hw: Any, name: str, memory: list[Any], loose: bool) -> Result:
    """Compare what a kernel left in memory with the answers."""
    case = hw.cases[name]
    verdict = hardware_report.Verdict(name, case["op"], case["group"])
    outputs = [p for p in case["params"] if "output" in p]
    # Bytes that differed between two runs on the GPU (old values of conflicting atomics) have no single answer.
    unstable = case.get("unstable_bytes") or [0] * len(outputs)
    for param, mine, theirs, varies in zip(outputs, memory, hw.outputs(name), unstable):
        if not varies:
            hardware_report.compare(verdict, param, mine[: len(theirs)], theirs)
    outcome = SAME if not verdict.differ else NANS if verdict.nans == verdict.differ else DIFFERENT
    text = f"{verdict.differ} of {verdict.total}, at most {verdict.steps:g} steps" if verdict.differ else ""
    why = gpu_reasons.reason(gpu_reasons.Case(hw, name, memory)) if outcome == DIFFERENT else ""
    return Result("", "", outcome, loose, text, case["op"], reason=why)


def judge_later(result: dict[str, Any], folder: str) -> dict[str, Any]:
    """Return a result, judged now if it carries the memory that a kernel left, and with the reason of a difference."""
    kind, _, name = result["case"].partition(":")
    if kind != "hardware" or result["outcome"] != DIFFERENT:
        return result
    hw = answers(folder)
    if not result["data"]:  # it printed other text
        return {**result, "reason": gpu_reasons.reason(gpu_reasons.Case(hw, name, []))}
    judged = judge(hw, name, _carried(hw, name, result["data"]), result["loose"])
    return {**result, "outcome": judged.outcome, "text": judged.text, "reason": judged.reason, "data": ""}


def _carried(hw: Any, name: str, data: str) -> list[Any]:
    """The memory that a result carries, one array for each output."""
    raw, at, memory = zlib.decompress(base64.b64decode(data)), 0, []
    for theirs in hw.outputs(name):
        memory.append(np.frombuffer(raw, theirs.dtype, len(theirs), at))
        at += theirs.nbytes
    return memory
