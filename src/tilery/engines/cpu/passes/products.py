"""Turn whole products into loops: operands are packed, and blocks of the result stay in registers.

Where the reference engine rounds every step, products have its bits. Longer sums are computed with fused products in
f32, in the order of K starting from the accumulator (with `exact`, in f64).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from ....attrs import Signedness
from ....ops import MmaF, MmaFScaled, MmaI
from ....types import F32, F64, I32, I64, TF32, Scalar
from ...semantics import rounds_once, uses_tensor_cores
from ..abi import Specialisation
from ..loops.builder import Builder
from ..loops.nodes import (
    FLOAT,
    Buffer,
    Const,
    Float,
    Int,
    Kernel,
    Kind,
    Load,
    Loop,
    Operand,
    Product,
    Scope,
    Shuffle,
    Stmt,
    Store,
    Value,
    blocks_of,
    buffers_read,
    buffers_written,
    index,
    walk,
)
from ..targets import Machine
from .inline import Producer, computed, producer_of

SQUARE = 16
"""Rows of a square that is transposed in registers."""
UNROLLED = 2
"""Steps along K in an iteration."""
SATURATING = 32
"""Steps after which sums of tensor cores saturate."""
LARGEST = (1 << 31) - 1
Step = Callable[["Vectors", Operand, Operand, Operand], Operand]
"""From the element of a row, elements of a column and sums so far to the next sums."""


def expand_products(machine: Machine, wanted: Specialisation) -> Callable[[Kernel], None]:
    """Return the pass for a processor."""

    def run(kernel: Kernel) -> None:
        found = _Facts(kernel)
        for block in found.blocks:
            _form_in_place(block, found)
        _expand(kernel.body, found, machine, wanted)

    return run


class _Facts:
    """What is known about buffers before any product is expanded."""

    def __init__(self, kernel: Kernel) -> None:
        self.readers: dict[Buffer, int] = {}
        self.writers: dict[Buffer, int] = {}
        self.blocks = [kernel.body]
        statements = list(walk(kernel.body))
        for s in statements:
            self.blocks += blocks_of(s)
            for b in buffers_read(s):
                self.readers[b] = self.readers.get(b, 0) + 1
            for b in buffers_written(s):
                self.writers[b] = self.writers.get(b, 0) + 1
        self.makers: dict[Buffer, Producer] = {}
        for block in self.blocks:
            for s in block:
                if isinstance(s, Loop) and (made := producer_of(s, self.writers)) is not None:
                    self.makers[made.buffer] = made
        self.starts: dict[int, Producer] = {}
        """What computes the accumulator of a product that is formed in place, by the identity of the product."""

    def transposed(self, b: Buffer) -> Buffer | None:
        """Return the buffer that another one is the transpose of, in its last two dimensions."""
        made = self.makers.get(b)
        if made is None or len(made.body) != 1 or len(b.shape) < 2:
            return None
        (load,) = made.body
        if not isinstance(load, Load) or load.mask is not None or self.writers.get(load.buffer) != 1:
            return None
        if None in made.indices or load.buffer not in self.makers:
            return None
        *outer, i, j = made.indices
        return load.buffer if load.index == (*outer, j, i) else None


def _expand(body: list[Stmt], found: _Facts, machine: Machine, wanted: Specialisation) -> None:
    for n in reversed(range(len(body))):
        s = body[n]
        if isinstance(s, Product):
            made: list[Stmt] = []
            _Expansion(Vectors(made), s, found, machine, wanted).write()
            body[n : n + 1] = made
        else:
            for block in blocks_of(s):
                _expand(block, found, machine, wanted)


# ---------------------------------------------------------------- results that replace the accumulator


def _form_in_place(block: list[Stmt], found: _Facts) -> None:
    """Let products store to the buffer that a loop carries, if their results are copied there anyway."""
    for s in [s for s in block if isinstance(s, Product)]:
        if found.readers.get(s.result) != 1:
            continue
        n = next(n for n, each in enumerate(block) if each is s)
        at = next((at for at in range(n + 1, len(block)) if _copied(block[at], s.result) is not None), None)
        if at is None:
            continue
        target = _copied(block[at], s.result)
        assert target is not None
        start = found.makers.get(s.acc)
        first = n
        if target is not s.acc:  # the accumulator is computed from the buffer, element by element
            first = next((k for k, each in enumerate(block[:n]) if start is not None and each is start.nest), -1)
            if start is None or first < 0 or found.readers.get(s.acc) != 1 or not _reads_same(start, target):
                continue
        if target in (s.lhs, s.rhs, *s.scales) or _touched(block, first, n, at, target):
            continue
        if start is not None and target is not s.acc:
            found.starts[id(s)] = start
        s.result = target
        del block[at]


def _reads_same(p: Producer, target: Buffer) -> bool:
    """Tell whether a nest reads a buffer only at the places of the elements that it makes."""
    loads = [s for s in p.body if isinstance(s, Load) and s.buffer is target]
    return bool(loads) and not p.reads and all(s.index == p.indices for s in loads)


def _touched(block: list[Stmt], first: int, n: int, last: int, target: Buffer) -> bool:
    """Tell whether other statements use a buffer, or change what its elements are computed from."""
    product = block[n]
    assert isinstance(product, Product)
    inputs = {target}
    if first != n:
        inputs |= {b for s in walk([block[first]]) for b in buffers_read(s)}
    for k in range(first, last):
        if k in (first, n):
            continue
        for s in walk([block[k]]):
            if target in (*buffers_read(s), *buffers_written(s)) or inputs & set(buffers_written(s)):
                return True
    return False


def _copied(s: Stmt, source: Buffer) -> Buffer | None:
    """Return the buffer that a nest only copies another one to."""
    indices: list[Value] = []
    while isinstance(s, Loop) and s.step == 1 and s.kind is Kind.PARALLEL:
        indices.append(s.index)
        if len(s.body) != 1:
            break
        s = s.body[0]
    if not isinstance(s, Loop) or len(s.body) != 2:
        return None
    load, store = s.body
    if not isinstance(load, Load) or not isinstance(store, Store):
        return None
    same = load.buffer is source and store.value is load.result and load.index == store.index
    return store.buffer if same and load.mask is store.mask is None else None


# ---------------------------------------------------------------- building statements with lanes


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

    def shuffle(self, x: Operand, y: Operand, order: Sequence[int]) -> Operand:
        made = Value(x.element, len(order))
        self.emit(Shuffle(made, (x, y), tuple(order)))
        return made

    def transposed(self, rows: list[Operand]) -> list[Operand]:
        """Return the columns of a square, which has a power of two of rows."""
        w = len(rows)
        distance = w // 2
        while distance:
            low = [i if not i & distance else w + (i ^ distance) for i in range(w)]
            high = [i ^ distance if not i & distance else w + i for i in range(w)]
            made = list(rows)
            for r in (r for r in range(w) if not r & distance):
                a, b = rows[r], rows[r + distance]
                made[r], made[r + distance] = self.shuffle(a, b, low), self.shuffle(a, b, high)
            rows, distance = made, distance // 2
        return rows

    def whole(self, name: str, *xs: Operand, to: Scalar | None = None) -> Operand:
        made = Value(to or xs[-1].element, max(x.lanes for x in xs))
        self.emit(Int(made, name, xs))
        return made


class _Expansion:
    """The loops of one product."""

    def __init__(self, b: Vectors, s: Product, found: _Facts, machine: Machine, wanted: Specialisation) -> None:
        self.b, self.s, self.op, self.found = b, s, s.op, found
        o: Any = s.op
        self.once = isinstance(o, MmaF) and rounds_once(o)
        e = s.lhs.element
        if isinstance(o, MmaI):
            self.type: Scalar = I32
        elif isinstance(o, MmaFScaled) or e is F64 or (self.once and wanted.exact):
            self.type = F64
        else:
            self.type = F32
        self.batch, self.m, self.k, self.n = prod(s.lhs.shape[:-2]), *s.lhs.shape[-2:], s.rhs.shape[-1]
        self.w = min(machine.lanes(self.type.bits // 8), self.n)
        self.columns = min(2 * self.w, self.n)
        self.rows = min(machine.rows, self.m)
        self.saturates = isinstance(o, MmaI) and uses_tensor_cores(o)

    def place(self, b: Buffer, batch: Operand, i: Operand, j: Operand) -> list[Operand]:
        return [batch, i, j] if len(b.shape) == 3 else [i, j]

    # ------------------------------------------------------------ packing

    def factor(self, x: Operand, left: bool) -> Operand:
        """Return an element of an operand in the type of the product."""
        o: Any = self.op
        if isinstance(o, MmaI):
            sign = o.signedness_lhs if left else o.signedness_rhs
            return self.b.resize(x, I32, signed=sign is Signedness.SIGNED)
        return self.b.convert(x, self.type)

    def scaled(self, x: Operand, source: Buffer, at: list[Operand], left: bool) -> Operand:
        if not self.s.scales:
            return x
        scale = self.s.scales[0 if left else 1]
        axis = len(source.shape) - (1 if left else 2)
        each = source.shape[axis] // scale.shape[axis]
        where = [self.b.integer("udiv", i, index(each)) if d == axis else i for d, i in enumerate(at)]
        return self.b.floating("mul", x, self.b.convert(self.b.load(scale, where), F64))

    def packed_lhs(self) -> Buffer:
        """Row by row, with a dimension for the batch."""
        source, b = self.s.lhs, self.b
        if source.element is self.type and len(source.shape) == 2 and not self.s.scales:
            return source
        made = b.declare(self.type, (self.batch, self.m, self.k), name="rows")
        with b.nest(Kind.PARALLEL, made.shape) as at:
            where = self.place(source, *at)
            x = self.scaled(self.factor(b.load(source, where), True), source, where, True)
            b.store(made, at, x)
        return made

    def packed_rhs(self) -> Buffer:
        """In panels of as many columns as stay in registers: [batch][n / columns][k][columns]."""
        source, b = self.s.rhs, self.b
        made = b.declare(self.type, (self.batch, self.n // self.columns, self.k, self.columns), name="panels")
        across = self.found.transposed(source)
        if across is not None and not self.s.scales and self.columns % SQUARE == self.k % SQUARE == 0:
            self.transposed_panels(across, made)
            return made
        with b.nest(Kind.PARALLEL, made.shape, (0, 2, 1, 3)) as (batch, panel, k, c):
            j = b.add(b.mul(panel, index(self.columns)), c)
            where = self.place(source, batch, k, j)
            x = self.scaled(self.factor(b.load(source, where), False), source, where, False)
            b.store(made, (batch, panel, k, c), x)
        return made

    def transposed_panels(self, source: Buffer, made: Buffer) -> None:
        """Pack an operand whose columns are neighbours in memory: squares are transposed in registers."""
        b, w = self.b, SQUARE
        with b.nest(Kind.PARALLEL, (self.batch, self.n // w, self.k // w)) as (batch, n, m):
            j, k = b.mul(n, index(w)), b.mul(m, index(w))
            rows = [
                self.factor(b.elements(source, self.place(source, batch, b.add(j, index(c)), k), w), False)
                for c in range(w)
            ]
            panel, column = (b.integer(name, j, index(self.columns)) for name in ("udiv", "urem"))
            for r, x in enumerate(b.transposed(rows)):
                b.put(made, [batch, panel, b.add(k, index(r)), column], x, w)

    # ------------------------------------------------------------ blocks in registers

    def accumulator(self, batch: Operand, i: Operand, j: Operand) -> Operand:
        """Return elements of the accumulator."""
        at, start = self.place(self.s.acc, batch, i, j), self.found.starts.get(id(self.s))
        if start is None:
            return self.b.elements(self.s.acc, at, self.w)
        return computed(start, (*at[:-1], self.b.ramp(at[-1], self.w)), self.b.block)

    def write(self) -> None:
        b = self.b
        lhs, rhs = self.packed_lhs(), self.packed_rhs()
        shape = (self.batch, self.n // self.columns, self.m // self.rows)
        with b.nest(Kind.PARALLEL, shape) as (batch, panel, block):
            row, column = b.mul(block, index(self.rows)), b.mul(panel, index(self.columns))
            self.block_of(lhs, rhs, batch, panel, row, column)

    def block_of(self, lhs: Buffer, rhs: Buffer, batch: Operand, panel: Operand, row: Operand, column: Operand) -> None:
        b, w = self.b, self.w
        sums = b.declare(self.type, (self.rows, self.columns), Scope.REGISTER, "sums")
        places = [(r, c) for r in range(self.rows) for c in range(0, self.columns, w)]
        starts_at_acc = self.once or isinstance(self.op, MmaI)
        for r, c in places:
            x: Operand = Const(self.type, 0)
            if starts_at_acc:
                x = self.accumulator(batch, b.add(row, index(r)), b.add(column, index(c)))
                x = x if self.type is I32 else b.convert(x, self.type)
            b.put(sums, [index(r), index(c)], x, w)
        if self.saturates and self.k > SATURATING:
            with b.loop(Kind.SERIAL, index(self.k), None, SATURATING, name="k") as outer:
                self.saturated(lhs, rhs, batch, panel, row, sums, outer.index, SATURATING)
        elif self.saturates:
            self.saturated(lhs, rhs, batch, panel, row, sums, index(0), self.k)
        else:
            self.steps(lhs, rhs, batch, panel, row, sums, index(0), self.k)
        for r, c in places:
            made: Operand = b.elements(sums, [index(r), index(c)], w)
            at = self.place(self.s.acc, batch, b.add(row, index(r)), b.add(column, index(c)))
            if not starts_at_acc:
                acc = b.convert(self.accumulator(batch, at[-2], at[-1]), self.type)
                made = b.floating("add", made, acc)
            if self.type is not I32:
                made = b.convert(made, self.s.result.element)
            b.put(self.s.result, at, made, w)

    def saturated(
        self,
        lhs: Buffer,
        rhs: Buffer,
        batch: Operand,
        panel: Operand,
        row: Operand,
        sums: Buffer,
        first: Operand,
        count: int,
    ) -> None:
        """Add up some steps, then add that to the sums, which saturate."""
        b, w = self.b, self.w
        part = b.declare(I32, sums.shape, Scope.REGISTER, "part")
        places = [(r, c) for r in range(self.rows) for c in range(0, self.columns, w)]
        for r, c in places:
            b.put(part, [index(r), index(c)], Const(I32, 0), w)
        self.steps(lhs, rhs, batch, panel, row, part, first, count)
        for r, c in places:
            at = [index(r), index(c)]
            wide = [b.whole("sext", b.elements(x, at, w), to=I64) for x in (sums, part)]
            total = b.whole("smin", b.whole("add", *wide), index(LARGEST))
            total = b.whole("smax", total, index(-LARGEST - 1))
            b.put(sums, at, b.whole("trunc", total, to=I32), w)

    def steps(
        self,
        lhs: Buffer,
        rhs: Buffer,
        batch: Operand,
        panel: Operand,
        row: Operand,
        sums: Buffer,
        first: Operand,
        count: int,
    ) -> None:
        """Add products along K to the sums."""
        b, w = self.b, self.w
        each = min(UNROLLED, count)
        with b.loop(Kind.SERIAL, index(count), None, each, name="k") as loop:
            for u in range(each):
                k = b.add(b.add(first, loop.index), index(u))
                ys = [b.elements(rhs, [batch, panel, k, index(c)], w) for c in range(0, self.columns, w)]
                for r in range(self.rows):
                    x = b.load(lhs, self.place(lhs, batch, b.add(row, index(r)), k))
                    for n, y in enumerate(ys):
                        at: list[Operand] = [index(r), index(n * w)]
                        b.put(sums, at, self.step(x, y, b.elements(sums, at, w)), w)

    def step(self, x: Operand, y: Operand, total: Operand) -> Operand:
        b = self.b
        if self.type is I32:
            return b.whole("add", total, b.whole("mul", x, y))
        if self.once or isinstance(self.op, MmaFScaled):
            return b.floating("fma", x, y, total)
        return b.floating("add", total, b.floating("mul", y, x))
