"""The catalogue of faulty kernels: what a file says, its corrected twin, and what the sanitizer reports for both."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace
from typing import Any

from support.oracle import ROOT
from tilery.cli.arguments import make_arguments
from tilery.cli.main import make_parser
from tilery.cli.sanitizing import sanitizer_for
from tilery.cli.verbs.run import parse_grid
from tilery.engines.common.errors import ExecutionError
from tilery.engines.common.limits import Limits
from tilery.engines.reference.launch import ReferenceLoaded
from tilery.ir import Op
from tilery.ops import Assert
from tilery.sanitize import CHECKS, Report, Sanitizer
from tilery.source.input import Input
from tilery.source.lines import places
from tilery.verifier.explain import read_legal

FOLDER = ROOT / "tests" / "sanitize" / "catalogue"
ASSERT = "assert"
"""Stands for a check in the place of an assertion of the kernel, which ends the launch by itself."""
FAULT = re.compile(r"(?://|#) fault: ([\w-]+)(?:: ((?:(?!//|#).)*))?")
CAUSE = re.compile(r"(?://|#) cause: ((?:(?!//|#).)*)")
OTHER = re.compile(r"(?://|#) other: ([\w-]+)")
FIXED = re.compile(r"^(\s*)(?://|#) fixed: ?(.*)$")
RUN = re.compile(r"^(?://|#) (fixed-)?run: (.*)$")


@dataclass
class Case:
    """A file: its text, the options of the launch, and what must be reported on which line."""

    text: str
    run: str = ""
    faults: list[tuple[int, str, str]] = field(default_factory=list)
    """Line, check, and a part of the message."""
    others: list[tuple[int, str]] = field(default_factory=list)
    causes: list[tuple[int, str]] = field(default_factory=list)
    """Line, and a part of the lines after the message."""


def read_cases(path: Path) -> tuple[Case, Case]:
    """Return the faulty kernel and its corrected twin."""
    lines = path.read_text("utf-8").splitlines()
    runs = {bool(m[1]): m[2] for line in lines if (m := RUN.match(line))}
    faulty = Case("\n".join(lines) + "\n", runs.get(False, ""))
    fixed: list[str] = []
    for number, line in enumerate(lines, 1):
        faulty.faults += [(number, found[1], (found[2] or "").strip()) for found in FAULT.finditer(line)]
        faulty.causes += [(number, found[1].strip()) for found in CAUSE.finditer(line)]
        if found := OTHER.search(line):
            faulty.others.append((number, found[1]))
        if found := FIXED.match(line):
            fixed[-1:] = [found[1] + found[2]] if found[2] else [""]
            fixed.append("")
        else:
            fixed.append(CAUSE.sub("", FAULT.sub("", line)))
    twin = Case("\n".join(fixed) + "\n", runs.get(True, runs.get(False, "")))
    assert faulty.faults, f"{path.name} names no fault"
    assert twin.text != faulty.text and (any(FIXED.match(line) for line in lines) or True in runs), path.name
    return faulty, twin


def names_of(case: Case) -> str:
    """All checks, and the hints that a case names."""
    hints = {check for _, check, _ in case.faults if check != ASSERT and CHECKS[check].hint}
    return ",".join(["all", *sorted(hints)])


def shown(report: Report) -> str:
    """Return a report as the guide quotes it: without its place, addresses and folders."""
    text = "\n".join([f"{report.check}: {report.message}", *(f"note: {each}" for each in report.details)])
    return re.sub(r"/\S*/", "", re.sub(r"0x[0-9a-f]+", "0x...", text))


def reports_of(case: Case, checks: str) -> list[tuple[int, Report, list[int]]]:
    """Run a kernel of Tile IR; each report with the line of its operation, and those of the others."""
    source = Input(text=case.text, file="kernel.mlir")
    module = read_legal(source)
    args = make_parser("run").parse_args(["run", "kernel.mlir", *shlex.split(case.run)])
    arguments = make_arguments(args.arg, args.seed)
    found = sanitizer_for(checks, arguments)
    options = {"names": [a.name for a in arguments], "convention": args.convention, "batch": args.batch}
    try:
        ReferenceLoaded(module).kernel(args.entry).launch(
            parse_grid(args.grid or "1"),
            [a.value for a in arguments],
            output=lambda text: None,
            limits=Limits(seconds=20),
            sanitize=found,
            **options,
        )
    except ExecutionError:
        assert found.reports.faults, "the launch failed without a report"

    def line(op: Op) -> int:
        return source.error(op, "").line or 0

    return [(line(r.op), r, [line(place.op) for place in r.places[1:]]) for r in found.reports]


def cutile_reports_of(case: Case, checks: str, file: Path) -> list[tuple[int, Report, list[int]]]:
    """Run a kernel of cuTile Python, from a file that is written here; the same result."""
    from tilery.cutile import on

    return python_reports_of(case, checks, file, on)


def triton_reports_of(case: Case, checks: str, file: Path) -> list[tuple[int, Report, list[int]]]:
    """Run a kernel of Triton, from a file that is written here; the same result."""
    from tilery.triton import on

    return python_reports_of(case, checks, file, on, strict=case.run == "strict")


def python_reports_of(
    case: Case, checks: str, file: Path, on: Callable[..., Any], **options: Any
) -> list[tuple[int, Report, list[int]]]:
    file.write_text(case.text, "utf-8")
    found = Sanitizer(checks)
    kept = []
    failed: list[ExecutionError] = []

    def uninit(array: Any) -> Any:
        kept.append(array)
        found.declare_uninit(array)
        return array

    with on(sanitize=found, seconds=20, **options):
        try:
            run_path(str(file))["main"](uninit)
        except ExecutionError as error:
            if isinstance(error.op, Assert):
                failed.append(error)
            else:
                assert found.reports.faults, "the launch failed without a report"

    def line(op: Op) -> int:
        place = next((each for each in places(op.loc) if each.file == str(file)), None)
        return 0 if place is None else place.line

    asserted: list[Any] = [SimpleNamespace(op=e.op, check=ASSERT, message=e.message, places=[]) for e in failed]
    return [(line(r.op), r, [line(place.op) for place in r.places[1:]]) for r in [*found.reports, *asserted]]
