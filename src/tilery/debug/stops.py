"""Reasons to stop a launch: breakpoints, writes to watched elements, NaN, and reports of the sanitizer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..diag import TileError
from ..engines.common.arguments import Buffers
from ..engines.common.limits import Limits
from ..engines.common.tiles import carrier
from ..engines.reference.observe import Observer, Scene, TokenIds, instrument
from ..engines.reference.program import RegionCode
from ..observe.arrays import ArrayArgument, find_element
from ..observe.expressions import evaluate
from ..observe.numbers import decode, element_text
from ..sanitize import Reports, Sanitizer
from .breakpoints import Breakpoint, Watchpoint, bind
from .marks import is_mark
from .state import SteppedLaunch
from .variables import Slots
from .watching import Notice, NoticedReports, Writes, nan_checking

STATEFUL = frozenset({"bounds", "uninit", "unwritten", "race", "order"})
"""Checks that remember what happened: with them, going back starts the launch again."""


@dataclass(slots=True)
class Stop:
    """Why execution stopped: `entry`, `step`, `breakpoint`, `data`, `nan`, `report`, `exception`, `pause` or `end`."""

    reason: str
    text: str = ""
    breakpoints: list[int] = field(default_factory=list)


class Stopping(SteppedLaunch):
    """A launch with its breakpoints. The arguments are those of `Kernel.launch`, and:

    * `arrays`: the arrays among the arguments, if these are words.
    * `sanitize`: names of checks, whose reports stop the launch; `uninit`: arrays that have not been written;
      `outputs`: those that the launch must also write.
    """

    def __init__(
        self,
        kernel: Any,
        grid: int | Sequence[int],
        args: Sequence[Any] = (),
        *,
        names: Sequence[str] = (),
        convention: str | None = None,
        buffers: Buffers = (),
        arrays: Sequence[ArrayArgument] | None = None,
        batch: int | None = None,
        sanitize: str = "",
        uninit: Sequence[Any] = (),
        outputs: Sequence[Any] = (),
        limits: Limits | None = None,
        output: Callable[[str], None] | None = None,
    ) -> None:
        super().__init__(
            kernel,
            grid,
            args,
            names=names,
            convention=convention,
            buffers=buffers,
            arrays=arrays,
            batch=batch,
            limits=limits,
            output=output,
        )
        self.breakpoints: list[Breakpoint] = []
        self.watchpoints: list[Watchpoint] = []
        self.catches: set[str] = {"report"} if sanitize else set()
        """`nan`: stop where NaN or an infinity comes from; `report`: stop at a report of the sanitizer."""
        self.sanitizer = Sanitizer(sanitize, uninit=uninit, outputs=outputs) if sanitize else None
        self._undefined = [] if self.sanitizer is None else [region.save() for region in self.sanitizer.uninit]
        self.log: Callable[[str], None] = output or (lambda text: None)
        """Prints the messages of breakpoints."""
        self._numbers = 0
        self._notices: list[Notice] = []
        self._nan = NoticedReports()
        self._at: dict[int, list[Breakpoint]] = {}
        self.program = self._instrumented()
        self.slots = Slots(self.program, self.source)
        self.marks = {pc for pc, each in enumerate(self.program.code) if is_mark(each.op)}
        """The positions of calls of `breakpoint()` in a cuTile kernel."""
        if self.sanitizer is not None and not STATEFUL.isdisjoint(self.sanitizer.names):
            self.machine.on_restart = self._restart

    @property
    def reports(self) -> Reports:
        """The reports of the sanitizer so far."""
        return self._nan if self.sanitizer is None else self.sanitizer.reports

    def break_at(self, **where: Any) -> Breakpoint:
        """Add a breakpoint; see `Breakpoint` for what it takes."""
        self._numbers += 1
        point = Breakpoint(self._numbers, **where)
        if point.block is not None:
            self.rank_of(point.block)
        bind(point, self.program, self.source)
        self.breakpoints.append(point)
        self._index()
        return point

    def watch(self, text: str, condition: str = "") -> Watchpoint:
        """Stop when an element of an array, such as `a[17, 3]`, is written."""
        found = find_element(text, self.arrays)
        if found is None:
            raise TileError(f"'{text}': expected an element of an array, such as a[17, 3]")
        array, index = found
        self._numbers += 1
        point = Watchpoint(self._numbers, text.strip(), array.at(index), array.bytes, array.half(index), condition)
        self.watchpoints.append(point)
        self._use(self._instrumented())
        return point

    def catch(self, what: str, on: bool = True) -> None:
        """Stop, or do not, on `nan` or on a `report` of the sanitizer."""
        if what not in ("nan", "report"):
            raise TileError(f"expected 'nan' or 'report', got '{what}'")
        if what == "report" and on and self.sanitizer is None:
            raise TileError("there are no reports without a sanitizer: start with --sanitize")
        (self.catches.add if on else self.catches.discard)(what)
        self._use(self._instrumented())

    def delete(self, number: int) -> None:
        """Remove a breakpoint or watchpoint."""
        for points in (self.breakpoints, self.watchpoints):
            for point in points:
                if point.number == number:
                    points.remove(point)  # type: ignore[arg-type]  # it is one of these
                    self._index()
                    self._use(self._instrumented())
                    return
        raise TileError(f"there is no breakpoint {number}")

    def _index(self) -> None:
        self._at = {}
        for point in self.breakpoints:
            for pc in point.positions:
                self._at.setdefault(pc, []).append(point)

    def _instrumented(self) -> RegionCode:
        """Return the program with the observers that stops need, decided once for each operation."""
        observers: list[Observer] = [Writes(self.watchpoints, self._notices)]
        if self.sanitizer is not None:
            self.sanitizer.reports = NoticedReports()
            observers.append(self.sanitizer.observer())
        if "nan" in self.catches:
            observers.append(nan_checking(self._nan))
        scene = Scene(self.machine, self.kernel, TokenIds())
        self.machine.observers = tuple(observers)
        for each in observers:
            each.begin(scene)
        return instrument(self.kernel.program, observers, scene.ids)

    def _use(self, program: RegionCode) -> None:
        """Go on with another instrumentation; with checks that remember, the launch so far is executed again."""
        self.program, self.machine.fresh.program = program, program
        if self.machine.on_restart is not None and self.machine.count:
            here = self.machine.count
            with self._running():
                self.machine.goto(0)
                self.machine.goto(here)
            self._notices.clear()
            return
        saved = self.machine.known()
        every = [self.machine.active, *(c.active for c in saved)]
        every += [[b] for b in (self.machine.current, *(c.current for c in saved)) if b is not None]
        for batches in every:
            for batch in batches:
                batch.program = program

    def _restart(self) -> RegionCode:
        """Start the checks again, for a launch that starts again."""
        if self.sanitizer is not None:
            for region, saved in zip(self.sanitizer.uninit, self._undefined):
                region.restore(saved)
        self.program = self._instrumented()
        self._notices.clear()
        return self.program

    # ------------------------------------------------------------ is it here

    def _hit(self, count: bool = True) -> Stop | None:
        """Return a stop if a breakpoint is here. The tile block in focus is the one that a condition holds for."""
        batch = self.machine.current
        assert batch is not None
        hits: list[Breakpoint] = []
        if batch.pc in self.marks:
            return Stop("breakpoint", "breakpoint()")
        for point in self._at.get(batch.pc, ()):
            ranks = [int(rank) for rank in batch.ranks]
            if point.block is not None:
                ranks = [rank for rank in ranks if rank == self.rank_of(point.block)]
            if point.enabled and point.condition:
                lanes = {int(rank): lane for lane, rank in enumerate(batch.ranks)}
                ranks = [rank for rank in ranks if self._holds(point.condition, lanes[rank])]
            if not point.enabled or not ranks:
                continue
            if count:
                point.hits += 1
                if point.hits <= point.ignore:
                    continue
            if point.message:
                if count:
                    self.log(self._filled(point.message, int(np.flatnonzero(batch.ranks == ranks[0])[0])) + "\n")
                continue
            if self.rank not in ranks:
                self.rank = ranks[0]
            hits.append(point)
        if not hits:
            return None
        return Stop("breakpoint", "; ".join(str(point) for point in hits), [point.number for point in hits])

    def _holds(self, condition: str, lane: int) -> bool:
        try:
            return bool(np.all(evaluate(condition, self.scope(lane))))
        except TileError as error:
            self.log(f"condition {condition!r}: {error.message}\n")
            return True  # better to stop than to pass by

    def _filled(self, message: str, lane: int) -> str:
        """Replace `{expression}` in the message of a breakpoint."""
        parts, scope = message.replace("{", "\0{").split("\0"), self.scope(lane)
        out = []
        for part in parts:
            inside, closed, rest = part[1:].partition("}")
            if not part.startswith("{") or not closed:
                out.append(part)
                continue
            try:
                out.append(f"{evaluate(inside, scope)}{rest}")
            except TileError as error:
                out.append(f"<{error.message}>{rest}")
        return "".join(out)

    def _noticed(self) -> Stop | None:
        """Return a stop for what observers noticed."""
        if self._nan.last is not None:
            report, self._nan.last = self._nan.last, None
            if "nan" in self.catches:
                self.rank = self.rank_of(report.places[0].block)
                return Stop("nan", report.message)
        found = self.sanitizer.reports if self.sanitizer is not None else None
        if isinstance(found, NoticedReports) and found.last is not None:
            report, found.last = found.last, None
            if "report" in self.catches:
                if report.places[0].block:
                    self.rank = self.rank_of(report.places[0].block)
                return Stop("report", f"{report.check}: {report.message}")
        notices, self._notices[:] = list(self._notices), []
        for notice in notices:
            point = next((each for each in self.watchpoints if each.number == notice.number), None)
            if point is not None and point.enabled:
                self.rank = notice.rank
                if point.condition and not self._holds(point.condition, self.lane):
                    continue
                point.hits += 1
                return Stop("data", self._changed(point, notice), [point.number])
        return None

    def _changed(self, point: Watchpoint, notice: Notice) -> str:
        found = find_element(point.text, self.arrays)
        assert found is not None
        old, new = (_element(found[0], bytes.fromhex(part), point.half) for part in notice.text.split())
        where = self.source.line(notice.op)
        by = f"{notice.op.name}{f' at {where}' if where else ''} in tile block {self.block_of(notice.rank)}"
        return f"{point.text}: {old} -> {new}, written by {by}"


def _element(array: ArrayArgument, raw: bytes, half: int) -> str:
    if array.bits == 4:
        raw = bytes([raw[0] >> 4 * half & 15])
    dtype = np.dtype(np.uint8) if array.element.text == "i1" else carrier(array.element)
    return element_text(decode(array.element, np.frombuffer(raw, dtype))[0])
