"""Turn whole products into loops: operands are packed, and blocks of the result stay in registers.

Where the reference engine rounds every step, products have its bits. Longer sums are computed with fused products in
f32, in the order of K starting from the accumulator (with `exact`, in f64). `words` has the products of integers, and
those of bf16 with instructions for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....ops import MmaF, MmaFScaled, MmaI
from ....types import F32, F64, Scalar
from ...semantics import rounds_once
from ..abi import Specialisation
from ..loops.nodes import (
    Buffer,
    Const,
    Jump,
    Kernel,
    Kind,
    Load,
    Loop,
    Operand,
    Product,
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
from .inline import Producer
from .outside import skip_outside
from .packing import Context, Element, Facts, Spot, panels, place, rows
from .vectors import Blocks, Place, Sizes, Vectors
from .words import Sums, is_paired, sizes_of, write_integers, write_pairs


def expand_products(machine: Machine, wanted: Specialisation) -> Callable[[Kernel], None]:
    """Return the pass for a processor."""

    def run(kernel: Kernel) -> None:
        facts = Facts(kernel.body)
        for block in facts.blocks:
            _form_in_place(block, facts)
        context = Context(facts, machine, wanted, kernel.ops)
        skip_outside(kernel.body, facts, lambda b, s: add_zero(context, Vectors(b.block), s))
        _expand(kernel.body, context)
        grid = kernel.body[-1]
        assert isinstance(grid, Loop)
        grid.body[:0] = context.first

    return run


def _expand(body: list[Stmt], c: Context) -> None:
    spot = Spot(body)
    c.path.append(spot)
    while spot.at < len(body):
        s = body[spot.at]
        if isinstance(s, Product):
            c.out = []
            _write(c, Vectors(c.out), s)
            body[spot.at : spot.at + 1] = c.out
            spot.at += len(c.out)
        else:
            for block in blocks_of(s):
                _expand(block, c)
            spot.at += 1
    c.path.pop()


def _write(c: Context, b: Vectors, s: Product) -> None:
    if isinstance(s.op, MmaI):
        write_integers(c, b, s)
    elif is_paired(c, s):
        write_pairs(c, b, s, lambda: write_floats(c, b, s))
    else:
        write_floats(c, b, s)


# ---------------------------------------------------------------- results that replace the accumulator


def _form_in_place(block: list[Stmt], found: Facts) -> None:
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
    """Tell whether other statements use a buffer, change what its elements are computed from, or jump away.

    After a jump the buffer must still hold what it held before the product.
    """
    product = block[n]
    assert isinstance(product, Product)
    inputs = {target}
    if first != n:
        inputs |= {b for s in walk([block[first]]) for b in buffers_read(s)}
    for k in range(first, last):
        if k in (first, n):
            continue
        for s in walk([block[k]]):
            written = set(buffers_written(s))
            if isinstance(s, Jump) or target in (*buffers_read(s), *written) or inputs & written:
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


# ---------------------------------------------------------------- floats


def write_floats(c: Context, b: Vectors, s: Product) -> None:
    """Write a product of floats in f32 or f64."""
    o: Any = s.op
    once = isinstance(o, MmaF) and rounds_once(o)
    wide = isinstance(o, MmaFScaled) or s.lhs.element is F64 or (once and c.wanted.exact)
    t = F64 if wide else F32
    sizes = sizes_of(c, s, t.bits // 8)
    left, right = _packed_rows(c, b, s, t, sizes), _packed_panels(c, b, s, t, sizes)
    sums = Sums(c, b, s, sizes.w)

    def first(batch: Operand, i: Operand, j: Operand) -> Operand:
        x = b.convert(sums.first(batch, i, j), t)
        exact = once and c.wanted.exact  # then negative zeros become positive, since sums begin with a zero
        return b.floating("add", x, Const(t, 0)) if exact else x

    def finish(batch: Operand, i: Operand, j: Operand, x: Operand) -> None:
        if not once:
            x = b.floating("add", x, first(batch, i, j))
        sums.finish(batch, i, j, b.convert(x, s.result.element))

    def of_row(at: Place, r: int, k: Operand) -> Operand:
        return b.load(left, place(left, at.batch, b.add(at.row, index(r)), k))

    def of_columns(at: Place, k: Operand, column: int) -> Operand:
        return b.elements(right, [at.batch, at.panel, k, index(column)], sizes.w)

    def step(x: Operand, y: Operand, total: Operand) -> Operand:
        if once or isinstance(o, MmaFScaled):
            return b.floating("fma", x, y, total)
        return b.floating("add", total, b.floating("mul", y, x))

    Blocks(sizes, t, of_row, of_columns, step, first if once else None, finish).write(b)


def add_zero(c: Context, b: Vectors, s: Product) -> None:
    """Add zeros to the accumulator: its negative zeros become positive."""
    t = F64 if s.acc.element is F64 else F32
    sums = Sums(c, b, s, 1)
    batch, (m, n) = s.result.shape[:-2], s.result.shape[-2:]
    with b.nest(Kind.PARALLEL, (batch[0] if batch else 1, m, n)) as (at, i, j):
        x = b.floating("add", Const(t, 0), b.convert(sums.first(at, i, j), t))
        sums.finish(at, i, j, b.convert(x, s.result.element))


def _packed_rows(c: Context, b: Vectors, s: Product, t: Scalar, sizes: Sizes) -> Buffer:
    if s.lhs.element is t and len(s.lhs.shape) == 2 and not s.scales:
        return s.lhs
    factor = _factor(s, t, left=True)
    return c.packed((s.lhs, *s.scales[:1]), ("rows", t), lambda b: rows(b, s.lhs, sizes, t, factor))


def _packed_panels(c: Context, b: Vectors, s: Product, t: Scalar, sizes: Sizes) -> Buffer:
    factor, across = _factor(s, t, left=False), None if s.scales else c.facts.transposed(s.rhs)
    kind = ("panels", t, sizes.columns)
    return c.packed((s.rhs, *s.scales[1:]), kind, lambda b: panels(b, s.rhs, sizes, t, factor, across))


def _factor(s: Product, t: Scalar, left: bool) -> Element:
    """Return the function that makes an element of an operand one of the type of the sums."""
    scale = (s.scales[0 if left else 1]) if s.scales else None
    source = s.lhs if left else s.rhs

    def factor(b: Vectors, x: Operand, where: list[Operand]) -> Operand:
        x = b.convert(x, t)
        if scale is None:
            return x
        axis = len(source.shape) - (1 if left else 2)
        each = source.shape[axis] // scale.shape[axis]
        at = [b.integer("udiv", i, index(each)) if d == axis else i for d, i in enumerate(where)]
        return b.floating("mul", x, b.convert(b.load(scale, at), t))

    return factor
