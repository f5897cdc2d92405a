"""Score NVIDIA's own test cases, add the figures of cuTile's test suite, and write docs/conformance.md.

    python scripts/conformance_report.py LITSCORE [--output docs/conformance.md]

LITSCORE is the path of a scorer, `litscore.py`, which lies beside its cases, `litcases.json`. The figures of cuTile
come from docs/reports/cutile.json, which `cutile_suite.py` writes.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import checkout
from conformance import adapter
from parts import cutile_page

KINDS = {
    "roundtrip": "round trip through text",
    "bytecode": "bytecode",
    "other": "list of versions",
    "invalid": "invalid",
    "canonicalize": "canonicalize",
    "pass": "pass",
}

TEST_ONLY = "an operation or a version (250.x) that only NVIDIA's test build has"
EXPLAINED = {
    "Bytecode/unsupportedVersionTest.mlir#r0#0": "reports another error first, see below",
    "Dialect/CudaTile/invalid.mlir#r0#225": "a rule that 13.4 changed, see [the verifier](verifier.md)",
    "Transforms/synthesize-debuginfo-scopes.mlir#r0#1": "cannot pass alone, see below",
    "Transforms/synthesize-debuginfo-scopes.mlir#r0#2": "cannot pass alone, see below",
}
"""Why a case does not pass. Any other case that does not pass is listed by its name."""

CUTILE_EXPLAINED = {
    "test_mixed_scalar_tile_atomic": "The test is wrong: its kernel changes five elements of an array that has one. "
    "The engine reports it; a GPU overwrites the memory after the array.",
    "test_reduce_sumprodf_all_axes": "The test allows the sum of 65,536 bf16 values to be off by 1 %. The order of the "
    "sum is unspecified. In the engine's order, which is that of an H200 for tiles loaded through pointers, it is off "
    "by 1.2 to 1.6 %.",
    "test_crash_dump_enabled_by_env": "The test is newer than the release: it creates an exception with one argument "
    "too few. It launches nothing.",
    "test_skips_failed_configs": "As `test_crash_dump_enabled_by_env`.",
    "test_ipc_export_none_falls_back": "Inspects a function of the tuner that is replaced here, because there is no "
    "memory to share between processes. It launches nothing.",
}
"""Why a test of cuTile fails, by the name of its function."""


@dataclass
class Score:
    """The cases of one kind: how many, how many pass, and why the others do not."""

    cases: int = 0
    passed: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def row(self, title: str) -> str:
        why = "; ".join(f"{n}: {reason}" for reason, n in self.reasons.items())
        return f"| {title} | {self.cases} | {self.passed} | {why} |"


def load_scorer(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("litscore", path)
    assert spec is not None and spec.loader is not None, f"{path} is not a Python file"
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def passes(scorer: Any, case: dict[str, Any]) -> bool:
    """Score one case. FileCheck raises an exception of its own if a variable is undefined."""
    try:
        passed: bool = scorer.run_case(adapter, case)[0]
    except Exception as error:
        sys.stderr.write(f"{case['id']}: {error!r}\n")
        return False
    return passed


def score(path: Path) -> dict[str, Score]:
    """Score all cases, by kind."""
    scorer = load_scorer(path)
    found = {kind: Score() for kind in KINDS}
    for case in json.loads((path.parent / "litcases.json").read_text("utf-8")):
        into = found[case["kind"]]
        into.cases += 1
        if passes(scorer, case):
            into.passed += 1
        elif {"testing_op", "testing_version"} & set(case["features"]):
            into.reasons[TEST_ONLY] += 1
        else:
            into.reasons[EXPLAINED.get(case["id"], f"`{case['id']}`, not explained")] += 1
    return found


def cutile_section() -> list[str]:
    """Render the figures of NVIDIA's tests of cuTile, from cutile.json."""
    runs = json.loads((checkout.REPORTS / "cutile.json").read_text("utf-8"))["runs"]
    first, others = runs[0], runs[1:]
    passed, ran = cutile_page.launching(first)
    lines = [
        "## cuTile Python's own tests",
        "",
        checkout.fill(
            f"The tests of NVIDIA/cutile-python that belong to cuTile {first['cutile']} run on the reference engine, "
            f"without a GPU: [figures](reports/cutile.md). Of the tests that launch a kernel, {passed:,} of {ran:,} "
            "pass. These fail:"
        ),
        "",
        "| Test | Number | Why |",
        "|---|---|---|",
    ]
    failures: Counter[tuple[str, str]] = Counter()
    for each in first["failures"]:
        failures[each["file"], each["tests"][0].partition("[")[0]] += each["count"]
    for (file, test), count in failures.items():
        lines.append(f"| `{file}::{test}` | {count} | {CUTILE_EXPLAINED.get(test, '**not explained**')} |")
    for run in others:
        passed, ran = cutile_page.launching(run)
        idle = run["groups"]["none"].get("failed", 0)
        lines += [
            "",
            checkout.fill(
                f"With cuTile {run['cutile']}, {passed:,} of {ran:,} tests that launch pass. {idle} tests that launch "
                f"nothing fail. {run.get('note', '')}".strip()
            ),
        ]
    return lines


def page(found: dict[str, Score]) -> str:
    return "\n".join(
        [
            "# Conformance",
            "",
            *INTRODUCTION,
            "",
            "| Kind | Cases | Pass | Do not pass |",
            "|---|---|---|---|",
            *(found[kind].row(title) for kind, title in KINDS.items()),
            "",
            *NOTES,
            "",
            *cutile_section(),
            "",
            *CLOSING,
        ]
    )


INTRODUCTION = """\
`scripts/conformance_report.py` wrote this page: the results of NVIDIA's own tests. The cases come from the lit tests of
NVIDIA/cuda-tile 13.3. A scorer calls `tests/conformance/adapter.py` and compares line, severity and message, or runs
FileCheck on the printed module. A file that holds one large module also counts once per function.""".splitlines()

NOTES = """\
`unsupportedVersionTest`: NVIDIA's tool rejects the version on its command line before it looks at the module. The
module is illegal too, and tilery reports that first. `tilery asm --version 12.0` rejects the version as well.

`synthesize-debuginfo-scopes.mlir`: parts 2 and 3 use FileCheck variables that only part 1 defines, so no tool passes
them alone. The whole file passes. `test-debuginfo-update-symbol-name`, a pass of NVIDIA's test tool, is tilery's
`rename-symbol`.

A message about a debug information scope has two sentences, and NVIDIA's tests look for each of them. The scorer uses a
diagnostic once, so the adapter also reports the second sentence on its own. The adapter spells messages as 13.3 does
where 13.4 renamed something (`fpowf`, the newest element type).""".splitlines()

CLOSING = """\
These tests compare kernels with torch on the CPU. Many ask for equal bits, but torch's f32 square root on a CPU, for
example, is not correctly rounded. So inside the test session torch's elementary functions, sums and products are
rounded once ([guide](guides/cutile.md)).

## Not measured

The lit tests are those of 13.3, not of 13.4. Both suites are fixed sets of cases. Random modules are compared in
[the verifier](reports/verifier.md) and [whole kernels on a GPU](reports/lab/gpu_modules.md).
""".splitlines()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("litscore", type=Path, help="the scorer; litcases.json lies beside it")
    parser.add_argument("--output", type=Path, default=checkout.ROOT / "docs" / "conformance.md")
    args = parser.parse_args()
    found = score(args.litscore)
    checkout.publish(page(found), args.output)
    return int(any("not explained" in reason for kind in found.values() for reason in kind.reasons))


if __name__ == "__main__":
    raise SystemExit(main())
