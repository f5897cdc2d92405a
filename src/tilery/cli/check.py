"""The verb `check`, and how other verbs treat an illegal module."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..diag import TileError
from .files import read_input

if TYPE_CHECKING:
    from ..ops import Module
    from ..verifier.explain import Report


def check_reports(args: argparse.Namespace) -> list[Report]:
    """What is wrong with each file."""
    from ..verifier.explain import check_source
    from ..verifier.verify import Hints

    return [
        check_source(
            read_input(name),
            file="<stdin>" if name == "-" else name,
            reader=args.reader,
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


def load_unverified(data: bytes, name: str, places: bool) -> tuple[Module, list[TileError]]:
    """A module to look at, legal or not, and what is illegal in it. What cannot be read at all is raised."""
    from ..verifier.explain import check_source

    report = check_source(data, file="<stdin>" if name == "-" else name, places=places)
    if report.module is None:
        raise report.errors[0]
    return report.module, report.errors
