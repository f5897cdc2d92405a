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
        _form_in_place(kernel)
        _expand(kernel.body, machine, wanted)

    return run


def _expand(body: list[Stmt], machine: Machine, wanted: Specialisation) -> None:
    for n in reversed(range(len(body))):
        s = body[n]
        if isinstance(s, Product):
            made: list[Stmt] = []
            _Expansion(Vectors(made), s, machine, wanted).write()
            body[n : n + 1] = made
        else:
            for block in blocks_of(s):
                _expand(block, machine, wanted)


# ---------------------------------------------------------------- results that replace the accumulator


def _form_in_place(kernel: Kernel) -> None:
    """Let a product store to the accumulator that a loop carries, if its result is copied there anyway."""
    readers: dict[Buffer, int] = {}
    for s in walk(kernel.body):
        for b in buffers_read(s):
            readers[b] = readers.get(b, 0) + 1
    blocks = [kernel.body, *(block for s in walk(kernel.body) for block in blocks_of(s))]
    for block in blocks:
        for n, s in enumerate(block):
            if isinstance(s, Product) and readers.get(s.result) == 1:
                at = _copy_of(s, block, n)
                if at is not None:
                    s.result = s.acc
                    del block[at]
                    break


def _copy_of(s: Product, block: list[Stmt], n: int) -> int | None:
    """Return the position of a nest that only copies the result of a product to its accumulator."""
    if s.acc in (s.lhs, s.rhs, *s.scales):
        return None
    for at in range(n + 1, len(block)):
        each = block[at]
        if _copies(each, s.result, s.acc):
            return at
        inside = [each, *(t for inner in blocks_of(each) for t in walk(inner))]
        if any(s.acc in (*buffers_read(t), *buffers_written(t)) for t in inside):
            return None
    return None


def _copies(s: Stmt, source: Buffer, target: Buffer) -> bool:
    indices = []
    while isinstance(s, Loop) and len(s.body) in (1, 2) and s.step == 1 and s.kind is Kind.PARALLEL:
        indices.append(s.index)
        if len(s.body) == 2:
            break
        s = s.body[0]
    if not isinstance(s, Loop) or len(s.body) != 2:
        return False
    load, store = s.body
    if not isinstance(load, Load) or not isinstance(store, Store):
        return False
    same = load.buffer is source and store.buffer is target and store.value is load.result
    return same and load.index == store.index and load.mask is store.mask is None


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

    def whole(self, name: str, *xs: Operand, to: Scalar | None = None) -> Operand:
        made = Value(to or xs[-1].element, max(x.lanes for x in xs))
        self.emit(Int(made, name, xs))
        return made


class _Expansion:
    """The loops of one product."""

    def __init__(self, b: Vectors, s: Product, machine: Machine, wanted: Specialisation) -> None:
        self.b, self.s, self.op = b, s, s.op
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
        with b.nest(Kind.PARALLEL, made.shape, (0, 2, 1, 3)) as (batch, panel, k, c):
            j = b.add(b.mul(panel, index(self.columns)), c)
            where = self.place(source, batch, k, j)
            x = self.scaled(self.factor(b.load(source, where), False), source, where, False)
            b.store(made, (batch, panel, k, c), x)
        return made

    # ------------------------------------------------------------ blocks in registers

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
                at = self.place(self.s.acc, batch, b.add(row, index(r)), b.add(column, index(c)))
                x = b.elements(self.s.acc, at, w)
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
                acc = b.convert(b.elements(self.s.acc, at, w), self.type)
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
