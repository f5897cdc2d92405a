"""Arrays of NumPy, torch, JAX, CuPy and others: where they are in memory and what they hold."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...diag import TileError
from ...types import I1, SCALARS, Scalar
from . import dlpack
from .addresses import HOST, DlpackDevice, HoldsAddresses, Layout, MemoryRange, runs_of
from .tiles import pointee_bytes

FIRST_ADDRESS, LAST_ADDRESS = 4096, (1 << 63) - 1
"""The limits of addresses: no system has memory in the first page, and a tensor whose memory was freed begins there."""
FOREIGN_ORDER = " in non-native byte order"
"""The end of the names of element types whose bytes are not in the order of this machine."""


@dataclass(frozen=True, slots=True)
class ArrayMemory(HoldsAddresses):
    """The memory of an array. `low` and `high` bound its bytes; `strides` are in elements."""

    address: int
    low: int
    high: int
    dtype: str
    item: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    writable: bool
    owner: object
    device: DlpackDevice = HOST

    def __post_init__(self) -> None:
        least = FIRST_ADDRESS if self.high > self.low else 0
        if not least <= self.low <= self.high <= LAST_ADDRESS:
            layout = f"shape {list(self.shape)} and strides {list(self.strides)}"
            raise TileError(f"there is no memory for an array at {self.address:#x} with {layout}")

    @property
    def is_contiguous(self) -> bool:
        """Whether memory has the elements in the order of the indices, without gaps."""
        pairs = zip(self.shape, self.strides, _row_major(self.shape))
        return 0 in self.shape or all(extent == 1 or stride == dense for extent, stride, dense in pairs)

    def range(self, label: str) -> MemoryRange:
        """Return the bytes from the first element to the last."""
        strides = tuple(s * self.item for s in self.strides)
        runs, layout = runs_of(self.shape, strides, self.item), Layout(self.address, self.shape, strides, self.item)
        size = self.high - self.low
        return MemoryRange(self.low, size, label, self.writable, self.device, self.owner, runs=runs, layout=layout)


def locate_argument(label: str, value: Any, pointee: Scalar | None = None) -> ArrayMemory:
    """Locate an array that is an argument of a launch; raise TileError if no kernel can access its elements.

    `pointee` is what the kernel takes them for, where that is known.
    """
    try:
        array = locate(value)
        if pointee is not None and not fits(pointee, array):
            raise TileError(f"an array of {array.dtype} cannot be passed as ptr<{pointee}>")
        if array.dtype.endswith(FOREIGN_ORDER):
            raise TileError(f"an array of {array.dtype} cannot be passed to a kernel")
        if array.address % array.item:
            raise TileError(f"the array at {array.address:#x} is not aligned to its elements of {array.item} bytes")
    except TileError as error:
        raise TileError(f"{label}: {error.message}") from None
    return array


def fits(element: Scalar, array: ArrayMemory) -> bool:
    """Tell whether an array can hold elements of a type: it has that type, or unsigned integers as wide."""
    if pointee_bytes(element) != array.item:
        return False
    name = array.dtype
    if name == f"uint{8 * array.item}":
        return True
    if element.is_int:
        return name == f"int{8 * array.item}" or (element is I1 and name == "bool")
    return name == element.row.dtype


def is_array(value: Any) -> bool:
    """Tell whether a value is an array whose memory can be located."""
    if isinstance(value, np.generic):
        return False  # a scalar: its memory is a temporary copy
    return any(_offers(value, name) for name in ("__array_interface__", "__dlpack__", "__cuda_array_interface__"))


def _offers(value: Any, name: str) -> bool:
    """Tell whether a value has an attribute, even if reading it raises: the error comes when its memory is located."""
    try:
        return hasattr(value, name)
    except Exception:  # code of another library, which may raise anything
        return True


def locate(value: Any) -> ArrayMemory:
    """Locate the memory of an array, through DLPack unless it is NumPy's own."""
    if not is_array(value):
        raise TileError(f"expected an array, got {type(value).__name__}")
    if not isinstance(value, np.ndarray) and _offers(value, "__dlpack__"):
        return _from_dlpack(value)
    if _offers(value, "__cuda_array_interface__"):
        return _from_cuda(value)
    try:
        array = np.asarray(value)
    except Exception as error:  # as above
        raise _no_memory(value, error) from None
    if array.dtype.hasobject:
        raise TileError(f"an array of {array.dtype.name} cannot be passed: it holds Python objects")
    low, high = np.lib.array_utils.byte_bounds(array)
    if not array.size:
        high = low
    item = max(array.dtype.itemsize, 1)
    if any(s % item for s in array.strides):
        raise TileError(f"array strides {array.strides} must be multiples of the element size, {item} bytes")
    strides = tuple(s // item for s in array.strides)
    name = array.dtype.name
    if not array.dtype.isnative:
        name += FOREIGN_ORDER
    if name == "float4_e2m1fn":
        name += " with one element per byte (memory has two)"
    return ArrayMemory(array.ctypes.data, low, high, name, item, array.shape, strides, array.flags.writeable, array)


def _from_cuda(value: Any) -> ArrayMemory:
    """Read the CUDA array interface, which Numba and CuPy offer."""
    try:
        facts = value.__cuda_array_interface__
        address, read_only = int(facts["data"][0]), facts["data"][1]
        dtype, shape = np.dtype(facts["typestr"]), tuple(map(int, facts["shape"]))
        strides = tuple(map(int, facts.get("strides") or (s * dtype.itemsize for s in _row_major(shape))))
    except Exception as error:  # code of another library, as above
        raise _no_memory(value, error) from None
    item = max(dtype.itemsize, 1)
    reach = [(n - 1) * s for n, s in zip(shape, strides)]
    low = address + sum(s for s in reach if s < 0)
    high = low if 0 in shape else address + sum(s for s in reach if s > 0) + item
    steps = tuple(s // item for s in strides)
    device = DlpackDevice(dlpack.CUDA, 0)
    return ArrayMemory(address, low, high, dtype.name, item, shape, steps, not read_only, value, device)


def _no_memory(value: Any, error: Exception) -> TileError:
    return TileError(f"cannot access the memory of this {type(value).__name__}: {error}")


_DLPACK_NAMES = {
    dlpack.INT: "int{bits}",
    dlpack.UINT: "uint{bits}",
    dlpack.FLOAT: "float{bits}",
    dlpack.BOOL: "bool",
    **{s.row.dlpack: s.row.dtype for s in SCALARS.values() if s.row.dlpack is not None},
}


def _from_dlpack(value: Any) -> ArrayMemory:
    """Read DLPack's structure directly: NumPy does not import bf16 and narrower types."""
    capsule = _dlpack_capsule(value)
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    try:
        tensor = dlpack.DLTensor.from_address(pointer(capsule, b"dltensor"))
    except (TypeError, ValueError) as error:
        raise _no_memory(value, error) from None
    shape = tuple(tensor.shape[: tensor.rank])
    strides = tuple(tensor.strides[: tensor.rank]) if tensor.strides else _row_major(shape)
    item = (tensor.bits * tensor.lanes + 7) // 8
    address = (tensor.data or 0) + tensor.offset
    reach = [(n - 1) * s * item for n, s in zip(shape, strides)]
    low = address + sum(s for s in reach if s < 0)
    high = low if 0 in shape else address + sum(s for s in reach if s > 0) + item
    name = _DLPACK_NAMES.get(tensor.code, f"DLPack type {tensor.code}").format(bits=tensor.bits)
    device = DlpackDevice(tensor.device_type, tensor.device_id)
    return ArrayMemory(address, low, high, name, item, shape, strides, True, (value, capsule), device)


def _dlpack_capsule(value: Any) -> Any:
    try:
        if hasattr(value, "detach"):  # torch refuses to export a tensor that requires a gradient
            value = value.detach()
        negated = hasattr(value, "is_neg") and value.is_neg()
        capsule = None if negated else value.__dlpack__()
    except Exception as error:  # as above: code of another library
        raise _no_memory(value, error) from None
    if capsule is None:
        raise TileError("this tensor is a lazy negation of its memory; pass its resolve_neg()")
    return capsule


def _row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, stride = [], 1
    for extent in reversed(shape):
        strides.append(stride)
        stride *= extent
    return tuple(reversed(strides))
