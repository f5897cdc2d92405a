"""The steps of the reducer, from large to small. Each yields candidates, and where to go on if one is taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ..declare.operation import has_trait
from ..declare.relations import TERMINATOR
from ..diag import TileError
from ..ir import walk
from ..ops import Entry, Global, Module
from ..passes import parse_pipeline, run_pipeline
from ..rewrite import erase_dead
from .attributes import drop_extra, drop_location, edited, simpler_attributes, simpler_names
from .case import Case
from .data import fewer_parameters, simpler_launches
from .fill import CONSTANTS, OPERANDS, POLICIES, Replacement, values_of, with_values_replaced, without
from .regions import drop_slot, end_early, region_places, slot_places, take_region
from .types import simpler_types
from .views import static_views

SMALL = 48
"""Up to this many operations, every way to replace each of them is tried."""

Candidates = Iterator[tuple[int, Case | None]]
"""The place to go on from if a candidate is taken, and the candidate; None is a change that is not possible."""


class ReductionStep(NamedTuple):
    """A step: its name, and the candidates that it makes from a case, from a position on."""

    name: str
    make: Callable[[Case, int], Candidates]


def restarting(make: Callable[[Case], Iterator[Case | None]]) -> Callable[[Case, int], Candidates]:
    """Make a step of a function that is called again after each success, and skips as many candidates as before."""

    def step(case: Case, at: int) -> Candidates:
        for number, candidate in enumerate(make(case)):
            if number >= at:
                yield number, candidate

    return step


# ---------------------------------------------------------------- symbols


def fewer_symbols(case: Case, at: int) -> Candidates:
    """Remove kernels and globals, half of them at once, then a quarter, and so on."""
    keep = None if case.launch is None else case.launch.entry
    names = [o.sym_name for o in case.module.body.ops if isinstance(o, (Entry, Global)) and o.sym_name != keep]
    size = len(names)
    while size:
        for start in range(0, len(names), size):
            gone = set(names[start : start + size])
            new = case.copy()
            new.module.body.ops = [o for o in new.module.body.ops if getattr(o, "sym_name", None) not in gone]
            yield 0, new
        size //= 2


# ---------------------------------------------------------------- operations


def removable(case: Case) -> list[int]:
    """Return the positions of operations that may be removed."""
    return [
        number
        for number, o in enumerate(walk(case.module))
        if not isinstance(o, (Module, Entry, Global)) and not has_trait(o, TERMINATOR)
    ]


def fewer_operations(size: int, policy: Sequence[Replacement], dead: bool) -> Callable[[Case, int], Candidates]:
    """Make a step that removes this many operations at once, from back to front, with dead code or without."""

    def step(case: Case, at: int) -> Candidates:
        places = removable(case)
        for start in range(at, len(places), size):
            high = len(places) - start
            chosen = set(places[max(0, high - size) : high])
            new = without(case, chosen, policy)
            if new is not None and dead:
                erase_dead(new.module)
            yield start, new

    return step


def removal_steps(case: Case) -> list[ReductionStep]:
    """Return the steps that remove operations, from half of them at once down to one.

    Where dead code is left by now, it is what the case is about, and stays.
    """
    live = not erase_dead(case.copy().module)
    steps, size = [], max(1, len(removable(case)) // 2)
    while size:
        steps.append(ReductionStep(f"remove {size}", fewer_operations(size, CONSTANTS, live)))
        if size <= 8 and live:
            steps.append(ReductionStep(f"remove {size}, keep dead code", fewer_operations(size, CONSTANTS, False)))
        if size == 1 or size % 4 == 0:
            steps.append(ReductionStep(f"remove {size} for operands", fewer_operations(size, OPERANDS, live)))
        size //= 2
    return steps


def careful_removal(case: Case, at: int) -> Candidates:
    """Remove single operations in every way."""
    if case.operations > SMALL:
        return
    places = removable(case)
    number = 0
    for place in reversed(places):
        for policy in POLICIES:
            for dead in (True, False):
                if number >= at:
                    new = without(case, {place}, policy)
                    if new is not None and dead:
                        erase_dead(new.module)
                    yield number, new
                number += 1


def pairs(case: Case, at: int) -> Candidates:
    """Remove two operations at once."""
    places = removable(case)
    if len(places) > 16:
        return
    number = 0
    for first in range(len(places)):
        for second in range(first):
            for policy in (CONSTANTS, OPERANDS):
                if number >= at:
                    yield number, without(case, {places[first], places[second]}, policy)
                number += 1


def fewer_uses(case: Case, at: int) -> Candidates:
    """Replace single values wherever they are used."""
    if case.operations > SMALL:
        return
    number = 0
    for place in range(len(values_of(case))):
        for policy in POLICIES:
            if number >= at:
                new = with_values_replaced(case, place, policy)
                if new is not None:
                    erase_dead(new.module)
                yield number, new
            number += 1


# ---------------------------------------------------------------- regions


def fewer_regions(case: Case, at: int) -> Candidates:
    """Take a branch, or one iteration, in the place of an operation; from the front, so outer ones come first."""
    for number, (place, arm) in enumerate(region_places(case)):
        if number >= at:
            yield number, take_region(case, place, arm)


def fewer_passed_on(case: Case, at: int) -> Candidates:
    """Drop results of branches and values that loops carry."""
    for number, place in enumerate(reversed(slot_places(case))):
        if number >= at:
            yield number, drop_slot(case, *place)


def shorter(case: Case, at: int) -> Candidates:
    """End a kernel early: before half of its operations, a quarter, and so on."""
    for entry in case.module.entries:
        numbers = {o: n for n, o in enumerate(walk(case.module))}
        body = [numbers[o] for o in entry.body.ops]
        size = len(body) // 2
        while size:
            new = end_early(case, body[len(body) - size])
            if new is not None:
                erase_dead(new.module)
            yield 0, new
            size //= 2


# ---------------------------------------------------------------- whole modules


def passes(text: str) -> Callable[[Case, int], Candidates]:
    """Make a step that runs passes."""

    def step(case: Case, at: int) -> Candidates:
        if at:
            return
        new = case.copy()
        try:
            run_pipeline(new.module, parse_pipeline(text))
        except TileError:
            return
        yield 1, new

    return step


def no_debug_info(case: Case, at: int) -> Candidates:
    """Remove all locations and discardable attributes."""
    yield 0, edited(case, drop_location)
    yield 0, edited(case, drop_extra)


def only_live(case: Case, at: int) -> Candidates:
    """Remove dead code."""
    new = case.copy()
    if erase_dead(new.module):
        yield 0, new


LARGE = (
    ReductionStep("symbols", fewer_symbols),
    ReductionStep("dead code", only_live),
    ReductionStep("locations", no_debug_info),
    ReductionStep("end early", shorter),
)
"""The steps before operations are removed."""

SMALLER = (
    ReductionStep("regions", fewer_regions),
    ReductionStep("passed on", fewer_passed_on),
    ReductionStep("dead code", only_live),
    ReductionStep("single operations", careful_removal),
    ReductionStep("uses", fewer_uses),
    ReductionStep("canonicalize", passes("canonicalize")),
    ReductionStep("parameters", restarting(fewer_parameters)),
    ReductionStep("views", restarting(static_views)),
    ReductionStep("types", restarting(simpler_types)),
    ReductionStep("launch", restarting(simpler_launches)),
    ReductionStep("attributes", restarting(simpler_attributes)),
    ReductionStep("names", restarting(simpler_names)),
    ReductionStep("pairs", pairs),
)
"""The steps after operations were removed."""


def plan(current: Callable[[], Case]) -> Iterator[ReductionStep]:
    """Yield the steps of a round; `current` returns the smallest case so far."""
    yield from LARGE
    yield from removal_steps(current())
    yield from SMALLER
