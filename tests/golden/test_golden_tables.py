"""Each row of the tables groups has the digest that is in the table."""

from __future__ import annotations

from golden.checks import check, parts
from golden.table import GROUPS, load


@parts("tables/operations")
def test_operations(part: str) -> None:
    check(part)


def test_the_table_has_all_groups() -> None:
    assert sorted(load()) == sorted(GROUPS)
