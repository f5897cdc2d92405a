"""Branches of which a tile block takes one at most, or that the first tile block does not take."""

from __future__ import annotations

import pytest

import tilery
from tilery.lint import lint
from tilery.lint.branches import are_exclusive, is_skipped_by_first
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


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("%d = cmpi equal %b, %c0, signed : tile<i32> -> tile<i1>", (False, True)),
        ("%d = cmpi greater_than %b, %c0, unsigned : tile<i32> -> tile<i1>", (True, False)),
        ("%d = cmpi less_than %b, %n, signed : tile<i32> -> tile<i1>", (False, False)),
        ("%e = subi %b, %c1 : tile<i32> %d = cmpi less_than %e, %c9, unsigned : tile<i32> -> tile<i1>", (False, False)),
        ("%e = subi %b, %c1 : tile<i32> %d = cmpi less_than %e, %c9, signed : tile<i32> -> tile<i1>", (False, True)),
        (
            "%e = cmpi equal %b, %n, signed : tile<i32> -> tile<i1> "
            "%f = cmpi equal %b, %c1, signed : tile<i32> -> tile<i1> %d = andi %e, %f : tile<i1>",
            (True, False),
        ),
        (
            "%e = cmpi equal %b, %n, signed : tile<i32> -> tile<i1> "
            "%f = cmpi equal %b, %c1, signed : tile<i32> -> tile<i1> %d = ori %e, %f : tile<i1>",
            (False, False),
        ),
        (
            "%e = cmpi equal %y, %b, signed : tile<i32> -> tile<i1> "
            "%f = cmpi equal %b, %c0, signed : tile<i32> -> tile<i1> %d = andi %e, %f : tile<i1>",
            (False, True),
        ),
    ],
)
def test_the_branches_that_the_first_tile_block_skips(condition: str, expected: tuple[bool, bool]) -> None:
    module = tilery.parse(STORES.format(first=condition, second=CHOICE))
    facts = Facts(module, next(iter(module.entries)))
    assert tuple(is_skipped_by_first(o, facts) for o in facts.of(StorePtrTko)) == expected


LOOK_BACK = """
entry @k(%p: tile<ptr<i32>>) {{
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %v = make_tensor_view %p, shape = [8], strides = [1] : tensor_view<8xi32, strides=[1]>
  %w = make_partition_view %v : partition_view<tile=(1), tensor_view<8xi32, strides=[1]>>
  %first = cmpi {comparison} %b, %c0, signed : tile<i32> -> tile<i1>
  if %first {{
    %back = subi %b, %c1 : tile<i32>
    %known = assume bounded<0, ?>, %back : tile<i32>
    %from = offset %p, %back : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %n, %t = load_ptr_tko weak %from : tile<ptr<i32>> -> tile<i32>, token
    %m, %u = load_view_tko weak %w[%back] : partition_view<tile=(1), tensor_view<8xi32, strides=[1]>>, tile<i32> -> tile<1xi32>, token
    print_tko "%d %d %d", %n, %m, %known : tile<i32>, tile<1xi32>, tile<i32> -> token
  }}
  return
}}
"""  # noqa: E501


@pytest.mark.parametrize(("comparison", "rules"), [("equal", ["false-promise", "out-of-bounds"]), ("not_equal", [])])
def test_what_the_first_tile_block_does_not_execute_is_not_outside(comparison: str, rules: list[str]) -> None:
    found = lint(tilery.parse(LOOK_BACK.format(comparison=comparison)), trial=False)
    assert sorted({each.rule for each in found if each.rule in ("out-of-bounds", "false-promise")}) == rules
    assert len([each for each in found if each.rule == "out-of-bounds"]) == (2 if rules else 0)


def test_conditions_that_are_composed_of_many_take_no_time() -> None:
    lines = [f"%d{n + 1} = andi %d{n}, %d{n} : tile<i1>" for n in range(5000)]
    first = "\n".join(["%d0 = cmpi equal %b, %n, signed : tile<i32> -> tile<i1>", *lines])
    module = tilery.parse(STORES.format(first=first, second=CHOICE.replace("%d", "%d5000")))
    facts = Facts(module, next(iter(module.entries)))
    assert not any(is_skipped_by_first(o, facts) for o in facts.of(StorePtrTko))
