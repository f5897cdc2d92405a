"""Conversions between numbers, and between pointers and integers."""

from __future__ import annotations

from ...ir import Value
from ...types import I8, I16, Ptr, Scalar, Tile
from ..mlir import TOp
from .table import translates
from .translator import Translator, scalar, tile_type
from .types import is_pointers

TOWARDS_ZERO = 0


@translates("arith.extsi")
def extsi(t: Translator, op: TOp, x: Value) -> Value:
    return t.builder.value("exti", x, "signed", to=t.result(op))


@translates("arith.extui")
def extui(t: Translator, op: TOp, x: Value) -> Value:
    return t.builder.value("exti", x, "unsigned", to=t.result(op))


@translates("arith.trunci")
def trunci(t: Translator, op: TOp, x: Value) -> Value:
    return t.builder.value("trunci", x, to=t.result(op))


@translates("arith.index_cast", "arith.index_castui")
def index_cast(t: Translator, op: TOp, x: Value) -> Value:
    return t.builder.cast(x, result_scalar(t, op), signed=op.name == "arith.index_cast")


def result_scalar(t: Translator, op: TOp) -> Scalar:
    element = t.result(op).element
    assert isinstance(element, Scalar)
    return element


@translates("arith.extf", "arith.truncf")
def convert_float(t: Translator, op: TOp, x: Value) -> Value:
    return t.builder.value("ftof", x, to=t.result(op))


@translates("tt.fp_to_fp")
def convert_rounding(t: Translator, op: TOp, x: Value) -> Value:
    to = result_scalar(t, op)
    nearest = t.builder.value("ftof", x, to=t.result(op))
    if op.attrs.get("rounding") != TOWARDS_ZERO or to.bits >= scalar(x).bits:
        return nearest
    return towards_zero(t, x, nearest)


def towards_zero(t: Translator, x: Value, nearest: Value) -> Value:
    """Correct a float that was rounded to the nearest: if it is further from zero, take the one before it.

    Floats of one sign are ordered as their bits are. Infinities become the largest finite number.
    """
    b = t.builder
    bits = Tile(tile_type(x).shape, I8 if scalar(nearest).bits == 8 else I16)
    wide = b.value("absf", b.value("ftof", nearest, to=tile_type(x)))
    further = b.value("cmpf", "greater_than", "ordered", wide, b.value("absf", x))
    whole = b.value("bitcast", nearest, result=bits)
    lower = b.value("subi", whole, b.value("exti", further, "unsigned", to=bits))
    return b.value("bitcast", lower, result=tile_type(nearest))


@translates("arith.sitofp")
def sitofp(t: Translator, op: TOp, x: Value) -> Value:
    return t.builder.value("itof", x, "signed", to=t.result(op))


@translates("arith.uitofp")
def uitofp(t: Translator, op: TOp, x: Value) -> Value:
    return t.builder.value("itof", x, "unsigned", to=t.result(op))


@translates("arith.fptosi")
def fptosi(t: Translator, op: TOp, x: Value) -> Value:
    return t.builder.value("ftoi", x, "signed", to=t.result(op))


@translates("arith.fptoui")
def fptoui(t: Translator, op: TOp, x: Value) -> Value:
    return t.builder.value("ftoi", x, "unsigned", to=t.result(op))


@translates("tt.bitcast", "arith.bitcast")
def bitcast(t: Translator, op: TOp, x: Value) -> Value:
    to = t.result(op)
    if to is x.type:
        return x
    return t.builder.value("ptr_to_ptr" if isinstance(to.element, Ptr) else "bitcast", x, result=to)


@translates("tt.int_to_ptr")
def int_to_ptr(t: Translator, op: TOp, x: Value) -> Value:
    return t.builder.value("int_to_ptr", x, result=t.result(op))


@translates("tt.ptr_to_int")
def ptr_to_int(t: Translator, op: TOp, x: Value) -> Value:
    return t.builder.value("ptr_to_int", x)


def pointers_from(t: Translator, op: TOp, loaded: Value) -> Value:
    """Return pointers that were loaded: they are integers in memory."""
    return t.builder.value("int_to_ptr", loaded, result=t.result(op)) if is_pointers(op.operands[0].type) else loaded
