"""Each row of the groups of what is generated has the digest that is in the table."""

from __future__ import annotations

from golden.checks import check, parts


@parts("generated/functions")
def test_functions(part: str) -> None:
    check(part)


@parts("generated/programs")
def test_programs(part: str) -> None:
    check(part)
