"""BLAS has one thread inside a launch with matrix products, and as many as before afterwards."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilery
from tilery.engines.reference import cores

control: Any = pytest.importorskip("threadpoolctl", reason="needs threadpoolctl")
PRODUCT = """
cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>) {
    %a = constant <f32: 1.0> : tile<64x64xf32>
    %c = mmaf %a, %a, %a : tile<64x64xf32>, tile<64x64xf32>, tile<64x64xf32>
    return
  }
}
"""


def threads() -> set[int]:
    return {each["num_threads"] for each in control.threadpool_info() if each["user_api"] == "blas"}


def test_one_thread_inside_a_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[set[int]] = []
    matmul = np.matmul

    def watched(*values: Any, **options: Any) -> Any:
        seen.append(threads())
        return matmul(*values, **options)

    kernel = tilery.compile(tilery.parse(PRODUCT))
    monkeypatch.setattr("numpy.matmul", watched)
    with control.threadpool_limits(2, user_api="blas"):
        before = threads()
        kernel.launch(1, [np.zeros(1, np.float32)])
        assert threads() == before == {2}
    assert seen and set.union(*seen) == {1}


def test_launches_share_the_limit() -> None:
    with control.threadpool_limits(2, user_api="blas"):
        with cores.quiet(), cores.quiet():
            assert threads() == {1}
        assert threads() == {2}


def test_without_threadpoolctl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "_controller", lambda: None)
    with control.threadpool_limits(2, user_api="blas"), cores.quiet():
        assert threads() == {2}
