"""Signs that a program shows: of constants, exponentials, squares, and what is made of them."""

from __future__ import annotations

from collections.abc import Mapping

from ... import ops
from ...ir import Op, Value

DEPTH = 24


def sign_of(v: Value, known: Mapping[Op | Value, int], depth: int = DEPTH) -> int:
    """Return the sign of all elements of a value: 1, -1, or 0 if it is not known. Zero counts as either sign.

    `known` has the signs of constants and of parameters.
    """
    o = v.owner
    if v in known:
        return known[v]
    if not isinstance(o, Op) or not depth:
        return 0
    match o:
        case ops.Constant():
            return known.get(o, 0)
        case ops.Broadcast() | ops.Reshape() | ops.Permute() | ops.FToF() | ops.Assume():
            return sign_of(o.operands[0], known, depth - 1)
        case ops.NegF():
            return -sign_of(o.source, known, depth - 1)
        case ops.Exp() | ops.Exp2() | ops.Rsqrt() | ops.Sqrt() | ops.AbsF():
            return 1
        case ops.MulF() if o.lhs is o.rhs:
            return 1
        case ops.MulF() | ops.DivF():
            return sign_of(o.lhs, known, depth - 1) * sign_of(o.rhs, known, depth - 1)
        case ops.AddF():
            left = sign_of(o.lhs, known, depth - 1)
            return left if left and left == sign_of(o.rhs, known, depth - 1) else 0
    return 0
