"""The rules of `canonicalize` for `if`: the fold of a negated condition and the eight patterns.

The patterns have NVIDIA's names and order.

A branch that ends with `return`, `break` or `continue` leaves: the operations after the `if` are not executed.
"""

from __future__ import annotations

from ...ir import Block, Op, Value
from ...ops import AndI, Break, Broadcast, Continue, If, Reshape, Return, Select, Yield
from ...rewrite import Dead, Place, Rewrite, Rules
from ...types import I1, Tile
from ..constants import boolean, inverse_of, negated, without_not

rule = Rules()

FEW = 16
"""The most results that two neighbouring ifs may have together to be merged at once."""


# ---------------------------------------------------------------- questions


def last(block: Block | None) -> Op | None:
    return block.ops[-1] if block is not None and block.ops else None


def yielded(block: Block | None) -> tuple[Value, ...] | None:
    """The operands of the `yield` that ends a block; None if something else ends it."""
    end = last(block)
    return end.operands_ if isinstance(end, Yield) else None


def leaves(block: Block | None) -> bool:
    """Whether a block ends such that the operations after its parent are not executed."""
    return isinstance(last(block), Return | Break | Continue)


def defined_in(block: Block | None) -> set[Value]:
    """The values that a block defines, not counting nested blocks."""
    return set() if block is None else {v for o in block.ops for v in o.results}


def selectable(value: Value) -> bool:
    """Whether `select` can choose between values of this type."""
    return isinstance(value.type, Tile) and value.type.element.text != "f4E2M1FN"


def chosen(condition: Value, yes: Value, no: Value) -> list[Op]:
    """Build the operations that choose between two tiles by one condition; the last one is the `select`."""
    t = yes.type
    assert isinstance(t, Tile)
    if t.rank == 0:
        return [Select(cond=condition, val_if_true=yes, val_if_false=no)]
    single = Reshape(source=condition, result=Value(Tile((1,) * t.rank, I1)))
    wide = Broadcast(source=single.result, result=Value(Tile(t.shape, I1)))
    return [single, wide, Select(cond=wide.result, val_if_true=yes, val_if_false=no)]


# ---------------------------------------------------------------- the rules


@rule(If)
def if_inverted(o: If, at: Place) -> Op | None:
    """if (not c) A else B is if (c) B else A"""
    if o.elseRegion is None or inverse_of(o.condition) is None:
        return None
    o.condition, odd = without_not(o.condition, at)
    if odd:
        o.thenRegion, o.elseRegion = o.elseRegion, o.thenRegion
    return o


@rule.dead(If)
def RemoveUnusedResults(o: If, dead: Dead) -> bool:
    """an unused result is dropped, and so is what the branches yield for it"""
    kept = [bool(dead.uses(v)) for v in o.results_]
    if all(kept) or (yielded(o.thenRegion) is None and yielded(o.elseRegion) is None):
        return False
    for end in (last(o.thenRegion), last(o.elseRegion)):
        if isinstance(end, Yield):
            dead.release(*(v for v, keep in zip(end.operands_, kept) if not keep))
            end.operands_ = tuple(v for v, keep in zip(end.operands_, kept) if keep)
    o.results_ = tuple(v for v, keep in zip(o.results_, kept) if keep)
    return True


@rule(If)
def ReplaceYieldWithValue(o: If, at: Place) -> Rewrite | None:
    """a result is x where both branches yield x, c where they yield true and false, not c for false and true"""
    yes, no = yielded(o.thenRegion), yielded(o.elseRegion)
    if not o.results_ or yes is None or no is None:
        return None
    ops: list[Op] = []
    values = list(o.results_)
    for index, (a, b, result) in enumerate(zip(yes, no, o.results_)):
        if not at.uses(result):
            continue
        if a is b:
            values[index] = a
        elif result.type is o.condition.type and (known := (boolean(a), boolean(b))) != (None, None):
            if known == (True, False):
                values[index] = o.condition
            elif known == (False, True):
                ops += negated(o.condition)
                values[index] = ops[-1].results[0]
    if values == list(o.results_):
        return None
    return Rewrite([*ops, o], values)


@rule(If)
def RemoveStaticCondition(o: If) -> Rewrite | None:
    """if (true) A else B is A; if (false) A else B is B"""
    known = boolean(o.condition)
    if known is None:
        return None
    block = o.thenRegion if known else o.elseRegion
    if block is None:
        return Rewrite()
    if leaves(block):
        return Rewrite(block.ops, ends=True)
    values = yielded(block)
    return None if values is None else Rewrite(block.ops[:-1], values)


@rule(If)
def ConvertToSelect(o: If) -> Rewrite | None:
    """a result for which both branches yield values from outside is a select between them"""
    if not o.results_ or not all(selectable(v) for v in o.results_):
        return None
    yes, no = yielded(o.thenRegion), yielded(o.elseRegion)
    yes, no = (no if yes is None else yes), (yes if no is None else no)
    if yes is None or no is None:
        return None
    inside = defined_in(o.thenRegion) | defined_in(o.elseRegion)
    kept = [a in inside or b in inside for a, b in zip(yes, no)]
    if all(kept):
        return None
    ops: list[Op] = []
    values = list(o.results_)
    for index, (a, b) in enumerate(zip(yes, no)):
        if a is b and not kept[index]:
            values[index] = a
        elif not kept[index]:
            ops += chosen(o.condition, a, b)
            values[index] = ops[-1].results[0]
    for end in (last(o.thenRegion), last(o.elseRegion)):
        if isinstance(end, Yield):
            end.operands_ = tuple(v for v, keep in zip(end.operands_, kept) if keep)
    smaller = If(
        condition=o.condition,
        results_=tuple(Value(v.type) for v, keep in zip(o.results_, kept) if keep),
        thenRegion=o.thenRegion,
        elseRegion=o.elseRegion,
    )
    rest = iter(smaller.results_)
    return Rewrite([*ops, smaller], [next(rest) if keep else v for v, keep in zip(values, kept)])


@rule(If)
def RemoveEmptyElseBranch(o: If) -> Op | None:
    """if (c) A else {} is if (c) A"""
    if o.results_ or o.elseRegion is None or len(o.elseRegion.ops) != 1 or yielded(o.elseRegion) is None:
        return None
    o.elseRegion = None
    return o


@rule(If)
def CombineIfs(o: If, at: Place) -> Op | Rewrite | None:
    """if (c) A else B; if (c) C else D is if (c) {A; C} else {B; D}; also where one condition is the other's inverse"""
    return combine(o, at, inverses=True)


def combine(o: If, at: Place, *, inverses: bool) -> Op | Rewrite | None:
    """Merge an `if` with those before it that have the same condition, or with `inverses` also its inverse."""
    size = 0
    if at.after and isinstance(at.after[-1], If) and at.before and isinstance(first := at.before[-1], If):
        # With many results, the last `if` of a row merges them all, so that long rows take linear time.
        size = int(len(first.results_) + len(o.results_) <= FEW)
    else:
        while size < len(at.before) and isinstance(at.before[-1 - size], If):
            size += 1
    if size == 0:
        return None
    merged: list[Merged] = []
    for each in [*at.before[len(at.before) - size :], o]:
        assert isinstance(each, If)
        if not merged or not merged[-1].absorb(each, at, inverses):
            merged.append(Merged(each))
    if len(merged) == size + 1:
        return None
    for group in merged:
        group.finish(at)
    left: list[Op] = [group.first for group in merged]
    gone = left[-1] is not o
    at.before[len(at.before) - size :] = left if gone else left[:-1]
    return Rewrite() if gone else o


class GrowingBranch:
    """A branch of an `if` to which branches of later ifs are appended."""

    __slots__ = ("block", "known", "start", "values")

    def __init__(self, block: Block) -> None:
        self.block = block
        self.start: int | None = None
        """The index of the first operation that has not been swept."""
        values = yielded(block)
        self.values = None if values is None else list(values)
        """The values that it yields; None if it leaves."""
        self.known: dict[Value, Value] = {}
        """The values that results of the `if` have inside the branch, used to rename what is appended."""

    def append(self, more: Block, results: list[Value], at: Place) -> None:
        assert self.values is not None
        for index in range(len(self.known), len(results)):
            self.known[results[index]] = self.values[index]
        swept = at.swept(more)
        if swept:
            at.rename(more, self.known)
        values = yielded(more)
        if values is None:
            self.values = None
        else:
            self.values += values
        self.block.ops.pop()
        self.start = None if swept else len(self.block.ops)
        self.block.ops += more.ops

    def finish(self, parent: If, at: Place) -> None:
        if self.values is not None and isinstance(end := self.block.ops[-1], Yield):
            end.operands_ = tuple(self.values)
        if self.start is not None:
            at.resume(parent, self.block, self.start, self.known)


class Merged:
    """An `if`, and the later ones that have been merged into it."""

    __slots__ = ("first", "other", "results", "then")

    def __init__(self, first: If) -> None:
        self.first = first
        self.results = list(first.results_)
        self.then = GrowingBranch(first.thenRegion)
        self.other = None if first.elseRegion is None else GrowingBranch(first.elseRegion)

    def absorb(self, o: If, at: Place, inverses: bool) -> bool:
        """Merge the `if` that follows, if it has the same condition or its inverse; return whether it did."""
        condition = self.first.condition
        then: Block | None = o.thenRegion
        other = o.elseRegion
        if inverses and (inverse_of(o.condition) is condition or inverse_of(condition) is o.condition):
            then, other = other, then
        elif o.condition is not condition:
            return False
        then = None if self.then.values is None else then
        other = None if self.other is not None and self.other.values is None else other
        if then is None and other is None:
            return False
        if then is not None:
            self.then.append(then, self.results, at)
        if other is not None and self.other is not None:
            self.other.append(other, self.results, at)
        elif other is not None:
            self.other = GrowingBranch(other)
            self.other.start = None if at.swept(other) else 0
        self.results += o.results_
        self.first.loc = o.loc
        return True

    def finish(self, at: Place) -> None:
        """Update the `if` once everything is merged."""
        first = self.first
        for branch in (self.then, self.other):
            if branch is not None:
                branch.finish(first, at)
        first.results_ = tuple(self.results)
        first.elseRegion = None if self.other is None else self.other.block
        for value in self.results:
            value.owner = first


@rule(If)
def CombineNestedIfs(o: If) -> Rewrite | None:
    """if (a) { if (b) A } is if (a and b) A"""
    if len(o.thenRegion.ops) != 2 or not isinstance(inner := o.thenRegion.ops[0], If):
        return None
    outer_yes, outer_no = yielded(o.thenRegion), yielded(o.elseRegion)
    inner_yes, inner_no = yielded(inner.thenRegion), yielded(inner.elseRegion)
    for block, values in ((o.elseRegion, outer_no), (inner.elseRegion, inner_no)):
        if block is not None and (values is None or len(block.ops) != 1):
            return None
    if outer_yes is None or (inner_yes is None and (o.elseRegion or inner.elseRegion or not leaves(inner.thenRegion))):
        return None
    then = list(outer_yes)
    selects: list[int] = []
    for index, value in enumerate(outer_yes):
        assert outer_no is not None
        if value.owner is not inner:
            if not selectable(value):
                return None
            selects.append(index)
            continue
        # Both paths around the inner branch must yield the same value.
        number = inner.results_.index(value)
        if inner_yes is None or inner_no is None or inner_no[number] is not outer_no[index]:
            return None
        then[index] = inner_yes[number]
    both = AndI(lhs=o.condition, rhs=inner.condition)
    ops: list[Op] = [both]
    results = list(o.results_)
    for index in selects:
        assert outer_no is not None
        ops += chosen(o.condition, outer_yes[index], outer_no[index])
        results[index] = ops[-1].results[0]
    o.condition, o.thenRegion = both.result, inner.thenRegion
    if isinstance(end := last(o.thenRegion), Yield):
        end.operands_ = tuple(then)
    if not outer_no:
        o.elseRegion = None
    return Rewrite([*ops, o], results)


@rule(If)
def MoveTerminatorToParent(o: If, at: Place) -> Rewrite | None:
    """if (c) {A; return} else {B; return} is if (c) {A; return}; B; return, and nothing after it is executed"""
    if o.elseRegion is None or not leaves(o.thenRegion) or not leaves(o.elseRegion):
        return None
    rest, swept = o.elseRegion.ops, at.swept(o.elseRegion)
    o.elseRegion, o.results_ = None, ()
    return Rewrite([o, *rest], ends=True, swept=swept)
