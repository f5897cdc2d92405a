"""Atomic operations on one element, each by an instruction of the processor."""

from __future__ import annotations

from ...attrs import AtomicRMWMode as Mode
from ...ir import Op, Value
from ...ops import AtomicRedViewTko, AtomicRMWTko
from ...types import F32, F64, Scalar
from .arithmetic.floats import bits_of, float_of, flushed, from_f32, widened
from .text import BYTES, Text

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


def combined(g: Text, mode: Mode, e: Scalar, address: str, x: str) -> str:
    """Combine an element with memory; return the bits that were there."""
    t = integer(reg_of(e))
    if mode is Mode.ADDF:
        return _added(g, e, t, address, x)
    return g.let(f"atomicrmw {INSTRUCTIONS[mode]} ptr {address}, {t} {x} seq_cst, align {BYTES[t]}")


def reg_of(e: Scalar) -> str:
    return {"f32": "float", "f64": "double", "f16": "i16", "bf16": "i16"}.get(e.name) or f"i{max(8, e.bits)}"


def _added(g: Text, e: Scalar, t: str, address: str, x: str) -> str:
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


def _sum(g: Text, e: Scalar, a: str, b: str) -> str:
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
