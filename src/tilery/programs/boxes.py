"""Kernels of engine cpu that access memory through views where the arguments of a launch allow it.

Pointers that a kernel computes in 32 bits are affine if nothing wraps around, which depends on the arguments and the
grid. A variant of a kernel holds for all launches whose integers have the same numbers of bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..analysis.affine import Forms
from ..analysis.dataflow import solve
from ..analysis.ranges import Range, Ranges
from ..ir import Op, Value, clone, walk
from ..ops import GetNumTileBlocks, GetTileBlockId, LoadPtrTko, Module, PrintTko, StorePtrTko
from ..passes.demand import read_what_matters
from ..passes.inductions import carry_distances
from ..passes.pieces import Chooser
from ..passes.views import Masks, views_of_pointers

if TYPE_CHECKING:
    from .launches import DecodedLaunch

MOST_CHOICES = 2
"""How many times what follows a tile is built twice."""
Sizes = tuple[int, ...]
"""The number of bits of each integer argument and of each dimension of the grid; -1 for what is not known."""


def sizes_of(call: DecodedLaunch) -> Sizes:
    """Return the sizes of a launch."""
    values = [value.bit_length() if type(value) is int and value >= 0 else -1 for value in call.values]
    return (*values, *(n.bit_length() for n in call.grid))


def with_views(module: Module, name: str, sizes: Sizes) -> Module | None:
    """Return a module whose entry accesses memory through views, for launches of these sizes; None if it cannot.

    Kernels that print are left alone: a launch that fails is repeated with the original, for its message.
    """
    entry = module.entry(name)
    ops = list(walk(entry))
    if not any(isinstance(o, LoadPtrTko | StorePtrTko) for o in ops) or any(isinstance(o, PrintTko) for o in ops):
        return None
    made: Module = clone(module)
    entry = made.entry(name)

    def ranges_of(assumed: Mapping[Value, Range]) -> Ranges:
        known = LaunchRanges(entry.body.args, sizes, assumed)
        solve(entry, known)
        return known

    changes = carry_distances(entry, Forms(ranges_of({})))
    chooser = Chooser(entry, ranges_of)
    for choices in range(MOST_CHOICES + 1):
        known = ranges_of({})
        changes += read_what_matters(entry, Masks(Forms(known), known))
        if choices == MOST_CHOICES or not chooser.choose():
            break
        changes += 1
    changes += views_of_pointers(entry, ranges_of({}))
    return made if changes else None


class LaunchRanges(Ranges):
    """The ranges of a kernel's values in launches of some sizes."""

    def __init__(self, params: Sequence[Value], sizes: Sizes, assumed: Mapping[Value, Range]) -> None:
        super().__init__(trust=False)
        self.assumed = assumed
        bounds = [None if bits < 0 else Range(1 << bits >> 1, (1 << bits) - 1) for bits in sizes]
        self.params = {v: bound for v, bound in zip(params, bounds) if bound is not None and self.tracks(v)}
        self.grid = [bound or Range(1, 1) for bound in bounds[-3:]]

    def top(self, value: Value) -> Range:
        found = self.params.get(value)
        return super().top(value) if found is None else found

    def transfer(self, o: Op) -> Sequence[Any]:
        if isinstance(o, GetTileBlockId):
            return [Range(0, bound.hi - 1) for bound in self.grid]
        if isinstance(o, GetNumTileBlocks):
            return self.grid
        found = super().transfer(o)
        if self.assumed.keys().isdisjoint(o.results):
            return found
        return [self.assumed.get(value, fact) for value, fact in zip(o.results, found)]
