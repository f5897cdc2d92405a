"""Each row of the bytecode groups has the digest that is in the table."""

from __future__ import annotations

from golden.checks import check, parts


@parts("bytecode/as-it-is")
def test_as_it_is(part: str) -> None:
    check(part)


@parts("bytecode/broken")
def test_broken(part: str) -> None:
    check(part)


@parts("bytecode/written")
def test_written(part: str) -> None:
    check(part)


@parts("bytecode/illegal")
def test_illegal(part: str) -> None:
    check(part)


@parts("bytecode/bytes")
def test_bytes(part: str) -> None:
    check(part)


@parts("bytecode/sections")
def test_sections(part: str) -> None:
    check(part)


@parts("bytecode/pieces")
def test_pieces(part: str) -> None:
    check(part)


@parts("bytecode/integers")
def test_integers(part: str) -> None:
    check(part)
