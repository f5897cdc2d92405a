"""Float arithmetic by bits, checked against exact rational arithmetic and against the machine's own floats."""

from __future__ import annotations

import math
import random
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from fractions import Fraction
from functools import cache

import pytest

import tilery
from support.oracle import FULL
from tilery.attrs import ComparisonOrdering, ComparisonPredicate, RoundingMode, Signedness
from tilery.floats import arithmetic as softfloat
from tilery.floats.formats import is_nan
from tilery.ir import walk
from tilery.ops import Constant
from tilery.passes.fold_float import fold_float
from tilery.rewrite import Report
from tilery.types import BF16, F16, F32, F64, I1, I8, I32, SCALARS, Scalar

NEAREST, ZERO = RoundingMode.NEAREST_EVEN, RoundingMode.ZERO
UP, DOWN, AWAY = RoundingMode.POSITIVE_INF, RoundingMode.NEGATIVE_INF, RoundingMode.NEAREST_AWAY
MODES = (NEAREST, ZERO, UP, DOWN)
E5M2, E4M3, E8M0, E2M1 = (SCALARS[n] for n in ("f8E5M2", "f8E4M3FN", "f8E8M0FNU", "f4E2M1FN"))


@cache
def line(kind: Scalar) -> list[tuple[Fraction, int]]:
    """Every finite number of a narrow type in order, with the bits that have no sign where it is zero."""
    found = {}
    for bits in range(1 << kind.bits):
        number = softfloat.value(kind, bits)
        if number is not None and (number or not softfloat.is_negative(kind, bits)):
            found[number] = bits
    return sorted(found.items())


def expected(kind: Scalar, number: Fraction, mode: RoundingMode) -> int | None:
    """The bits of a number that is not zero, by looking at its two neighbours among all numbers of the type."""
    numbers = line(kind)
    keys = keys_of(kind)
    below, above = bisect_right(keys, number) - 1, bisect_left(keys, number)
    sign = 1 << (kind.bits - 1) if number < 0 else 0
    infinity = kind.format.top + 1
    if below == above:
        return numbers[below][1]
    if below < 0 or above == len(numbers):
        # Beyond the largest number: as if there were one more step.
        top, step = numbers[-1][0], numbers[-1][0] - numbers[-2][0]
        size = abs(number)
        inward = {NEAREST: 2 * size < 2 * top + step, ZERO: True, UP: number < 0, DOWN: number > 0}[mode]
        if inward:
            return sign | numbers[-1][1]
        return sign | infinity if kind.format.base else None
    (low, a), (high, b) = numbers[below], numbers[above]
    # A negative number that rounds to zero gives -0.
    a, b = a or sign, b or sign
    if mode is NEAREST:
        if 2 * number == low + high:
            return a if not a & 1 else b
        return a if 2 * number < low + high else b
    toward_low = {DOWN: True, UP: False, ZERO: number > 0}[mode]
    return a if toward_low else b


@cache
def keys_of(kind: Scalar) -> list[Fraction]:
    return [n for n, _ in line(kind)]


def finite(kind: Scalar, draw: random.Random) -> int:
    while True:
        bits = draw.getrandbits(kind.bits)
        if softfloat.value(kind, bits) is not None:
            return bits


ARITHMETIC: dict[str, tuple[int, Callable[..., Fraction]]] = {
    "add": (2, lambda x, y: x + y),
    "sub": (2, lambda x, y: x - y),
    "mul": (2, lambda x, y: x * y),
    "div": (2, lambda x, y: x / y),
    "fma": (3, lambda x, y, z: x * y + z),
}


@pytest.mark.parametrize("kind", [F16, BF16], ids=str)
@pytest.mark.parametrize("name", ARITHMETIC)
def test_arithmetic_is_exact(name: str, kind: Scalar) -> None:
    """Random operands: the result is the right one of the exact result's neighbours, bit by bit."""
    arity, exact = ARITHMETIC[name]
    draw = random.Random(f"{name} {kind}")
    for _ in range(400):
        operands = [finite(kind, draw) for _ in range(arity)]
        numbers = [softfloat.value(kind, b) for b in operands]
        if name == "div" and numbers[1] == 0:
            continue
        result = exact(*numbers)
        for mode in MODES if result else ():
            assert getattr(softfloat, name)(kind, *operands, mode) == expected(kind, result, mode)


@pytest.mark.parametrize("mode", MODES, ids=lambda m: m.text)
def test_every_pair_of_a_small_type(mode: RoundingMode) -> None:
    """Sums and products of f8E5M2; all 61,504 pairs with TILERY_FULL=1."""
    numbers = [(b, v) for b in range(256) if (v := softfloat.value(E5M2, b)) is not None]
    for a, x in numbers[:: 1 if FULL else 7]:
        for b, y in numbers:
            if x + y:
                assert softfloat.add(E5M2, a, b, mode) == expected(E5M2, x + y, mode)
            if x * y:
                assert softfloat.mul(E5M2, a, b, mode) == expected(E5M2, x * y, mode)


def bits64(x: float) -> int:
    return int.from_bytes(struct.pack(">d", x), "big")


def float64(bits: int) -> float:
    found: float = struct.unpack(">d", bits.to_bytes(8, "big"))[0]
    return found


def test_f64_agrees_with_the_machine() -> None:
    """Python's floats are IEEE binary64, rounded to nearest."""
    draw = random.Random(64)
    for _ in range(3000):
        a, b = finite(F64, draw), finite(F64, draw)
        if draw.random() < 0.5:  # near each other, so that something happens
            b = a ^ draw.getrandbits(52) ^ draw.getrandbits(1) << 63
        x, y = float64(a), float64(b)
        assert softfloat.add(F64, a, b, NEAREST) == bits64(x + y)
        assert softfloat.sub(F64, a, b, NEAREST) == bits64(x - y)
        assert softfloat.mul(F64, a, b, NEAREST) == bits64(x * y)
        if y:
            assert softfloat.div(F64, a, b, NEAREST) == bits64(x / y)
        if x >= 0:
            assert softfloat.sqrt(F64, a, NEAREST) == bits64(math.sqrt(x))


@pytest.mark.parametrize("mode", MODES, ids=lambda m: m.text)
def test_square_root_is_exact(mode: RoundingMode) -> None:
    """The root's neighbours enclose it: their squares do."""
    draw = random.Random(2)
    for kind in (F16, F32, F64):
        for _ in range(300):
            a = finite(kind, draw) & ((1 << kind.bits - 1) - 1)
            x = softfloat.value(kind, a)
            root = softfloat.sqrt(kind, a, mode)
            assert x is not None and root is not None
            below, at, above = (softfloat.value(kind, max(root + d, 0)) for d in (-1, 0, 1))
            assert below is not None and at is not None and above is not None
            if mode is NEAREST:
                assert (below + at) ** 2 <= 4 * x <= (at + above) ** 2
            elif mode is UP:
                assert below**2 < x <= at**2 or x == 0
            else:
                assert at**2 <= x < above**2


def test_signs_of_zero() -> None:
    plus, minus, one, minus_one = 0, 0x80000000, 0x3F800000, 0xBF800000
    for mode in MODES:
        cancelled = minus if mode is DOWN else plus
        assert softfloat.add(F32, plus, plus, mode) == plus
        assert softfloat.add(F32, minus, minus, mode) == minus
        assert softfloat.add(F32, plus, minus, mode) == cancelled
        assert softfloat.add(F32, one, minus_one, mode) == cancelled
        assert softfloat.sub(F32, one, one, mode) == cancelled
        assert softfloat.fma(F32, one, one, minus_one, mode) == cancelled
        assert softfloat.mul(F32, minus, one, mode) == minus
        assert softfloat.sqrt(F32, minus, mode) == minus


def test_flush_to_zero() -> None:
    tiny, smallest, half = 0x00000001, 0x00800000, 0x3F000000
    assert softfloat.add(F32, tiny, tiny, NEAREST, ftz=True) == 0
    assert softfloat.add(F32, tiny | 1 << 31, 1 << 31, NEAREST, ftz=True) == 1 << 31
    assert softfloat.mul(F32, smallest, half, NEAREST, ftz=True) == 0
    assert softfloat.mul(F32, smallest, half | 1 << 31, NEAREST, ftz=True) == 1 << 31
    assert softfloat.mul(F32, smallest, half, NEAREST) == 0x00400000
    assert softfloat.extreme(F32, tiny, 1 << 31, True, False, ftz=True) == 0


def test_a_result_that_rounds_up_to_normal_is_not_decided_when_flushing() -> None:
    almost_one, smallest = 0x3F7FFFFF, 0x00800000
    assert softfloat.mul(F32, smallest, almost_one, UP) == smallest
    assert softfloat.mul(F32, smallest, almost_one, UP, ftz=True) is None


NAN, INF = 0x7FC00000, 0x7F800000
ONE = 0x3F800000


@pytest.mark.parametrize(
    ("result", "what"),
    [
        (softfloat.add(F32, INF, ONE, NEAREST), "an infinite operand"),
        (softfloat.add(F32, NAN, ONE, NEAREST), "NaN"),
        (softfloat.div(F32, ONE, 0, NEAREST), "division by zero"),
        (softfloat.sqrt(F32, ONE | 1 << 31, NEAREST), "the root of a negative number"),
        (softfloat.div(F32, ONE, ONE, RoundingMode.APPROX), "an approximation"),
        (softfloat.div(F32, ONE, ONE, RoundingMode.FULL), "an approximation"),
        (softfloat.neg(F32, NAN), "the sign of NaN"),
        (softfloat.extreme(F32, NAN, NAN, True, False), "the larger of two NaN"),
        (softfloat.extreme(F32, NAN, ONE, True, True), "NaN that propagates"),
        (softfloat.convert(F32, E4M3, 0x7F000000, NEAREST), "overflow without infinities"),
        (softfloat.convert(F32, E8M0, 0, ZERO), "zero in a type without it"),
        (softfloat.convert(F32, E8M0, ONE | 1 << 31, ZERO), "a sign in a type without it"),
        (softfloat.to_int(F32, I8, 0x43800000, Signedness.SIGNED, False), "out of range"),
        (softfloat.to_int(F32, I32, NAN, Signedness.SIGNED, True), "NaN as an integer"),
        (softfloat.from_int(I1, F32, 1, Signedness.SIGNED, NEAREST), "a signed i1"),
    ],
)
def test_what_is_not_defined_is_not_folded(result: int | None, what: str) -> None:
    assert result is None, what


def test_overflow_follows_the_rounding_mode() -> None:
    top = 0x7F7FFFFF
    answers = [softfloat.add(F32, top, top, mode) for mode in MODES]
    assert answers == [INF, top, INF, top]


def test_conversions() -> None:
    assert softfloat.convert(F32, F16, 0x3EAAAAAB, NEAREST) == 0x3555
    assert softfloat.convert(F32, F16, INF, NEAREST) == 0x7C00
    assert softfloat.convert(F32, E8M0, 0x40400000, ZERO) == 128
    assert softfloat.convert(F32, E8M0, 0x40400000, UP) == 129
    assert softfloat.convert(F32, E2M1, 0x40200000, NEAREST) == 4  # 2.5: halfway between 2 and 3, to even
    assert softfloat.convert(F32, SCALARS["tf32"], 0x3F801000, AWAY) == 0x1FC01
    assert softfloat.from_int(I32, F32, 0x01000001, Signedness.SIGNED, NEAREST) == 0x4B800000
    assert softfloat.from_int(I8, F16, 0xFF, Signedness.SIGNED, NEAREST) == 0xBC00
    assert softfloat.from_int(I8, F16, 0xFF, Signedness.UNSIGNED, NEAREST) == 0x5BF8
    assert softfloat.to_int(F32, I8, 0xC2FF0000, Signedness.SIGNED, False) == 0x81  # -127.5
    assert softfloat.to_int(F32, I8, 0x43800000, Signedness.SIGNED, True) == 0x7F


@pytest.mark.parametrize("predicate", ComparisonPredicate, ids=lambda p: p.text)
def test_comparison(predicate: ComparisonPredicate) -> None:
    """All pairs of interesting numbers, against exact comparison; NaN follows the ordering."""
    symbols = {"EQUAL": "==", "NOT_EQUAL": "!=", "LESS_THAN": "<", "LESS_THAN_OR_EQUAL": "<="}
    symbols |= {"GREATER_THAN": ">", "GREATER_THAN_OR_EQUAL": ">="}
    every = [0, 1 << 31, 1, ONE, ONE | 1 << 31, INF, INF | 1 << 31, NAN]
    for a in every:
        for b in every:
            x, y = (struct.unpack(">f", n.to_bytes(4, "big"))[0] for n in (a, b))
            for ordering in ComparisonOrdering:
                found = softfloat.compare(predicate, ordering, F32, a, b)
                if is_nan(F32, a) or is_nan(F32, b):
                    assert found == (ordering is ComparisonOrdering.UNORDERED)
                else:
                    assert found == eval(f"x {symbols[predicate.name]} y", {"x": x, "y": y})


# ---------------------------------------------------------------- the pass


def folded(body: str, result: str) -> tuple[Constant | None, Report]:
    """The constant that `%r` became, if it became one."""
    text = f"cuda_tile.module @m {{ entry @k(%p: tile<ptr<{result}>>) {{\n{body}\n"
    text += f"%t = store_ptr_tko weak %p, %r : tile<ptr<{result}>>, tile<{result}> -> token\nreturn }} }}"
    module = tilery.parse(text)
    report = Report()
    fold_float(module, report)
    assert not list(tilery.verify(module))
    (store,) = [o for o in walk(module) if o.name == "store_ptr_tko"]
    owner = store.operands[1].owner
    return (owner if isinstance(owner, Constant) else None), report


F = "%a = constant <f32: {}> : tile<f32>\n%b = constant <f32: {}> : tile<f32>\n"


@pytest.mark.parametrize(
    ("body", "kind", "bits"),
    [
        (F.format(0.1, 0.2) + "%r = addf %a, %b : tile<f32>", "f32", 0x3E99999A),
        (F.format(0.1, 0.2) + "%r = addf %a, %b rounding<zero> : tile<f32>", "f32", 0x3E999999),
        (F.format(1.0, 3.0) + "%r = divf %a, %b rounding<positive_inf> : tile<f32>", "f32", 0x3EAAAAAB),
        (F.format(1.5, -2.5) + "%r = mulf %a, %b : tile<f32>", "f32", 0xC0700000),
        (F.format(1.5, -2.5) + "%r = subf %a, %b : tile<f32>", "f32", 0x40800000),
        (F.format(1.5, -2.5) + "%r = fma %a, %b, %b : tile<f32>", "f32", 0xC0C80000),
        (F.format(1.5, -2.5) + "%r = minf %a, %b : tile<f32>", "f32", 0xC0200000),
        (F.format(1.5, "0x7FC00000") + "%r = maxf %a, %b : tile<f32>", "f32", 0x3FC00000),
        (F.format(1.5, -2.5) + "%r = absf %b : tile<f32>", "f32", 0x40200000),
        (F.format(1.5, -2.5) + "%r = negf %a : tile<f32>", "f32", 0xBFC00000),
        (F.format(2.0, 0.0) + "%r = sqrt %a : tile<f32>", "f32", 0x3FB504F3),
        (F.format(2.5, 0.0) + "%r = ftoi %a signed : tile<f32> -> tile<i32>", "i32", 2),
        (F.format(2.5, 0.0) + "%r = ftof %a : tile<f32> -> tile<f16>", "f16", 0x4100),
        (F.format(1.5, -2.5) + "%r = cmpf less_than ordered %a, %b : tile<f32> -> tile<i1>", "i1", 0),
        ("%i = constant <i32: -3> : tile<i32>\n%r = itof %i signed : tile<i32> -> tile<f32>", "f32", 0xC0400000),
    ],
)
def test_fold(body: str, kind: str, bits: int) -> None:
    made, _ = folded(body, kind)
    assert made is not None and made.value.elements() == [bits]


@pytest.mark.parametrize(
    "body",
    [
        F.format("0x7F800000", 1.0) + "%r = addf %a, %b : tile<f32>",
        F.format(1.0, 3.0) + "%r = divf %a, %b rounding<approx> : tile<f32>",
        F.format(2.0, 3.0) + "%r = sqrt %a rounding<approx> : tile<f32>",
        F.format("0x7FC00000", 1.0) + "%r = maxf %a, %b propagate_nan : tile<f32>",
    ],
)
def test_not_folded(body: str) -> None:
    assert folded(body, "f32")[0] is None


def test_elements_fold_one_by_one() -> None:
    module = tilery.parse(
        """cuda_tile.module @m { entry @k() {
          %a = constant <f32: [1.0, 2.0, 3.0, 4.0]> : tile<4xf32>
          %b = constant <f32: 0.5> : tile<4xf32>
          %r = addf %a, %b : tile<4xf32>
          print_tko "%f", %r : tile<4xf32> -> token
          return } }"""
    )
    fold_float(module, Report())
    (only,) = [o for o in walk(module) if isinstance(o, Constant)]
    assert only.value.elements() == [0x3FC00000, 0x40200000, 0x40600000, 0x40900000]
