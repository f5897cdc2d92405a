"""A copy of a module in which every float is 64 bits wide, so that memory and tiles can hold codes instead."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ... import ops
from ...attrs import Dense, FloatAttr
from ...engines.common.numerics.convert import to_f64
from ...engines.common.tiles import CARRIERS, Array, dense_array
from ...ir import Op, Refused, clone, walk
from ...ops import Module
from ...types import (
    F64,
    Function,
    GatherScatterView,
    PartitionView,
    Ptr,
    Scalar,
    StridedView,
    TensorView,
    Tile,
    Type,
)

REFUSED = (ops.Bitcast, ops.Pack, ops.Unpack, ops.MmaFScaled, ops.RemF)
"""Operations that are refused where they touch floats: they depend on the bits of one."""
ADDRESSES = (ops.PtrToInt, ops.IntToPtr, ops.PtrToPtr)
"""Operations that may depend on the size of a float."""


@dataclass(slots=True)
class Retyped:
    """A module with f64 for every float, and what it had before: by operation of the copy."""

    module: Module
    constants: dict[Op, tuple[Array, Scalar]] = field(default_factory=dict)
    """The values of float constants, and their types."""
    identities: dict[Op, list[float | int]] = field(default_factory=dict)
    elements: dict[Op, Scalar] = field(default_factory=dict)
    """The float type of an operation's result."""
    globals: dict[str, tuple[Array, Scalar]] = field(default_factory=dict)
    signs: dict[Op, int] = field(default_factory=dict)
    """The sign of constants whose elements all have the same one."""


def retyped(t: Any) -> Any:
    """Return a type with f64 for its floats."""
    match t:
        case Scalar() if t.is_float:
            return F64
        case Tile():
            return Tile(t.shape, retyped(t.element))
        case Ptr():
            return Ptr(retyped(t.pointee), t.ptr_attr)
        case TensorView():
            return TensorView(retyped(t.element), t.shape, t.strides, t.ptr_attr)
        case PartitionView():
            return PartitionView(t.tile_shape, retyped(t.tensor_view), t.dim_map, t.padding_value)
        case StridedView():
            return StridedView(t.tile_shape, t.traversal_strides, retyped(t.tensor_view), t.dim_map, t.padding_value)
        case GatherScatterView():
            return GatherScatterView(t.tile_shape, retyped(t.tensor_view), t.sparse_dim, t.padding_value)
        case Function():
            return Function([retyped(x) for x in t.params], [retyped(x) for x in t.results])
    return t


def is_float(t: Type) -> bool:
    """Tell whether a value is a tile of floats."""
    return isinstance(t, Tile) and isinstance(t.element, Scalar) and t.element.is_float


def retype(module: Module) -> Retyped:
    """Return the copy. Raise `Refused` for operations on the bits of floats."""
    made = Retyped(clone(module))
    for o in walk(made.module):
        _check(o)
        match o:
            case ops.Global() if o.value.element.is_float:
                made.globals[o.sym_name] = _values(o.value)
                o.value = Dense.of(Tile(o.value.type.shape, F64), [0.0])
            case ops.Constant() if is_float(o.result.type):
                made.constants[o] = kept = _values(o.value)
                made.signs[o] = 1 if (kept[0] > 0).all() else -1 if (kept[0] < 0).all() else 0
                o.value = Dense.of(Tile(o.value.type.shape, F64), [0.0])
            case ops.Reduce() | ops.Scan():
                made.identities[o] = [_number(a) for a in o.identities]
            case ops.Entry():
                o.function_type = retyped(o.function_type)
        _retype_values(o, made)
    return made


def _check(o: Op) -> None:
    touches = any(is_float(v.type) for v in (*o.operands, *o.results))
    if isinstance(o, REFUSED) and touches:
        raise Refused(o, f"{o.name}: depends on the bits of a float, which only a run in its own type has")
    if isinstance(o, ADDRESSES) and any(_points_to_floats(v.type) for v in (*o.operands, *o.results)):
        raise Refused(o, f"{o.name}: may depend on the size of a float")


def _points_to_floats(t: Type) -> bool:
    return isinstance(t, Tile) and isinstance(t.element, Ptr) and t.element.pointee.is_float


def _retype_values(o: Op, made: Retyped) -> None:
    for v in o.results:
        if is_float(v.type):
            assert isinstance(v.type, Tile) and isinstance(v.type.element, Scalar)
            made.elements[o] = v.type.element
        v.type = retyped(v.type)
    for block in o.blocks:
        for v in block.args:
            v.type = retyped(v.type)


def _values(value: Dense) -> tuple[Array, Scalar]:
    return to_f64(np.array(dense_array(value)), value.element), value.element


def _number(a: Any) -> float | int:
    if not isinstance(a, FloatAttr):
        return int(a.value)
    dtype = CARRIERS[a.type.name]
    bits = a.bits << (a.type.row.memory_bits - a.type.bits)
    return float(to_f64(np.array([bits], np.uint64).astype(f"u{dtype.itemsize}").view(dtype), a.type)[0])
