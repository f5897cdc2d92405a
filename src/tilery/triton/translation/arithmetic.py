"""Arithmetic: constants, positions, integers, floats, comparisons and selection."""

from __future__ import annotations

import re

from ...ir import Value
from ...types import I1, I64, Ptr, Tile
from ..mlir import Raw, TOp
from .table import refuse, translates
from .translator import Translator, is_pointer, tile_type

BINARY = {
    **{f"arith.{name}": name for name in ("addi", "subi", "muli", "andi", "ori", "xori", "shli")},
    **{f"arith.{name}": name for name in ("addf", "subf", "mulf", "divf", "remf")},
    "tt.precise_divf": "divf",
    "tt.approx_divf": "divf",
    "tt.mulhiui": "mulhii",
}
SIGNED = {
    **{f"arith.{name}si": (f"{name}i", "signed") for name in ("div", "rem", "max", "min")},
    **{f"arith.{name}ui": (f"{name}i", "unsigned") for name in ("div", "rem", "max", "min")},
    "arith.shrsi": ("shri", "signed"),
    "arith.shrui": ("shri", "unsigned"),
}
UNARY = {
    **{f"math.{name}": name for name in ("exp", "exp2", "log", "log2", "sin", "cos", "tan", "tanh", "sinh", "cosh")},
    **{f"math.{name}": name for name in ("sqrt", "rsqrt", "floor", "ceil", "absf")},
    "tt.precise_sqrt": "sqrt",
    "arith.negf": "negf",
}
INT_PREDICATES = ["equal", "not_equal"] + [
    "less_than",
    "less_than_or_equal",
    "greater_than",
    "greater_than_or_equal",
] * 2
"""By MLIR's numbers: equal, different, four signed comparisons and four unsigned ones."""
FLOAT_PREDICATES = ["equal", "greater_than", "greater_than_or_equal", "less_than", "less_than_or_equal", "not_equal"]
FALSE, ORDERED, UNORDERED, TRUE = 0, 7, 14, 15
EXTREMES = {
    "arith.maximumf": ("maxf", True),
    "arith.maxnumf": ("maxf", False),
    "arith.minimumf": ("minf", True),
    "arith.minnumf": ("minf", False),
}


@translates(*BINARY)
def binary(t: Translator, op: TOp, x: Value, y: Value) -> Value:
    return t.builder.value(BINARY[op.name], x, y)


@translates(*SIGNED)
def signed(t: Translator, op: TOp, x: Value, y: Value) -> Value:
    name, sign = SIGNED[op.name]
    return t.builder.value(name, x, y, sign)


@translates(*UNARY)
def unary(t: Translator, op: TOp, x: Value) -> Value:
    return t.builder.value(UNARY[op.name], x)


@translates("math.absi")
def absi(t: Translator, op: TOp, x: Value) -> Value:
    return t.builder.value("absi", x)


@translates("math.fma", "tt.fma")
def fma(t: Translator, op: TOp, x: Value, y: Value, z: Value) -> Value:
    return t.builder.value("fma", x, y, z)


@translates(*EXTREMES)
def extreme(t: Translator, op: TOp, x: Value, y: Value) -> Value:
    name, propagates = EXTREMES[op.name]
    return t.builder.value(name, x, y, propagate_nan=propagates)


@translates("tt.clampf")
def clamp(t: Translator, op: TOp, x: Value, low: Value, high: Value) -> Value:
    propagates = op.attrs.get("propagateNan", 0) != 0
    raised = t.builder.value("maxf", x, low, propagate_nan=propagates)
    return t.builder.value("minf", raised, high, propagate_nan=propagates)


@translates("arith.ceildivsi", "arith.ceildivui", "arith.floordivsi")
def rounded_division(t: Translator, op: TOp, x: Value, y: Value) -> Value:
    sign = "unsigned" if op.name.endswith("ui") else "signed"
    mode = "negative_inf" if "floor" in op.name else "positive_inf"
    return t.builder.value("divi", x, y, sign, rounding=mode)


@translates("arith.mulsi_extended", "arith.mului_extended")
def extended_product(t: Translator, op: TOp, x: Value, y: Value) -> list[Value]:
    """Return the low and the high half of a product; the signed high half is the unsigned one, corrected."""
    b = t.builder
    high = b.value("mulhii", x, y)
    if op.name == "arith.mulsi_extended":
        zero = t.full(x, 0)
        for one, other in ((x, y), (y, x)):
            negative = b.value("cmpi", "less_than", one, zero, "signed")
            high = b.value("subi", high, b.value("select", negative, other, zero))
    return [b.value("muli", x, y), high]


@translates("arith.addui_extended")
def extended_sum(t: Translator, op: TOp, x: Value, y: Value) -> list[Value]:
    total = t.builder.value("addi", x, y)
    return [total, t.builder.value("cmpi", "less_than", total, x, "unsigned")]


@translates("arith.cmpi")
def compare_integers(t: Translator, op: TOp, x: Value, y: Value) -> Value:
    predicate = op.attrs["predicate"]
    if is_pointer(x):
        x, y = t.builder.value("ptr_to_int", x), t.builder.value("ptr_to_int", y)
    return t.builder.value("cmpi", INT_PREDICATES[predicate], x, y, "unsigned" if predicate > 5 else "signed")


@translates("arith.cmpf")
def compare_floats(t: Translator, op: TOp, x: Value, y: Value) -> Value:
    b, predicate = t.builder, op.attrs["predicate"]
    flags = Tile(tile_type(x).shape, I1)
    if predicate in (FALSE, TRUE):
        return b.const(predicate == TRUE, flags)
    if predicate in (ORDERED, UNORDERED):
        kind, combine = ("ordered", "andi") if predicate == ORDERED else ("unordered", "ori")
        name = "equal" if predicate == ORDERED else "not_equal"
        return b.value(combine, b.value("cmpf", name, kind, x, x), b.value("cmpf", name, kind, y, y))
    kind = "ordered" if predicate < ORDERED else "unordered"
    return b.value("cmpf", FLOAT_PREDICATES[predicate % 7 - 1], kind, x, y)


@translates("arith.select")
def select(t: Translator, op: TOp, condition: Value, x: Value, y: Value) -> Value:
    return t.builder.select(condition, x, y)


# ---------------------------------------------------------------- constants and positions


@translates("arith.constant")
def constant(t: Translator, op: TOp) -> Value:
    return t.constant(op.attrs["value"], t.result(op))


@translates("ub.poison", "llvm.mlir.undef")
def undefined(t: Translator, op: TOp) -> Value:
    """Build zeros for a value that is not used where it matters, such as that of a loop that returns early."""
    kind = t.result(op)
    if not isinstance(kind.element, Ptr):
        return t.builder.const(0, kind)
    return t.builder.value("int_to_ptr", t.builder.const(0, Tile(kind.shape, I64)), result=kind)


@translates("tt.get_program_id")
def program_id(t: Translator, op: TOp) -> Value:
    return t.builder.block_id()[axis(t, op)]


@translates("tt.get_num_programs")
def num_programs(t: Translator, op: TOp) -> Value:
    return t.builder.grid_size()[axis(t, op)]


def axis(t: Translator, op: TOp) -> int:
    found = op.attrs["axis"]
    if isinstance(found, Raw):
        found = "xyz".find(re.sub(r".*<|>", "", found.text))
    if found not in (0, 1, 2):
        refuse(t, op, "the axis is not x, y or z")
    return int(found)


@translates("tt.make_range")
def make_range(t: Translator, op: TOp) -> Value:
    kind = t.result(op)
    made = t.builder.value("iota", result=kind)
    start = op.attrs["start"]
    return made if start == 0 else t.builder.value("addi", made, t.full(made, start))
