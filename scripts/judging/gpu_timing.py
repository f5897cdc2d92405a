"""Time kernels on a GPU by the judge's timing stage and by the method of `bench/gpu.py`, in turn.

    python scripts/judging/gpu_timing.py run RESULTS.json [--only TEXT] [--turns 3] [--workers 4] [--minutes 2.5]
    python scripts/judging/gpu_timing.py compile          the kernels for sm_90, without a GPU

Each kernel has a process of its own: inputs and references are computed side by side, and one process at a time uses
the GPU. Both methods launch the same machine code, which the rules of engine `gpu` choose.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import checkout  # noqa: F401  # lets Python find tilery
from judging.parts import HERE
from tilery.judge import Judge, Problem, parse_problem
from tilery.judge.candidates import compile_source
from tilery.judge.program import Submission
from tilery.judge.stages.executing import load
from tilery.judge.stages.timing import measure
from tilery.judge.starting import start
from tilery.judge.timer import alone

ENGINE = "gpu"
STAGES = ("compile", "verify", "static", "time")
ROUNDS = 15
BENCH_ROUNDS = 5
"""The rounds of `bench/gpu.py`."""
TYPES = {"f32": "float32", "f16": "float16"}


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


# ---------------------------------------------------------------- the other method


def bench(problem: Problem, submission: Submission) -> list[float]:
    """Return the seconds of a launch as `bench/gpu.py` measures them: on tensors of torch, the same for each launch."""
    import torch

    from tilery.engines.cuda.driver import open_driver
    from tilery.engines.cuda.timing import interleaved, screened

    shape, program = problem.shapes[0], submission.programs[0]
    loaded, driver = load(submission), open_driver()
    (launch,) = program.launches
    with alone():
        tensors = {
            each.name: torch.randn(problem.extents(each, shape), device="cuda").to(getattr(torch, TYPES[each.type]))
            for each in problem.arguments
        }
        kernel: Any = loaded.kernel(launch.module, launch.entry, ENGINE)
        args = [tensors[slot.buffer].data_ptr() + slot.offset if slot.buffer else slot.value for slot in launch.slots]
        torch.cuda.synchronize()
        with kernel.bind(launch.grid, args) as bound:
            bound.run(5.0)
            estimate = screened(driver, bound.launch, limit=5.0)
            return interleaved(driver, {0: (bound.launch, estimate)}, rounds=BENCH_ROUNDS)[0]


def one(name: str, turns: int) -> dict[str, Any]:
    """Time a kernel by both methods in turn."""
    timed = next(each for each in kernels() if each.name == name)
    problem = timed.problem()
    rows: dict[str, Any] = {"name": name, "shape": problem.shapes[0].name, "judge": [], "bench": []}
    with Judge(problem, stages=STAGES, timing={"engine": ENGINE, "rounds": ROUNDS}) as judge:
        submission = compile_source(timed.text.encode(), "candidate.py", problem, judge.jail)
        options = {"engine": ENGINE, "rounds": ROUNDS, "seed": 1, "keep": 0}
        for turn in range(turns):
            rows["bench"].append(median(bench(problem, submission)))
            if turn:
                rows["judge"].append(median(measure(judge, submission, 0, options)[0]["seconds"]))
                continue
            started = time.monotonic()
            result = judge.judge_source(timed.text, "candidate.py")
            rows |= {"verdict": result.verdict, "reason": result.reason}
            facts = next((each.facts for each in result.stages if each.stage == "time"), {})
            rows |= {"facts": facts, "stage_seconds": time.monotonic() - started}
            rows["judge"].append(facts.get("median"))
    return rows


# ---------------------------------------------------------------- all of them


def run(args: argparse.Namespace) -> int:
    """Time every kernel, a few processes side by side."""
    chosen = [each.name for each in kernels() if args.only in each.name]
    deadline = time.monotonic() + 60 * args.minutes
    environment = {**os.environ, "TILERY_GPU_CHOICE": "rules", "OMP_NUM_THREADS": "4", "OPENBLAS_NUM_THREADS": "4"}

    def ask(name: str) -> dict[str, Any]:
        command = [sys.executable, __file__, "one", name, "--turns", str(args.turns)]
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
    found = {"gpu": {"rows": rows, "device": device(), "turns": args.turns}}
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
    from tilery.engines.gpu.variants import VariantCompiler, default_variant, installed
    from tilery.engines.work import work_of

    for timed in [each for each in kernels() if only in each.name]:
        problem = timed.problem()
        with Judge(problem) as judge:
            submission = compile_source(timed.text.encode(), "candidate.py", problem, judge.jail)
        loaded = load(submission)
        for launch in submission.programs[0].launches:
            module = loaded.modules[launch.module]
            variant = default_variant(work_of(module.entries[0]), installed())
            binary = VariantCompiler(variant).compile(module, module.entries[0], target)
            print(timed.name, launch.grid, variant.label, len(binary.image), flush=True)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    compiles = verbs.add_parser("compile")
    compiles.add_argument("--only", default="", metavar="TEXT")
    runs = verbs.add_parser("run")
    runs.add_argument("results", type=Path)
    runs.add_argument("--only", default="", metavar="TEXT")
    runs.add_argument("--turns", type=int, default=3)
    runs.add_argument("--workers", type=int, default=4)
    runs.add_argument("--minutes", type=float, default=2.5)
    ones = verbs.add_parser("one")
    ones.add_argument("name")
    ones.add_argument("--turns", type=int, default=3)
    args = parser.parse_args()
    if args.verb == "compile":
        return compile_all(args.only)
    if args.verb == "one":
        print(json.dumps(one(args.name, args.turns)))
        return 0
    return run(args)


if __name__ == "__main__":
    raise SystemExit(main())
