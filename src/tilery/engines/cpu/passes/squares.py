"""Turn squares in registers, where a nest reads along its innermost loop what are neighbours along another one.

Lanes of the innermost loop would gather elements from as many rows. Instead, as many rows of the other loop as a
square has are read beforehand, as they lie, turned by shuffles, and kept in a small buffer, row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ....types import I1, I64
from ..loops.builder import Builder
from ..loops.nodes import (
    Apply,
    Buffer,
    Check,
    Const,
    Declare,
    Float,
    Int,
    Kernel,
    Kind,
    Load,
    Loop,
    Operand,
    Read,
    Scope,
    Shuffle,
    Stmt,
    Store,
    Value,
    Write,
    blocks_of,
    defined,
    index,
    operands,
    with_operands,
    with_result,
)
from .inline import perfect_nest
from .rewrite import Copy, natural_lanes, trip_count

SIDE = 16
"""Rows and columns of a square; half of it for elements of eight bytes."""
MAX_BYTES = 128 << 10
"""Of as many rows as a square has. All that is turned beforehand must fit in a cache."""
FEW_BYTES = 32 << 10
"""Of as many rows as are turned beforehand, if those of one square take less: longer reads are better for memory."""
Moves = dict[Operand, int | None]
"""By how much a number changes with the index of each loop; None if that is not known."""


def turn_squares(kernel: Kernel) -> bool:
    """Turn what nests read across; return whether any does."""
    return _block(kernel.body, kernel.disjoint)


def _block(body: list[Stmt], disjoint: bool) -> bool:
    changed = False
    for n, s in enumerate(body):
        found = _Nest.of(s, disjoint) if isinstance(s, Loop) else None
        if found is not None:
            body[n] = found.turned()
            changed = True
            continue
        for block in blocks_of(s):
            changed |= _block(block, disjoint)
    return changed


class _Nest:
    """A nest with reads that lie across."""

    def __init__(self, loops: list[Loop], body: list[Stmt]) -> None:
        self.loops, self.body = loops, body
        self.made = {v: s for s in body if (v := defined(s)) is not None}
        self.moves: dict[Operand, Moves] = {loop.index: {loop.index: 1} for loop in loops}
        for s in body:
            if isinstance(s, Int):
                self.moves[s.result] = self._moved(s)
            elif (v := defined(s)) is not None:
                self.moves[v] = dict.fromkeys((k for x in operands(s) for k in self.moves.get(x, ())), None)
        self.across: list[Load | Read] = []
        self.along = loops[0]
        """The loop along which they read neighbours."""

    @staticmethod
    def of(s: Loop, disjoint: bool) -> _Nest | None:
        """Return a nest, if it has reads to turn."""
        found = perfect_nest(s)
        if found is None or len(found[0]) < 2:
            return None
        loops, body = found
        if not all(isinstance(each, (Int, Apply, Float, Shuffle, Load, Store, Read, Write, Check)) for each in body):
            return None
        if any(trip_count(loop) is None or loop.step != 1 or loop.low != index(0) for loop in loops):
            return None
        if any(v.lanes != 1 for each in body if (v := defined(each)) is not None):
            return None
        nest = _Nest(loops, body)
        nest.find(disjoint)
        return nest if nest.across else None

    def _moved(self, s: Int) -> Moves:
        parts = [self.moves.get(x, {}) for x in s.operands]
        if s.name in ("add", "sub"):
            found = dict(parts[0])
            for key, by in parts[1].items():
                before = found.get(key, 0)
                if by is None or before is None:
                    found[key] = None
                else:
                    found[key] = before + by if s.name == "add" else before - by
            return found
        if s.name == "mul":
            for x, part in zip(reversed(s.operands), parts):
                if isinstance(x, Const):
                    number = x.bits - (1 << 64) if x.bits >> 63 else x.bits
                    return {key: None if by is None else by * number for key, by in part.items()}
        return dict.fromkeys((key for part in parts for key in part), None)

    # ------------------------------------------------------------ what lies across

    def find(self, disjoint: bool) -> None:
        """Find the reads to turn, all along one loop."""
        written = {s.buffer for s in self.body if isinstance(s, Store)}
        serial = any(loop.kind is Kind.SERIAL for loop in self.loops)
        homes = {s.home for s in self.body if isinstance(s, Write)}
        chosen: dict[Loop, list[Load | Read]] = {}
        for s in self.body:
            if isinstance(s, Read):
                apart = disjoint and None not in homes and s.home is not None and s.home not in homes
                ok = apart or not homes or not serial
            else:
                ok = isinstance(s, Load) and s.buffer not in written and s.buffer.scope is not Scope.REGISTER
            if ok and isinstance(s, (Load, Read)) and (loop := self._across(s)) is not None:
                chosen.setdefault(loop, []).append(s)
        if chosen:
            self.along, self.across = max(chosen.items(), key=lambda each: len(each[1]))

    def _across(self, s: Load | Read) -> Loop | None:
        """Return the loop along which a statement reads neighbours, if that is not the innermost one."""
        element, inner = s.result.element, self.loops[-1]
        if s.mask is not None or element is I1 or element.bits < 8:
            return None
        if isinstance(s, Read):
            moves, step = self.moves.get(s.address, {}), element.bits // 8
        else:
            moves, step = self._place(s), 1
        if moves.get(inner.index, step) == step or not self._is_known(s):
            return None
        along = [loop for loop in self.loops[:-1] if moves.get(loop.index) == step]
        w = side(s)
        if not along or (trip_count(along[-1]) or 0) % w or (trip_count(inner) or 0) % w:
            return None
        inside = self.loops[self.loops.index(along[-1]) + 1 :]
        if all(loop.kind is Kind.PARALLEL for loop in self.loops):
            inside = [inner]
        if w * prod(trip_count(loop) or 0 for loop in inside) * element.bits // 8 > MAX_BYTES:
            return None
        return along[-1]

    def _place(self, s: Load) -> Moves:
        """Return how the place of an element in its buffer changes."""
        found: Moves = {}
        if s.buffer.strides is not None:
            return found
        for d, x in enumerate(s.index):
            stride = prod(s.buffer.shape[d + 1 :])
            for key, by in self.moves.get(x, {}).items():
                before = found.get(key, 0)
                found[key] = None if by is None or before is None else before + by * stride
        return found

    def _is_known(self, s: Load | Read) -> bool:
        """Tell whether only arithmetic leads to a place."""
        return all(isinstance(each, Int) for each in self.steps_to(s))

    def steps_to(self, s: Load | Read) -> list[Stmt]:
        """Return the statements of the nest that compute a place."""
        wanted: set[Operand] = {s.address} if isinstance(s, Read) else set(s.index)
        found: list[Stmt] = []
        for each in reversed(self.body):
            if defined(each) in wanted:
                found.append(each)
                wanted.update(operands(each))
        return found[::-1]

    # ------------------------------------------------------------ the new nest

    def turned(self) -> Loop:
        """Return a nest that reads squares and turns them before it needs the elements."""
        loops = list(self.loops)
        if all(loop.kind is Kind.PARALLEL for loop in loops):  # the order does not matter
            loops.remove(self.along)
            loops.insert(-1, self.along)
        at = loops.index(self.along)
        w = min(side(s) for s in self.across)
        outer, inside = loops[:at], loops[at + 1 :]
        sizes = [trip_count(loop) or 0 for loop in inside]
        height, count = w, trip_count(self.along) or 0
        room = FEW_BYTES // (prod(sizes) * max(s.result.element.bits for s in self.across) // 8)
        while count % (2 * height) == 0 and 2 * height <= room:
            height *= 2
        first = Value(I64, 1, self.along.index.name)
        b = Builder([])
        rows = {id(s): Buffer(s.result.element, (height, *sizes), name="turned") for s in self.across}
        b.block += [Declare(each) for each in rows.values()]
        self._fill(b, rows, first, inside, w)
        with b.loop(self.along.kind, index(height), name="row") as loop:
            row = loop.index
            here = b.add(first, row)
            copy = Copy({self.along.index: here})
            self._nested(b, inside, copy)
            for s in self.body:
                if isinstance(s, (Load, Read)) and id(s) in rows:
                    place = (row, *(copy.get(each.index) for each in inside))
                    copy.values[s.result] = b.load(rows[id(s)], place)
                else:
                    b.emit(copy.statement(s))
            b.block = loop.body
        made = Loop(self.along.kind, first, index(0), self.along.high, b.block, height)
        for each in reversed(outer):
            made = Loop(each.kind, each.index, each.low, each.high, [made])
        return made

    def _nested(self, b: Builder, loops: Sequence[Loop], copy: Copy) -> None:
        """Open copies of some loops."""
        for each in loops:
            made = Loop(each.kind, copy.fresh(each.index), each.low, each.high, [])
            b.emit(made)
            b.block = made.body

    def _fill(self, b: Builder, rows: dict[int, Buffer], first: Operand, inside: list[Loop], w: int) -> None:
        """Fill the buffers, square by square."""
        block, copy = b.block, Copy()
        for each in inside:
            made = Loop(Kind.PARALLEL, copy.fresh(each.index), each.low, each.high, [], 1)
            made.step = w if each is inside[-1] else 1
            b.emit(made)
            b.block = made.body
        (height, *_) = next(iter(rows.values())).shape
        square = Loop(Kind.PARALLEL, Value(I64, 1, "square"), index(0), index(height), [], w)
        b.emit(square)
        b.block = square.body
        lanes = Value(I64, w)
        b.emit(Int(lanes, "ramp", (b.add(first, square.index),)))
        across = copy.get(inside[-1].index)
        columns = Value(I64, w)
        b.emit(Int(columns, "ramp", (across,)))
        for s in self.across:
            lines: list[Operand] = []
            for k in range(w):
                line = Copy({**copy.values, self.along.index: lanes, inside[-1].index: b.add(across, index(k))})
                for step in (*self.steps_to(s), s):
                    b.emit(_widened(step, line))
                lines.append(line.get(s.result))
            place = [copy.get(each.index) for each in inside[:-1]]
            for k, x in enumerate(transposed(b, lines)):
                b.emit(Store(rows[id(s)], (b.add(square.index, index(k)), *place, columns), x))
        b.block = block


def _widened(s: Stmt, copy: Copy) -> Stmt:
    """Return a copy of a statement, with as many lanes as its operands have now."""
    new = with_operands(s, copy.get)
    return with_result(new, copy.fresh(new.result, natural_lanes(new)))  # type: ignore[no-any-return]


def side(s: Load | Read) -> int:
    """Return the rows of a square."""
    return SIDE // 2 if s.result.element.bits == 64 else SIDE


def transposed(b: Builder, rows: list[Operand]) -> list[Operand]:
    """Return the columns of a square, which has a power of two of rows."""
    w = len(rows)
    distance = w // 2
    while distance:
        orders = (
            tuple(i if not i & distance else w + (i ^ distance) for i in range(w)),
            tuple(i ^ distance if not i & distance else w + i for i in range(w)),
        )
        made = list(rows)
        for r in (r for r in range(w) if not r & distance):
            pair = rows[r], rows[r + distance]
            for n, order in zip((r, r + distance), orders):
                made[n] = Value(rows[r].element, w)
                b.emit(Shuffle(made[n], pair, order))  # type: ignore[arg-type]
        rows, distance = made, distance // 2
    return rows
