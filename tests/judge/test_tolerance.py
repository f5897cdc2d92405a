"""Tolerances follow from the error of the computation: enough for every order of a sum, not more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tilery.judge.problem import parse_problem
from tilery.judge.reference import expect
from tilery.judge.stages.comparing import compare
from tilery.judge.stages.noise import Noise, precision
from tilery.judge.values import from_f64

CASES = """
[problem]
compute = "{compute}"
[[argument]]
name = "x"
type = "{type}"
shape = ["N"]
[[argument]]
name = "out"
type = "{type}"
role = "out"
shape = [1]
[[cases]]
sizes = [{{ N = {size} }}]
"""


def allowed(function: Any, numbers: Any, type: str = "f32", compute: str = "") -> tuple[Any, Any]:
    problem = parse_problem(CASES.format(type=type, size=len(numbers), compute=compute or type))
    shape = problem.shapes[0]
    bits = from_f64(np.asarray(numbers, np.float64), problem.arguments[0].element)
    return problem.arguments[1], expect(function, problem, shape, {"x": bits}, 1)["out"]


def total(x: Any) -> Any:
    return x.sum().reshape(1)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("order", ["forwards", "backwards", "pairs"])
def test_every_order_of_a_sum_is_allowed(seed: int, order: str) -> None:
    numbers = np.random.default_rng(seed).standard_normal(1000).astype(np.float32)
    argument, expected = allowed(total, numbers)
    if order == "pairs":
        found = numbers.sum(dtype=np.float32)
    else:
        found = np.add.accumulate(numbers if order == "forwards" else numbers[::-1], dtype=np.float32)[-1]
    assert compare(argument, np.array([found], np.float32), expected).wrong == 0


@pytest.mark.parametrize("seed", range(5))
def test_a_term_too_few_is_not(seed: int) -> None:
    numbers = np.random.default_rng(seed).standard_normal(1000).astype(np.float32)
    argument, expected = allowed(total, numbers)
    found = numbers[:-1].sum(dtype=np.float64).astype(np.float32)
    assert compare(argument, np.array([found]), expected).wrong == 1


def test_f16_where_f32_was_asked_for_is_not_allowed() -> None:
    numbers = np.random.default_rng(3).standard_normal(1000)
    argument, expected = allowed(total, numbers)
    found = numbers.astype(np.float16).sum(dtype=np.float32)
    assert compare(argument, np.array([found], np.float32), expected).wrong == 1


def test_cancellation_allows_more() -> None:
    _, small = allowed(total, [1.0, 1e-3])
    _, large = allowed(total, [1e4, -1e4, 1e-3])
    assert large.tolerance[0] > 100 * small.tolerance[0]


def test_exact_functions_allow_nothing_but_rounding() -> None:
    _, expected = allowed(lambda x: np.maximum(x.max(), 0.0).reshape(1), [1.0, 2.0])
    assert expected.tolerance[0] <= 2 * np.spacing(np.float32(2.0))


def test_special_numbers_must_be_the_same() -> None:
    argument, nan = allowed(total, [1.0, np.nan])
    assert compare(argument, np.array([np.nan], np.float32), nan).wrong == 0
    assert compare(argument, np.array([1.0], np.float32), nan).wrong == 1
    _, inf = allowed(total, [1.0, np.inf])
    assert compare(argument, np.array([np.inf], np.float32), inf).wrong == 0
    assert compare(argument, np.array([-np.inf], np.float32), inf).wrong == 1


def test_nothing_is_said_where_only_the_range_decides() -> None:
    """The square overflows f32 but not f64, so a kernel may have an infinity or not."""
    _, expected = allowed(lambda x: np.sqrt((x * x).sum()).reshape(1), [1e30, 1e30])
    assert not expected.decided[0]


def test_integers_are_exact() -> None:
    problem = parse_problem(CASES.format(type="i32", size=3, compute="").replace('compute = ""', ""))
    bits = np.array([1, 2, 3], np.int32)
    expected = expect(total, problem, problem.shapes[0], {"x": bits}, 1)["out"]
    assert compare(problem.arguments[1], np.array([6], np.int32), expected).wrong == 0
    assert compare(problem.arguments[1], np.array([7], np.int32), expected).wrong == 1


@pytest.mark.parametrize("name", ["dot", "einsum", "matmul", "mean", "var"])
def test_errors_of_contractions_grow_with_precision(name: str) -> None:
    functions: dict[str, Any] = {
        "dot": lambda x: np.dot(x, x),
        "einsum": lambda x: np.einsum("i,i->", x, x),
        "matmul": lambda x: x @ x,
        "mean": np.mean,
        "var": np.var,
    }
    numbers = np.random.default_rng(0).standard_normal(100) + 3.0
    exact = functions[name](numbers)
    moved = []
    for kind in ("f32", "f16"):
        noise = Noise(precision(kind, kind), 1)
        moved.append(abs(float(functions[name](noise.array(numbers))) - exact))
    assert 0 < moved[0] < moved[1] < abs(exact)


JOINED: dict[str, Callable[[Any], Any]] = {
    "concatenate": lambda x: np.concatenate([np.zeros(1), x, np.zeros(1)])[1:-1],
    "pad": lambda x: np.pad(x, 1)[1:-1],
    "stack": lambda x: np.stack([x, x])[0],
    "roll": lambda x: np.roll(x, 3),
    "take": lambda x: np.take(x, np.arange(len(x))),
}
"""Functions of NumPy that move numbers."""


@pytest.mark.parametrize("name", JOINED)
def test_errors_outlive_functions_that_move_numbers(name: str) -> None:
    """The sum of products afterwards has the tolerance that it has without them."""
    numbers = np.random.default_rng(1).standard_normal(64)

    def product(x: Any) -> Any:
        y = JOINED[name](x)
        return (y * y * y).sum().reshape(1)

    _, plain = allowed(lambda x: (x * x * x).sum().reshape(1), numbers)
    _, moved = allowed(product, numbers)
    assert 0.2 < float(moved.tolerance[0] / plain.tolerance[0]) < 5


def test_a_loop_over_elements_has_errors() -> None:
    numbers = np.random.default_rng(2).standard_normal(64)
    _, whole = allowed(total, numbers)
    _, loop = allowed(lambda x: np.reshape(sum(v * 1.0 for v in x), (1,)), numbers)
    assert 0.1 < float(loop.tolerance[0] / whole.tolerance[0]) < 20
