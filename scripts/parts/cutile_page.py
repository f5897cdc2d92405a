"""The page that `scripts/cutile_suite.py` writes, from the numbers of docs/reports/cutile.json alone."""

from __future__ import annotations

from typing import Any

import checkout

LEFT_OUT = {
    "test_int64_index_inc1": "arrays of more than 4 GiB, and as many tile blocks",
    "test_add_list_of_int64_index_arrays": "the same reason",
}


SAMPLE_NOTES = {"AttentionFMHA": "it tunes itself before it compares, which takes much longer than the comparison."}


_SUMS = (
    "long sums of this engine are rounded in f32, and those of torch in another order; close to zero the tolerance of "
    "the sample is smaller than that. With `--exact` it passes"
)
SAMPLE_FAILURES = {"MatMul": _SUMS, "BatchMatMul": _SUMS}
"""Why samples fail on engine cpu: each was looked at."""
TITLES = {"launch": "launch a kernel", "process": "launch in another process", "none": "launch nothing"}

INTRODUCTION = """\
`scripts/cutile_suite.py` wrote this page. It runs `test/` of NVIDIA/cutile-python, except the benchmarks. NVIDIA's
frontend and dispatcher run unchanged. Kernels execute on the reference engine unless another one is named, and tensors
requested on `cuda` are created on the CPU. A test that passes even if nothing is executed shows little about the
engine, so the last column counts those."""

NOT_MEASURED = """\
## Not measured

Two tests with arrays of more than 4 GiB are left out. Tests that need cupy, numba, JAX or a Rubin GPU skip themselves.
Times depend on the machine and say nothing about a GPU."""


def page(found: dict[str, Any]) -> str:
    """Render the numbers of cutile.json."""
    lines = ["# NVIDIA's tests of cuTile Python, without a GPU", "", INTRODUCTION, ""]
    for run_ in found["runs"]:
        lines += section(run_)
    if "samples" in found:
        lines += samples_section(found["samples"])
    for compared in found.get("engines", []):
        lines += engine_section(compared)
    return "\n".join([*lines, NOT_MEASURED, ""])


def section(found: dict[str, Any]) -> list[str]:
    """Render one run of the tests."""
    number = sum(group["number"] for group in found["groups"].values())
    cpu = f", {found['cpu_minutes']} minutes of CPU time" if "cpu_minutes" in found else ""
    load = f", load average {found['load']:.1f} per core at the start" if "load" in found else ""
    lines = [
        f"## cuTile {found['cutile']}",
        "",
        checkout.fill(
            f"{number:,} tests in {found['minutes']} minutes with {found['jobs']} processes{cpu}{load} "
            f"(CPython {found['python']}, torch {found['torch']}). {found.get('note', '')}".strip()
        ),
        "",
        "| tests that | number | pass | fail | fail as expected | skipped | pass with nothing executed |",
        "|---|---|---|---|---|---|---|",
    ]
    for key, title in TITLES.items():
        group = found["groups"][key]
        counts = [group.get(name, 0) for name in ("number", "passed", "failed", "xfailed", "skipped")]
        idle = "-" if key == "none" else f"{group.get('idle', 0):,}"
        lines.append(f"| {title} | " + " | ".join(f"{n:,}" for n in counts) + f" | {idle} |")
    passed, ran = launching(found)
    lines += ["", f"Of the tests that launch, {passed:,} of {ran:,} pass: {passed / max(1, ran):.2%}.", ""]
    if found["failures"]:
        lines += ["| tests that fail | file | why |", "|---|---|---|"]
        lines += [f"| {each['count']} | {each['file']} | {each['why']} |" for each in found["failures"]]
        lines.append("")
    return [*lines, "Left out: " + "; ".join(f"`{name}` ({why})" for name, why in LEFT_OUT.items()) + ".", ""]


def launching(found: dict[str, Any]) -> tuple[int, int]:
    """Return how many of the tests that launch pass, and how many of them ran to a verdict."""
    groups = [found["groups"][key] for key in ("launch", "process")]
    passed = sum(group.get("passed", 0) for group in groups)
    return passed, passed + sum(group.get("failed", 0) for group in groups)


def samples_section(found: dict[str, Any]) -> list[str]:
    versions = sorted({each["cutile"] for each in found.values()})
    lines = [f"## Samples, with cuTile {', '.join(versions)}", "", "Unchanged; each compares itself with torch.", ""]
    lines += ["| sample | comparisons that pass | CPU time |", "|---|---|---|"]
    for name, each in found.items():
        lines.append(f"| {name} | {sample_checks(each)} | {sample_time(each)} |")
    notes = [f"{name}: {note}" for name, note in SAMPLE_NOTES.items() if name in found]
    return [*lines, "", *notes, ""]


def engine_section(found: dict[str, Any]) -> list[str]:
    """Render the comparison of an engine with the reference engine."""
    outcomes = ", ".join(f"{number:,} {name}" for name, number in sorted(found["outcomes"].items()))
    other = f"{len(found['other'])} end differently" if found["other"] else "all end as on the reference engine"
    how = (
        " Kernels were compiled in forked processes, which takes less time than for a user." if found["forked"] else ""
    )
    text = (
        f"{found['compared']:,} of the {found['launching']:,} tests that launch kernels ran on this engine too "
        f"(cuTile {found['cutile']}, torch {found['torch']}, CPython {found['python']}): {outcomes}; {other}. That "
        f"took {found['cpu_seconds']:,} seconds of CPU time. All {found['plain']['tests']:,} tests, those that launch "
        f"nothing included, took {found['plain']['cpu_seconds']:,} seconds on the reference engine.{how}"
    )
    lines = [f"## Engine `{found['engine']}`", "", checkout.fill(text), ""]
    lines += [f"* `{each['test']}`: {each['outcome']}, not {each['plain']}: {each['why']}" for each in found["other"]]
    lines += [""] * bool(found["other"])
    if "samples" in found:
        lines += ["| sample | comparisons that pass | CPU time | on the reference engine | CPU time |"]
        lines.append("|---|--:|--:|--:|--:|")
        for name, pair in found["samples"].items():
            cells = [cell for each in pair for cell in (sample_checks(each), sample_time(each))]
            lines.append(f"| {name} | " + " | ".join(map(str, cells)) + " |")
        lines.append("")
        for name, end in found["failing samples"].items():
            why = SAMPLE_FAILURES.get(name, "not explained")
            lines += [checkout.fill(f"{name}: {why}. " + "; ".join(part.strip() for part in end if part) + "."), ""]
    return lines


def sample_checks(each: dict[str, Any]) -> str:
    return str(each["checks"]) if each["status"] == 0 else "fails"


def sample_time(each: dict[str, Any]) -> str:
    return "not measured" if each["cpu_seconds"] is None else f"{each['cpu_seconds']} s"
