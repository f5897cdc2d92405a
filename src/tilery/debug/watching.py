"""The observer of the debugger: notices writes to watched elements, NaN, and reports of the sanitizer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..analysis.effects import memory_ordering
from ..engines.reference.access import KINDS, Access, AccessKind, make_access
from ..engines.reference.batch import Batch
from ..engines.reference.observe import Execute, Observer
from ..engines.reference.program import Compute
from ..ir import Op
from ..sanitize.checking import Checking
from ..sanitize.hints import Nan
from ..sanitize.reports import Occurrence, Report, Reports
from .breakpoints import Watchpoint


@dataclass(slots=True)
class Notice:
    """Something to stop for, after the operation that did it."""

    reason: str
    """`data`, `nan` or `report`."""
    text: str
    op: Op
    rank: int
    number: int = 0
    """The watchpoint."""


class NoticedReports(Reports):
    """Reports that also keep the last one."""

    def __init__(self) -> None:
        super().__init__()
        self.last: Report | None = None

    def add(
        self, check: str, rule: str, places: list[Occurrence], *, hint: bool = False, key: object = None
    ) -> Report | None:
        self.last = super().add(check, rule, places, hint=hint, key=key)
        return self.last


class Writes(Observer):
    """Notices writes to elements. Values stay visible after their last use."""

    keeps = True

    def __init__(self, watchpoints: list[Watchpoint], notices: list[Notice]) -> None:
        self.watchpoints, self.notices = watchpoints, notices

    def compute(self, instruction: Compute, execute: Execute) -> Execute:
        o = instruction.op
        if memory_ordering(o) is None or KINDS[type(o)] is AccessKind.READ:
            return execute
        names = tuple(f.attr for f in o.opdef.operands)

        def watched(o: Op, batch: Batch, *args: Any) -> Any:
            if not self.watchpoints:
                return execute(o, batch, *args)
            access = make_access(o, batch, dict(zip(names, args)), None)
            found = [(point, ranks) for point in self.watchpoints if (ranks := writers(access, point))]
            before = [memory_bytes(batch, point) for point, _ in found]
            result = execute(o, batch, *args)
            for (point, ranks), old in zip(found, before):
                new = memory_bytes(batch, point)
                self.notices.append(Notice("data", f"{old.hex()} {new.hex()}", o, ranks[-1], point.number))
            return result

        return watched


def writers(access: Access, point: Watchpoint) -> list[int]:
    """Return the ranks of the tile blocks that write an element, in order."""
    span = access.place.span
    if not point.enabled or (
        span is not None
        and not span.low < point.address + point.bytes <= span.high + access.bytes
        and not span.low <= point.address <= span.high
    ):
        return []
    low, high = point.address - access.bytes + 1, point.address + point.bytes - 1
    hit = access.mask & (access.addresses >= low) & (access.addresses <= high)
    if access.half is not None:
        hit &= access.half == point.half
    lanes = np.flatnonzero(hit.reshape(len(hit), -1).any(axis=1))
    return [int(rank) for rank in access.ranks[lanes]]


def memory_bytes(batch: Batch, point: Watchpoint) -> bytes:
    """Return the bytes of an element now."""
    raw: bytes = batch.memory.load(point.address + np.arange(point.bytes), np.dtype(np.uint8)).tobytes()
    return raw


def nan_checking(reports: Reports) -> Checking:
    """Return an observer that reports where NaN and infinities come from."""
    return Checking([Nan], reports, [])
