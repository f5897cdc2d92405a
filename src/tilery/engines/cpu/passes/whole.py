"""Copies of nests without masks, for tiles that lie in their tensors as a whole.

A mask compares an index with a number that the nest does not change, or is the same everywhere. If all such numbers of
a nest are larger than the largest index, every mask is true.
"""

from __future__ import annotations

from ....types import I1
from ..loops.builder import Builder
from ..loops.nodes import (
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
)
from .rewrite import Copy, trip_count, with_values

MAX_BODY = 2000
"""Statements of a nest, above which it is not copied."""


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
    statements = list(walk([nest]))
    largest: dict[Operand, int] = {}
    inside: set[Operand] = set()
    masks: list[tuple[int, Int]] = []
    conditions: dict[Operand, None] = {}
    for s in statements:
        if (v := defined(s)) is not None:
            inside.add(v)
        match s:
            case Loop():
                inside.add(s.index)
                count = trip_count(s)
                if count and isinstance(s.low, Const):
                    largest[s.index] = s.low.bits + (count - 1) * s.step
            case Int(name="slt", operands=(i, last)) if i in largest and last not in inside:
                masks.append((largest[i], s))
            case Int(name="and") if s.result.element is I1:
                conditions.update(dict.fromkeys(x for x in s.operands if x not in inside))
            case Int(name="ramp", operands=(x,)) if x in largest or isinstance(x, Const):
                largest[s.result] = (x.bits if isinstance(x, Const) else largest[x]) + s.result.lanes - 1
            case Int(operands=(x, y)) if (number := _largest(s.name, x, y, largest)) is not None:
                largest[s.result] = number
            case Read() | Write() if s.mask is not None and s.mask not in inside:
                conditions[s.mask] = None
    conditions = {x: None for x in conditions if isinstance(x, Value) and x.lanes == 1}
    if not (masks or conditions) or len(statements) > MAX_BODY:
        return [nest]
    before: list[Stmt] = []
    b = Builder(before)
    whole: Operand = truth(True)
    for number, last in dict.fromkeys((number, s.operands[1]) for number, s in masks):
        whole = b.both(whole, b.integer("slt", index(number), last))
    for condition in conditions:
        whole = b.both(whole, condition)
    copy = Copy()
    made = copy.statement(nest)
    known: dict[Value, Operand] = {x: truth(True) for x in conditions if isinstance(x, Value)}
    for _, s in masks:
        new = copy.get(s.result)
        assert isinstance(new, Value)
        known[new] = truth(True)
    _replace(made, known)
    b.emit(If(b.opposite(whole), [nest], [made], rarely=True))
    return before


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
