"""Reduce sixty planted faults and write docs/reports/lab/reducer.md.

python scripts/reducing/planted.py [--only KIND] [--seconds 120] [--json FILE] [--output PAGE]
python scripts/reducing/planted.py --page FILES --json FILE --output PAGE      (the page again, from the numbers)
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import checkout
from reducing.faults import Fault, all_faults
from tilery.cli.progress import progress
from tilery.reducer.oracles import with_steps
from tilery.reducer.runners import InProcess
from tilery.reducer.search import Search

PLANNED = 60
COUNTED = (
    "The counts include globals and all operations of kernels: constants, terminators, and what is inside regions. "
    "They do not include entries and the module. A crash is that of a stand-in compiler, a function that fails on a "
    "pattern. "
    "A wrong fold is a pass that replaces operations by wrong ones. A wrong lowering changes what the reference engine "
    "computes for an operation. Races are kernels in which one token was removed, judged by the sanitizer. Messages "
    "are "
    "those of the verifier about mutated modules. If the kernel is executed, a candidate counts only if the sanitizer "
    "finds nothing else wrong with it."
)
"""The text of the page that explains its numbers."""
NOT_MEASURED = (
    "Tests in child processes and in parallel: here they ran one at a time, in one process. All faults were reduced by "
    "the same state of the code, on a machine that did other work as well, so seconds are approximate."
)


def reduce_fault(fault: Fault, seconds: float) -> dict[str, Any]:
    """Plant a fault, reduce the module that shows it, and return the facts."""
    where, case = fault.plant()
    started = time.process_time()
    case = with_steps(case, seconds)
    illegal = fault.kind == "message"
    search = Search(case, InProcess(fault.test), legal=not illegal, version=case.module.version, seconds=seconds)
    found = search.run()
    again = fault.test(found.case)
    return {
        "kind": fault.kind,
        "name": fault.name,
        "where": where,
        "before": found.before.operations,
        "after": found.after.operations,
        "tests": found.tests,
        "seconds": round(time.process_time() - started, 1),
        "complete": found.complete,
        "shows": again == found.outcome,
        "text": str(found.case.module),
    }


def page(rows: list[dict[str, Any]]) -> str:
    """Return the report."""
    after = [row["after"] for row in rows]
    tests = [row["tests"] for row in rows]
    seconds = [row["seconds"] for row in rows]
    bad = [row for row in rows if row["after"] > 10 or not row["shows"]]
    unfinished = sum(not row["complete"] for row in rows)
    showing = "All" if all(row["shows"] for row in rows) else sum(row["shows"] for row in rows)
    late = f" {unfinished} reductions were stopped by their limit of time." if unfinished else ""
    text = (
        f"`scripts/reducing/planted.py` wrote this page. {len(rows)} faults were planted in kernels of the corpus and "
        f"in random modules of up to {max(row['before'] for row in rows):,} operations, and reduced. {showing} of the "
        f"reduced modules show their fault. {len(rows) - len(bad)} of them have at most 10 operations; the median is "
        f"{statistics.median(after):g} and the largest {max(after)}. It took {statistics.median(tests):g} tests in the "
        f"median, at most {max(tests):,}, and {statistics.median(seconds):g} seconds of one core in the median, at "
        f"most {max(seconds):g}.{late}"
    )
    if len(rows) < PLANNED:
        text += f" {PLANNED - len(rows)} of {PLANNED} faults were not run."
    lines = ["# The reducer", "", checkout.fill(text), ""]
    lines += ["| kind | faults | median before | median after | most after | median tests | median seconds |"]
    lines += ["|---|--:|--:|--:|--:|--:|--:|"]
    for kind in dict.fromkeys(row["kind"] for row in rows):
        own = [row for row in rows if row["kind"] == kind]

        def median(name: str, own: list[dict[str, Any]] = own) -> str:
            return f"{statistics.median(row[name] for row in own):,g}"

        most = max(row["after"] for row in own)
        lines.append(
            f"| {kind} | {len(own)} | {median('before')} | {median('after')} | {most} | {median('tests')} | "
            f"{median('seconds')} |"
        )
    lines += ["", "## Every fault", "", "| fault | planted in | before | after | tests | seconds |"]
    lines += ["|---|---|--:|--:|--:|--:|"]
    for row in rows:
        name = row["name"].replace("|", "\\|")
        lines.append(
            f"| {row['kind']}: {name} | {row['where']} | {row['before']:,} | {row['after']} | {row['tests']} | "
            f"{row['seconds']:g} |"
        )
    lines += ["", "## What is counted", "", checkout.fill(COUNTED)]
    lines += ["", "## Not measured", "", checkout.fill(NOT_MEASURED)]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="a kind, or a part of a name")
    parser.add_argument("--seconds", type=float, default=120, help="the limit of a reduction")
    parser.add_argument("--json", type=Path, help="where the numbers are kept")
    parser.add_argument("--page", type=Path, nargs="+", help="numbers of earlier runs")
    parser.add_argument("--output", type=Path, help="the page to write")
    parser.add_argument("-v", "--verbose", action="store_true", help="print reduced modules")
    args = parser.parse_args()
    if args.page is not None:
        rows = [row for file in args.page for row in json.loads(file.read_text("utf-8"))]
        if args.json is not None:
            args.json.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
    else:
        chosen = [f for f in all_faults() if not args.only or args.only in f"{f.kind}: {f.name}"]
        rows = []
        with progress(len(chosen), "faults") as step:
            for fault in chosen:
                rows.append(reduce_fault(fault, args.seconds))
                if args.verbose:
                    row = rows[-1]
                    print({k: v for k, v in row.items() if k != "text"}, flush=True)
                    print(row["text"] if row["after"] > 5 else "", flush=True)
                step()
                if args.json is not None:
                    args.json.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
    checkout.publish(page(rows), args.output)
    return 0 if all(row["after"] <= 10 and row["shows"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
