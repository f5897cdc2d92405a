"""Copy a launch with its arguments, wherever they are, so that another process can repeat it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..bytecode.writer import write
from ..engines import recorded
from ..engines.common.addresses import MemoryRange
from ..engines.common.arrays import is_array, locate
from ..engines.common.cutile_abi import ArrayExtent, value_of
from ..engines.common.launch import Launch
from ..engines.cuda.driver import open_driver
from ..ops import Entry, Module


def capture_launch(
    module: Module,
    entry: Entry,
    grid: tuple[int, int, int],
    args: Sequence[Any],
    *,
    convention: str | None = None,
    names: Sequence[str] = (),
    buffers: Any = (),
) -> recorded.Recorded:
    """Record a launch; arrays on a GPU are copied to the host first."""
    local = [_on_host(value) for value in args]
    bound = Launch(entry, grid, local, names, convention, buffers=buffers).bound
    values = [value_of(kind, slot.ljust(8, b"\0")) for kind, slot in zip(entry.function_type.params, bound.slots)]
    given = {each.address: each for each in buffers if isinstance(each, ArrayExtent)}
    memory = [given.get(each.address) or _extent(each) for each in bound.ranges]
    return recorded.capture(module, write(module, None), entry.sym_name, grid, values, memory)


def _extent(each: MemoryRange) -> ArrayExtent:
    return ArrayExtent(each.label, each.address, each.size, pointers=each.pointers)


def _on_host(value: Any) -> Any:
    """Return an array in host memory; tuples and lists are looked into."""
    if isinstance(value, (list, tuple)):
        return type(value)(_on_host(each) for each in value)
    if not is_array(value):
        return value
    array = locate(value)
    if array.device.is_host:
        return value
    size = array.high - array.low
    data = np.empty(size + 256, np.uint8)
    start = -data.ctypes.data % 256 + array.low % 256  # the same alignment as on the device
    start -= 256 if start >= 256 else 0
    open_driver().copy_out(data.ctypes.data + start, array.low, size)
    kept = data[start : start + size]
    strides = tuple(stride * array.item for stride in array.strides)
    return np.ndarray(array.shape, f"u{array.item}", kept.data, array.address - array.low, strides)
