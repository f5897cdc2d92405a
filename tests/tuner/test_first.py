"""The first launch of engine `gpu` times a few candidates, and leaves what one launch leaves."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilery
from tilery.analysis.roles import parameter_roles
from tilery.engines.cuda.driver import Driver
from tilery.engines.cuda.staging import ALIGNMENT
from tilery.engines.gpu import first
from tilery.engines.gpu import launch as gpu
from tilery.engines.gpu.store import VariantStore
from tilery.engines.gpu.variants import Variant, VariantCompiler

from .conftest import Gpu, build_as

VERSIONS = (("tileiras", "1.0"), ("triton", "2.0"))
COUNT = """
cuda_tile.module @m {
  entry @count(%values: tile<ptr<i32>>, %counts: tile<ptr<i32>>) {
    %i = iota : tile<64xi32>
    %a = reshape %values : tile<ptr<i32>> -> tile<1xptr<i32>>
    %b = broadcast %a : tile<1xptr<i32>> -> tile<64xptr<i32>>
    %p = offset %b, %i : tile<64xptr<i32>>, tile<64xi32> -> tile<64xptr<i32>>
    %v, %t = load_ptr_tko weak %p : tile<64xptr<i32>> -> tile<64xi32>, token
    %c = reshape %counts : tile<ptr<i32>> -> tile<1xptr<i32>>
    %d = broadcast %c : tile<1xptr<i32>> -> tile<64xptr<i32>>
    %q = offset %d, %v : tile<64xptr<i32>>, tile<64xi32> -> tile<64xptr<i32>>
    %one = constant <i32: 1> : tile<64xi32>
    %old, %u = atomic_rmw_tko relaxed device %q, add, %one
      : tile<64xptr<i32>>, tile<64xi32> -> tile<64xi32>, token
    return
  }
}
"""
PRINTS = """
cuda_tile.module @m {
  entry @prints(%out: tile<ptr<i32>>) {
    print_tko "hello" -> token
    return
  }
}
"""
ADDRESSES = """
cuda_tile.module @m {
  entry @addresses(%at: tile<i64>) {
    %p = int_to_ptr %at : tile<i64> -> tile<ptr<i32>>
    %one = constant <i32: 1> : tile<i32>
    %t = store_ptr_tko weak %p, %one : tile<ptr<i32>>, tile<i32> -> token
    return
  }
}
"""

Load = Callable[..., tuple[gpu.GpuLoaded, Gpu]]


@pytest.fixture
def load(store: VariantStore, monkeypatch: pytest.MonkeyPatch) -> Load:
    monkeypatch.setattr(gpu, "compiler_versions", lambda: VERSIONS)
    monkeypatch.setattr(gpu, "installed", lambda: ("triton", "tileiras"))
    monkeypatch.delenv(gpu.VARIABLE, raising=False)

    def made(module: Any, times: dict[str, Any], **options: Any) -> tuple[gpu.GpuLoaded, Gpu]:
        build = build_as(times)
        monkeypatch.setattr(
            VariantCompiler, "compile", lambda self, module, entry, target: build(module, entry, self.variant, target)
        )
        device = Gpu(module)
        return gpu.GpuLoaded(module, driver=Driver(device), store=store, **options), device

    return made


def test_the_fastest_candidate_runs_and_is_remembered(
    load: Load, module: Any, arrays: Any, store: VariantStore
) -> None:
    loaded, device = load(module, {"triton": 4.0, "tileiras": 2.0})
    kernel = loaded.kernel()
    kernel.launch(5, arrays)
    assert np.array_equal(arrays[1], 2 * arrays[0])
    assert kernel.choice is not None
    variant, why = kernel.choice
    assert variant.engine == "tileiras" and why.startswith("the fastest of ") and why.endswith(" in its first launch")
    assert device.live() == 0
    (record,) = store.records()
    assert record.variant == variant and record.seconds == pytest.approx(0.002)
    assert record.default_seconds == pytest.approx(0.004) and record.tried >= 2
    before = len(device.launches)
    kernel.launch(5, arrays)  # not measured again
    assert len(device.launches) == before + 1
    again = gpu.GpuLoaded(module, driver=loaded.driver, store=store).kernel()
    again.launch(5, arrays)
    assert again.choice == (variant, f"remembered from {record.date}")


def test_the_rules_win_a_tie(load: Load, module: Any, arrays: Any) -> None:
    kernel = load(module, {"triton": 4.0, "tileiras": 3.95})[0].kernel()
    kernel.launch(5, arrays)
    assert kernel.choice is not None and kernel.choice[0] == Variant("triton")


def test_a_kernel_in_place_leaves_what_one_launch_leaves(load: Load, module: Any) -> None:
    loaded, device = load(module, {})
    x = np.arange(5000, dtype=np.float32)
    loaded.kernel().launch(5, [x, x, 5000])
    assert np.array_equal(x, 2 * np.arange(5000, dtype=np.float32))
    assert len(device.launches) > 4 and device.live() == 0


def test_overlapping_arrays_leave_what_one_launch_leaves(load: Load, module: Any) -> None:
    whole = np.arange(6024, dtype=np.float32)
    one = whole.copy()
    tilery.compile(module, engine="reference").launch(5, [one[:5000], one[1024:], 5000])
    loaded, _ = load(module, {})
    loaded.kernel().launch(5, [whole[:5000], whole[1024:], 5000])
    assert np.array_equal(whole, one)


def test_atomics_add_once(load: Load) -> None:
    loaded, device = load(tilery.parse(COUNT), {"triton": 4.0, "tileiras": 2.0})
    values, counts = np.arange(64, dtype=np.int32) % 8, np.zeros(8, np.int32)
    kernel = loaded.kernel()
    kernel.launch(1, [values, counts])
    assert counts.tolist() == [8] * 8
    assert kernel.choice is not None and kernel.choice[0].engine == "tileiras"
    assert len(device.launches) > 4


def test_arrays_on_the_device_stay_as_they_are(load: Load, module: Any) -> None:
    loaded, device = load(module, {})
    address = loaded.driver.allocate(40000)
    x = np.arange(5000, dtype=np.float32)
    loaded.driver.copy_in(address, x.ctypes.data, x.nbytes)
    spans, slots = [(address, address + 20000), (address + 20000, address + 40000)], [
        address.to_bytes(8, "little"), (address + 20000).to_bytes(8, "little"), (5000).to_bytes(4, "little"),
    ]  # fmt: skip
    roles = parameter_roles(module.entries[0])
    with first.copy_written(loaded.driver, spans, slots, [True, True, False], roles) as copies:
        assert len(copies.copied) == 1 and not copies.in_place
        assert copies.slots[0] == slots[0] and copies.slots[2] == slots[2]
        moved = int.from_bytes(copies.slots[1], "little")
        assert moved != address + 20000 and (moved - address - 20000) % ALIGNMENT == 0
        copies.reset()
    loaded.driver.free(address)
    assert device.live() == 0


@pytest.mark.parametrize(
    ("text", "args", "why"),
    [
        (PRINTS, [np.zeros(1, np.int32)], "it prints"),
        (ADDRESSES, [0], "it computes addresses of memory that is not known"),
    ],
)
def test_reasons_to_follow_the_rules(text: str, args: Any, why: str) -> None:
    from tilery.engines.common.launch import Launch
    from tilery.engines.work import work_of

    entry = tilery.parse(text).entries[0]
    assert first.reason_against(entry, work_of(entry), Launch(entry, 1, args)) == why


def test_memory_of_unknown_size_is_not_copied(module: Any) -> None:
    from tilery.engines.common.launch import Launch
    from tilery.engines.work import work_of

    entry, x = module.entries[0], np.zeros(8, np.float32)
    launch = Launch(entry, 1, [x, 4096, 8])
    why = first.reason_against(entry, work_of(entry), launch)
    assert why == "it writes to memory whose size is not known"


def test_a_long_launch_is_not_repeated(load: Load, module: Any, arrays: Any, store: VariantStore) -> None:
    loaded, device = load(module, {"triton": 900.0, "tileiras": 2.0})
    kernel = loaded.kernel()
    kernel.launch(5, arrays)
    assert kernel.choice is not None and kernel.choice[0] == Variant("triton")
    assert len(device.launches) == 2 and not store.records()
    assert np.array_equal(arrays[1], 2 * arrays[0])


def test_without_memory_for_copies_the_rules_choose(
    load: Load, module: Any, arrays: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded, device = load(module, {"tileiras": 2.0})

    def full(*_: Any) -> None:
        raise tilery.TileError("out of memory")

    monkeypatch.setattr(first, "copy_written", full)
    kernel = loaded.kernel()
    kernel.launch(5, arrays)
    assert kernel.choice is not None and kernel.choice[0] == Variant("triton")
    assert np.array_equal(arrays[1], 2 * arrays[0]) and device.live() == 0


def test_what_is_bound_is_not_measured(load: Load, module: Any, arrays: Any) -> None:
    loaded, device = load(module, {"tileiras": 2.0})
    kernel = loaded.kernel()
    kernel.bind(5, arrays).close()
    assert kernel.choice is not None and kernel.choice[0] == Variant("triton") and not device.launches
    kernel.launch(5, arrays)
    assert kernel.choice[0].engine == "tileiras"


def test_opting_out(load: Load, module: Any, arrays: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded, device = load(module, {"tileiras": 2.0}, choice="rules")
    kernel = loaded.kernel()
    kernel.launch(5, arrays)
    assert kernel.choice == (Variant("triton"), "the rules: nothing is remembered for this kernel and shape")
    assert len(device.launches) == 1
    monkeypatch.setenv(gpu.VARIABLE, "rules")
    assert load(module, {})[0].choice == "rules"
    monkeypatch.setenv(gpu.VARIABLE, "sometimes")
    with pytest.raises(tilery.TileError, match="TILERY_GPU_CHOICE must be 'measured' or 'rules', got 'sometimes'"):
        load(module, {})
    with pytest.raises(tilery.TileError, match="choice must be 'measured' or 'rules', got 1"):
        load(module, {}, choice=1)


def test_a_compiler_that_refuses_the_kernel_is_left_out(load: Load, module: Any, arrays: Any) -> None:
    kernel = load(module, {"triton": "refused", "tileiras O3": 3.0, "occ4": 2.0})[0].kernel()
    kernel.launch(5, arrays)
    assert kernel.choice is not None and kernel.choice[0].engine == "tileiras"
    assert np.array_equal(arrays[1], 2 * arrays[0])


def test_the_choice_is_part_of_a_copy(load: Load, module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded, _ = load(module, {}, choice="rules")
    monkeypatch.setattr(gpu, "open_driver", lambda: loaded.driver)
    assert pickle.loads(pickle.dumps(loaded)).choice == "rules"
