"""Copies of nests without masks, for tiles that lie in their tensors as a whole.

A mask compares the index of a loop with a number that the nest does not change. If all such numbers of a nest are at
least the number of iterations, every mask is true.
"""

from __future__ import annotations

from ..loops.builder import Builder
from ..loops.nodes import If, Int, Kernel, Kind, Loop, Operand, Stmt, Value, blocks_of, defined, truth, walk
from .rewrite import Copy, trip_count, with_values

MAX_BODY = 2000
"""Statements of a nest, above which it is not copied."""


def split_masks(kernel: Kernel) -> None:
    """Give nests with masks a version without."""
    _block(kernel.body)


def _block(body: list[Stmt]) -> None:
    out: list[Stmt] = []
    for s in body:
        if isinstance(s, Loop) and not s.polls and s.kind is not Kind.GRID:
            out += _versions(s)
            continue
        for n, block in enumerate(blocks_of(s)):
            if not (isinstance(s, If) and s.rarely and n == 0):
                _block(block)
        out.append(s)
    body[:] = out


def _versions(nest: Loop) -> list[Stmt]:
    statements = list(walk([nest]))
    inside = {v for s in statements if (v := defined(s)) is not None}
    highs: dict[Operand, Operand] = {}
    for s in statements:
        if isinstance(s, Loop):
            inside.add(s.index)
            if trip_count(s) is not None:
                highs[s.index] = s.high
    masks = [s for s in statements if isinstance(s, Int) and _is_mask(s, highs, inside)]
    if not masks or len(statements) > MAX_BODY:
        return [nest]
    before: list[Stmt] = []
    b = Builder(before)
    whole: Operand = truth(True)
    for highest, last in dict.fromkeys((highs[s.operands[0]], s.operands[1]) for s in masks):
        whole = b.both(whole, b.integer("sle", highest, last))
    copy = Copy()
    made = copy.statement(nest)
    known: dict[Value, Operand] = {}
    for s in masks:
        new = copy.get(s.result)
        assert isinstance(new, Value)
        known[new] = truth(True)
    _replace(made, known)
    b.emit(If(b.opposite(whole), [nest], [made], rarely=True))
    return before


def _is_mask(s: Int, highs: dict[Operand, Operand], inside: set[Value]) -> bool:
    return s.name == "slt" and s.operands[0] in highs and s.operands[1] not in inside


def _replace(s: Stmt, known: dict[Value, Operand]) -> None:
    """Make values constants. Statements that define them are left for dead code."""
    copy = Copy()
    copy.values.update(known)
    for block in blocks_of(s):
        block[:] = [with_values(each, copy) for each in block]
