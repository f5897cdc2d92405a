"""Atomic operations: one element after the other, row by row, each by an instruction of the processor."""

from __future__ import annotations

from typing import Any

from ...attrs import AtomicRMWMode as Mode
from ...ir import Op, Value
from ...ops import AtomicCASTko, AtomicRedViewTko, AtomicRMWTko
from ...types import F32, F64, Scalar
from .access import locate, place
from .arithmetic.floats import bits_of, float_of, flushed, from_f32, widened
from .memory import check_addresses, pointee, settle_loads
from .registry import emits
from .shapes import source
from .text import BYTES, Number
from .tiles import Buffer, element, is_scalar, reg, shape, stored
from .writer import Writer, pointer

INSTRUCTIONS = {
    Mode.AND: "and",
    Mode.OR: "or",
    Mode.XOR: "xor",
    Mode.ADD: "add",
    Mode.MAX: "max",
    Mode.MIN: "min",
    Mode.UMAX: "umax",
    Mode.UMIN: "umin",
    Mode.XCHG: "xchg",
}
IN_ANY_ORDER = {Mode.AND, Mode.OR, Mode.XOR, Mode.ADD, Mode.MAX, Mode.MIN, Mode.UMAX, Mode.UMIN}


def commutes(o: Op, used: set[Value]) -> bool:
    """Tell whether it does not matter in which order tile blocks execute an operation; `used` are all operands."""
    if isinstance(o, AtomicRedViewTko):
        return o.mode in IN_ANY_ORDER
    if not isinstance(o, AtomicRMWTko) or o.mode not in IN_ANY_ORDER:
        return False
    return o.result not in used


def integer(t: str) -> str:
    return {"float": "i32", "double": "i64"}.get(t, t)


def combined(g: Writer, mode: Mode, e: Scalar, address: str, x: str) -> str:
    """Combine an element with memory; return the bits that were there."""
    t = integer(reg_of(e))
    if mode is Mode.ADDF:
        return _added(g, e, t, address, x)
    return g.let(f"atomicrmw {INSTRUCTIONS[mode]} ptr {address}, {t} {x} seq_cst, align {BYTES[t]}")


def reg_of(e: Scalar) -> str:
    return {"f32": "float", "f64": "double", "f16": "i16", "bf16": "i16"}.get(e.name) or f"i{max(8, e.bits)}"


def _added(g: Writer, e: Scalar, t: str, address: str, x: str) -> str:
    """Add floats: try again until no other thread has changed the memory in between."""
    first = g.let(f"load atomic {t}, ptr {address} seq_cst, align {BYTES[t]}")
    head, done = g.fresh("again"), g.fresh("added")
    before = g.label
    g.jump(head)
    g.mark(head)
    old = g.new("old")
    at = len(g.lines)
    g.lines.append("")
    new = _sum(g, e, old, x)
    pair = g.let(f"cmpxchg ptr {address}, {t} {old}, {t} {new} seq_cst seq_cst, align {BYTES[t]}")
    seen = g.let(f"extractvalue {{ {t}, i1 }} {pair}, 0")
    g.lines[at] = f"  {old} = phi {t} [ {first}, %{before} ], [ {seen}, %{g.label} ]"
    g.branch(g.let(f"extractvalue {{ {t}, i1 }} {pair}, 1"), done, head)
    g.mark(done)
    return old


def _sum(g: Writer, e: Scalar, a: str, b: str) -> str:
    """The bits of a sum as an H200 adds to memory: f32 without subnormals, NaNs of f64 with all their bits."""
    if e is F64:
        x, y = float_of(g, a, "double", 1), float_of(g, b, "double", 1)
        total = bits_of(g, g.op("fadd", "double", 1, x, y), "double", 1)
        invalid = g.let(f"and i64 {total}, {(1 << 63) - 1}")
        nan = g.test("ugt", invalid, 0x7FF0 << 48)
        total = g.let(f"select i1 {nan}, i64 {-(8 << 48)}, i64 {total}")
        for raw in (a, b):
            size = g.let(f"and i64 {raw}, {(1 << 63) - 1}")
            total = g.let(f"select i1 {g.test('ugt', size, 0x7FF0 << 48)}, i64 {raw}, i64 {total}")
        return total
    if e is not F32:
        x, y = widened(g, a, e, 1), widened(g, b, e, 1)
        return from_f32(g, g.op("fadd", "float", 1, x, y), e, 1)
    x, y = (flushed(g, float_of(g, v, "float", 1), 1) for v in (a, b))
    total = flushed(g, g.op("fadd", "float", 1, x, y), 1)
    raw = bits_of(g, total, "float", 1)
    size = g.let(f"and i32 {raw}, 2147483647")
    nan = g.let(f"icmp ugt i32 {size}, {0x7F800000}")
    return g.let(f"select i1 {nan}, i32 2147483647, i32 {raw}")


# ---------------------------------------------------------------- by pointers


def elements(g: Writer, sizes: tuple[int, ...], body: Any) -> None:
    """Every element of a tile, in order."""
    before, g.lanes = g.lanes, 1
    g.nest(sizes, body)
    g.lanes = before


def by_pointers(g: Writer, o: Any, values: list[Value], masked: Value | None, act: Any) -> None:
    """Do something with each element that the mask leaves; the others are those of `masked`, or 0."""
    e, t = pointee(o.pointers), reg(o.result)
    tiles = [o.pointers, *values, *([o.mask] if o.mask is not None else [])]
    settle_loads(g, tiles)
    held = [source(g, v) for v in values]
    out = g.buffer(shape(o.result), t)
    home, raw = g.homes.get(o.pointers), integer(t)

    def one(index: list[Number], vd: int, w: int) -> None:
        a = g.chunk(o.pointers, index, 0, 1)
        mask = None if o.mask is None else g.chunk(o.mask, index, 0, 1)
        check_addresses(g, o, home, a, mask, 1, BYTES[stored(raw)], True, False)
        operands = [g.read(Buffer(b.pointer, b.shape, raw), raw, index, 0, 1) for b in held]
        place = Buffer(out.pointer, out.shape, raw)
        g.write(place, operands[0] if masked is not None else "0", index, 1)
        g.when(mask or "true", lambda: g.write(place, act(e, pointer(g, a), operands), index, 1))

    elements(g, shape(o.result), one)
    g.settle({o.result: g.load(t, out.pointer) if is_scalar(o.result) else out})


@emits(AtomicRMWTko)
def atomic_rmw(g: Writer, o: AtomicRMWTko) -> None:
    by_pointers(g, o, [o.arg], None, lambda e, address, xs: combined(g, o.mode, e, address, xs[0]))


@emits(AtomicCASTko)
def atomic_cas(g: Writer, o: AtomicCASTko) -> None:
    def act(e: Scalar, address: str, operands: list[str]) -> str:
        t, (wanted, new) = integer(reg_of(e)), operands
        pair = g.let(f"cmpxchg ptr {address}, {t} {wanted}, {t} {new} seq_cst seq_cst, align {BYTES[t]}")
        return g.let(f"extractvalue {{ {t}, i1 }} {pair}, 0")

    by_pointers(g, o, [o.cmp, o.val], o.cmp, act)


# ---------------------------------------------------------------- by views


@emits(AtomicRedViewTko)
def atomic_red_view(g: Writer, o: AtomicRedViewTko) -> None:
    a = locate(g, o, o.view, o.index, (False,) * len(o.index), True)
    settle_loads(g, [o.value])
    values = source(g, o.value)
    e, raw = element(o.value), integer(reg(o.value))

    def one(index: list[Number], vd: int, w: int) -> None:
        inside = "true"
        for i, last in zip(index, a.last):
            inside = g.both(inside, g.test("slt", i, last))
        x = g.read(Buffer(values.pointer, values.shape, raw), raw, index, 0, 1)
        g.when(inside, lambda: _ignored(combined(g, o.mode, e, place(g, a, tuple(index)), x)))

    elements(g, shape(o.value), one)


def _ignored(x: str) -> None:
    """The previous element is not a result of a reduction."""
