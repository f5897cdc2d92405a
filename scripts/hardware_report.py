"""Run kernels that a GPU has run, compare their results bit for bit, and write docs/reports/lab/hardware.md.

    python scripts/hardware_report.py FOLDER [--group conv] [--case NAME] [-v] [--output docs/reports/lab/hardware.md]

FOLDER holds the cases, their inputs, the outputs of the GPU, and `hardware.py`, which reads them.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import checkout
import tilery
from tilery.engines.semantics import SEMANTICS
from tilery.floats.formats import is_nan
from tilery.types import SCALARS

TILE = 1024
"""The tile size of element-wise cases. Where only some elements are kept, arrays are padded to whole tiles."""


@dataclass
class Verdict:
    """The result of a case: how many elements differ, and the largest difference in steps of the type."""

    name: str
    op: str
    group: str
    differ: int = 0
    total: int = 0
    nans: int = 0
    """Of those that differ: both sides are NaN, with different bits."""
    steps: float = 0.0
    element: str = ""
    """The element type of the output that differs."""
    mode: str = ""
    error: str = ""
    examples: list[str] = field(default_factory=list)


def run_case(hw: Any, name: str) -> Verdict:
    """Run one case and compare every output."""
    case = hw.cases[name]
    mode = " ".join(f"{key}={value}" for key, value in case["attrs"].items())
    verdict = Verdict(name, case["op"], case["group"], mode=mode)
    printed: list[str] = []
    try:
        kernel = tilery.compile(tilery.parse(case["module"]))
        args, buffers = arguments(hw, name)
        grid = case["grid"]
        if case["subset"]:
            grid = [max((len(b) for b in buffers), default=TILE) // TILE, 1, 1]
        kernel.launch(grid, args, output=printed.append)
    except tilery.TileError as error:
        verdict.error = str(error).splitlines()[0]
        return verdict
    except Exception as error:  # a bug of ours, which the report must show
        verdict.error = f"{type(error).__name__}: {error}"
        return verdict
    if "stdout" in case:
        verdict.total = 1
        verdict.differ = int("".join(printed) != case["stdout"])
        verdict.examples = [repr("".join(printed)), repr(case["stdout"])] if verdict.differ else []
        return verdict
    outputs = [p for p in case["params"] if "output" in p]
    results = [b for p, b in zip([p for p in case["params"] if p["kind"] != "val"], buffers) if "output" in p]
    unstable = case.get("unstable_bytes") or [0] * len(outputs)
    for param, mine, theirs, varies in zip(outputs, results, hw.outputs(name), unstable):
        # Bytes that differed between two runs on the GPU (old values of conflicting atomics) have no single answer.
        if not varies:
            compare(verdict, param, mine[: len(theirs)], theirs)
    return verdict


def arguments(hw: Any, name: str) -> tuple[list[Any], list[Any]]:
    """Return the arguments of a launch, and the buffers among them."""
    case, args, buffers = hw.cases[name], [], []
    for param, given in zip(case["params"], hw.arguments(name)):
        if given[0] == "val":
            args.append(given[1])
            continue
        if given[0] == "out":
            array = np.zeros(param.get("kept", given[1]), given[2])
        else:
            array = given[1].copy()
        if case["subset"]:
            array = np.concatenate([array, np.zeros(-len(array) % TILE, array.dtype)])
        args.append(array)
        buffers.append(array)
    return args, buffers


def compare(verdict: Verdict, param: dict[str, Any], mine: Any, theirs: Any) -> None:
    where = np.flatnonzero(mine != theirs)
    verdict.total += len(theirs)
    verdict.differ += len(where)
    element = SCALARS[param["elem"]]
    if element.is_float:
        both = [
            is_nan(element, bits_of(element, mine[i])) and is_nan(element, bits_of(element, theirs[i])) for i in where
        ]
        verdict.nans += sum(both)
        where = where[~np.array(both, bool)]
        gap = np.abs(ordered(mine[where]) - ordered(theirs[where]))
        verdict.steps = max(verdict.steps, float(gap.max()) if len(gap) else 0.0)
        verdict.element = element.name
    verdict.examples += [f"[{i}] got {mine[i]:#x} wanted {theirs[i]:#x}" for i in where[:3]]


def bits_of(element: Any, word: Any) -> int:
    """Return the bits of an element; in memory tf32 occupies the upper bits of a word."""
    return int(word) >> 13 if element.name == "tf32" else int(word) & ((1 << element.bits) - 1)


def ordered(bits: Any) -> Any:
    """Map floats to integers in the same order, so that neighbours differ by one."""
    top = 1 << (8 * bits.itemsize - 1)
    wide = bits.astype(object)
    return np.array([b if b < top else top - b for b in wide], object)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--group", action="append")
    parser.add_argument("--case", action="append")
    parser.add_argument("--op", action="append")
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()
    sys.path.insert(0, str(args.folder))
    from hardware import Hardware  # type: ignore[import-not-found]  # from FOLDER

    hw = Hardware(str(args.folder))
    names = [
        name
        for name, case in hw.cases.items()
        if (not args.group or case["group"] in args.group)
        and (not args.case or name in args.case)
        and (not args.op or case["op"] in args.op)
    ]
    start = time.perf_counter()
    verdicts = [run_case(hw, name) for name in names]
    checkout.publish(report(verdicts), args.output)
    sys.stderr.write(f"{len(verdicts)} cases in {time.perf_counter() - start:.0f} s\n")
    if args.verbose:
        for v in verdicts:
            if v.differ or v.error:
                print(f"{v.name}: {v.differ}/{v.total} differ ({v.nans} NaN), {v.steps:g} steps {v.error}")
                print("    " + "; ".join(v.examples[:3]))
    return 0


def report(verdicts: list[Verdict]) -> str:
    groups: dict[tuple[str, str], list[Verdict]] = defaultdict(list)
    for v in verdicts:
        groups[v.group, v.op].append(v)
    lines = ["| group | op | cases | bit-equal | equal except for NaN bits | largest difference, steps | errors |"]
    lines.append("|---|---|--:|--:|--:|--:|--:|")
    for (group, op), cases in sorted(groups.items()):
        equal = sum(not v.differ and not v.error for v in cases)
        nearly = sum(v.differ == v.nans and not v.error for v in cases)
        worst = max(v.steps for v in cases)
        errors = sum(bool(v.error) for v in cases)
        lines.append(f"| {group} | {op} | {len(cases)} | {equal} | {nearly} | {worst:g} | {errors} |")
    equal = sum(not v.differ and not v.error for v in verdicts)
    head = [
        "# Small kernels on a GPU",
        "",
        checkout.fill(
            "`scripts/hardware_report.py` wrote this page. NVIDIA's compiler built small kernels for an H200, which "
            "ran there. The reference engine ran them again, and memory and printed text were compared bit for bit. "
            f"{equal:,} of {len(verdicts):,} cases are equal."
        ),
        "",
    ]
    different = sorted({op for (_, op), cases in groups.items() if any(v.differ or v.error for v in cases)})
    tail = ["", "## Why some differ", "", *(f"* `{op}`: {why(op)}" for op in different)]
    return "\n".join([*head, *lines, *largest(verdicts), *(tail if different else []), "", *NOT_MEASURED])


def largest(verdicts: list[Verdict]) -> list[str]:
    """List the element-wise float cases with a difference, by type and mode."""
    lines = [
        "",
        "## Largest differences of element-wise operations",
        "",
        "Steps are units in the last place of the type.",
        "",
    ]
    lines += ["| op | type | attributes | steps |", "|---|---|---|--:|"]
    rows = {(v.op, v.element, v.mode): v.steps for v in verdicts if v.steps and v.group.startswith("float")}
    return lines + [f"| {op} | {element} | {mode} | {steps:g} |" for (op, element, mode), steps in sorted(rows.items())]


NOT_MEASURED = """\
## Not measured

One GPU (H200) and one compiler (tileiras 13.4.92). sm_90 does not have f8E8M0FNU, f4E2M1FN and fnv8E5M3FNU, so there
are no cases for them, nor for `mmaf_scaled`. Wide types are sampled: the largest difference that was seen is not a
bound for all inputs.""".splitlines()


def why(op: str) -> str:
    """Return what the table of semantics says about an operation that is not exact or not defined."""
    for cls, row in SEMANTICS.items():
        if op in (cls.opdef.mnemonic, cls.opdef.formerly) or cls.opdef.mnemonic == {"pow": "fpowf"}.get(op):
            return "should not differ" if row.text == "exact" else row.text
    return ""


if __name__ == "__main__":
    sys.exit(main())
