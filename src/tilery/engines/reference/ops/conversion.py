"""Conversions between element types, and the packing of narrow elements into bytes."""

from __future__ import annotations

import numpy as np

from ....attrs import Signedness
from ....ops import Bitcast, ExtI, FToF, FToI, IntToPtr, IToF, Pack, PtrToInt, PtrToPtr, TruncI, Unpack
from ....types import I1, I4, Scalar
from ...common.numerics.convert import float_to_float, float_to_int, int_to_float, to_f64
from ...common.tiles import Array, carrier, element_of
from ..registry import executes
from .integer import read

SIGNED = Signedness.SIGNED


def integers(x: Array, element: Scalar, signedness: Signedness) -> Array:
    """Return integers in a NumPy type with the same values."""
    if element is not I4:
        return read(x, signedness)
    return (x ^ np.uint8(8)).view(np.int8) - np.int8(8) if signedness is SIGNED else x


# ---------------------------------------------------------------- integers


@executes(ExtI)
def exti(o: ExtI, from_: Array) -> Array:
    """The same integers in a wider type."""
    target = element_of(o.to.type)
    wide = integers(from_, element_of(o.from_.type), o.signedness)
    if target is I4:
        return wide.view(np.uint8) & np.uint8(15)
    return wide.astype(carrier(target))


@executes(TruncI)
def trunci(o: TruncI, from_: Array) -> Array:
    """The lower bits."""
    target = element_of(o.to.type)
    if target is I1:
        lowest: Array = from_ & from_.dtype.type(1)
        return lowest.astype(bool)
    if target is I4:
        return from_.astype(np.uint8) & np.uint8(15)
    return from_.astype(carrier(target))


# ---------------------------------------------------------------- floats


@executes(FToF)
def ftof(o: FToF, from_: Array) -> Array:
    """The number in another float type."""
    return float_to_float(from_, element_of(o.from_.type), element_of(o.to.type), o.rounding_mode)


@executes(IToF)
def itof(o: IToF, from_: Array) -> Array:
    """The nearest float."""
    return int_to_float(read(from_, o.signedness), element_of(o.to.type))


@executes(FToI)
def ftoi(o: FToI, from_: Array) -> Array:
    """The integer, rounded towards zero."""
    source, target = element_of(o.from_.type), element_of(o.to.type)
    if target is I1:
        nonzero: Array = to_f64(from_, source) != 0
        return nonzero
    dtype = carrier(target)
    if o.signedness is not SIGNED:
        dtype = np.dtype(f"u{dtype.itemsize}")
    return float_to_int(from_, source, dtype, o.saturating).view(carrier(target))


# ---------------------------------------------------------------- bits


@executes(Bitcast)
def bitcast(o: Bitcast, source: Array) -> Array:
    """The same bits as another type."""
    return source.view(carrier(element_of(o.result.type)))


@executes(IntToPtr)
def int_to_ptr(o: IntToPtr, source: Array) -> Array:
    """The address as a pointer."""
    return source


@executes(PtrToInt)
def ptr_to_int(o: PtrToInt, source: Array) -> Array:
    """The address of a pointer."""
    return source


@executes(PtrToPtr)
def ptr_to_ptr(o: PtrToPtr, source: Array) -> Array:
    """The same address."""
    return source


@executes(Pack)
def pack(o: Pack, source: Array) -> Array:
    """The bits of the elements as bytes, the first element in the lowest bits."""
    element = element_of(o.source.type)
    source = np.ascontiguousarray(source)
    if element is I1:
        return np.packbits(source, axis=-1, bitorder="little").view(np.int8)
    if element.bits == 4:
        pairs: Array = source[..., ::2] | source[..., 1::2] << np.uint8(4)
        return pairs.view(np.int8)
    return source.view(np.int8)


@executes(Unpack)
def unpack(o: Unpack, source: Array) -> Array:
    """The elements whose bits are in the bytes."""
    element = element_of(o.result.type)
    source = np.ascontiguousarray(source)
    data = source.view(np.uint8)
    if element is I1:
        return np.unpackbits(data, axis=-1, bitorder="little").view(bool)
    if element.bits == 4:
        pairs = np.stack((data & np.uint8(15), data >> np.uint8(4)), axis=-1)
        return pairs.reshape(*data.shape[:-1], -1)
    return source.view(carrier(element))
