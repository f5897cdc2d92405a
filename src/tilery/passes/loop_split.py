"""`loop-split`: split a loop that compares its counter with an invariant into two loops without the comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..analysis.uses import Uses
from ..attrs import ComparisonPredicate, IntAttr, Signedness
from ..floats.comparison import EQ, GE, GT, MIRROR, NE
from ..ir import Block, Op, Value, clone, walk
from ..ops import CmpI, Continue, For, If, LoadPtrTko, LoadViewTko, MmaF, MmaI, Reduce, StorePtrTko, StoreViewTko, Yield
from ..rewrite import Report, isolated
from ..types import I1, Tile
from .constants import filled
from .registry import Option, register
from .split_point import split_point

HINT = "cuda_tile.loop_split"
HEAVY = (LoadPtrTko, LoadViewTko, StorePtrTko, StoreViewTko, MmaF, MmaI, Reduce, If, For)
"""Operations that make a branch worth a split, however short it is."""

GROWTH = 16
"""How many times as large a module may become: nested loops that all split would double it at every level."""

EFFORT = 8
"""How many times the size of a module is searched for splits: in nested loops, the inner ones are searched again."""

LATER = (GT, GE)
"""The comparisons that are false first and true later."""


@dataclass(slots=True)
class Split:
    """Where a loop can be split: `counter predicate bound` decides these branches."""

    compare: CmpI
    predicate: ComparisonPredicate
    bound: Value
    branches: set[Op]
    """The ifs directly in the loop, of which each new loop keeps one branch."""
    keep: bool
    """Whether something else uses the comparison, so that each new loop needs its value."""


@register(
    "loop-split",
    Option("split-threshold", 1, "the size of a branch that is worth a split; 0 disables the pass"),
    on="function",
)
def loop_split(root: Op, report: Report, split_threshold: int = 1) -> None:
    """Split loops at the iteration where a branch on the counter changes sides.

    The hint `cuda_tile.loop_split` of an `if`, its loop or its function, the innermost first, overrides the threshold.
    """
    size = sum(1 for _ in walk(root))
    splitter = LoopSplitter(report, GROWTH * size + 1024, EFFORT * size)
    for function in isolated(root):
        splitter.run(function, _hint(function, split_threshold))


class LoopSplitter:
    """Splits the loops of functions. `room` is how many operations it may add, `effort` how many it may look at."""

    def __init__(self, report: Report, room: int, effort: int) -> None:
        self.report, self.room, self.effort = report, room, effort
        self.counters: set[Value] = set()
        """The values that comparisons of branches compare: other loops need not be looked at."""
        self.sizes: dict[Block, int] = {}
        """The operations in each block, at any depth."""

    def run(self, function: Op, threshold: int) -> None:
        blocks: list[Block] = []
        for o in walk(function):
            if o.nested:
                blocks += o.blocks
            if isinstance(o, If) and isinstance(compare := o.condition.owner, CmpI):
                self.counters.update((compare.lhs, compare.rhs))
        # Inner blocks come after outer ones, so that loops are split from the inside out.
        for block in reversed(blocks):
            block.ops = [new for o in block.ops for new in self._split(o, threshold)]
            self.sizes[block] = sum(map(self._size, block.ops))

    def _size(self, o: Op) -> int:
        return 1 + sum(self.sizes[block] for block in o.blocks) if o.nested else 1

    def _split(self, o: Op, threshold: int) -> list[Op]:
        """Return what replaces an operation, the inside of which is done."""
        if not isinstance(o, For) or o.region.args[0] not in self.counters:
            return [o]
        size = self._size(o)
        self.effort -= size
        if size >= self.room or self.effort < 0 or (found := find_split(o, _hint(o, threshold))) is None:
            return [o]
        self.report.remark(o, "split where " + found.predicate.text + " changes")
        self.report.fire("split_loop", o)
        self.room -= size
        made = _apply(o, found)
        for new in made[-2:]:
            self.sizes.update((block, sum(1 for _ in walk(block))) for block in new.blocks)
        return made


def _hint(o: Op, default: int) -> int:
    given = (o.extra or {}).get(HINT)
    return given.value if isinstance(given, IntAttr) else default


# ---------------------------------------------------------------- finding a split


def find_split(loop: For, threshold: int) -> Split | None:
    """Find the first branch, innermost first, at which the loop can be split."""
    uses, ops = Uses(loop.region), list(walk(loop.region))
    inside: set[Op | Block] = {loop.region, *ops, *(block for o in ops if o.nested for block in o.blocks)}
    direct = set(loop.region.ops)
    for branch in _branches(loop):
        limit = _hint(branch, threshold)
        if limit and (found := _splittable(loop, branch, inside)) is not None:
            compare, predicate, bound = found
            deciding = uses.of(compare.result)
            if any(isinstance(user, If) and _worth(user, limit) for user in deciding):
                kept: set[Op] = {user for user in deciding if isinstance(user, If) and user in direct}
                return Split(compare, predicate, bound, kept, keep=any(user not in kept for user in deciding))
    return None


def _branches(loop: For) -> list[If]:
    """The ifs inside, nested ones before the ones that enclose them."""
    out: list[If] = []
    stack: list[tuple[Op, bool]] = [(o, False) for o in reversed(loop.region.ops)]
    while stack:
        o, done = stack.pop()
        if not done and o.nested and (blocks := o.blocks):
            stack.append((o, True))
            stack += [(x, False) for block in reversed(blocks) for x in reversed(block.ops)]
        elif isinstance(o, If):
            out.append(o)
    return out


def _splittable(loop: For, branch: If, inside: set[Op | Block]) -> tuple[CmpI, ComparisonPredicate, Value] | None:
    compare = branch.condition.owner
    if not isinstance(compare, CmpI) or compare.signedness is not _signedness(loop):
        return None
    counter, predicate = loop.region.args[0], compare.comparison_predicate
    if compare.lhs is counter:
        bound = compare.rhs
    elif compare.rhs is counter:
        bound, predicate = compare.lhs, MIRROR[predicate]
    else:
        return None
    if predicate in (EQ, NE) or bound.owner in inside:
        return None
    return compare, predicate, bound


def _signedness(loop: For) -> Signedness:
    return Signedness.UNSIGNED if loop.unsignedCmp else Signedness.SIGNED


def _worth(branch: If, threshold: int) -> bool:
    """Whether a branch has enough operations, not counting its terminator, or a heavy one."""
    if threshold == 1:
        return True
    return any(len(block.ops) > threshold or any(isinstance(o, HEAVY) for o in block.ops) for block in branch.blocks)


# ---------------------------------------------------------------- splitting


def _apply(loop: For, split: Split) -> list[Op]:
    """Build the two loops: up to the point where the comparison changes, and from there on."""
    later = split.predicate in LATER
    ops, until, start = split_point(loop, split.predicate, split.bound, _signedness(loop))
    first = _copy(loop, split, loop.lowerBound, until, loop.initValues, truth=not later)
    # The results of the old loop become those of the second, so that nothing outside has to change.
    second = _copy(loop, split, start, loop.upperBound, first.resultValues, truth=later, results=loop.resultValues)
    return [*ops, first, second]


def _copy(
    loop: For,
    split: Split,
    lower: Value,
    upper: Value,
    init: Sequence[Value],
    truth: bool,
    results: tuple[Value, ...] | None = None,
) -> For:
    """Copy the loop for a range in which the comparison is known."""
    body = Block([Value(v.type) for v in loop.region.args])
    copies = dict(zip(loop.region.args, body.args))
    _fill(body, loop, split, copies, truth)
    made = For(
        lowerBound=lower,
        upperBound=upper,
        step=loop.step,
        initValues=tuple(init),
        unsignedCmp=loop.unsignedCmp,
        region=body,
        resultValues=tuple(Value(v.type) for v in init) if results is None else results,
    )
    made.loc = loop.loc
    return made


def _fill(body: Block, loop: For, split: Split, copies: dict[Value, Value], truth: bool) -> None:
    for o in loop.region.ops:
        if o is split.compare:
            if split.keep:
                known = filled(Tile((), I1), int(truth))
                known.loc = o.loc
                body.ops.append(known)
                copies[split.compare.result] = known.result
        elif o not in split.branches:
            body.ops.append(clone(o, copies))
        else:
            assert isinstance(o, If)
            side = o.thenRegion if truth else o.elseRegion
            for inner in side.ops if side is not None else ():
                if isinstance(inner, Yield):
                    copies.update((r, copies.get(v, v)) for r, v in zip(o.results_, inner.operands_))
                    continue
                body.ops.append(clone(inner, copies))
                if isinstance(inner, Continue):
                    return  # what follows the branch is not reached
