"""Random modules leave the same bits on this engine and on the reference engine."""

from __future__ import annotations

import pytest

from support.contract import random_case, run_contract
from tilery.diag import TileError

pytest.importorskip("llvmlite")

from tilery.engines.cpu import launch


@pytest.mark.parametrize("seed", range(0, 400, 10))
def test_same_bits(seed: int) -> None:
    module, contract = random_case(seed)
    try:
        want: object = run_contract(module, contract)
    except TileError as error:
        want = str(error)
    try:
        got: object = run_contract(module, contract, load=lambda m: launch.load(m, exact=True))
    except TileError as error:
        got = str(error)
    assert got == want
