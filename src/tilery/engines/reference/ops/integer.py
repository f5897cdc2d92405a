"""Integer arithmetic and bitwise logic. NumPy wraps around as the operations do; overflow flags have no effect.

An i1 is held as a boolean: true is 1 if unsigned, -1 if signed.
"""

from __future__ import annotations

import numpy as np

from ....attrs import RoundingMode, Signedness
from ....floats.comparison import HOLDS
from ....ops import AbsI, AddI, AndI, CmpI, DivI, MaxI, MinI, MulhiI, MulI, NegI, OrI, RemI, ShLI, ShRI, SubI, XOrI
from ...common.numerics.rounding import in_chunks
from ...common.tiles import Array, unsigned
from ..registry import executes

SIGNED = Signedness.SIGNED
LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


def read(array: Array, signedness: Signedness) -> Array:
    """View integers as a NumPy type that orders, divides and shifts them with that signedness."""
    if array.dtype == bool:
        bits = array.view(np.int8)
        return -bits if signedness is SIGNED else bits
    return array if signedness is SIGNED else unsigned(array)


def written(numbers: Array, like: Array) -> Array:
    """Undo `read`: return the lower bits in the type of the operand."""
    return (numbers & 1).view(bool) if like.dtype == bool else numbers.view(like.dtype)


def _binary(function: np.ufunc, signedness: Signedness, lhs: Array, rhs: Array, out: Array | None) -> Array:
    """Apply a NumPy function to integers of that signedness."""
    a, b = read(lhs, signedness), read(rhs, signedness)
    if lhs.dtype == bool:
        return written(function(a, b), lhs)
    return written(function(a, b, out=None if out is None else out.view(a.dtype)), lhs)


# ---------------------------------------------------------------- sums and products


@executes(AddI, reuses=True)
def addi(o: AddI, lhs: Array, rhs: Array, out: Array | None = None) -> Array:
    """The sum, without carry out of the type."""
    if lhs.dtype == bool:
        return np.logical_xor(lhs, rhs, out=out)
    return np.add(lhs, rhs, out=out)


@executes(SubI, reuses=True)
def subi(o: SubI, lhs: Array, rhs: Array, out: Array | None = None) -> Array:
    """The difference, without borrow out of the type."""
    if lhs.dtype == bool:
        return np.logical_xor(lhs, rhs, out=out)
    return np.subtract(lhs, rhs, out=out)


@executes(MulI, reuses=True)
def muli(o: MulI, lhs: Array, rhs: Array, out: Array | None = None) -> Array:
    """The lower half of the product."""
    return np.multiply(lhs, rhs, out=out)


@executes(MulhiI)
def mulhii(o: MulhiI, x: Array, y: Array) -> Array:
    """The upper half of the unsigned product."""
    if x.dtype == bool:
        return np.zeros(np.broadcast_shapes(x.shape, y.shape), bool)
    a, b = unsigned(x), unsigned(y)
    return in_chunks(_upper_half, a.dtype, None, a, b).view(x.dtype)


def _upper_half(a: Array, b: Array) -> Array:
    bits = 8 * a.dtype.itemsize
    if bits < 64:
        product: Array = a.astype(np.uint64) * b
        return (product >> np.uint64(bits)).astype(a.dtype)
    # Four products of 32 by 32 bits; no sum below exceeds 64 bits.
    low, high = a & LOW, a >> HALF
    other_low, other_high = b & LOW, b >> HALF
    carried = high * other_low + (low * other_low >> HALF)
    middle = low * other_high + (carried & LOW)
    upper: Array = high * other_high + (carried >> HALF) + (middle >> HALF)
    return upper


@executes(AbsI, reuses=True)
def absi(o: AbsI, source: Array, out: Array | None = None) -> Array:
    """The absolute value, as an unsigned integer."""
    return np.array(source) if source.dtype == bool else np.absolute(source, out=out)


@executes(NegI, reuses=True)
def negi(o: NegI, source: Array, out: Array | None = None) -> Array:
    """The negation; the smallest integer stays the same."""
    return np.array(source) if source.dtype == bool else np.negative(source, out=out)


# ---------------------------------------------------------------- division


@executes(DivI)
def divi(o: DivI, lhs: Array, rhs: Array) -> Array:
    """The quotient, rounded towards zero or as `rounding` says."""
    signed = o.signedness is SIGNED
    a, b = read(lhs, o.signedness), read(rhs, o.signedness)
    return written(in_chunks(lambda x, y: _quotient(x, y, signed, o.rounding), a.dtype, None, a, b), lhs)


def _quotient(a: Array, b: Array, signed: bool, rounding: RoundingMode) -> Array:
    # Unsigned division is five times as fast as NumPy's signed one, and serves all rounding modes.
    above, below = (unsigned(np.absolute(x)) if signed else x for x in (a, b))
    zero = below == 0
    undefined = bool(zero.any())
    if undefined:
        below = np.where(zero, below.dtype.type(1), below)
    quotient = np.floor_divide(above, below)
    if rounding is not RoundingMode.ZERO:
        outward = ((a ^ b) < 0) == (rounding is RoundingMode.NEGATIVE_INF) if signed else True
        quotient += (quotient * below != above) & outward
    result = quotient.view(a.dtype)
    if signed:
        flip: Array = a ^ b
        flip >>= 8 * flip.itemsize - 1
        result ^= flip
        result -= flip
    return np.where(zero, _by_zero(a), result) if undefined else result


@executes(RemI)
def remi(o: RemI, lhs: Array, rhs: Array) -> Array:
    """The remainder of the division towards zero; it has the dividend's sign."""
    a, b = read(lhs, o.signedness), read(rhs, o.signedness)
    rest = np.fmod(a, b)
    zero = b == 0
    if zero.any():
        rest = np.where(zero, _by_zero(a), rest)
    return written(rest, lhs)


def _by_zero(a: Array) -> Array:
    """Return what an H200 returns for `a` divided by zero. Its 64-bit division tries 32 bits first."""
    ones = ~np.zeros_like(a)
    if a.dtype.itemsize < 8:
        return ones
    return np.where(unsigned(a) >> HALF == 0, a.dtype.type(0xFFFFFFFF), ones)


# ---------------------------------------------------------------- order


@executes(CmpI)
def cmpi(o: CmpI, lhs: Array, rhs: Array) -> Array:
    """Whether the comparison holds."""
    a, b = read(lhs, o.signedness), read(rhs, o.signedness)
    holds: Array = HOLDS[o.comparison_predicate](a, b)
    return holds


@executes(MaxI, reuses=True)
def maxi(o: MaxI, lhs: Array, rhs: Array, out: Array | None = None) -> Array:
    """The larger one."""
    return _binary(np.maximum, o.signedness, lhs, rhs, out)


@executes(MinI, reuses=True)
def mini(o: MinI, lhs: Array, rhs: Array, out: Array | None = None) -> Array:
    """The smaller one."""
    return _binary(np.minimum, o.signedness, lhs, rhs, out)


# ---------------------------------------------------------------- bits


@executes(ShLI, reuses=True)
def shli(o: ShLI, lhs: Array, rhs: Array, out: Array | None = None) -> Array:
    """The bits shifted to the left."""
    return _binary(np.left_shift, Signedness.UNSIGNED, lhs, rhs, out)


@executes(ShRI, reuses=True)
def shri(o: ShRI, lhs: Array, rhs: Array, out: Array | None = None) -> Array:
    """The bits shifted to the right; a signed integer keeps its sign."""
    # NumPy treats a negative amount as a large one too.
    return _binary(np.right_shift, o.signedness, lhs, rhs, out)


@executes(AndI, reuses=True)
def andi(o: AndI, lhs: Array, rhs: Array, out: Array | None = None) -> Array:
    """Bitwise and."""
    return np.bitwise_and(lhs, rhs, out=out)


@executes(OrI, reuses=True)
def ori(o: OrI, lhs: Array, rhs: Array, out: Array | None = None) -> Array:
    """Bitwise or."""
    return np.bitwise_or(lhs, rhs, out=out)


@executes(XOrI, reuses=True)
def xori(o: XOrI, lhs: Array, rhs: Array, out: Array | None = None) -> Array:
    """Bitwise exclusive or."""
    return np.bitwise_xor(lhs, rhs, out=out)
