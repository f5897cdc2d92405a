"""Assumptions and printing."""

from __future__ import annotations

from ..attrs import Bounded, DivBy, Predicate, SameElements
from ..declare.constraints import AnyTile, AnyType, TokenType
from ..declare.fields import AttrKind, attr, operand, optional, out, variadic
from ..declare.operation import Op, op
from ..declare.relations import Objection, same_type
from ..ir import Value
from ..types import Ptr, Scalar, TensorView, Tile, Type
from ..version import V13_2
from .checks import Answer
from .common import TOKEN_IN, TOKEN_OUT

GROUP = "Miscellaneous"
CONVERSION = r"(?s)%[^diuoxXeEfFgGaAcsSpn%]*[diuoxXeEfFgGaAcsSpn%]"
MAX_DIVISOR = 1 << 62


def _divisible(predicate: DivBy, t: Type) -> Answer:
    name, divisor = "'cuda_tile.div_by'", predicate.divisor
    if divisor <= 0 or divisor & (divisor - 1):
        return f"{name} divisor must be a power of 2"
    if (predicate.every is None) != (predicate.along is None):
        return f"{name} 'every'/'along' must be used in combination"
    if divisor > MAX_DIVISOR:
        return f"{name} divisor is too large"
    cannot = f"{name} 'every'/'along' cannot be used if the constrained value is a"
    if isinstance(t, TensorView):
        return None if predicate.every is None else f"{cannot} tensor_view"
    only = f"{name} is valid only for tile of integer/pointer or tensor_view values"
    if not isinstance(t, Tile):
        return only
    if t.rank == 0 and predicate.every is not None:
        return f"{cannot} 0D tile"
    if not _integer_or_pointer(t):
        return only
    if predicate.every is None or predicate.along is None:
        return None
    if not 0 <= predicate.along < t.rank:
        return f"{name} every_dim ({predicate.along}) must be >= 0 and < tile rank ({t.rank})"
    size = t.shape[predicate.along]
    if not 0 <= predicate.every <= size:
        return f"expected {name} every_dim to be within 0 and the size of the respective dimension ({size})"
    return None


def _same_elements(predicate: SameElements, t: Type) -> Answer:
    name, values = "'cuda_tile.same_elements'", predicate.values
    if not isinstance(t, Tile) or not _integer_or_pointer(t):
        return f"{name} is valid only for tile of integer/pointer values"
    if len(values) != t.rank:
        return f"expected number of values in {name} ({len(values)}) to match rank of constrained tile ({t.rank})"
    for index, (value, size) in enumerate(zip(values, t.shape)):
        if not 0 <= value <= size:
            where = f"within 0 and the size of the respective dimension ({size})"
            return f"expected {name} value {index} to be {where}"
    return None


def _bounded(predicate: Bounded, t: Type) -> Answer:
    name = "'cuda_tile.bounded'"
    if not isinstance(t, Tile) or not isinstance(t.element, Scalar) or not t.element.is_int:
        return f"{name} is valid only for tile of integer values"
    high = (1 << (t.element.bits - 1)) - 1
    low = -high - 1
    for what, value in (("lower", predicate.lb), ("upper", predicate.ub)):
        if value is not None and not low <= value <= high:
            return f"{name} expects {what} bound to be within [{low}, {high}]"
    if predicate.lb is not None and predicate.ub is not None and predicate.lb > predicate.ub:
        return f"{name} expects lower bound to be less than or equal to upper bound"
    return None


def _integer_or_pointer(t: Tile) -> bool:
    return isinstance(t.element, Ptr) or t.element.is_int


@op("assume", 0x06, group=GROUP, rules=[same_type("value", "result")], hint="assume",
    format="predicate($predicate) `,` $value attr-dict `:` type($value)",
    example="%0 = assume div_by<16>, %ptr : tile<ptr<f32>>")
class Assume(Op):
    """Promise that a predicate holds for a value. Breaking the promise is undefined behaviour."""

    value: Value = operand(AnyType, "The value.")
    predicate: Predicate = attr(AttrKind.PREDICATE, "The predicate.")
    result: Value = out(AnyType, "The same value.")

    def check(self) -> Answer:
        match self.predicate:
            case DivBy():
                return _divisible(self.predicate, self.result.type)
            case SameElements():
                return _same_elements(self.predicate, self.result.type)
            case _:
                return _bounded(self.predicate, self.result.type)


@op("print_tko", 0x55, formerly="print", renamed=V13_2, group=GROUP, segmented=True,
    format="$str (`,` $args^)? (`token` `` `=` `` $token^)? attr-dict (`:` type($args)^)? `->` type($result_token)",
    example='%0 = print_tko "n = %d", %n : tile<i32> -> token')
class PrintTko(Op):
    """Print formatted text. Only tokens order the output. Until 13.1 it was called `print`."""

    str_: str = attr(AttrKind.STR, "The text, with a C format such as `%d` for each value.")
    args: tuple[Value, ...] = variadic(AnyTile, "The values.")
    token: Value | None = optional(TokenType, TOKEN_IN, since=V13_2)
    result_token: Value = out(TokenType, TOKEN_OUT, since=V13_2)

    def check(self) -> Answer:
        """The text must have a conversion for each value: `%`, anything, and a letter of C's printf."""
        import re

        conversion = re.compile(CONVERSION)
        wanted, position = 0, 0
        while (position := self.str_.find("%", position)) >= 0:
            found = conversion.match(self.str_, position)
            if found is None:
                return Objection("found unterminated format expression", "str")
            wanted += found[0] != "%%"
            # Scan the characters of a conversion again, as NVIDIA's verifier does; skip only %%.
            position += 2 if found[0] == "%%" else 1
        if wanted != len(self.args):
            return Objection(f"incorrect number of operands: expected {wanted}, found {len(self.args)}", "args")
        return None
