"""Tell for each counterexample of passes_campaign.py why it shows no difference, by a check of its own.

    python scripts/proving/reasons.py [--seconds 400]

A group is a law that Z3 does not know, and a check that uses that law alone: a member must pass it. Outcomes go to a
file of lines, which the page of passes_campaign.py counts; whatever passes no check is listed there.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / folder) for folder in ("src", "scripts", "tests")]

import execution_report  # noqa: E402
import tilery  # noqa: E402
from proving import passes_campaign  # noqa: E402
from support import oracle  # noqa: E402
from support.contract import random_case, run_contract  # noqa: E402
from tilery import ops  # noqa: E402
from tilery.analysis.powers import is_two  # noqa: E402
from tilery.ir import Op, clone, walk  # noqa: E402
from tilery.prove import bits  # noqa: E402
from tilery.rewrite import replace_uses  # noqa: E402
from tilery.smith import Contract  # noqa: E402

LOG = ROOT / "build/prove_passes_reasons.jsonl"
RUNS = 5
FUSED = "products that `fuse-fma` does not round, by design: proven once each fma is a product and a sum"
SQUARES = "squares that become products: proven once each square is a product"
SPLIT = f"a loop became two, which are not compared as one: the same memory for {RUNS} sets of inputs"
BODY = f"a body of a reduction that branches is not modelled: the same memory for {RUNS} sets of inputs"
NONE = "none of these"


def expand(module: tilery.Module, squares: bool) -> tilery.Module:
    """Return a copy in which each fma is a product and a sum, or each square a product."""
    copy: tilery.Module = clone(module)
    for block in [b for o in walk(copy) for b in o.blocks]:
        made: list[Op] = []
        for o in block.ops:
            if squares and isinstance(o, (ops.FPowF, ops.FPowI)) and is_two(o.exponent):
                made.append(ops.MulF(lhs=o.source, rhs=o.source))
            elif not squares and isinstance(o, ops.Fma):
                mode, ftz, acc = o.rounding_mode, o.flush_to_zero, o.acc.owner
                product = ops.MulF(lhs=o.lhs, rhs=o.rhs, rounding_mode=mode, flush_to_zero=ftz)
                join = ops.SubF if isinstance(acc, ops.NegF) else ops.AddF
                added = acc.source if isinstance(acc, ops.NegF) else o.acc
                made += [product, join(lhs=product.result, rhs=added, rounding_mode=mode, flush_to_zero=ftz)]
            else:
                made.append(o)
                continue
            made[-1].loc = o.loc
            replace_uses(copy, {o.results[0]: made[-1].results[0]})
        block.ops[:] = made
    return copy


def same_runs(module: tilery.Module, contract: Contract | None, changed: tilery.Module) -> bool:
    """Execute both modules on several sets of inputs."""
    if contract is None:
        return False
    for seed in range(RUNS):
        one, other = (run_contract(m, contract, seed=1000 * seed) for m in (module, changed))
        if execution_report.compare(module, contract, one, other) == execution_report.DIFFERS:
            return False
    return True


def _count(module: tilery.Module, kinds: Any) -> int:
    return sum(isinstance(o, kinds) for o in walk(module))


def _branching_body(module: tilery.Module) -> bool:
    return any(isinstance(o, (ops.Reduce, ops.Scan)) and any(x.blocks for x in o.blocks[0].ops) for o in walk(module))


def reason(task: str, name: str) -> str:
    """Return the first group whose check a counterexample passes."""
    contract = None
    if task.isdigit():
        module, contract = random_case(int(task))
    else:
        module = tilery.load(oracle.CORPUS / task)
    changed = tilery.optimize(module, name)

    def kind(a: tilery.Module, b: tilery.Module, n: int) -> str:
        return str(bits(a.entries[n], b.entries[n], timeout=passes_campaign.TIMEOUT).facts["kind"])

    wrong = [n for n in range(len(module.entries)) if kind(module, changed, n) == "counterexample"]

    def proven(a: tilery.Module, b: tilery.Module) -> bool:
        """Every kernel that has a counterexample is proven under the law."""
        return bool(wrong) and all(kind(a, b, n) == "proven" for n in wrong)

    if name == "fuse-fma" and proven(expand(module, False), expand(changed, False)):
        return FUSED
    if name == "pow-to-product" and proven(expand(module, True), changed):
        return SQUARES
    loops = (ops.For, ops.Loop)
    if name == "loop-split" and _count(changed, loops) > _count(module, loops) and same_runs(module, contract, changed):
        return SPLIT
    if _branching_body(module) and same_runs(module, contract, changed):
        return BODY
    return NONE


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=400)
    args = parser.parse_args()
    end = time.monotonic() + args.seconds
    done = {(e["task"], e["pass"]) for e in passes_campaign.read_lines(LOG)}
    found = [
        e
        for log in passes_campaign.LOGS.values()
        for e in passes_campaign.totals(passes_campaign.read_lines(log))["odd"]
    ]
    todo = [(e["task"], e["pass"]) for e in found if e["kind"] == "counterexample"]
    with LOG.open("a", encoding="utf-8") as file:
        for task, name in todo:
            if (task, name) in done or time.monotonic() > end:
                continue
            file.write(json.dumps({"task": task, "pass": name, "reason": reason(task, name)}) + "\n")
            file.flush()


if __name__ == "__main__":
    main()
