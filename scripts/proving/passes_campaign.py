"""Prove every pass with Z3 on the corpus and on random modules; write docs/reports/lab/prove_passes.md.

    python scripts/proving/passes_campaign.py --count 5000 [--corpus] [--jobs 1] [--seconds 600] [--report]

Outcomes are kept in a file of lines, so that a campaign can be interrupted and goes on. Whatever is proven is executed
before and after the pass as well; so is whatever Z3 has a counterexample for.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / folder) for folder in ("src", "scripts", "tests")]

import checkout  # noqa: E402
import execution_report  # noqa: E402
import tilery  # noqa: E402
from support import oracle  # noqa: E402
from support.contract import random_case, run_contract  # noqa: E402
from tilery.passes import HOMES  # noqa: E402
from tilery.prove import bits  # noqa: E402
from tilery.rewrite import Report  # noqa: E402
from tilery.smith import Contract  # noqa: E402

PASSES = [name for name in HOMES if name != "rename-symbol"]
TIMEOUT = 2.0
BUILD = ROOT / "build"
LOGS = {title: BUILD / f"prove_passes_{title.split()[0].lower()}.jsonl" for title in ("Random modules", "Real files")}
REASONS = BUILD / "prove_passes_reasons.jsonl"
PAGE = ROOT / "docs/reports/lab/prove_passes.md"


def prove(before: tilery.Module, after: tilery.Module) -> tuple[str, str]:
    """Return the weakest outcome of all kernels of a module, and its reason."""
    order = ["proven", "refused", "timeout", "reads", "counterexample"]
    worst = ("proven", "")
    for old, new in zip(before.entries, after.entries):
        verdict = bits(old, new, timeout=TIMEOUT, modules=(before, after))
        found = (verdict.facts["kind"], verdict.reason)
        worst = max(worst, found, key=lambda each: order.index(each[0]))
    return worst


def compare_runs(module: tilery.Module, contract: Contract, changed: tilery.Module, ran: list[Any]) -> str:
    """Execute a module before, unless it has run, and after; return how memory differs."""
    try:
        if not ran:
            ran.append(run_contract(module, contract))
        before, after = ran[0], run_contract(changed, contract)
        return execution_report.compare(module, contract, before, after)
    except tilery.TileError as error:
        return f"not run: {error.message}"[:80]


def try_module(task: str) -> dict[str, Any]:
    """Prove every pass that changes a module: a seed, or a file of the corpus."""
    contract = None
    if task.isdigit():
        module, contract = random_case(int(task))
    else:
        module = tilery.load(oracle.CORPUS / task)
    found: dict[str, Any] = {"task": task, "passes": {}}
    known: dict[str, dict[str, Any]] = {}
    ran: list[Any] = []
    for name in PASSES:
        report = Report()
        try:
            changed = tilery.optimize(module, name, report=report)
        except tilery.TileError as error:
            found["passes"][name] = {"kind": "failed", "reason": error.message[:200]}
            continue
        fired = report.counts.total() - (0 if name == "dce" else report.counts["dead"])
        if not fired or tilery.equal(module, changed):
            continue  # removing dead code is not what the pass is for
        text = tilery.show(changed)
        if text not in known:
            known[text] = try_change(module, contract, changed, ran)
        found["passes"][name] = known[text]
    return found


def try_change(
    module: tilery.Module, contract: Contract | None, changed: tilery.Module, ran: list[Any]
) -> dict[str, Any]:
    """Prove a change of a module, and execute both."""
    started = time.process_time()
    try:
        kind, reason = prove(module, changed)
    except Exception as error:  # a bug of the prover: it is counted, and the campaign goes on
        kind, reason = "failed", f"{type(error).__name__}: {error}"
    facts: dict[str, Any] = {"kind": kind, "reason": reason[:160]}
    facts["seconds"] = round(time.process_time() - started, 3)
    if contract is not None and kind in ("proven", "counterexample", "reads"):
        facts["runs"] = compare_runs(module, contract, changed, ran)
    return facts


def run(
    todo: list[str], log: Path, jobs: int, seconds: float, task: Callable[[str], dict[str, Any]] = try_module
) -> None:
    """Run what the log does not have yet, until the time is over."""
    done = {each["task"] for each in read_lines(log)}
    left = [t for t in todo if t not in done]
    end = time.monotonic() + seconds
    with log.open("a", encoding="utf-8") as file, ProcessPoolExecutor(jobs) as pool:
        waiting, rest = set[Any](), iter(left)
        while True:
            while len(waiting) < 2 * jobs and time.monotonic() < end and (next_one := next(rest, None)) is not None:
                waiting.add(pool.submit(task, next_one))
            if not waiting:
                break
            done_now, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for each in done_now:
                file.write(json.dumps(each.result()) + "\n")
            file.flush()


def read_lines(log: Path) -> list[dict[str, Any]]:
    """Read a file of lines, if it is there."""
    return [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.exists() else []


def totals(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Count outcomes for each pass, and collect what has to be looked at."""
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    reasons: Counter[str] = Counter()
    odd, seconds = [], []
    for each in found:
        for name, facts in each["passes"].items():
            kinds[name][facts["kind"]] += 1
            seconds.append(facts.get("seconds", 0.0))
            if facts["kind"] in ("refused", "reads", "timeout"):
                reasons[facts["reason"]] += 1
            wrong = facts["kind"] == "proven" and facts.get("runs") == execution_report.DIFFERS
            if wrong or facts["kind"] in ("counterexample", "failed"):
                odd.append({"task": each["task"], "pass": name, "wrong": wrong, **facts})
    return {"kinds": kinds, "reasons": reasons, "odd": odd, "seconds": sorted(seconds)}


def page(groups: dict[str, list[dict[str, Any]]], planned: dict[str, int]) -> str:
    from proving import planted  # it uses this module

    lines = ["# Every pass, proven", ""]
    lines.append(
        checkout.fill(
            "`python scripts/proving/passes_campaign.py` wrote this page. Each pass ran alone on each module. Where "
            "one of its rules fired (removing dead code counts for `dce` only), Z3 was asked whether the kernels after "
            "it refine those before: for all inputs, the same bits at the same addresses, and no other reads. A "
            f"question may take {TIMEOUT:g} seconds. What was proven for random modules was also executed before and "
            "after."
        )
    )
    for title, found in groups.items():
        none = [f"None of {planned[title]:,} modules was tried with this state of the prover."]
        lines += ["", f"## {title}", "", *(section(found, planned[title]) if found else none)]
    return "\n".join([*lines, *planted.section(), "", *NOT_MEASURED, ""])


NOT_MEASURED = [
    "## Not measured",
    "",
    "Refused kernels say nothing about a pass. Float operations are some functions here, which are known for",
    "constants only, so that passes that fuse or replace them cannot be proven without the laws of the tables. Ranges",
    "and divisors of what loops carry and reductions return are proven by induction; other invariants are not looked",
    "for. Loops are compared one by one, so that `loop-split`, which makes two of one, is refused unless one of them",
    "never runs, and its counterexamples were only executed. Tokens count where a load reads what the kernel stored,",
    "and nowhere else. A counterexample in none of the groups was executed, and is listed. Overlapping parameters were",
    "not considered. A pass that is not in the table was not tried.",
]


def section(found: list[dict[str, Any]], planned: int) -> list[str]:
    made = totals(found)
    kinds = ["proven", "refused", "timeout", "reads", "counterexample", "failed"]
    lines = [f"{len(found):,} of {planned:,} modules were tried.", ""]
    lines += [f"| pass | changed | {' | '.join(kinds)} |", "|---|--:|" + "--:|" * len(kinds)]
    for name in PASSES:
        counts = made["kinds"].get(name, Counter())
        shown = " | ".join(f"{counts[kind]:,}" for kind in kinds)
        lines.append(f"| {name} | {counts.total():,} | {shown} |")
    times = made["seconds"] or [0.0]
    wrong = [each for each in made["odd"] if each["wrong"]]
    lines += ["", f"Processor time: median {times[len(times) // 2]:.2f} s, longest {times[-1]:.1f} s."]
    lines += ["", f"Proven, but memory differs when executed: {len(wrong)}."]
    lines += [f"* {each['task']}: {each['pass']}" for each in wrong[:50]]
    lines += ["", "| why not proven | times |", "|---|--:|"]
    lines += [f"| {reason} | {count:,} |" for reason, count in made["reasons"].most_common(20)]
    looked = Counter((e["pass"], e.get("runs", "not executed")) for e in made["odd"] if e["kind"] == "counterexample")
    lines += ["", "Counterexamples of Z3, and what executing both modules showed:", "", "| pass | executed | times |"]
    lines += ["|---|---|--:|", *(f"| {name} | {runs} | {count:,} |" for (name, runs), count in sorted(looked.items()))]
    return lines + reasons([each for each in made["odd"] if each["kind"] == "counterexample"])


def reasons(odd: list[dict[str, Any]]) -> list[str]:
    """Count what reasons.py found out about each counterexample, and list those of which it does not know."""
    known = {(each["task"], each["pass"]): each["reason"] for each in read_lines(REASONS)}
    members: dict[tuple[str, str], list[str]] = defaultdict(list)
    for each in odd:
        members[each["pass"], known.get((each["task"], each["pass"]), "not checked")].append(each["task"])
    lines = ["", "`scripts/proving/reasons.py` checked each of them by the law that its group names:", ""]
    lines += ["| pass | why it is a counterexample of Z3 | times | one of them |", "|---|---|--:|---|"]
    for (name, why), tasks in sorted(members.items()):
        lines.append(f"| {name} | {why} | {len(tasks):,} | {tasks[0]} |")
    rest = [
        f"{name} {task}" for (name, why), tasks in sorted(members.items()) if why == "none of these" for task in tasks
    ]
    return [*lines, "", checkout.fill(f"In none of the groups: {', '.join(rest) or 'no counterexample'}.")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=5000, help="random modules")
    parser.add_argument("--corpus", action="store_true", help="also the corpus of real files")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after this time; the next call goes on")
    parser.add_argument("--report", action="store_true", help=f"write {PAGE.name}")
    args = parser.parse_args()
    BUILD.mkdir(exist_ok=True)
    files = sorted(str(p.relative_to(oracle.CORPUS)) for p in oracle.CORPUS.rglob("*.tileirbc")) if args.corpus else []
    work = {"Random modules": [str(n) for n in range(args.count)], "Real files": files}
    groups, planned = {}, {}
    for title, todo in work.items():
        if todo:
            run(todo, LOGS[title], args.jobs, args.seconds)
        groups[title] = read_lines(LOGS[title])
        planned[title] = max(len(todo), len(groups[title]))
        made = totals(groups[title])
        print(title, len(groups[title]), {name: dict(counts) for name, counts in made["kinds"].items()})
        for each in made["odd"]:
            if each["wrong"]:
                print("wrongly proven", each)
    if args.report:
        PAGE.write_text(page(groups, planned), "utf-8")


if __name__ == "__main__":
    main()
