"""Signatures of cuTile kernels: the kind of each Python parameter, from cuTile's constraints or from text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..engines.common.cutile_abi import Array, List, Number, Parameter
from ..engines.common.dlpack import BOOL, FLOAT, INT, NARROW, UINT
from ..programs.arrays import HostArray
from ..programs.signatures import parse
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


def parse_signature(text: str) -> tuple[Any, ...]:
    """Parse launch arguments: `f32[64, 128]` is an array, with its strides in `(1, 64)` after it.

    The arrays are placeholders without memory: cuTile reads no elements to compile a kernel.

    >>> parse_signature("16, (1.5, True)")
    (16, (1.5, True))
    """
    return parse(text, ELEMENTS, lambda element, shape, strides: HostArray(1 << 20, *ELEMENTS[element], shape, strides))
