"""Whole files in the documented layout: written by `asm`, read by `dis`, explained by `dump`."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import tilery
from support.broken import mutate_bytes
from tilery import TileError
from tilery.cli.main import main
from tilery.documented.files import dump_file, read_file, write_file

TEXT = """entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {
  %a = addi %n, %n : tile<i32>
  %c = cmpi less_than %a, %n, signed : tile<i32> -> tile<i1>
  if %c {
    %t = store_ptr_tko weak %p, %a : tile<ptr<i32>>, tile<i32> -> token
  }
  return
}
"""


def test_a_file_is_read_as_it_was_written() -> None:
    module = tilery.parse(TEXT)
    assert tilery.show(read_file(write_file(module))) == tilery.show(module)


def test_the_command_writes_reads_and_explains(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, made = tmp_path / "k.mlir", str(tmp_path / "k.doc")
    text.write_text(TEXT, "utf-8")
    assert main(["asm", "--layout", "documented", str(text), "-o", made]) == 0
    assert main(["dis", "--input", "documented", made]) == 0
    assert capsys.readouterr().out == tilery.show(tilery.parse(TEXT))
    assert main(["dump", "--documented", made]) == 0
    shown = capsys.readouterr().out
    for line in ("type 2: tile<ptr<i32>>", "%0 = addi %arg1, %arg1 : tile<i32>", "if %1", "opcode 3: addi", "magic"):
        assert line in shown
    assert main(["check", made]) == 1, "other readers do not know the layout"


def test_what_has_no_tag_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "k.mlir"
    text.write_text("entry @k(%x: tile<f32>) { %a = addf %x, %x flush_to_zero : tile<f32> return }", "utf-8")
    assert main(["asm", "--layout", "documented", str(text), "-o", str(tmp_path / "out")]) == 1
    assert "addf" in capsys.readouterr().err and not (tmp_path / "out").exists()


def test_broken_files_are_refused_and_dumped() -> None:
    rng = random.Random(5)
    data = write_file(tilery.parse(TEXT))
    refused = 0
    for _ in range(300):
        broken = data[:8] + mutate_bytes(data[8:], rng)
        found = dump_file(broken)
        assert b"".join(found.data[m.start : m.end] for m in found.marks) == broken
        try:
            read_file(broken)
        except TileError:
            refused += 1
    assert refused > 100
