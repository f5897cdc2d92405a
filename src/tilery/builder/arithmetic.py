"""Operators on values: the operation that an operator is for each element type, and broadcasting as in NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..diag import TileError
from ..ir import Value
from ..types import I1, Ptr, Scalar, Tile
from .constants import is_number

if TYPE_CHECKING:
    from .builder import Builder

FLOAT_OPS = {"+": "addf", "-": "subf", "*": "mulf", "/": "divf", "%": "remf", "**": "fpowf"}
INT_OPS = {"+": "addi", "-": "subi", "*": "muli", "&": "andi", "|": "ori", "^": "xori", "<<": "shli"}
SIGNED_OPS = {"//": "divi", "%": "remi", ">>": "shri"}
COMPARISONS = {
    "<": "less_than",
    "<=": "less_than_or_equal",
    ">": "greater_than",
    ">=": "greater_than_or_equal",
    "==": "equal",
    "!=": "not_equal",
}


class Condition(Value):
    """The result of a comparison while a kernel is built. Python cannot branch on it: it has no value yet."""

    __slots__ = ()

    def __bool__(self) -> bool:
        why = ("use if_(...) to branch, select(...) to choose, & and | for 'and' and 'or'",)
        raise TileError("a comparison of values is known only when the kernel runs", notes=why)


def tile_of(value: Value, what: str) -> Tile:
    """Return the type of a value that must be a tile."""
    if not isinstance(value.type, Tile):
        raise TileError(f"{what} needs tiles, got {value.type}")
    return value.type


def number_type(value: Value, what: str) -> Scalar:
    """Return the element type of a value that must be a tile of numbers."""
    element = tile_of(value, what).element
    if not isinstance(element, Scalar):
        raise TileError(f"{what} needs numbers, got {value.type}")
    return element


def binary(b: Builder, symbol: str, lhs: Any, rhs: Any) -> Value:
    """Build `lhs symbol rhs`; one of them is a value."""
    lhs, rhs = match(b, f"'{symbol}'", lhs, rhs)
    pointers = [isinstance(tile_of(v, symbol).element, Ptr) for v in (lhs, rhs)]
    if symbol == "+" and pointers == [True, False]:
        return b.value("offset", lhs, rhs)
    if symbol == "+" and pointers == [False, True]:
        return b.value("offset", rhs, lhs)
    element = number_type(lhs, f"'{symbol}'")
    if lhs.type is not rhs.type:
        why = "convert one of them with cast(...)"
        raise TileError(f"'{symbol}' needs the same type on both sides, got {lhs.type} and {rhs.type}", notes=(why,))
    if symbol in COMPARISONS:
        return compare(b, symbol, lhs, rhs)
    if element.is_float and symbol in FLOAT_OPS:
        return b.value(FLOAT_OPS[symbol], lhs, rhs)
    if element.is_int and symbol in INT_OPS:
        return b.value(INT_OPS[symbol], lhs, rhs)
    if element.is_int and symbol in SIGNED_OPS:
        return b.value(SIGNED_OPS[symbol], lhs, rhs, signedness="signed")
    why = {"/": "use // for integers", "//": "use / for floats"}.get(symbol, "")
    raise TileError(f"'{symbol}' is not defined for {lhs.type}", notes=(why,) if why else ())


def compare(b: Builder, symbol: str, lhs: Value, rhs: Value) -> Value:
    """Build a comparison: signed for integers, and as Python compares floats, where NaN differs from everything."""
    predicate = COMPARISONS[symbol]
    if number_type(lhs, symbol).is_float:
        ordering = "unordered" if symbol == "!=" else "ordered"
        made = b.value("cmpf", predicate, ordering, lhs, rhs)
    else:
        made = b.value("cmpi", predicate, lhs, rhs, "signed")
    return b.conditional(made)


def unary(b: Builder, symbol: str, value: Value) -> Value:
    """Build `-value`, `~value` or `abs(value)`."""
    element = number_type(value, f"'{symbol}'")
    if symbol == "~":
        if element.is_float:
            raise TileError(f"'~' is not defined for {value.type}")
        return b.value("xori", value, b.const(1 if element is I1 else -1, value.type))
    names = {"-": ("negf", "negi"), "abs": ("absf", "absi")}[symbol]
    return b.value(names[element.is_int], value)


def match(b: Builder, what: str, *given: Any) -> tuple[Value, ...]:
    """Turn numbers into constants of the type of the values, and broadcast all of them to one shape."""
    first = next((v for v in given if isinstance(v, Value)), None)
    if first is None:
        raise TileError(f"{what} needs at least one value; use const(number, type)")
    tile = tile_of(first, what)
    shape: tuple[int, ...] = ()
    for v in given:
        if isinstance(v, Value):
            shape = common_shape(what, shape, tile_of(v, what).shape)
    out = []
    for v in given:
        if isinstance(v, Value):
            out.append(expand(b, v, shape))
        elif is_number(v):
            element: Any = "i32" if isinstance(tile.element, Ptr) else tile.element
            out.append(b.full(shape, v, element))
        else:
            raise TileError(f"{what} needs values and numbers, got {v!r}")
    return tuple(out)


def common_shape(what: str, a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that two shapes broadcast to; dimensions are aligned at the last one."""
    rank = max(len(a), len(b))
    long_a, long_b = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    if any(x != y and 1 not in (x, y) for x, y in zip(long_a, long_b)):
        raise TileError(f"{what}: the shapes {list(a)} and {list(b)} do not broadcast")
    return tuple(max(x, y) for x, y in zip(long_a, long_b))


def expand(b: Builder, value: Value, shape: tuple[int, ...]) -> Value:
    """Reshape and broadcast a value to a shape."""
    tile = tile_of(value, "broadcast")
    if tile.shape == shape:
        return value
    common = common_shape("broadcast", tile.shape, shape)
    if common != shape:
        raise TileError(f"broadcast: {value.type} does not broadcast to the shape {list(shape)}")
    if tile.rank < len(shape):
        widened = Tile((1,) * (len(shape) - tile.rank) + tile.shape, tile.element)
        value = b.value("reshape", value, result=widened)
    return value if tile_of(value, "").shape == shape else b.value("broadcast", value, result=Tile(shape, tile.element))


def cast(b: Builder, value: Value, element: Scalar, signed: bool) -> Value:
    """Convert the elements of a tile; a value that already has the type is returned as it is."""
    tile = tile_of(value, "cast")
    source = number_type(value, "cast")
    if source is element:
        return value
    to = Tile(tile.shape, element)
    sign = "signed" if signed else "unsigned"
    if source.is_float:
        return b.value("ftof", value, to=to) if element.is_float else b.value("ftoi", value, sign, to=to)
    if element.is_float:
        return b.value("itof", value, sign, to=to)
    return b.value("trunci", value, to=to) if element.bits < source.bits else b.value("exti", value, sign, to=to)
