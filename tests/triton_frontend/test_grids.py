"""Grids of launches that are not plain integers."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl

import tilery.triton


@triton.jit
def count(x):  # type: ignore[no-untyped-def]  # and would compile them
    tl.store(x + tl.program_id(0), 1)


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_a_grid_may_have_a_tensor_of_one_integer(engine: str) -> None:
    with tilery.triton.on(engine):
        x = torch.zeros(4, dtype=torch.int32, device="cuda")
        count[(torch.tensor(3),)](x)
        assert x.tolist() == [1, 1, 1, 0]
