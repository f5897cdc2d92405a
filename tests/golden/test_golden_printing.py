"""Each row of the printing groups has the digest that is in the table."""

from __future__ import annotations

from golden.checks import check, parts


@parts("print/module")
def test_module(part: str) -> None:
    check(part)


@parts("print/parts")
def test_parts(part: str) -> None:
    check(part)


@parts("print/named")
def test_named(part: str) -> None:
    check(part)


@parts("print/illegal")
def test_illegal(part: str) -> None:
    check(part)
