"""Run each pass on the corpus of real files, check the results, and write docs/reports/lab/optimiser.md.

    python scripts/optimiser_report.py --report docs/reports/lab/optimiser.md

Needs the corpus and tileirdisasm.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import checkout
import tilery
from support import oracle
from tilery.cli.progress import progress
from tilery.passes import HOMES, parse_pipeline, run_pipeline
from tilery.rewrite import Report

ALL = "canonicalize,cse,fold-int,fold-float,simplify,licm,canonicalize,cse,dce"
PIPELINES = [*(name for name in HOMES if name != "rename-symbol"), ALL]


def size(module: tilery.Module) -> int:
    return sum(1 for _ in tilery.walk(module))


def measure(path: Path) -> dict[str, Counter[str]]:
    """Return for each pipeline the size before and after, which rules fired, and which claims hold."""
    module = tilery.load(path)
    found: dict[str, Counter[str]] = {}
    for pipeline in PIPELINES:
        report = Report()
        made = tilery.optimize(module, pipeline, report=report)  # verifies
        again = tilery.clone(made)
        run_pipeline(again, parse_pipeline(pipeline))
        answer = oracle.disassemble(tilery.dumps(made))
        found[pipeline] = Counter(
            {
                "before": size(module),
                "after": size(made),
                "files changed": int(report.changed),
                "accepted": int(answer.returncode == 0),
                "stable": int(tilery.equal(made, again)),
                **{f"rule {name}": count for name, count in report.counts.items()},
            }
        )
    return found


def page(totals: dict[str, Counter[str]], files: int) -> str:
    lines = [
        "# The optimiser on real files",
        "",
        checkout.fill(
            f"`python scripts/optimiser_report.py` wrote this page. Each pass ran alone on each of {files:,} bytecode "
            "files of cuTile Python, which cuTile had already optimised. The result was verified, given to "
            "`tileirdisasm`, and optimised a second time, which must change nothing."
        ),
        "",
        "| passes | files changed | operations before | removed | tileirdisasm accepts | stable |",
        "|---|---|---|---|---|---|",
    ]
    for name, found in totals.items():
        removed = found["before"] - found["after"]
        lines.append(
            f"| `{name}` | {found['files changed']:,} | {found['before']:,} | {removed:,} "
            f"| {found['accepted']:,} | {found['stable']:,} |"
        )
    idle = [f"`{name}`" for name, found in totals.items() if not found["files changed"]]
    lines += ["", "## How often each rule fired", "", "| passes | rule | times |", "|---|---|---|"]
    for name, found in totals.items():
        rules = [(key.removeprefix("rule "), n) for key, n in found.most_common() if key.startswith("rule ")]
        lines += [f"| `{name}` | {rule} | {n:,} |" for rule, n in rules]
    lines += ["", "## Not measured", ""]
    lines += [f"{' and '.join(idle)} never fired, so this page shows nothing about them.", ""] if idle else []
    lines.append(
        checkout.fill(
            "A rule that is not in the table did not fire on these files. The kernels were not run: whether passes "
            "preserve results is measured on random modules ([same memory before and after](execution.md))."
        )
    )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--report", type=Path)
    parser.add_argument("--every", type=int, default=1, help="use only every N-th file")
    args = parser.parse_args()
    files = sorted(oracle.CORPUS.glob("*.tileirbc"))[:: args.every]
    if not files:
        parser.error(f"there is no corpus in {oracle.CORPUS}")
    totals: dict[str, Counter[str]] = {pipeline: Counter() for pipeline in PIPELINES}
    with ProcessPoolExecutor() as pool, progress(len(files), "files") as step:
        for path, found in zip(files, pool.map(measure, files)):
            for pipeline, counts in found.items():
                totals[pipeline].update(counts)
                for claim in ("accepted", "stable"):
                    if not counts[claim]:
                        sys.stderr.write(f"{path.name}: {pipeline}: not {claim}\n")
            step()
    checkout.publish(page(totals, len(files)), args.report)
    return 0 if all(found["accepted"] == found["stable"] == len(files) for found in totals.values()) else 1


if __name__ == "__main__":
    raise SystemExit(main())
