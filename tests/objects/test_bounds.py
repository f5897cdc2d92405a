"""Promises of the library about its own cost: objects have no further slots, and nothing is verified twice."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import tilery
from support.oracle import ROOT
from tilery import Block, Op, Value
from tilery.cli.main import main
from tilery.passes import PASSES, register
from tilery.rewrite import Edit, Report
from tilery.verifier import explain, verify


def test_values_operations_and_blocks_have_no_use_lists() -> None:
    assert Value.__slots__ == ("owner", "type")
    assert Op.__slots__ == ("extra", "loc")
    assert Block.__slots__ == ("args", "ops")


@pytest.mark.parametrize("words", [["asm"], ["convert", "--version", "13.2"]])
def test_the_command_verifies_once(
    words: list[str], kernel_text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[object] = []

    def counted(module: tilery.Module, **options: object) -> object:
        calls.append(module)
        return verify.verify(module, **options)  # type: ignore[arg-type]  # the options of `verify`

    monkeypatch.setattr(explain, "verify", counted)
    assert main([*words, str(kernel_text), "-o", str(tmp_path / "out.tileirbc")]) == 0
    assert len(calls) == 1


@pytest.fixture
def kernel_text(tmp_path: Path) -> Path:
    path = tmp_path / "k.mlir"
    path.write_text("entry @k(%n: tile<i32>) { %0 = addi %n, %n : tile<i32> %1 = negi %0 : tile<i32> return }")
    return path


def test_a_pass_can_use_an_edit(kernel_text: Path) -> None:
    @register("test-drop-unused")
    def drop(root: Op, report: Report) -> None:
        """Erase negations that nothing uses."""
        with Edit(root) as edit:
            for o in [o for o in tilery.walk(root) if o.name == "negi" and not edit.uses(o.results[0])]:
                edit.erase(o)
                report.counts["drop"] += 1

    try:
        module = tilery.optimize(tilery.load(kernel_text), "test-drop-unused")
    finally:
        del PASSES["test-drop-unused"]
    assert [o.name for o in module.entry("k").body] == ["addi", "return"]


def test_the_examples_are_checked_by_mypy_in_its_strict_mode() -> None:
    options = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["mypy"]
    assert options["strict"] is True
    assert "examples" in options["files"]
