"""Rules of matrix products."""

from __future__ import annotations

from collections.abc import Iterable

from ..checking import TYPE_CHECKING
from ..declare.relations import Table
from ..types import BF16, F16, F32, F64, SCALARS, TF32, quoted, quoted_list
from .checks import Answer, commas, tile_element, tile_rank, tile_shape

if TYPE_CHECKING:
    from typing import Any

F8E4M3FN, F8E5M2, F8E8M0FNU, F4E2M1FN, FNV8E5M3FNU = (
    SCALARS[name] for name in ("f8E4M3FN", "f8E5M2", "f8E8M0FNU", "f4E2M1FN", "fnv8E5M3FNU")
)
# The accumulators that each input element can have.
MMA_PAIRS = {
    F8E4M3FN: (F16, F32),
    F8E5M2: (F16, F32),
    F16: (F16, F32),
    BF16: (F32,),
    TF32: (F32,),
    F32: (F32,),
    F64: (F64,),
}
# The inputs that each scale can have, and how many elements can share a scale.
SCALED = {F8E4M3FN: (F4E2M1FN,), F8E8M0FNU: (F8E4M3FN, F8E5M2, F4E2M1FN), FNV8E5M3FNU: (F4E2M1FN,)}
F4_BLOCKS = {F8E4M3FN: (16,), F8E8M0FNU: (16, 32), FNV8E5M3FNU: (16, 32)}
F8_BLOCKS = (32,)


def _shapes(*scales: str) -> Table:
    """The shapes of products, with or without a batch. S counts the scales of a row."""
    columns = ("lhs", "rhs", "acc, result", *(("lhs_scale", "rhs_scale") if scales else ()))
    matrix = ("M x K", "K x N", "M x N", *scales)
    return Table("shapes", columns, (matrix, tuple(f"B x {shape}" for shape in matrix)))


def _either(names: Iterable[object]) -> str:
    return " or ".join(map(str, names))


SHAPES, SCALED_SHAPES = _shapes(), _shapes("M x S", "S x N")
ELEMENTS = Table(
    "element types", ("lhs, rhs", "acc, result"), tuple((str(e), _either(accs)) for e, accs in MMA_PAIRS.items())
)
SCALED_ELEMENTS = Table(
    "element types",
    ("lhs_scale, rhs_scale", "lhs, rhs", "K / S"),
    tuple(
        (str(scale), str(e), _either(F4_BLOCKS[scale] if e is F4E2M1FN else F8_BLOCKS))
        for scale, inputs in SCALED.items()
        for e in inputs
    ),
)


def mma_shapes(o: Any) -> Answer:
    """Check that the shapes of the matrices fit together."""
    rank = tile_rank(o.lhs)
    if rank not in (2, 3):
        return "operands must be 2D or 3D tiles"
    batch = rank - 2
    if batch:
        problem = same_dim(o, "lhs", 0, "rhs", 0) or same_dim(o, "lhs", 0, "acc", 0)
        if problem is not None:
            return problem
    row, column = batch, batch + 1
    # NVIDIA's messages about these do start with a second space.
    for a, i, b, j in (("lhs", column, "rhs", row), ("lhs", row, "acc", row), ("rhs", column, "acc", column)):
        if (why := same_dim(o, a, i, b, j)) is not None:
            return " " + why
    return None


def same_dim(o: Any, a: str, i: int, b: str, j: int) -> str | None:
    """Check that dimension i of one operand equals dimension j of another."""
    x, y = getattr(o, a).type.shape, getattr(o, b).type.shape
    if x[i] == y[j]:
        return None
    return (
        f"shape error: dim {i} of {a} ({x[i]}) and dim {j} of {b} ({y[j]}) must match, "
        f"but got {a} shape ({commas(x)}) and {b} shape ({commas(y)})"
    )


def mma_elements(o: Any) -> Answer:
    """Check that the element types of inputs and accumulator fit together."""
    element, acc = tile_element(o.lhs), tile_element(o.acc)
    allowed = MMA_PAIRS[element]
    if acc in allowed:
        return None
    return (
        f"unsupported combination of element types. Input type {quoted(element)} expects accumulator/result type "
        f"to be one of {{{quoted_list(allowed)}}}, but got {quoted(acc)}"
    )


def scale_shapes(o: Any) -> Answer:
    """Check that the scales have the shape of the matrices outside K."""
    batch = int(tile_rank(o.lhs) == 3)
    row, column = batch, batch + 1
    pairs = [("lhs", row, "lhs_scale", row), ("rhs", column, "rhs_scale", column)]
    if batch:
        pairs[:0] = [("lhs", 0, "lhs_scale", 0), ("rhs", 0, "rhs_scale", 0)]
    pairs.append(("lhs_scale", column, "rhs_scale", row))
    return next(filter(None, (same_dim(o, *pair) for pair in pairs)), None)


def scale_elements(o: Any) -> Answer:
    """Check that the element types of inputs and scales fit together."""
    element, scale = tile_element(o.lhs), tile_element(o.lhs_scale)
    allowed = SCALED[scale]
    if element in allowed:
        return None
    wanted = quoted(allowed[0]) if len(allowed) == 1 else f"one of {{{quoted_list(allowed)}}}"
    return (
        f"unsupported combination of element types. Scale type {quoted(scale)} expects lhs and rhs element types "
        f"to be {wanted}, but got {quoted(element)}"
    )


def scale_blocks(o: Any) -> Answer:
    """Check the number of elements that share a scale."""
    shape, scales = tile_shape(o.lhs), tile_shape(o.lhs_scale)
    element, scale = tile_element(o.lhs), tile_element(o.lhs_scale)
    if shape[-1] % scales[-1]:
        column = len(shape) - 1
        return (
            f"shape error: dim {column} of lhs_scale ({scales[-1]}) must be a divisor of dim {column} of lhs "
            f"({shape[-1]}), but got lhs_scale shape ({commas(scales)}) and lhs shape ({commas(shape)})"
        )
    found = shape[-1] // scales[-1]
    allowed = F4_BLOCKS[scale] if element is F4E2M1FN else F8_BLOCKS
    if found in allowed:
        return None
    what = f"f4E2M1FN element type with {scale} scales" if element is F4E2M1FN else "f8 element type"
    wanted = " or ".join(map(str, allowed))
    return (
        f"shape error: {what} requires block scale factor of lhs_scale and rhs_scale to be {wanted}, but got {found}"
    )
