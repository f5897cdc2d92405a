"""`tilery lint`: findings, exit status, fixes, and what it says about wrong use."""

from __future__ import annotations

import json
import linecache
from pathlib import Path

import pytest

from tilery.cli.main import main
from tilery.lint import RULES

TEXT = """entry @k(%p: tile<ptr<f32>>, %x: tile<f32>) {
  %t = store_ptr_tko weak %p, %x : tile<ptr<f32>>, tile<f32> -> token
  %v, %u = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
  print_tko "%f", %v : tile<f32> -> token
  return
}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "k.mlir"
    path.write_text(TEXT, "utf-8")
    return path


def test_findings_have_place_severity_and_rule(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", str(file)]) == 1
    out = capsys.readouterr().out
    assert out.startswith(f"{file}:3:12: error: load_ptr_tko: no token orders it after the store_ptr_tko of the same ")
    assert "[missing-token]\n" in out
    assert f"{file}:2:8: note: the other access is here\n" in out


def test_rules_can_be_chosen_and_ignored(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", "--ignore", "missing-token", str(file)]) == 0
    assert main(["lint", "--rules", "dead-store,unused-value", str(file)]) == 0
    assert capsys.readouterr().out == ""
    assert main(["lint", "--rules", "missing-tokens", str(file)]) == 2
    assert "there is no rule 'missing-tokens'; did you mean 'missing-token'?" in capsys.readouterr().err


def test_notes_do_not_change_the_exit_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text("entry @k(%n: tile<i32>) {\n  return\n}\n", "utf-8")
    assert main(["lint", str(path)]) == 0
    assert "note: entry: argument 0 of @k, tile<i32>, is not used [unused-argument]" in capsys.readouterr().out


def test_json_and_sarif(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "found.sarif"
    assert main(["lint", "--json", "--sarif", str(target), str(file)]) == 1
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["rule"], found["severity"], found["line"]) == ("missing-token", "error", 3)
    assert found["fix"] == "Wait for the store_ptr_tko"
    (run,) = json.loads(target.read_text("utf-8"))["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == list(RULES)
    assert run["results"][0]["locations"][0]["physicalLocation"]["region"] == {"startLine": 3, "startColumn": 12}


def test_fix_writes_the_file_back(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", "--fix", str(file)]) == 0
    assert file.read_text("utf-8") == TEXT.replace("weak %p :", "weak %p token=%t :")
    assert main(["lint", "--fix", "-"]) == 2
    assert "stdin is not a file" in capsys.readouterr().err


def test_bytecode_with_lines_of_its_source(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["asm", "-g", str(file), "-o", "k.tileirbc"]) == 0
    assert main(["lint", "k.tileirbc"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("k.tileirbc: error: at byte 0x")
    assert f"note: from {file}:3:12 in k\n" in out
    file.write_text(TEXT.replace("tile<f32>, token\n", "tile<f32>, token  // lint: ignore[missing-token]\n"), "utf-8")
    linecache.clearcache()
    assert main(["lint", "k.tileirbc"]) == 0


def test_illegal_files_do_not_hide_the_others(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "broken.mlir"
    broken.write_text("entry @k( {", "utf-8")
    assert main(["lint", str(broken), str(file)]) == 1
    out, err = capsys.readouterr()
    assert "missing-token" in out and f"{broken}:1:" in err
    assert main(["lint"]) == 2
    assert main(["lint", str(tmp_path / "missing.mlir")]) == 2


def test_list_and_explain(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", "--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(RULES)
    assert main(["lint", "--explain", "dead-store"]) == 0
    assert "Suppress: // lint: ignore[dead-store]" in capsys.readouterr().out
    assert main(["lint", "--explain", "dead"]) == 2


def test_cutile_kernels_have_their_own_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("cuda.tile")
    script = tmp_path / "rows.py"
    script.write_text(
        "import cuda.tile as ct\n\n\n# tilery: f32[3, 10], f32[3]\n@ct.kernel\ndef kernel(x, y):\n"
        "    row = ct.load(x, index=(ct.bid(0), 0), shape=(1, 16))\n"
        "    ct.store(y, index=(ct.bid(0),), tile=ct.sum(row, axis=1))\n",
        "utf-8",
    )
    for argv in ([str(script)], [f"{script}::kernel", "--sig", "f32[3, 10], f32[3]"]):
        assert main(["lint", *argv]) == 0
        out = capsys.readouterr().out
        assert "[unpadded-edge]" in out and f"at {script}:8:" in out and f"{script}:7:" in out
    script.write_text(script.read_text("utf-8").replace("axis=1))", "axis=1))  # lint: ignore[unpadded-edge]"), "utf-8")
    assert main(["lint", str(script)]) == 0
    assert capsys.readouterr().out == ""
