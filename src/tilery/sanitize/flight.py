"""Launches that may overlap: the streams they are in, and what puts them in order.

A launch starts when earlier work of its stream has ended, and a stream waits for events of others. The host knows that
work has ended if it waited for it. A programmatic dependent launch may start while the launch before it in its stream
still runs; its tile blocks know that this has ended once they have executed `gdc_wait_tko`.

A set of launches is an integer with a bit for each.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ..engines.common.arguments import BoundArguments

MOST_LAUNCHES = 1024
"""When more launches may overlap, all of them count as ended."""
MOST_BYTES = 1 << 30
"""The same for the memory of their arguments, which is kept so that other arrays do not get it."""
DEFAULT: Hashable = 0
"""The stream of launches that name none."""


class Moment(NamedTuple):
    """A point in a stream, which an event records: the launches that have ended there."""

    epoch: int
    ended: int


@dataclass(slots=True, eq=False)
class LaunchInFlight:
    """A launch that may still run."""

    number: int
    stream: Hashable
    before: int
    """The launches that have ended when it starts."""
    awaited: int
    """The launches that a tile block knows to have ended after `gdc_wait_tko`, beside those."""
    is_dependent: bool
    """Whether it may start before the launch before it has ended."""
    kernel: str
    launched: str
    """The line of the program that launched it, if it is known."""
    has_waited: bool = False

    @property
    def ended(self) -> int:
        """The launches that have ended when it has."""
        return self.before | 1 << self.number | (self.awaited if self.has_waited else 0)


@dataclass(slots=True)
class _Queue:
    """A stream: the launches that have ended when its next work starts, and its last launch."""

    ended: int = 0
    last: LaunchInFlight | None = None
    """None if there is none, or if other work came after it, which a dependent launch waits for."""


class InFlight:
    """The launches that a sanitizer takes for one execution, and the streams and events that order them.

    >>> flight = InFlight()
    >>> with flight.stream("copy"):
    ...     moment = flight.moment()
    >>> flight.wait(moment)
    """

    def __init__(self) -> None:
        self.history: Any = None
        """The memory of the check of races for these launches."""
        self.launches: list[LaunchInFlight] = []
        self.is_forgetful = False
        """Whether launches counted as ended because there were too many."""
        self._epoch = 0
        self._host = 0
        self._queues: dict[Hashable, _Queue] = {}
        self.blocking: set[Any] = set()
        """The streams that wait for the default stream, and that it waits for; streams of CUDA do, unless they are made
        not to."""
        self._current: list[tuple[Hashable, bool]] = [(DEFAULT, False)]
        """Streams, and whether launches in them are dependent ones."""
        self._next: tuple[Hashable, bool, object] | None = None
        self._kept: list[object] = []
        self._ranges: set[tuple[int, int]] = set()

    # ------------------------------------------------------------ what the program does

    @contextmanager
    def stream(self, name: Hashable, *, dependent: bool = False) -> Iterator[None]:
        """Put the launches inside into a stream; `dependent` ones may start before the one before them has ended."""
        self._current.append((name, dependent))
        try:
            yield
        finally:
            self._current.pop()

    def moment(self, stream: Hashable | None = None) -> Moment:
        """Record an event in a stream, by default the current one."""
        queue = self._queue(stream)
        queue.last = None
        return Moment(self._epoch, queue.ended)

    def wait(self, moment: Moment, stream: Hashable | None = None) -> None:
        """Let later work of a stream wait for an event."""
        queue = self._queue(stream)
        queue.last = None
        queue.ended |= self._known(moment)

    def synchronize(self, moment: Moment | None = None) -> None:
        """Let the host wait for an event, or for everything."""
        self._host |= self._all if moment is None else self._known(moment)
        if self._host == self._all:
            self._forget()

    # ------------------------------------------------------------ launches

    def prepare(self, stream: Hashable, is_dependent: bool, kept: object) -> None:
        """Describe the next launch: its stream, whether it may start early, and what keeps its arguments alive."""
        self._next = stream, is_dependent, kept

    def begin(self, kernel: str, launched: str, bound: BoundArguments) -> LaunchInFlight:
        """Start a launch with its arguments."""
        stream, is_dependent, kept = self._next or (*self._current[-1], None)
        self._next = None
        mine = {(each.address, each.address + each.size) for each in bound.ranges}
        size = sum(end - start for start, end in self._ranges | mine)
        if len(self.launches) >= MOST_LAUNCHES or size > MOST_BYTES:
            self.is_forgetful |= bool(self.launches)
            self._forget()
        self._kept += [bound, kept]
        self._ranges |= mine
        queue = self._queue(stream)
        last, before, awaited = queue.last, queue.ended | self._host, 0
        if is_dependent and last is not None:
            before, awaited = last.before | self._host, last.ended
        number = len(self.launches)
        launch = LaunchInFlight(number, stream, before, awaited, is_dependent and last is not None, kernel, launched)
        self.launches.append(launch)
        return launch

    def end(self, launch: LaunchInFlight) -> None:
        """All tile blocks of a launch have been executed."""
        queue = self._queue(launch.stream)
        queue.ended |= launch.ended
        queue.last = launch

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """The memory of the arguments of all launches: first addresses, and the addresses after the last."""
        return list(self._ranges)

    # ------------------------------------------------------------ sets of launches

    @property
    def _all(self) -> int:
        return (1 << len(self.launches)) - 1

    def _known(self, moment: Moment) -> int:
        return moment.ended if moment.epoch == self._epoch else 0

    def _queue(self, stream: Hashable | None) -> _Queue:
        """Return a stream, after it has waited for those that it always waits for."""
        name = self._current[-1][0] if stream is None else stream
        queue = self._queues.setdefault(name, _Queue())
        others = self.blocking if name == DEFAULT else {DEFAULT} if name in self.blocking else set()
        for other in others - {name}:
            ended = self._queues.setdefault(other, _Queue()).ended
            if ended & ~queue.ended:
                queue.ended |= ended
                queue.last = None
        return queue

    def _forget(self) -> None:
        """Take all launches so far for ended."""
        self._epoch += 1
        self._host = 0
        self._queues, self.launches, self.history, self._kept, self._ranges = {}, [], None, [], set()
