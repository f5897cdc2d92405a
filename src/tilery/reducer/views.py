"""Simpler views: constant sizes and strides in the place of values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..diag import TileError
from ..ir import Value, walk
from ..ops import Constant, MakeTensorView
from ..types import DYNAMIC, GatherScatterView, PartitionView, StridedView, TensorView, Type
from .case import Case
from .types import retyped


def static_views(case: Case) -> Iterator[Case | None]:
    """Yield copies in which the sizes and strides of a tensor are constants: first as they are, then ones."""
    found = [(n, o) for n, o in enumerate(walk(case.module)) if isinstance(o, MakeTensorView) and len(o.operands) > 1]
    for number, o in found:
        for known in (True, False):
            shape = [_number(case, v) if known else 1 for v in o.dynamicShape]
            strides = [_number(case, v) if known else 1 for v in o.dynamicStrides]
            yield _static(case, number, shape, strides)


def _number(case: Case, value: Value) -> int:
    """Return the number that a value has, if it is a constant or passed by the launch; else one."""
    if isinstance(value.owner, Constant):
        bits = value.owner.value.stored()[0]
        return bits if 0 < bits < 1 << 31 else 1
    launch = case.launch
    for entry in case.module.entries:
        if launch is not None and launch.entry == entry.sym_name and value in entry.body.args:
            passed = launch.args[entry.body.args.index(value)]
            return passed if isinstance(passed, int) and passed > 0 else 1
    return 1


def _static(case: Case, number: int, shape: list[int], strides: list[int]) -> Case | None:
    case = case.copy()
    target: Any = next(o for n, o in enumerate(walk(case.module)) if n == number)
    old: TensorView = target.result.type
    try:
        new = TensorView(old.element, _filled(old.shape, shape), _filled(old.strides, strides), old.ptr_attr)
    except TileError:
        return None
    for o in walk(case.module):
        if isinstance(o, MakeTensorView) and o.result.type is old:
            o.dynamicShape = o.dynamicStrides = ()
    return retyped(case, None, lambda t: _with_tensor(t, old, new))


def _filled(dims: tuple[int, ...], numbers: list[int]) -> tuple[int, ...]:
    source = iter(numbers)
    return tuple(next(source) if d == DYNAMIC else d for d in dims)


def _with_tensor(t: Type, old: TensorView, new: TensorView) -> Type:
    match t:
        case TensorView():
            return new if t is old else t
        case PartitionView() if t.tensor_view is old:
            return PartitionView(t.tile_shape, new, t.dim_map, t.padding_value)
        case StridedView() if t.tensor_view is old:
            return StridedView(t.tile_shape, t.traversal_strides, new, t.dim_map, t.padding_value)
        case GatherScatterView() if t.tensor_view is old:
            return GatherScatterView(t.tile_shape, new, t.sparse_dim, t.padding_value)
    return t
