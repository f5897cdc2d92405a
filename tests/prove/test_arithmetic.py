"""The arithmetics themselves: laws of residues, and that enclosures enclose."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tilery.prove.arithmetic.constants import Constants, is_plain
from tilery.prove.arithmetic.enclosure import Enclosures, apart
from tilery.prove.arithmetic.field import NAN, NEG, POS, UNKNOWN, FieldSample, Model, differing, kind_of
from tilery.prove.arithmetic.logarithms import Logarithms
from tilery.prove.arithmetic.numbers import U
from tilery.prove.arithmetic.primes import is_prime
from tilery.types import F32, F64


@pytest.fixture(params=range(3))
def field(request: pytest.FixtureRequest) -> FieldSample:
    return FieldSample(request.param)


def words(field: FieldSample, *values: float) -> Any:
    return np.array([field.exact(v) for v in values], U)


def test_field_laws(field: FieldSample) -> None:
    a, b, c = (field.random((50,)) for _ in range(3))
    assert (field.mul(a, field.add(b, c)) == field.add(field.mul(a, b), field.mul(a, c))).all()
    assert (field.mul(field.div(a, b), b) == a).all()
    assert (field.sub(a, a) == 0).all()
    assert (field.exp(field.add(a, b)) == field.mul(field.exp(a), field.exp(b))).all()


def test_rationals_are_exact(field: FieldSample) -> None:
    assert field.add(words(field, 0.1), words(field, 0.2))[0] == field.rational(Fraction(0.1) + Fraction(0.2))


def test_infinities(field: FieldSample) -> None:
    inf = words(field, math.inf, -math.inf)
    x = field.random((2,))
    assert kind_of(field.add(inf, x)).tolist() == [POS, NEG]
    assert kind_of(field.sub(inf, inf)).tolist() == [NAN, NAN]
    assert field.exp(inf)[1] == 0
    assert field.max(inf[1:], x[:1]).tolist() == x[:1].tolist()
    assert kind_of(field.mul(inf, x, (0, 1))).tolist() == [POS, NEG]
    assert kind_of(field.mul(inf, x, (0, -1))).tolist() == [NEG, POS]


def test_maxima_know_sets_only(field: FieldSample) -> None:
    a, b, c = (field.random((1,)) for _ in range(3))
    assert (field.max(field.max(a, b), c) == field.max(a, field.max(c, b))).all()
    assert (field.max(a, a) == a).all()
    assert (field.max(a, b) != field.neg(field.max(field.neg(a), field.neg(b)))).all()


def test_square_roots_are_known_or_right(field: FieldSample) -> None:
    a = field.random((200,))
    r = field.sqrt(a)
    known = kind_of(r) != UNKNOWN
    assert 50 < known.sum() < 150
    assert not differing(field.mul(r, r)[known], a[known])[0].any()


def test_discrete_logarithms() -> None:
    field = FieldSample(4, model=Model(logarithms="discrete"))
    a, b = field.random((40,)), field.random((40,))
    one, other = field.log(field.mul(field.exp(a), field.exp(b))), field.add(a, b)
    differ, same = differing(one, other)
    assert not differ.any()
    assert same.all()


def test_logarithms_of_a_small_group() -> None:
    table = Logarithms(23, 11, 2)
    powers = np.array([pow(2, e, 23) for e in range(11)], U)
    assert table.of(powers).tolist() == list(range(11))


def test_primes() -> None:
    assert [n for n in range(9, 100, 2) if is_prime(n)] == [
        11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97,
    ]  # fmt: skip
    assert not is_prime(3215031751)  # a strong pseudoprime to 2, 3, 5 and 7


def test_constants_are_read_as_ideal_numbers() -> None:
    known = Constants()
    known.add([0.1118034])
    assert known.read(float(np.float32(math.log2(math.e))), F32).ln2 == -1  # type: ignore[union-attr]
    assert known.read(float(np.float32(1 / 3)), F32).factor == Fraction(1, 3)  # type: ignore[union-attr]
    folded = known.read(float(np.float32(0.1118034 * math.log2(math.e))), F32)
    assert folded is not None
    assert folded.factor == Fraction(0.1118034)
    assert known.read(0.75, F32) is None
    assert is_plain(1024.5, 24)


OPERATIONS: dict[str, tuple[Any, Any]] = {
    "add": (lambda n, a, b: n.add(a, b), lambda a, b: a + b),
    "sub": (lambda n, a, b: n.sub(a, b), lambda a, b: a - b),
    "mul": (lambda n, a, b: n.mul(a, b), lambda a, b: a * b),
    "div": (lambda n, a, b: n.div(a, b), lambda a, b: a / b),
    "max": (lambda n, a, b: n.max(a, b), max),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_enclosures_enclose_exact_results(name: str) -> None:
    """Chains of operations on random numbers, against fractions."""
    rng = np.random.default_rng(7)
    compute, exact = OPERATIONS[name]
    n = Enclosures()
    for _ in range(40):
        x, y, z = (rng.standard_normal(8) * 10.0 ** rng.integers(-6, 6) for _ in range(3))
        made = compute(n, compute(n, n.literal(x), n.literal(y)), n.literal(z))
        mid, rad = n.get(made)
        for i in range(8):
            want = exact(exact(Fraction(x[i]), Fraction(y[i])), Fraction(z[i]))
            assert abs(want - Fraction(mid[i])) <= Fraction(rad[i]), (name, x[i], y[i], z[i])
            assert rad[i] <= 1e-12 * max(abs(float(want)), abs(x[i]), abs(y[i]), abs(z[i]))


def test_matrix_products_enclose() -> None:
    rng = np.random.default_rng(8)
    a, b = rng.standard_normal((1, 4, 33)), rng.standard_normal((1, 33, 3))
    n = Enclosures()
    mid, rad = n.get(n.matmul(n.literal(a), n.literal(b)))
    for i in range(4):
        for j in range(3):
            want = sum(Fraction(u) * Fraction(v) for u, v in zip(a[0, i], b[0, :, j]))
            assert abs(want - Fraction(mid[0, i, j])) <= Fraction(rad[0, i, j])


def test_a_constant_may_be_any_number_that_rounds_to_it() -> None:
    n = Enclosures()
    third = n.constant(np.array([np.float64(np.float32(1 / 3))]), F32)
    exact = n.div(n.literal(np.ones(1)), n.literal(np.full(1, 3.0)))
    assert not apart(n.get(third), n.get(exact)).any()
    assert apart(n.get(n.literal(np.array([np.float64(np.float32(1 / 3))]))), n.get(exact)).all()
    assert n.get(n.constant(np.array([0.5]), F64))[1][0] == 0


def test_nothing_is_known_of_overflow() -> None:
    n = Enclosures()
    huge = n.exp(n.literal(np.array([1000.0])))
    assert np.isinf(n.get(huge)[1]).all()
    assert not apart(n.get(huge), n.get(n.literal(np.ones(1)))).any()
