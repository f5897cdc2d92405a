"""The arithmetic of operations: what engines count in a launch, and the cost model in a text."""

from __future__ import annotations

from math import prod

from ..ir import Op, Value
from ..ops import Reduce, Scan
from ..ops.floating import GROUP as FLOATING_POINT
from ..types import Scalar, Tile


def flops(o: Op) -> int:
    """Count the arithmetic of one execution: two per product of a matrix product, one per element of a float result.

    The body of a reduction or a scan counts each time that it combines two elements.
    """
    if (size := product_size(o)) is not None:
        return 2 * prod(size)
    if isinstance(o, (Reduce, Scan)):
        shape = o.operands_[0].type.shape if isinstance(o.operands_[0].type, Tile) else ()
        return sum(map(flops, o.body.ops)) * (prod(shape) - prod(shape) // shape[o.dim])
    floats = [v.type for v in o.results if isinstance(v.type, Tile) and _is_float(v.type)]
    if o.opdef.group == FLOATING_POINT and floats:
        return prod(floats[0].shape) * (2 if hasattr(o, "acc") else 1)
    return 0


def product_size(o: Op) -> tuple[int, int, int, int] | None:
    """Return batch, M, N and K of a matrix product, or None for any other operation.

    Matrix products are the operations with an accumulator that are not element-wise: their operands need only have the
    same rank.
    """
    lhs, rhs, acc = (getattr(o, name, None) for name in ("lhs", "rhs", "acc"))
    ranks = any(rule.what == "rank" and "acc" in rule.names for rule in o.opdef.rules)
    if not ranks or not all(isinstance(v, Value) and isinstance(v.type, Tile) for v in (lhs, rhs, acc)):
        return None
    assert (
        isinstance(lhs, Value) and isinstance(rhs, Value) and isinstance(lhs.type, Tile) and isinstance(rhs.type, Tile)
    )
    *batch, m, k = lhs.type.shape
    return prod(batch), m, rhs.type.shape[-1], k


def _is_float(t: Tile) -> bool:
    return isinstance(t.element, Scalar) and t.element.is_float
