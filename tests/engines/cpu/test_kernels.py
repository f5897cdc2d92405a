"""Kernels of the benchmark on this engine: compiled, and equal to the reference engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilery

pytest.importorskip("llvmlite")

from tilery.engines.cpu import launch

KERNELS = Path(__file__).parents[3] / "bench" / "kernels"
RNG = np.random.default_rng(3)


def normal(*shape: int, dtype: Any = np.float32) -> Any:
    return RNG.standard_normal(shape).astype(dtype)


SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-40, 3e38], np.float32)


def arguments(name: str, edge: int) -> tuple[tuple[int, ...], list[Any]]:
    """A grid and arguments; sizes are not multiples of the tiles if `edge` is not 0."""
    rows, columns, n = 5, 1024 - edge, 5000 - edge
    match name:
        case "vadd" | "gelu":
            arrays = [normal(n) for _ in range(2 if name == "vadd" else 1)]
            arrays[0][: len(SPECIAL)] = SPECIAL
            return (-(-n // 1024),), [*arrays, np.zeros(n, np.float32)]
        case "softmax":
            x = normal(rows, columns)
            x[1, :8], x[2] = SPECIAL, -0.0
            return (rows,), [x, np.zeros_like(x)]
        case "layernorm":
            x = normal(rows, columns)
            x[1, :8] = SPECIAL
            return (rows,), [x, normal(columns), normal(columns), np.zeros_like(x)]
        case "gemm":
            m, n, k = 256 - edge, 256 - 2 * edge, 128 - 3 * edge
            return (2, 2), [normal(m, k), normal(k, n), np.zeros((m, n), np.float32)]
    shape = (2, 256 - edge, 64)
    return (2, 2), [*(normal(*shape, dtype=np.float16) for _ in range(3)), np.zeros(shape, np.float16)]


@pytest.mark.parametrize("edge", [0, 3])
@pytest.mark.parametrize("name", ["vadd", "gelu", "softmax", "layernorm", "gemm", "attention"])
def test_as_the_reference(name: str, edge: int) -> None:
    module = tilery.load(KERNELS / f"{name}.mlir")
    grid, args = arguments(name, edge)
    expected = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    tilery.compile(module).launch(grid, expected, convention="cutile")
    for exact in (True, False):
        kernel = launch.load(module, exact=exact).kernel()
        assert kernel.lowered is not None and not kernel.lowered.callbacks
        args[-1][...] = 0
        kernel.launch(grid, args, convention="cutile")
        if (exact or name in ("vadd", "layernorm")) and name != "attention":
            assert args[-1].tobytes() == expected[-1].tobytes()
        np.testing.assert_allclose(args[-1], expected[-1], rtol=1e-3, atol=2e-4)


def test_equal_numbers_of_different_types_are_spread_apart() -> None:
    text = """entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f64>>) {
      %n = iota : tile<32xi32>
      %one32 = constant <f32: 1.0> : tile<1xf32>
      %one64 = constant <f64: 1.0> : tile<1xf64>
      %a = broadcast %one32 : tile<1xf32> -> tile<32xf32>
      %b = broadcast %one64 : tile<1xf64> -> tile<32xf64>
      %wide = ftof %a : tile<32xf32> -> tile<32xf64>
      %sum = addf %wide, %b : tile<32xf64>
      %q1 = reshape %q : tile<ptr<f64>> -> tile<1xptr<f64>>
      %q2 = broadcast %q1 : tile<1xptr<f64>> -> tile<32xptr<f64>>
      %at = offset %q2, %n : tile<32xptr<f64>>, tile<32xi32> -> tile<32xptr<f64>>
      %t = store_ptr_tko weak %at, %sum : tile<32xptr<f64>>, tile<32xf64> -> token
      return
    }"""
    out = np.zeros(32)
    tilery.compile(tilery.parse(text), engine="cpu").launch(1, [np.zeros(1, np.float32), out])
    assert (out == 2).all()
