"""`tilery targets` and `tilery compile --engine tileiras`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from engines.tileiras.test_compiler import SCALES, needs_tileiras
from make_kernel import vector_add
from tilery import dumps
from tilery.cli.main import main
from tilery.engines.tileiras.compiler import architectures, find_tool


@needs_tileiras
def test_targets_lists_what_tileiras_compiles_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["targets", "--json"]) == 0
    facts = {fact["engine"]: fact for fact in json.loads(capsys.readouterr().out)["engines"]}
    assert set(facts["tileiras"]["targets"]) == set(architectures(find_tool())) >= {"sm_80", "sm_90", "sm_100"}
    assert main(["targets"]) == 0
    assert "\n  sm_90" in capsys.readouterr().out


def test_an_engine_that_is_not_installed_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tilery.engines.tileiras.compiler.os.access", lambda *_: False)
    find_tool.cache_clear()
    assert main(["targets"]) == 0
    assert "not available: NVIDIA's tileiras is not installed\n  install it with: pip" in capsys.readouterr().out
    find_tool.cache_clear()


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Also of an engine that imports its package late, and could name its targets without it."""
    monkeypatch.setitem(sys.modules, "triton", None)
    assert main(["targets"]) == 0
    assert (
        "triton\n  not available: engine 'triton' needs the package 'triton'\n"
        "  install it with: pip install 'tilery[gpu]'\n"
    ) in capsys.readouterr().out


@needs_tileiras
def test_compile_writes_a_cubin(tmp_path: Path) -> None:
    source, target = tmp_path / "k.tileirbc", tmp_path / "k.cubin"
    source.write_bytes(dumps(vector_add()))
    assert main(["compile", str(source), "--engine", "tileiras", "--target", "sm_90", "-o", str(target)]) == 0
    assert target.read_bytes().startswith(b"\x7fELF")


@needs_tileiras
def test_an_error_of_tileiras_has_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "k.mlir"
    source.write_text(SCALES)
    assert main(["compile", str(source), "--engine", "tileiras", "--target", "sm_90", "-o", str(tmp_path / "k")]) == 1
    assert "k.mlir:2:" in (said := capsys.readouterr().err)
    assert "unsupported type 'f8E8M0FNU'" in said
