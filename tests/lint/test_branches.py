"""Branches of which a tile block takes one at most."""

from __future__ import annotations

import pytest

import tilery
from tilery.lint.branches import are_exclusive
from tilery.lint.facts import Facts
from tilery.ops import StorePtrTko

STORES = """
entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {{
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %c9 = constant <i32: 9> : tile<i32>
  {first}
  {second}
  return
}}
"""
STORE = "%t = store_ptr_tko weak %p, %n : tile<ptr<i32>>, tile<i32> -> token"


def branch(name: str, comparison: str) -> str:
    return f"%{name} = cmpi {comparison} : tile<i32> -> tile<i1> if %{name} {{ {STORE} }}"


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("equal %b, %c0, signed", "equal %b, %c1, signed", True),
        ("equal %b, %c0, signed", "equal %b, %n, signed", False),
        ("equal %b, %c0, signed", "not_equal %b, %c0, signed", True),
        ("equal %b, %c0, signed", "not_equal %b, %c1, signed", False),
        ("less_than %b, %c1, signed", "greater_than %b, %c9, signed", True),
        ("less_than %b, %c9, signed", "greater_than %b, %c1, signed", False),
        ("less_than %b, %c9, signed", "greater_than_or_equal %b, %c9, signed", True),
        ("less_than_or_equal %b, %c9, signed", "greater_than_or_equal %b, %c9, signed", False),
        ("less_than %b, %c9, unsigned", "greater_than_or_equal %b, %c9, signed", False),
        ("equal %b, %n, signed", "less_than %b, %n, unsigned", True),
    ],
)
def test_two_comparisons(first: str, second: str, expected: bool) -> None:
    found = exclusive(STORES.format(first=branch("a", first), second=branch("d", second)))
    assert found is expected


CHOICE = f"if %d {{ {STORE} }} else {{ {STORE} }}"


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("%d = cmpi equal %b, %c0, signed : tile<i32> -> tile<i1>", CHOICE, True),
        (
            "%d = cmpi equal %b, %c0, signed : tile<i32> -> tile<i1>",
            f"for %i in (%c0 to %c9, step %c1) : tile<i32> {{ {CHOICE} }}",
            True,
        ),
        (
            "",
            "for %i in (%c0 to %c9, step %c1) : tile<i32> "
            f"{{ %d = cmpi equal %i, %c0, signed : tile<i32> -> tile<i1> {CHOICE} }}",
            False,  # in different iterations
        ),
    ],
)
def test_the_branches_of_an_if(first: str, second: str, expected: bool) -> None:
    assert exclusive(STORES.format(first=first, second=second)) is expected


def exclusive(text: str) -> bool:
    module = tilery.parse(text)
    assert tilery.verify(module) == []
    facts = Facts(module, next(iter(module.entries)))
    a, b = facts.of(StorePtrTko)
    assert are_exclusive(a, b, facts) is are_exclusive(b, a, facts)
    return are_exclusive(a, b, facts)
