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
