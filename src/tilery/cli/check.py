"""The verb `check`, and how other verbs treat an illegal module."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..diag import TileError
from .files import open_input

if TYPE_CHECKING:
    from ..ops import Module
    from ..source.input import Input
    from ..verifier.explain import Report


def check_reports(args: argparse.Namespace) -> list[Report]:
    """What is wrong with each file."""
    from ..verifier.explain import check_input
    from ..verifier.verify import Hints

    return [
        check_input(
            open_input(name, args.reader),
            version=args.version,
            max_errors=args.max_errors,
            hints=Hints(args.hints),
        )
        for name in args.files
    ]


def report_data(report: Report) -> dict[str, object]:
    return {
        "file": report.file,
        "legal": report.legal,
        "errors": [error.as_dict() for error in report.errors],
        "warnings": [error.as_dict() for error in report.warnings],
    }


def read_unverified(source: Input, exact_locs: bool) -> tuple[Module, list[TileError]]:
    """Read a module to look at, legal or not, and its violations. Raise an error if it cannot be read at all."""
    from ..verifier.explain import check_input

    report = check_input(source, exact_locs=exact_locs)
    if report.module is None:
        raise report.errors[0]
    return report.module, report.errors
