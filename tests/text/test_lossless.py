"""The lossless reading: nothing is lost, errors do not stop it, and formatting changes only the layout."""

from __future__ import annotations

import random

import pytest

from support.broken import mutate_text
from support.oracle import corpus_files
from text import laws
from tilery import load, walk
from tilery.ops import Entry
from tilery.smith import smith
from tilery.text import lexer
from tilery.text.lossless.chunks import split
from tilery.text.lossless.format import format_text
from tilery.text.lossless.reading import read
from tilery.verifier.partial import check_reading

TWO = """!t = !cuda_tile.tile<8xi32>
cuda_tile.module @m {
  global @g <f32: 1.0> : tile<1xf32>
  entry @a() {
    %x = iota : tile<8xi32>
    return
  }
  // about b
  entry @b() {
    %y = iota : tile<4xi32>
    return
  }
}
"""


@pytest.mark.parametrize("seed", range(60))
def test_laws_on_random_modules(seed: int) -> None:
    rng = random.Random(seed)
    text = laws.untidy(laws.printed(smith(seed), rng), rng)
    assert laws.lossless_problem(text) == ""
    assert laws.format_problem(text) == ""
    for _ in range(3):
        assert laws.broken_problem(mutate_text(text, rng)) == ""


@pytest.mark.corpus
@pytest.mark.parametrize("path", corpus_files(40), ids=lambda path: path.stem)
def test_laws_on_corpus(path: object) -> None:
    rng = random.Random(str(path))
    text = laws.printed(load(path, verify=False), rng)  # type: ignore[call-overload]  # a path
    assert laws.lossless_problem(text) == ""
    assert laws.format_problem(laws.untidy(text, rng)) == ""
    assert laws.broken_problem(mutate_text(text, rng)) == ""


def test_recovery_finds_most_planted_faults() -> None:
    results = [laws.planted(smith(seed), random.Random(seed)) for seed in range(40)]
    wanted, exact, near, _ = map(sum, zip(*(result for result in results if result is not None)))
    assert wanted > 60
    assert near >= 0.9 * wanted
    assert exact >= 0.85 * wanted


def test_only_a_function_that_changed_is_read_again() -> None:
    first = read(TWO)
    assert not first.errors
    second = read(TWO.replace("%y", "%z"), previous=first)
    kept = [new.parsed for new in second.parts if any(old.parsed is new.parsed for old in first.parts)]
    assert [parsed.text.strip().partition("(")[0] for parsed in kept if parsed.kind == "function"] == ["entry @a"]
    assert [e.sym_name for e in second.module.entries] == ["a", "b"]


def test_a_function_is_read_again_if_an_alias_changed() -> None:
    text = "!t = !cuda_tile.tile<8xi32>\nentry @a() {\n  %x = iota : !t\n}\n"
    first = read(text)
    second = read(text.replace("8xi32", "9xi32"), previous=first)
    assert first.module.entries[0].body.ops[0].results[0].type.text == "tile<8xi32>"
    assert [error.line for error in second.errors] == [1, 3]


def test_a_location_is_that_of_the_last_edit() -> None:
    """A function that is not read again has no location of an alias that is gone or another one."""
    text = 'entry @a() {\n  return loc(#here)\n}\n#here = loc("a.py":1:2)\n'
    first = read(text)
    gone = read(text.replace("#here =", "#there ="), previous=first)
    assert gone.parts[0].parsed is first.parts[0].parsed
    assert [error.message for error in gone.errors] == ["operation location alias was never defined"]
    assert gone.module.entries[0].body.ops[0].loc is None
    changed = text.replace("1:2", "3:4")
    other, anew = (read(changed, previous=earlier).module.entries[0].body.ops[0].loc for earlier in (gone, None))
    assert other is not None and other == anew


def test_an_error_in_one_function_leaves_the_others() -> None:
    reading = read(TWO.replace("iota : tile<8xi32>", "iota : tile<8xi32"))
    assert [error.line for error in reading.errors] == [5]
    assert [e.sym_name for e in reading.module.entries] == ["a", "b"]


@pytest.mark.parametrize(
    "change, lines",
    [
        (("    return\n  }\n  // about", "    return\n  // about"), [4]),
        (("    return\n  }\n  // about", "    return\n  }\n  }\n  // about"), [8]),
        (("@a() {", "@a()"), [5]),
        (("module @m {", "module @m"), [3]),
        (("%x = iota", "%x = itoa"), [5]),
        (("%y = iota", "%y = addi %no, %no"), [10]),
    ],
)
def test_errors_are_where_the_faults_are(change: tuple[str, str], lines: list[int]) -> None:
    text = TWO.replace(*change)
    assert text != TWO
    found = [error.line for error in check_reading(read(text)).errors]
    assert [line for line in lines if line not in found and line - 1 not in found] == []
    assert len(found) <= 2


def test_results_of_a_broken_statement_have_every_type() -> None:
    reading = read(
        "entry @k() {\n  %a = iotta : tile<8xi32>\n  %b = addi %a, %a : tile<8xi32>\n  %c = negf %a : tile<f32>\n}\n"
    )
    assert [error.line for error in reading.errors] == [2]
    assert [o.name for o in reading.module.entries[0].body.ops] == ["addi", "negf", "return"]


def test_the_body_of_a_broken_loop_is_read() -> None:
    text = """entry @k() {
  %n = constant <i32: 8> : tile<i32>
  for %i in (%n too %n, step %n) : tile<i32> {
    %x = addi %i, %n : tile<i32>
    %y = addy %i, %n : tile<i32>
  }
}
"""
    assert [error.line for error in read(text).errors] == [3, 5]


def test_a_broken_function_is_verified_operation_by_operation() -> None:
    text = "entry @k() {\n  %a = iotta : tile<8xi32>\n  %b = iota : tile<8xf32>\n}\n"
    found = check_reading(read(text)).errors
    assert [error.line for error in found] == [2, 3]
    assert "must be" in found[1].message


def test_a_symbol_defined_twice_is_found() -> None:
    found = check_reading(read("entry @k() {\n}\nentry @k() {\n}\n")).errors
    assert [(error.line, error.message) for error in found] == [(3, "redefinition of symbol named 'k'")]


def test_chunks_cover_a_text() -> None:
    chunks = split(TWO)
    assert [chunk.kind for chunk in chunks] == ["items", "module", "items", "function", "function"]
    assert "".join(TWO[chunk.start : chunk.end] for chunk in chunks) == TWO


def test_long_lines_are_broken_before_types() -> None:
    name = "%" + "x" * 70
    text = f"entry @k() {{\n  {name} = iota : tile<8xi32>\n  %s = addi {name}, {name} : tile<8xi32>\n}}\n"
    assert format_text(text).splitlines()[2:5] == [f"  %s = addi {name},", f"      {name}", "      : tile<8xi32>"]


def test_comments_of_neighbours_are_aligned() -> None:
    text = "entry @k() {\n  %a = iota : tile<8xi32> // a\n  %long = iota : tile<16xi32> // b\n\n  return // c\n}\n"
    lines = format_text(text).splitlines()
    assert [line.find("//") for line in lines] == [-1, 30, 30, -1, 9, -1]


def test_a_stray_character_at_the_end_is_an_error() -> None:
    for text in ("entry @k() {}$", "entry @k() {} $", "entry @k() {}\n$\n", '// "a"\nentry @k() {}$// x'):
        assert len(read(text).errors) == 1
        assert laws.lossless_problem(text) == ""


def test_a_region_after_the_end_of_its_module_is_not_the_module() -> None:
    text = "module @m {\n  entry @a() {\n    return\n  }\n}\n} else {\n  entry @b() {\n    return\n  }\n}\n"
    reading = read(text)
    assert 6 in [error.line for error in reading.errors]
    assert [o.sym_name for o in walk(reading.module) if isinstance(o, Entry)] == ["a", "b"]
    assert laws.broken_problem(text) == ""


@pytest.mark.parametrize("seed", range(20))
def test_places_one_by_one_are_those_of_all_tokens(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexer, "BLOCK", 3)
    monkeypatch.setattr(lexer, "MOST_BLOCKS", 2)
    dice = random.Random(seed)
    parts = ["%a", "%", " ", "\n", "//x\n", "//", '"s"', '"', "@", "\x01", "#", "é", "tile<8xi32>", "->", ".", "0x1"]
    for _ in range(50):
        text = "".join(dice.choices(parts, k=dice.randrange(30)))
        places, all_spans = lexer.TokenPlaces(text), lexer.spans(text)
        assert [places.span(index) for index in range(len(all_spans) + 4)] == [*all_spans, *[None] * 4]
        index = dice.randrange(len(all_spans))
        assert lexer.TokenPlaces(text).span(index) == all_spans[index]
