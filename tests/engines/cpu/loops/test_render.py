"""Kernels compiled by way of loops: the reference engine's bits, its faults, and nothing outside memory."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import tilery
from support.contract import arguments, random_case
from support.native_loops import load
from tilery.engines.common.limits import Limits
from tilery.engines.cpu.abi import NotLowered, Specialisation
from tilery.engines.cpu.native.build import lower_kernel
from tilery.engines.cpu.native.compiler import host
from tilery.engines.cpu.native.targets import TARGETS
from tilery.engines.cpu.passes.pipeline import passes
from tilery.engines.kernel import ExecutionError
from tilery.engines.registry import load_engine

from .test_passes import KERNELS, left_by

EXACT = Specialisation(exact=True)


@pytest.mark.parametrize("seed", range(6000, 6040))
def test_random_modules_have_the_bits_of_the_reference_engine(seed: int) -> None:
    module, contract = random_case(seed)
    try:
        fast = load(module, *passes(host(), EXACT))
    except NotLowered as error:
        pytest.skip(str(error))
    slow = load_engine("reference").load(module)
    for n, each in enumerate(contract.launches):
        given = arguments(each, seed + n)
        want = left_by(slow, each.entry, each.grid, given)
        got = left_by(fast, each.entry, each.grid, given)
        assert got[0] == want[0] and (want[0] or got == want)


@pytest.mark.parametrize("seed", range(6100, 6110))
def test_without_passes_but_for_products(seed: int) -> None:
    """Loops as they are lowered: one tile per buffer, one element at a time."""
    module, contract = random_case(seed)
    try:
        fast = load(module, passes(host(), EXACT)[1])
    except NotLowered as error:
        pytest.skip(str(error))
    slow = load_engine("reference").load(module)
    for n, each in enumerate(contract.launches):
        given = arguments(each, seed + n)
        want = left_by(slow, each.entry, each.grid, given)
        got = left_by(fast, each.entry, each.grid, given)
        assert got[0] == want[0] and (want[0] or got == want)


def compiled(text: str) -> Any:
    return tilery.compile(tilery.parse(text), engine="cpu")


SHIFT = """entry @k(%a: tile<ptr<f32>>, %b: tile<ptr<f32>>) {
  %z = constant <i32: 0> : tile<i32>
  %av = make_tensor_view %a, shape = [256], strides = [1] : tensor_view<256xf32, strides=[1]>
  %bv = make_tensor_view %b, shape = [256], strides = [1] : tensor_view<256xf32, strides=[1]>
  %p = make_partition_view %av : partition_view<tile=(256), tensor_view<256xf32, strides=[1]>>
  %q = make_partition_view %bv : partition_view<tile=(256), tensor_view<256xf32, strides=[1]>>
  %x, %t = load_view_tko weak %p[%z] : partition_view<tile=(256), tensor_view<256xf32, strides=[1]>>, tile<i32> -> tile<256xf32>, token
  %y = addf %x, %x : tile<256xf32>
  %u = store_view_tko weak %y, %q[%z] : tile<256xf32>, partition_view<tile=(256), tensor_view<256xf32, strides=[1]>>, tile<i32> -> token
  return }"""  # noqa: E501


@pytest.mark.parametrize("shift", [-100, -17, -1, 0, 1, 3, 64, 200, 256])
def test_a_tile_is_loaded_before_it_is_stored(shift: int) -> None:
    memory = np.arange(1024, dtype=np.float32)
    want = memory.copy()
    want[300 + shift : 556 + shift] = memory[300:556] * 2
    compiled(SHIFT).launch(1, [memory[300:556], memory[300 + shift : 556 + shift]])
    assert memory.tolist() == want.tolist()


def test_a_fault_names_the_operation() -> None:
    kernel = compiled(SHIFT)
    with pytest.raises(ExecutionError, match="load_view_tko") as caught:
        kernel.launch(1, [np.zeros(255, np.float32), np.zeros(256, np.float32)])
    assert caught.value.block == (0, 0, 0)
    with pytest.raises(ExecutionError, match="store_view_tko"):
        kernel.launch(1, [np.zeros(256, np.float32), np.zeros(255, np.float32)])


def test_an_endless_loop_is_stopped() -> None:
    with pytest.raises(ExecutionError, match="stopped after"):
        compiled("entry @k() { loop { continue } return }").launch(1, limits=Limits(seconds=0.2))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["vadd", "gelu", "softmax", "layernorm", "gemm", "attention"])
def test_no_promises_that_are_not_kept(name: str, target: str) -> None:
    module = tilery.parse((KERNELS / f"{name}.mlir").read_text())
    lowered = lower_kernel(module, module.entries[0], False, TARGETS[target])
    assert lowered is not None
    assert not re.search(r"\b(nsw|nuw|inbounds|fast|nnan|ninf|nsz|arcp|contract|afn|reassoc|exact)\b", lowered.text)
