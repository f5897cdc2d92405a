"""The check of kernels on ragged shapes: right kernels pass it, and a byte written outside of an array fails it."""

from __future__ import annotations

from typing import Any

import pytest

import tilery
from engines.cuda.test_launch import Compiled
from parts import gpu_ragged
from support.fake_cuda import FakeCuda
from tilery.engines.cuda.driver import Driver
from tilery.engines.cuda.launch import CudaLoaded
from tilery.engines.tileiras.launch import launch_contract
from tilery.ops import Module


class Machine:
    """A GPU that is none: the kernel runs on the reference engine, which may touch everything that is allocated."""

    def __init__(self) -> None:
        self.cuda = FakeCuda()
        self.driver = Driver(self.cuda)

    def load(self, module: Module) -> Any:
        self.cuda.module, self.cuda.contract = module, launch_contract(module.entries[0])
        return CudaLoaded(module, Compiled(), self.driver)


@pytest.mark.parametrize("case", gpu_ragged.case_names(1))
def test_kernels_stay_inside_their_arrays(case: str) -> None:
    machine = Machine()
    assert gpu_ragged.run(case, machine.load, machine.driver) == ""
    assert machine.cuda.live() == 0


MORE = "%one = constant <i32: 1> : tile<i32> %more = addi %arg7, %one : tile<i32> "


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        ("addf", "subf", "elements differ"),
        ("%assume_2 = assume bounded<0, ?>, %arg7", f"{MORE}%assume_2 = assume bounded<0, ?>, %more", "outside"),
        ("store_view_tko weak %1, %pview_7", "store_view_tko weak %1, %pview", "an input is changed"),
    ],
)
def test_a_wrong_result_is_noticed(old: str, new: str, wrong: str) -> None:
    machine = Machine()

    def load(module: Module) -> Any:
        assert old in str(module)
        return machine.load(tilery.parse(str(module).replace(old, new)))

    assert wrong in gpu_ragged.run("vadd:odd:0", load, machine.driver)


def test_promises_that_do_not_hold_are_dropped() -> None:
    module = gpu_ragged.KERNELS["vadd"].module()
    assert gpu_ragged.keep_true_promises(module, [256, 16, 1, 256, 17, 1, 257, 32, 1]) == 6
    assert gpu_ragged.keep_true_promises(module, [1] * 9) == 0
    tilery.verify(module)
