"""Before anything is proven: run both programs under the sanitizer, and look for races, faults and undefined values."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..diag import TileError
from ..engines.common.tiles import Array
from ..engines.kernel import ExecutionError, Limits
from ..sanitize import Sanitizer
from .programs import Case
from .running.runner import run_own

CHECKS = "bounds,alignment,uninit,promise,undefined,race"
SECONDS = 60.0


@dataclass(slots=True)
class Screened:
    """What the sanitizer found in one program."""

    faults: list[str] = field(default_factory=list)
    stopped: str = ""
    """The error that ended the run, if one did."""
    skipped: str = ""
    """Why the program was not checked."""

    @property
    def is_racy(self) -> bool:
        return any(each.startswith("race") for each in self.faults)


def screen(case: Case, side: str, reals: dict[str, Array]) -> Screened:
    """Run a program in its own types under the sanitizer."""
    found = Screened()
    watch = Sanitizer(CHECKS)
    try:
        run_own(case, side, reals, watch, Limits(seconds=SECONDS))
    except ExecutionError as error:
        if "stopped after" in error.message:
            found.skipped = error.message
        else:
            found.stopped = error.message
    except TileError as error:
        found.skipped = error.message
    found.faults = [f"{report.check}: {report.message}" for report in watch.reports.faults]
    return found
