"""Assumptions and printing."""

from __future__ import annotations

from ..attrs import Predicate
from ..decl import (
    AnyTile,
    AnyType,
    AttrKind,
    TokenType,
    attr,
    op,
    operand,
    optional,
    out,
    same_type,
    variadic,
)
from ..ir import Op, Value
from ..version import V13_2
from .common import TOKEN_IN, TOKEN_OUT

GROUP = "Miscellaneous"


@op("assume", 0x06, group=GROUP, rules=[same_type("value", "result")], hint="assume",
    format="predicate($predicate) `,` $value attr-dict `:` type($value)",
    example="%0 = assume div_by<16>, %ptr : tile<ptr<f32>>")  # fmt: skip
class Assume(Op):
    """Promise the compiler something about a value; a broken promise is undefined behaviour."""

    value: Value = operand(AnyType, "The value.")
    predicate: Predicate = attr(AttrKind.PREDICATE, "What holds for it.")
    result: Value = out(AnyType, "The same value.")


@op("print_tko", 0x55, formerly="print", group=GROUP, segmented=True,
    format="$str (`,` $args^)? (`token` `` `=` `` $token^)? attr-dict (`:` type($args)^)? `->` type($result_token)",
    example='%0 = print_tko "n = %d", %n : tile<i32> -> token')  # fmt: skip
class PrintTko(Op):
    """Print a text with values in it, in an order that only tokens define. Until 13.1 it was `print`."""

    str_: str = attr(AttrKind.STR, "The text, with a C format such as `%d` for each value.")
    args: tuple[Value, ...] = variadic(AnyTile, "The values.")
    token: Value | None = optional(TokenType, TOKEN_IN, since=V13_2)
    result_token: Value = out(TokenType, TOKEN_OUT, since=V13_2)
