"""Run the catalogue of faulty Triton kernels, and write docs/reports/lab/triton_faults.md.

python scripts/triton_suites/faults.py [--which known|held|all] [--report docs/reports/lab/triton_faults.md]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from support.catalogue import names_of, read_cases, triton_reports_of  # noqa: E402

FAULTS = ROOT / "tests" / "triton_frontend" / "faults"


def outcome(path: Path) -> tuple[str, int]:
    """Return how a kernel fared, and the number of reports about its corrected twin."""
    faulty, twin = read_cases(path)
    checks = names_of(faulty)
    with tempfile.TemporaryDirectory() as folder:
        found = triton_reports_of(faulty, checks, Path(folder) / "faulty.py")
        left = triton_reports_of(twin, checks, Path(folder) / "fixed.py")
    places = {(line, report.check) for line, report, _ in found}
    wanted = {(line, check) for line, check, _ in faulty.faults}
    if places == wanted:
        return "at the right line", len(left)
    return ("at another line too" if wanted <= places else "missed" if not places else "at the wrong line"), len(left)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--which", choices=["known", "held", "all"], default="known")
    parser.add_argument("--report", type=Path)
    args = parser.parse_args()
    held = set(tomllib.loads((Path(__file__).parent / "heldout.toml").read_text("utf-8"))["faults"]["held_out"])
    rows = []
    for path in sorted(FAULTS.glob("*.py")):
        if args.which == "all" or (path.stem in held) == (args.which == "held"):
            how, false = outcome(path)
            rows.append((path.stem, path.stem in held, how, false, read_cases(path)[0].text.splitlines()[0][2:]))
            print(*rows[-1][:4], flush=True)
    lines = [
        "# Faulty Triton kernels",
        "",
        "`scripts/triton_suites/faults.py` wrote this page. Each file in `tests/triton_frontend/faults` is a kernel",
        "with a fault and its corrected twin. The sanitizer must report the fault at its line and nothing else, and",
        "nothing for the twin. A third of the faults was held out: they were named before the first rule was written,",
        "and not run until the end.",
        "",
        "| | kernels | at the right line | false reports of twins |",
        "|---|--:|--:|--:|",
    ]
    for label, which in (("known", False), ("held out", True)):
        some = [row for row in rows if row[1] == which]
        right = sum(row[2] == "at the right line" for row in some)
        lines.append(f"| {label} | {len(some)} | {right} | {sum(row[3] for row in some)} |")
    lines += ["", "| kernel | fault | reported |", "|---|---|---|"]
    lines += [f"| {name}{' (held out)' if which else ''} | {text} | {how} |" for name, which, how, _, text in rows]
    lines += ["", "## Not measured", "", "The kernels are small, and were written for this catalogue."]
    if args.report:
        args.report.write_text("\n".join(lines) + "\n", "utf-8")
    return int(any(how != "at the right line" or false for _, _, how, false, _ in rows))


if __name__ == "__main__":
    sys.exit(main())
