"""The exactness of each operation: what is undefined, and where hardware may return different bits.

An operation without a row is exact: comparisons of engines expect the same bits of it. Notes state what the reference
engine does, and how far an H200 was from it; the bounds are the largest distances seen over hundreds of millions of f32
arguments for functions of one operand, and millions of others. Engines are compared with the reference engine by these
rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .. import ops
from ..attrs import RoundingMode
from ..ir import Op, walk
from ..types import F64, I1, TF32, PaddingValue, Scalar, Tile, TileView, Type

APPROXIMATE = (RoundingMode.APPROX, RoundingMode.FULL)
"""The rounding modes that hardware defines; the reference engine rounds to nearest."""


class Semantics(NamedTuple):
    """The exactness of an operation; a row without text is exact everywhere."""

    undefined: str = ""
    """The cases that the specification leaves undefined, and what the reference engine does."""
    note: str = ""
    """Facts about the result that the specification does not state."""
    differs: str = ""
    """The differences of hardware from the reference engine, and their size."""
    may_differ: Callable[[Any], bool] | None = None
    """Whether hardware may return different bits for an operation, given its types and attributes; None for never."""

    @property
    def text(self) -> str:
        return " ".join(filter(None, self[:3])) or "exact"


def same_bits(o: Op) -> bool:
    """Tell whether hardware returns the same bits as the reference engine."""
    may_differ = SEMANTICS[o.__class__].may_differ if o.__class__ in SEMANTICS else None
    return may_differ is None or not may_differ(o)


# ---------------------------------------------------------------- where hardware differs


def always(o: Op) -> bool:
    return True


def is_approximate(o: ops.DivF | ops.Sqrt) -> bool:
    return o.rounding_mode in APPROXIMATE


def body_rounds(o: ops.Reduce | ops.Scan) -> bool:
    """Tell whether the order of the elements matters. (A body that is not associative is an error in the program.)"""
    return any("rounding_mode" in (f.name for f in i.opdef.fields) for i in walk(o.body))


def order_matters(o: ops.Reduce | ops.Scan) -> bool:
    """Tell whether the order of the elements matters, or NaN meets an extreme that drops it and has no neutral one."""
    return body_rounds(o) or any(isinstance(i, (ops.MaxF, ops.MinF)) and not i.propagate_nan for i in walk(o.body))


def pads_tf32(o: ops.LoadViewTko) -> bool:
    type = o.view.type
    assert isinstance(type, TileView)
    return type.tensor_view.element is TF32 and type.padding_value not in (None, PaddingValue.ZERO)


def _element(type: Type) -> Scalar:
    assert isinstance(type, Tile) and isinstance(type.element, Scalar)
    return type.element


def _is_narrow(type: Type) -> bool:
    """Tell whether hardware converts to or from a type through a wider one."""
    element = _element(type)
    return element is TF32 or element.bits <= 8


# ---------------------------------------------------------------- matrix products

SMALL_PRODUCT = 1 << 14
"""Up to this many multiplications, the reference engine adds up products one by one, in the order of K."""
WARPS = 4
TENSOR_CORE_TILE = (16, 8)
"""Rows and columns that a warp computes at once on tensor cores."""
TENSOR_CORE_STEPS = {"i8": 16, "f16": 8, "bf16": 8, "f8E4M3FN": 8, "f8E5M2": 8, "tf32": 4}
"""The smallest K for which NVIDIA's compiler uses the tensor cores of an H200, by element type."""


def uses_tensor_cores(o: ops.MmaF | ops.MmaI) -> bool:
    """Tell whether NVIDIA's compiler uses the tensor cores of an H200, which round and saturate differently."""
    (rows, columns), result = TENSOR_CORE_TILE, o.acc.type
    assert isinstance(result, Tile)
    m, n = result.shape[-2:]
    least = TENSOR_CORE_STEPS.get(_element(o.lhs.type).name)
    enough = m >= rows and n >= columns and result.size >= WARPS * rows * columns
    return least is not None and enough and _inner_size(o) >= least


def rounds_once(o: ops.MmaF) -> bool:
    """Tell whether the reference engine sums in f64 and rounds once, which no GPU does."""
    assert isinstance(o.acc.type, Tile)
    if _element(o.lhs.type) is F64:
        return False
    return uses_tensor_cores(o) or o.acc.type.size * _inner_size(o) > SMALL_PRODUCT


def _inner_size(o: ops.MmaF | ops.MmaI) -> int:
    assert isinstance(o.lhs.type, Tile)
    return o.lhs.type.shape[-1]


# ---------------------------------------------------------------- texts

ORDER = "The order of the elements is undefined; it is that of the tile blocks and, within a tile, row by row."
FLUSH = "`addf` of f32 flushes subnormal operands and results to zero, as NVIDIA documents for GPU memory."
BY_ZERO = (
    "by zero gives all bits set, as on an H200 (of 64 bits only the lower half, if the upper half of the dividend is 0)"
)
OVERSHIFT = "A shift by at least the width of the type shifts out every bit"
WRAPS = Semantics("An index outside the grid of parts is undefined; it wraps around.")
IN_BOUNDS = (
    "Along a dimension with `inbounds`, elements are not compared with the size of the tensor: a broken promise "
    "accesses the address that the strides give."
)
NOTHING_TO_WAIT_FOR = Semantics(note="Launches run one after the other and accesses in program order: nothing waits.")
SAME_FROM_POINTERS = "An H200 returns the same bits for a tile that was loaded through pointers; others may differ."
NEUTRAL = (
    "How often an identity enters the result, if at all, is the compiler's choice, so only a neutral one has a "
    "meaning; the reference engine uses none. The body's first argument is what comes before. "
)
REDUCE = NEUTRAL + (
    "Elements are not combined in order. 128 threads share the tile in row-major order, with the reduced dimension "
    "varying slowest unless it is the last one. Each thread combines its elements from first to last (if the body has "
    "several operations: in pairs, then pairs of pairs), then lanes that are 16, 8, 4, 2 and 1 apart combine, then "
    "warps that are 2 and 1 apart."
)
REDUCE_VIEWS = (
    " It distributes tiles that were loaded through views differently, so sums of floats end in other bits. The "
    "identity enters sums of floats once per thread that holds several elements, and maxima of at least 128: -inf is "
    "not neutral for a `maxf` that drops NaN, so the maximum of 128 NaN is -inf there and NaN here. It entered no sum "
    "of integers and no `minf`."
)
SCAN = NEUTRAL + (
    "32 lanes are distributed over the dimensions, starting with the first. Groups of as many elements as the scanned "
    "dimension has lanes combine with those 1, 2, 4, 8 and 16 before, then groups combine one after the other."
)
SCAN_NAN = (
    " The identity entered none of 261 scans there. After a scan of signalling NaN with a `maxf` of f64 that drops "
    "NaN, `bitcast` saw the first 32 of 128 results unchanged, which were stored as quiet NaN, as they are here."
)
MMAF = (
    "f64, and up to 2**14 multiplications of other types, is computed to the same bits as on an H200 without tensor "
    "cores: products and sums are rounded in the order of K from 0 on, and `acc` is added last. The compiler uses "
    "tensor cores for at least 512 results, with M from 16, N from 8 and K from 8 on (tf32: from 4 on), but not for "
    "f32 and f64. Then, and for more multiplications, the sum is computed in f64 and rounded once. `fast_acc` has no "
    "effect."
)
MMAF_DIFFERS = (
    "Relative to the sum of |a||b| and |acc|, an H200 then differs by at most 2**-20 with f32 results and 2**-9 with "
    "f16, or with f32 if the inputs are f8 (K up to 128), and may return infinities or NaN if a partial sum "
    "overflows."
)
MMAI = (
    "The specification does not mention overflow; this is what an H200 does. If the compiler uses tensor cores (at "
    "least 512 results, M and K from 16 and N from 8 on), sums saturate after every 32 steps of K; otherwise they "
    "wrap around."
)
FTOF = (
    "Rounded once. Types of 8 bits and less saturate, unsigned types take the absolute value, and f4E2M1FN has its "
    "largest number for NaN. Otherwise NaN has all bits set but the sign; it keeps sign and payload to f64, from f64 "
    "to f32, f16 and bf16, and from bf16 and tf32 to f32."
)
FTOI = (
    "A number that does not fit is undefined: it saturates, and NaN gives 0; without `saturating`, as on an H200, i8 "
    "is the lower half of an i16, and NaN from f64 or to i64 gives the sign bit (to i8: 0)."
)
PRINT = (
    "Tile blocks print in the order of the grid; on a GPU there is no order. A conversion that does not fit the type "
    "of its value shows what C's printf does with a row of the tile, or with 32 elements of a long one; past the last "
    "element it reads 0."
)


def _within(f32: int, f64: int, more: str = "") -> Semantics:
    """A function that is not exact: the largest distances seen between an H200 and the reference engine."""
    text = f"An H200 differs by at most {f32} ULP in f32, {f64} in f64, 1 in f16 and bf16.{more}"
    return Semantics(note="Not exact in f64.", differs=text, may_differ=always)


# ---------------------------------------------------------------- the table

SEMANTICS: dict[type[Op], Semantics] = dict.fromkeys((d.cls for d in ops.registered()), Semantics()) | {
    # integers
    ops.DivI: Semantics(f"Division {BY_ZERO}; the smallest integer by -1 gives itself. Both are undefined."),
    ops.RemI: Semantics(f"The remainder of a division by zero is undefined: division {BY_ZERO}."),
    ops.ShLI: Semantics(note=f"{OVERSHIFT}: the result is 0."),
    ops.ShRI: Semantics(note=f"{OVERSHIFT}: the result is 0, or -1 for a negative signed integer."),
    ops.MmaI: Semantics(MMAI),
    # conversions
    ops.FToF: Semantics(
        note=FTOF,
        differs="An H200 converts f64 to tf32 and 8 bits through f32.",
        may_differ=lambda o: _element(o.from_.type) is F64 and _is_narrow(o.to.type),
    ),
    ops.IToF: Semantics(
        note="Rounded once. Types of 8 bits and less saturate.",
        differs="An H200 converts to tf32 through f32, and to f8E5M2 through f16. NVIDIA's compiler evaluates the "
        "conversion of constants to 8 bits and does not saturate: large numbers become NaN or an infinity.",
        may_differ=lambda o: _is_narrow(o.to.type),
    ),
    ops.FToI: Semantics(
        FTOI,
        note="i1 is whether the number is not zero, for fractions and NaN too.",
        differs="On an H200, -0 of tf32 and of 8 bits counts as not zero.",
        may_differ=lambda o: _element(o.to.type) is I1 and _is_narrow(o.from_.type),
    ),
    # floats
    ops.DivF: Semantics(
        note="`approx` and `full` round to nearest.",
        differs="An H200 differs by at most 2 ULP.",
        may_differ=is_approximate,
    ),
    ops.Sqrt: Semantics(
        note="`approx` rounds to nearest.", differs="An H200 differs by at most 1 ULP.", may_differ=is_approximate
    ),
    ops.Exp: _within(2, 1, " `approx` differs by up to 53."),
    ops.Exp2: _within(2, 1),
    ops.Log: _within(1, 1),
    ops.Log2: _within(1, 1),
    ops.Sin: _within(1, 1),
    ops.Cos: _within(2, 1),
    ops.Tan: _within(2, 2),
    ops.SinH: _within(2, 1),
    ops.CosH: _within(2, 1),
    ops.TanH: _within(2, 2, " `approx` differs by up to 120."),
    ops.Atan2: _within(2, 2, " NVIDIA's compiler evaluates `atan2` of constants: of two zeros it is NaN."),
    ops.FPowF: _within(1, 1),
    ops.Rsqrt: _within(2, 1),
    ops.FPowI: Semantics(note="Squared and multiplied in f32 or f64, to the same bits as an H200. A set i1 is -1."),
    ops.MmaF: Semantics(note=MMAF, differs=MMAF_DIFFERS, may_differ=rounds_once),
    ops.MmaFScaled: Semantics(note="The sum is computed in f64 and rounded once.", may_differ=always),
    # tiles
    ops.Extract: WRAPS,
    ops.Insert: WRAPS,
    ops.Reduce: Semantics(note=REDUCE, differs=SAME_FROM_POINTERS + REDUCE_VIEWS, may_differ=order_matters),
    ops.Scan: Semantics(note=SCAN, differs=SAME_FROM_POINTERS + SCAN_NAN, may_differ=order_matters),
    # memory
    ops.Offset: Semantics(
        "Overflow is undefined; addresses wrap around at 64 bits.", "Two f4 in a byte share an address."
    ),
    ops.Assume: Semantics(note="A broken promise is not noticed."),
    ops.LoadPtrTko: Semantics("A masked element without `paddingValue` is undefined; it is 0."),
    ops.Alloca: Semantics(note="The memory is zero at first and lives until the tile block ends."),
    ops.GdcLaunchDependentsTko: NOTHING_TO_WAIT_FOR,
    ops.GdcWaitTko: NOTHING_TO_WAIT_FOR,
    ops.MemoryFenceAliasTko: NOTHING_TO_WAIT_FOR,
    ops.AtomicRMWTko: Semantics(f"The result of a masked element is undefined; it is 0. {ORDER}", FLUSH),
    ops.AtomicCASTko: Semantics(ORDER),
    ops.AtomicRedViewTko: Semantics(ORDER, f"Elements outside the tensor are not touched. {FLUSH}"),
    # views
    ops.GetIndexSpaceShape: Semantics(
        note="The indices of a gather/scatter view are positions in the tensor: its index space is the tensor's shape."
    ),
    ops.LoadViewTko: Semantics(
        f"Elements outside the tensor without `padding_value` are undefined; they are 0. {IN_BOUNDS}",
        differs="An H200 pads tf32 with other bits where the program asks for negative zero, NaN or an infinity.",
        may_differ=pads_tf32,
    ),
    ops.StoreViewTko: Semantics(IN_BOUNDS, "Elements outside the tensor are not written."),
    # output
    ops.PrintTko: Semantics(note=PRINT),
}
