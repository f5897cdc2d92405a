"""A kernel, a stand-in for the GPU whose times depend on the code it runs, and a store of their own for each test."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilery
from support.fake_cuda import FakeCuda, value
from tilery.engines.cuda.driver import Driver
from tilery.engines.cuda.launch import Binary
from tilery.engines.gpu.store import VariantStore
from tilery.engines.gpu.variants import Variant
from tilery.engines.tileiras.launch import launch_contract
from tilery.ops import Entry, Module

VIEW = "partition_view<tile=(1024), tensor_view<?xf32, strides=[1]>>"
DOUBLE = f"""
cuda_tile.module @m {{
  entry @double(%in: tile<ptr<f32>>, %out: tile<ptr<f32>>, %n: tile<i32>) {{
    %a = make_tensor_view %in, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
    %b = make_tensor_view %out, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
    %va = make_partition_view %a : {VIEW}
    %vb = make_partition_view %b : {VIEW}
    %x, %y, %z = get_tile_block_id : tile<i32>
    %t, %u = load_view_tko weak %va[%x] : {VIEW}, tile<i32> -> tile<1024xf32>, token
    %d = addf %t, %t : tile<1024xf32>
    %w = store_view_tko weak %d, %vb[%x] : tile<1024xf32>, {VIEW}, tile<i32> -> token
    return
  }}
}}
"""


class Gpu(FakeCuda):
    """A stand-in that runs the module an image names, and reports the time the image names."""

    def __init__(self, module: Module) -> None:
        entry = module.entries[0]
        super().__init__(module, launch_contract(entry))
        self.images: dict[int, dict[str, Any]] = {}
        self.current: dict[str, Any] = {}
        self.pending = self.counted = 0
        """Launches since the last event was recorded, and between the last two."""

    def _cuModuleLoadData(self, handle: Any, image: Any) -> None:
        self._new(handle)
        self.images[handle._obj.value] = json.loads(value(image))

    def _cuModuleGetFunction(self, handle: Any, module: Any, _: Any) -> None:
        self._new(handle)
        self.images[handle._obj.value] = self.images[value(module)]

    def _cuLaunchKernelEx(self, config: int, function: Any, params: Any, extra: Any) -> None:
        self.current = self.images[value(function)]
        self.pending += 1
        super()._cuLaunchKernelEx(config, function, params, extra)

    def _launch(self, grid: tuple[int, ...], params: int) -> None:
        super()._launch(grid, params)
        if self.current.get("wrong"):
            table = (ctypes.c_void_p * 3).from_address(params)
            ctypes.memset(ctypes.c_uint64.from_address(table[1] or 0).value, 1, 4)

    def _cuEventElapsedTime(self, milliseconds: Any, *_: Any) -> None:
        milliseconds._obj.value = self.counted * self.current["milliseconds"]

    def _cuEventRecord(self, *_: Any) -> None:
        self.counted, self.pending = self.pending, 0


@pytest.fixture(autouse=True)
def few_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time each variant with as few launches as possible."""
    monkeypatch.setattr("tilery.engines.cuda.timing.MOST", 2)


@pytest.fixture
def module() -> Module:
    return tilery.parse(DOUBLE)


@pytest.fixture
def store(tmp_path: Path) -> VariantStore:
    return VariantStore(tmp_path / "tuned.json")


@pytest.fixture
def arrays() -> list[Any]:
    return [np.arange(5000, dtype=np.float32), np.zeros(5000, np.float32), 5000]


@pytest.fixture
def driver(module: Module) -> Callable[[], Driver]:
    return lambda: Driver(Gpu(module))


def build_as(times: dict[str, Any]) -> Callable[..., Binary]:
    """Return a compiler whose code takes the time, in milliseconds, that a part of the label has in a table."""

    def build(module: Module, entry: Entry, variant: Variant, target: str) -> Binary:
        facts: dict[str, Any] = {"label": variant.label, "milliseconds": 4.0}
        for part, what in times.items():
            if part in variant.label:
                if what == "refused":
                    raise tilery.TileError("the compiler refuses it")
                facts.update(what if isinstance(what, dict) else {"milliseconds": what})
        return Binary(json.dumps(facts).encode(), launch_contract(entry))

    return build
