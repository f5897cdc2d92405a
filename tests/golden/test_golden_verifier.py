"""Each row of the verifier groups has the digest that is in the table."""

from __future__ import annotations

from golden.checks import check, parts


@parts("verifier/as-it-is")
def test_as_it_is(part: str) -> None:
    check(part)


@parts("verifier/changed")
def test_changed(part: str) -> None:
    check(part)


@parts("verifier/corners")
def test_corners(part: str) -> None:
    check(part)


@parts("verifier/again")
def test_again(part: str) -> None:
    check(part)


@parts("verifier/beside")
def test_beside(part: str) -> None:
    check(part)


@parts("verifier/many")
def test_many(part: str) -> None:
    check(part)
