"""Before anything is proven: run both programs under the sanitizer, and look for races, faults and undefined values."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..diag import ErrorKind, TileError
from ..engines.common.tiles import Array
from ..engines.kernel import ExecutionError, Limits
from ..sanitize import Report, Sanitizer
from .programs import Comparison
from .running.runner import run_own

CHECKS = "bounds,alignment,uninit,promise,undefined,race"
SECONDS = 60.0
LIMITS = frozenset({ErrorKind.TIMEOUT, ErrorKind.STEPS, ErrorKind.MEMORY})
"""Errors that say nothing about a program, only about how long it may run and how much it may use."""


@dataclass(slots=True)
class Screened:
    """The findings of the sanitizer in one program."""

    faults: list[Report] = field(default_factory=list)
    stopped: str = ""
    """The error that ended the run, if one did."""
    skipped: str = ""
    """Why the program was not checked."""

    @property
    def first(self) -> str:
        """The first fault as text."""
        return describe(self.faults[0])

    @property
    def out_of_bounds(self) -> str:
        """The first access outside memory as text, or the error that ended the run."""
        return next((describe(each) for each in self.faults if each.kind is ErrorKind.BOUNDS), self.stopped)


def describe(report: Report) -> str:
    return f"{report.check}: {report.message}"


def screen(case: Comparison, side: str, reals: dict[str, Array]) -> Screened:
    """Run a program in its own types under the sanitizer."""
    found = Screened()
    watch = Sanitizer(CHECKS)
    try:
        run_own(case, side, reals, watch, Limits(seconds=SECONDS))
    except ExecutionError as error:
        if error.kind in LIMITS:
            found.skipped = error.message
        else:
            found.stopped = error.message
    except TileError as error:
        found.skipped = error.message
    found.faults = list(watch.reports.faults)
    return found
