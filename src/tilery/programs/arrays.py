"""Host arrays as launch arguments: NumPy arrays and anything with DLPack, presented to cuTile as GPU arrays."""

from __future__ import annotations

import ctypes
import dataclasses
from collections.abc import Sequence
from ctypes import c_int64, c_void_p
from typing import Any

from ..diag import TileError
from ..engines.common.arrays import ArrayMemory, locate_argument
from ..engines.common.cutile_abi import layout
from ..engines.common.dlpack import BOOL, CPU, CUDA, FLOAT, INT, NARROW, UINT, DLTensor, Managed

_KINDS = {"int": INT, "uint": UINT, "float": FLOAT, "bool": BOOL}
"""DLPack's type code for each of NumPy's kinds."""


# DLPack's deleter, called when cuTile has read the tensor. There is nothing to free: the array owns the memory.
forget = ctypes.CFUNCTYPE(None, c_void_p)(lambda tensor: None)

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [c_void_p, ctypes.c_char_p, c_void_p]


class HostArray:
    """A host array whose DLPack capsule claims to be on a GPU, which is all that cuTile checks."""

    __slots__ = ("kept", "tensor")

    def __init__(
        self, address: int, code: int, bits: int, shape: Sequence[int], strides: Sequence[int], owner: object = None
    ) -> None:
        rank = len(shape)
        sizes = (c_int64 * (2 * rank))(*shape, *strides)
        shape_at = ctypes.cast(sizes, ctypes.POINTER(c_int64))
        strides_at = ctypes.cast(ctypes.addressof(sizes) + 8 * rank, ctypes.POINTER(c_int64))
        tensor = DLTensor(address, CUDA, 0, rank, code, bits, 1, shape_at, strides_at, 0)
        self.tensor = Managed(tensor, None, ctypes.cast(forget, c_void_p).value)
        self.kept = sizes, owner

    def __dlpack__(self, stream: object = None) -> Any:
        return _new_capsule(ctypes.addressof(self.tensor), b"dltensor", None)

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, 0


def host_array(array: Any, label: str = "argument", fixed: list[ArrayMemory] | None = None) -> HostArray:
    """Wrap an array for cuTile; the memory is shared. A read-only array is added to `fixed`.

    What a launch of a kernel refuses is refused here too: cuTile would not notice.
    """
    memory = locate_argument(label, array)
    try:
        layout(memory)
    except TileError as error:
        raise TileError(f"{label}: {error.message}") from None
    code, bits = NARROW.get(memory.dtype) or (_KINDS.get(memory.dtype.rstrip("0123456789"), -1), 8 * memory.item)
    if code < 0:
        raise TypeError(f"cuTile has no arrays of {memory.dtype}")
    if fixed is not None and not memory.writable:
        fixed.append(memory)
    return HostArray(memory.address, code, bits, memory.shape, memory.strides, memory)


def host_argument(
    value: Any, label: str = "argument", fixed: list[ArrayMemory] | None = None, tensors: bool = False
) -> Any:
    """Wrap every array in a launch argument. torch tensors are left alone unless `tensors` says that they are not.

    cuTile reads tensors itself since release 1.6. Before that, it refuses those of a torch without CUDA.
    """
    if type(value) in (tuple, list):
        return type(value)(host_argument(item, label, fixed, tensors) for item in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changed = {
            f.name: host_argument(getattr(value, f.name), label, fixed, tensors)
            for f in dataclasses.fields(value)
            if f.init
        }
        return dataclasses.replace(value, **changed)
    if hasattr(value, "__array_interface__") and hasattr(value, "ctypes"):
        return host_array(value, label, fixed)
    if hasattr(value, "data_ptr"):
        return host_array(value.detach(), label, fixed) if tensors and hasattr(value, "detach") else value
    if hasattr(value, "__dlpack__") and value.__dlpack_device__()[0] == CPU:
        return host_array(value, label, fixed)
    return value


def host_arguments(values: tuple[Any, ...], tensors: bool = False) -> tuple[tuple[Any, ...], list[ArrayMemory]]:
    """Wrap every array among the arguments of a launch; also return the arrays that are read-only."""
    fixed: list[ArrayMemory] = []
    return tuple(host_argument(value, f"argument {at}", fixed, tensors) for at, value in enumerate(values)), fixed
