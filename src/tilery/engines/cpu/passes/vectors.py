"""Building statements with lanes, and the blocks of a product that stay in registers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ....types import F32, F64, I32, I64, TF32, Scalar
from ..loops.builder import Builder
from ..loops.nodes import (
    FLOAT,
    Buffer,
    Const,
    Dot,
    Float,
    Int,
    Kind,
    Load,
    Operand,
    Scope,
    Shuffle,
    Store,
    Value,
    index,
)

UNROLLED = 2
"""Steps along K in an iteration."""
LARGEST = (1 << 31) - 1


class Vectors(Builder):
    """A builder of statements with lanes."""

    __slots__ = ()

    def ramp(self, first: Operand, lanes: int) -> Operand:
        if lanes == 1:
            return first
        made = Value(I64, lanes)
        self.emit(Int(made, "ramp", (first,)))
        return made

    def elements(self, b: Buffer, at: Sequence[Operand], lanes: int) -> Value:
        """Load neighbours along the last dimension."""
        made = Value(b.element, lanes)
        self.emit(Load(made, b, (*at[:-1], self.ramp(at[-1], lanes))))
        return made

    def put(self, b: Buffer, at: Sequence[Operand], x: Operand, lanes: int) -> None:
        self.emit(Store(b, (*at[:-1], self.ramp(at[-1], lanes)), x))

    def floating(self, name: str, *xs: Operand, to: Scalar | None = None) -> Operand:
        assert FLOAT[name] == len(xs)
        made = Value(to or xs[-1].element, max(x.lanes for x in xs))
        self.emit(Float(made, name, xs))
        return made

    def convert(self, x: Operand, to: Scalar) -> Operand:
        """Widen a float, or narrow it."""
        if x.element is to and to is not TF32:
            return x
        return self.floating("widen" if to in (F32, F64) and x.element is not F64 else "narrow", x, to=to)

    def whole(self, name: str, *xs: Operand, to: Scalar | None = None) -> Operand:
        made = Value(to or xs[-1].element, max(x.lanes for x in xs))
        self.emit(Int(made, name, xs))
        return made

    def dot(self, name: str, left: Operand, right: Operand, total: Operand) -> Operand:
        """Add products of neighbours; a total of one lane is that of every lane."""
        made = Value(total.element, total.lanes)
        self.emit(Dot(made, name, (left, right, total)))
        return made

    # ------------------------------------------------------------ moving lanes

    def shuffle(self, x: Operand, y: Operand | None, order: Sequence[int]) -> Operand:
        made = Value(x.element, len(order))
        self.emit(Shuffle(made, (x,) if y is None else (x, y), tuple(order)))
        return made

    def spread(self, x: Operand, lanes: int) -> Operand:
        """Repeat all lanes of a value."""
        if x.lanes == lanes:
            return x
        return self.shuffle(x, None, [k % x.lanes for k in range(lanes)])

    def woven(self, rows: list[Operand]) -> Operand:
        """Return the first lanes of all rows, then the second lanes of all, and so on."""
        each = 1
        while len(rows) > 1:
            lanes = rows[0].lanes
            order = [k + side * lanes + i for k in range(0, lanes, each) for side in (0, 1) for i in range(each)]
            rows = [self.shuffle(x, y, order) for x, y in zip(rows[::2], rows[1::2])]
            each *= 2
        return rows[0]

    def transposed(self, rows: list[Operand], each: int = 1) -> list[Operand]:
        """Return the columns of a square, which has a power of two of rows. Neighbours may move together."""
        w = len(rows)
        distance = w // 2
        while distance:
            low = [i if not i & distance else w + (i ^ distance) for i in range(w)]
            high = [i ^ distance if not i & distance else w + i for i in range(w)]
            low, high = ([each * i + k for i in order for k in range(each)] for order in (low, high))
            made = list(rows)
            for r in (r for r in range(w) if not r & distance):
                a, b = rows[r], rows[r + distance]
                made[r], made[r + distance] = self.shuffle(a, b, low), self.shuffle(a, b, high)
            rows, distance = made, distance // 2
        return rows

    def extreme(self, name: str, x: Operand) -> Operand:
        """Return the smallest lane, or the largest: `name` compares two."""
        while x.lanes > 1:
            half = x.lanes // 2
            x = self.whole(name, *(self.shuffle(x, None, range(n, n + half)) for n in (0, half)))
        return x


# ---------------------------------------------------------------- blocks in registers


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of a product, and of the blocks of its result that stay in registers."""

    batch: int
    m: int
    n: int
    k: int
    """The steps of a sum."""
    w: int
    """Lanes of a register."""
    columns: int
    rows: int


@dataclass(frozen=True, slots=True)
class Place:
    """A block of the result."""

    batch: Operand
    panel: Operand
    row: Operand
    column: Operand


@dataclass(frozen=True, slots=True)
class Blocks:
    """A product whose operands are packed, as functions that append statements."""

    sizes: Sizes
    type: Scalar
    """The type of the sums."""
    left: Callable[[Place, int, Operand], Operand]
    """From a row of the block and a step to an element, or neighbours, of all lanes."""
    right: Callable[[Place, Operand, int], Operand]
    """From a step and a column of the block to a register."""
    step: Callable[[Operand, Operand, Operand], Operand]
    """From both and the sums so far to the next sums."""
    first: Callable[[Operand, Operand, Operand], Operand] | None
    """From batch, row and column to what sums start from; None for 0."""
    finish: Callable[[Operand, Operand, Operand, Operand], None]
    """Store sums, by batch, row and column."""
    saturating: int = 0
    """Steps of integers after which sums saturate; 0 for never."""

    def write(self, b: Vectors) -> None:
        """Append the loops. They are serial, so that no operand is computed again for each block."""
        s = self.sizes
        with b.nest(Kind.SERIAL, (s.batch, s.n // s.columns, s.m // s.rows)) as (batch, panel, block):
            row, column = b.mul(block, index(s.rows)), b.mul(panel, index(s.columns))
            self.block(b, Place(batch, panel, row, column))

    def places(self) -> list[tuple[int, int]]:
        """Return the registers of a block."""
        return [(r, c) for r in range(self.sizes.rows) for c in range(0, self.sizes.columns, self.sizes.w)]

    def block(self, b: Vectors, at: Place) -> None:
        w = self.sizes.w
        sums = b.declare(self.type, (self.sizes.rows, self.sizes.columns), Scope.REGISTER, "sums")
        for r, c in self.places():
            x: Operand = Const(self.type, 0)
            if self.first is not None:
                x = self.first(at.batch, b.add(at.row, index(r)), b.add(at.column, index(c)))
            b.put(sums, [index(r), index(c)], x, w)
        if self.saturating:
            self.saturated(b, at, sums)
            rest = range(0)
        else:
            last = min(UNROLLED, self.sizes.k)
            if self.sizes.k > last:
                self.steps(b, at, sums, index(0), self.sizes.k - last)
            rest = range(self.sizes.k - last, self.sizes.k)
        # The last steps go row by row: the processor stores a row while it computes the next one.
        lines = [(index(k), self.line(at, index(k))) for k in rest]
        for r in range(self.sizes.rows):
            for k, ys in lines:
                self.add(b, at, sums, r, k, ys)
            for c in range(0, self.sizes.columns, w):
                x = b.elements(sums, [index(r), index(c)], w)
                self.finish(at.batch, b.add(at.row, index(r)), b.add(at.column, index(c)), x)

    def saturated(self, b: Vectors, at: Place, sums: Buffer) -> None:
        """Add up some steps, then add that to the sums, which saturate."""
        w, count = self.sizes.w, min(self.saturating, self.sizes.k)
        with b.loop(Kind.SERIAL, index(self.sizes.k), None, count, name="k") as outer:
            part = b.declare(I32, sums.shape, Scope.REGISTER, "part")
            for r, c in self.places():
                b.put(part, [index(r), index(c)], Const(I32, 0), w)
            self.steps(b, at, part, outer.index, count)
            for r, c in self.places():
                place = [index(r), index(c)]
                wide = [b.whole("sext", b.elements(x, place, w), to=I64) for x in (sums, part)]
                total = b.whole("smin", b.whole("add", *wide), index(LARGEST))
                total = b.whole("smax", total, index(-LARGEST - 1))
                b.put(sums, place, b.whole("trunc", total, to=I32), w)

    def steps(self, b: Vectors, at: Place, sums: Buffer, first: Operand, count: int) -> None:
        """Add products along K to the sums."""
        each = min(UNROLLED, count)
        with b.loop(Kind.SERIAL, index(count), None, each, name="k") as loop:
            for u in range(each):
                k = b.add(b.add(first, loop.index), index(u))
                ys = self.line(at, k)
                for r in range(self.sizes.rows):
                    self.add(b, at, sums, r, k, ys)

    def line(self, at: Place, k: Operand) -> list[Operand]:
        """Return all columns of a step."""
        return [self.right(at, k, c) for c in range(0, self.sizes.columns, self.sizes.w)]

    def add(self, b: Vectors, at: Place, sums: Buffer, r: int, k: Operand, ys: list[Operand]) -> None:
        """Add a step to the sums of a row."""
        w = self.sizes.w
        x = self.left(at, r, k)
        for n, y in enumerate(ys):
            place: list[Operand] = [index(r), index(n * w)]
            b.put(sums, place, self.step(x, y, b.elements(sums, place, w)), w)
