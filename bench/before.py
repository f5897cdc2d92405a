"""Compare the code that engine cpu makes with that of another checkout.

    python bench/before.py CHECKOUT [--only NAME] [--rounds 3] [--known | --held-out]
                           [--report docs/reports/lab/before.md]

Times are processor times in compiled code on one core, the least of many launches. The two take turns in processes of
their own, so that other work on the machine hits both. A third of the kernels is held out: their code is not looked at
and no pass is changed for them; `--known` leaves them out. Commit 2ce97b02 is the last with another emitter, which
`TILERY_CPU_EMITTER=old` chooses there.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

HERE = Path(__file__).parents[1]
SIX = (
    *("vadd", "gelu", "softmax", "layernorm", "gemm", "attention"),
    *(f"{name}, 16 mod 64" for name in ("vadd", "gelu", "softmax", "layernorm")),
)
"""The six of `run`, on arrays that begin at a cache line, as those of torch do, or not, as large ones of NumPy."""
MORE = ("transpose", "FFT", "histogram", "bf16 GEMM", "int8 GEMM", "grouped GEMM", "experts")
TRITON = (
    *("add", "gelu", "softmax", "layer norm", "cross entropy"),
    *("rope", "matmul f32", "matmul f16", "attention", "cumsum"),
)
TWINS = (
    *("vector add", "softmax", "layer norm", "layer norm backward", "matmul"),
    *("attention", "rms norm", "cross entropy", "swiglu", "dropout"),
)
UNSEEN = random.Random(1117).sample(sorted(TWINS), 4)
HELD_OUT = frozenset(
    [f"{way}: {name}" for way in ("twin", "triton twin") for name in UNSEEN]
    + [f"cutile: {name}" for name in random.Random(32).sample(sorted(MORE), 2)]
    + [f"triton: {name}" for name in random.Random(32).sample(sorted(TRITON), 4)]
)
"""Cases that are only run to report; the twins are those that `triton_twins` holds out."""
SECONDS = 0.4
"""Of processor time in which a kernel is launched again and again."""


def programs(args: argparse.Namespace) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield names of kernels and functions that launch them."""

    def chosen(full: str) -> bool:
        return args.only in full and not (args.held_out if full not in HELD_OUT else args.known)

    makers = {"six": (SIX, six), "cutile": (MORE, more), "triton": (TRITON, triton)}
    makers |= {"twin": (TWINS, lambda: twins(1)), "triton twin": (TWINS, lambda: twins(0))}
    for kind, (names, make) in makers.items():
        if any(chosen(f"{kind}: {name}") for name in names):
            for name, call in make():
                if chosen(f"{kind}: {name}"):
                    yield f"{kind}: {name}", call


def six() -> Iterator[tuple[str, Callable[[], Any]]]:
    import tilery
    from cases import HERE, Sizes, cases
    from run import aligned

    for case in cases(Sizes(edge=512, heads=2)):
        kernel = tilery.compile(tilery.parse((HERE / "kernels" / f"{case.name}.mlir").read_text()), engine="cpu")
        for offset, name in ((0, case.name), (16, f"{case.name}, 16 mod 64")):
            if name in SIX:
                values = [aligned(x, offset) for x in case.args]
                yield name, partial(kernel.launch, case.grid, values, convention="cutile")


def more() -> Iterator[tuple[str, Callable[[], Any]]]:
    import more_kernels
    import tilery
    import tilery.cutile
    from more import cases

    for title, case in cases(False).items():
        name = next(name for name in MORE if title.startswith(name))
        module = tilery.cutile.module(getattr(more_kernels, case.kernel), [*case.arrays, *case.constants])
        kernel = tilery.compile(module, engine="cpu")
        yield name, partial(kernel.launch, case.grid, case.arrays, convention="cutile")


def triton() -> Iterator[tuple[str, Callable[[], Any]]]:
    import tilery.triton
    from triton_kernels import cases

    with tilery.triton.on("cpu"):
        for name, call, _, _ in cases("cuda"):
            yield name, call


def twins(which: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    import tilery.cutile
    import tilery.triton
    from triton_twins import twins

    with (tilery.cutile if which else tilery.triton).on("cpu"):
        for name, *calls, _, _ in twins():
            yield name, calls[which]


def measure(args: argparse.Namespace) -> dict[str, float]:
    """Return the milliseconds of each kernel in compiled code."""
    from tilery.engines.cpu.native import pool

    taken = [0.0, 0]
    run = pool.Pool.run

    def timed(*values: Any) -> int:
        start = time.process_time()
        result = run(*values)
        taken[0] += time.process_time() - start
        taken[1] += 1
        return result

    found = {}
    with patch.object(pool.Pool, "run", timed):
        for name, call in programs(args):
            taken[:] = [0.0, 0]
            call()
            if not taken[1]:
                raise SystemExit(f"{name}: the reference engine ran it")
            times: list[float] = []
            start = time.process_time()
            while len(times) < 5 or (time.process_time() - start < SECONDS and len(times) < 1000):
                taken[0] = 0.0
                call()
                times.append(taken[0])
            found[name] = 1e3 * min(times)
    return found


def collect(args: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Let processes of both take turns; return the least milliseconds by kernel and checkout."""
    found: dict[str, dict[str, float]] = {}
    for _ in range(args.rounds):
        for way, checkout in (("before", args.checkout), ("now", HERE)):
            env = {**os.environ, "PYTHONPATH": str(checkout.resolve() / "src")}
            command = [sys.executable, __file__, str(checkout), "--child", "--only", args.only]
            command += ["--known"] * args.known + ["--held-out"] * args.held_out
            done = subprocess.run(command, env=env, capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(f"{way}: {done.stderr[-3000:]}")
            for name, ms in json.loads(done.stdout.splitlines()[-1]).items():
                row = found.setdefault(name, {})
                row[way] = min(ms, row.get(way, ms))
    return found


def page(found: dict[str, dict[str, float]], checkout: Path) -> str:
    """Render the results."""
    from tilery.engines.cpu.native.compiler import host

    command = ["git", "-C", str(checkout), "rev-parse", "--short=8", "HEAD"]
    commit = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    emitter = os.environ.get("TILERY_CPU_EMITTER")
    lines = [
        "# The code of engine cpu before and now",
        "",
        "`bench/before.py` wrote this page. Milliseconds of the processor in compiled code on one core",
        f"({host().cpu}), the least of many launches; other programs ran on the machine. Processes of both take turns.",
        f"Before: commit {commit}" + (f" with `TILERY_CPU_EMITTER={emitter}`." if emitter else "."),
        "",
        "| kernel | before | now | ratio |",
        "|---|--:|--:|--:|",
    ]
    ratios: dict[str, list[float]] = {"known": [], "held-out": []}
    for name, row in found.items():
        ratio = row["now"] / row["before"]
        ratios["held-out" if name in HELD_OUT else "known"].append(ratio)
        held = " (held out)" * (name in HELD_OUT)
        lines.append(f"| {name}{held} | {row['before']:.3f} | {row['now']:.3f} | {ratio:.2f} |")
    lines.append("")
    for kind, some in ratios.items():
        if some:
            mean = math.exp(sum(map(math.log, some)) / len(some))
            within = sum(ratio <= 1.03 for ratio in some)
            lines.append(f"{len(some)} {kind} kernels: geometric mean {mean:.2f}, worst {max(some):.2f}, ")
            lines[-1] += f"{within} within 1.03."
    lines += ["", "## Not measured", "", "Several threads, other processors, and compilation."]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("checkout", type=Path, help="another checkout")
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--known", action="store_true", help="leave out what is held out")
    parser.add_argument("--held-out", action="store_true", help="only what is held out")
    parser.add_argument("--report", type=Path, metavar="FILE.md")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        print(json.dumps(measure(args)))
        return 0
    text = page(collect(args), args.checkout)
    if args.report:
        args.report.write_text(text, "utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
