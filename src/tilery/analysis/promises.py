"""Promises: which of them matter."""

from __future__ import annotations

from ..ir import Op, Value, walk
from ..ops import Assume, MakeTensorView
from ..types import DYNAMIC, TensorView


def harmless_promises(root: Op) -> set[Op]:
    """Find promises about strides of dimensions of size 1, which no address depends on. cuTile makes false ones."""
    found: set[Op] = set()
    others: set[Op] = set()
    for o in walk(root):
        single: set[Value] = set()
        if isinstance(o, MakeTensorView) and isinstance(o.result.type, TensorView):
            sizes, strides = o.result.type.shape, o.result.type.strides
            dynamic = [size for size, stride in zip(sizes, strides) if stride == DYNAMIC]
            single = {value for value, size in zip(o.dynamicStrides, dynamic) if size == 1}
            single -= {o.base, *o.dynamicShape, *(v for v, size in zip(o.dynamicStrides, dynamic) if size != 1)}
        for value in o.operands:
            if isinstance(value.owner, Assume):
                (found if value in single else others).add(value.owner)
    return found - others
