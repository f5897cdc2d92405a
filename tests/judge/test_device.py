"""Timing on a GPU, on a driver that needs none."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from judge.kernels import DOUBLE, LOAD, STORE, problem, text
from support.fake_cuda import FakeCuda
from tilery.engines.cuda.driver import Driver
from tilery.engines.cuda.launch import Binary, CudaKernel, CudaLoaded
from tilery.engines.tileiras.launch import launch_contract
from tilery.judge import device
from tilery.judge.candidates import compile_source
from tilery.judge.jail import Jail
from tilery.judge.problem import Problem
from tilery.judge.stages.executing import LoadedSubmission, load
from tilery.judge.timer import inputs_of
from tilery.ops import Entry, Global, Module


class Compiled:
    """A compiler whose machine code is nothing, since the stand-in driver runs the module itself."""

    engine = "fake"

    def compile(self, module: Module, entry: Entry, target: str) -> Binary:
        return Binary(b"image", launch_contract(entry))

    def initial(self, o: Global) -> bytes | None:
        return None


def timed(monkeypatch: pytest.MonkeyPatch, made: Problem, code: str) -> tuple[FakeCuda, dict[str, Any], Any, Any]:
    """Time a kernel for the last shape; return the driver, what was found, the inputs and the outputs."""
    shape = made.shapes[-1]
    submission = compile_source(code.encode(), "k.mlir", made, Jail())
    loaded = load(submission)
    library = FakeCuda(loaded.modules[0], launch_contract(loaded.modules[0].entries[0]))
    driver = Driver(library)
    kernel = CudaLoaded(loaded.modules[0], Compiled(), driver).kernel()

    def find(loaded: LoadedSubmission, module: int, entry: str, engine: str) -> CudaKernel:
        return kernel

    monkeypatch.setattr(LoadedSubmission, "kernel", find)
    for name, value in {"open_driver": lambda: driver, "HEAT_SECONDS": 0.0, "BLOCK_SECONDS": 0.01}.items():
        monkeypatch.setattr(device, name, value)
    monkeypatch.setattr(device, "COPY_BYTES", 1 << 12)
    request = {"engine": "fake", "seed": 5, "keep": 3, "rounds": 3}
    inputs = inputs_of(made, shape, 5, 3)
    program = submission.programs[-1]
    found, outputs = device.measure_on_device(
        loaded, program, made, shape, inputs, request, limit=10.0, alone=nullcontext
    )
    return library, found, inputs, outputs


def test_launches_use_memory_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "COPIES", 3)
    library, found, inputs, outputs = timed(monkeypatch, problem(), text(LOAD + DOUBLE + STORE))
    assert found["copies"] == 3 and len(found["seconds"]) == 3 and found["clock"] == "device"
    assert min(found["seconds"]) > 0 and found["bandwidth"] > 0
    x, y = (each.view(np.float32) for each in (inputs["x"], outputs["out"]))
    assert np.array_equal(y, 2 * x)
    assert library.live() == 0


def test_what_is_read_and_written_is_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that doubles in place leaves twice the input, however often it was launched."""
    made = problem()
    made.arguments[:] = [replace(made.arguments[0], role="inout")]
    code = text(LOAD + DOUBLE + STORE).replace('"out"', '"x"')
    monkeypatch.setattr(device, "COPIES", 2)
    library, _, inputs, outputs = timed(monkeypatch, made, code)
    x, found = (each.view(np.float32) for each in (inputs["x"], outputs["x"]))
    assert np.array_equal(found, 2 * x)
    assert library.live() == 0


def test_rolled_inputs_hold_the_same_numbers() -> None:
    bits = np.arange(1000, dtype=np.uint32).reshape(10, 100)
    other = device.rolled({"x": bits}, 3)["x"]
    assert not np.array_equal(other, bits) and np.array_equal(np.sort(other.reshape(-1)), bits.reshape(-1))


def test_one_copy_is_launched_again_and_again() -> None:
    """The timing stage on one copy measures what `bench/gpu.py` does: the memory of each launch is the same."""
    launched: list[int] = []
    launches: list[device.Launch] = [partial(launched.append, number) for number in range(3)]
    made = device.DeviceProgram(Driver(FakeCuda()), [{}, {}, {}], launches, [])
    assert len(list(made.rounds(2, 10.0, copies=1))) == 2 and set(launched) == {0}
    launched.clear()
    assert len(list(made.rounds(2, 10.0))) == 2 and launched[:6] == [0, 1, 2, 0, 1, 2]


def test_small_memory_has_many_copies() -> None:
    driver = Driver(FakeCuda())
    assert device.copies_for(driver, {}) == device.COPIES
