"""Measure `tilery prove`: equal pairs, planted faults and mutants; write docs/reports/prove.md and its JSON.

Outcomes are kept in a file of lines, so that a campaign can be interrupted and goes on; `--page` writes the page again.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "scripts")]

from proving import families as library  # noqa: E402
from proving.judge import CLOSE, CLOSE_CONSTANTS, distance, judge  # noqa: E402
from proving.mutants import mutant  # noqa: E402
from proving.sizes import SHAPES, use  # noqa: E402
from tilery.prove import bits, reals  # noqa: E402
from tilery.prove.programs import make_case  # noqa: E402

HELD_OUT = tomllib.loads((HERE / "held_out.toml").read_text("utf-8"))
FIRST_HELD_OUT = HELD_OUT["mutants"]["first_held_out_seed"]
MUTANTS_OF = 2
"""How many variants of each family mutants are made of."""
Task = tuple[str, str, str, str]
"""Kind (pair, fault, mutant), family, and what is compared."""


def is_held_out(task: Task) -> bool:
    kind, family, _, b = task
    return family in HELD_OUT["families"] or (kind == "mutant" and int(b) >= FIRST_HELD_OUT)


def tasks(mutants: int, held_out: bool) -> Iterator[Task]:
    """Yield everything there is to compare; mutants are `mutants` of development and as many held out."""
    for family in library.families():
        for a, b in family.pairs():
            yield "pair", family.name, a, b
        first = next(iter(family.variants))
        for variant, fault in library.planted(family):
            yield "fault", family.name, first, f"{variant}:{min(fault)}"
    made = library.families()
    per = -(-mutants // len(made))
    for start in (0, FIRST_HELD_OUT) if held_out else (0,):
        for n in range(per):
            for number, family in enumerate(made):
                variant = list(family.variants)[n % min(MUTANTS_OF, len(family.variants))]
                yield "mutant", family.name, variant, str(start + number * 10_000 + n)


def compare(task: Task) -> dict[str, Any]:
    """Compare two programs at several shapes, until they differ, and judge the verdict."""
    facts: dict[str, Any] = {}
    seconds = 0.0
    for shape in range(len(SHAPES)):
        use(shape)
        facts = compare_here(task) | {"shapes": shape + 1}
        seconds += facts["seconds"]
        if facts["answer"] != "equal" or facts["judge"] == "apart":
            break
    use(0)
    return facts | {"seconds": round(seconds, 3)}


def compare_here(task: Task) -> dict[str, Any]:
    """Compare two programs at the current shape."""
    kind, name, a, b = task
    family = next(f for f in library.families() if f.name == name)
    one = family.variants[a]()
    what = ""
    used = [a]
    if kind == "pair":
        other = family.variants[b]()
        used.append(b)
    elif kind == "fault":
        variant, fault = b.split(":")
        other = family.variants[variant](f=frozenset([fault]))
        used.append(variant)
    else:
        other, what = mutant(one, int(b))
    outs = family.outputs(*used)
    started = time.process_time()
    verdict = reals(one, other, family.inputs, outs, probe=False)
    seconds = time.process_time() - started
    facts: dict[str, Any] = {"task": list(task), "answer": verdict.answer, "rung": verdict.rung, "what": what}
    facts |= {"seconds": round(seconds, 3), "reason": verdict.reason[:300]}
    case = make_case(one, other, family.inputs, outs)
    facts["judge"] = judge(case, CLOSE_CONSTANTS if verdict.assumed else CLOSE)
    if verdict.witness is not None:
        facts["at_witness"] = float(distance(case, verdict.witness.inputs))
        facts["how"] = verdict.witness.how[:200]
        facts["undefined"] = any("undefined" in v or "fault" in v for v in verdict.witness.values) or any(
            "uninit" in note for note in verdict.notes
        )
    return facts


def compare_bits(task: Task) -> dict[str, Any]:
    """Compare a kernel and a mutant of it with Z3, and judge the verdict."""
    _, name, a, seed = task
    family = next(f for f in library.families() if f.name == name)
    one = family.variants[a]()
    other, what = mutant(one, int(seed))
    kinds = []
    for old, new in zip(one.stages, other.stages):
        kinds.append(bits(old.module.entries[0], new.module.entries[0], timeout=2.0).facts["kind"])
    kind = next((k for k in kinds if k != "proven"), "proven")
    case = make_case(one, other, family.inputs, family.outputs(a))
    return {"task": list(task), "kind": kind, "judge": judge(case), "what": what}


def run_bits(count: int, log: Path, seconds: float) -> Counter[str]:
    """Compare mutants with Z3; return the outcomes beside those of the second opinion."""
    end = time.monotonic() + seconds
    done = [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.exists() else []
    known = {tuple(each["task"]) for each in done}
    todo = [t for t in tasks(count, False) if t[0] == "mutant" and t not in known][: count - len(done)]
    with log.open("a", encoding="utf-8") as file:
        for task in todo:
            if time.monotonic() > end:
                break
            done.append(compare_bits(task))
            file.write(json.dumps(done[-1]) + "\n")
            file.flush()
    return Counter(f"{each['kind']}, f64 {each['judge']}" for each in done)


def wrong(facts: dict[str, Any]) -> str:
    """Return what is wrong with a verdict, by the second opinion, or nothing."""
    kind = facts["task"][0]
    if facts["answer"] == "equal" and facts["judge"] == "apart":
        return "wrongly equal"
    if facts["answer"] == "different":
        if kind == "pair":
            return "wrongly different"
        at = facts.get("at_witness", 0.0)
        open_ = facts.get("undefined") or "identity" in facts.get("how", "")  # f64 runs choose one of several results
        if at <= 1e-9 and not open_:
            return "wrongly different"
    return ""


def run(todo: list[Task], log: Path, jobs: int, seconds: float) -> None:
    """Run what the log does not have yet, until the time is over."""
    done = {tuple(json.loads(line)["task"]) for line in log.read_text("utf-8").splitlines()} if log.exists() else set()
    left = [t for t in todo if t not in done]
    end = time.monotonic() + seconds
    with log.open("a", encoding="utf-8") as file, ProcessPoolExecutor(jobs) as pool:
        for start in range(0, len(left), 8 * jobs):
            if time.monotonic() > end:
                break
            for facts in pool.map(compare, left[start : start + 8 * jobs]):
                file.write(json.dumps(facts) + "\n")
                if wrong(facts) or (facts["answer"] == "undecided" and sys.stderr.isatty()):
                    print(wrong(facts) or "undecided", facts, file=sys.stderr)
            file.flush()
            if sys.stderr.isatty():
                print(f"\r{start + 8 * jobs}/{len(left)}", end="", file=sys.stderr)


def summary(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Count the outcomes of each kind, for development and for what was held out."""
    made: dict[str, Any] = {}
    for group in ("development", "held out"):
        for kind in ("pair", "fault", "mutant"):
            some = [f for f in found if f["task"][0] == kind and is_held_out(tuple(f["task"])) == (group == "held out")]
            times = sorted(f["seconds"] for f in some)
            made[f"{group} {kind}"] = {
                "count": len(some),
                **Counter(f["answer"] for f in some),
                "judge": dict(Counter(f"{f['answer']}, f64 {f['judge']}" for f in some)),
                **Counter(w for f in some if (w := wrong(f))),
                "later": sum(f["answer"] == "different" and f.get("shapes", 1) > 1 for f in some),
                "median": times[len(times) // 2] if times else 0.0,
                "slowest": times[-1] if times else 0.0,
            }
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=1000, help="of development; as many are held out")
    parser.add_argument("--held-out", action="store_true", help="also what is held out; for the final report")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after this time; the next call goes on")
    parser.add_argument("--log", type=Path, default=ROOT / "build" / "prove.jsonl")
    parser.add_argument("--bits", type=int, default=0, help="also compare this many mutants with Z3")
    parser.add_argument("--report", action="store_true", help="write docs/reports/prove.md and prove.json")
    parser.add_argument("--page", action="store_true", help="only write the page, from prove.json")
    args = parser.parse_args()
    from proving.page import load, write_page

    if args.page:
        write_page(load(ROOT), ROOT)
        return
    args.log.parent.mkdir(parents=True, exist_ok=True)
    todo = [t for t in tasks(args.mutants, args.held_out) if args.held_out or not is_held_out(t)]
    run(todo, args.log, args.jobs, args.seconds)
    found = [json.loads(line) for line in args.log.read_text("utf-8").splitlines()]
    by_bits = run_bits(args.bits, args.log.with_name("prove_bits.jsonl"), args.seconds) if args.bits else Counter[str]()
    print("bits", dict(by_bits))
    for name, counts in summary(found).items():
        print(name, counts)
    if args.report:
        from proving.mistakes import compare_all

        odd = [f for f in found if wrong(f) or f["answer"] == "undecided"]
        for each in odd:
            each["reason"] = re.sub(r"0x[0-9a-f]+", "0x...", each["reason"])
        facts = {"summary": summary(found), "planned": len(todo), "odd": odd, "mistakes": compare_all()}
        facts["loops"], facts["shapes"] = loops(found), len(SHAPES)
        facts["bits"] = dict(by_bits) or load(ROOT).get("bits", {})  # without --bits, those of the last report stay
        (ROOT / "docs/reports/prove.json").write_text(json.dumps(facts, indent=1) + "\n", "utf-8")
        write_page(facts, ROOT)


def loops(found: list[dict[str, Any]]) -> int:
    """Return how many equal pairs have a loop in at least one kernel."""
    from tilery import walk
    from tilery.ops import For

    looping = {
        (family.name, name): any(isinstance(o, For) for s in make().stages for o in walk(s.module))
        for family in library.families()
        for name, make in family.variants.items()
    }
    pairs = [f["task"] for f in found if f["task"][0] == "pair" and f["answer"] == "equal"]
    return sum(looping[name, a] or looping[name, b] for _, name, a, b in pairs)


if __name__ == "__main__":
    main()
