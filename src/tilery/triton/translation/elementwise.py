"""Elementwise functions from elsewhere: libdevice, inline PTX, and MLIR's mathematical functions."""

from __future__ import annotations

from ...ir import Value
from ...types import F64
from ..mlir import TOp
from . import special
from .libdevice import ONLY_F32, SYMBOLS
from .ptx import inline
from .table import refuse, translates
from .translator import Translator, scalar

MATH = {"math.erf": "erf", "math.log1p": "log1p", "math.expm1": "expm1", "math.log10": "log10", "math.atan": "atan"}


@translates(*MATH)
def mathematical(t: Translator, op: TOp, x: Value) -> Value:
    if MATH[op.name] in ONLY_F32 and scalar(x) is F64:
        refuse(t, op, "its error in f64 would be larger than documented")
    return special.in_f64(t.builder, getattr(special, MATH[op.name]), x)


@translates("tt.extern_elementwise")
def extern(t: Translator, op: TOp, *xs: Value) -> Value:
    name = op.attrs["symbol"]
    if name not in SYMBOLS:
        refuse(t, op, f"the function '{name}' has no translation to Tile IR")
    return SYMBOLS[name](t, t.result(op), *xs)


@translates("tt.elementwise_inline_asm")
def assembly(t: Translator, op: TOp, *xs: Value) -> list[Value]:
    return inline(t, op, list(xs))
