"""Prove every pass with Z3 on the corpus and on random modules; write docs/reports/lab/prove_passes.md.

    python scripts/proving/passes_campaign.py --count 5000 [--corpus [FOLDER]] [--jobs 1] [--seconds 600] [--report]
    python scripts/proving/passes_campaign.py --again        modules where Z3 did not finish, with more time

Outcomes are kept in files of lines in a folder (`--logs`), so that a campaign can be interrupted and goes on. Whatever
is proven is executed before and after the pass as well; what is not proven is executed on several inputs.
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

import z3.z3  # type: ignore[import-untyped]  # noqa: E402  # it has no types

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
TIMEOUT, LONGER = 2.0, 20.0
"""Seconds for a question, and for those that are asked again."""
RUNS = 5
"""Sets of inputs on which modules are executed that Z3 does not prove."""
LOGS = {"Random modules": "random.jsonl", "Real files": "real.jsonl"}
KINDS = ["proven", "law", "refused", "timeout", "reads", "counterexample", "failed"]
"""Outcomes, as `Attempt` calls them, the weaker ones later; `failed` is a bug of the pass or of the prover."""
PAGE = ROOT / "docs/reports/lab/prove_passes.md"

z3.z3.Z3_DEBUG = False
"""Whether Z3's interface checks the types of arguments, which takes an eighth of the time."""

corpus = oracle.CORPUS
"""Where the real files are."""


Texts = tuple[str, ...]
"""A kernel before and after a pass, and the globals before and after it."""


def prove(
    before: tilery.Module, after: tilery.Module, known: dict[Texts, tuple[str, str]] | None = None
) -> tuple[str, str]:
    """Return the weakest outcome of all kernels of a module, and its reason.

    `known` keeps outcomes: most passes leave some kernels of a module as they were, or change them alike.
    """
    worst = ("proven", "")
    known = {} if known is None else known
    others = tuple("\n".join(map(tilery.show, module.globals)) for module in (before, after))
    for old, new in zip(before.entries, after.entries):
        key = (tilery.show(old), tilery.show(new), *others)
        if key not in known:
            verdict = bits(old, new, timeout=TIMEOUT, modules=(before, after))
            known[key] = (verdict.facts["kind"], verdict.reason)
        worst = max(worst, known[key], key=lambda each: KINDS.index(each[0]))
    return worst


def compare_runs(module: tilery.Module, contract: Contract, changed: tilery.Module, ran: list[Any], sets: int) -> str:
    """Execute a module before and after, on sets of inputs; return how memory differs. `ran` keeps the runs before."""
    found = ""
    try:
        for number in range(sets):
            if len(ran) == number:
                ran.append(run_contract(module, contract, seed=1000 * number))
            after = run_contract(changed, contract, seed=1000 * number)
            found = execution_report.compare(module, contract, ran[number], after)
            if found == execution_report.DIFFERS:
                break
        return found
    except tilery.TileError as error:
        return f"not run: {error.message}"[:80]


def try_module(task: str) -> dict[str, Any]:
    """Prove every pass that changes a module: a seed, or a file of the corpus."""
    contract = None
    if task.isdigit():
        module, contract = random_case(int(task))
    else:
        module = tilery.load(corpus / task)
    found: dict[str, Any] = {"task": task, "passes": {}}
    known: dict[str, dict[str, Any]] = {}
    asked: dict[Texts, tuple[str, str]] = {}
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
            known[text] = try_change(module, contract, changed, ran, asked)
        found["passes"][name] = known[text]
    return found


def try_change(
    module: tilery.Module,
    contract: Contract | None,
    changed: tilery.Module,
    ran: list[Any],
    asked: dict[Texts, tuple[str, str]],
) -> dict[str, Any]:
    """Prove a change of a module, and execute both."""
    started = time.process_time()
    try:
        kind, reason = prove(module, changed, asked)
    except Exception as error:  # a bug of the prover: it is counted, and the campaign goes on
        kind, reason = "failed", f"{type(error).__name__}: {error}"
    facts: dict[str, Any] = {"kind": kind, "reason": reason[:160]}
    facts["seconds"] = round(time.process_time() - started, 3)
    if contract is not None and kind != "failed":
        facts["runs"] = compare_runs(module, contract, changed, ran, 1 if kind == "proven" else RUNS)
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


def forget_timeouts(log: Path) -> None:
    """Leave out the modules where Z3 did not finish, so that they are tried again."""
    kept = [each for each in read_lines(log) if all(f["kind"] != "timeout" for f in each["passes"].values())]
    log.write_text("".join(json.dumps(each) + "\n" for each in kept), "utf-8")


def read_lines(log: Path) -> list[dict[str, Any]]:
    """Read a file of lines, if it is there."""
    return [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.exists() else []


def totals(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Count outcomes for each pass, and collect what has to be looked at."""
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    reasons: Counter[str] = Counter()
    ran: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    odd, seconds = [], []
    for each in found:
        for name, facts in each["passes"].items():
            kinds[name][facts["kind"]] += 1
            seconds.append(facts.get("seconds", 0.0))
            if facts["kind"] in ("law", "refused", "reads", "timeout"):
                reasons[facts["reason"]] += 1
            wrong = facts["kind"] == "proven" and facts.get("runs") == execution_report.DIFFERS
            if facts["kind"] not in ("proven", "failed") and "runs" in facts:
                ran[facts["kind"], name]["not run" if facts["runs"].startswith("not run") else facts["runs"]] += 1
            if wrong or facts["kind"] in ("counterexample", "reads", "failed"):
                odd.append({"task": each["task"], "pass": name, "wrong": wrong, **facts})
    return {"kinds": kinds, "reasons": reasons, "odd": odd, "ran": ran, "seconds": sorted(seconds)}


def page(groups: dict[str, list[dict[str, Any]]], planned: dict[str, int]) -> str:
    from proving import planted  # it uses this module

    lines = ["# Every pass, proven", ""]
    lines.append(
        checkout.fill(
            "`python scripts/proving/passes_campaign.py` wrote this page. Each pass ran alone on each module. Where "
            "one of its rules fired (removing dead code counts for `dce` only), Z3 was asked whether the kernels after "
            "it refine those before: for all inputs, the same bits at the same addresses, and no other reads. A "
            "question may take 2 seconds; where that was too little, 20. What was proven for random modules was also "
            "executed before and after."
        )
    )
    for title, found in groups.items():
        none = [f"None of {planned[title]:,} modules was tried with this state of the prover."]
        lines += ["", f"## {title}", "", *(section(found, planned[title]) if found else none)]
    return "\n".join([*lines, *planted.section(), "", *NOT_MEASURED, ""])


NOT_MEASURED = [
    "## Not measured",
    "",
    "Of refused kernels, nothing is known but what executing them showed. `fuse-fma` and `pow-to-product` change",
    "bits on purpose: where memory differs under a law, that is why. Float operations are some functions here,",
    "which are known for constants only. `law` is what differs in bits, and is proven under the law that the reason",
    "names. Ranges and divisors of what loops carry and reductions return are proven by induction; other invariants",
    "are not looked for. Loops are compared one by one, so that `loop-split`, which makes two of one, is refused",
    "unless one of them never runs. Tokens count where a load reads what the kernel stored, and nowhere else.",
    "Overlapping parameters were not considered. Real files were not executed. A pass that is not in the table was",
    "not tried.",
]


def section(found: list[dict[str, Any]], planned: int) -> list[str]:
    made = totals(found)
    lines = [f"{len(found):,} of {planned:,} modules were tried.", ""]
    lines += [f"| pass | changed | {' | '.join(KINDS)} |", "|---|--:|" + "--:|" * len(KINDS)]
    for name in PASSES:
        counts = made["kinds"].get(name, Counter())
        shown = " | ".join(f"{counts[kind]:,}" for kind in KINDS)
        lines.append(f"| {name} | {counts.total():,} | {shown} |")
    times = made["seconds"] or [0.0]
    wrong = [each for each in made["odd"] if each["wrong"]]
    lines += ["", f"Processor time: median {times[len(times) // 2]:.2f} s, longest {times[-1]:.1f} s."]
    lines += ["", f"Proven, but memory differs when executed: {len(wrong)}."]
    lines += [f"* {each['task']}: {each['pass']}" for each in wrong[:50]]
    if made["reasons"]:
        lines += ["", "| why not proven | times |", "|---|--:|"]
        lines += [f"| {reason} | {count:,} |" for reason, count in made["reasons"].most_common(20)]
    lines += executed(made["ran"])
    return lines + counterexamples([each for each in made["odd"] if each["kind"] in ("counterexample", "reads")])


def executed(ran: dict[tuple[str, str], Counter[str]]) -> list[str]:
    """Count what executing modules showed where Z3 proved nothing."""
    if not ran:
        return []
    columns = sorted({kind for counts in ran.values() for kind in counts})
    lines = [
        "",
        f"Not proven, and executed before and after on {RUNS} sets of inputs, with different memory or not:",
        "",
    ]
    lines += [f"| outcome | pass | {' | '.join(columns)} |", "|---|---|" + "--:|" * len(columns)]
    for (kind, name), counts in sorted(ran.items()):
        lines.append(f"| {kind} | {name} | {' | '.join(f'{counts[column]:,}' for column in columns)} |")
    return lines


def counterexamples(odd: list[dict[str, Any]]) -> list[str]:
    """List what Z3 has a counterexample for, under no law, and what executing both modules showed."""
    if not any(e["kind"] == "counterexample" for e in odd):
        lines = ["", "No counterexample of Z3 is left."]
    else:
        lines = ["", "Counterexamples of Z3 are left."]
    if odd:
        lines += [
            "",
            f"Counterexamples and reads, executed on {RUNS} sets of inputs, and what reading the modules showed:",
            "",
        ]
        lines += ["| module | pass | reason | executed | read |", "|---|---|---|---|---|"]
    for e in odd:
        read = READ.get((e["task"], e["pass"]), "not read")
        lines.append(f"| {e['task']} | {e['pass']} | {e['reason']} | {e.get('runs', 'not executed')} | {read} |")
    return lines


READ = {
    (
        "2724",
        "fold-known",
    ): "the pass is right: it takes a branch on `16 > i` for taken, in a loop whose `i` is 1 and 8",
}
"""What reading a module showed."""


def main() -> None:
    global corpus, TIMEOUT
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=5000, help="random modules")
    parser.add_argument("--corpus", type=Path, nargs="?", const=corpus, help="also the real files in a folder")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after this time; the next call goes on")
    parser.add_argument("--logs", type=Path, default=ROOT / "build/prove_passes", metavar="FOLDER")
    parser.add_argument("--again", action="store_true", help="forget where Z3 did not finish, and give it more time")
    parser.add_argument("--report", action="store_true", help=f"write {PAGE.name}")
    args = parser.parse_args()
    args.logs.mkdir(parents=True, exist_ok=True)
    if args.again:
        TIMEOUT = LONGER
        for name in LOGS.values():
            forget_timeouts(args.logs / name)
    corpus, files = args.corpus, []
    if corpus is not None:
        files = sorted(str(path.relative_to(corpus)) for path in corpus.rglob("*.tileirbc"))
    work = {"Real files": files, "Random modules": [str(n) for n in range(args.count)]}
    groups, planned, end = {}, {}, time.monotonic() + args.seconds
    for title, todo in work.items():
        log = args.logs / LOGS[title]
        if todo:
            run(todo, log, args.jobs, end - time.monotonic())
        groups[title] = read_lines(log)
        planned[title] = max(len(todo), len(groups[title]))
        made = totals(groups[title])
        print(title, len(groups[title]), {name: dict(counts) for name, counts in made["kinds"].items()})
        for each in made["odd"]:
            print(each)
    if args.report:
        PAGE.write_text(page({title: groups[title] for title in LOGS}, planned), "utf-8")


if __name__ == "__main__":
    main()
