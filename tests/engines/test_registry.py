"""The registry of engines: every engine keeps the protocol, and a name that leads nowhere is explained."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import tilery
from tilery.engines import registry
from tilery.engines.common.kernel import Engine, Kernel, Loaded
from tilery.engines.common.limits import Stats
from tilery.engines.reference import launch
from tilery.engines.registry import ENGINES, EngineRow

MODULE = """global @total alignment = 8 <i32: 5> : tile<1xi32>
entry @add(%out: tile<ptr<i32>>, %n: tile<i32>) {
  %g = get_global @total : tile<ptr<i32>>
  %old, %t0 = load_ptr_tko weak %g : tile<ptr<i32>> -> tile<i32>, token
  %new = addi %old, %n : tile<i32>
  %t1 = store_ptr_tko weak %g, %new token=%t0 : tile<ptr<i32>>, tile<i32> -> token
  %t2 = store_ptr_tko weak %out, %new : tile<ptr<i32>>, tile<i32> -> token
  return
}"""

INSTALLED = [name for name in registry.AUTOMATIC if ENGINES[name].installed]
"""Engines that run here, whatever the machine."""
REFERENCE: Engine = launch
"""A type checker compares the engine with the protocol here."""


@pytest.mark.parametrize("name", INSTALLED)
def test_an_engine_has_what_the_protocol_asks_for(name: str) -> None:
    loaded = registry.load_engine(name).load(tilery.parse(MODULE))
    kernel = loaded.kernel()
    for protocol, made in ((Loaded, loaded), (Kernel, kernel)):
        members = [member for member in vars(protocol) if not member.startswith("_")]
        assert all(hasattr(made, member) for member in members)
    wanted = list(inspect.signature(Kernel.launch).parameters.values())
    options = {p.name: p.default for p in wanted if p.kind is p.KEYWORD_ONLY}
    inspect.signature(kernel.launch).bind(1, [], **options)


@pytest.mark.parametrize("name", INSTALLED)
def test_an_engine_runs_a_kernel_and_keeps_its_globals(name: str) -> None:
    loaded = registry.load_engine(name).load(tilery.parse(MODULE))
    out = np.zeros(1, np.int32)
    for _ in range(2):
        stats = loaded.kernel("add").launch(1, [out, 3])
        assert isinstance(stats, Stats) and stats.blocks == 1
    assert out[0] == 11 and loaded.content("total") == (11).to_bytes(4, "little")
    kernel = tilery.compile(tilery.parse(MODULE), engine=name)
    kernel.launch(1, [out, 3])
    assert out[0] == 8, "compile loads the module again"
    assert kernel.name == "add" and [p.text for p in kernel.params] == ["tile<ptr<i32>>", "tile<i32>"]


@pytest.mark.parametrize("name", INSTALLED)
def test_an_engine_refuses_options_that_it_does_not_have(name: str) -> None:
    with pytest.raises(tilery.TileError, match=f"engine '{name}' has no option 'colour'"):
        tilery.compile(tilery.parse(MODULE), engine=name, colour="red")


@pytest.mark.parametrize("row", ENGINES.values(), ids=ENGINES)
def test_a_row_says_what_the_engine_is_for(row: EngineRow) -> None:
    assert row.summary and not row.summary.endswith(".") and len(row.summary) < 80


def test_an_unknown_engine_gets_a_suggestion() -> None:
    with pytest.raises(tilery.TileError, match="unknown engine 'refrence', expected reference") as caught:
        tilery.compile(tilery.parse(MODULE), engine="refrence")
    assert caught.value.notes == ["did you mean 'reference'?"]
    with pytest.raises(tilery.TileError) as caught:
        tilery.compile(tilery.parse(MODULE), engine="xyz")
    assert not caught.value.notes


def test_a_missing_package_is_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    (tmp_path / "needy_engine.py").write_text("import no_such_package.inner\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(ENGINES, "needy", EngineRow("needy", "needy_engine", "never works", extra="needy"))
    with pytest.raises(tilery.TileError, match="engine 'needy' needs the package 'no_such_package'") as caught:
        tilery.compile(tilery.parse(MODULE), engine="needy")
    assert caught.value.notes == ["install it with: pip install 'tilery[needy]'"]
