"""Matrix products: `tt.dot` and `tt.dot_scaled`."""

from __future__ import annotations

from ...ir import Value
from ...types import BF16, F16, F32, I8, SCALARS, TF32, Tile
from ..mlir import TOp
from .memory import parts
from .shapes import to_shape
from .table import refuse, translates
from .translator import Translator, scalar, tile_type

PRECISION_TF32 = 0
FORMATS = {0: "f8E4M3FN", 1: "f8E5M2", 4: "f4E2M1FN", 5: "bf16", 6: "f16"}
"""The element types of scaled products by Triton's numbers; 2 and 3 are fp6."""
E2M1 = 4
SCALE = SCALARS["f8E8M0FNU"]


@translates("tt.dot")
def dot(t: Translator, op: TOp, x: Value, y: Value, acc: Value) -> Value:
    """Build a product. Splitting f32 into several tf32 or bf16 parts is a way to compute it, so f32 is used."""
    if scalar(x).is_int:
        return t.builder.value("mmai", x, y, acc, "signed", "signed")
    if scalar(x) is F32 and op.attrs.get("inputPrecision", 2) == PRECISION_TF32:
        x, y = as_tf32(t, x), as_tf32(t, y)
    elif scalar(x) is not scalar(y):
        x, y = as_element(t, x, "f16"), as_element(t, y, "f16")
    return accumulate(t, x, y, acc)


def as_tf32(t: Translator, x: Value) -> Value:
    """Take the upper 19 bits of f32, as tensor cores do: they ignore the others."""
    b = t.builder
    bits = b.bitcast(x, "i32")
    kept = b.value("andi", bits, t.full(bits, -(1 << 13)))
    return b.value("ftof", b.bitcast(kept, F32), to=Tile(tile_type(x).shape, TF32))


def as_element(t: Translator, x: Value, name: str) -> Value:
    to = SCALARS[name]
    return x if scalar(x) is to else t.builder.value("ftof", x, to=Tile(tile_type(x).shape, to))


def accumulate(t: Translator, x: Value, y: Value, acc: Value) -> Value:
    """Build the product in f32 where Tile IR has no accumulator of that type."""
    b, kind = t.builder, scalar(acc)
    if kind is BF16 or (kind is F16 and scalar(x) not in (F16, SCALARS["f8E4M3FN"], SCALARS["f8E5M2"])):
        return b.cast(b.mma(x, y, b.cast(acc, F32)), kind)
    return b.mma(x, y, acc)


@translates("tt.dot_scaled")
def dot_scaled(t: Translator, op: TOp, *given: Value) -> Value:
    x, y, acc, x_scale, y_scale = parts(op, given)
    kinds = op.attrs["a_elem_type"], op.attrs["b_elem_type"]
    if any(kind not in FORMATS for kind in kinds):
        refuse(t, op, "Tile IR does not have fp6")
    b = t.builder
    x = unpacked(t, x, kinds[0], along=1 if op.attrs.get("lhs_k_pack", True) else 0)
    y = unpacked(t, y, kinds[1], along=0 if op.attrs.get("rhs_k_pack", True) else 1)
    x_scale, y_scale = as_scale(t, x_scale), as_scale(t, y_scale)
    if x_scale is not None and y_scale is not None and kinds[0] == kinds[1] and scalar(x_scale) is scalar(y_scale):
        return b.value("mmaf_scaled", x, y, acc, x_scale, b.permute(y_scale, 1, 0))
    return accumulate(t, scaled(t, x, x_scale, 1), scaled(t, y, y_scale, 0), acc)


def unpacked(t: Translator, x: Value, kind: int, along: int) -> Value:
    """Return the elements of a matrix; fp4 comes as bytes with two elements each, along a dimension."""
    b = t.builder
    if kind != E2M1:
        name = FORMATS[kind]
        return b.value("bitcast", x, result=Tile(tile_type(x).shape, SCALARS[name])) if scalar(x) is I8 else x
    if along == 0:
        return b.permute(unpacked(t, b.permute(x, 1, 0), kind, 1), 1, 0)
    rows, columns = tile_type(x).shape
    flat = b.value("unpack", to_shape(t, x, (rows * columns,)), result=Tile((rows * columns * 2,), SCALARS["f4E2M1FN"]))
    return to_shape(t, flat, (rows, 2 * columns))


def as_scale(t: Translator, scale: Value | None) -> Value | None:
    """Return scales as floats; bytes are exponents."""
    if scale is None or scalar(scale) is not I8:
        return scale
    return t.builder.value("bitcast", scale, result=Tile(tile_type(scale).shape, SCALE))


def scaled(t: Translator, x: Value, scale: Value | None, along: int) -> Value:
    """Multiply a matrix by its scales, one per group along a dimension, in f32."""
    b = t.builder
    wide = as_element(t, x, "f32")
    if scale is None:
        return wide
    rows, groups = tile_type(scale).shape
    full = tile_type(x).shape[along]
    spread = b.broadcast(to_shape(t, as_element(t, scale, "f32"), (rows, groups, 1)), rows, groups, full // groups)
    flat = to_shape(t, spread, (rows, full))
    return b.value("mulf", wide, flat if along == 1 else b.permute(flat, 1, 0))
