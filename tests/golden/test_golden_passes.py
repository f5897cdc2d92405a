"""Each row of the passes groups has the digest that is in the table."""

from __future__ import annotations

from golden.checks import check, parts


@parts("passes/recorded")
def test_recorded(part: str) -> None:
    check(part)


@parts("passes/modules")
def test_modules(part: str) -> None:
    check(part)


@parts("passes/changed")
def test_changed(part: str) -> None:
    check(part)


@parts("passes/expressions")
def test_expressions(part: str) -> None:
    check(part)


@parts("passes/systematic")
def test_systematic(part: str) -> None:
    check(part)


@parts("passes/choices")
def test_choices(part: str) -> None:
    check(part)


@parts("passes/assumes")
def test_assumes(part: str) -> None:
    check(part)


@parts("passes/loops")
def test_loops(part: str) -> None:
    check(part)


@parts("passes/rename")
def test_rename(part: str) -> None:
    check(part)


@parts("passes/views")
def test_views(part: str) -> None:
    check(part)


@parts("passes/pieces")
def test_pieces(part: str) -> None:
    check(part)


@parts("passes/floats")
def test_floats(part: str) -> None:
    check(part)


@parts("passes/constants")
def test_constants(part: str) -> None:
    check(part)


@parts("passes/pipelines")
def test_pipelines(part: str) -> None:
    check(part)


@parts("passes/idioms")
def test_idioms(part: str) -> None:
    check(part)


@parts("passes/long")
def test_long_expressions(part: str) -> None:
    check(part)
