"""Time kernels on a GPU by the judge's timing stage and by the method of `bench/gpu.py`, round by round in turn.

    python scripts/judging/gpu_timing.py run RESULTS.json [--only TEXT] [--rounds 11] [--workers 10] [--minutes 1]
    python scripts/judging/gpu_timing.py compile          the kernels for sm_90, without a GPU

Each kernel has a process of its own: inputs are drawn side by side, and one process at a time uses the GPU. All series
launch the same machine code, which the rules of engine `gpu` choose, on the same memory. Each method has two series, so
that the page can tell how far it differs from itself; a further one is the stage on one copy of the memory, where what
fits stays in the cache, as it does for `bench/gpu.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import checkout  # noqa: F401  # lets Python find tilery
from judging.parts import HERE
from tilery.engines.cuda.driver import open_driver
from tilery.engines.cuda.timing import interleaved, screened
from tilery.judge import Judge, Problem, parse_problem
from tilery.judge.candidates import compile_source
from tilery.judge.device import DeviceProgram, bound_to_copies, drawn_copies
from tilery.judge.program import CandidateProgram
from tilery.judge.stages.executing import LoadedSubmission, load
from tilery.judge.starting import start
from tilery.judge.timer import alone, inputs_of

ENGINE = "gpu"
SEED = 1
LIMIT = 5.0


@dataclass(frozen=True, slots=True)
class Timed:
    """A kernel to time."""

    name: str
    signature: str
    sizes: str
    reference: str
    text: str

    def problem(self) -> Problem:
        """Return the problem with the one shape that is timed."""
        head = start(self.signature, f"references.py::{self.reference}").partition("# Small shapes")[0]
        return parse_problem(f"{head}[[cases]]\nsizes = [{{ {self.sizes} }}]\n", HERE)


def kernels() -> list[Timed]:
    """Return the kernels of `timed.txt`."""
    text = HERE.with_name("timed.txt").read_text("utf-8")
    found = []
    for part in re.split(r"^=== ", text, flags=re.MULTILINE)[1:]:
        head, _, body = part.partition("\n")
        name, signature, sizes, reference = head.split(" | ")
        found.append(Timed(name, signature, sizes, reference, body))
    return found


# ---------------------------------------------------------------- one of them

BENCH, STAGE, WARM = "bench", "stage", "stage on one copy"
AGAIN = " again"


def bench(made: DeviceProgram) -> Iterator[float]:
    """Yield the seconds of a launch in each round, as `bench/gpu.py` measures them: on the same memory each time."""
    launch = made.launches[0]
    estimate = screened(made.driver, launch, limit=LIMIT)
    while True:
        yield interleaved(made.driver, {0: (launch, estimate)}, rounds=1)[0][0]


def in_turn(made: DeviceProgram, rounds: int) -> dict[str, list[float]]:
    """Time one round of each series, and again, each time from another one on."""
    series: dict[str, Iterator[float]] = {BENCH: bench(made), BENCH + AGAIN: bench(made)}
    series |= {name: made.rounds(rounds, LIMIT) for name in (STAGE, STAGE + AGAIN)}
    series[WARM] = made.rounds(rounds, LIMIT, copies=1)
    found: dict[str, list[float]] = {name: [] for name in series}
    names = list(series)
    for number in range(rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            found[name].append(next(series[name]))
    return found


def one(name: str, rounds: int) -> dict[str, Any]:
    """Time a kernel by all series."""
    timed = next(each for each in kernels() if each.name == name)
    problem = timed.problem()
    shape = problem.shapes[0]
    with Judge(problem) as judge:
        submission = compile_source(timed.text.encode(), "candidate.py", problem, judge.jail)
    loaded, program, driver = load(submission), submission.programs[0], open_driver()
    list(compiled(loaded, program, driver.target))  # side by side, while nothing is timed
    copies = drawn_copies(driver, problem, shape, program, inputs_of(problem, shape, SEED, 0), SEED)
    with alone(), bound_to_copies(loaded, program, problem, copies, ENGINE, LIMIT) as made:
        started = time.monotonic()
        found = in_turn(made, rounds)
        seconds = time.monotonic() - started
    held = sum(each.size for each in copies[0].values())
    return {
        "name": name, "shape": shape.name, "copies": len(made.places), "bytes": held, "cache": driver.cache_bytes,
        "series": found, "seconds": seconds,
    }  # fmt: skip


# ---------------------------------------------------------------- all of them


def run(args: argparse.Namespace) -> int:
    """Time every kernel, a few processes side by side."""
    chosen = [each.name for each in kernels() if args.only in each.name]
    deadline = time.monotonic() + 60 * args.minutes
    environment = {**os.environ, "TILERY_GPU_CHOICE": "rules", "OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}

    def ask(name: str) -> dict[str, Any]:
        command = [sys.executable, __file__, "one", name, "--rounds", str(args.rounds)]
        try:
            left = max(1.0, deadline - time.monotonic())
            done = subprocess.run(command, capture_output=True, timeout=left, env=environment)
            made: dict[str, Any] = json.loads(done.stdout)
        except subprocess.TimeoutExpired:
            made = {"name": name, "error": "there was no time left"}
        except ValueError:
            made = {"name": name, "error": done.stderr.decode("utf-8", "replace")[-2000:]}
        print(made, flush=True)
        return made

    with ThreadPoolExecutor(args.workers) as pool:
        rows = list(pool.map(ask, chosen))
    found = {"gpu": {"rows": rows, "device": device(), "rounds": args.rounds}}
    args.results.write_text(json.dumps(found, indent=1), "utf-8")
    return 0


def device() -> dict[str, str]:
    """Return what the kernels ran on."""
    import torch
    import triton

    name = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    return {"name": name, "torch": torch.__version__, "triton": triton.__version__}


def compile_all(only: str, target: str = "sm_90") -> int:
    """Compile the kernels without a GPU."""
    for timed in [each for each in kernels() if only in each.name]:
        problem = timed.problem()
        with Judge(problem) as judge:
            submission = compile_source(timed.text.encode(), "candidate.py", problem, judge.jail)
        for label, size in compiled(load(submission), submission.programs[0], target):
            print(timed.name, label, size, flush=True)
    return 0


def compiled(loaded: LoadedSubmission, program: CandidateProgram, target: str) -> Iterator[tuple[str, int]]:
    """Compile kernels as the rules say, so that they are in the cache on the disk; yield labels and sizes."""
    from tilery.engines.gpu.variants import VariantCompiler, default_variant, installed
    from tilery.engines.work import work_of

    for launch in program.launches:
        module = loaded.modules[launch.module]
        entry = next(each for each in module.entries if each.sym_name == launch.entry)
        variant = default_variant(replace(work_of(entry), blocks=prod(launch.grid)), installed())
        yield variant.label, len(VariantCompiler(variant).compile(module, entry, target).image)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    compiles = verbs.add_parser("compile")
    compiles.add_argument("--only", default="", metavar="TEXT")
    runs = verbs.add_parser("run")
    runs.add_argument("results", type=Path)
    runs.add_argument("--only", default="", metavar="TEXT")
    runs.add_argument("--rounds", type=int, default=11)
    runs.add_argument("--workers", type=int, default=10)
    runs.add_argument("--minutes", type=float, default=1.0)
    ones = verbs.add_parser("one")
    ones.add_argument("name")
    ones.add_argument("--rounds", type=int, default=11)
    args = parser.parse_args()
    if args.verb == "compile":
        return compile_all(args.only)
    if args.verb == "one":
        print(json.dumps(one(args.name, args.rounds)))
        return 0
    return run(args)


if __name__ == "__main__":
    raise SystemExit(main())
