"""Fetch what a later tile block of the same thread will read, while this one computes.

It pays where a tile is read again: the first read has to wait for memory, while later ones leave it idle, if they
compute something heavy or store past the caches. Threads run tile blocks one after the other, so the addresses of a
later one are known: they are computed once more from its number. Fetching does no harm if the guess is wrong.
"""

from __future__ import annotations

from ..loops.builder import Builder
from ..loops.nodes import (
    Apply,
    Guard,
    If,
    Int,
    Kernel,
    Loop,
    Operand,
    Prefetch,
    Read,
    Stmt,
    Value,
    Write,
    blocks_of,
    defined,
    index,
    operands,
    walk,
)
from ..registry import HEAVY
from .rewrite import Copy

AHEAD = 2
"""How many tile blocks ahead."""
LINE = 64
MAX_STEPS = 100
"""Statements that compute an address."""


def fetch_ahead(kernel: Kernel) -> None:
    """Prefetch tiles that are read more than once, where memory has time, or else where they are read again."""
    grid = kernel.body[-1]
    assert isinstance(grid, Loop)
    made = {v: s for s in walk(kernel.body) if (v := defined(s)) is not None}
    roots = {s.address for s in grid.body if isinstance(s, Guard) and not s.writes and s.address.lanes == 1}
    readers: dict[Operand, dict[int, list[list[Stmt]]]] = {}
    for n, block in _blocks(grid.body):
        found = {_root(s.address, made, roots) for s in block if isinstance(s, Read) and _is_wide(s)}
        for root in found - {None}:
            assert root is not None
            readers.setdefault(root, {}).setdefault(n, []).append(block)
    for root, places in readers.items():
        if len(places) == 1 or (ahead := _distance(root, grid)) is None:
            continue
        first, *rest = places.values()
        later = [block for blocks in rest for block in blocks]
        for block in [block for block in [*first, *later] if any(map(_leaves_time, block))] or later:
            _fetch_in(block, root, ahead, made, roots)


def _blocks(body: list[Stmt]) -> list[tuple[int, list[Stmt]]]:
    """Return the blocks that are expected to run, but for loops of Tile IR, with the number of their statement."""
    found = [(-1, body)]
    for n, s in enumerate(body):
        if not isinstance(s, Loop) or not s.polls:
            for block in blocks_of(s)[isinstance(s, If) and s.rarely :]:
                found += [(n, inner) for _, inner in _blocks(block)]
    return found


def _is_wide(s: Read) -> bool:
    return s.mask is None and s.address.lanes * s.result.element.bits >= 8 * LINE


def _is_heavy(s: Stmt) -> bool:
    return isinstance(s, Apply) and type(s.op) in HEAVY and s.result.lanes > 1


def _leaves_time(s: Stmt) -> bool:
    """Tell whether memory has time for more while a statement is executed."""
    return _is_heavy(s) or (isinstance(s, Write) and s.streams)


def _root(x: Operand, made: dict[Value, Stmt], roots: set[Operand]) -> Operand | None:
    """Return the address of a tile that an address in it is a sum with."""
    stack = [x]
    while stack:
        x = stack.pop()
        if x in roots:
            return x
        s = made.get(x) if isinstance(x, Value) else None
        if isinstance(s, Int) and s.name == "add":
            stack += s.operands
    return None


def _distance(root: Operand, grid: Loop) -> Operand | None:
    """Compute how far from a tile that of a later tile block is; None if that depends on more than its number."""
    before = next(n for n, s in enumerate(grid.body) if isinstance(s, Guard) and s.address is root)
    needed: set[Operand] = {root}
    steps: list[Stmt] = []
    for s in reversed(grid.body[:before]):
        if defined(s) in needed:
            if not isinstance(s, (Int, Apply)) or _is_heavy(s):
                return None
            steps.append(s)
            needed.update(operands(s))
    inside = {v for s in grid.body if (v := defined(s)) is not None} - {defined(s) for s in steps}
    if grid.index not in needed or needed & inside or len(steps) > MAX_STEPS:
        return None
    copy = Copy()
    out: list[Stmt] = []
    b = Builder(out)
    copy.values[grid.index] = b.add(grid.index, index(AHEAD))
    for s in reversed(steps):
        divides = isinstance(s, Int) and s.name in ("udiv", "urem", "sdiv", "srem")
        if divides and copy.get(operands(s)[1]) is not operands(s)[1]:
            return None  # it might be 0
        if any(copy.get(x) is not x for x in operands(s)):
            out.append(copy.statement(s))
    there = copy.get(root)
    if there is root:
        return None
    ahead = b.sub(there, root)
    grid.body[before:before] = out
    return ahead


def _fetch_in(block: list[Stmt], root: Operand, ahead: Operand, made: dict[Value, Stmt], roots: set[Operand]) -> None:
    out: list[Stmt] = []
    b = Builder(out)
    for s in block:
        out.append(s)
        if not isinstance(s, Read) or not _is_wide(s) or _root(s.address, made, roots) is not root:
            continue
        first = _first_lane(s.address, b, made)
        if first is not None:
            size = s.address.lanes * s.result.element.bits // 8
            for k in range(0, size, LINE):
                b.emit(Prefetch(b.add(b.add(first, ahead), index(k))))
    block[:] = out


def _first_lane(x: Operand, b: Builder, made: dict[Value, Stmt]) -> Operand | None:
    """Return the first lane of a sum or product, computed for itself."""
    if x.lanes == 1:
        return x
    s = made.get(x) if isinstance(x, Value) else None
    if not isinstance(s, Int) or s.name not in ("ramp", "add", "mul"):
        return None
    parts = [_first_lane(y, b, made) for y in s.operands]
    if any(p is None for p in parts):
        return None
    known = [p for p in parts if p is not None]
    return known[0] if s.name == "ramp" else b.integer(s.name, *known)
