"""Signatures of cuTile kernels: what each Python parameter is, from cuTile's constraints or from text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..exec.convention import Array, List, Number, Parameter


def parameters_of(constraints: Sequence[Any], names: Sequence[str]) -> list[Parameter]:
    """The parameters that are passed, constants left out and tuples taken apart."""
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
    """Bits of one element in memory; a bool takes a byte."""
    return 8 if dtype.name == "bool_" else int(dtype.bitwidth)
