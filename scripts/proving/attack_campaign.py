"""Ask `tilery prove` about the pairs of attack.py and second.py; write docs/reports/lab/prove_attack.md.

    python scripts/proving/attack_campaign.py [--report] [--first-look]

`attack_first_look.json` has what the prover said when it saw the pairs for the first time. `--first-look` adds those
that it does not have yet.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "scripts")]

import checkout  # noqa: E402
from proving.attack import Attack, attacks  # noqa: E402
from proving.second import second_attacks  # noqa: E402
from tilery.prove import Program, Verdict, bits, reals  # noqa: E402

FIRST = HERE / "attack_first_look.json"
RACED = (
    "At first look, the partner `doubling` of `prefixes` and all three programs of `two launches` raced within a tile "
    "block, by a mistake of ours. The prover said so and decided nothing; the programs are ordered now."
)
PAGE = ROOT / "docs/reports/lab/prove_attack.md"


def ask(attack: Attack, other: Program) -> Verdict:
    if attack.rung == "bits":
        a, b = attack.first.stages[0].module, other.stages[0].module
        return bits(a.entries[0], b.entries[0], given=attack.given, timeout=20, modules=(a, b))
    return reals(attack.first, other, attack.inputs, attack.outs, probe=False)


def outcomes(only: str = "") -> Iterator[dict[str, Any]]:
    """Yield what the prover says about each pair."""
    for number, attack in [*((1, each) for each in attacks()), *((2, each) for each in second_attacks())]:
        pairs = [(label, p, True) for label, p in attack.same.items()]
        pairs += [(label, p, False) for label, p in attack.other.items()]
        for label, program, is_equal in pairs if only in attack.name else ():
            started = time.process_time()
            try:
                verdict = ask(attack, program)
                answer, reason = verdict.answer, verdict.reason
            except Exception as error:  # a bug of the prover, which the page shows
                answer, reason = "error", f"{type(error).__name__}: {error}"
            seconds = round(time.process_time() - started, 2)
            facts = {"set": number, "pair": attack.name, "other": label, "rung": attack.rung, "equal": is_equal}
            yield facts | {"answer": answer, "reason": _short(reason), "seconds": seconds}


def _short(text: str) -> str:
    """Leave out addresses, which differ from run to run."""
    import re

    return re.sub(r"0x[0-9a-f]+", "0x...", text)[:200]


def judged(facts: dict[str, Any]) -> str:
    if facts["answer"] == "equal":
        return "right" if facts["equal"] else "wrongly equal"
    if facts["answer"] == "different":
        return "wrongly different" if facts["equal"] else "right"
    # Z3 only proves: what it does not prove is undecided.
    return "right" if facts["rung"] == "bits" and not facts["equal"] else str(facts["answer"])


def page(first: list[dict[str, Any]], now: list[dict[str, Any]]) -> str:
    lines = ["# Pairs that nobody had tried", ""]
    lines.append(
        checkout.fill(
            "`python scripts/proving/attack_campaign.py --report` wrote this page. Each pair of "
            "`scripts/proving/attack.py` and of `second.py` beside it, a later set, is a program and another one that "
            "computes the same or, subtly, something else. They were written and committed before the prover saw them: "
            "the later ones after the first ones had shaped it. The first look is the verdict at that "
            "time; the present one came after what the first look showed was fixed. Programs are compared over the "
            "real numbers at one ragged shape, and those of integers bit for bit for all inputs; Z3 proves only, so "
            "that it says undecided of unequal ones."
        )
    )
    kinds = ["right", "undecided", "wrongly equal", "wrongly different", "error"]
    lines += ["", f"| | pairs | {' | '.join(kinds)} |", "|---|--:|" + "--:|" * len(kinds)]
    for number, which in ((1, ""), (2, "later set, ")):
        for title, found in (("first look", first), ("present", now)):
            for is_equal in (True, False):
                part = [e for e in found if e["equal"] is is_equal and e.get("set", 1) == number]
                counts = Counter(map(judged, part))
                row = " | ".join(str(counts[kind]) for kind in kinds)
                lines.append(f"| {which}{title}, {'equal' if is_equal else 'unequal'} | {len(part)} | {row} |")
    before = {(e["pair"], e["other"]): e for e in first}
    lines += ["", "| program | against | truth | first look | present | time |", "|---|---|---|---|---|--:|"]
    for e in now:
        old = before.get((e["pair"], e["other"]))
        truth = "equal" if e["equal"] else "unequal"
        was = old["answer"] if old else "not seen"
        lines.append(f"| {e['pair']} | {e['other']} | {truth} | {was} | {e['answer']} | {e['seconds']:.1f} s |")
    open_ = [e for e in now if judged(e) != "right"]
    lines += ["", "## Not right", "", *(f"* {e['pair']}, {e['other']}: {e['answer']}. {e['reason']}" for e in open_)]
    lines += [] if open_ else ["None."]
    lines += ["", checkout.fill(RACED)]
    lines += ["", "## Not measured", "", "Other shapes, other types than f32, i8 and i32, and rounding errors.", ""]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="pairs whose name has this")
    parser.add_argument("--first-look", action="store_true", help=f"add pairs to {FIRST.name}, once for each")
    parser.add_argument("--report", action="store_true", help=f"write {PAGE.name}")
    args = parser.parse_args()
    found = []
    for facts in outcomes(args.only):
        found.append(facts)
        print(judged(facts), facts, flush=True)
    print(Counter(map(judged, found)))
    if args.first_look:
        known = json.loads(FIRST.read_text("utf-8")) if FIRST.exists() else []
        seen = {(e["pair"], e["other"]) for e in known}
        known += [e for e in found if (e["pair"], e["other"]) not in seen]
        FIRST.write_text(json.dumps(known, indent=1) + "\n", "utf-8")
    if args.report:
        PAGE.write_text(page(json.loads(FIRST.read_text("utf-8")), found), "utf-8")


if __name__ == "__main__":
    main()
