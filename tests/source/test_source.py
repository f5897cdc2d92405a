"""Source lines: the places of locations, and text with source lines."""

from __future__ import annotations

from pathlib import Path

import pytest

import tilery
from tilery.attrs import (
    CallSite,
    DICompileUnit,
    DIFile,
    DILexicalBlock,
    DILoc,
    DISubprogram,
    FileLineCol,
    FusedLoc,
    NameLoc,
)
from tilery.source.lines import MAX_PLACES, Place, annotate, excerpt, places

SOURCE = "def helper(a):\n    return a + a\n\ndef kernel(x):\n    helper(x)\n"


def scope(name: str, folder: str = "/src") -> DISubprogram:
    file = DIFile("kernel.py", folder)
    return DISubprogram(file, 1, name, name, DICompileUnit(file))


def test_a_place_in_a_function() -> None:
    block = DILexicalBlock(scope("f"), DIFile("kernel.py", "/src"), 2)
    assert places(DILoc(FileLineCol("kernel.py", 3, 4), block)) == [Place("/src/kernel.py", 3, 5, "f")]


def test_columns_of_other_languages_count_from_one() -> None:
    assert places(FileLineCol("kernel.cu", 3, 4)) == [Place("kernel.cu", 3, 4)]


def test_calls_are_listed_from_the_inside_out() -> None:
    inner, middle, outer = (
        DILoc(FileLineCol("/a.py", line, 0), scope(name)) for line, name in ((1, "f"), (2, "g"), (3, "h"))
    )
    assert [p.function for p in places(CallSite(CallSite(inner, middle), outer))] == ["f", "g", "h"]
    assert [p.function for p in places(CallSite(inner, CallSite(middle, outer)))] == ["f", "g", "h"]
    assert [p.function for p in places(FusedLoc((inner, NameLoc("x", outer), None)))] == ["f", "h"]
    assert places(None) == []


def test_endless_calls_have_an_end() -> None:
    loc = here = DILoc(FileLineCol("/a.py", 1, 0), scope("f"))
    for _ in range(3000):
        loc = CallSite(loc, here)  # type: ignore[assignment]  # of another kind of location
    assert len(places(loc)) == MAX_PLACES


def test_an_excerpt_shows_the_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "kernel.py"
    file.write_text(SOURCE)
    loc = CallSite(
        DILoc(FileLineCol(str(file), 2, 11), scope("helper")), DILoc(FileLineCol(str(file), 5, 4), scope("kernel"))
    )
    assert excerpt(loc) == (
        f"  at {file}:2:12 in helper",
        "    return a + a",
        "           ^",
        f"  at {file}:5:5 in kernel",
        "    helper(x)",
        "    ^",
    )


def test_an_excerpt_without_the_source() -> None:
    assert excerpt(FileLineCol("/nowhere/kernel.py", 2, 11)) == ("  at /nowhere/kernel.py:2:12",)


def test_text_with_lines_of_source_is_the_same_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "kernel.py"
    file.write_text(SOURCE)
    module = tilery.parse("entry @kernel(%x: tile<i32>) {\n  %y = addi %x, %x : tile<i32>\n  return\n}")
    inside = DILoc(FileLineCol(str(file), 2, 11), scope("helper"))
    module.entries[0].body.ops[0].loc = CallSite(inside, DILoc(FileLineCol(str(file), 5, 4), scope("kernel")))
    text = annotate(module)
    assert "  // kernel.py:2, from line 5: return a + a\n  %0 = addi %arg0, %arg0" in text
    assert tilery.equal(tilery.parse(text), tilery.parse(tilery.show(module)))
