"""`tilery cutile tune` and `tilery.cutile.on("gpu", tune=True)` on a stand-in for a GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tilery
from tilery.cli.main import main

pytest.importorskip("cuda.tile")

SCRIPT = """
import cuda.tile as ct
import numpy as np

@ct.kernel
def double(x, y, T: ct.Constant[int]):
    ct.store(y, index=(ct.bid(0),), tile=ct.load(x, index=(ct.bid(0),), shape=(T,)) * 2)

@ct.kernel
def spin(flag):
    while ct.atomic_cas(flag, 0, 0, 1, memory_order=ct.MemoryOrder.ACQUIRE) == 1:
        pass

x, y = np.arange(4096, dtype=np.float32), np.zeros(4096, np.float32)
for _ in range(2):
    ct.launch(0, (4,), double, (x, y, 1024))
assert np.array_equal(y, 2 * x)
ct.launch(0, (1,), spin, (np.zeros(1, np.int32),))
"""


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replace the GPU by the reference engine, and the search by one that finds what is asked for."""
    from tilery.engines import registry
    from tilery.engines.gpu.store import Platform
    from tilery.engines.gpu.variants import Variant
    from tilery.tuner import search

    found: list[str] = []
    real = registry.compile_kernel

    def tune(module: Any, grid: Any, args: Any, *, entry: str, buffers: Any, **options: Any) -> Any:
        search._tunable(module, module.entry(entry))
        found.append(entry.split("_Kt")[0])
        variant = Variant.of("tileiras", level=2, occupancy=4, allow_tma=False)
        trials = [search.VariantTrial(search.AS_IS, 2e-3, True), search.VariantTrial(variant, 1e-3, True)]
        result = search.Result(variant, 1e-3, trials, Platform("Fake", "sm_90"), "grid 4 1 1", "nothing")
        result.hints = {"occupancy": 4, "allow_tma": False}
        return result

    monkeypatch.setattr("tilery.tuner.search.tune", tune)
    monkeypatch.setattr(registry, "compile_kernel", lambda *args, engine, **more: real(*args, **more))
    return found


def test_a_script_is_tuned_and_runs(launches: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    assert main(["cutile", "tune", str(script)]) == 0
    said = capsys.readouterr().out
    assert launches == ["double"]  # once, though it is launched twice
    assert "that is 2.00 times as fast as tileiras with the hints of the module" in said
    assert "@ct.kernel(occupancy=ct.ByTarget(sm_90=4), opt_level=ct.ByTarget(sm_90=2, default=3))" in said
    assert "# and allow_tma=False in each ct.load and ct.store" in said
    assert "spin: not tuned: its tile blocks may wait for each other" in said


def test_only_engine_gpu_is_tuned() -> None:
    from tilery.cutile import on

    with pytest.raises(tilery.TileError, match="only engine 'gpu' can be tuned, got 'reference'"), on(tune=True):
        pass
