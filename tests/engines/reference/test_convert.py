"""Conversions of the reference engine, checked against rational arithmetic and against every number of narrow types."""

from __future__ import annotations

import random
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from support.oracle import FULL
from tilery import Op, Value, ops
from tilery.attrs import RoundingMode, Signedness
from tilery.engines.common.numerics.convert import NANS
from tilery.engines.common.tiles import Array, carrier, unsigned
from tilery.engines.reference.ops import RUNS
from tilery.engines.reference.ops import conversion as run_convert
from tilery.floats import arithmetic as softfloat
from tilery.floats.formats import is_nan
from tilery.types import BF16, F16, F32, F64, I1, I4, I8, I16, I32, I64, SCALARS, TF32, Ptr, Scalar, Tile

NEAREST, ZERO, AWAY = RoundingMode.NEAREST_EVEN, RoundingMode.ZERO, RoundingMode.NEAREST_AWAY
UP, DOWN = RoundingMode.POSITIVE_INF, RoundingMode.NEGATIVE_INF
MODES = (NEAREST, ZERO, AWAY, UP, DOWN)
SIGNED, UNSIGNED = Signedness.SIGNED, Signedness.UNSIGNED
FLOATS = [s for s in SCALARS.values() if s.is_float]
INTS = (I1, I8, I16, I32, I64)
E4M3, E5M2, E8M0, E2M1, E5M3 = (SCALARS[n] for n in ("f8E4M3FN", "f8E5M2", "f8E8M0FNU", "f4E2M1FN", "fnv8E5M3FNU"))
WIDE = (F16, BF16, TF32, F32, F64)
COUNT = 2000 if FULL else 40
assert run_convert, "the module declares how its operations are executed"


def held(bits: list[int], element: Scalar) -> Array:
    """One lane that holds the elements with these bits."""
    if element is I1:
        return np.array([bits], bool)
    dtype = carrier(element)
    shift = 13 if element is TF32 else 0
    return np.array([[n << shift for n in bits]], f"u{dtype.itemsize}").view(dtype)


def bits_of(array: Array, element: Scalar) -> list[int]:
    assert array.dtype == carrier(element)
    found: list[int] = unsigned(array).reshape(-1).tolist()
    if element is TF32:
        assert not any(n & 0x1FFF for n in found)
        return [n >> 13 for n in found]
    return found


def tile(element: Scalar | Ptr, size: int = 4) -> Value:
    return Value(Tile((size,), element))


def run(o: Op, *arrays: Array) -> Any:
    with np.errstate(all="ignore"):
        return RUNS[type(o)].function(o, *arrays)


def conversion(source: Scalar, target: Scalar, mode: RoundingMode = NEAREST) -> ops.FToF:
    return ops.FToF(from_=tile(source), to=tile(target), rounding_mode=mode)


def legal(source: Scalar, target: Scalar) -> list[RoundingMode]:
    return [mode for mode in MODES if conversion(source, target, mode).check() is None]


# ---------------------------------------------------------------- float to float


def numbers(source: Scalar, target: Scalar) -> list[int]:
    """Bits of the source: all, or those at, between and next to numbers of the target, and random ones; no NaN."""
    if source.bits <= 8:
        found = set(range(1 << source.bits))
    else:
        draw = random.Random(f"{source} {target}")
        found = {draw.getrandbits(source.bits) for _ in range(COUNT)}
        top = target.format.top
        for low in [0, 1, top - 1, top, *(draw.randrange(top) for _ in range(COUNT))]:
            below, above = softfloat.value(target, low), softfloat.value(target, min(low + 1, top))
            assert below is not None and above is not None
            for size in (below, above, (below + above) / 2, 2 * above - (below + above) / 2, 3 * above):
                near = softfloat.rounded(source, size, ZERO)
                assert near is not None
                found |= {near, near + 1, max(near - 1, 0)}
        found |= {n | 1 << (source.bits - 1) for n in list(found)}
    return sorted(n for n in found if not is_nan(source, n))


def converted(source: Scalar, target: Scalar, bits: int, mode: RoundingMode) -> int:
    """The bits that a number becomes, by rational arithmetic."""
    form, negative = target.format, softfloat.is_negative(source, bits)
    sign = negative << (target.bits - 1) if form.signed else 0
    number = softfloat.value(source, bits)
    if number is None:
        return sign | form.top + (target in WIDE)
    if target is E8M0 and number == 0:
        return 0
    found = softfloat.rounded(target, number if form.signed else abs(number), mode, negative and form.signed)
    if found is not None:
        return found
    if target is E8M0 and abs(number) < 1:
        return 0
    return sign | form.top + (target is TF32)


@pytest.mark.parametrize(("source", "target"), [p for p in product(FLOATS, FLOATS) if p[0] is not p[1]], ids=str)
def test_a_float_is_rounded_once(source: Scalar, target: Scalar) -> None:
    bits = numbers(source, target)
    for mode in legal(source, target):
        found = bits_of(run(conversion(source, target, mode), held(bits, source)), target)
        for before, after in zip(bits, found, strict=True):
            assert after == converted(source, target, before, mode), f"{before:#x} gave {after:#x} with {mode}"


@cache
def line(target: Scalar) -> Array:
    """Every number of a type of at most 19 bits that is not negative, in order: so the place is the bits."""
    bits = list(range(target.format.top + 1))
    if target is F16:
        return np.array(bits, np.uint16).view(np.float16).astype(np.float64)
    if target in (BF16, TF32):
        shift = 16 if target is BF16 else 13
        return (np.array(bits, np.uint32) << np.uint32(shift)).view(np.float32).astype(np.float64)
    return np.array([float(number) for n in bits if (number := softfloat.value(target, n)) is not None])


def placed(sizes: Array, target: Scalar, mode: RoundingMode) -> Array:
    """The bits of numbers that are not negative, by where they stand among the type's numbers."""
    known = line(target)
    if mode is ZERO:
        found = np.searchsorted(known, sizes, side="right") - 1
        return np.where(np.isinf(sizes) & (target in WIDE), len(known), found)
    between = (known + np.append(known[1:], 2 * known[-1] - known[-2])) / 2
    found = np.searchsorted(between, sizes, side="left")
    tie = between[np.minimum(found, len(known) - 1)] == sizes
    found += tie & ((found % 2 == 1) if mode is NEAREST else True)
    return np.minimum(found, len(known) - (target not in WIDE))


@pytest.mark.parametrize("source", (F16, BF16, F32, F64), ids=str)
@pytest.mark.parametrize("target", (F16, BF16, TF32, E4M3, E5M2, E2M1, E5M3), ids=str)
def test_every_pattern_of_16_bits(source: Scalar, target: Scalar) -> None:
    # Wider types get patterns of 16 bits at their head, so that every exponent comes up, and random ones after them.
    if source is target:
        return
    bits = np.arange(1 << 16, dtype=np.uint64) << np.uint64(source.bits - 16)
    if source.bits > 16:
        bits |= np.random.default_rng(source.bits).integers(0, 1 << (source.bits - 16), len(bits), dtype=np.uint64)
    x = bits.astype(f"u{source.bits // 8}").view(carrier(source)).reshape(1, -1)
    values = (bits << np.uint64(16)).astype(np.uint32).view(np.float32) if source is BF16 else x[0]
    with np.errstate(invalid="ignore"):
        wide = values.astype(np.float64)
    number = ~np.isnan(wide)
    sign = np.signbit(wide).astype(np.int64) << (target.bits - 1) if target.format.signed else 0
    for mode in legal(source, target):
        if mode in (UP, DOWN):
            continue  # these come only with types where nothing is rounded
        found = np.array(bits_of(run(conversion(source, target, mode), x), target))
        assert (found == (placed(np.abs(wide), target, mode) | sign))[number].all(), mode
        if mode is not AWAY and source is not F64:
            nan = NANS[target.name] >> (13 if target is TF32 else 0)
            assert (found == nan)[~number].all()


NAN_CASES = [
    (F16, F32, 0xFC01, 0x7FFFFFFF),
    (BF16, F32, 0xFF81, 0xFF810000),
    (F16, F64, 0xFC01, 0xFFF8040000000000),
    (BF16, F64, 0x7FC1, 0x7FF8200000000000),
    (F32, F64, 0x7F800001, 0x7FF8000020000000),
    (F64, F32, 0x7FF4000000000000, 0x7FE00000),
    (F64, F16, 0xFFF8_0000_0000_0001, 0xFE00),
    (F64, BF16, 0xFFF4_0000_0000_0001, 0xFFE0),
    (F64, E5M2, 0xFFF8_0000_0000_0001, 0x7F),
    (F32, BF16, 0xFFC00000, 0x7FFF),
    (F32, F16, 0xFFC00000, 0x7FFF),
    (F32, E4M3, 0xFFC00000, 0x7F),
    (E4M3, F32, 0xFF, 0x7FFFFFFF),
    (E5M2, F64, 0xFD, 0x7FFFFC0000000000),
    (F32, E8M0, 0xFFC00000, 0xFF),
    (F32, E5M3, 0xFFC00000, 0xFF),
    (F32, E2M1, 0xFFC00000, 0x7),
    (TF32, F32, 0x7F801FFF >> 13, 0x7F800000),
    (F32, TF32, 0xFF800001, 0x7FFFE000 >> 13),
]


@pytest.mark.parametrize(("source", "target", "before", "after"), NAN_CASES, ids=str)
def test_nan(source: Scalar, target: Scalar, before: int, after: int) -> None:
    mode = ZERO if target is E8M0 else NEAREST
    assert bits_of(run(conversion(source, target, mode), held([before], source)), target) == [after]


@pytest.mark.parametrize("target", (F16, BF16, TF32, E4M3, F64), ids=str)
def test_the_place_in_the_array_does_not_matter(target: Scalar) -> None:
    x = held(list(range(0, 1 << 32, 0x3FFFFD)), F32)
    whole = bits_of(run(conversion(F32, target), x), target)
    for start, stop in ((0, 1), (3, 20), (17, 33), (1, None)):
        assert bits_of(run(conversion(F32, target), x[:, start:stop]), target) == whole[start:stop]


# ---------------------------------------------------------------- integers and floats


def integers(element: Scalar) -> list[int]:
    """Bits of integers: all narrow ones, or those next to powers of two and to ties of every precision."""
    if element.bits <= 8:
        return list(range(1 << element.bits))
    draw = random.Random(str(element))
    found = {draw.getrandbits(draw.randrange(1, element.bits + 1)) for _ in range(4 * COUNT)}
    for power in range(element.bits):
        for drop in range(power + 1):
            middle = 1 << power | 1 << drop
            found |= {middle - 1, middle, middle + 1, middle | 1 << (drop + 1) % element.bits}
    found |= {-n for n in found}
    whole = sorted({n % (1 << element.bits) for n in found})
    return whole if FULL else sorted(draw.sample(whole, 20 * COUNT))


@pytest.mark.parametrize("target", [t for t in FLOATS if t is not E8M0], ids=str)
@pytest.mark.parametrize("source", INTS, ids=str)
@pytest.mark.parametrize("signedness", Signedness)
def test_an_integer_is_rounded_once(signedness: Signedness, source: Scalar, target: Scalar) -> None:
    bits = integers(source)
    o = ops.IToF(from_=tile(source), signedness=signedness, to=tile(target))
    form = target.format
    for before, after in zip(bits, bits_of(run(o, held(bits, source)), target), strict=True):
        number = before - (1 << source.bits) if signedness is SIGNED and before >> (source.bits - 1) else before
        expected = softfloat.rounded(target, Fraction(number if form.signed else abs(number)), NEAREST)
        if expected is None:
            expected = form.top | (number < 0 and form.signed) << (target.bits - 1)
        assert after == expected, f"{number} gave {after:#x}"


@pytest.mark.parametrize("source", FLOATS, ids=str)
@pytest.mark.parametrize("target", (I8, I16, I32, I64), ids=str)
@pytest.mark.parametrize("signedness", Signedness)
def test_a_float_goes_towards_zero(signedness: Signedness, target: Scalar, source: Scalar) -> None:
    draw = random.Random(f"{source} {target}")
    bits = {draw.getrandbits(source.bits) for _ in range(COUNT)}
    for power in range(66):
        for number in ((1 << power) - 1, 1 << power, (1 << power) + 1, (2 << power) - 1):
            near = softfloat.rounded(source, Fraction(number), ZERO)
            if near is not None:
                bits |= {near, near ^ 1, near | 1 << (source.bits - 1)}
    numbers = sorted(n for n in bits if not is_nan(source, n) and n < 1 << source.bits)
    o = ops.FToI(from_=tile(source), signedness=signedness, saturating=True, to=tile(target))
    plain = ops.FToI(from_=tile(source), signedness=signedness, to=tile(target))
    x = held(numbers, source)
    limit = 1 << (target.bits - (signedness is SIGNED))
    found = bits_of(run(o, x), target)
    for before, after, other in zip(numbers, found, bits_of(run(plain, x), target), strict=True):
        expected = softfloat.to_int(source, target, before, signedness, saturating=True)
        if expected is None:
            assert softfloat.value(source, before) is None
            low = limit if signedness is SIGNED else 0
            expected = low if softfloat.is_negative(source, before) else limit - 1
        assert after == expected, f"{before:#x} gave {after:#x}"
        assert other == after or softfloat.to_int(source, target, before, signedness, saturating=False) is None


@pytest.mark.parametrize(
    ("source", "target", "signedness", "saturating", "expected"),
    [
        (F32, I32, SIGNED, True, 0),
        (F32, I32, SIGNED, False, 0),
        (F32, I64, SIGNED, False, 1 << 63),
        (F16, I64, UNSIGNED, False, 1 << 63),
        (F32, I64, UNSIGNED, True, 0),
        (F64, I32, SIGNED, False, 1 << 31),
        (F64, I16, UNSIGNED, False, 1 << 15),
        (F64, I8, SIGNED, False, 0),
        (F64, I1, UNSIGNED, False, 1),
    ],
)
def test_nan_to_integer(
    source: Scalar, target: Scalar, signedness: Signedness, saturating: bool, expected: int
) -> None:
    o = ops.FToI(from_=tile(source), signedness=signedness, saturating=saturating, to=tile(target))
    x = np.array([[np.nan, -np.nan, 1]], carrier(source))
    assert bits_of(run(o, x), target) == [expected, expected, 1]


def test_i8_is_the_lower_half_of_i16_if_it_does_not_saturate() -> None:
    o = ops.FToI(from_=tile(F32), signedness=SIGNED, to=tile(I8))
    x = np.array([[130.5, 300, -129, 40000, -40000, np.inf]], np.float32)
    assert run(o, x).tolist() == [[-126, 44, 127, -1, 0, -1]]


def test_i1_is_whether_a_float_is_not_zero() -> None:
    o = ops.FToI(from_=tile(F16), signedness=UNSIGNED, to=tile(I1))
    assert run(o, np.array([[0, -0.0, 0.25, -3, np.inf]], np.float16)).tolist() == [[False, False, True, True, True]]


# ---------------------------------------------------------------- bits


@pytest.mark.parametrize("signedness", Signedness)
@pytest.mark.parametrize(
    ("source", "target"), [p for p in product((I4, *INTS), repeat=2) if p[0].bits < p[1].bits], ids=str
)
def test_widening_and_narrowing_integers(signedness: Signedness, source: Scalar, target: Scalar) -> None:
    bits = integers(source)
    wide = run(ops.ExtI(from_=tile(source), signedness=signedness, to=tile(target)), held(bits, source))
    signs = [n >> (source.bits - 1) if signedness is SIGNED else 0 for n in bits]
    expected = [(n - (sign << source.bits)) % (1 << target.bits) for n, sign in zip(bits, signs)]
    assert bits_of(wide, target) == expected
    assert bits_of(run(ops.TruncI(from_=tile(target), to=tile(source)), wide), source) == bits


@pytest.mark.parametrize("target", (I1, I4, I8, I16, I32), ids=str)
def test_narrowing_drops_the_upper_bits(target: Scalar) -> None:
    bits = integers(I64)
    found = run(ops.TruncI(from_=tile(I64), to=tile(target)), held(bits, I64))
    assert bits_of(found, target) == [n % (1 << target.bits) for n in bits]


NUMBERS = [s for s in SCALARS.values() if s is not I4]


@pytest.mark.parametrize(
    ("source", "target"), [p for p in product(NUMBERS, repeat=2) if p[0].bits == p[1].bits], ids=str
)
def test_bitcast_keeps_every_bit(source: Scalar, target: Scalar) -> None:
    draw = random.Random(str(source))
    bits = [draw.getrandbits(source.bits) for _ in range(100)]
    o = ops.Bitcast(source=tile(source), result=tile(target))
    assert bits_of(run(o, held(bits, source)), target) == bits


def test_pointers_are_addresses() -> None:
    addresses = np.array([[0, 1, 1 << 40, -1]], np.int64)
    pointer, other = tile(Ptr(F32)), tile(Ptr(I8))
    made = run(ops.IntToPtr(source=tile(I64), result=pointer), addresses)
    moved = run(ops.PtrToPtr(source=pointer, result=other), made)
    assert (run(ops.PtrToInt(source=other, result=tile(I64)), moved) == addresses).all()


@pytest.mark.parametrize("element", [s for s in SCALARS.values() if s.bits != 8], ids=str)
def test_packing_puts_the_first_elements_into_the_lower_bits(element: Scalar) -> None:
    draw = random.Random(str(element))
    lanes = [[draw.getrandbits(element.bits) for _ in range(16)] for _ in range(3)]
    x = np.concatenate([held(bits, element) for bits in lanes])
    width = 32 if element is TF32 else element.bits
    narrow, packed = tile(element, 16), tile(I8, 2 * width)
    found = run(ops.Pack(source=narrow, result=packed), x)
    assert found.dtype == np.int8 and found.shape == (3, 2 * width)
    for bits, row in zip(lanes, found):
        shift = 13 if element is TF32 else 0
        whole = sum(n << shift << width * i for i, n in enumerate(bits))
        assert row.tobytes() == whole.to_bytes(2 * width, "little")
    again = run(ops.Unpack(source=packed, result=narrow), found)
    assert again.shape == (3, 16)
    assert bits_of(again, element) == [n for bits in lanes for n in bits]
