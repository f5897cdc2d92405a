"""Send mutated bytecode, mutated texts and generated modules through every path of the library.

    python scripts/fuzz.py [--kind KIND] [--count N] [--seconds S] [--seed S] [--jobs N]
                           [--report FILE.md] [--json FILE.json] [--add FILE.json] [--keep FOLDER] [--guided]

The only exception allowed is TileError, within limits on time and memory. Each input depends on the kind, the seed and
its number alone. A finding is reduced while it stays the same finding, and kept as a file that the tests replay. Needs
nothing but this checkout; --guided needs atheris.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import multiprocessing
import os
import platform
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import tracemalloc
from collections import Counter
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import checkout
from support import fuzzing
from support.hostile import recipes
from tilery.bytecode.writer import write
from tilery.cli.progress import progress
from tilery.diag import TileError
from tilery.ops import Module

SECONDS = 1.0
"""CPU time that an input may take."""
MEGABYTES = 200
"""Memory that an input may take beyond ten times its own size."""
BATCH = {"bytes": 1000, "texts": 500, "smith": 50, "amplification": 20, "growth": 50, "copies": 50}
ADDRESSES = 6 << 30
"""Address space of a worker: an input that needs more gets a MemoryError and does not exhaust the machine."""
REDUCE_SECONDS = 20.0

Input = bytes | str | Module | fuzzing.Recipe
Data = TypeVar("Data", bytes, str)


class TooSlow(Exception):
    """Raised while an input takes too long."""


class TooBig(Exception):
    """Raised after an input took too much memory."""


@dataclass
class Finding:
    """An input that misbehaved."""

    kind: str
    seed: int
    number: int
    path: str
    what: str
    where: str
    file: str = ""

    @property
    def key(self) -> str:
        return f"{self.what} {self.where}"


@dataclass
class Result:
    """The outcome of a batch of inputs."""

    kind: str
    inputs: int = 0
    seconds: float = 0.0
    steps: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    slowest_number: int = -1
    peak: float = 0.0
    """The most by which a worker grew, in megabytes."""
    factor: float = 0.0
    """The largest number that a recipe measured."""
    findings: list[Finding] = field(default_factory=list)

    def add(self, other: Result) -> None:
        self.inputs += other.inputs
        self.seconds += other.seconds
        self.steps += other.steps
        if other.slowest > self.slowest:
            self.slowest, self.slowest_number = other.slowest, other.slowest_number
        self.peak, self.factor = max(self.peak, other.peak), max(self.factor, other.factor)
        self.findings += other.findings


# ---------------------------------------------------------------- one input


def _alarm(*_: object) -> None:
    raise TooSlow(f"more than {SECONDS:g} s of CPU time")


def run_one(given: Input, rng: random.Random) -> tuple[fuzzing.Trace | None, BaseException | None]:
    """Send an input through the paths, with the alarm set; return its trace or the exception."""
    signal.setitimer(signal.ITIMER_VIRTUAL, 10 * SECONDS if isinstance(given, fuzzing.Recipe) else SECONDS)
    try:
        return fuzzing.exercise(given, rng), None
    except (Exception, RecursionError, MemoryError) as error:
        return None, error
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def limit_of(given: Input) -> int:
    """Return the number of bytes that an input may take."""
    size = len(given) if isinstance(given, (bytes, str)) else 100_000
    return MEGABYTES * 1_000_000 + 10 * size


def memory_of(make: Callable[[], tuple[Input, random.Random]]) -> int:
    """Return the peak memory of Python's objects while an input is processed."""
    given, rng = make()
    tracemalloc.start()
    try:
        run_one(given, rng)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def describe(error: BaseException) -> tuple[str, str]:
    """Return the kind of failure, and the innermost function of the library in which it happened."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f"{os.sep}tilery{os.sep}" in f.filename]
    last = frames[-1] if frames else None
    where = f"{Path(last.filename).name}:{last.name}" if last else ""
    if isinstance(error, TooSlow):  # the alarm can ring anywhere
        where = ""
    words = f": {str(error)[:120]}" if isinstance(error, (fuzzing.Broken, recipes.Excess, TooSlow, TooBig)) else ""
    return type(error).__name__ + words, where


# ---------------------------------------------------------------- a batch, in a worker


def prepare() -> None:
    """Set the limits of a worker, and generate the inputs to mutate."""
    signal.signal(signal.SIGVTALRM, _alarm)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, resource.getrlimit(resource.RLIMIT_AS)[1]))
    fuzzing.files()
    fuzzing.texts()


def run_batch(kind: str, seed: int, first: int, count: int) -> Result:
    """Process inputs by number. Memory is measured exactly only for inputs that made the worker grow."""
    result = Result(kind)
    started = time.process_time()
    base = known = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(first, first + count):
        given, rng = fuzzing.input_of(kind, seed, number)
        before = time.process_time()
        trace, error = run_one(given, rng)
        took = time.process_time() - before
        if isinstance(error, TooSlow):  # again: the first time may have included generated code
            trace, error = run_one(*fuzzing.input_of(kind, seed, number))
        now = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        if error is None and now - known > 50_000 and not isinstance(given, fuzzing.Recipe):
            used = memory_of(lambda number=number: fuzzing.input_of(kind, seed, number))  # type: ignore[misc]  # a default
            if used > limit_of(given):
                error = TooBig(f"{used / 1e6:.0f} MB")
        known = now
        result.inputs += 1
        if took > result.slowest:
            result.slowest, result.slowest_number = took, number
        if trace is not None:
            result.steps += trace.steps
            result.factor = max(result.factor, trace.factor)
        if error is not None:
            what, where = describe(error)
            result.findings.append(Finding(kind, seed, number, "", what, where))
    result.peak = (known - base) / 1000
    result.seconds = time.process_time() - started
    return result


# ---------------------------------------------------------------- all batches


class Campaign:
    """A run over batches of inputs, until the inputs or the time run out."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.results = {kind: Result(kind) for kind in args.kinds}
        self.crashed: list[tuple[str, int, int]] = []

    def batches(self) -> list[tuple[str, int, int]]:
        """Alternate between kinds, so that a campaign that is cut short has seen each of them."""
        per_kind = []
        for kind in self.args.kinds:
            size, total = BATCH[kind], self.args.count
            per_kind.append([(kind, at, min(size, total - at)) for at in range(0, total, size)])
        longest = max(map(len, per_kind), default=0)
        return [b for n in range(longest) for part in per_kind if n < len(part) for b in (part[n],)]

    def run(self) -> None:
        todo = self.batches()
        deadline = time.monotonic() + self.args.seconds if self.args.seconds else float("inf")
        with progress(len(todo), "batches") as step:
            while todo and time.monotonic() < deadline:
                todo = self._pool(todo, deadline, step)
        for kind, first, count in self.crashed:
            self.results[kind].findings += bisect(kind, self.args.seed, first, count)

    def _pool(self, todo: list[tuple[str, int, int]], deadline: float, step: Callable[[], None]) -> list[Any]:
        """Process batches; return those that are left if a worker dies."""
        context = multiprocessing.get_context("spawn")
        rest = list(reversed(todo))
        running: dict[Future[Result], tuple[str, int, int]] = {}
        with ProcessPoolExecutor(self.args.jobs, context, prepare) as pool:
            try:
                while running or (rest and time.monotonic() < deadline):
                    while rest and len(running) < 2 * self.args.jobs and time.monotonic() < deadline:
                        kind, first, count = batch = rest.pop()
                        running[pool.submit(run_batch, kind, self.args.seed, first, count)] = batch
                    done, _ = wait(running, return_when=FIRST_COMPLETED)
                    for future in done:
                        result = future.result()
                        del running[future]
                        self.results[result.kind].add(result)
                        step()
            except BrokenProcessPool:
                # One of these killed its worker; each is tried alone at the end.
                self.crashed += running.values()
        return list(reversed(rest))


def bisect(kind: str, seed: int, first: int, count: int) -> list[Finding]:
    """Find the input of a batch that kills a process; return nothing if the batch now succeeds."""
    code = "import fuzz; fuzz.prepare(); fuzz.run_batch(*eval(input()))"
    env = {**os.environ, "PYTHONPATH": str(checkout.ROOT / "scripts")}

    def dies(at: int, number: int) -> bool:
        given = repr((kind, seed, at, number))
        ran = subprocess.run([sys.executable, "-c", code], input=given, text=True, capture_output=True, env=env)
        return ran.returncode != 0

    if not dies(first, count):
        return []
    while count > 1:
        half = count // 2
        first, count = (first, half) if dies(first, half) else (first + half, count - half)
    return [Finding(kind, seed, first, "", "the process died", "")]


# ---------------------------------------------------------------- findings as files


def reduce(given: Data, fails: Callable[[Data], bool]) -> Data:
    """Remove ever smaller parts while the input still fails."""
    deadline = time.monotonic() + REDUCE_SECONDS
    size = len(given) // 2
    while size and time.monotonic() < deadline:
        at, cut = 0, False
        while at < len(given) and time.monotonic() < deadline:
            smaller = given[:at] + given[at + size :]
            if fails(smaller):
                given, cut = smaller, True
            else:
                at += size
        size = size if cut else size // 2
    return given


def keep(finding: Finding, folder: Path) -> None:
    """Write a reduced input with the same failure to a file that the tests replay."""
    given, rng = fuzzing.input_of(finding.kind, finding.seed, finding.number)
    state = rng.getstate()

    def fails(candidate: Input) -> bool:
        again = random.Random()
        again.setstate(state)
        error = run_one(candidate, again)[1]
        return error is not None and describe(error) == (finding.what, finding.where)

    if isinstance(given, fuzzing.Recipe):
        return  # its seed and number make it again
    if isinstance(given, Module):
        try:
            given = write(given)
        except TileError:
            return
    reducible = finding.what != "the process died" and fails(given)
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(given, str):
        raw = (reduce(given, fails) if reducible else given).encode("utf-8", "surrogatepass")
        name, content = "mlir", raw
    else:
        raw = reduce(given, fails) if reducible else given
        name, content = "hex", "\n".join(raw[n : n + 32].hex() for n in range(0, len(raw), 32)).encode() + b"\n"
    path = folder / f"{finding.kind}-{hashlib.sha256(raw).hexdigest()[:12]}.{name}"
    path.write_bytes(content)
    finding.file = path.name


def distinct(findings: list[Finding]) -> list[Finding]:
    """Return one finding per kind of failure and function."""
    first: dict[str, Finding] = {}
    for finding in findings:
        first.setdefault(finding.key, finding)
    return list(first.values())


def keep_all(findings: list[Finding], folder: Path) -> list[Finding]:
    """Keep one finding per kind of failure and function as a file."""
    signal.signal(signal.SIGVTALRM, _alarm)
    found = distinct(findings)
    for finding in found:
        keep(finding, folder)
    return found


# ---------------------------------------------------------------- guided by coverage


def guided(kind: str, seconds: int, seed: int, folder: Path) -> str:
    """Let atheris choose inputs for a while; return a sentence for the report."""
    if importlib.util.find_spec("atheris") is None:
        return "skipped: atheris is not installed"
    with tempfile.TemporaryDirectory() as work:
        seeds = Path(work) / "seeds"
        seeds.mkdir()
        given: list[bytes] = (
            fuzzing.files() if kind == "bytes" else [t.encode("utf-8", "surrogateescape") for t in fuzzing.texts()]
        )
        for number, data in enumerate(given):
            (seeds / str(number)).write_bytes(data)
        options = [f"-max_total_time={seconds}", f"-seed={seed + 1}", "-timeout=10", f"-artifact_prefix={work}/"]
        options.append(str(seeds))
        command = [sys.executable, str(checkout.ROOT / "scripts" / "fuzz_guided.py"), kind, *options]
        ran = subprocess.run(command, capture_output=True, text=True, errors="replace")
        done = [line for line in ran.stderr.splitlines() if line.startswith("Done ") or "cov:" in line]
        for path in Path(work).glob("*-*"):
            folder.mkdir(parents=True, exist_ok=True)
            data = path.read_bytes()
            name = f"guided-{kind}-{hashlib.sha256(data).hexdigest()[:12]}"
            if kind == "bytes":
                (folder / f"{name}.hex").write_text(data.hex() + "\n")
            else:
                (folder / f"{name}.mlir").write_bytes(data)
            return f"FOUND {name}: {ran.stderr[-2000:]}"
        return f"exit status {ran.returncode}, {done[-1].strip() if done else 'no coverage reported'}"


# ---------------------------------------------------------------- the report


def options_of(args: argparse.Namespace) -> list[str]:
    """Return the options that reproduce the inputs."""
    kinds = [f"--kind {kind}" for kind in args.kinds] if len(args.kinds) < len(BATCH) else []
    time_box = [f"--seconds {args.seconds:g}"] if args.seconds else []
    return [*kinds, f"--count {args.count}", *time_box, f"--seed {args.seed}", f"--jobs {args.jobs}"]


def add_earlier(campaign: Campaign, path: Path) -> list[str]:
    """Add the numbers of another run; return its command lines."""
    earlier = json.loads(path.read_text("utf-8"))
    for kind, numbers in earlier["kinds"].items():
        numbers["steps"] = Counter(numbers["steps"])
        numbers["findings"] = [Finding(**f) for f in numbers["findings"]]
        campaign.results.setdefault(kind, Result(kind)).add(Result(**numbers))
    runs: list[str] = earlier["runs"]
    return runs


def markdown(campaign: Campaign, findings: list[Finding], runs: list[str], notes: list[str]) -> str:
    results = {kind: r for kind, r in campaign.results.items() if r.inputs}
    lines = [
        "# Fuzzing",
        "",
        "`scripts/fuzz.py` wrote this page. Its runs:",
        "",
        *runs,
        "",
        checkout.fill(
            "Each input is a mutant of a small generated module, or a generated module (`smith`). It "
            "is read or parsed, verified, printed, written at each version, dumped and optimised. The only exception "
            f"allowed is `TileError`, within {SECONDS:g} s of CPU time and {MEGABYTES} MB beyond ten times the size of "
            "the input. Amplification, growth and copies make their own inputs, and have limits of their own."
        ),
        "",
        "| kind | inputs | per CPU second | accepted | refused | slowest, ms | memory growth, MB | findings |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for kind, r in results.items():
        first = {"bytes": "read", "texts": "parse", "smith": "verify"}.get(kind, kind)
        rate = r.inputs / r.seconds if r.seconds else 0
        lines.append(
            f"| {kind} | {r.inputs:,} | {rate:,.0f} | {r.steps[f'{first}: done']:,} | {r.steps[f'{first}: refused']:,} "
            f"| {r.slowest * 1000:.0f} | {r.peak:.0f} | {len(r.findings)} |"
        )
    lines += recipe_lines(results)
    lines += ["", "How often each path was taken:", "", "| path | " + " | ".join(results) + " |"]
    lines.append("|---" * (1 + len(results)) + "|")
    for path in sorted({p for r in results.values() for p in r.steps}):
        lines.append(f"| {path} | " + " | ".join(f"{r.steps[path]:,}" for r in results.values()) + " |")
    lines += ["", "## Findings", ""]
    lines += [f"- {f.kind}, seed {f.seed}, input {f.number}: {f.what} {f.where} `{f.file}`" for f in findings]
    lines += [] if findings else ["None."]
    for note in notes:
        lines += ["", note]
    return "\n".join([*lines, "", *NOT_MEASURED])


def recipe_lines(results: dict[str, Result]) -> list[str]:
    """Say what the recipes measured."""
    said = {
        "amplification": f"{recipes.FACTOR} bytes of memory per byte of a hostile file, beyond {recipes.BASE >> 20} MB",
        "growth": f"{recipes.RATIO} times the function calls for a structure of twice the size",
        "copies": "equal results of a copied kernel and the original",
    }
    rows = [f"| {kind} | {said[kind]} | {results[kind].factor:.2f} |" for kind in said if kind in results]
    return ["", "| kind | allowed | largest |", "|---|---|---|", *rows] if rows else []


NOT_MEASURED = """\
## Not measured

Inputs are small, and mutants come from generated modules, not from real files (the [corpus report](../corpus.md)
mutates those). Kernels are not run, and no two threads use the library at once. A kind that is missing from the table
was not run.""".splitlines()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=BATCH, action="append", dest="kinds", help="default: all")
    parser.add_argument("--count", type=int, default=10_000, help="inputs of each kind")
    parser.add_argument("--seconds", type=float, default=0, help="stop after this time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--report", type=Path, help="write a report in Markdown")
    parser.add_argument("--json", type=Path, help="write the numbers")
    parser.add_argument("--add", type=Path, action="append", default=[], help="numbers of an earlier run to include")
    parser.add_argument(
        "--keep", type=Path, default=checkout.ROOT / "tests" / "corpus" / "fuzz", help="where findings go"
    )
    parser.add_argument("--guided", action="store_true", help="then let atheris choose inputs, for --seconds (60)")
    args = parser.parse_args()
    args.kinds = args.kinds or list(BATCH)
    started = time.monotonic()
    campaign = Campaign(args)
    campaign.run()
    keep_all([f for r in campaign.results.values() for f in r.findings], args.keep)
    runs = [f"* `python scripts/fuzz.py {' '.join(options_of(args))}`, CPython {platform.python_version()}, "
            f"{time.monotonic() - started:.0f} s"] if args.count else []  # fmt: skip
    runs += [line for path in args.add for line in add_earlier(campaign, path)]
    findings = distinct([f for r in campaign.results.values() for f in r.findings])
    box = int(args.seconds or 60)
    kinds = [kind for kind in args.kinds if kind in ("bytes", "texts")] if args.guided else []
    notes = [f"Guided by coverage, {kind}: {guided(kind, box, args.seed, args.keep)}" for kind in kinds]
    if args.json:
        numbers = {k: {**asdict(r), "steps": dict(r.steps)} for k, r in campaign.results.items()}
        args.json.write_text(json.dumps({"runs": runs, "kinds": numbers, "notes": notes}, indent=2), "utf-8")
    checkout.publish(markdown(campaign, findings, runs, notes), args.report)
    return 1 if findings or any("FOUND" in note for note in notes) else 0


if __name__ == "__main__":
    raise SystemExit(main())
