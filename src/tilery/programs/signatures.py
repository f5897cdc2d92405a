"""Arguments of a launch as text, such as `f32[64, 128], 16`."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Collection
from typing import Any

from ..diag import TileError

EXAMPLE = "f32[64, 128], f16[64, 128](1, 64), [i32[8], i32[9]], 16, 1.5, True"

Make = Callable[[str, list[int], list[int]], Any]
"""Makes an array of an element type, a shape and strides."""


def parse(text: str, elements: Collection[str], make: Make) -> tuple[Any, ...]:
    """Parse launch arguments; `make` makes the arrays, of element types that are in `elements`."""
    try:
        tree = ast.parse(f"({text},)" if text.strip() else "()", mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise wrong("expected a list of arguments", text) from None
    assert isinstance(tree.body, ast.Tuple)
    reader = SignatureReader(text, elements, make)
    return tuple(reader.argument(node) for node in tree.body.elts)


class SignatureReader:
    """The state that the arguments of one text share."""

    def __init__(self, text: str, elements: Collection[str], make: Make) -> None:
        self.text, self.elements, self.make = text, elements, make

    def argument(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=bool() | int() | float() | str() | None as value):
                return value
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return -value
            case ast.Tuple(elts=items):
                return tuple(self.argument(item) for item in items)
            case ast.List(elts=items):
                return [self.argument(item) for item in items]
            case ast.Subscript(value=ast.Name() as element, slice=sizes):
                return self.array(element, self.numbers(sizes), None)
            case ast.Call(func=ast.Subscript(value=ast.Name() as element, slice=sizes), args=strides):
                return self.array(element, self.numbers(sizes), [self.number(each) for each in strides])
        raise wrong(f"'{ast.unparse(node)}' is not an argument", self.text, node)

    def numbers(self, node: ast.expr) -> list[int]:
        return [self.number(each) for each in (node.elts if isinstance(node, ast.Tuple) else [node])]

    def number(self, node: ast.expr) -> int:
        match node:
            case ast.Constant(value=int() as value) if value is not True and value is not False and value < 1 << 62:
                return value
        raise wrong(f"'{ast.unparse(node)}' is not a size", self.text, node)

    def array(self, element: ast.Name, shape: list[int], strides: list[int] | None) -> Any:
        if element.id not in self.elements:
            known = ", ".join(self.elements)
            raise wrong(f"unknown element type '{element.id}', expected one of {known}", self.text, element)
        if strides is None:
            strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
        if len(strides) != len(shape):
            why = f"an array of rank {len(shape)} needs {len(shape)} strides, got {len(strides)}"
            raise wrong(why, self.text, element)
        return self.make(element.id, shape, strides)


def wrong(message: str, text: str, node: ast.expr | None = None) -> TileError:
    start, end = (node.col_offset - 1, (node.end_col_offset or 0) - 1) if node else (0, len(text))
    return TileError(message, source=text, start=start, end=end, notes=(f"an example: {EXAMPLE}",))
