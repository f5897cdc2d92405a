"""Time ten Triton kernels on engine cpu, in Triton's interpreter and in torch; write docs/reports/lab/triton_speed.md.

    python bench/triton_programs.py [--report docs/reports/lab/triton_speed.md] [--only NAME]

All times are processor times of one run, the best of some repetitions, without compilation. The interpreter needs a
process of its own, with TRITON_INTERPRET=1.
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


def collect(args: argparse.Namespace) -> dict[str, dict[str, float]]:
    results = {}
    for how in ("cpu", "interpreter", "torch"):
        env = dict(os.environ, TRITON_INTERPRET="1" if how == "interpreter" else "0", TILERY_THREADS="1")
        command = [sys.executable, __file__, "--child", how, "--only", args.only]
        done = subprocess.run(command, env=env, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{how}: {done.stderr[-3000:]}")
        results[how] = json.loads(done.stdout.strip().splitlines()[-1])
    return results


def page(results: dict[str, dict[str, float]]) -> str:
    lines = [
        "# The speed of Triton kernels",
        "",
        f"`bench/triton_programs.py` wrote this page, with Triton {version('triton')} and torch {version('torch')}.",
        "Each time is processor time of one launch in milliseconds, the best of several, without compilation; the",
        "interpreter (`TRITON_INTERPRET=1`) ran each kernel once after a first run. Results were compared with torch.",
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
        "",
        "## Not measured",
        "",
        "Compilation: Triton's frontend, the translation and LLVM take about a second for a kernel, once. Several",
        "threads: torch has one here, and processor time adds up those of the engine. GPUs.",
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--report", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--child", choices=["cpu", "interpreter", "torch"])
    args = parser.parse_args()
    if args.child:
        print(json.dumps(measure(args.child, args.only)))
        return 0
    text = page(collect(args))
    if args.report:
        args.report.write_text(text, "utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
