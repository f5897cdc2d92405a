"""Rules never fail, whatever a legal module looks like, and take time in proportion to it."""

from __future__ import annotations

import pytest

import tilery
from tilery.lint import fixed, lint, lint_input
from tilery.smith import smith
from tilery.source.input import Input


@pytest.mark.parametrize("seed", range(40))
def test_random_modules(seed: int) -> None:
    lint(smith(seed))


def nested(depth: int) -> str:
    """A store in many loops and branches, each of which the next one is in."""
    opened = "".join(
        f"for %i{n} in (%zero to %n, step %one) : tile<i32> {{\nif %c {{\n" for n in range(depth)
    )  # fmt: skip
    store = "%t = store_ptr_tko weak %p, %n : tile<ptr<i32>>, tile<i32> -> token\n"
    arguments = "%p: tile<ptr<i32>>, %n: tile<i32>, %zero: tile<i32>, %one: tile<i32>, %c: tile<i1>"
    return f"entry @k({arguments}) {{\n{opened}{store}{'}}' * depth}\nreturn\n}}\n"


def test_deep_nesting() -> None:
    found = lint(tilery.parse(nested(100)))
    assert [finding.rule for finding in found] == []


def accesses(count: int) -> str:
    """Stores to one element, each of which waits for the one before."""
    lines = ["%t0 = store_ptr_tko weak %p, %n : tile<ptr<i32>>, tile<i32> -> token"]
    lines += [
        f"%t{i} = store_ptr_tko weak %p, %n token=%t{i - 1} : tile<ptr<i32>>, tile<i32> -> token"
        for i in range(1, count)
    ]
    body = "\n".join(lines)
    return f"entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {{\n{body}\nreturn\n}}\n"


def test_the_same_element_again_and_again() -> None:
    found = lint(tilery.parse(accesses(3000)))
    assert {finding.rule for finding in found} == {"dead-store"}


def test_doubling_does_not_overflow() -> None:
    lines = [f"%v{i + 1} = addi %v{i}, %v{i} : tile<i64>" for i in range(200)]
    body = "\n".join(lines)
    text = f'entry @k(%v0: tile<i64>) {{\n{body}\nprint_tko "%d", %v200 : tile<i64> -> token\nreturn\n}}\n'
    assert lint(tilery.parse(text)) == []


def test_broken_texts_raise_an_error_with_a_place() -> None:
    with pytest.raises(tilery.TileError, match="expected"):
        lint_input(Input(text="entry @k( {"))
    assert fixed("entry @k( {") == ("entry @k( {", 0)
