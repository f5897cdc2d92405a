"""`tilery check`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.command import illegal
from tilery.cli.main import main


def test_check_says_nothing_of_a_legal_file(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(kernel)]) == 0
    assert capsys.readouterr() == ("", "")


def test_check_lists_all_faults_with_their_source(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = illegal(tmp_path)
    assert main(["check", str(path)]) == 1
    err = capsys.readouterr().err
    assert err.count(": 'cuda_tile.addf' op ") == 2
    assert f"{path}: error: at byte 0x" in err
    assert "    %0 = addf %arg0, %arg1  : tile<f32>\n    ^^\n" in err
    assert "note: from /k.py:7:4 in k\n" in err
    assert "note: from /k.py:8:4 in k\n" in err


def test_check_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--json", str(illegal(tmp_path))]) == 1
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["legal"], len(found["errors"])) == (False, 2)


def test_check_against_a_version(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text("entry @k(%x: tile<f32>) {\n  %0 = atan2 %x, %x : tile<f32>\n}\n", encoding="utf-8")
    assert main(["check", str(path)]) == 0
    assert main(["check", "--version", "13.1", str(path)]) == 1
    assert "legal in 13.2, not in 13.1: operation 'cuda_tile.atan2'" in capsys.readouterr().err


def test_check_warns_of_hints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text("entry @k() optimization_hints=<sm_75 = {latency = 3}> {}\n", encoding="utf-8")
    assert main(["check", str(path)]) == 0
    assert main(["check", "--hints", "warn", str(path)]) == 0
    assert "unknown hint key sm_75" in capsys.readouterr().err
    assert main(["check", "--hints", "error", str(path)]) == 1
    assert "Optimization hints verification failed" in capsys.readouterr().err
