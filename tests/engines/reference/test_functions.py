"""Transcendental functions and powers of the reference engine, against Python's math module and many digits."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from support.floats import NEAREST, as_float, found, held, holding, number, same, special
from support.oracle import FULL
from tilery.engines.common.numerics import precise
from tilery.engines.common.numerics import transcendental as functions
from tilery.floats import arithmetic as softfloat
from tilery.types import BF16, F16, F32, F64, Scalar

TYPES = (F16, BF16, F32, F64)
COUNT = 5000 if FULL else 100
TRANSCENDENTAL: dict[str, tuple[Any, Callable[[float], float]]] = {
    name: (getattr(functions, name.upper()), getattr(math, name))
    for name in ("exp", "exp2", "log", "log2", "sin", "cos", "tan", "sinh", "cosh", "tanh")
}


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """NumPy says nothing about infinities and NaNs, as in the engine."""
    with np.errstate(all="ignore"):
        yield


def by_libm(function: Callable[[float], float], type: Scalar, bits: int) -> int | None:
    """The function by Python's math module, rounded once; None where it has no finite value."""
    try:
        exact = function(number(type, bits))
    except (ValueError, OverflowError):
        return None
    if not math.isfinite(exact):
        return None
    return softfloat.rounded(type, Fraction(exact), NEAREST, math.copysign(1, exact) < 0)


@pytest.mark.parametrize("type", [F16, BF16], ids=str)
@pytest.mark.parametrize("name", TRANSCENDENTAL)
def test_functions_of_short_floats_are_the_nearest(name: str, type: Scalar) -> None:
    vector, scalar = TRANSCENDENTAL[name]
    every = list(range(0, 1 << 16, 1 if FULL else 61))
    got = found(functions.apply(vector, held(type, *every)))
    for n, bits in zip(every, got):
        want = by_libm(scalar, type, n)
        assert want is None or bits == want, (hex(n), hex(bits), hex(want))


@pytest.mark.parametrize("name", TRANSCENDENTAL)
def test_functions_of_f32_are_the_nearest(name: str) -> None:
    vector, scalar = TRANSCENDENTAL[name]
    rng = random.Random(7)
    chosen = special(F32) + [rng.getrandbits(32) for _ in range(COUNT)]
    chosen += [found(np.array([rng.gauss(0, 10)], np.float32))[0] for _ in range(COUNT)]
    got = found(functions.apply(vector, held(F32, *chosen)))
    for n, bits in zip(chosen, got):
        want = by_libm(scalar, F32, n)
        assert want is None or bits == want, (hex(n), hex(bits), hex(want))


def sloppy(function: functions.ExactFunction) -> functions.ExactFunction:
    """The same function as another host might compute it: some ULP of f64 off."""
    return functions.ExactFunction(lambda *x: np.multiply(function.fast(*x), 1 + 2.0**-50), function.precise)


def test_squares_in_the_middle_of_two_numbers() -> None:
    x = np.arange(4097, 5793, 2).astype(np.float32)
    two = np.full_like(x, 2)
    for power in (functions.POW, sloppy(functions.POW)):
        assert np.array_equal(functions.apply(power, x, two), x * x)


@pytest.mark.parametrize("name", [*TRANSCENDENTAL, "rsqrt", "atan2", "pow"])
def test_functions_do_not_depend_on_the_last_bits_of_f64(name: str) -> None:
    function: functions.ExactFunction = getattr(functions, name.upper())
    rng = np.random.default_rng(10)
    count = 2 if name in ("atan2", "pow") else 1
    operands = [rng.standard_normal((1, 1 << (22 if FULL else 17))).astype(np.float32) for _ in range(count)]
    assert found(functions.apply(function, *operands)) == found(functions.apply(sloppy(function), *operands))
    short = [x.astype(np.float16) for x in operands]
    assert found(functions.apply(function, *short)) == found(functions.apply(sloppy(function), *short))


@pytest.mark.parametrize("x", [0.3, -1.75, 22.0, 1e-30])
@pytest.mark.parametrize("name", TRANSCENDENTAL)
def test_many_digits(name: str, x: float) -> None:
    with localcontext(Context(prec=precise.DIGITS)):
        if x > 0 or not name.startswith("log"):
            got = float(getattr(precise, name)(Decimal(x)))
            assert math.isclose(got, getattr(math, name)(x), rel_tol=5e-16)
        for y in (3.0, -0.5):
            assert math.isclose(precise.arctan2(Decimal(x), Decimal(y)), math.atan2(x, y), rel_tol=5e-16)
            assert math.isclose(precise.power(Decimal(y), Decimal(3)), y**3, rel_tol=5e-16)


@pytest.mark.parametrize("type", TYPES, ids=str)
def test_limits_of_functions(type: Scalar) -> None:
    inf, nan = math.inf, math.nan
    limits: list[tuple[Any, float, float]] = [
        (functions.EXP, inf, inf),
        (functions.EXP, -inf, 0.0),
        (functions.EXP2, -inf, 0.0),
        (functions.LOG, 0.0, -inf),
        (functions.LOG, -0.0, -inf),
        (functions.LOG2, -1.0, nan),
        (functions.LOG, inf, inf),
        (functions.SIN, -0.0, -0.0),
        (functions.SIN, inf, nan),
        (functions.TANH, -inf, -1.0),
        (functions.SINH, -inf, -inf),
        (functions.COSH, -inf, inf),
    ]
    for function, x, want in limits:
        assert same(as_float(type, functions.apply(function, holding(type, x))), want)
    for x, want in ((0.0, inf), (-0.0, -inf), (inf, 0.0), (-1.0, nan), (4.0, 0.5)):
        assert same(as_float(type, functions.apply(functions.RSQRT, holding(type, x))), want)


POWERS = [
    ((0.0, 0.0), 1.0),
    ((math.nan, 0.0), 1.0),
    ((1.0, math.nan), 1.0),
    ((-1.0, math.inf), 1.0),
    ((-8.0, 3.0), -512.0),
    ((-8.0, 0.5), math.nan),
    ((-0.0, -3.0), -math.inf),
    ((-0.0, -2.0), math.inf),
    ((-math.inf, 3.0), -math.inf),
    ((-math.inf, -3.0), -0.0),
    ((0.5, -math.inf), math.inf),
]


@pytest.mark.parametrize("operands, want", POWERS)
@pytest.mark.parametrize("type", TYPES, ids=str)
def test_powers(type: Scalar, operands: tuple[float, float], want: float) -> None:
    base, exponent = operands
    assert same(as_float(type, functions.apply(functions.POW, holding(type, base), holding(type, exponent))), want)


@pytest.mark.parametrize("type", TYPES, ids=str)
def test_angles_have_the_quadrant_of_the_signs(type: Scalar) -> None:
    for x, y in product((0.0, -0.0, 1.0, -1.0, math.inf, -math.inf), repeat=2):
        got = as_float(type, functions.apply(functions.ATAN2, holding(type, x), holding(type, y)))
        want = holding(type, math.atan2(x, y))
        assert same(got, as_float(type, want))


@pytest.mark.parametrize("type", TYPES, ids=str)
def test_integer_powers(type: Scalar) -> None:
    cases = [
        (3.0, 0, 1.0),
        (math.nan, 0, 1.0),
        (-2.0, 3, -8.0),
        (-2.0, -3, -0.125),
        (0.0, -1, math.inf),
        (1.0, -128, 1),
    ]
    for base, exponent, want in cases:
        assert same(as_float(type, functions.powi(holding(type, base), np.array([exponent], np.int8))), want)
    assert as_float(type, functions.powi(holding(type, 4.0), np.array([True]))) == 0.25


def test_the_reciprocal_of_a_power_that_overflows_is_zero() -> None:
    assert functions.powi(np.array([2.0**64]), np.array([-16], np.int32))[0] == 0
    assert functions.powi(np.array([2.0**64], np.float32), np.array([-2], np.int32))[0] == 0
