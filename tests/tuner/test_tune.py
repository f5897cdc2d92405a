"""`tilery.tune` on a stand-in for a GPU."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilery
from tilery.engines.gpu.store import VariantStore
from tilery.engines.gpu.variants import Variant
from tilery.tuner.search import AS_IS, tune
from tilery.tuner.worker import LocalWorker, WorkerProcess

from .conftest import DOUBLE, build_as

CHILD = """
import sys
sys.path[:0] = {paths!r}
import tilery
from tilery.engines.cuda.driver import Driver
from tilery.tuner import worker
from tuner.conftest import DOUBLE, Gpu
import time, os
from tilery.engines.cuda import timing
timing.MOST = 2

class Bad(Gpu):
    def _cuLaunchKernelEx(self, config, function, *rest):
        what = self.images[getattr(function, "value", function)].get("does")
        if what == "hang":
            time.sleep(600)
        if what == "die":
            os.abort()
        super()._cuLaunchKernelEx(config, function, *rest)

worker.open_driver = lambda: Driver(Bad(tilery.parse(DOUBLE)))
worker._server = worker.LaunchServer(worker.open_driver)
answer = worker.answer
"""


def test_the_fastest_variant_wins_and_is_remembered(module: Any, arrays: Any, driver: Any, store: VariantStore) -> None:
    build = build_as({"w2": 1.5, "tileiras O3 occ4": 1.0})
    result = tune(module, 5, arrays, store=store, worker=LocalWorker(driver), build=build)
    assert result.best.label == "tileiras O3 occ4"
    assert result.seconds * 1e3 == pytest.approx(1.0)
    assert result.hints == {"occupancy": 4}
    (record,) = store.records()
    assert record.variant == result.best and record.tried == len(result.trials)
    assert record.checked == "the reference engine and the first variant"
    assert np.array_equal(arrays[1], np.zeros(5000, np.float32))  # the arguments stay as they are


def test_the_hints_are_in_the_module(module: Any, arrays: Any, driver: Any, store: VariantStore) -> None:
    build = build_as({"occ8": 1.0})
    result = tune(module, 5, arrays, engine="tileiras", store=store, worker=LocalWorker(driver), build=build)
    assert result.module is not None
    assert "optimization_hints=<sm_90 = {occupancy = 8}>" in tilery.show(result.module)
    assert tilery.verify(result.module) == []


def test_a_wrong_variant_is_not_taken(module: Any, arrays: Any, driver: Any, store: VariantStore) -> None:
    build = build_as({"w2": {"milliseconds": 0.1, "wrong": True}})
    result = tune(module, 5, arrays, store=store, worker=LocalWorker(driver), build=build)
    wrong = [t for t in result.trials if "w2" in t.variant.label]
    assert wrong and all("differ from those of the reference engine" in t.error for t in wrong)
    assert "w2" not in result.best.label


def test_a_variant_that_does_not_compile_is_listed(module: Any, arrays: Any, driver: Any, store: VariantStore) -> None:
    build = build_as({"triton": "refused"})
    result = tune(module, 5, arrays, store=store, worker=LocalWorker(driver), build=build)
    refused = [t for t in result.trials if t.variant.engine == "triton"]
    assert refused and all(t.error == "the compiler refuses it" and t.seconds is None for t in refused)


def test_variants_with_the_same_code_share_a_time(module: Any, arrays: Any, driver: Any, store: VariantStore) -> None:
    def build(module: Any, entry: Any, variant: Any, target: str) -> Any:
        return build_as({"": 2.0})(module, entry, Variant("triton"), target)

    result = tune(module, 5, arrays, store=store, worker=LocalWorker(driver), build=build)
    first, *others = result.trials
    assert first.seconds is not None and all(t.same_as == first.variant and t.seconds is None for t in others)
    assert result.time_of(AS_IS) == result.seconds == first.seconds


def test_nothing_works(module: Any, arrays: Any, driver: Any, store: VariantStore) -> None:
    build = build_as({"": "refused"})
    with pytest.raises(tilery.TileError, match="no variant of @double worked"):
        tune(module, 5, arrays, store=store, worker=LocalWorker(driver), build=build)
    assert store.records() == []


def test_hangs_and_crashes_are_survived(
    module: Any, arrays: Any, store: VariantStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tilery.tuner.search.LIMIT_SECONDS", 0.05)
    monkeypatch.setattr("tilery.tuner.search.SLACK_SECONDS", 1.0)
    script = tmp_path / "child.py"
    script.write_text(CHILD.format(paths=sys.path))
    build = build_as({"w1": {"does": "hang"}, "w2": {"does": "die"}, "occ2": 1.0})
    worker = WorkerProcess(str(script))
    result = tune(module, 5, arrays, store=store, worker=worker, build=build)
    assert result.best.label == "tileiras O3 occ2"
    ended = [t for t in result.trials if "w1" in t.variant.label or "w2" in t.variant.label]
    assert ended and all(t.error == "it hung, or ended the process that ran it" for t in ended)
    assert not worker.child.running


def test_the_budget_is_kept(module: Any, arrays: Any, driver: Any, store: VariantStore) -> None:
    build = build_as({})
    result = tune(module, 5, arrays, budget=0.0, store=store, worker=LocalWorker(driver), build=build)
    assert result.left_out > 0 and len(result.trials) >= 1


WAITING = """
cuda_tile.module @m {
  entry @wait(%p: tile<ptr<i32>>) {
    %0 = constant <i32: 0> : tile<i32>
    loop {
      %v, %t = load_ptr_tko acquire device %p : tile<ptr<i32>> -> tile<i32>, token
      %c = cmpi not_equal %v, %0, signed : tile<i32> -> tile<i1>
      if %c { break }
      continue
    }
    return
  }
}
"""


def test_kernels_that_wait_for_each_other_are_refused() -> None:
    with pytest.raises(tilery.TileError, match="its tile blocks may wait for each other"):
        tune(tilery.parse(WAITING), 2, [np.zeros(1, np.int32)])


def test_kernels_with_globals_are_refused() -> None:
    text = DOUBLE.replace("entry @double", "global @g <f32: [1.0, 2.0]> : tile<2xf32>\n  entry @double")
    with pytest.raises(tilery.TileError, match="the module has globals"):
        tune(tilery.parse(text), 2, [np.zeros(1, np.float32), np.zeros(1, np.float32), 1])


def test_an_unknown_engine_is_refused(module: Any, arrays: Any) -> None:
    with pytest.raises(tilery.TileError, match="engine must be triton, tileiras or all, got 'cpu'"):
        tune(module, 5, arrays, engine="cpu")
