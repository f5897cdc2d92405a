"""`tilery dis` and `tilery asm`."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.command import illegal
from tilery.cli.main import main


def test_dis_prints_an_illegal_module_with_its_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = illegal(tmp_path)
    assert main(["dis", str(path)]) == 1
    out, err = capsys.readouterr()
    assert "addf %arg0, %arg1" in out
    assert err.count("error: ") == 2
    assert main(["dis", "--no-verify", str(path)]) == 0
    assert capsys.readouterr() == (out, "")


def test_asm_and_convert_refuse_an_illegal_module(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, target = illegal(tmp_path), tmp_path / "out"
    for command in (["asm"], ["convert", "--version", "13.2"]):
        assert main([*command, str(path), "-o", str(target)]) == 1
        assert "'cuda_tile.addf' op " in capsys.readouterr().err
        assert not target.exists()


def test_dis_and_asm_are_inverse(kernel: Path, tmp_path: Path) -> None:
    text, back = tmp_path / "k.mlir", tmp_path / "back.tileirbc"
    assert main(["dis", str(kernel), "-o", str(text)]) == 0
    assert main(["asm", str(text), "--version", "13.1", "-o", str(back)]) == 0
    assert main(["diff", str(kernel), str(back)]) == 0


@pytest.mark.parametrize("style", ["disasm", "opt", "generic"])
def test_dis_has_styles(style: str, kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dis", "--style", style, str(kernel)]) == 0
    assert "addf" in capsys.readouterr().out
