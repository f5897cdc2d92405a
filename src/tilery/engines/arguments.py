"""The arguments of a launch: arrays become addresses in registered memory, numbers become scalars of the right type."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..attrs import RoundingMode
from ..diag import TileError
from ..ops import Entry
from ..types import F64, I1, SCALARS, Ptr, Scalar, Tile, Type
from . import dlpack
from .cutile_abi import Extent, expand
from .kernel import Buffers
from .reference.memory import HoldsAddresses, Memory
from .reference.numerics.convert import float_to_float
from .reference.tiles import Array, carrier, pointee_bytes

LAST_ADDRESS = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Place(HoldsAddresses):
    """Where an array is. `low` and `high` are the bounds of its bytes, `strides` count elements."""

    address: int
    low: int
    high: int
    dtype: str
    item: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    writable: bool
    owner: object


def bind(
    entry: Entry,
    args: Sequence[Any],
    memory: Memory,
    *,
    names: Sequence[str] = (),
    convention: str | None = None,
    buffers: Buffers = (),
) -> list[Array]:
    """One value per parameter, and the memory of the arrays registered; `names` label the arguments in errors."""
    if not isinstance(args, Sequence) or isinstance(args, str):
        raise TileError(f"arguments come in a list, one per parameter, not in a {type(args).__name__}")
    labels = [f"argument '{names[n]}'" if n < len(names) else f"argument {n}" for n in range(len(args))]
    given = f"{len(args)} {'argument was' if len(args) == 1 else 'arguments were'} given"
    for number, extra in enumerate(buffers):
        _register(memory, extra, f"buffer {number}")
    if convention == "cutile":
        parts = [expand([value], memory) for value in args]
        labels = [label for label, part in zip(labels, parts) for _ in part]
        args = [value for part in parts for value in part]
        given += f", which are {len(args)} with shapes and strides"
    elif convention is not None:
        raise TileError(f"unknown convention '{convention}', expected cutile or none")
    params = entry.function_type.params
    if len(args) != len(params):
        wanted = ", ".join(p.text for p in params) or "none"
        raise TileError(f"@{entry.sym_name} has {len(params)} parameters ({wanted}), {given}")
    return [_argument(label, param, value, memory) for label, param, value in zip(labels, params, args)]


def _register(memory: Memory, extra: Any, label: str) -> None:
    if isinstance(extra, tuple) and len(extra) == 2 and all(isinstance(part, (int, np.integer)) for part in extra):
        _add(memory, int(extra[0]), int(extra[1]), label)
        return
    if isinstance(extra, Extent):
        _add(memory, extra.address, extra.size, extra.name)
        return
    place = locate(extra)
    memory.add(place.low, place.high - place.low, label, writable=place.writable, owner=place.owner)


def _add(memory: Memory, address: int, size: int, label: str) -> None:
    if address < 0 or size < 0 or address + size > LAST_ADDRESS:
        raise TileError(f"{label}: there is no memory of {size} bytes at {address:#x}")
    memory.add(address, size, label)


def _argument(what: str, param: Type, value: Any, memory: Memory) -> Array:
    assert isinstance(param, Tile) and not param.rank
    if isinstance(param.element, Ptr):
        return np.array([_address(what, param.element.pointee, value, memory)], np.int64)
    assert isinstance(param.element, Scalar)
    return scalar(what, param.element, value)


def _address(what: str, pointee: Scalar, value: Any, memory: Memory) -> int:
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        address = int(value)
        if not -(1 << 63) <= address < 1 << 64:
            raise TileError(f"{what}: {address:#x} is no address")
        return address - (1 << 64) if address >> 63 > 0 else address
    if not is_array(value):
        raise TileError(f"{what}: expected an array (or an address) for ptr<{pointee}>, got {type(value).__name__}")
    try:
        place = locate(value)
    except TileError as error:
        raise TileError(f"{what}: {error.message}") from None
    if not fits(pointee, place):
        raise TileError(f"{what}: an array of {place.dtype} cannot be passed as ptr<{pointee}>")
    if place.address % place.item:
        raise TileError(f"{what}: the array at {place.address:#x} is not aligned to its elements of {place.item} bytes")
    memory.add(place.low, place.high - place.low, what, writable=place.writable, owner=place.owner)
    return place.address


def fits(element: Scalar, place: Place) -> bool:
    """Whether an array can stand for memory of that element type: the same type, or unsigned integers as its bits."""
    if pointee_bytes(element) != place.item:
        return False
    name = place.dtype
    if name == f"uint{8 * place.item}":
        return True
    if element.is_int:
        return name == f"int{8 * place.item}" or (element is I1 and name == "bool")
    return name == element.row.dtype


def scalar(what: str, element: Scalar, value: Any) -> Array:
    """A number as the scalar of a type, in one lane."""
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        value = value.item()  # a number of Python from one of NumPy, ml_dtypes, torch or JAX
    dtype = carrier(element)
    if element.is_int:
        if not isinstance(value, int):
            raise TileError(f"{what}: expected a whole number for {element}, got {value!r}")
        number = int(value)
        if not -(1 << element.bits) // 2 <= number < 1 << element.bits:
            raise TileError(f"{what}: {number} does not fit in {element}")
        bits = number & (1 << element.bits) - 1
        raw = bits.to_bytes(dtype.itemsize, "little")
        if element is I1:
            return np.array([bool(bits)])
        return np.frombuffer(raw, dtype)
    if isinstance(value, bool) or not isinstance(value, (int, float, np.longdouble)):
        raise TileError(f"{what}: expected a number for {element}, got {value!r}")
    try:
        wide = np.array([float(value)])
    except OverflowError:
        wide = np.array([np.inf if value > 0 else -np.inf])
    with np.errstate(all="ignore"):
        if element.name in ("f32", "f64", "tf32"):
            return wide.astype(dtype)
        return float_to_float(wide, F64, element, RoundingMode.NEAREST_EVEN)


# ---------------------------------------------------------------- arrays of any library


def is_array(value: Any) -> bool:
    """Whether a value is an array that we can find the memory of."""
    if isinstance(value, np.generic):
        return False  # a number, which has no memory that would outlive a look at it
    return hasattr(value, "__array_interface__") or hasattr(value, "__dlpack__")


def locate(value: Any) -> Place:
    """Where an array of NumPy, torch, JAX, CuPy or another library with DLPack is in memory."""
    if not is_array(value):
        raise TileError(f"expected an array, got {type(value).__name__}")
    if not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__"):
        return _from_dlpack(value)
    try:
        array = np.asarray(value)
    except Exception as error:  # code of another library runs here, which may raise anything
        raise TileError(f"this {type(value).__name__} does not give its memory: {error}") from None
    low, high = np.lib.array_utils.byte_bounds(array)
    if not array.size:
        high = low
    item = max(array.dtype.itemsize, 1)
    if any(s % item for s in array.strides):
        raise TileError(f"the strides {array.strides} of an array are not multiples of its elements of {item} bytes")
    strides = tuple(s // item for s in array.strides)
    name = array.dtype.name
    if not array.dtype.isnative:
        name += " with bytes in the other order"
    if name == "float4_e2m1fn":
        name += " with one element a byte (memory has two)"
    writable = array.flags.writeable
    return Place(array.ctypes.data, low, high, name, item, array.shape, strides, writable, array)


_DLPACK_NAMES = {
    dlpack.INT: "int{bits}",
    dlpack.UINT: "uint{bits}",
    dlpack.FLOAT: "float{bits}",
    dlpack.BOOL: "bool",
    **{s.row.dlpack: s.row.dtype for s in SCALARS.values() if s.row.dlpack is not None},
}


def _from_dlpack(value: Any) -> Place:
    """DLPack's own structure, because NumPy does not take bf16 and narrower from it."""
    try:
        if hasattr(value, "detach"):  # torch does not give the memory of what has a gradient
            value = value.detach()
        negated = hasattr(value, "is_neg") and value.is_neg()
        capsule = None if negated else value.__dlpack__()
    except Exception as error:  # as above: code of another library
        raise TileError(f"this {type(value).__name__} does not give its memory: {error}") from None
    if capsule is None:
        raise TileError("this tensor has its numbers with the other sign in memory; pass its resolve_neg()")
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    try:
        tensor = dlpack.Tensor.from_address(pointer(capsule, b"dltensor"))
    except (TypeError, ValueError) as error:
        raise TileError(f"this {type(value).__name__} does not give its memory: {error}") from None
    if tensor.device_type not in (dlpack.CPU, dlpack.CUDA_HOST):
        raise TileError(f"this {type(value).__name__} is not in the memory of the host")
    shape = tuple(tensor.shape[: tensor.rank])
    strides = tuple(tensor.strides[: tensor.rank]) if tensor.strides else _row_major(shape)
    item = (tensor.bits * tensor.lanes + 7) // 8
    address = (tensor.data or 0) + tensor.offset
    steps = [(n - 1) * s * item for n, s in zip(shape, strides)]
    empty = 0 in shape
    low = address + sum(s for s in steps if s < 0)
    high = low if empty else address + sum(s for s in steps if s > 0) + item
    name = _DLPACK_NAMES.get(tensor.code, f"DLPack type {tensor.code}").format(bits=tensor.bits)
    return Place(address, low, high, name, item, shape, strides, True, (value, capsule))


def _row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))
