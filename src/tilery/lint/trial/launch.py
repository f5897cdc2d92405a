"""One trial launch: made-up arguments, limits that do not depend on the clock, and what the sanitizer reports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

from ...analysis.influence import Dependence
from ...diag import ErrorKind, TileError
from ...engines.common.cutile_abi import ArrayExtent
from ...engines.common.errors import ExecutionError
from ...engines.common.limits import Limits
from ...engines.reference.batch import Batch
from ...engines.reference.launch import ReferenceKernel, ReferenceLoaded
from ...engines.reference.machine import Machine
from ...ir import Op
from ...ops import (
    AtomicCASTko,
    AtomicRMWTko,
    LoadPtrTko,
    LoadViewTko,
    Loop,
    MmaF,
    MmaI,
    Module,
    PrintTko,
    Reduce,
    StoreViewTko,
)
from ...sanitize.checks import Check
from ...sanitize.reports import Occurrence, Report
from ...sanitize.sanitizer import Sanitizer
from ...sanitize.schedule import ScheduledMachine, SequentialMachine
from ...sanitize.uninit import padding_of
from ...types import DYNAMIC, Tile, TileView
from ..facts import Facts
from .arguments import ArgumentProfile, choose
from .checks import Did, TrialBounds, TrialOutside, TrialWatch
from .content import Content
from .nan import StoredNan
from .padding import Padding
from .signature import Signature

LEAST, CHECKS = "alignment", "alignment,uninit,promise,undefined,race"
MEASURE, PADDING = "measure", "padding"
"""Launches with other checks than those of the sanitizer."""
DEADLOCK = "deadlock"
"""The reports of tile blocks that wait for ever."""
TRAPPED = "in some schedules, tile blocks wait for each other for ever"
STARVED = "every tile block waits for ever in memory of zeros, unless something outside the kernel changes it"
ALONE, BACKWARDS = -1, -2
"""The schedules in which each tile block runs as far as it can before the next one starts, or the one before it."""
STEPS = 2000
"""Operations of a launch, on batches of tile blocks."""
WORK = 1 << 22
"""Elements that the operations of a launch compute."""
WIDEST = 1 << 22
"""The most bytes of a tile, over all tile blocks."""
AXES = (Dependence.X, Dependence.Y, Dependence.Z)
PAGES = 1 << 14
"""The most pages of content in all arrays."""
PRINTED = 1000
"""Text takes as long as so many elements."""
SECONDS = 20.0
"""A launch that takes longer tells nothing. Other limits come first, whatever the speed of the machine is."""


@dataclass(slots=True)
class Budget:
    """The limits of all trial launches of a module together."""

    steps: int = 40_000
    work: int = 1 << 27
    _start: tuple[int, int] = (0, 0)

    def start(self) -> None:
        """Note where a kernel starts."""
        self._start = self.steps, self.work

    def suffices(self, done: int, more: int) -> bool:
        """Whether a kernel that was launched so often can be launched so many times more."""
        left = self.steps, self.work
        return all((start - rest) * more <= rest * done for start, rest in zip(self._start, left))

    @property
    def is_spent(self) -> bool:
        return self.steps <= 0 or self.work <= 0


@dataclass(slots=True)
class Trial:
    """A trial launch."""

    profile: ArgumentProfile
    grid: tuple[int, int, int]
    reports: list[Report]
    did: Did
    error: ExecutionError | None = None
    is_repeated: bool = False
    """Whether tile blocks that the kernel cannot tell apart do the same."""


class _Counting:
    """Counts what is executed, and stops a launch that does too much."""

    did: Did
    costs: dict[Op, int]
    budget: Budget
    contents: tuple[Content, ...]
    done = 0

    def _count(self, o: Op, batch: Batch) -> None:
        super()._count(o, batch)  # type: ignore[misc]  # a machine
        self.did.steps += 1
        self.did.ran[o] += batch.lanes
        cost = self.costs.get(o)
        if cost is None:
            cost = self.costs[o] = work_of(o)
        self.done += cost * batch.lanes
        budget = self.budget
        budget.steps -= 1
        budget.work -= cost * batch.lanes
        if self.done > WORK or budget.is_spent or sum(content.pages for content in self.contents) > PAGES:
            raise self.error(batch, o, ErrorKind.STEPS, "stopped after too much work")  # type: ignore[attr-defined]

    def _deadlock(self, active: list[Batch]) -> ExecutionError:
        self.did.stuck = sum(batch.lanes for batch in active)
        made: ExecutionError = super()._deadlock(active)  # type: ignore[misc]  # a machine
        return made


class _Machine(_Counting, Machine):
    pass


class _Scheduled(_Counting, ScheduledMachine):
    pass


class _Sequential(_Counting, SequentialMachine):
    pass


class _Sanitizer(Sanitizer):
    """A sanitizer whose machine counts."""

    is_alone: bool
    is_backwards: bool
    did: Did
    costs: dict[Op, int]
    budget: Budget
    contents: tuple[Content, ...]

    def machine(self, *args: Any, **options: Any) -> Machine:
        seed = self.schedule
        make: Callable[..., _Machine | _Scheduled | _Sequential] = (
            _Machine if seed is None else partial(_Scheduled, seed)
        )
        if self.is_alone:
            make = partial(_Sequential, is_backwards=self.is_backwards)
        made = make(*args, **options)
        made.did, made.contents = self.did, self.contents
        made.costs, made.budget = self.costs, self.budget
        return made


def compare_schedules(trials: list[Trial]) -> None:
    """Report the schedules of a launch in which all tile blocks wait for ever.

    If they do in every schedule, they may wait for another kernel, or for another initial value of the memory.
    """
    stuck = [(trial, trial.error) for trial in trials if trial.error and trial.did.stuck == prod(trial.grid)]
    starved = len(stuck) == len(trials) and trials[0].profile.is_cleared
    if starved or any(trial.error is None for trial in trials):
        for trial, error in stuck:
            trial.reports.append(_deadlock(error, STARVED if starved else TRAPPED))


def _deadlock(error: ExecutionError, rule: str) -> Report:
    return Report(DEADLOCK, rule, [Occurrence(error.op, error.block or ())], count=1)


def work_of(o: Op) -> int:
    """Return how many elements an operation computes, roughly."""
    shapes = [v.type.shape for v in (*o.operands, *o.results) if isinstance(v.type, Tile)]
    sizes = [prod(shape) for shape in shapes]
    if isinstance(o, PrintTko):
        return PRINTED * max(sizes, default=1)
    if hasattr(o, "acc") and hasattr(o, "lhs") and shapes and len(shapes[0]) >= 2:
        return max(*sizes, sizes[0] * shapes[1][-1] // 32)
    return max(sizes, default=1)


def _is_made_up(report: Report, profile: ArgumentProfile) -> bool:
    """Whether a promise is false because of the size that was chosen for a tensor."""
    if report.check != "promise":
        return False
    match report.op:
        case LoadViewTko(view=view) | StoreViewTko(view=view) if isinstance(view.type, TileView):
            return profile.tiny or DYNAMIC in view.type.tensor_view.shape
    return profile.tiny


class Trials:
    """Launches a kernel on made-up arguments."""

    def __init__(self, module: Module, facts: Facts, signature: Signature, budget: Budget) -> None:
        self._module, self._facts, self._signature = module, facts, signature
        self._costs: dict[Op, int] = {}
        self._budget = budget
        loads = facts.of(LoadPtrTko, LoadViewTko)
        self._padded = {o for o in loads if padding_of(o) is not None}
        self._combines = any(True for _ in facts.of(Reduce, MmaF, MmaI))
        self._names = facts.entry.param_names or ()
        self.kernel = ReferenceKernel(ReferenceLoaded(module), facts.entry)
        self._used = self._dimensions()
        self._counted = tuple(bool(facts.counts & source) for source in AXES)

    def _dimensions(self) -> tuple[bool, ...]:
        known = self._facts.coordinates
        if not known and self._competes():
            known = Dependence.X
        return tuple(bool(known & source) for source in AXES)

    def _competes(self) -> bool:
        """Whether the result of an atomic operation decides what is executed: tile blocks tell each other apart."""
        facts = self._facts
        exchanged = {
            value for o in facts.of(AtomicRMWTko, AtomicCASTko) for value in o.results[:1] if value in facts.uses
        }
        deciding = any(facts.influence.of_execution(block) & Dependence.MEMORY for block in facts.parent)
        return bool(exchanged) and (deciding or any(True for _ in facts.of(Loop)))

    def grid(self, number: int, counted: int = 1) -> tuple[int, int, int]:
        """Return a grid with as many tile blocks along each dimension that the kernel asks for, or only counts."""
        x, y, z = (
            number if used else counted if is_counted else 1 for used, is_counted in zip(self._used, self._counted)
        )
        while x * y * z > 16:
            x, y, z = (max(n - 1, min(n, 2)) for n in (x, y, z))
        return x, y, z

    @property
    def is_steady(self) -> bool:
        """Whether tile blocks cannot observe each other."""
        return self.kernel.program.steady

    def launch(self, profile: ArgumentProfile, schedule: int | None = None) -> Trial | None:
        """Launch the kernel, in a random schedule, in one of those above, or in the engine's; None if it cannot be."""
        signature = self._signature
        grid = self.grid(profile.grid, profile.counted)
        if self.kernel.program.widest * prod(grid) > WIDEST:
            return None
        numbers = choose(signature, profile, grid)
        contents = {
            value: Content(
                element,
                profile.shared if value in signature.atomic else profile.integers,
                profile.floats,
                signature.extent,
            )
            for value, element in signature.pointers.items()
        }
        args: list[Any] = [contents[v].start if v in contents else numbers[v] for v in self._facts.entry.body.args]
        # Once without other checks: the shadows of the second launch are as large as what it accesses.
        first = self._run(profile, grid, args, contents, None, MEASURE)
        if first is None or first.did.steps >= STEPS:  # it would take long, or for ever, with the checks too
            return None
        found = self._run(profile, grid, args, contents, schedule, CHECKS)
        if found is not None and not self._padded.isdisjoint(first.did.holes) and self._combines:
            padding = self._run(profile, grid, args, contents, schedule, PADDING)
            found.reports += padding.reports if padding is not None else []
        return found

    def _run(
        self,
        profile: ArgumentProfile,
        grid: tuple[int, int, int],
        args: list[Any],
        contents: dict[Any, Content],
        schedule: int | None,
        checks: str,
    ) -> Trial | None:
        did, known = Did(), tuple(contents.values())
        for content in known:
            content.reset()
        watch: list[type[Check]] = [type("TrialBounds", (TrialBounds,), {"contents": known})]
        watch.append(type("TrialWatch", (TrialWatch,), {"contents": known, "did": did}))
        if checks == CHECKS:
            watch += [TrialOutside, StoredNan]
        elif checks == PADDING:
            watch.append(Padding)
        is_alone = schedule in (ALONE, BACKWARDS)
        found = _Sanitizer(CHECKS if checks == CHECKS else LEAST, more=watch, schedule=None if is_alone else schedule)
        found.did, found.contents = did, known
        found.is_alone, found.is_backwards = is_alone, schedule == BACKWARDS
        found.costs, found.budget = self._costs, self._budget
        buffers = [
            ArrayExtent(self._label(value), c.start, (c.end if checks == MEASURE else c.high) - c.start)
            for value, c in contents.items()
        ]
        kernel = ReferenceKernel(ReferenceLoaded(self._module), self._facts.entry)
        error = None
        try:
            kernel.launch(
                grid, args, buffers=buffers, limits=Limits(steps=STEPS, seconds=SECONDS, memory=1 << 28),
                output=lambda text: None, sanitize=found, batch=prod(grid),
            )  # fmt: skip
        except ExecutionError as failed:
            error = failed
        except TileError:
            return None
        reports = [report for report in found.reports if not _is_made_up(report, profile)]
        if error is not None and 0 < did.stuck < prod(grid):
            reports.append(_deadlock(error, "some tile blocks wait for ever, and others do not"))
        is_repeated = grid != self.grid(profile.grid)
        return Trial(profile, grid, reports, did, error, is_repeated)

    def _label(self, value: Any) -> str:
        at = self._facts.entry.body.args.index(value)
        return f"argument '{self._names[at]}'" if at < len(self._names) else f"argument {at}"
