"""`unreached-store`: stores in a branch for the last tile block that no tile block takes."""

from __future__ import annotations

from collections.abc import Iterator

from ...ir import Op, Value
from ...ops import AtomicCASTko, AtomicRMWTko, GetNumTileBlocks, GetTileBlockId, If, StorePtrTko, StoreViewTko
from ...sanitize.reports import Occurrence, Report
from ..facts import Facts
from .launch import Trial

UNREACHED = "unreached-store"
RULE = "no tile block gets here whenever memory starts as zeros"
ENOUGH = 3
"""Launches in which the branch was not taken."""


def unreached_stores(facts: Facts, trials: list[Trial]) -> Iterator[Report]:
    """Find the first store of each branch that an atomic count of tile blocks decides, and that was never taken."""
    cleared = [trial for trial in trials if trial.profile.is_cleared and trial.error is None]
    seen = set[If]()
    for store in facts.of(StorePtrTko, StoreViewTko):
        branch = next((o for o in facts.around(store) if isinstance(o, If)), None)
        if branch is None or branch in seen or not _counts_tile_blocks(branch.condition):
            continue
        seen.add(branch)
        compare = branch.condition.owner
        assert isinstance(compare, Op)
        is_often = sum(trial.did.ran[compare] > 0 for trial in cleared) >= ENOUGH
        if is_often and not any(trial.did.ran[store] for trial in cleared):
            places = [Occurrence(store), Occurrence(compare, role="the branch is decided by")]
            yield Report(UNREACHED, RULE, places, count=1)


def _counts_tile_blocks(condition: Value) -> bool:
    """Whether a condition depends on atomic operations and the number of tile blocks, and on no argument."""
    todo, seen = [condition], {condition}
    counts = exchanges = False
    while todo:
        owner = todo.pop().owner
        if not isinstance(owner, Op) or owner.nested:
            return False
        if isinstance(owner, (AtomicRMWTko, AtomicCASTko)):
            exchanges = True
            continue
        counts |= isinstance(owner, GetNumTileBlocks)
        if (
            not owner.operands
            and not isinstance(owner, (GetNumTileBlocks, GetTileBlockId))
            and owner.name != "constant"
        ):
            return False
        todo += [value for value in owner.operands if value not in seen]
        seen.update(owner.operands)
    return counts and exchanges
