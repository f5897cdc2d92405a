"""The checks of a trial launch that know that its arguments are made up."""

from __future__ import annotations

from collections import Counter

import numpy as np

from ...engines.common.tiles import Array
from ...engines.reference.access import Access
from ...ir import Op
from ...ops import AtomicRedViewTko, Entry, LoadViewTko, StoreViewTko
from ...sanitize.bounds import BoundsCheck
from ...sanitize.checks import Check
from ...sanitize.provenance import Owner
from ...types import DYNAMIC, TileView
from .content import Content

WIDE = 1 << 20
"""Above this many bytes, the pages of a box are found element by element."""


class Did:
    """A record of what the operations of a launch did."""

    def __init__(self) -> None:
        self.steps = 0
        """How many operations were executed, on batches of tile blocks."""
        self.ran: Counter[Op] = Counter()
        """How often each operation was executed, over all tile blocks."""
        self.ranks: dict[Op, set[int]] = {}
        """The tile blocks in which an access had elements."""
        self.elements: Counter[Op] = Counter()
        """The elements that each access had."""
        self.holes: dict[Op, set[int]] = {}
        """The tile blocks in which an access left out a part of a tile."""
        self.stuck = 0
        """The tile blocks that wait for ever, if it is a deadlock."""


class TrialBounds(BoundsCheck):
    """Says nothing about the memory of arguments, whose size is made up."""

    contents: tuple[Content, ...] = ()

    def begin(self, entry: Entry) -> None:
        super().begin(entry)
        self._starts = {content.start for content in self.contents}

    def _stay(self, access: Access, owner: Owner | None, chosen: Array) -> None:
        if owner is None or owner.alloca is not None or owner.start not in self._starts:
            super()._stay(access, owner, chosen)
            return
        before = chosen & (access.addresses < owner.start)
        if before.any():
            rule = f"{access.kind.noun} through a pointer to {owner.label} is before its first element"
            self._refuse(access, rule, before, lambda where: {})
        self._outside(access, chosen & (access.addresses > owner.end - access.bytes))

    def _outside(self, access: Access, bad: Array) -> None:
        if (bad := bad & access.mask).any():
            access.drop(bad)


class TrialWatch(Check):
    """Fills the memory of arguments where it is accessed, and counts what accesses do."""

    name = "bounds"
    did: Did
    contents: tuple[Content, ...] = ()

    def before(self, access: Access) -> None:
        did, o = self.did, access.op
        span = access.place.span if access.refused is None else None
        if span is not None and span.whole:
            did.elements[o] += access.lane_size * len(access.ranks)
            did.ranks.setdefault(o, set()).update(np.asarray(access.ranks).tolist())
        else:
            mask = access.mask.reshape(len(access.mask), -1)
            active = mask.any(axis=1)
            count = int(np.count_nonzero(mask))
            did.elements[o] += count
            wanted = mask if access.refused is None else mask | access.refused.reshape(mask.shape)
            cut = wanted.any(axis=1) & ~wanted.all(axis=1)
            if cut.any():
                did.holes.setdefault(o, set()).update(np.asarray(access.ranks)[cut].tolist())
            if not count:
                return
            did.ranks.setdefault(o, set()).update(np.asarray(access.ranks)[active].tolist())
        if span is not None and span.whole and span.high - span.low < WIDE:
            for content in self.contents:
                if content.start <= span.low and span.high < content.end:
                    content.touch_range(span.low, span.high + access.bytes)
                    return
        addresses = access.addresses[access.mask]
        for content in self.contents:
            here = (addresses >= content.start) & (addresses < content.end)
            if here.all():
                content.touch(addresses, access.bytes)
                return
            if here.any():
                content.touch(addresses[here], access.bytes)


class TrialOutside(Check):
    """Tiles that are wholly outside a tensor of constant size, in every tile block."""

    name = "bounds"

    def before(self, access: Access) -> None:
        o = access.op
        if not isinstance(o, (LoadViewTko, StoreViewTko, AtomicRedViewTko)):
            return
        span = access.place.span
        if span is not None and span.whole:
            return
        inside = access.mask if access.refused is None else access.mask | access.refused
        outside = np.logical_not(inside.reshape(len(inside), -1).any(axis=1))
        view = o.view.type
        assert isinstance(view, TileView)
        # One tile block may be meant to be the only one.
        if outside.all() and DYNAMIC not in view.tensor_view.shape:
            rule = f"{access.kind.noun} of a tile that is wholly outside its tensor"
            note = "indices count tiles, not elements: correct the index"
            self.reports.elements(self.name, o, rule, access.blocks, outside, note=note)
