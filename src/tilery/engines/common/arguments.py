"""The arguments of a launch as data for any engine: the bytes of each parameter, and the memory they reach."""

from __future__ import annotations

import os
import struct
import sys
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import copysign, frexp, inf, isfinite, isnan
from typing import Any

import numpy as np

from ...diag import TileError, shown
from ...floats.formats import nearest
from ...ops import Entry
from ...types import Ptr, Scalar, Tile, Type
from .addresses import HoldsAddresses, MemoryRange
from .arrays import FIRST_ADDRESS, LAST_ADDRESS, is_array, locate, locate_argument
from .cutile_abi import ArrayExtent, expand
from .tiles import pointee_bytes

CUTILE_HINT = (
    "they fit if arrays are passed with shape and strides, as cuTile does: convention='cutile', or --convention cutile"
)
Buffers = Iterable[Any]
"""Memory besides the arguments: arrays, pairs of address and size, or extents, which have names."""


@dataclass(slots=True)
class BoundArguments(HoldsAddresses):
    """The arguments of a launch.

    A slot holds the value of a parameter as memory would, little-endian: eight bytes of address for a pointer, one byte
    for an i1, four for a tf32. Ranges may overlap. `reach` has the range of each slot that is the address of an array.
    """

    slots: list[bytes] = field(default_factory=list)
    ranges: list[MemoryRange] = field(default_factory=list)
    reach: list[MemoryRange | None] = field(default_factory=list)


def as_tuple(args: Sequence[Any]) -> tuple[Any, ...]:
    """Return the arguments of a launch as a tuple, which keeps them alive whatever becomes of the caller's list."""
    if type(args) is not list and (not isinstance(args, Sequence) or isinstance(args, str)):
        raise TileError(f"arguments must be a list with one item per parameter, got a {type(args).__name__}")
    return tuple(args)


def check_names(names: Sequence[str]) -> Sequence[str]:
    """Return the names of arguments."""
    if isinstance(names, str) or not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise TileError(f"names must be a list of strings, got {shown(names)}")
    return names


def check_buffers(buffers: Buffers) -> list[Any]:
    """Return the buffers of a launch as a list, since it is read more than once."""
    if is_array(buffers) or isinstance(buffers, (str, bytes)) or not isinstance(buffers, Iterable):
        raise TileError(f"buffers must be a list, got a {type(buffers).__name__}")
    return list(buffers)


def bind(
    entry: Entry,
    args: Sequence[Any],
    *,
    names: Sequence[str] = (),
    convention: str | None = None,
    buffers: Buffers = (),
) -> BoundArguments:
    """Match arguments with the parameters of an entry; `names` label the arguments in errors.

    The arguments, names and buffers have been checked by `Launch`, which callers normally make.
    """
    if not names and convention is None:
        names = entry.param_names or ()
    labels = [f"argument '{names[n]}'" if n < len(names) else f"argument {n}" for n in range(len(args))]
    given = f"{len(args)} {'argument was' if len(args) == 1 else 'arguments were'} given"
    bound = BoundArguments(ranges=[_buffer(extra, f"buffer {number}") for number, extra in enumerate(buffers)])
    if convention == "cutile":
        parts = [expand([value], bound.ranges, label) for label, value in zip(labels, args)]
        labels = [label for label, part in zip(labels, parts) for _ in part]
        args = [value for part in parts for value in part]
        given += f", which make {len(args)} with shapes and strides"
    elif convention is not None:
        raise TileError(f"unknown convention '{convention}', expected cutile or none")
    params = entry.function_type.params
    if len(args) != len(params):
        wanted = ", ".join(p.text for p in params) or "none"
        hint: tuple[str, ...] = ()
        if convention is None and _expanded_count(args) == len(params):
            hint = (CUTILE_HINT,)
        raise TileError(f"@{entry.sym_name} has {len(params)} parameters ({wanted}), {given}", notes=hint)
    for label, param, value in zip(labels, params, args):
        known = len(bound.ranges)
        bound.slots.append(_slot(label, param, value, bound.ranges))
        bound.reach.append(bound.ranges[known] if len(bound.ranges) > known else None)
    if convention is None:
        _warn_about_strides(labels, params, args)
    return bound


def _expanded_count(args: Sequence[Any]) -> int:
    """Return the number of values that arguments make if each array is passed with its shape and strides."""
    return sum(1 + 2 * len(value.shape) if is_array(value) and hasattr(value, "shape") else 1 for value in args)


def _warn_about_strides(labels: Sequence[str], params: Sequence[Type], args: Sequence[Any]) -> None:
    """Warn about arrays whose elements have gaps or another order, unless the strides are arguments too."""
    passed: set[int] | None = None
    for label, param, value in zip(labels, params, args):
        if not isinstance(param, Tile) or not isinstance(param.element, Ptr) or not is_array(value):
            continue
        if isinstance(value, np.ndarray) and value.flags.c_contiguous:
            continue
        array = locate(value)
        if array.is_contiguous:
            continue
        if passed is None:
            passed = {int(v) for v in args if isinstance(v, (int, np.integer))}
        if not {s for n, s in zip(array.shape, array.strides) if n > 1 and s != 1} <= passed:
            layout = f"shape {list(array.shape)}, strides {list(array.strides)}"
            why = "the kernel gets the address of its first element and no strides; copy it, or pass its strides too"
            warnings.warn(f"{label} is not contiguous ({layout}): {why}", stacklevel=levels_inside())


def levels_inside() -> int:
    """Return the `stacklevel` of a warning at the line that called tilery, for the function that warns."""
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        frame, level = frame.f_back, level + 1
    return level


def _buffer(extra: Any, label: str) -> MemoryRange:
    if isinstance(extra, tuple) and len(extra) == 2 and all(isinstance(part, (int, np.integer)) for part in extra):
        return _range(int(extra[0]), int(extra[1]), label)
    if isinstance(extra, ArrayExtent):
        found = replace(_range(extra.address, extra.size, extra.name), layout=extra.layout)
        return found if extra.writable else replace(found, writable=False, runs=extra.runs)
    return locate(extra).range(label)


def _range(address: int, size: int, label: str) -> MemoryRange:
    if address < (FIRST_ADDRESS if size else 0) or size < 0 or address + size > LAST_ADDRESS:
        raise TileError(f"{label}: there is no memory of {size} bytes at {address:#x}")
    return MemoryRange(address, size, label)


def _slot(label: str, param: Type, value: Any, ranges: list[MemoryRange]) -> bytes:
    assert isinstance(param, Tile) and not param.rank
    if isinstance(param.element, Ptr):
        return _address(label, param.element.pointee, value, ranges).to_bytes(8, "little")
    assert isinstance(param.element, Scalar)
    return scalar_bytes(label, param.element, value)


def _address(label: str, pointee: Scalar, value: Any, ranges: list[MemoryRange]) -> int:
    """Return the address of an array, whose memory is added to `ranges`, or a number as an address modulo 2**64."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        address = _plain(value)
        if not -(1 << 63) <= address < 1 << 64:
            raise TileError(f"{label}: {address:#x} is not an address")
        return address % (1 << 64)
    if not is_array(value):
        raise TileError(f"{label}: expected an array (or an address) for ptr<{pointee}>, got {type(value).__name__}")
    array = locate_argument(label, value, pointee)
    ranges.append(array.range(label))
    return array.address


# ---------------------------------------------------------------- numbers


def scalar_bytes(label: str, element: Scalar, value: Any) -> bytes:
    """Convert a number to the bytes of a type. Integers must fit; floats are rounded to nearest, as `ftof` does it.

    >>> from tilery.types import I1
    >>> scalar_bytes("n", I1, True), scalar_bytes("n", Scalar("bf16"), 1.0)
    (b'\\x01', b'\\x80?')
    """
    try:
        if getattr(value, "shape", None) == () and hasattr(value, "item"):
            value = value.item()  # a number of NumPy, ml_dtypes, torch or JAX
    except Exception as error:  # code of another library, which may raise anything
        raise TileError(f"{label}: cannot read this {type(value).__name__}: {error}") from None
    if element.is_int:
        if not isinstance(value, int):
            raise TileError(f"{label}: expected an integer for {element}, got {shown(value)}")
        number = _plain(value)
        if not -(1 << element.bits) // 2 <= number < 1 << element.bits:
            raise TileError(f"{label}: {shown(number)} does not fit in {element}")
        return (number & (1 << element.bits) - 1).to_bytes(pointee_bytes(element), "little")
    if isinstance(value, bool) or not isinstance(value, (int, float, np.longdouble)):
        raise TileError(f"{label}: expected a number for {element}, got {shown(value)}")
    exact = _plain(value) if isinstance(value, int) else value
    try:
        wide = float.__float__(value) if isinstance(value, float) else float(exact)
    except OverflowError:
        wide = inf if exact > 0 else -inf
    if element.name == "f64":
        return struct.pack("<d", wide)
    if element.name in ("f32", "tf32"):  # memory holds a tf32 as an f32
        with np.errstate(all="ignore"):
            return np.float64(wide).astype(np.float32).tobytes()
    return _float_bits(element, wide).to_bytes(pointee_bytes(element), "little")


def _plain(value: int | np.integer[Any]) -> int:
    """Return an integer without what its class makes of it."""
    return int.__index__(value) if isinstance(value, int) else int(value)


def _float_bits(element: Scalar, number: float) -> int:
    """Return the nearest float of at most 16 bits. Overflow gives an infinity in 16 bits, else the largest number."""
    form = element.format
    sign = (copysign(1, number) < 0) << (element.bits - 1) if form.signed else 0
    wide = element.bits == 16
    if isnan(number):
        if not wide:
            return (1 << element.bits - form.signed) - 1
        bits: int = struct.unpack("<Q", struct.pack("<d", number))[0]
        payload = bits >> (52 - form.mantissa) & ((1 << form.mantissa) - 1)
        return sign | form.top + 1 | 1 << form.mantissa - 1 | payload
    size: int | None
    if not form.subnormals and isfinite(number):  # f8E8M0FNU has powers of two only, and rounds towards zero
        size = min(max(frexp(number)[1] - 1 + form.bias, 0), form.top) if number else 0
    else:
        size = nearest(element, False, Fraction(abs(number))) if isfinite(number) else None
    return sign | (form.top + wide if size is None else size)
