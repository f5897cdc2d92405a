"""Each row of the engine groups has the digest that is in the table."""

from __future__ import annotations

from golden.checks import check, parts


@parts("engine/recorded")
def test_recorded(part: str) -> None:
    check(part)


@parts("engine/observed")
def test_observed(part: str) -> None:
    check(part)


@parts("engine/views")
def test_views(part: str) -> None:
    check(part)


@parts("engine/expressions")
def test_expressions(part: str) -> None:
    check(part)


@parts("engine/elements")
def test_elements(part: str) -> None:
    check(part)


@parts("engine/bodies")
def test_bodies(part: str) -> None:
    check(part)


@parts("engine/contended")
def test_contended(part: str) -> None:
    check(part)


@parts("engine/nested")
def test_nested(part: str) -> None:
    check(part)


@parts("engine/odd")
def test_odd_values(part: str) -> None:
    check(part)


@parts("engine/accesses")
def test_accesses(part: str) -> None:
    check(part)


@parts("engine/reductions")
def test_reductions(part: str) -> None:
    check(part)


@parts("engine/polls")
def test_polls(part: str) -> None:
    check(part)


@parts("engine/far")
def test_far_indices(part: str) -> None:
    check(part)
