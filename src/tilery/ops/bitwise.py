"""Bitwise logic."""

from __future__ import annotations

from ..declare.constraints import IntTile
from ..declare.fields import operand, out
from ..declare.operation import Op, op
from ..declare.relations import COMMUTATIVE, ELEMENTWISE, PURE, same_type
from ..ir import Value
from .common import LHS, RHS

GROUP = "Bitwise"
TRAITS = (PURE, ELEMENTWISE, COMMUTATIVE)
BINARY = same_type("lhs", "rhs", "result")
FORMAT = "$lhs `,` $rhs attr-dict `:` type($result)"


@op("andi", 0x04, group=GROUP, traits=TRAITS, rules=[BINARY], format=FORMAT,
    example="%0 = andi %n, %n : tile<i32>")
class AndI(Op):
    """Bitwise and."""

    lhs: Value = operand(IntTile, LHS)
    rhs: Value = operand(IntTile, RHS)
    result: Value = out(IntTile, "The bits that are set in both.")


@op("ori", 0x52, group=GROUP, traits=TRAITS, rules=[BINARY], format=FORMAT,
    example="%0 = ori %n, %n : tile<i32>")
class OrI(Op):
    """Bitwise or."""

    lhs: Value = operand(IntTile, LHS)
    rhs: Value = operand(IntTile, RHS)
    result: Value = out(IntTile, "The bits that are set in at least one.")


@op("xori", 0x6C, group=GROUP, traits=TRAITS, rules=[BINARY], format=FORMAT,
    example="%0 = xori %n, %n : tile<i32>")
class XOrI(Op):
    """Bitwise exclusive or."""

    lhs: Value = operand(IntTile, LHS)
    rhs: Value = operand(IntTile, RHS)
    result: Value = out(IntTile, "The bits that are set in exactly one.")
