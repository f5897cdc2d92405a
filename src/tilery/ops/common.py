"""Descriptions and rules that several chapters share."""

from __future__ import annotations

from ..checking import TYPE_CHECKING
from ..declare.relations import Relation, holds
from ..types import I1, Tile, Type

if TYPE_CHECKING:
    from typing import Any

LHS = "The left operand."
RHS = "The right operand."
FTZ = "Replace subnormal operands and results by a zero of the same sign (f32 only)."
ROUNDING = "The rounding mode."
SIGNED = "Whether the integers are signed or unsigned."
OVERFLOW = "What the program promises about overflow."
ORDERING = "The memory ordering of the access."
SCOPE = "The threads among which the access is ordered."
TOKEN_IN = "Orders this operation after the one that made the token."
TOKEN_OUT = "Orders later operations after this one."
HINTS_DOC = "Hints for the compiler."
MASK = "Which elements to access; all if absent."


def mask_of(value: Any) -> Type:
    """Return the type of a tile of i1 with the shape of a value."""
    return Tile(value.type.shape, I1)


def is_mask(value: str, mask: str) -> Relation:
    """Require that `mask` is a tile of i1 with the shape of `value`."""

    def test(o: Any) -> bool:
        return getattr(o, mask).type is mask_of(getattr(o, value))

    return holds("Result type has i1 element type and same shape as operands", test, value, mask)
