"""Descriptions and inference that several chapters share."""

from __future__ import annotations

from typing import Any

from ..declare.relations import Rule, holds
from ..types import I1, Tile, Type

LHS = "The left operand."
RHS = "The right operand."
FTZ = "Replace subnormal inputs and results by a zero of the same sign (f32 only)."
ROUNDING = "How the result is rounded."
SIGNED = "Whether the integers are signed or unsigned."
OVERFLOW = "What the program promises about overflow."
ORDERING = "How strongly the access is ordered."
SCOPE = "Among whom the access is ordered."
TOKEN_IN = "Orders the operation after what made this token."
TOKEN_OUT = "Orders later operations after this one."
HINTS_DOC = "Hints for the compiler."
MASK = "Which elements take part; all, when absent."


def mask_of(value: Any) -> Type:
    """The tile of i1 with the shape of a value."""
    return Tile(value.type.shape, I1)


def is_mask(value: str, mask: str) -> Rule:
    """One value is a tile of i1 with the shape of the other."""

    def test(o: Any) -> bool:
        return getattr(o, mask).type is mask_of(getattr(o, value))

    return holds("Result type has i1 element type and same shape as operands", test, value, mask)
