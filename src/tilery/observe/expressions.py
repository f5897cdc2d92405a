"""Expressions over tiles: NumPy's arithmetic, indexing and a few functions, evaluated without Python's `eval`.

Everything else is refused: attributes, calls of anything but the functions below, strings, comprehensions. Numbers are
NumPy's, and a result has at most `MOST` elements, so that no expression takes long.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..diag import TileError, did_you_mean

MOST = 1 << 24
"""Elements of a result, of all steps of an expression too."""
LONGEST = 1000
"""Characters of an expression."""
VALUE = re.compile(r"(?<![\w)\].])(\s*)%([A-Za-z_0-9][\w$]*(?:#\d+)?)")
"""`%name` where an operand is expected; elsewhere `%` is the remainder."""

BINARY: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_, ast.BitXor: operator.xor, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
    ast.MatMult: operator.matmul, ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt,
    ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
UNARY: dict[type[ast.AST], Callable[[Any], Any]] = {
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert, ast.Not: np.logical_not,
}  # fmt: skip
FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: getattr(np, name)
    for name in (
        "abs", "all", "allclose", "any", "argmax", "argmin", "argwhere", "ceil", "cos", "count_nonzero", "cumsum",
        "diff", "exp", "exp2", "floor", "isfinite", "isinf", "isnan", "log", "log2", "max", "maximum", "mean", "median",
        "min", "minimum", "ndim", "prod", "ravel", "round", "shape", "sign", "sin", "size", "sort", "sqrt", "std",
        "sum", "tanh", "transpose", "unique", "var", "where",
    )
} | {"float": np.float64, "int": np.int64, "bool": np.bool_, "len": len}  # fmt: skip
ELEMENTWISE = ("allclose", "maximum", "minimum", "where")
"""Functions of several arrays, which NumPy broadcasts."""
METHODS = ("all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "ravel", "std", "sum", "var")
ATTRIBUTES = ("T", "dtype", "ndim", "shape", "size")
CONSTANTS = {
    "nan": np.float64(np.nan),
    "inf": np.float64(np.inf),
    "pi": np.float64(np.pi),
    "True": True,
    "False": False,
}


def evaluate(text: str, values: Mapping[str, Any]) -> Any:
    """Evaluate an expression; `values` has what names mean, `%name` too.

    >>> evaluate("max(%acc[0] * 2) > limit % 4", {"%acc": np.arange(6).reshape(2, 3), "limit": np.int32(7)})
    np.True_
    """
    if len(text) > LONGEST:
        raise TileError(f"an expression has at most {LONGEST} characters")
    known: dict[str, str] = {}

    def replaced(match: re.Match[str]) -> str:
        word = f"value_{len(known)}_"
        known[word] = f"%{match[2]}"
        return f"{match[1]}{word}"

    try:
        tree = ast.parse(VALUE.sub(replaced, text).strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise TileError(f"'{text}' is not an expression") from None
    scope = _Scope(values, known)
    try:
        with np.errstate(all="ignore"):
            return _limited(scope.evaluate(tree.body))
    except TileError:
        raise
    except RecursionError:
        raise TileError(f"'{text}' nests too deeply") from None
    except Exception as error:  # NumPy has many, for wrong shapes, types and indices
        raise TileError(f"'{text}': {error}") from None


def _limited(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.size > MOST:
        raise TileError(f"a result has at most {MOST} elements, this has {value.size}")
    return value


def _fixed(value: Any) -> Any:
    """Return a number of NumPy for one of Python, whose integers grow without limit, and an array for a tuple."""
    return np.asarray(value)[()] if isinstance(value, (bool, int, tuple)) else value


def _check_broadcast(*values: Any) -> None:
    if np.prod(np.broadcast_shapes(*map(np.shape, values)), dtype=float) > MOST:
        raise TileError(f"a result has at most {MOST} elements")


def _apply(function: Callable[..., Any], *values: Any) -> Any:
    """Apply a function element by element."""
    fixed = [_fixed(value) for value in values]
    _check_broadcast(*fixed)
    return function(*fixed)


class _Scope:
    """Evaluates the nodes of an expression."""

    def __init__(self, values: Mapping[str, Any], known: dict[str, str]) -> None:
        self.values, self.known = values, known

    def evaluate(self, node: ast.AST) -> Any:
        match node:
            case ast.Constant(value=bool() | None):
                return node.value
            case ast.Constant(value=int() as number):
                return np.int64(number) if -(1 << 63) <= number < 1 << 63 else np.float64(number)
            case ast.Constant(value=float() as number):
                return np.float64(number)
            case ast.Name(id=name):
                return self.name(name)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return tuple(self.evaluate(part) for part in parts)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
                return self.binary(op, self.evaluate(left), self.evaluate(right))
            case ast.UnaryOp(op=op, operand=operand) if type(op) in UNARY:
                return _apply(UNARY[type(op)], self.evaluate(operand))
            case ast.BoolOp(op=op, values=parts):
                combine = np.logical_and if isinstance(op, ast.And) else np.logical_or
                found = self.evaluate(parts[0])
                for part in parts[1:]:
                    found = _apply(combine, found, self.evaluate(part))
                return found
            case ast.Compare(left=left, ops=ops, comparators=others):
                return self.compare(left, ops, others)
            case ast.IfExp(test=test, body=body, orelse=other):
                return self.evaluate(body if bool(np.all(self.evaluate(test))) else other)
            case ast.Subscript(value=value, slice=index):
                return _limited(self.evaluate(value)[self.index(index)])
            case ast.Attribute(value=value, attr=name) if name in ATTRIBUTES:
                return getattr(np.asarray(self.evaluate(value)), name)
            case ast.Call(func=func, args=args, keywords=keywords):
                return self.call(func, args, keywords)
        raise TileError(f"an expression cannot have {_described(node)}")

    def name(self, name: str) -> Any:
        spelled = self.known.get(name, name)
        if spelled in self.values:
            return self.values[spelled]
        if spelled in CONSTANTS:
            return CONSTANTS[spelled]
        raise TileError(f"there is no value '{spelled}' here{did_you_mean(spelled, list(self.values))}")

    def binary(self, op: ast.AST, left: Any, right: Any) -> Any:
        if not isinstance(op, ast.MatMult):
            return _apply(BINARY[type(op)], left, right)
        sizes = np.shape(left)[:-1] + np.shape(right)[:-2] + np.shape(right)[-1:]
        if np.prod(sizes, dtype=float) > MOST:
            raise TileError(f"a result has at most {MOST} elements")
        return left @ right

    def compare(self, left: ast.AST, ops: list[ast.cmpop], others: list[ast.expr]) -> Any:
        before, found = self.evaluate(left), None
        for op, node in zip(ops, others):
            if type(op) not in BINARY:
                raise TileError(f"an expression cannot have {_described(op)}")
            after = self.evaluate(node)
            one = self.binary(op, before, after)
            found, before = one if found is None else _apply(np.logical_and, found, one), after
        return found

    def index(self, node: ast.AST) -> Any:
        match node:
            case ast.Slice(lower=low, upper=high, step=step):
                return slice(*(None if part is None else int(self.evaluate(part)) for part in (low, high, step)))
            case ast.Tuple(elts=parts):
                return tuple(self.index(part) for part in parts)
            case ast.Constant(value=value) if value is None or value is Ellipsis:
                return value
        found = self.evaluate(node)
        return found if isinstance(found, np.ndarray) else int(found)

    def call(self, func: ast.AST, args: list[ast.expr], keywords: list[ast.keyword]) -> Any:
        options = {k.arg or "": self.option(k) for k in keywords}
        given = [self.evaluate(arg) for arg in args]
        called = func.id if isinstance(func, ast.Name) else func.attr if isinstance(func, ast.Attribute) else ""
        if called in ELEMENTWISE:
            _check_broadcast(*given)
        match func:
            case ast.Name(id=name) if name in FUNCTIONS:
                return _limited(FUNCTIONS[name](*given, **options))
            case ast.Attribute(value=ast.Name(id="np" | "numpy"), attr=name) if name in FUNCTIONS:
                return _limited(FUNCTIONS[name](*given, **options))
            case ast.Attribute(value=value, attr=name) if name in METHODS:
                return getattr(np, name)(self.evaluate(value), *given, **options)
            case ast.Name(id=name):
                raise TileError(f"there is no function '{name}'{did_you_mean(name, list(FUNCTIONS))}")
        raise TileError(f"an expression cannot call {_described(func)}")

    def option(self, keyword: ast.keyword) -> Any:
        if keyword.arg not in ("axis", "keepdims", "initial", "rtol", "atol", "equal_nan"):
            raise TileError(f"an expression cannot have the option '{keyword.arg}'")
        value = self.evaluate(keyword.value)
        return tuple(map(int, value)) if isinstance(value, tuple) else int(value) if keyword.arg == "axis" else value


def _described(node: ast.AST) -> str:
    words = {
        ast.Attribute: "an attribute",
        ast.Constant: "this constant",
        ast.Call: "this call",
        ast.Lambda: "a lambda",
    }
    return words.get(type(node), f"'{type(node).__name__}'")
