"""Signatures of cuTile kernels: the kind of each Python parameter, from cuTile's constraints or from text."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from typing import Any

from ..diag import TileError
from ..engines.common.cutile_abi import Array, List, Number, Parameter
from ..engines.common.dlpack import BOOL, FLOAT, INT, NARROW, UINT
from ..programs.arrays import HostArray
from ..types import SCALARS


def parameters_of(constraints: Sequence[Any], names: Sequence[str]) -> list[Parameter]:
    """List the parameters that are passed at launch: constants are left out, tuples are flattened."""
    found: list[Parameter] = []
    work = list(zip(constraints, names))[::-1]
    while work:
        constraint, name = work.pop()
        match type(constraint).__name__:
            case "ConstantConstraint":
                pass
            case "ScalarConstraint":
                found.append(Number(name))
            case "ArrayConstraint":
                found.append(Array(name, constraint.ndim, width(constraint.dtype)))
            case "ListConstraint":
                found.append(List(name, constraint.element.ndim, width(constraint.element.dtype)))
            case "TupleConstraint":
                work += [(item, f"{name}[{at}]") for at, item in enumerate(constraint.items)][::-1]
            case "DataclassConstraint":
                fields = list(constraint.cls.__dataclass_fields__)
                work += [(item, f"{name}.{key}") for key, item in zip(fields, constraint.fields)][::-1]
            case kind:
                raise NotImplementedError(f"a kernel parameter of cuTile's {kind}")
    return found


def width(dtype: Any) -> int:
    """Return the bits that one element takes in memory; a bool takes a byte."""
    return 8 if dtype.name == "bool_" else int(dtype.bitwidth)


# ---------------------------------------------------------------- from text

# Element types by their names in Tile IR and in cuTile: DLPack's code and the width.
_WIDTHS = (8, 16, 32, 64)
ELEMENTS: dict[str, tuple[int, int]] = {
    **{f"{name}{bits}": (INT, bits) for name in ("i", "int") for bits in _WIDTHS},
    **{f"{name}{bits}": (UINT, bits) for name in ("u", "uint") for bits in _WIDTHS},
    **{f"{name}{bits}": (FLOAT, bits) for name in ("f", "float") for bits in _WIDTHS[1:]},
    **dict.fromkeys(("i1", "bool"), (BOOL, 8)),
    **NARROW,
    **{s.name: NARROW[s.row.dtype] for s in SCALARS.values() if s.row.dtype in NARROW},
}
EXAMPLE = "f32[64, 128], f16[64, 128](1, 64), [i32[8], i32[9]], 16, 1.5, True"


def parse_signature(text: str) -> tuple[Any, ...]:
    """Parse launch arguments: `f32[64, 128]` is an array, with its strides in `(1, 64)` after it.

    The arrays are placeholders without memory.

    >>> parse_signature("16, (1.5, True)")
    (16, (1.5, True))
    """
    try:
        tree = ast.parse(f"({text},)" if text.strip() else "()", mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise wrong("expected a list of arguments", text) from None
    assert isinstance(tree.body, ast.Tuple)
    return tuple(argument(node, text) for node in tree.body.elts)


def argument(node: ast.expr, text: str) -> Any:
    match node:
        case ast.Constant(value=bool() | int() | float() | str() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.Tuple(elts=items):
            return tuple(argument(item, text) for item in items)
        case ast.List(elts=items):
            return [argument(item, text) for item in items]
        case ast.Subscript(value=ast.Name() as element, slice=sizes):
            return placeholder(element, numbers(sizes, text), None, text)
        case ast.Call(func=ast.Subscript(value=ast.Name() as element, slice=sizes), args=strides):
            return placeholder(element, numbers(sizes, text), [number(each, text) for each in strides], text)
    raise wrong(f"'{ast.unparse(node)}' is not an argument", text, node)


def numbers(node: ast.expr, text: str) -> list[int]:
    return [number(each, text) for each in (node.elts if isinstance(node, ast.Tuple) else [node])]


def number(node: ast.expr, text: str) -> int:
    match node:
        case ast.Constant(value=int() as value) if value is not True and value is not False and value < 1 << 62:
            return value
    raise wrong(f"'{ast.unparse(node)}' is not a size", text, node)


def placeholder(element: ast.Name, shape: list[int], strides: list[int] | None, text: str) -> HostArray:
    """Create an array without memory: cuTile reads no elements to compile a kernel."""
    if element.id not in ELEMENTS:
        raise wrong(f"unknown element type '{element.id}', expected one of {', '.join(ELEMENTS)}", text, element)
    if strides is None:
        strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    if len(strides) != len(shape):
        raise wrong(f"an array of rank {len(shape)} needs {len(shape)} strides, got {len(strides)}", text, element)
    return HostArray(1 << 20, *ELEMENTS[element.id], shape, strides)


def wrong(message: str, text: str, node: ast.expr | None = None) -> TileError:
    start, end = (node.col_offset - 1, (node.end_col_offset or 0) - 1) if node else (0, len(text))
    return TileError(message, source=text, start=start, end=end, notes=(f"an example: {EXAMPLE}",))
