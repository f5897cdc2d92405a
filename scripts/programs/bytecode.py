"""Compare tilery with NVIDIA's disassembler on bytecode of other writers, and write docs/reports/lab/other_writers.md.

    python scripts/programs/bytecode.py FOLDER --writer "cutile-ir of NVlabs/cutile-rs" --revision 0839fe4

FOLDER has .tileirbc files that the writer made, by whatever means. Needs tileirdisasm.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import checkout
import tilery
from bytecode.other_writers import REFUSED, SAME, verdict
from tilery.cli.progress import progress

REPORT = checkout.LAB / "other_writers.md"


def operations(paths: list[Path]) -> int:
    """Count the kinds of operations in the legal files."""
    return len({type(op) for path in paths for op in tilery.walk(tilery.load(path))})


def page(found: dict[Path, str], writer: str, revision: str) -> str:
    """Render the verdicts."""
    counts = Counter(found.values())
    legal = [path for path, said in found.items() if said == SAME]
    introduction = (
        f"`scripts/programs/bytecode.py` wrote this page. {len(found)} modules that {writer} (revision `{revision}`) "
        "wrote while its own tests ran were given to tilery and to NVIDIA's `tileirdisasm`. The legal ones have "
        f"{operations(legal)} kinds of operations."
    )
    lines = ["# Bytecode of other writers", "", checkout.fill(introduction), "", "| verdict | modules |", "|---|--:|"]
    lines += [
        f"| {said} | {counts[said]} |" for said in sorted(counts, key=lambda said: (said not in (SAME, REFUSED), said))
    ]
    return "\n".join([*lines, "", NOT_MEASURED, ""])


NOT_MEASURED = """\
Most modules are refused because a test of a writer does not need a legal module. For example, many have an entry with a
parameter that is not a scalar. `TILERY_BYTECODE=FOLDER pytest tests/bytecode/test_other_writers.py` makes the same
comparison.

## Not measured

Kernels that the compiler of cutile-rs makes from Rust, because the compiler was not built. Bytecode of cuTile.jl,
because it needs Julia, which was not installed. Neither repository has bytecode files. No module was executed."""


def main() -> int:
    """Judge the files and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--writer", required=True)
    parser.add_argument("--revision", required=True)
    args = parser.parse_args()
    files = sorted(args.folder.glob("*.tileirbc"))
    found = {}
    with progress(len(files), "files") as step:
        for path in files:
            found[path] = verdict(path.read_bytes())
            step()
    checkout.publish(page(found, args.writer, args.revision), REPORT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
