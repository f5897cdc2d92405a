"""`tilery opt`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilery.cli.main import main


def test_opt_refuses_an_illegal_module(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.mlir"
    path.write_text("entry @k() { %0 = iota : tile<512xi8> }", encoding="utf-8")
    assert main(["opt", str(path)]) == 1
    assert "exceeds the maximum value" in capsys.readouterr().err
