"""`tilery check`: verify files, and list everything that is wrong with them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..files import open_documented, open_input, write_output
from ..options import Verbs, add_spelling, add_version
from ..output import as_json, report

if TYPE_CHECKING:
    from ...verifier.explain import CheckResult


def add(verbs: Verbs) -> None:
    sub = verbs.add("check", run, ["check kernel.tileirbc", "check --version 13.1 *.mlir"], json_result=True)
    sub.add_argument("files", metavar="FILE", nargs="+", help="bytecode, text or a recorded launch")
    add_spelling(sub)
    add_version(sub, "also check that this bytecode version can express the module")
    sub.add_argument("--max-errors", type=int, default=100, metavar="N", help="stop after N errors; default: 100")
    sub.add_argument("--reader", metavar="X.Y", help="read and verify as NVIDIA's tools of this version: 13.1 to 13.4")
    what = (
        "how to treat optimization hints that NVIDIA's compiler ignores; default: ignore, error for --input documented"
    )
    sub.add_argument("--hints", choices=["ignore", "warn", "error"], help=what)


def run(args: argparse.Namespace) -> int:
    """Verify that files are legal Tile IR, and list everything that is wrong with them."""
    reports = [check_file(name, args) for name in args.files]
    if args.json:
        write_output("-", as_json([report_data(found) for found in reports]))
    else:
        for found in reports:
            for error in found.errors:
                report(error)
            for warning in found.warnings:
                report(warning, kind="warning")
    return int(not all(found.legal for found in reports))


def check_file(name: str, args: argparse.Namespace) -> CheckResult:
    """Verify one file."""
    from ...verifier.explain import check_input
    from ...verifier.verify import Hints

    documented = args.input == "documented"
    hints = Hints(args.hints or ("error" if documented else "ignore"))
    limits = {"version": args.version, "max_errors": args.max_errors, "hints": hints}
    if documented:
        from ...documented import verify

        return check_input(open_documented(name), verifier=verify, **limits)
    return check_input(open_input(name, args.reader, fast=len(args.files) > 1 or None), **limits)


def report_data(report: CheckResult) -> dict[str, object]:
    """Return a report as plain data."""
    return {
        "file": report.file,
        "legal": report.legal,
        "errors": [error.as_dict() for error in report.errors],
        "warnings": [error.as_dict() for error in report.warnings],
    }
