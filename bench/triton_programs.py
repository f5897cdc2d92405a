"""Time Triton kernels on engine cpu, in Triton's interpreter, in torch and against cuTile.

    python bench/triton_programs.py [--report docs/reports/lab/triton_speed.md] [--only NAME] [--rounds 3]

All times are processor times on one core, the best of some repetitions, without compilation. Each way has processes of
its own; those of Triton and cuTile take turns. The interpreter needs TRITON_INTERPRET=1.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unittest.mock import patch

REPEAT = 0.5
"""Seconds of processor time in which a launch is repeated."""


def best(call: Callable[[], Any]) -> float:
    """Return the least processor time of a call; it is called at least once, and once before."""
    call()
    times: list[float] = []
    while not times or sum(times) < REPEAT:
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
        if sum(times) > REPEAT or len(times) >= 200:
            break
    return min(times)


def measure(how: str, only: str) -> dict[str, float]:
    """Time all kernels one way."""
    import torch

    from triton_kernels import cases

    torch.set_num_threads(1)
    found = {}

    def one(name: str, kernel: Callable[[], Any], plain: Callable[[], Any], tolerance: float) -> None:
        if only not in name:
            return
        if how == "torch":
            found[name] = best(plain)
            return
        result, wanted = kernel(), plain()
        torch.testing.assert_close(result, wanted, atol=tolerance or 1e-6, rtol=tolerance or 1e-6)
        if how == "interpreter":  # once is enough: it takes seconds
            start = time.process_time()
            kernel()
            found[name] = time.process_time() - start
        else:
            found[name] = best(kernel)

    if how == "cpu":
        import tilery.triton

        with tilery.triton.on("cpu"):
            for case in cases("cuda"):
                one(*case)
    else:
        for case in cases("cpu"):
            one(*case)
    return found


def measure_twins(how: str, only: str) -> dict[str, float]:
    """Time the kernels that are written in Triton and in cuTile, in one of them: whole launches, and the kernel."""
    import torch

    import tilery.cutile
    import tilery.triton
    from tilery.engines.cpu.native import pool
    from triton_patterns import patterns
    from triton_twins import twins
    from triton_unseen import unseen

    torch.set_num_threads(1)
    found = {}
    taken = [0.0]
    run = pool.Pool.run

    def timed(*values: Any) -> int:
        start = time.process_time()
        result = run(*values)
        taken[0] += time.process_time() - start
        return result

    front_end = tilery.triton if how == "triton" else tilery.cutile
    with patch.object(pool.Pool, "run", timed), front_end.on("cpu"):
        for name, in_triton, in_cutile, plain, tolerance in (*twins(), *patterns(), *unseen()):
            if only not in name:
                continue
            call = in_triton if how == "triton" else in_cutile
            torch.testing.assert_close(call(), plain(), atol=tolerance, rtol=tolerance)
            times: list[float] = []
            kernels: list[float] = []
            while sum(times) < REPEAT and len(times) < 300:
                taken[0] = 0.0
                start = time.process_time()
                call()
                times.append(time.process_time() - start)
                kernels.append(taken[0])
            found[name], found[f"{name}, kernel"] = min(times), min(kernels)
    return found


def collect(args: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Run each way in processes of its own; keep the best time of each kernel."""
    results: dict[str, dict[str, float]] = {}
    for how in ("cpu", "interpreter", "torch", *("triton", "cutile") * args.rounds):
        env = dict(os.environ, TRITON_INTERPRET="1" if how == "interpreter" else "0")
        command = [sys.executable, __file__, "--child", how, "--only", args.only]
        done = subprocess.run(command, env=env, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{how}: {done.stderr[-3000:]}")
        before = results.setdefault(how, {})
        for name, taken in json.loads(done.stdout.strip().splitlines()[-1]).items():
            before[name] = min(taken, before.get(name, taken))
    return results


def page(results: dict[str, dict[str, float]]) -> str:
    lines = [
        "# The speed of Triton kernels",
        "",
        f"`bench/triton_programs.py` wrote this page, with Triton {version('triton')} and torch {version('torch')}.",
        "Each time is processor time of one launch on one core in milliseconds, the best of several, without",
        "compilation; the interpreter (`TRITON_INTERPRET=1`) ran each kernel once after a first run. Results were",
        "compared with torch.",
        "",
        "| kernel | engine cpu | interpreter | torch | interpreter / cpu | cpu / torch |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    ratios = []
    for name, taken in results["cpu"].items():
        slow, torch_time = results["interpreter"][name], results["torch"][name]
        ratios.append(slow / taken)
        cells = [f"{1e3 * t:.3f}" for t in (taken, slow, torch_time)]
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {slow / taken:.0f} | {taken / torch_time:.1f} |")
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    lines += [
        "",
        f"The geometric mean of interpreter / cpu is {mean:.0f}.",
        *about_twins(results),
        "",
        "## Not measured",
        "",
        "Compilation: Triton's frontend, the translation and LLVM take about a second for a kernel, once, and two or",
        "three for a kernel in several forms. Several threads. GPUs. Other programs ran on the machine at the same",
        "time, and kernels that wait for memory took up to three times as long as in other hours.",
    ]
    return "\n".join(lines) + "\n"


def about_twins(results: dict[str, dict[str, float]]) -> list[str]:
    """Return the part of the page about kernels that are written in both languages."""
    import triton_patterns
    import triton_unseen
    from triton_patterns import KNOWN_PATTERNS, PATTERNS
    from triton_twins import HELD_OUT, NAMES
    from triton_unseen import UNSEEN

    first_look = triton_patterns.FIRST_LOOK | triton_unseen.FIRST_LOOK
    held = {*HELD_OUT, *PATTERNS, *UNSEEN} - {*KNOWN_PATTERNS, *WORKED_ON}
    lines = [
        "",
        "## Against cuTile",
        "",
        "The same kernels in Triton and in cuTile, on engine cpu: kernels of every day (`bench/triton_twins.py`; four",
        "of the first ten were held out, chosen by a seed before the first measurement), ways to address memory",
        "(`bench/triton_patterns.py`; nine held out), and four that were written before the rules about elements that",
        "are never stored and about the order of dimensions, and are only run to report (`bench/triton_unseen.py`).",
        f"Held out at first and worked on since: {', '.join(WORKED_ON)}. `kernel` is the time in compiled code,",
        "without the launch: the frontends' own work, and the checks of arguments. `before` is the ratio of kernels",
        "before the first rule for such patterns.",
        "",
        "| kernel | Triton | cuTile | Triton / cuTile | kernel, Triton | kernel, cuTile | Triton / cuTile | before |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    ratios: dict[bool, list[tuple[float, str]]] = {False: [], True: []}
    for name in (*NAMES, *PATTERNS, *UNSEEN):
        if name not in results["triton"]:
            continue
        whole = results["triton"][name], results["cutile"][name]
        kernel = results["triton"][f"{name}, kernel"], results["cutile"][f"{name}, kernel"]
        ratios[name in held].append((max(whole[0] / whole[1], kernel[0] / kernel[1]), name))
        cells = [f"{1e3 * a:.3f} | {1e3 * b:.3f} | {a / b:.2f}" for a, b in (whole, kernel)]
        first = f"{first_look[name]:.2f}" if name in first_look else ""
        lines.append(f"| {name}{' (held out)' if name in held else ''} | " + " | ".join(cells) + f" | {first} |")
    lines.append("")
    for label, some in (("known", ratios[False]), ("held-out", ratios[True])):
        slow = [f"{name} {ratio:.2f}" for ratio, name in some if ratio > 1.2]
        rest = f"; the others: {', '.join(slow)}." if slow else "."
        lines.append(f"Of {len(some)} {label} kernels {len(some) - len(slow)} are within 1.2 times cuTile's{rest}")
    return [*lines, *FINDINGS]


WORKED_ON = ("matmul", "grouped matmul", "transpose", "block sparse", "linear, transposed weight")
"""Kernels that were held out, until rules were written for them."""
FINDINGS = [
    "",
    "A product that takes positions modulo the size of a matrix no longer reads what it never stores, so it needs one",
    "form. Positions that are computed from loaded numbers are compared with a limit, and the kernel has two forms.",
    "Softmax of columns loads a tile with its neighbours last, permutes it and reduces it; the loops of engine cpu",
    "follow the permuted order, in which a vector has no neighbours. Why expert rows take longer than their twin was",
    "not looked at.",
]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--report", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--redraw", action="store_true", help="write the report from the numbers beside it")
    parser.add_argument("--rounds", type=int, default=3, help="processes for each of Triton and cuTile")
    parser.add_argument("--child", choices=["cpu", "interpreter", "torch", "triton", "cutile"])
    args = parser.parse_args()
    if args.child:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        found = (measure_twins if args.child in ("triton", "cutile") else measure)(args.child, args.only)
        print(json.dumps(found))
        return 0
    numbers = args.report.with_suffix(".json") if args.report else None
    if args.redraw and numbers:
        results = json.loads(numbers.read_text("utf-8"))
    else:
        results = collect(args)
    text = page(results)
    if args.report and numbers:
        numbers.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
        args.report.write_text(text, "utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
