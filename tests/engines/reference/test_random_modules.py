"""Random modules leave the same memory, bit by bit, however they are run and whatever a sound pass did to them."""

from __future__ import annotations

import os
from copy import copy

import numpy as np
import pytest

import tilery
from support.contract import (
    arguments,
    canonical_nans,
    constants_as_arguments,
    random_case,
    run_contract,
    store_all_values,
)
from tilery.attrs import FloatAttr
from tilery.engines.common.limits import Limits
from tilery.ir import walk
from tilery.ops import AddI, Constant, Module, MulI, SubI
from tilery.passes import HOMES
from tilery.smith import Buffer, Launch, smith_with_contract
from tilery.types import SCALARS

COUNT = 2_000 if os.environ.get("TILERY_FULL") else 24
# Renaming symbols needs their names and changes no code.
PASSES = ["canonicalize,cse", *(name for name in HOMES if name != "rename-symbol")]


@pytest.mark.parametrize("seed", range(COUNT))
def test_every_pass_keeps_what_a_module_leaves_in_memory(seed: int) -> None:
    module, contract = random_case(seed)
    wanted = run_contract(module, contract)
    assert run_contract(module, contract, batch=1) == wanted, "block by block"
    for name in PASSES:
        changed = tilery.optimize(module, name)
        if not tilery.equal(module, changed):
            assert run_contract(changed, contract) == wanted, name


@pytest.mark.parametrize("seed", range(COUNT))
@pytest.mark.parametrize("integers", [False, True])
def test_hidden_constants_change_nothing(seed: int, integers: bool) -> None:
    module, contract = store_all_values(*smith_with_contract(seed, size=40), every=True)
    changed, more, contents = constants_as_arguments(module, contract, integers)
    assert tilery.verify(changed) == []
    left = {o.value.element.is_float for o in walk(changed) if isinstance(o, Constant) and o.value.element.bits > 4}
    assert True not in left and (not integers or left <= {False})
    args = [arguments(launch, number) for number, launch in enumerate(contract.launches)]
    wanted = run_contract(module, contract, given=[list(map(copy, given)) for given in args])
    found = run_contract(changed, more, given=[given + added for given, added in zip(args, contents)])
    # The added buffers come after the others and are not written.
    for launch, added in zip(contract.launches, contents):
        own = sum(isinstance(a, Buffer) for a in launch.args)
        rest = len(module.globals) + 1
        assert found[:own] == wanted[:own]
        assert found[own : own + len(added)] == [a.tobytes() for a in added]
        assert found[own + len(added) :][:rest] == wanted[own:][:rest]
        wanted, found = wanted[own + rest :], found[own + len(added) + rest :]
    assert not found and not wanted


def test_scalars_of_every_float_type_arrive() -> None:
    one = {"f16": 0x3C00, "bf16": 0x3F80, "f32": 0x3F800000, "tf32": 0x1FC00, "f64": 0x3FF << 52}
    launch = Launch("k", (1, 1, 1), tuple(FloatAttr(SCALARS[name], bits) for name, bits in one.items()))
    assert arguments(launch, 0) == [1.0] * len(one)


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
        module, contract = store_all_values(*smith_with_contract(seed, size=40, mix={"Integer": 5}))
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


def test_nans_with_hidden_bits_are_one_pattern_in_memory_and_in_integers() -> None:
    text = """entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<i32>>, %x: tile<f32>) {
      %n = negf %x : tile<f32>
      %b = bitcast %n : tile<f32> -> tile<i32>
      %t0 = store_ptr_tko weak %p, %n : tile<ptr<f32>>, tile<f32> -> token
      %t1 = store_ptr_tko weak %q, %b : tile<ptr<i32>>, tile<i32> -> token
      return
    }"""
    module = canonical_nans(tilery.parse(text))
    assert tilery.verify(module) == []
    for given, wanted in ((1.5, 0xBFC00000), (float("inf"), 0xFF800000), (float("nan"), 0x7FFFFFFF)):
        p, q = np.zeros(1, np.float32), np.zeros(1, np.int32)
        tilery.compile(module).launch(1, [p, q, given])
        assert p.view(np.uint32)[0] == q.view(np.uint32)[0] == wanted


@pytest.mark.parametrize("seed", range(8))
def test_hiding_the_bits_of_nans_keeps_modules_legal(seed: int) -> None:
    module, _ = random_case(seed)
    assert tilery.verify(canonical_nans(module)) == []
