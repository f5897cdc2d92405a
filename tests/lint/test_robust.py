"""Rules never fail, whatever a legal module looks like, and take time in proportion to it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

import pytest

import tilery
from tilery.lint import Severity, fixed, lint, lint_input
from tilery.smith import smith
from tilery.source.input import Input


@pytest.mark.parametrize("seed", [*range(16), 271, 362, 726, 1468, 2144])  # the last ones had false errors once
def test_random_modules_have_no_errors(seed: int) -> None:
    """They can be executed without a fault, so an error would be a false one."""
    assert [finding.message for finding in lint(smith(seed)) if finding.severity is Severity.ERROR] == []


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


def sums(count: int) -> str:
    """A long chain of additions."""
    body = "\n".join(f"%v{i} = addi %v{i - 1}, %v0 : tile<64xi32>" for i in range(1, count + 1))
    return f"entry @k() {{\n%v0 = iota : tile<64xi32>\n{body}\nreturn\n}}\n"


def waits(count: int) -> str:
    """Flags that are read one after the other, each before some data."""
    flag = "%f{0}, %t{0} = load_ptr_tko acquire device %flag : tile<ptr<i32>> -> tile<i32>, token"
    data = "%v{0}, %u{0} = load_ptr_tko weak %p token=%t{0} : tile<ptr<i32>> -> tile<i32>, token"
    body = "\n".join(f"{flag}\n{data}".format(i) for i in range(count))
    return f"entry @k(%p: tile<ptr<i32>>, %flag: tile<ptr<i32>>) {{\n{body}\nreturn\n}}\n"


def test_the_same_element_again_and_again() -> None:
    found = lint(tilery.parse(accesses(3000)), trial=False)
    assert {finding.rule for finding in found} == {"dead-store"}


def calls(text: str) -> int:
    """Count the calls of Python functions that linting a text takes."""
    module = tilery.parse(text)
    lint(module, trial=False)  # imports and generated code
    count = 0

    def counted(frame: FrameType, event: str, arg: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(counted)
    try:
        lint(module, trial=False)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("text", [accesses, nested, sums, waits])
def test_the_work_is_in_proportion_to_the_text(text: Callable[[int], str]) -> None:
    assert calls(text(240)) < 2.5 * calls(text(120))


def test_twenty_thousand_operations() -> None:
    assert {finding.rule for finding in lint(tilery.parse(sums(20_000)))} == {"unused-value"}


def test_doubling_does_not_overflow() -> None:
    lines = [f"%v{i + 1} = addi %v{i}, %v{i} : tile<i64>" for i in range(200)]
    body = "\n".join(lines)
    text = f'entry @k(%v0: tile<i64>) {{\n{body}\nprint_tko "%d", %v200 : tile<i64> -> token\nreturn\n}}\n'
    assert lint(tilery.parse(text)) == []


def test_broken_texts_raise_an_error_with_a_place() -> None:
    with pytest.raises(tilery.TileError, match="expected"):
        lint_input(Input(text="entry @k( {"))
    assert fixed("entry @k( {") == ("entry @k( {", 0)
