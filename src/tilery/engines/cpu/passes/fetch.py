"""Fetch what a later tile block of the same thread will read, while this one computes, or a later iteration.

It pays where a tile is read again: the first read has to wait for memory, while later ones leave it idle, if they
compute something heavy or store past the caches. Threads run tile blocks one after the other, so the addresses of a
later one are known: they are computed once more from its number. Fetching does no harm if the guess is wrong.

The operands of the next product of a loop are fetched while this one is computed, some lines for each block of the
result: rows of tiles are too short for processors to see where the next ones are.
"""

from __future__ import annotations

from ..loops.builder import Builder
from ..loops.nodes import (
    Apply,
    Const,
    Declare,
    Dot,
    Float,
    Guard,
    If,
    Int,
    Kernel,
    Loop,
    Operand,
    Prefetch,
    Read,
    Stmt,
    TileDot,
    Value,
    Write,
    blocks_of,
    defined,
    index,
    operands,
    walk,
)
from ..registry import HEAVY
from .rewrite import Copy, trip_count

AHEAD = 2
"""How many tile blocks ahead."""
LINE = 64
MOST_LINES = 64
"""Lines of a tile to fetch for each block of a product; it computes too little if there are more."""
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
    limits = {
        s.result: x.bits
        for s in made.values()
        if isinstance(s, Int) and s.name == "smin"
        for x in s.operands
        if isinstance(x, Const)
    }
    for loop in [s for s in walk(grid.body) if isinstance(s, Loop) and s.polls]:
        _fetch_operands(loop, limits)
    for root, places in readers.items():
        if len(places) == 1 or (ahead := _distance(root, grid, AHEAD)) is None:
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


def _distance(root: Operand, loop: Loop, ahead: int) -> Operand | None:
    """Compute how far from a tile that of a later iteration is; None if that depends on more than its number."""
    before = next(n for n, s in enumerate(loop.body) if isinstance(s, Guard) and s.address is root)
    needed: set[Operand] = {root}
    steps: list[Stmt] = []
    for s in reversed(loop.body[:before]):
        if defined(s) in needed:
            if not isinstance(s, (Int, Apply)) or _is_heavy(s):
                return None
            steps.append(s)
            needed.update(operands(s))
    inside = {v for s in loop.body if (v := defined(s)) is not None} - {defined(s) for s in steps}
    if loop.index not in needed or needed & inside or len(steps) > MAX_STEPS:
        return None
    copy = Copy()
    out: list[Stmt] = []
    b = Builder(out)
    copy.values[loop.index] = b.add(loop.index, index(ahead))
    for s in reversed(steps):
        divides = isinstance(s, Int) and s.name in ("udiv", "urem", "sdiv", "srem")
        if divides and copy.get(operands(s)[1]) is not operands(s)[1]:
            return None  # it might be 0
        if any(copy.get(x) is not x for x in operands(s)):
            out.append(copy.statement(s))
    there = copy.get(root)
    if there is root:
        return None
    distance = b.sub(there, root)
    loop.body[before:before] = out
    return distance


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


# ---------------------------------------------------------------- operands of products


def _fetch_operands(loop: Loop, limits: dict[Value, int]) -> None:
    """Fetch the tiles that the next iteration multiplies."""
    nest = _product_in(loop.body)
    if not nest:
        return
    blocks = 1
    for each in nest:
        count = trip_count(each)
        if not count or each.low != index(0):
            return
        blocks *= count
    out: list[Stmt] = []
    b = Builder(out)
    number: Operand = index(0)
    for each in nest:
        turn = each.index if each.step == 1 else b.integer("udiv", each.index, index(each.step))
        number = b.add(b.mul(number, index(trip_count(each) or 0)), turn)
    here = next(n for n, s in enumerate(loop.body) if any(each is nest[0] for each in walk([s])))
    for guard in [s for s in loop.body[:here] if isinstance(s, Guard)]:  # those after it are of another product
        box = _box_of(guard, limits)
        if box is None or -(-box[0] * box[1] // blocks) > MOST_LINES:
            continue
        ahead = _distance(guard.address, loop, loop.step)
        if ahead is None:
            continue
        rows, lines, stride = box
        share = -(-rows * lines // blocks)
        there = b.add(guard.address, ahead)
        for n in range(share):
            line = b.add(b.mul(number, index(share)), index(n))
            row, column = (b.integer(name, line, index(lines)) for name in ("udiv", "urem"))
            b.emit(Prefetch(b.add(b.add(there, b.mul(row, stride)), b.mul(column, index(LINE)))))
    nest[-1].body[:0] = out


def _product_in(body: list[Stmt]) -> list[Loop]:
    """Return the loops over the blocks of the first product, outermost first; the last one declares the sums."""
    for s in body:
        inner = [s.orelse] if isinstance(s, If) and s.rarely else blocks_of(s)
        if not isinstance(s, (If, Loop)) or (isinstance(s, Loop) and s.polls):
            continue
        for block in inner:
            found = _product_in(block)
            if found or any(_multiplies(each) for each in block):
                declares = found or any(isinstance(each, Declare) for each in block)
                return [s, *found] if isinstance(s, Loop) and declares else found
    return []


def _multiplies(s: Stmt) -> bool:
    return isinstance(s, (Dot, TileDot)) or (isinstance(s, Float) and s.name == "fma" and s.result.lanes > 1)


def _box_of(guard: Guard, limits: dict[Value, int]) -> tuple[int, int, Operand] | None:
    """Return the rows of a tile that is read, the lines of each, and the bytes between rows; None if it is not one."""
    if guard.writes or guard.address.lanes != 1 or guard.mask is not None or len(guard.dims) != 2:
        return None
    (rows, stride), (columns, item) = guard.dims
    most = [x.bits if isinstance(x, Const) else limits.get(x) for x in (rows, columns)]
    if item != index(guard.item) or most[0] is None or most[1] is None:
        return None
    return most[0], -(-most[1] * guard.item // LINE), stride
