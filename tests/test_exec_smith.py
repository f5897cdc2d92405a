"""Random modules leave the same memory, bit by bit, however they are run and whatever a sound pass did to them."""

from __future__ import annotations

import os

import pytest

import tilery
from tilery.exec.contract import drawn, observed, run_contract
from tilery.exec.machine import Limits
from tilery.ir import walk
from tilery.ops import AddI, Module, MulI, SubI
from tilery.passes import HOMES
from tilery.smith import smith_with_contract

COUNT = 2_000 if os.environ.get("TILERY_FULL") else 24
# Renaming symbols needs their names and changes no code.
PASSES = ["canonicalize,cse", *(name for name in HOMES if name != "rename-symbol")]


@pytest.mark.parametrize("seed", range(COUNT))
def test_every_pass_keeps_what_a_module_leaves_in_memory(seed: int) -> None:
    module, contract = drawn(seed)
    wanted = run_contract(module, contract)
    assert run_contract(module, contract, batch=1) == wanted, "block by block"
    for name in PASSES:
        changed = tilery.optimize(module, name)
        if not tilery.equal(module, changed):
            assert run_contract(changed, contract) == wanted, name


def spoil(module: Module) -> bool:
    """Put a wrong operation in the place of the last one that it could be."""
    wrong = {AddI: SubI, SubI: AddI, MulI: AddI}
    for o in reversed(list(walk(module))):
        if type(o) in wrong:
            o.__class__ = wrong[type(o)]  # the same slots, another meaning
            return True
    return False


def test_a_wrong_operation_is_noticed() -> None:
    """What random modules compute reaches memory: most of them show a single wrong operation."""
    noticed = tried = 0
    for seed in range(40):
        module, contract = observed(*smith_with_contract(seed, size=40, mix={"Integer": 5}))
        wanted = run_contract(module, contract)
        if not spoil(module):
            continue
        tried += 1
        try:
            noticed += run_contract(module, contract, limits=Limits(steps=100_000)) != wanted
        except tilery.TileError:  # an address went wrong, or a loop does not end
            noticed += 1
    assert tried >= 30
    assert noticed >= tried // 2, f"{noticed} of {tried}"
