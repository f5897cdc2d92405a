"""Each row of the text groups has the digest that is in the table."""

from __future__ import annotations

from golden.checks import check, parts


@parts("text/as-it-is")
def test_as_it_is(part: str) -> None:
    check(part)


@parts("text/options")
def test_options(part: str) -> None:
    check(part)


@parts("text/broken")
def test_broken(part: str) -> None:
    check(part)


@parts("text/edited")
def test_edited(part: str) -> None:
    check(part)


@parts("text/planted")
def test_planted(part: str) -> None:
    check(part)


@parts("text/format")
def test_format(part: str) -> None:
    check(part)


@parts("text/types")
def test_types(part: str) -> None:
    check(part)


@parts("text/corners")
def test_corners(part: str) -> None:
    check(part)


@parts("text/words")
def test_words(part: str) -> None:
    check(part)


@parts("text/numbers")
def test_numbers(part: str) -> None:
    check(part)


@parts("text/hints")
def test_hints(part: str) -> None:
    check(part)


@parts("text/attributes")
def test_attributes(part: str) -> None:
    check(part)


@parts("text/generic")
def test_generic(part: str) -> None:
    check(part)


@parts("text/lines")
def test_lines(part: str) -> None:
    check(part)


@parts("text/characters")
def test_characters(part: str) -> None:
    check(part)


@parts("text/nested")
def test_nested(part: str) -> None:
    check(part)


@parts("text/spaced")
def test_spaced(part: str) -> None:
    check(part)
