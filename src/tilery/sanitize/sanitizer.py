"""`Sanitizer`: which checks a launch is watched by, and what they found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from threading import RLock
from typing import Any, NamedTuple

from ..diag import Note, NoteKind, TileError
from ..engines.common.arrays import ArrayMemory, locate
from ..engines.common.errors import ExecutionError
from ..engines.reference.machine import Machine
from .checking import Checking
from .checks import Check
from .flight import InFlight
from .origins import Origin, Origins
from .program import ProgramMemory
from .regions import TrackedMemory
from .reports import Faults, Report, Reports
from .selection import Selection, Suppressions


class CheckRow(NamedTuple):
    """A check: its name, where its class is, and what it finds."""

    name: str
    module: str
    attribute: str
    summary: str
    hint: bool = False


CHECKS = {
    row.name: row
    for row in (
        CheckRow("bounds", "bounds", "BoundsCheck", "accesses outside a pointer's memory, writes to read-only memory"),
        CheckRow("alignment", "bounds", "AlignmentCheck", "addresses that are not a multiple of the element's size"),
        CheckRow("uninit", "uninit", "Uninit", "undefined values that affect results"),
        CheckRow("unwritten", "unwritten", "Unwritten", "elements of declared outputs that no tile block wrote"),
        CheckRow("promise", "promise", "Promise", "`assume`, `inbounds` and `overflow` that do not hold"),
        CheckRow("undefined", "undefined", "Undefined", "operands for which an operation has no defined result"),
        CheckRow("race", "races.check", "Race", "conflicting accesses to the same bytes that nothing orders"),
        CheckRow("order", "races.tokens", "UnorderedTokens", "tokens that order nothing", hint=True),
        CheckRow("nan", "hints", "Nan", "operations that make NaN or infinity from finite numbers", hint=True),
        CheckRow("outside", "hints", "Outside", "tiles of a view that are wholly outside its tensor", hint=True),
        CheckRow("order-sensitive", "hints", "OrderSensitive", "reductions that depend on the order", hint=True),
    )
}  # fmt: skip
"""Every check by name. Those that are not hints are together `all`."""

ALL = "all"


def parse_checks(text: str) -> list[CheckRow]:
    """Return the checks with these names, separated by commas; `all` is every check but the hints."""
    chosen: dict[str, CheckRow] = {}
    for name in (part.strip() for part in text.split(",")):
        if name == ALL:
            chosen.update((row.name, row) for row in CHECKS.values() if not row.hint)
        elif name in CHECKS:
            chosen[name] = CHECKS[name]
        else:
            known = ", ".join([ALL, *CHECKS])
            raise TileError(f"unknown check '{name}', expected names separated by commas: {known}")
    return [row for row in CHECKS.values() if row.name in chosen]


class Sanitizer:
    """Checks for launches, and what they found: `checks` are names separated by commas, `more` classes of your own.

    Pass it as `launch(sanitize=...)`; it may watch several launches, of several threads too, and collects the `reports`
    of all of them.

    >>> Sanitizer("bounds,alignment").names
    ['bounds', 'alignment']
    """

    def __init__(
        self,
        checks: str = ALL,
        *,
        uninit: Iterable[Any] = (),
        outputs: Iterable[Any] = (),
        raises: bool = False,
        more: Sequence[type[Check]] = (),
        schedule: int | None = None,
        runs: int = 0,
        seed: int = 0,
        selection: Selection | None = None,
        suppressions: Suppressions | None = None,
        together: bool = False,
    ) -> None:
        self.rows = parse_checks(checks)
        self.origins = Origins()
        self.uninit: list[TrackedMemory] = []
        """The memory of arguments that has not been written yet; a launch that writes it changes this."""
        for array in uninit:
            self.declare_uninit(array)
        self.outputs: list[ArrayMemory] = []
        """The arrays that each launch which takes them must write."""
        for array in outputs:
            self.declare_output(array)
        self.program: ProgramMemory | None = None
        """The memory of the program that launches kernels, where a front end watches it."""
        self.raises = raises
        """Whether a launch with faults raises `Faults` at its end; `reports` are then those of the last launch."""
        self.more = more
        """Checks of your own."""
        self.schedule = schedule
        """The seed of a random schedule, or None for the engine's own."""
        self.runs = runs
        """Random schedules in which programs run each launch before they run it in the engine's own."""
        self.seed = seed
        """The first of these schedules."""
        self.selection = Selection() if selection is None else selection
        self.suppressions = Suppressions() if suppressions is None else suppressions
        self.flight = InFlight() if together else None
        """The launches that may overlap, and the streams and events that order them; None if each is alone."""
        if together and runs:
            raise TileError("together: launches that overlap run once, not in several schedules")
        self.launched = ""
        """The line of the program that launches a kernel now, if a front end knows it."""
        self.last: Checking | None = None
        """The checks of the last launch."""
        self.schedules: list[int | None] = []
        """The schedules of the launches so far."""
        self.reports = Reports()
        self.lock = RLock()
        """Held during a launch: launches of several threads are watched one after the other."""

    def __repr__(self) -> str:
        watched = f"{len(self.schedules)} launch{'es' * (len(self.schedules) != 1)}"
        return f"<sanitizer {', '.join(self.names)}: {watched}, {len(self.reports.faults)} faults>"

    def _repr_html_(self) -> str:
        from .. import markup

        return markup.line(repr(self)[1:-1], strong=True) + self.reports._repr_html_() + markup.line(self.claim)

    @property
    def names(self) -> list[str]:
        """The names of the checks."""
        return [row.name for row in self.rows]

    @property
    def claim(self) -> str:
        """The facts known about races if none is reported; empty if the check did not run."""
        if "race" not in self.names or not self.schedules:
            return ""
        seeds = sorted(seed for seed in self.schedules if seed is not None)
        runs = ["the engine's own schedule"] if None in self.schedules else []
        if seeds:
            numbers = f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else str(seeds[0])
            runs.append(f"{len(seeds)} random schedule{'s' * (len(seeds) > 1)} ({numbers})")
        return (
            f"races were looked for in {' and '.join(runs)}{self._claim_about_launches}, and in all executions with "
            "the same control flow and the same order of synchronisation; not in others"
        )

    @property
    def _claim_about_launches(self) -> str:
        if self.flight is None:
            return ""
        more = " (some counted as ended because there were too many)" if self.flight.is_forgetful else ""
        return f", also between launches{more}"

    def declare_uninit(self, array: Any) -> None:
        """Declare that an array, which later launches take as an argument, has not been written yet."""
        found = locate(array).range("")
        if found.size:
            self.uninit.append(
                TrackedMemory(found.address, found.size, False, self.origins.add(Origin(is_memory=True)))
            )

    def declare_output(self, array: Any) -> None:
        """Declare that an array has not been written yet, and that a launch which takes it must write every element."""
        self.declare_uninit(array)
        found = locate(array)
        if found.low < found.high:
            self.outputs.append(found)

    def complete(self, report: Report, kernel: str, launched: str) -> None:
        """Add to a new report what it is about, and decide whether the user wants to see it."""
        report.kernel, report.launched = kernel, launched
        report.is_suppressed = self.suppressions.matches(report)

    def start_again(self) -> None:
        """Forget the reports so far; earlier launches have ended."""
        self.reports = Reports()
        if self.flight is not None:
            self.flight.synchronize()

    def takes(self, kernel: str) -> bool:
        """Tell whether to watch the launch of a kernel that starts now. What other launches write counts as defined."""
        if self.selection.takes(kernel):
            return True
        for region in self.uninit:
            region.bytes[:] = 0
        if self.program is not None:
            self.program.forget()
        return False

    @property
    def summary(self) -> str:
        """How many launches were watched, and what was found, in a line."""
        reports, selection = self.reports, self.selection
        suppressed = sum(report.is_suppressed for report in reports)
        parts = [
            _count(selection.watched, "launch was", "launches were") + " watched",
            _count(selection.left_out, "was not", "were not") if selection.left_out else "",
            f"{selection.stopped} stopped by an error" if selection.stopped else "",
            _count(len(reports.faults), "fault", "faults") if reports.faults else "no fault",
            _count(len(reports.hints), "hint", "hints") if reports.hints else "",
            f"{suppressed} suppressed" if suppressed else "",
            f"the kernels have other names: {selection.misses}" if selection.misses else "",
        ]
        return ", ".join(part for part in parts if part)

    def native_checks(self) -> frozenset[str] | None:
        """Return the checks of a launch that instrumented code can stand in for; None if it takes the reference engine.

        That code finds launches with nothing to report. It knows neither schedules nor memory that is not written yet.
        """
        special = self.more or self.schedule is not None or self.runs or self.flight or self.program
        if special or self.uninit or self.outputs or self.selection.is_limited:
            return None
        # Without outputs, `unwritten` has nothing to look at.
        return frozenset(self.names) - {"unwritten"}

    def passed(self, kernel: str) -> None:
        """Count a launch that was watched and has nothing to report."""
        with self.lock:
            if self.raises:
                self.reports = Reports()
            self.selection.takes(kernel)
            self.schedules.append(None)

    def machine(self, *args: Any, **options: Any) -> Machine:
        """Make the machine of a launch."""
        if self.schedule is None:
            return Machine(*args, **options)
        from .schedule import ScheduledMachine

        return ScheduledMachine(self.schedule, *args, **options)

    def observer(self) -> Checking:
        """Return what observes one launch."""
        if self.raises:
            self.reports = Reports()
        return _Watching(self)

    def _finish(self, before: dict[Report, int]) -> None:
        self.schedules.append(self.schedule)
        if self.schedule is not None:
            for report in self.reports:
                if report not in before:
                    report.notes.append(f"first seen in a random schedule: --schedule {self.schedule} replays it")


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


class _Watching(Checking):
    """The checks of one launch, and what becomes of their reports at its end."""

    def __init__(self, owner: Sanitizer) -> None:
        makes = (*map(_load, owner.rows), *owner.more)
        super().__init__(
            makes,
            owner.reports,
            owner.uninit,
            owner.outputs,
            owner.origins,
            owner.program,
            owner.flight,
            owner.launched,
        )
        self._owner = owner
        owner.last = self
        self._counts = {report: report.count for report in owner.reports}

    def finish(self, error: Exception | None) -> None:
        owner, reports = self._owner, self._owner.reports
        self.failed = error is not None
        owner.selection.stopped += self.failed
        for check in self.checks:
            check.finish()
        if self.flight is not None and self.launch is not None:
            self.flight.end(self.launch)
        owner._finish(self._counts)
        for report in reports:
            if report not in self._counts:
                owner.complete(report, self.kernel_name, owner.launched)
        if isinstance(error, ExecutionError):
            found = [each for each in reports.faults if each.count > self._counts.get(each, 0)]
            error.notes += [
                Note(f"before that, {report.check}: {report.message}", kind=NoteKind.EARLIER) for report in found[:10]
            ]
        if error is None and owner.raises and reports.faults:
            raise Faults(reports)


def _load(row: CheckRow) -> type[Check]:
    found: type[Check] = getattr(import_module(f".{row.module}", __package__), row.attribute)
    return found


def sanitizer(option: Any) -> Sanitizer:
    """Return the sanitizer for an option of a launch: names of checks, whose faults it raises, or a `Sanitizer`."""
    if isinstance(option, Sanitizer):
        return option
    if not isinstance(option, str):
        raise TileError(f"sanitize: expected names of checks or a Sanitizer, got a {type(option).__name__}")
    return Sanitizer(option, raises=True)
