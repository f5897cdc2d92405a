"""Preconditions in text: comparisons of parameters, block ids and the grid, joined by `and`, `or` and `not`."""

from __future__ import annotations

import ast
from typing import Any

import z3  # type: ignore[import-untyped]  # it has no types

from ...diag import TileError
from .moves import width
from .side import KernelFormulas

COMPARE = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}


def parse_given(text: str, side: KernelFormulas) -> Any:
    """Return a condition such as `p2 > 0 and p2*p3 < 2**31` as a z3 expression.

    Parameters are p0, p1, ...; block ids bid0 to bid2; the grid is grid0 to grid2. Numbers are signed and do not wrap.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise TileError(f"given: '{text}' is not a condition") from None
    return _condition(tree, side, text)


def _condition(node: ast.expr, side: KernelFormulas, text: str) -> Any:
    match node:
        case ast.BoolOp(op=op, values=values):
            parts = [_condition(v, side, text) for v in values]
            return z3.And(*parts) if isinstance(op, ast.And) else z3.Or(*parts)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return z3.Not(_condition(operand, side, text))
        case ast.Compare(left=left, ops=signs, comparators=others):
            numbers = [_number(n, side, text) for n in (left, *others)]
            made = []
            for a, sign, b in zip(numbers, signs, numbers[1:]):
                if type(sign) not in COMPARE:
                    raise TileError(f"given: '{text}': expected a comparison")
                made.append(_compared(COMPARE[type(sign)], a, b))
            return z3.And(*made)
    raise TileError(f"given: '{text}': expected comparisons, and, or, not")


def _compared(sign: str, a: Any, b: Any) -> Any:
    match sign:
        case "<":
            return a < b
        case "<=":
            return a <= b
        case ">":
            return a > b
        case ">=":
            return a >= b
        case "==":
            return a == b
    return a != b


def _number(node: ast.expr, side: KernelFormulas, text: str) -> Any:
    z = side.z
    match node:
        case ast.Constant(value=int() as n):
            return z.literal(n)
        case ast.Name(id=name):
            return _named(name, side, text)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_number(operand, side, text)
        case ast.BinOp(left=ast.Constant(value=int() as a), op=ast.Pow(), right=ast.Constant(value=int() as b)):
            if not 0 <= b <= 64 or abs(a) > 16:
                raise TileError(f"given: '{text}': that power is too large")
            return z.literal(a**b)
        case ast.BinOp(left=left, op=op, right=right):
            a, b = _number(left, side, text), _number(right, side, text)
            match op:
                case ast.Add():
                    return a + b
                case ast.Sub():
                    return a - b
                case ast.Mult():
                    return a * b
                case ast.Mod():
                    return z3.SRem(a, b) if z3.is_bv(a) else a % b
    raise TileError(f"given: '{text}': expected integers, p0, bid0, grid0, + - * % and constant powers")


def _named(name: str, side: KernelFormulas, text: str) -> Any:
    for prefix, terms in (("bid", side.bid), ("grid", side.grid)):
        if name.startswith(prefix) and name[len(prefix) :] in ("0", "1", "2"):
            return side.z.number(terms[int(name[-1])], 32)
    number = name[1:]
    if name[:1] == "p" and number.isascii() and number.isdigit() and int(number) < len(side.params):
        v = side.entry.body.args[int(number)]
        return side.z.number(side.params[int(number)][0], width(v.type))
    raise TileError(f"given: '{text}': there is no '{name}', only p0 to p{len(side.params) - 1}, bid0, grid0, ...")
