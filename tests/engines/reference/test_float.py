"""Floating-point arithmetic and order of the reference engine, against rational arithmetic."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from support.floats import NEAREST, found, held, number, special
from support.oracle import FULL
from tilery.attrs import ComparisonOrdering, ComparisonPredicate, RoundingMode
from tilery.engines.common.numerics import arithmetic, order
from tilery.engines.common.numerics import transcendental as functions
from tilery.engines.common.tiles import Array, carrier, unsigned
from tilery.floats import arithmetic as softfloat
from tilery.floats.formats import is_nan
from tilery.types import BF16, F16, F32, F64, Scalar

ZERO = RoundingMode.ZERO
UP, DOWN = RoundingMode.POSITIVE_INF, RoundingMode.NEGATIVE_INF
MODES = (NEAREST, ZERO, DOWN, UP)
TYPES = (F16, BF16, F32, F64)
CANONICAL = {F16: 0x7FFF, BF16: 0x7FFF, F32: 0x7FFFFFFF}
COUNT = 5000 if FULL else 100
FUNCTIONS: dict[str, Callable[..., Array]] = {
    "add": arithmetic.add,
    "sub": arithmetic.sub,
    "mul": arithmetic.mul,
    "div": arithmetic.div,
    "sqrt": arithmetic.sqrt,
    "fma": arithmetic.fma,
}
EXACT: dict[str, Callable[..., int | None]] = {
    "add": softfloat.add,
    "sub": softfloat.sub,
    "mul": softfloat.mul,
    "div": softfloat.div,
    "sqrt": softfloat.sqrt,
    "fma": softfloat.fma,
}
ARITY = {"sqrt": 1, "fma": 3}


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """NumPy says nothing about infinities and NaNs, as in the engine."""
    with np.errstate(all="ignore"):
        yield


def operands(type: Scalar, arity: int, seed: int) -> list[tuple[int, ...]]:
    """Special values crossed, then random bits, then numbers of like size, whose sums cancel."""
    rng = random.Random(seed)
    values = special(type)
    if arity == 3 and not FULL:
        values = values[:2] + values[8:10] + values[12:14] + values[16:18] + values[22:26] + values[30:]
    rows = list(product(values, repeat=arity))
    for _ in range(COUNT):
        rows.append(tuple(rng.getrandbits(type.bits) for _ in range(arity)))
        base, spread = rng.getrandbits(type.bits), 4 << type.format.mantissa
        near = (base + rng.randint(-spread, spread) ^ rng.getrandbits(1) << type.bits - 1 for _ in range(arity))
        rows.append(tuple(bits % (1 << type.bits) for bits in near))
    return rows


def by_limits(name: str, numbers: list[float]) -> float:
    """What IEEE says about infinities, NaN and division by zero; None of it depends on rounding."""
    if any(map(math.isnan, numbers)):
        return math.nan
    match name, numbers:
        case "add", [x, y]:
            return x + y
        case "sub", [x, y]:
            return x - y
        case "mul", [x, y]:
            return x * y
        case "div", [x, y]:
            if y == 0:
                sign = math.copysign(1, x) * math.copysign(1, y)
                return math.nan if x == 0 else math.copysign(math.inf, sign)
            return x / y
        case "sqrt", [x]:
            return x if x > 0 else math.nan
        case _, [x, y, z]:
            # The signs decide, not the sizes, which could overflow.
            x, y = (v if math.isinf(v) or v == 0 else math.copysign(1, v) for v in (x, y))
            return x * y + (z if math.isinf(z) else 0)
    raise AssertionError(name)


def expected(name: str, type: Scalar, mode: RoundingMode, ftz: bool, bits: tuple[int, ...]) -> int | None:
    """The bits of the result, -1 for NaN; None where flushing decides about a number that rounds to a normal one."""
    if ftz:
        bits = tuple(softfloat.flushed(type, n) for n in bits)
    exact = EXACT[name](type, *bits, mode, ftz)
    if exact is not None:
        return exact
    values = [number(type, n) for n in bits]
    if all(map(math.isfinite, values)) and not (name == "div" and values[1] == 0) and name != "sqrt":
        assert ftz
        return None
    limit = by_limits(name, values)
    if math.isnan(limit):
        return -1
    infinity = type.format.top + 1
    sign = int(math.copysign(1, limit) < 0) << type.bits - 1
    return sign | (infinity if math.isinf(limit) else 0)


def agree(type: Scalar, got: int, want: int | None) -> bool:
    """Whether the bits are as expected. f64 passes NaNs on, other types have one."""
    if want is None:
        return True
    return (is_nan(type, got) if type is F64 else got == CANONICAL[type]) if want == -1 else got == want


# ---------------------------------------------------------------- exact arithmetic


@pytest.mark.parametrize("mode", MODES, ids=lambda m: m.name.lower())
@pytest.mark.parametrize("type", TYPES, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_rounded_once(name: str, type: Scalar, mode: RoundingMode) -> None:
    rows = operands(type, ARITY.get(name, 2), seed=1)
    arrays = [held(type, *column) for column in zip(*rows)]
    for ftz in (False, True) if type is F32 else (False,):
        got = found(FUNCTIONS[name](*arrays, mode, ftz))
        for row, bits in zip(rows, got):
            want = expected(name, type, mode, ftz, row)
            assert agree(type, bits, want), (ftz, [hex(n) for n in row], hex(bits), want and hex(want))


@pytest.mark.parametrize("mode", MODES, ids=lambda m: m.name.lower())
@pytest.mark.parametrize("type", [F16, BF16], ids=str)
def test_roots_of_short_floats(type: Scalar, mode: RoundingMode) -> None:
    every = list(range(0, 1 << 16, 1 if FULL else 29))
    got = found(arithmetic.sqrt(held(type, *every), mode))
    assert all(agree(type, bits, expected("sqrt", type, mode, False, (n,))) for n, bits in zip(every, got))


# 641 * 6700417 = 2**32 + 1: a product whose last bit is far from its first.
FMA_CASES = [
    (F32, (1 + 2.0**-12, 1 + 2.0**-12, 2.0**-100), 1 + 2.0**-11 + 2.0**-23),
    (F32, (1 + 2.0**-12, 1 + 2.0**-12, -(2.0**-100)), 1 + 2.0**-11),
    (F32, (-1 - 2.0**-12, 1 + 2.0**-12, -(2.0**-149)), -1 - 2.0**-11 - 2.0**-23),
    (F32, (641 * 2.0**-91, 6700417 * 2.0**-91, 2.0**-127), 2.0**-127 + 2.0**-149),
    (F32, (-641 * 2.0**-91, 6700417 * 2.0**-91, 2.0**-126), 2.0**-126 - 2.0**-149),
    (F32, (641 * 2.0**-91, 6700417 * 2.0**-91, 0.0), 2.0**-149),
    (BF16, (37.0, 7.0, 2.0**-100), 260.0),
    (BF16, (37.0, 7.0, -(2.0**-100)), 258.0),
    (BF16, (-37.0, 7.0, -(2.0**-133)), -260.0),
    (F16, (3.0, 683.0, 2.0**-24), 2050.0),
    (F16, (3.0, 683.0, -(2.0**-24)), 2048.0),
    (F64, (1 + 2.0**-26, 1 + 2.0**-27, 2.0**-1000), 1 + 2.0**-26 + 2.0**-27 + 2.0**-52),
    (F64, (1 + 2.0**-26, 1 + 2.0**-27, -(2.0**-1000)), 1 + 2.0**-26 + 2.0**-27),
    (F64, (2.0**1023, 2.0, -(2.0**1023)), 2.0**1023),
    (F64, (2.0**-600, 2.0**-600, 2.0**-1074), 2.0**-1074),
    (F64, (2.0**-537, 2.0**-538, 2.0**-1074), 2.0**-1073),
]


@pytest.mark.parametrize("type, factors, want", FMA_CASES)
def test_fma_does_not_round_twice(type: Scalar, factors: tuple[float, ...], want: float) -> None:
    bits = [softfloat.rounded(type, Fraction(x), NEAREST) for x in factors]
    assert all(n is not None and softfloat.value(type, n) == Fraction(x) for n, x in zip(bits, factors))
    a, b, c = (held(type, n) for n in bits if n is not None)
    got = arithmetic.fma(a, b, c)
    assert number(type, found(got)[0]) == want


@pytest.mark.parametrize("type", [BF16, F32, F64], ids=str)
def test_fma_near_midpoints(type: Scalar) -> None:
    rng = random.Random(2)
    mantissa = type.format.mantissa
    rows: list[tuple[int, int, int]] = []
    while len(rows) < COUNT:
        # A product that is a midpoint, of which the third operand takes or to which it adds very little.
        middle = rng.randrange(1 << mantissa + 1, 1 << mantissa + 2) | 1
        factor = next((d for d in range(3, 999, 2) if middle % d == 0), None)
        if factor:
            scale = Fraction(2) ** rng.randint(-30, 30)
            tiny = scale / Fraction(2) ** rng.randint(30, 60) * rng.choice([-1, 1])
            numbers = (Fraction(factor), middle // factor * scale, tiny)
            a, b, c = (softfloat.rounded(type, x, NEAREST) or 0 for x in numbers)
            rows.append((a, b, c))
    x, y, z = (held(type, *column) for column in zip(*rows))
    got = found(arithmetic.fma(x, y, z))
    assert got == [softfloat.fma(type, a, b, c, NEAREST) for a, b, c in rows]


@pytest.mark.parametrize(
    "mode, size, kept",
    [
        (NEAREST, 1 - 2.0**-25, True),
        (NEAREST, 1 - 2.0**-25 - 2.0**-30, False),
        (ZERO, 1 - 2.0**-30, False),
        (UP, 1 - 2.0**-30, True),
        (UP, 1 - 2.0**-24, False),
        (DOWN, 1 - 2.0**-30, False),
    ],
)
def test_flushing_looks_at_the_number_rounded_to_24_bits(mode: RoundingMode, size: float, kept: bool) -> None:
    smallest = np.float32(2.0**-126)
    # smallest * size = a * b + c with b = 1
    a, b, c = (np.array([x], np.float32) for x in (2.0**-70, (size - 1) * 2.0**-56, smallest))
    got = arithmetic.fma(a, b, c, mode, True)
    assert got[0] == (smallest if kept else 0)


def test_approximate_division_by_huge_numbers() -> None:
    a = np.array([1, -1, np.inf, 0, 3], np.float32)
    b = np.array([2.0**127, 2.0**127, 2.0**127, -(2.0**127), 2.0**126], np.float32)
    assert found(arithmetic.div_approx(a, b)) == [0, 1 << 31, 0x7FFFFFFF, 1 << 31, *found(a[4:] / b[4:])]


# ---------------------------------------------------------------- NaN


def test_one_nan() -> None:
    for type in (F16, BF16, F32):
        for bits in special(type):
            if is_nan(type, bits):
                x, one = held(type, bits), held(type, type.format.bias << type.format.mantissa)
                assert found(functions.apply(functions.EXP, x)) == [CANONICAL[type]]
                for function in (order.absolute, order.negative, order.floor, arithmetic.sqrt):
                    assert found(function(x)) == [CANONICAL[type]]
                for both in (arithmetic.add, arithmetic.mul, arithmetic.div, order.remainder):
                    assert found(both(x, one)) == found(both(one, x)) == [CANONICAL[type]]


def test_f64_passes_payloads_on() -> None:
    first, second, third, one = (held(F64, n) for n in (0x7FF4 << 48, 0xFFF0 << 48 | 7, 0x7FF8 << 48 | 9, 0x3FF0 << 48))
    quiet, invalid = 8 << 48, [0xFFF8 << 48]
    one_of = {id(x): [found(x)[0] | quiet] for x in (first, second, third)}
    for mode in MODES:
        for last in (arithmetic.add, arithmetic.sub, arithmetic.mul):
            assert found(last(first, second, mode)) == one_of[id(second)]
            assert found(last(first, one, mode)) == found(last(one, first, mode)) == one_of[id(first)]
        assert found(arithmetic.div(first, second, mode)) == one_of[id(first)]
        assert found(arithmetic.fma(first, second, third, mode)) == one_of[id(second)]
        assert found(arithmetic.fma(first, one, third, mode)) == one_of[id(third)]
        assert found(arithmetic.sqrt(-one, mode)) == invalid
    assert found(order.negative(first)) == found(order.absolute(first)) == one_of[id(first)]
    assert found(order.maximum(first, second)) == one_of[id(second)]
    assert found(order.maximum(first, second, propagate_nan=True)) == [0x7FF8 << 48]
    infinite = held(F64, 0x7FF0 << 48)
    assert found(arithmetic.sub(infinite, infinite)) == found(functions.apply(functions.SIN, infinite)) == invalid


def test_nan_of_an_operand_that_the_result_overwrites() -> None:
    for place in (0, 1):
        a, b = held(F64, 0x7FF4 << 48, 1), held(F64, 0x7FF8 << 48 | 9, 2)
        want = found(arithmetic.add(a, b))
        assert found(arithmetic.add(a, b, out=(a, b)[place])) == want


# ---------------------------------------------------------------- order


@pytest.mark.parametrize("type", TYPES, ids=str)
def test_comparisons(type: Scalar) -> None:
    rows = operands(type, 2, seed=3)
    a, b = (held(type, *column) for column in zip(*rows))
    for predicate, ordering in product(ComparisonPredicate, ComparisonOrdering):
        got = order.compare(predicate, ordering, a, b)[0].tolist()
        assert got == [softfloat.compare(predicate, ordering, type, *row) for row in rows]


@pytest.mark.parametrize("propagate", [False, True])
@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("type", TYPES, ids=str)
def test_extremes(type: Scalar, largest: bool, propagate: bool) -> None:
    rows = operands(type, 2, seed=4)
    a, b = (held(type, *column) for column in zip(*rows))
    for ftz in (False, True) if type is F32 else (False,):
        got = found((order.maximum if largest else order.minimum)(a, b, propagate, ftz))
        for (x, y), bits in zip(rows, got):
            want = softfloat.extreme(type, x, y, largest, propagate, ftz)
            assert agree(type, bits, -1 if want is None else want), (hex(x), hex(y), hex(bits))


@pytest.mark.parametrize("type", TYPES, ids=str)
def test_signs_and_integers(type: Scalar) -> None:
    every = list(range(1 << 16)) if type.bits == 16 else [row[0] for row in operands(type, 1, seed=5)]
    x = held(type, *every)
    results = [found(f(x)) for f in (order.absolute, order.negative, order.floor, order.ceil)]
    for bits, minus, plus, low, high in zip(every, *results):
        if is_nan(type, bits):
            continue
        assert (minus, plus) == (softfloat.absolute(type, bits), softfloat.neg(type, bits))
        value = softfloat.value(type, bits)
        if value is None or value.denominator == 1:
            assert low == high == bits
        else:
            negative = softfloat.is_negative(type, bits)
            assert low == softfloat.rounded(type, Fraction(math.floor(value)), NEAREST, negative)
            assert high == softfloat.rounded(type, Fraction(math.ceil(value)), NEAREST, negative)


@pytest.mark.parametrize("type", TYPES, ids=str)
def test_remainders(type: Scalar) -> None:
    rows = operands(type, 2, seed=6)
    got = found(order.remainder(*(held(type, *column) for column in zip(*rows))))
    for row, bits in zip(rows, got):
        x, y = (softfloat.value(type, n) for n in row)
        if x is None or y == 0 or is_nan(type, row[1]):
            assert agree(type, bits, -1)
        elif y is None:
            assert bits == row[0]
        else:
            rest = x - y * math.trunc(x / y)
            assert bits == softfloat.rounded(type, rest, NEAREST, softfloat.is_negative(type, row[0]))


# ---------------------------------------------------------------- arrays


BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "add": arithmetic.add,
    "div": arithmetic.div,
    "add up": lambda a, b: arithmetic.add(a, b, UP),
    "fma": lambda a, b: arithmetic.fma(a, b, a),
    "maximum": order.maximum,
    "minimum": lambda a, b: order.minimum(a, b, propagate_nan=True),
    "remainder": order.remainder,
    "exp": lambda a, b: functions.apply(functions.EXP, a),
    "sin": lambda a, b: functions.apply(functions.SIN, a),
    "tanh": lambda a, b: functions.apply(functions.TANH, a),
    "log": lambda a, b: functions.apply(functions.LOG, a),
    "power": lambda a, b: functions.apply(functions.POW, a, b),
    "arctan2": lambda a, b: functions.apply(functions.ATAN2, a, b),
}


@pytest.mark.parametrize("type", TYPES, ids=str)
@pytest.mark.parametrize("name", BINARY)
def test_the_place_in_the_array_does_not_matter(name: str, type: Scalar) -> None:
    rng = random.Random(8)
    minus = 1 << type.bits - 1
    rows = [*rng.sample(list(product(special(type), repeat=2)), 12), (0, minus), (minus, 0)]
    rows += [(rng.getrandbits(type.bits), rng.getrandbits(type.bits)) for _ in range(4)]
    alone = [found(BINARY[name](held(type, a), held(type, b)))[0] for a, b in rows]
    for shift in range(18):
        turned = rows[shift:] + rows[:shift]
        for length in (1, 3, 8, 17, 33):
            part = (turned * 2)[:length]
            a, b = (held(type, *column) for column in zip(*part))
            assert found(BINARY[name](a, b)) == ((alone[shift:] + alone[:shift]) * 2)[:length]
            # Every second element of a longer array: not contiguous.
            a, b = (np.repeat(x, 2, axis=1)[:, ::2] for x in (a, b))
            assert found(BINARY[name](a, b)) == ((alone[shift:] + alone[:shift]) * 2)[:length]


@pytest.mark.parametrize("type", TYPES, ids=str)
def test_lanes(type: Scalar) -> None:
    rng = np.random.default_rng(9)
    wide = [rng.standard_normal((lanes, 9000)).astype(np.float32) for lanes in (7, 1, 7)]
    x, y, z = ((unsigned(v) >> 16).astype(np.uint16) if type is BF16 else v.astype(carrier(type)) for v in wide)
    for function in (arithmetic.add, arithmetic.mul, order.maximum):
        whole = function(x, y)
        assert whole.shape == (7, 9000)
        assert found(whole) == [n for lane in x for n in found(function(lane[None], y))]
        assert found(function(x, y, out=np.empty_like(x))) == found(whole)
    whole = arithmetic.fma(x, y, z)
    assert found(whole) == [n for i in range(7) for n in found(arithmetic.fma(x[i : i + 1], y, z[i : i + 1]))]
    assert found(arithmetic.fma(y, y, z)) == [n for lane in z for n in found(arithmetic.fma(y, y, lane[None]))]
    assert found(arithmetic.fma(x.copy(), y, z, out=z)) == found(whole)
