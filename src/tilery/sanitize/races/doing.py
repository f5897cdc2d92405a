"""An access while it is compared with earlier ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ...engines.common.tiles import Array
from ...engines.reference.access import Access
from .cells import Execution
from .happens_before import Past, Release
from .strength import Strength


@dataclass(slots=True)
class Doing:
    """An access, with what the check needs to know about its lanes."""

    access: Access
    operation: int
    strength: Strength
    ranks: Array
    """The tile block of each lane."""
    numbers: Array
    """How often each lane has executed the operation, this time included."""
    pasts: list[Past]
    acquired: dict[int, list[Release]]
    """The events that elements have acquired themselves."""
    by_element: bool
    """Whether members are elements rather than lanes."""
    first: int
    """The cells from this number on are its own."""

    def event(self, member: int) -> Execution:
        lane = member // self.access.lane_size if self.by_element else member
        element = member % self.access.lane_size if self.by_element else -1
        return Execution(int(self.ranks[lane]), int(self.numbers[lane]), element)

    def past(self, member: int) -> tuple[int, Past, list[Release]]:
        """Return the rank of a member, what its token follows, and what it has acquired."""
        lane = member // self.access.lane_size if self.by_element else member
        return int(self.ranks[lane]), self.pasts[lane], self.acquired.get(member, [])


class Hit(NamedTuple):
    """A race: the cell of the earlier access and its event, and the member of the later access."""

    cell: int
    earlier: Execution
    member: int
