"""Copies of nests without masks, for tiles that lie in their tensors as a whole.

A mask compares a position with a number that the nest does not change, or is the same everywhere. If the comparison
holds for the first and the last position of a nest, it holds for all. Rows that end inside a tile are whole up to the
part in which they do.
"""

from __future__ import annotations

from typing import Any

from ....attrs import ComparisonPredicate, Signedness
from ....ops import AddI, CmpI, ExtI, SubI
from ....types import I1, I32, I64
from ..loops.builder import Builder
from ..loops.nodes import (
    Apply,
    Const,
    If,
    Int,
    Kernel,
    Kind,
    Loop,
    Operand,
    Read,
    Stmt,
    Value,
    Write,
    blocks_of,
    defined,
    index,
    truth,
    walk,
    with_operands,
    with_result,
)
from .rewrite import Copy, trip_count, with_values, writes_memory
from .squares import _Nest

MAX_BODY = 2000
"""Statements of a nest, above which it is not copied."""
PART = 128
"""Elements of a row with masks that have a version without."""
ORDERED = frozenset(
    (
        *(ComparisonPredicate.LESS_THAN, ComparisonPredicate.LESS_THAN_OR_EQUAL),
        *(ComparisonPredicate.GREATER_THAN, ComparisonPredicate.GREATER_THAN_OR_EQUAL),
    )
)


def split_masks(kernel: Kernel) -> bool:
    """Give nests with masks a version without; return whether any has one."""
    return _block(kernel.body)


def _block(body: list[Stmt]) -> bool:
    out: list[Stmt] = []
    changed = False
    for s in body:
        if isinstance(s, Loop) and not s.polls and s.kind is not Kind.GRID:
            made = _versions(s)
            changed |= made != [s]
            out += made
            continue
        for n, block in enumerate(blocks_of(s)):
            if not (isinstance(s, If) and s.rarely and n == 0):
                changed |= _block(block)
        out.append(s)
    body[:] = out
    return changed


def _versions(nest: Loop) -> list[Stmt]:
    """Return a nest with a version without masks, if it has any; long rows with masks have one for each part."""
    masks = _Masks(nest)
    if not masks.found or masks.statements > MAX_BODY:
        return [nest]
    count = trip_count(nest)
    is_row = nest.low == index(0) and nest.step == 1 and not any(blocks_of(s) for s in nest.body)
    parts = nest
    if is_row and count is not None and count % PART == 0 and count > PART:
        outer = Loop(nest.kind, Value(I64, 1, nest.index.name), index(0), nest.high, [], PART)
        b = Builder(outer.body)
        inner = Loop(nest.kind, Value(I64, 1, nest.index.name), index(0), index(PART), [])
        copy = Copy()
        with b.within(inner.body):
            copy.values[nest.index] = b.add(outer.index, inner.index)
        inner.body += copy.block(nest.body)
        outer.body += _versions(inner)
        parts = outer
    elif not is_row and _has_long_rows(nest):
        parts = Copy().statement(nest)  # type: ignore[assignment]
        _block(parts.body)
    if parts is not nest and not writes_memory([nest]):
        return [parts]
    before: list[Stmt] = []
    b = Builder(before)
    whole = masks.whole(b)
    copy = Copy()
    made = copy.statement(nest)
    known: dict[Value, Operand] = dict.fromkeys(masks.conditions, truth(True))
    for v in masks.masks:
        new = copy.get(v)
        assert isinstance(new, Value)
        known[new] = truth(True)
    _replace(made, known)
    b.emit(If(b.opposite(whole), [parts], [made], rarely=True))
    return before


def _has_long_rows(nest: Loop) -> bool:
    """Tell whether some innermost loop has several parts, and no memory is read across."""
    if _Nest.of(nest, True) is not None:
        return False
    loops = [s for s in walk(nest.body) if isinstance(s, Loop) and not any(blocks_of(each) for each in s.body)]
    counts = [trip_count(loop) or 0 for loop in loops]
    return any(n >= PART and n % PART == 0 for n in counts)


class _Masks:
    """The masks of a nest: comparisons of positions with numbers that the nest does not change, and such conditions.

    Positions are indices of loops, to which numbers are added that the nest does not change. If they do not wrap
    around, a comparison that holds for the first and the last position holds for all.
    """

    def __init__(self, nest: Loop) -> None:
        statements = list(walk([nest]))
        self.statements = len(statements)
        self.largest: dict[Operand, int] = {}
        self.inside: set[Operand] = set()
        self.steps: dict[Operand, tuple[Operand, list[Stmt]]] = {}
        """Positions that are computed from an index: the index, and the statements."""
        self.simple: list[tuple[int, Int]] = []
        self.compared: list[Int | Apply] = []
        self.conditions: dict[Value, None] = {}
        conditions: dict[Operand, None] = {}
        for s in statements:
            if (v := defined(s)) is not None:
                self.inside.add(v)
            match s:
                case Loop():
                    self.inside.add(s.index)
                    count = trip_count(s)
                    if count and isinstance(s.low, Const):
                        self.largest[s.index] = s.low.bits + (count - 1) * s.step
                case Int(name="slt", operands=(i, last)) if i in self.largest and last not in self.inside:
                    self.simple.append((self.largest[i], s))
                case Int(name="and") if s.result.element is I1:
                    conditions.update(dict.fromkeys(x for x in s.operands if x not in self.inside))
                case Int(name="ramp", operands=(x,)) if x in self.largest or isinstance(x, Const):
                    reach = x.bits if isinstance(x, Const) else self.largest[x]
                    self.largest[s.result] = reach + s.result.lanes - 1
                case Int(operands=(x, y)) if (number := _largest(s.name, x, y, self.largest)) is not None:
                    self.largest[s.result] = number
                case Read() | Write() if s.mask is not None and s.mask not in self.inside:
                    conditions[s.mask] = None
                case Int() | Apply():
                    self._step(s)
        self.conditions = {x: None for x in conditions if isinstance(x, Value) and x.lanes == 1}
        self.masks = [s.result for _, s in self.simple] + [s.result for s in self.compared]
        self.found = bool(self.masks or self.conditions)

    def _step(self, s: Int | Apply) -> None:
        """Note a statement that moves a position, or compares one."""
        moving = [x for x in s.operands if x in self.largest or x in self.steps]
        if len(moving) != 1 or any(x in self.inside for x in s.operands if x is not moving[0]):
            return
        (x,) = moving
        compares = isinstance(s.op, CmpI) and s.op.comparison_predicate in ORDERED if isinstance(s, Apply) else False
        if compares or (isinstance(s, Int) and s.name in ("slt", "sle", "ult", "ule")):
            self.compared.append(s)
            return
        base, steps = self.steps.get(x, (x, []))
        if isinstance(s, Int):
            fits = s.name == "trunc" and s.result.element is I32 and not steps and self.largest[base] < 1 << 31
            moves = fits or s.name in ("add", "sext") or (s.name == "sub" and s.operands[0] is x)
        else:
            moves = isinstance(s.op, AddI) or (isinstance(s.op, ExtI) and s.op.signedness is Signedness.SIGNED)
            moves |= isinstance(s.op, SubI) and s.operands[0] is x
        if moves and s.result.lanes == 1:
            self.steps[s.result] = base, [*steps, s]

    def whole(self, b: Builder) -> Operand:
        """Return whether all masks are true."""
        found: Operand = truth(True)
        for number, last in dict.fromkeys((number, s.operands[1]) for number, s in self.simple):
            found = b.both(found, b.integer("slt", index(number), last))
        ends: dict[Operand, tuple[Operand, Operand]] = {}
        for s in self.compared:
            (x,) = (x for x in s.operands if x in self.largest or x in self.steps)
            if x not in ends:
                ends[x] = self._end(b, x, 0), self._end(b, x, self.largest[self.steps[x][0] if x in self.steps else x])
                if x in self.steps:  # it does not wrap around
                    found = b.both(found, b.integer("sle", *ends[x]))
            unsigned = s.name[0] == "u" if isinstance(s, Int) else s.op.signedness is Signedness.UNSIGNED  # type: ignore[attr-defined]
            if unsigned:
                found = b.both(found, b.integer("sle", Const(x.element, 0), ends[x][0]))
            for end in ends[x]:
                copy = Copy()
                new: Any = with_operands(s, lambda y: end if y is x else y)  # noqa: B023
                new = with_result(new, copy.fresh(new.result))
                b.emit(new)
                found = b.both(found, new.result)
        for condition in self.conditions:
            found = b.both(found, condition)
        return found

    def _end(self, b: Builder, x: Operand, number: int) -> Operand:
        """Return the first or the last of some positions."""
        if x not in self.steps:
            return index(number)
        base, steps = self.steps[x]
        assert isinstance(base, Value)
        copy = Copy({base: index(number)})
        for s in steps:
            b.emit(copy.statement(s))
        return copy.get(x)


def _largest(name: str, x: Operand, y: Operand, largest: dict[Operand, int]) -> int | None:
    """Return the largest number of a sum or product of loop indices and constants, none of which are negative."""
    parts = [x.bits if isinstance(x, Const) and x.bits >> 62 == 0 else largest.get(x) for x in (x, y)]
    if parts[0] is None or parts[1] is None or name not in ("add", "mul"):
        return None
    number = parts[0] + parts[1] if name == "add" else parts[0] * parts[1]
    return number if number < 1 << 62 else None


def _replace(s: Stmt, known: dict[Value, Operand]) -> None:
    """Make values constants. Statements that define them are left for dead code."""
    copy = Copy()
    copy.values.update(known)
    for block in blocks_of(s):
        block[:] = [with_values(each, copy) for each in block]
