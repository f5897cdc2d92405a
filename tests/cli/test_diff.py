"""`tilery diff`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import tilery
from support.command import TEXT
from support.oracle import ROOT
from tilery.analysis.differences import compare, unified
from tilery.cli.main import main
from tilery.ir import clone, walk
from tilery.smith import smith
from tilery.text.print.printer import show_with_offsets


def test_diff_of_equal_files_says_nothing(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", str(kernel), str(kernel)]) == 0
    assert capsys.readouterr().out == ""


def test_diff_shows_the_first_difference_and_the_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = tmp_path / "a.mlir", tmp_path / "b.mlir"
    a.write_text(TEXT)
    b.write_text(TEXT.replace("addi", "muli"))
    assert main(["diff", str(a), str(b)]) == 1
    out = capsys.readouterr().out
    assert out.startswith("first difference: ")
    assert "addi differs from muli" in out
    assert "\n-" in out
    assert "\n+" in out


def test_diff_ignores_what_text_does_not_keep(tmp_path: Path, kernel: Path) -> None:
    module = tilery.load(kernel)
    module.producer = "someone"
    other = tmp_path / "other.tileirbc"
    other.write_bytes(tilery.dumps(module, "13.3"))
    assert main(["diff", str(kernel), str(other)]) == 0
    assert main(["diff", "-g", str(kernel), str(other)]) == 1


def test_diff_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = tmp_path / "a.mlir", tmp_path / "b.mlir"
    a.write_text(TEXT)
    b.write_text(TEXT.replace("addi", "muli"))
    assert main(["diff", "--json", str(a), str(b)]) == 1
    assert json.loads(capsys.readouterr().out)["equal"] is False


ATTENTION = (ROOT / "bench/kernels/attention.mlir").read_text()


def changed(a: tilery.Module, b: tilery.Module) -> list[str]:
    """The lines of a comparison that are not equal."""
    return [row.sign + row.text.strip() for row in compare(a, b) if row.sign != " "]


def test_an_inserted_operation_is_one_line() -> None:
    lines = tilery.show(tilery.parse(ATTENTION)).splitlines()
    at = next(n for n, line in enumerate(lines) if "= mmaf" in line)
    longer = [*lines[: at + 1], "%new = negf %6 : tile<128x64xf32>", *lines[at + 1 :]]
    found = changed(tilery.parse(ATTENTION), tilery.parse("\n".join(longer)))
    assert found == ["+%7' = negf %6 : tile<128x64xf32>"]
    assert changed(tilery.parse("\n".join(longer)), tilery.parse(ATTENTION)) == ["-%7 = negf %6 : tile<128x64xf32>"]


def test_a_replaced_operation_keeps_the_name_of_its_result() -> None:
    old, new = ATTENTION, ATTENTION.replace("exp2", "exp", 1)
    assert [line.split()[0] for line in changed(tilery.parse(old), tilery.parse(new))] == ["-%10", "+%10"]


def test_a_changed_region_leaves_the_rest_alone() -> None:
    old = tilery.parse(ATTENTION)
    new = tilery.parse(ATTENTION)
    loop = next(o for o in walk(new) if o.name == "for")
    first = loop.blocks[0].ops[0]
    loop.blocks[0].ops.insert(1, clone(first))
    assert len(changed(old, new)) == 1


@pytest.mark.parametrize("seed", range(12))
def test_both_sides_are_complete(seed: int) -> None:
    """Equal modules have no difference, and each side of any comparison is that module's whole text."""
    a, again, other = smith(seed, size=60), smith(seed, size=60), smith(seed + 1, size=60)
    assert changed(a, again) == []
    rows = compare(a, other)
    assert [row.text for row in rows if row.sign in " -"] == show_with_offsets(a)[0].splitlines()
    assert [row.b for row in rows if row.b] == list(range(1, len(show_with_offsets(other)[0].splitlines()) + 1))


def test_twenty_changes_in_long_code_of_few_operations() -> None:
    """Nothing is unique here, and every value depends on the one before."""
    names = ["addi", "muli", "subi"]
    lines = [f"%{n + 1} = {names[n * n % 7 % 3]} %{n}, %a : tile<i32>" for n in range(3000)]
    edited = [re.sub("addi|muli|subi", "xori", line) if n % 150 == 1 else line for n, line in enumerate(lines)]
    count = sum(old != new for old, new in zip(lines, edited))
    texts = ["\n".join(["entry @k(%0: tile<i32>, %a: tile<i32>) {", *code, "return }"]) for code in (lines, edited)]
    assert count == 20
    assert len(changed(*map(tilery.parse, texts))) == 2 * count


def test_unified_has_line_numbers_of_both_sides() -> None:
    a, b = tilery.parse(TEXT), tilery.parse(TEXT.replace("return", "%1 = negi %a : tile<i32>\n return"))
    header = next(line for line in unified(compare(a, b), "a", "b") if line.startswith("@@"))
    assert header == "@@ -1,4 +1,5 @@"


def test_edits_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = tmp_path / "a.mlir", tmp_path / "b.mlir"
    a.write_text(TEXT)
    b.write_text(TEXT.replace("return", "%1 = negi %a : tile<i32>\n return"))
    assert main(["diff", "--json", str(a), str(b)]) == 1
    inserted = {"kind": "insert", "a": [], "b": [{"line": 3, "text": "%1 = negi %arg0 : tile<i32>"}]}
    assert json.loads(capsys.readouterr().out)["edits"] == [inserted]


def test_colour_on_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = tmp_path / "a.mlir", tmp_path / "b.mlir"
    a.write_text(TEXT)
    b.write_text(TEXT.replace("addi", "muli"))
    assert main(["diff", "--color", "always", str(a), str(b)]) == 1
    out = capsys.readouterr().out
    assert "\n\x1b[31m-  %0 = addi" in out
    assert "\n\x1b[32m+  %0 = muli" in out
