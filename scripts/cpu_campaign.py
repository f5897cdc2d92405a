"""Compare engine cpu with the reference engine on random modules, and try to make it crash; write docs/reports/cpu.md.

    python scripts/cpu_campaign.py --modules 10000 --mutants 20000 [--hardware FOLDER] [--jobs 2] [--report]

Every module runs in a child process, in buffers that end (or begin) at a page that nobody may touch, so that an access
outside them ends the child and is found. Modules are those of `support.contract.random_case`, which store every value
that they compute and do not use. A mutant is a random module with one or two changes that is still legal. `--hardware`
is a folder with the cases of docs/reports/hardware.md. Numbers go to docs/reports/cpu.json. With --more, parts that are
not measured now are kept, so that a campaign can be split; --again runs the modules with findings once more.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import checkout
import tilery
from parts.guarded import guarded
from support.contract import arguments, random_case
from support.mutation import mutate
from tilery.cli.progress import progress
from tilery.engines.kernel import Limits
from tilery.engines.registry import load_engine

BATCH = 25
"""Modules per child process."""
SECONDS = 10.0
REPORTS = Path(__file__).resolve().parent.parent / "docs" / "reports"
SAME, DIFFERS, WORDS, REFUSED, RACES = "same", "differs", "other error", "refused", "races"


# ---------------------------------------------------------------- in the child


def run_both(module: tilery.Module, contract: Any, seed: int, exact: bool) -> dict[str, Any]:
    """Run all launches on both engines; return what to count."""
    found: dict[str, Any] = {"outcome": SAME, "native": 0, "handed over": 0}
    for number, launch in enumerate(contract.launches):
        left = []
        for engine in ("reference", "cpu"):
            args = [guarded(a, before=bool(seed & 1)) for a in arguments(launch, seed + number)]
            loaded = load_engine(engine).load(module, **({"exact": True} if engine == "cpu" and exact else {}))
            kernel: Any = loaded.kernel(launch.entry)
            if engine == "cpu":
                found["native" if kernel.lowered is not None else "handed over"] += 1
            printed: list[str] = []
            error = ""
            try:
                kernel.launch(launch.grid, args, limits=Limits(seconds=SECONDS), output=printed.append)
            except tilery.TileError as raised:
                error = raised.message
            memory = [a.tobytes() for a in args if isinstance(a, np.ndarray)]
            memory += [loaded.content(o.sym_name) for o in module.globals]
            left.append((error, memory, "".join(printed)))
        outcome = judge(launch, left)
        if outcome == DIFFERS and not left[0][0] and races(module, launch, seed + number):
            outcome = RACES
        if outcome != SAME and found["outcome"] == SAME:
            found["outcome"] = outcome
            found["detail"] = f"{launch.entry}: {left[0][0]!r} / {left[1][0]!r}"
    return found


def judge(launch: Any, left: list[tuple[str, list[bytes], str]]) -> str:
    """Compare what two engines left. After an error, memory may differ: the engines were at different places."""
    (error, memory, printed), (other_error, other_memory, other_printed) = left
    if "stopped after" in error or "stopped after" in other_error:
        return SAME  # one of them was too slow to compare
    if bool(error) != bool(other_error):
        return DIFFERS
    if error:
        return SAME if error.split(":")[0] == other_error.split(":")[0] else WORDS
    if printed != other_printed:
        return DIFFERS
    return SAME if memory == other_memory else DIFFERS


def races(module: tilery.Module, launch: Any, seed: int) -> bool:
    """Tell whether what tile blocks leave depends on their order: the reference engine one by one differs from it."""
    left = []
    for batch in (None, 1):
        args = arguments(launch, seed)
        tilery.compile(module, launch.entry).launch(launch.grid, args, batch=batch, output=lambda _: None)
        left.append([a.tobytes() for a in args if isinstance(a, np.ndarray)])
    return left[0] != left[1]


def module_of(kind: str, seed: int) -> tuple[tilery.Module, Any] | None:
    module, contract = random_case(seed)
    if kind == "modules":
        return module, contract
    changed = mutate(module, random.Random(seed))
    legal = not tilery.verify(changed)
    entries = {o.sym_name: o.function_type.params for o in changed.entries}
    old = {o.sym_name: o.function_type.params for o in module.entries}
    return (changed, contract) if legal and entries == old else None


def child(kind: str, first: int, count: int, exact: bool) -> None:
    """Run some modules; a line before each says which one is next, so that a crash has a name."""
    for seed in range(first, first + count):
        print(json.dumps({"next": seed}), flush=True)
        found: dict[str, Any] = {"outcome": REFUSED}
        try:
            case = module_of(kind, seed)
            if case is not None:
                found = run_both(*case, seed, exact)
        except tilery.TileError as error:
            found["detail"] = error.message
        print(json.dumps({"seed": seed, **found}), flush=True)


# ---------------------------------------------------------------- in the parent


def campaign(kind: str, first: int, count: int, jobs: int, exact: bool, seconds: float) -> dict[str, Any]:
    """Run modules in children, for so many seconds at most; return counts and the seeds of findings."""
    end = time.monotonic() + seconds
    totals: Counter[str] = Counter()
    findings: list[dict[str, Any]] = []
    starts = list(range(first, first + count, BATCH))

    def work(start: int) -> list[dict[str, Any]]:
        return run_batch(kind, start, min(BATCH, first + count - start), exact) if time.monotonic() < end else []

    done = 0
    with progress(count, f"{kind} of the campaign") as step, ThreadPoolExecutor(jobs) as pool:
        for lines in pool.map(work, starts):
            done += len(lines)
            for found in lines:
                totals[found["outcome"]] += 1
                totals["launches native"] += found.get("native", 0)
                totals["launches handed over"] += found.get("handed over", 0)
                if found["outcome"] not in (SAME, REFUSED, RACES):
                    findings.append(found)
            step(len(lines))
    return {"first": first, "count": done, "exact": exact, "totals": dict(totals), "findings": findings[:200]}


def repeat(kind: str, part: dict[str, Any]) -> None:
    """Run the modules with findings again, and correct the counts."""
    totals, findings = Counter(part["totals"]), []
    for old in part["findings"]:
        totals[old["outcome"]] -= 1
        for found in run_batch(kind, old["seed"], 1, part["exact"]):
            totals[found["outcome"]] += 1
            if found["outcome"] not in (SAME, REFUSED, RACES):
                findings.append(found)
    part["totals"], part["findings"] = dict(totals), findings


def run_batch(kind: str, first: int, count: int, exact: bool) -> list[dict[str, Any]]:
    """Run a batch in a child; where it dies, note the module and go on after it."""
    results: list[dict[str, Any]] = []
    end = first + count
    while first < end:
        command = [sys.executable, __file__, "--child", kind, str(first), str(end - first), *["--exact"] * exact]
        done = subprocess.run(command, capture_output=True, text=True)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        results += [line for line in lines if "seed" in line]
        if done.returncode == 0:
            return results
        dead = lines[-1].get("next", first) if lines else first
        tail = done.stderr.strip().splitlines()[-1:] or [""]
        results.append({"seed": dead, "outcome": "died", "detail": f"status {done.returncode}: {tail[0]}"})
        first = dead + 1
    return results


def hardware(folder: Path, seconds: float) -> dict[str, Any]:
    """Run the cases of a GPU on both engines, as many as the time allows; results must be equal, bit for bit."""
    import hardware_report

    sys.path.insert(0, str(folder))
    from hardware import Hardware  # type: ignore[import-not-found]  # from FOLDER

    hw = Hardware(str(folder))
    totals: Counter[str] = Counter()
    findings = []
    end = time.monotonic() + seconds
    with progress(len(hw.cases), "cases") as step:
        for name, case in hw.cases.items():
            step()
            if time.monotonic() > end:
                break
            results = []
            for engine in ("reference", "cpu"):
                args, buffers = hardware_report.arguments(hw, name)
                grid = case["grid"]
                if case["subset"]:
                    size = max((len(b) for b in buffers), default=hardware_report.TILE)
                    grid = [size // hardware_report.TILE, 1, 1]
                printed: list[str] = []
                try:
                    options: dict[str, Any] = {"exact": True} if engine == "cpu" else {}
                    kernel = tilery.compile(tilery.parse(case["module"]), engine=engine, **options)
                    kernel.launch(grid, args, output=printed.append)
                    results.append(([b.tobytes() for b in buffers], "".join(printed)))
                except tilery.TileError as error:
                    results.append(([], error.message))
                if engine == "cpu":
                    totals["native" if kernel.lowered is not None else "handed over"] += 1  # type: ignore[attr-defined]  # the cpu engine's
            totals[SAME if results[0] == results[1] else DIFFERS] += 1
            if results[0] != results[1]:
                findings.append({"case": name, "op": case["op"], "detail": results[1][1][:200]})
    return {"totals": dict(totals), "findings": findings, "of": len(hw.cases)}


def page(found: dict[str, Any]) -> str:
    """Render the numbers as a page."""
    lines = ["# The fast CPU engine against the reference engine", ""]
    lines.append(
        checkout.fill(
            "`scripts/cpu_campaign.py` wrote this page. Modules ran on both engines in child processes, in buffers "
            "that end or begin at a page that nobody may touch. Memory, globals and printed text are compared bit for "
            "bit, with `exact=True`. After an error only the operation is compared, because the engines execute tile "
            "blocks in different orders. Changes can make tile blocks race: then the reference engine itself leaves "
            "other bytes when it runs them one by one."
        )
    )
    lines += [
        "",
        "| | seeds | same | differ | other operation in the error | died | races | not legal or refused | compiled |",
    ]
    lines.append("|---|---|--:|--:|--:|--:|--:|--:|--:|")
    for kind in ("modules", "mutants"):
        if kind in found:
            row, totals = found[kind], Counter(found[kind]["totals"])
            native, over = totals["launches native"], totals["launches handed over"]
            part = f"{native / max(1, native + over):.0%} of {native + over:,} launches"
            counts = [totals[SAME], totals[DIFFERS], totals[WORDS], totals["died"], totals[RACES], totals[REFUSED]]
            seeds = f"{row['first']:,} to {row['first'] + row['count'] - 1:,}"
            lines.append(f"| {kind} | {seeds} | " + " | ".join(f"{n:,}" for n in counts) + f" | {part} |")
    if "hardware" in found:
        totals = Counter(found["hardware"]["totals"])
        lines += [
            "",
            f"Of {found['hardware']['of']:,} cases that a GPU ran, the first {totals[SAME] + totals[DIFFERS]:,} ran "
            f"here: {totals[SAME]:,} are equal on both engines and {totals[DIFFERS]:,} are not.",
        ]
        lines.append(f"{totals['native']:,} were compiled, {totals['handed over']:,} run by the reference engine.")
    lines += ["", *findings(found)]
    lines += ["", "## Not measured", ""]
    lines.append(
        checkout.fill(
            "Launches that the reference engine runs (the last column counts the others) are equal by construction. "
            "Results without `exact=True`, whose transcendental functions may differ by an ULP. Other processors than "
            "the one that the script ran on."
        )
    )
    return "\n".join(lines) + "\n"


def findings(found: dict[str, Any]) -> list[str]:
    lines = []
    for kind in ("modules", "mutants", "hardware"):
        for each in found.get(kind, {}).get("findings", [])[:20]:
            name = each.get("case", f"seed {each.get('seed')}")
            lines.append(f"* {kind}, {name}: {each.get('outcome', DIFFERS)} {each.get('detail', '')}".rstrip())
    return ["## Findings", "", *lines] if lines else ["There are no findings."]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modules", type=int, default=0)
    parser.add_argument("--mutants", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1e9, help="start nothing more of a kind after this time")
    parser.add_argument("--hardware", type=Path)
    parser.add_argument("--report", action="store_true", help="write docs/reports/cpu.md and cpu.json")
    parser.add_argument("--more", action="store_true", help="keep the parts of cpu.json that are not measured now")
    parser.add_argument("--again", action="store_true", help="run the modules with findings in cpu.json again")
    parser.add_argument("--exact", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(args.child[0], int(args.child[1]), int(args.child[2]), args.exact)
        return 0
    numbers = REPORTS / "cpu.json"
    found = json.loads(numbers.read_text("utf-8")) if (args.more or args.again) and numbers.exists() else {}
    start = time.perf_counter()
    for kind in ("modules", "mutants"):
        if count := getattr(args, kind):
            found[kind] = campaign(kind, args.first, count, args.jobs, True, args.seconds)
        elif args.again and kind in found:
            repeat(kind, found[kind])
    if args.hardware:
        found["hardware"] = hardware(args.hardware, args.seconds)
    print(page(found))
    print(f"{time.perf_counter() - start:.0f} seconds", file=sys.stderr)
    if args.report:
        numbers.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        (REPORTS / "cpu.md").write_text(page(found), encoding="utf-8")
    bad = [each for part in found.values() for each in part["findings"]]
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
