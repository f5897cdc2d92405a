"""Interrupt launches at random moments, and exit while launches run.

    python scripts/interrupts.py [--count N] [--exits N] [--seed S] [--jobs N] [--report FILE.md]

A signal raises KeyboardInterrupt inside a launch, and often again while it ends. When the launch has ended, its arrays
must not change any more, nor arrays that take the place of those that were freed, and the exception must have left the
launch. Then processes exit while daemon threads launch kernels: they must end with status 0 and say nothing. Each
launch is made on engine `reference` and on engine `cpu`. Needs signals, so no Windows, and nothing but this checkout.
"""

from __future__ import annotations

import _weakrefset
import argparse
import multiprocessing
import os
import platform
import random
import signal
import subprocess
import sys
import time
import traceback
import weakref
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import checkout
import tilery
from tilery.cli.progress import progress
from tilery.diag import ErrorKind
from tilery.engines.common.errors import ExecutionError
from tilery.engines.common.limits import Limits

ENGINES = ("reference", "cpu")
DROPS_EXCEPTIONS = (weakref.__file__, _weakrefset.__file__)
"""Files with callbacks of weak references: CPython drops what is raised there."""
BATCH = 100
"""Launches per task."""
HANGS = 120
"""Seconds after which a launch or an exit hangs."""
BLOCKS, SIZE = 64, 64
"""Tile blocks of a launch, and elements of an array."""
LOOP = """entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %bx, %by, %bz = get_tile_block_id : tile<i32>
  %q = offset %p, %bx : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  for %i in (%zero to %n, step %one) : tile<i32> {
    %x, %t = load_ptr_tko weak %q : tile<ptr<i32>> -> tile<i32>, token
    %y = addi %x, %one : tile<i32>
    %u = store_ptr_tko weak %q, %y token = %t : tile<ptr<i32>>, tile<i32> -> token
    continue
  }
  return
}"""
TILES = 1 << 16
STRAIGHT = f"""entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {{
  %bx, %by, %bz = get_tile_block_id : tile<i32>
  %q = offset %p, %bx : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %x, %t = load_ptr_tko weak %q : tile<ptr<i32>> -> tile<i32>, token
  %w = reshape %x : tile<i32> -> tile<1xi32>
  %b = broadcast %w : tile<1xi32> -> tile<{TILES}xi32>
  %i = iota : tile<{TILES}xi32>
  %s = addi %b, %i : tile<{TILES}xi32>
  %m = muli %s, %s : tile<{TILES}xi32>
  %r = reduce %m dim=0 identities=[0 : i32] : tile<{TILES}xi32> -> tile<i32>
    (%left: tile<i32>, %right: tile<i32>) {{
      %z = addi %left, %right : tile<i32>
      yield %z : tile<i32>
    }}
  %u = store_ptr_tko weak %q, %r token = %t : tile<ptr<i32>>, tile<i32> -> token
  return
}}"""
PRINTS = """entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {
  %one = constant <i32: 1> : tile<i32>
  %bx, %by, %bz = get_tile_block_id : tile<i32>
  %q = offset %p, %bx : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %t = print_tko "%d ", %bx : tile<i32> -> token
  %u = store_ptr_tko weak %q, %bx token = %t : tile<ptr<i32>>, tile<i32> -> token
  return
}"""
KERNELS = {"endless loops": LOOP, "short loops": LOOP, "straight lines": STRAIGHT, "prints": PRINTS}
TURNS = {"endless loops": 2_000_000_000, "short loops": 20}
Counts = Counter[tuple[str, str, str]]
"""How many launches ended how, by engine and kernel."""
Outcome = tuple[Counts, list[str]]


def expect_signals(run: Callable[[], object], delays: list[float]) -> int:
    """Call a function that signals interrupt after these delays; return how often they raised inside it."""
    raised, left, dropped = 0, list(delays), []

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal raised
        if left:
            signal.setitimer(signal.ITIMER_REAL, left.pop())
        while frame is not None and frame.f_code is not run.__code__:
            if frame.f_code.co_filename in DROPS_EXCEPTIONS:
                return
            frame = frame.f_back
        if frame is not None:
            raised += 1
            raise KeyboardInterrupt

    # CPython drops what is raised in a finalizer, and calls this function instead.
    sys.unraisablehook = lambda hook: dropped.append(hook.exc_type)
    signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, left.pop())
    escaped = False
    try:
        run()
    except KeyboardInterrupt:
        escaped = True
    finally:
        left.clear()  # a handler that runs now starts no further timer
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        sys.unraisablehook = sys.__unraisablehook__
    if raised > dropped.count(KeyboardInterrupt) and not escaped:
        raise AssertionError("an interrupt was lost")
    return raised


def launch(kernel: Any, name: str, rng: random.Random, limit: float | None) -> int:
    """Launch a kernel, interrupt it, and check that its array, and others, stay as they are; return the signals."""
    out = np.zeros(SIZE, np.int32)
    options: dict[str, Any] = {"output": lambda text: None}
    if rng.random() < 0.3:
        options["progress"] = lambda count: None
    if rng.random() < 0.7:
        options["threads"] = rng.choice((1, 2, 3))
    options["limits"] = None if limit is None else Limits(seconds=limit)
    first = rng.uniform(1e-6, 2e-4) if rng.random() < 0.5 else rng.uniform(1e-6, 5e-3)
    again = [rng.uniform(1e-6, 2e-4) for _ in range(rng.randint(0, 3))]
    args = [out, TURNS.get(name, 1)]
    raised = expect_signals(lambda: kernel.launch(BLOCKS, args, **options), [*again, first])
    seen = out.copy()
    time.sleep(0.001)
    if (out != seen).any():
        raise AssertionError("the array changes after the launch has ended")
    args.clear()
    del out
    victims = [np.full(SIZE, 7, np.int32) for _ in range(20)]
    time.sleep(0.001)
    if any((victim != 7).any() for victim in victims):
        raise AssertionError("memory that was freed changes after the launch has ended")
    return raised


def run_batch(task: tuple[int, str, int]) -> Outcome:
    """Make some launches on an engine; return outcomes and findings."""
    seed, engine, count = task
    rng = random.Random(f"{seed} {engine}")
    kernels = {name: tilery.compile(tilery.parse(text), engine=engine) for name, text in KERNELS.items()}
    outcomes: Counts = Counter()
    findings = []
    for number in range(count):
        name = rng.choice(list(KERNELS))
        # Without an interrupt, an endless loop ends by its limit.
        limit = rng.uniform(0.001, 0.02) if name == "endless loops" or rng.random() < 0.2 else None
        try:
            raised = launch(kernels[name], name, rng, limit)
            how = "interrupted" if raised == 1 else "interrupted again" if raised else "finished"
        except ExecutionError as error:
            how = "stopped by its limit"
            if error.kind is not ErrorKind.TIMEOUT:
                findings.append(f"{engine}, {name}, launch {number} of seed {seed}: {error.message}")
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1].name
            text = "".join(traceback.format_exception_only(error)).strip()
            findings.append(f"{engine}, {name}, launch {number} of seed {seed}, in {last}: {text}")
            how = "wrong"
        outcomes[engine, name, how] += 1
    return outcomes, findings


# ---------------------------------------------------------------- exits

PROGRAM = """
import random, sys, threading, time
import numpy as np, tilery
rng = random.Random(sys.argv[2])
kernels = [tilery.compile(tilery.parse(text), engine=sys.argv[1]) for text in {texts!r}]
def work(kernel):
    while True:
        kernel.launch({blocks}, [np.zeros({size}, np.int32), 2_000_000_000], output=lambda text: None)
for _ in range(rng.randint(1, 4)):
    threading.Thread(target=work, args=(rng.choice(kernels),), daemon=True).start()
time.sleep(rng.uniform(0, 0.05))
if rng.random() < 0.5:
    sys.exit()
"""


def run_exit(task: tuple[str, int]) -> Outcome:
    """Let a process exit while its threads launch kernels."""
    engine, seed = task
    program = PROGRAM.format(texts=list(KERNELS.values()), blocks=BLOCKS, size=SIZE)
    command = [sys.executable, "-c", program, engine, str(seed)]
    env = {**os.environ, "PYTHONPATH": str(Path(tilery.__file__).parents[1])}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=HANGS, env=env)
    except subprocess.TimeoutExpired:
        return Counter({(engine, "exit", "wrong"): 1}), [f"{engine}, exit of seed {seed}: it hangs"]
    if (done.returncode, done.stdout, done.stderr) == (0, "", ""):
        return Counter({(engine, "exit", "finished"): 1}), []
    said = f"status {done.returncode}, {done.stderr.strip()[-300:]!r}"
    return Counter({(engine, "exit", "wrong"): 1}), [f"{engine}, exit of seed {seed}: {said}"]


# ---------------------------------------------------------------- all


def run(args: argparse.Namespace) -> Outcome:
    """Make all launches and exits."""
    starts = range(0, args.count, BATCH)
    batches = [(args.seed + at, engine, min(BATCH, args.count - at)) for at in starts for engine in ENGINES]
    exits = [(engine, args.seed + n) for n in range(args.exits) for engine in ENGINES]
    outcomes: Counts = Counter()
    findings: list[str] = []
    context = multiprocessing.get_context("spawn")
    with progress(len(batches) + len(exits), "batches") as step, ProcessPoolExecutor(args.jobs, context) as pool:
        futures: dict[Any, object] = {pool.submit(run_batch, task): task for task in batches}
        futures |= {pool.submit(run_exit, task): task for task in exits}
        for future in as_completed(futures):
            try:
                found, wrong = future.result()
            except BrokenProcessPool:
                found, wrong = Counter(), [f"a process died during {futures[future]}"]
            outcomes += found
            findings += wrong
            step()
    return outcomes, findings


HOW = ("finished", "stopped by its limit", "interrupted", "interrupted again")


def page(args: argparse.Namespace, outcomes: Counts, findings: list[str], seconds: float) -> str:
    """Return the report."""
    options = f"--count {args.count} --exits {args.exits} --seed {args.seed} --jobs {args.jobs}"
    launches = sum(count for (_, name, _), count in outcomes.items() if name != "exit")
    hit = sum(count for (_, _, how), count in outcomes.items() if how.startswith("interrupted"))
    text = (
        f"It made {launches:,} launches, half of them on each engine, of {BLOCKS} tile blocks on one to three threads, "
        f"with and without a limit on time and a function that gets the progress. In {hit:,} of them, a signal "
        "raised KeyboardInterrupt, at a random moment up to 5 milliseconds after the start, and in some up to three "
        "more times while the launch was ending. The exception had to leave the launch. A millisecond after that, the "
        "array of the launch had to be unchanged, and so had 20 arrays that took the place of its memory."
    )
    exits = {engine: outcomes[engine, "exit", "finished"] for engine in ENGINES}
    ended = (
        f"{exits['reference']:,} processes on engine `reference` and {exits['cpu']:,} on engine `cpu` exited while one "
        "to four daemon threads launched these kernels, at a random moment, with status 0 and without a message."
    )
    lines = [
        "# Interrupts",
        "",
        f"`python scripts/interrupts.py {options}` wrote this page (CPython {platform.python_version()}, "
        f"{seconds:.0f} s).",
        "",
        checkout.fill(text),
        "",
        f"| engine | kernel | {' | '.join(HOW)} |",
        "|---|---|" + "---|" * len(HOW),
        *(
            f"| {engine} | {name} | " + " | ".join(f"{outcomes[engine, name, how]:,}" for how in HOW) + " |"
            for engine in ENGINES
            for name in KERNELS
        ),
        "",
        checkout.fill(ended),
        "",
        "## Findings",
        "",
        *([f"* {finding}" for finding in findings] or ["None."]),
        "",
        "## Not measured",
        "",
        checkout.fill(
            "Signals that reach the process from outside, which the same handler of CPython receives. Interrupts while "
            "a kernel is compiled, and in finalizers and callbacks of weak references, where CPython drops exceptions. "
            "Engines for GPUs."
        ),
    ]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2_000, help="launches on each engine")
    parser.add_argument("--exits", type=int, default=20, help="exits on each engine")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--report", type=Path, help="write a report in Markdown")
    args = parser.parse_args()
    started = time.monotonic()
    outcomes, findings = run(args)
    checkout.publish(page(args, outcomes, findings, time.monotonic() - started), args.report)
    return 1 if findings else 0


if __name__ == "__main__":
    raise SystemExit(main())
