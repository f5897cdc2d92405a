"""What each pass does to the corpus of real files, and that the result is legal, as a page of the documentation.

    python scripts/optimiser_report.py --report docs/reports/optimiser.md

Needs the corpus and tileirdisasm.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import oracle  # noqa: E402

import tilery  # noqa: E402
from tilery.cli.progress import progress  # noqa: E402
from tilery.passes import HOMES, parse_pipeline, run_pipeline  # noqa: E402
from tilery.rewrite import Report  # noqa: E402

ALL = "canonicalize,cse,fold-int,fold-float,simplify,licm,canonicalize,cse,dce"
PIPELINES = [*(name for name in HOMES if name != "rename-symbol"), ALL]


def size(module: tilery.Module) -> int:
    return sum(1 for _ in tilery.walk(module))


def measure(path: Path) -> dict[str, Counter[str]]:
    """For each pipeline: how many operations there were and are, what fired, and which claims hold."""
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
        f"`python scripts/optimiser_report.py`: {files:,} bytecode files of cuTile Python, which optimises, too;",
        "each pass alone on each file. The result is verified, given to `tileirdisasm`, and optimised once more.",
        "",
        "| passes | files changed | operations before | removed | tileirdisasm accepts | again changes nothing |",
        "|---|---|---|---|---|---|",
    ]
    for name, found in totals.items():
        removed = found["before"] - found["after"]
        lines.append(
            f"| `{name}` | {found['files changed']:,} | {found['before']:,} | {removed:,} "
            f"| {found['accepted']:,} | {found['stable']:,} |"
        )
    lines += ["", "## How often each rule fires", "", "| passes | rule | times |", "|---|---|---|"]
    for name, found in totals.items():
        rules = [(key.removeprefix("rule "), n) for key, n in found.most_common() if key.startswith("rule ")]
        lines += [f"| `{name}` | {rule} | {n:,} |" for rule, n in rules]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--report", type=Path)
    parser.add_argument("--every", type=int, default=1, help="only each N-th file")
    args = parser.parse_args()
    files = sorted(oracle.CORPUS.glob("*.tileirbc"))[:: args.every]
    totals: dict[str, Counter[str]] = {pipeline: Counter() for pipeline in PIPELINES}
    with ProcessPoolExecutor() as pool, progress(len(files), "files") as step:
        for path, found in zip(files, pool.map(measure, files)):
            for pipeline, counts in found.items():
                totals[pipeline].update(counts)
                for claim in ("accepted", "stable"):
                    if not counts[claim]:
                        sys.stderr.write(f"{path.name}: {pipeline}: not {claim}\n")
            step()
    text = page(totals, len(files))
    if args.report:
        args.report.write_text(text, encoding="utf-8")
    sys.stdout.write(text)
    return 0 if all(found["accepted"] == found["stable"] == len(files) for found in totals.values()) else 1


if __name__ == "__main__":
    raise SystemExit(main())
