"""Integer expressions over the sizes of a case, such as `cdiv(N, 64)`: for shapes, grids and scalars in files."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from ..diag import TileError, did_you_mean

LARGEST = 1 << 62
"""The largest absolute value of a result; larger ones are refused."""
LONGEST = 500
"""The longest expression, in characters."""


def _cdiv(a: int, b: int) -> int:
    return -(-a // b)


def _next_power(a: int) -> int:
    return 1 << max(0, a - 1).bit_length() if abs(a) < LARGEST else a


FUNCTIONS: dict[str, Callable[..., int]] = {"cdiv": _cdiv, "min": min, "max": max, "next_power_of_2": _next_power}
OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
}


def evaluate(text: int | str, names: Mapping[str, int]) -> int:
    """Return the value of an expression: integers, names, `+ - * // %`, and a few functions.

    >>> evaluate("cdiv(N, 64) * 2", {"N": 100})
    4
    """
    if isinstance(text, int):
        return int(text)
    if not isinstance(text, str) or len(text) > LONGEST:
        raise TileError(f"expected an integer or a short expression, got {text!r:.60}")
    try:
        tree = ast.parse(text.strip(), mode="eval")
        value = _value(tree.body, names, text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise TileError("this is not an expression", source=text) from None
    except ZeroDivisionError:
        raise TileError("division by zero", source=text) from None
    return value


def _value(node: ast.expr, names: Mapping[str, int], text: str) -> int:
    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            found = value
        case ast.Name(id=name) if name in names:
            found = names[name]
        case ast.Name(id=name):
            raise _wrong(
                f"unknown size '{name}', expected one of {', '.join(names)}{did_you_mean(name, names)}", node, text
            )
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            found = -_value(inner, names, text)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            found = OPERATORS[type(op)](_value(left, names, text), _value(right, names, text))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
            values = [_value(each, names, text) for each in args]
            try:
                found = FUNCTIONS[name](*values)
            except TypeError:
                raise _wrong(f"{name} does not take {len(values)} arguments", node, text) from None
        case _:
            raise _wrong("expected integers, names, + - * // % and functions", node, text)
    if abs(found) > LARGEST:
        raise _wrong("the value is too large", node, text)
    return found


def _wrong(message: str, node: ast.expr, text: str) -> TileError:
    return TileError(message, source=text.strip(), start=node.col_offset, end=node.end_col_offset or 0)
