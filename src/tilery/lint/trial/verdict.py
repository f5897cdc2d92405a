"""Which reports of trial launches follow from the kernel alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import prod

from ...diag import TileError
from ...ir import Op
from ...ops import Alloca, LoadPtrTko, LoadViewTko, Module
from ...sanitize.reports import Report
from ..facts import Facts
from .arguments import BASE, MORE, ArgumentProfile, drawn
from .launch import ALONE, BACKWARDS, DEADLOCK, STARVED, TRAPPED, Budget, Trial, Trials, compare_schedules
from .padding import Padding
from .signature import read_signature
from .unreached import unreached_stores

MOST_OPS = 4_000
"""A kernel with more operations is not launched."""
DRAWN = 8
"""Random profiles in which what was found must happen too."""
SCHEDULES = (None, ALONE, BACKWARDS)
"""The schedules of each launch, if tile blocks may wait for each other: side by side, and one after the other."""
RANDOM = (1, 2, 3, 4)
"""Random schedules of the first launch, then; of all launches if something happens in them alone."""
ENOUGH = 2
"""Launches in which a fault must happen."""
RACE = "race"
BETWEEN = (RACE, DEADLOCK)
"""Checks that say nothing about launches of several tile blocks that are the same."""
Key = tuple[object, ...]
Effort = tuple[int, ...]
"""How much operations did in a launch."""


@dataclass(slots=True)
class Found:
    """A fault that happens whatever the arguments are."""

    report: Report
    hole: Op | None
    """The load that leaves out elements, if the fault is that they are undefined."""
    always: bool
    """False if that load leaves out elements in some launches only."""
    launches: int
    """The launches in which it happened."""


@dataclass(slots=True)
class _Candidate:
    report: Report
    ops: tuple[Op, ...]
    hole: Op | None
    """The load that leaves out elements, if the fault is that they are undefined."""
    happened: list[Effort] = field(default_factory=list)
    launches: int = 0
    """The profiles in which it happened."""


def run_trials(module: Module, facts: Facts, budget: Budget | None = None) -> list[Found]:
    """Return the faults that happen in every trial launch that does as much as one in which they happen.

    None are returned if the budget does not suffice for all launches.
    """
    budget = Budget() if budget is None else budget
    if len(facts.ops) > MOST_OPS:
        return []
    signature = read_signature(facts)
    if signature is None:
        return []
    try:
        trials = Trials(module, facts, signature, budget)
    except TileError:  # the engine does not execute it
        return []
    done: list[list[Trial]] = []
    budget.start()
    schedules: tuple[int | None, ...] = (None,) if trials.is_steady else (*SCHEDULES, *RANDOM)

    def launch(profile: ArgumentProfile) -> None:
        nonlocal schedules
        some = [trial for seed in schedules if (trial := trials.launch(profile, seed)) is not None]
        if not done and len(some) == len(schedules) > 1 and not _needs_random(some):
            schedules = SCHEDULES
        if some:
            compare_schedules(some)
            done.append(some)

    for profile in BASE:
        launch(profile)
    if not done:
        return []
    if not _candidates(done) and _is_covered(facts, done):
        return []
    if not budget.suffices(len(BASE), len(MORE) + DRAWN):
        return []
    for profile in MORE:
        launch(profile)
    candidates = _candidates(done)
    for seed in range(DRAWN):
        if not candidates:
            break
        launch(drawn(seed))
        candidates = _candidates(done)
    if budget.is_spent:
        return []
    times = Counter[Key]()
    for c in candidates:
        times[c.report.check, c.report.rule, c.ops] += c.launches  # padding has a candidate for each sign of numbers
    unreached = unreached_stores(facts, [trial for some in done for trial in some])
    return [Found(report, None, True, len(done)) for report in unreached] + [
        Found(c.report, c.hole, _is_always(c, done), c.launches)
        for c in candidates
        if times[c.report.check, c.report.rule, c.ops] >= ENOUGH
    ]


def _needs_random(some: list[Trial]) -> bool:
    """Whether random schedules of a launch show something that the others do not."""
    keys = [{_key(report, trial)[0] for report in trial.reports} for trial in some]
    common = set[Key]().union(*keys[: len(SCHEDULES)])
    return any(not each <= common for each in keys[len(SCHEDULES) :])


def _is_covered(facts: Facts, done: list[list[Trial]]) -> bool:
    """Whether every access was executed in some launch."""
    return all(any(trial.did.ran[o] for some in done for trial in some) for o in facts.place)


def _candidates(done: list[list[Trial]]) -> list[_Candidate]:
    found: dict[Key, _Candidate] = {}
    for some in done:
        here = set[Key]()
        for trial in some:
            for report in trial.reports:
                if trial.is_repeated and report.check in BETWEEN:
                    continue
                key, ops, hole = _key(report, trial)
                if not report.hint and (hole is None or _is_cut(trial, hole, report.op)):
                    candidate = found.setdefault(key, _Candidate(report, ops, hole))
                    candidate.happened.append(_effort(trial, ops, report.check == RACE))
                    here.add(key)
        for key in here:
            found[key].launches += 1
    return [c for key, c in found.items() if _holds(key, c, done)]


def _key(report: Report, trial: Trial) -> tuple[Key, tuple[Op, ...], Op | None]:
    """Return the key of a fault, equal in other launches; the operations that take part; and a load with holes."""
    ops = tuple(place.op for place in report.places)
    if report.check == RACE:
        first, other = report.op, next(iter(ops[1:2]), report.op)
        return (RACE, *sorted((id(first), id(other)))), (first, other), None
    if report.check == "uninit":
        is_memory = any(isinstance(o, Alloca) for o in ops)
        origin = next((o for o in ops[1:] if isinstance(o, (LoadPtrTko, LoadViewTko))), None)
        hole = None if is_memory else origin
        return (report.check, report.rule, report.op, origin), (report.op,), hole
    if report.rule == TRAPPED:  # where they wait depends on the grid
        return (report.check, report.rule), ops, None
    if report.check == Padding.name:  # whether it is neutral depends on the numbers
        return (report.check, report.op, trial.profile.floats), (report.op,), ops[-1]
    return (report.check, report.rule, report.op), (report.op,), None


def _effort(trial: Trial, ops: tuple[Op, ...], is_race: bool) -> Effort:
    """How often operations were executed; for a race, which takes several tile blocks, by how many, and on how much."""
    did = trial.did
    if not is_race:
        return tuple(did.ran[o] // prod(trial.grid) for o in ops)
    return tuple(n for o in ops for n in (did.ran[o], len(did.ranks.get(o, ())), did.elements[o]))


def _holds(key: Key, candidate: _Candidate, done: list[list[Trial]]) -> bool:
    """Whether the fault happened in each launch that did as much as one in which it happened."""
    for some in done:
        profile = some[0].profile
        if (key[0] == Padding.name and key[2] != profile.floats) or (key[0] == "promise" and profile.tiny):
            continue
        if key[0] in BETWEEN and some[0].is_repeated:
            continue
        if any(_matches(key, candidate, report, trial) for trial in some for report in trial.reports):
            continue
        for trial in some:
            if key[0] == DEADLOCK:
                passed = len(trial.did.ranks.get(candidate.report.op, ())) if trial.error is None else 0
                if (profile.is_cleared and passed > 0) if key[1] == STARVED else passed > 1:
                    return False
                continue
            if candidate.hole is not None:
                if _is_cut(trial, candidate.hole, candidate.report.op):
                    return False
                continue
            effort = _effort(trial, candidate.ops, key[0] == RACE)
            if any(all(a >= b for a, b in zip(effort, other)) for other in candidate.happened):
                return False
    return True


def _is_cut(trial: Trial, load: Op, o: Op) -> bool:
    """Whether a tile block executed an operation and a load that left out a part of its tile."""
    cut, did = trial.did.holes.get(load, set()), trial.did
    return bool(cut) and (not cut.isdisjoint(did.ranks[o]) if o in did.ranks else did.ran[o] > 0 or o.nested)


def _matches(key: Key, candidate: _Candidate, report: Report, trial: Trial) -> bool:
    if report.check == RACE == candidate.report.check:
        return not set(candidate.ops).isdisjoint(place.op for place in report.places[:2])
    return _key(report, trial)[0] == key


def _is_always(candidate: _Candidate, done: list[list[Trial]]) -> bool:
    return candidate.hole is None or all(
        candidate.hole in trial.did.holes for some in done for trial in some if trial.did.ran[candidate.hole]
    )
