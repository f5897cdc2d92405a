"""Sizes in text: integers, names of sizes, + - * // %, cdiv, min and max."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from ..diag import TileError

FUNCTIONS: dict[str, Callable[..., int]] = {"cdiv": lambda a, b: -(-a // b), "min": min, "max": max}
LONGEST = 1000
LARGEST = 1 << 63


def evaluate(text: str, sizes: Mapping[str, int]) -> int:
    """Compute an expression of sizes.

    >>> evaluate("cdiv(m, 32) * 2", {"m": 70})
    6
    """
    if len(text) > LONGEST:
        raise TileError(f"an expression is longer than {LONGEST} characters")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise TileError(f"'{text}' is not an expression of sizes") from None
    try:
        found = _value(tree, sizes, text)
    except (ZeroDivisionError, TypeError, RecursionError):
        raise TileError(f"'{text}' has no value") from None
    return found


def _value(node: ast.expr, sizes: Mapping[str, int], text: str) -> int:
    match node:
        case ast.Constant(value=int() as number) if not isinstance(number, bool):
            return _limited(number, text)
        case ast.Name(id=name):
            if name not in sizes:
                known = ", ".join(sizes) or "none"
                raise TileError(f"'{text}': there is no size '{name}', only {known}")
            return sizes[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, sizes, text)
        case ast.BinOp(left=left, op=op, right=right):
            return _limited(_binary(op, _value(left, sizes, text), _value(right, sizes, text), text), text)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
            return FUNCTIONS[name](*(_value(a, sizes, text) for a in args))
    raise TileError(f"'{text}': expected integers, sizes, + - * // % and {', '.join(FUNCTIONS)}")


def _binary(op: ast.operator, a: int, b: int, text: str) -> int:
    match op:
        case ast.Add():
            return a + b
        case ast.Sub():
            return a - b
        case ast.Mult():
            return a * b
        case ast.FloorDiv():
            return a // b
        case ast.Mod():
            return a % b
    raise TileError(f"'{text}': expected + - * // or %")


def _limited(number: int, text: str) -> int:
    if abs(number) >= LARGEST:
        raise TileError(f"'{text}' does not fit in 64 bits")
    return number


def items(text: str) -> list[str]:
    """Split at commas outside parentheses and brackets.

    >>> items("cdiv(m, 32), n")
    ['cdiv(m, 32)', 'n']
    """
    parts, depth = [""], 0
    for c in text:
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [p.strip() for p in parts] if text.strip() else []
