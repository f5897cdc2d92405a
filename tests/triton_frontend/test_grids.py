"""Grids of launches that are not plain integers."""

from __future__ import annotations

from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="Triton is not installed")

import triton  # noqa: E402
import triton.language as tl  # noqa: E402

import tilery.triton  # noqa: E402


@triton.jit
def count(x):  # type: ignore[no-untyped-def]  # and would compile them
    tl.store(x + tl.program_id(0), 1)


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_a_grid_may_have_a_tensor_of_one_integer(engine: str) -> None:
    with tilery.triton.on(engine):
        x = torch.zeros(4, dtype=torch.int32, device="cuda")
        count[(torch.tensor(3),)](x)
        assert x.tolist() == [1, 1, 1, 0]
