"""Unusual programs have the results of NumPy on both engines; engine cpu rewrites many of their accesses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

torch: Any = pytest.importorskip("torch", reason="torch is not installed")
triton: Any = pytest.importorskip("triton", reason="Triton is not installed")

import tilery.triton  # noqa: E402
from tilery import TileError  # noqa: E402

with tilery.triton.on("none"):  # `autotune` of older releases asks for a driver
    from triton_frontend import unusual as k

X = np.random.default_rng(0).normal(size=100).astype(np.float32)
SMALL = np.arange(8, dtype=np.float32)
Program = tuple[Callable[..., Any], Any]
"""Launches a kernel with the input and the output; the result that it must have."""


@pytest.fixture(params=["reference", "cpu"], autouse=True)
def engine(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "cpu":
        pytest.importorskip("llvmlite", reason="engine cpu needs llvmlite")
    with tilery.triton.on(request.param):
        yield request.param


def summed() -> Any:
    total = np.zeros(8, np.float32)
    for start in range(0, 100, 8):
        total[: len(X[start : start + 8])] += X[start : start + 8]
    return total + sum(range(100)) + 5 + 14


def carried(step: int) -> Any:
    total = np.zeros(8, np.float32)
    for n in range(5):
        total += np.where(np.arange(8) < 10 - n, X[16 + n * step : 24 + n * step], np.float32(0.5))
    return total


def swapped() -> Any:
    found = np.empty(100, np.float32)
    found[::2], found[1::2] = -X[1::2], X[::2]
    return found


def masked(flag: int) -> Any:
    inside = np.arange(32) < 20
    v, w = np.where(inside & (flag != 0), X[:32], 4), np.where(flag > 1, X[:32], 5)
    return np.where((flag >= 0) & inside, v + w, 0).astype(np.float32)


I32, I100 = np.arange(32), np.arange(100)
PROGRAMS: dict[str, Program] = {
    "negative stride": (lambda x, o: k.backwards[(4,)](x, o, 100, -1, 32), X[::-1]),
    "64 bits": (lambda x, o: k.offsets_in_64_bits[(1,)](x, o, 1 << 40, 50, 64), 2 * X[:50]),
    "64 bits, negative": (lambda x, o: k.offsets_in_64_bits[(1,)](x, o, -(1 << 40), 50, 64), 2 * X[:50]),
    "nested functions": (lambda x, o: k.nested_functions[(1,)](x, o, 13, 16), (4 * X)[:13]),
    "heuristics, even": (lambda x, o: k.heuristics[(3,)](x, o, 96, B=32), 64 * X[:96]),
    "heuristics": (lambda x, o: k.heuristics[(4,)](x, o, 100, B=32), 64 * X),
    "loops": (lambda x, o: k.loops[(1,)](x, o, 100, 8), summed()),
    "tuple": (lambda x, o: k.constant_tuple[(1,)](x, o, (4, 8), (1, 2.5)), X[:32] + np.float32(2.5)),
    "transposed": (lambda x, o: k.transposed[(2, 2)](x, o, 9, 11, 11, 1, 8, 8), X[:99].reshape(9, 11).T.ravel()),
    "transposed twice": (lambda x, o: k.transposed[(2, 2)](x, o, 9, 11, 1, 9, 8, 8), X[:99]),
    "window": (
        lambda x, o: k.window[(4,)](x, o, 100, 40, 60, 32),
        np.where((I100 >= 40) & (I100 < 60), X[I100 - 1], -7),
    ),
    "no window": (lambda x, o: k.window[(4,)](x, o, 100, 60, 40, 32), np.full(100, -7)),
    "carried pointers": (lambda x, o: k.carried_pointers[(1,)](x, o, 5, 3, 8), carried(3)),
    "carried back": (lambda x, o: k.carried_pointers[(1,)](x, o, 5, -2, 8), carried(-2)),
    "not carried": (lambda x, o: k.carried_pointers[(1,)](x, o, 5, 0, 8), carried(0)),
    "wraps": (lambda x, o: k.wraps_and_returns[(1,)](x, o, 2**31 - 5, 2**31 - 5, 16), X[:16]),
    "unsigned mask": (
        lambda x, o: k.unsigned_mask[(1,)](x, o, 20, 32),
        np.where((I32 >= 4) & (I32 < 24), X[np.maximum(I32 - 4, 0)], 9),
    ),
    "every second": (lambda x, o: k.every_second[(2,)](x, o, 50, 32), swapped()),
    "modulo": (lambda x, o: k.modulo[(4,)](x, o, 100, 33, 32), X[I100 % 33]),
    "modulo of more": (lambda x, o: k.modulo[(4,)](x, o, 100, 100, 32), X),
    "guarded PTX": (lambda x, o: k.guarded_ptx[(1,)](x, o, 32), np.where(X[:32] > 1, X[:32], 2 * X[:32])),
    "three dimensions": (
        lambda x, o: k.three_dimensions[(1,)](x, o, 3, 6, 4, 4, 8),
        (X[:72].reshape(12, 6) + X[:72].reshape(12, 6).sum(1, keepdims=True)).ravel(),
    ),
    **{
        f"scalar mask {flag}": (lambda x, o, flag=flag: k.scalar_masks[(1,)](x, o, 20, flag, 32), masked(flag)[:20])
        for flag in (-1, 0, 1, 2)
    },
}
SUBSCRIPTS = ("loops", "tuple")
"""Programs that take an element of a constant tuple."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_results(name: str) -> None:
    if name in SUBSCRIPTS and triton.__version__.startswith("3.3."):
        pytest.skip("this Triton has no subscripts of constant tuples")
    launch, wanted = PROGRAMS[name]
    x, out = torch.tensor(X).cuda(), torch.zeros(128, device="cuda")
    launch(x, out)
    np.testing.assert_allclose(out.cpu().numpy()[: len(wanted)], wanted, rtol=1e-5, atol=1e-5)
    assert not out[len(wanted) :].any(), "nothing else is written"


@pytest.mark.parametrize("n", [1, 7, 32])
def test_a_program_that_works_in_place(n: int) -> None:
    x = torch.tensor(X[:n]).cuda()
    k.in_place[(1,)](x, n, 32)
    np.testing.assert_array_equal(x.cpu().numpy(), ((X[:n] + 1) * 2)[::-1])


def test_a_fault_names_the_operation_of_the_program(engine: str) -> None:
    x, out = torch.tensor(SMALL).cuda(), torch.zeros(8, device="cuda")
    with pytest.raises(TileError, match=r"load_ptr_tko: .* 0 bytes after the end of x") as caught:
        k.beyond[(1,)](x, out, 8, 32)
    assert "unusual.py" in str(caught.value) and "element [8] of the tile" in str(caught.value)
