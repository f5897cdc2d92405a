"""Cut token edges of kernels one at a time, and compare what the race detector reports with a search by brute force."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from support.contract import arguments, random_case
from support.race.brute_force import Recorder, races
from support.race.programs import Program
from tilery import parse
from tilery.diag import TileError
from tilery.engines.common.limits import Limits
from tilery.engines.common.tiles import CARRIERS
from tilery.engines.reference.launch import ReferenceLoaded
from tilery.ir import Op, walk
from tilery.ops import Entry, JoinTokens, Module
from tilery.sanitize import Access, Sanitizer
from tilery.sanitize.races.cells import Shadow
from tilery.sanitize.races.check import Race
from tilery.sanitize.races.doing import Doing
from tilery.sanitize.reports import Occurrence, Report
from tilery.smith import Launch
from tilery.types import Ptr, Tile, Token

EXTENT = 16
"""The extent of each dimension of made-up arrays."""
ROOM = 1 << 13
"""Eight-byte words of a made-up array: more than its shape says, so that strides may be wrong."""
MOST_ELEMENTS = 6000
"""Launches with more accessed elements are too large for a search by brute force."""


class Spy(Race):
    """Keeps the bytes and operations of all races."""

    found: dict[int, set[frozenset[Op]]]

    def begin(self, entry: Any) -> None:
        super().begin(entry)
        type(self).found = {}

    def _report(
        self,
        doing: Doing,
        rule: str,
        elements: Any,
        other: Occurrence,
        shadow: Shadow,
        granules: Any,
    ) -> Report | None:
        for granule in granules.tolist():
            for byte in range(shadow.granule):
                pair = frozenset((doing.access.op, other.op))
                self.found.setdefault(shadow.address(granule) + byte, set()).add(pair)
        return super()._report(doing, rule, elements, other, shadow, granules)


class TooLarge(Exception):
    """There are too many accesses for a search by brute force."""


class Limited(Recorder):
    """Gives up when there are too many accesses."""

    def begin(self, entry: Any) -> None:
        super().begin(entry)
        self._count = 0

    def after(self, access: Access) -> None:
        super().after(access)
        self._count += int(access.mask.sum())
        if self._count > MOST_ELEMENTS:
            raise TooLarge


def made_up_arguments(entry: Entry, aliased: bool = False) -> list[Any]:
    """Return arguments as cuTile passes them: an array is a pointer, extents and strides; other integers are 1.

    With `aliased`, all arrays are the same memory.
    """
    args: list[Any] = []
    memory = np.zeros(ROOM * 8, np.uint8)
    params = [param.element for param in entry.function_type.params if isinstance(param, Tile)]
    while params:
        element = params.pop(0)
        if not isinstance(element, Ptr):
            args.append(1.0 if element.is_float else 1)
            continue
        count = next((i for i, e in enumerate(params) if isinstance(e, Ptr) or e.is_float), len(params))
        rank = count // 2
        args.append((memory if aliased else memory.copy()).view(CARRIERS[element.pointee.name]))
        args += [EXTENT] * rank + [EXTENT**i for i in reversed(range(rank))]
        del params[: 2 * rank]
    return args


@dataclass(slots=True)
class Edge:
    """A token that an operation waits for."""

    op: Any
    index: int
    """Which operand of a join, or -1."""


def edges(entry: Entry) -> Iterator[Edge]:
    """Yield the token operands of accesses and of joins."""
    for o in walk(entry.body):
        if isinstance(o, JoinTokens):
            yield from (Edge(o, i) for i in range(len(o.tokens)) if len(o.tokens) > 1)
        elif not o.blocks and isinstance(getattr(getattr(o, "token", None), "type", None), Token):
            yield Edge(o, -1)


@contextmanager
def cut(edge: Edge) -> Iterator[None]:
    """Remove a token operand for a while."""
    name = "token" if edge.index < 0 else "tokens"
    old = getattr(edge.op, name)
    setattr(edge.op, name, None if edge.index < 0 else old[: edge.index] + old[edge.index + 1 :])
    try:
        yield
    finally:
        setattr(edge.op, name, old)


@dataclass(slots=True)
class Verdict:
    """The bytes that race in a launch, by the detector and by the search."""

    detected: set[int]
    searched: set[int]
    pairs_hold: bool
    """Whether the search knows every pair of operations that the detector reports."""

    @property
    def agrees(self) -> bool:
        return self.pairs_hold and self.detected == self.searched


def judge(module: Module, entry: str, grid: Any, make: Callable[[], list[Any]], batch: int | None = None) -> Verdict:
    """Launch a kernel, and compare. Raise TooLarge, or TileError if it cannot be launched."""
    watched = Sanitizer("bounds,alignment", more=[Spy, Limited])
    kernel = ReferenceLoaded(module).kernel(entry)
    limits = Limits(steps=20_000, seconds=5)
    kernel.launch(grid, make(), sanitize=watched, batch=batch, limits=limits, output=lambda text: None)
    wanted = races(Limited.events)
    hold = all(pairs <= wanted.get(byte, set()) for byte, pairs in Spy.found.items())
    return Verdict(set(Spy.found), set(wanted), hold)


def judge_program(seed: int) -> Verdict:
    """Compare for a random program, whose pointers are to the same memory."""
    program = Program(seed)
    memory = np.zeros(8, np.int64)
    args = [memory.view(np.int8), memory.view(np.int32), memory]
    return judge(parse(program.text), "k", program.grid, lambda: args, program.batch)


@dataclass(slots=True)
class Tally:
    """The cuts of one kernel."""

    cuts: int = 0
    races: int = 0
    """Cuts after which bytes race that did not before."""
    wrong: int = 0
    """Launches, of the whole kernel or after a cut, on which the detector and the search do not agree."""
    before: int = 0
    """1 if it races without a cut."""

    def add(self, other: Tally) -> None:
        self.cuts, self.races = self.cuts + other.cuts, self.races + other.races
        self.wrong, self.before = self.wrong + other.wrong, self.before + other.before


def try_cuts(module: Module, entry: str, grid: Any, make: Callable[[], list[Any]]) -> Tally:
    """Cut each token edge of a kernel in turn."""
    tally = Tally()
    whole = judge(module, entry, grid, make)
    tally.before, tally.wrong = int(bool(whole.searched)), int(not whole.agrees)
    for edge in list(edges(module.entry(entry))):
        with cut(edge):
            try:
                verdict = judge(module, entry, grid, make)
            except (TileError, TooLarge):
                continue
        tally.cuts += 1
        tally.wrong += not verdict.agrees
        tally.races += len(verdict.searched) > len(whole.searched)
    return tally


def module_races(seed: int) -> list[str]:
    """Return the reports of the detector for a random module whose accesses do not race."""
    module, contract = random_case(seed)
    watched = Sanitizer("race")
    for number, launch in enumerate(contract.launches):
        kernel = ReferenceLoaded(module).kernel(launch.entry)
        kernel.launch(launch.grid, arguments(launch, seed + number), sanitize=watched, output=lambda text: None)
    return [report.message for report in watched.reports]


def module_cuts(seed: int, grid: int | None = None) -> Tally:
    """Cut each token edge of a random module in turn."""
    module, contract = random_case(seed)
    total = Tally()
    for number, launch in enumerate(contract.launches):

        def make(launch: Launch = launch, number: int = number) -> list[Any]:
            return arguments(launch, seed + number)

        with suppress(TooLarge):
            total.add(try_cuts(module, launch.entry, grid or launch.grid, make))
    return total
