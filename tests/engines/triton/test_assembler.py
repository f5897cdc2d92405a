"""Which ptxas assembles kernels, and which kernels an unreliable one must not assemble."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

import tilery
from tilery.engines.triton import assembler
from tilery.engines.triton.assembler import Assembler, check_assembler, find_assembler
from tilery.engines.triton.targets import find_target

OLD, NEW = Assembler("old", "12.8.93"), Assembler("new", "12.9.86")

LOADED = """
entry @k(%p: tile<ptr<f16>>) {
  %0 = reshape %p : tile<ptr<f16>> -> tile<1x1xptr<f16>>
  %1 = broadcast %0 : tile<1x1xptr<f16>> -> tile<64x64xptr<f16>>
  %a, %t = load_ptr_tko weak %1 : tile<64x64xptr<f16>> -> tile<64x64xf16>, token
  %turned = permute %a [1, 0] : tile<64x64xf16> -> tile<64x64xf16>
  %zero = constant <f32: 0.0> : tile<64x64xf32>
  %x = mmaf %turned, %a, %zero : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
  return
}"""
COMPUTED = LOADED.replace(
    "  return",
    """  %half = ftof %x : tile<64x64xf32> -> tile<64x64xf16>
  %y = mmaf %half, %a, %zero : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
  return""",
)


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Forget which assembler was found, before and after."""
    find_assembler.cache_clear()
    monkeypatch.delenv(assembler.VARIABLE, raising=False)
    yield monkeypatch
    find_assembler.cache_clear()


def program(folder: Path, name: str, release: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\necho 'Cuda compilation tools, release {release[:4]}, V{release}'\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_an_old_assembler_is_passed_over(fresh: pytest.MonkeyPatch, tmp_path: Path) -> None:
    old, new = program(tmp_path, "ptxas", "12.8.93"), program(tmp_path, "ptxas-blackwell", "12.9.86")
    fresh.setattr(assembler, "_candidates", lambda: [old, new])
    assert find_assembler() == Assembler(str(new), "12.9.86")


def test_the_users_assembler_comes_first(fresh: pytest.MonkeyPatch, tmp_path: Path) -> None:
    mine = program(tmp_path, "mine", "12.8.93")
    fresh.setenv(assembler.VARIABLE, str(mine))
    assert find_assembler() == Assembler(str(mine), "12.8.93")
    assert not find_assembler().is_reliable


def test_computed_operands_need_a_reliable_assembler() -> None:
    entry = tilery.parse(COMPUTED).entries[0]
    with pytest.raises(tilery.TileError, match=r"multiplies a matrix that it computed, and ptxas 12\.8\.93"):
        check_assembler(OLD, entry, find_target("sm_90"))
    check_assembler(NEW, entry, find_target("sm_90"))
    check_assembler(OLD, entry, find_target("sm_80"))  # its products are other instructions


def test_loaded_operands_do_not() -> None:
    check_assembler(OLD, tilery.parse(LOADED).entries[0], find_target("sm_90"))
