"""Names of values from debug information."""

from __future__ import annotations

from pathlib import Path

import pytest

import tilery
from tilery.cli.main import main

NAMED = """entry @k() {
  %0 = iota : tile<8xi32> loc("rows")
  %1 = addi %0, %0 : tile<8xi32> loc("rows")
  %2 = muli %1, %0 : tile<8xi32> loc("no name")
  %3 = muli %2, %0 : tile<8xi32>
  return
}
"""


def test_names_in_locations_are_used() -> None:
    text = tilery.show(tilery.parse(NAMED), names="source")
    assert "%rows = iota" in text and "%rows_0 = addi %rows, %rows" in text
    assert tilery.equal(tilery.parse(text), tilery.parse(tilery.show(tilery.parse(NAMED))))


def test_variables_of_python_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "k.py").write_text("def k():\n    rows = ct.arange(8)\n    total = rows + rows\n    a, b = f()\n")
    monkeypatch.chdir(tmp_path)
    place = f'"{tmp_path}/k.py"'
    text = (
        f"entry @k() {{\n  %0 = iota : tile<8xi32> loc({place}:2:11)\n"
        f"  %1 = muli %0, %0 : tile<8xi32> loc({place}:3:12)\n  %2 = addi %1, %0 : tile<8xi32> loc({place}:3:12)\n"
        f"  %x, %y, %z = get_tile_block_id : tile<i32> loc({place}:4:11)\n  return\n}}\n"
    )
    (tmp_path / "k.mlir").write_text(text)
    assert main(["dis", "--names", "source", "k.mlir"]) == 0
    out = capsys.readouterr().out
    assert "%rows = iota" in out and "%total = addi %1, %rows" in out and "%blockId_x" in out


def test_files_elsewhere_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "k.py").write_text("rows = f()\n")
    (tmp_path / "inside").mkdir()
    monkeypatch.chdir(tmp_path / "inside")
    text = f'entry @k() {{\n  %0 = iota : tile<8xi32> loc("{tmp_path}/k.py":1:7)\n}}\n'
    assert "%0 = iota" in tilery.show(tilery.parse(text), names="source")
