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


WRONG = "%w = reshape %0 : tile<4xf32> -> tile<8xf32>"
NEIGHBOURS = {
    "a type conflict": f"""entry @k() {{
  %0 = constant <f32: 1.0> : tile<4xf32>
  {WRONG}
  %2 = addf %0, %w : tile<4xf32>
  return
}}""",
    "a region without an end": f"""entry @k(%c: tile<i1>) {{
  %0 = constant <f32: 1.0> : tile<4xf32>
  if %c {{
    {WRONG}
    yield
  return
}}""",
    "a function without an end": f"""entry @k() {{
  %0 = constant <f32: 1.0> : tile<4xf32>
  {WRONG}
  return
entry @j() {{
  return
}}""",
    "a function with a wrong head": f"""entry @k(%x: tile<oops>) {{
  %0 = constant <f32: 1.0> : tile<4xf32>
  {WRONG}
  return
}}""",
}


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_an_error_does_not_hide_that_of_an_operation_beside_it(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "k.mlir"
    path.write_text(NEIGHBOURS[name], "utf-8")
    assert main(["check", "--json", str(path)]) == 1
    (found,) = json.loads(capsys.readouterr().out)
    lines = {error["line"]: error["message"] for error in found["errors"]}
    where = next(n for n, line in enumerate(NEIGHBOURS[name].splitlines(), 1) if WRONG in line)
    assert "same number of elements" in lines[where] and len(lines) > 1
