"""Work grows in proportion to the input: steps and bytes are counted, not seconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilery
from support.hostile.growth import is_linear
from tilery.passes import parse_pipeline, run_pipeline
from tilery.sanitize import Sanitizer
from tilery.sanitize.races.check import Race
from tilery.text.lossless.reading import read
from tilery.text.lossless.scopes import Names

COUNT = "%zero = constant <i32: 0> : tile<i32> %one = constant <i32: 1> : tile<i32>"


def nested_loops(depth: int, branch: str = "") -> str:
    """Loops in loops; `branch` is in each of them, where `N` is the number of the loop."""
    opened = "".join(f"for %i{n} in (%zero to %n, step %one) : tile<i32> {{ " for n in range(depth))
    inside = "".join(branch.replace("N", str(n)) for n in range(depth))
    return f"entry @k(%n: tile<i32>) {{ {COUNT} {opened} {inside} {'continue } ' * depth} return }}"


def split(text: str) -> Callable[[], object]:
    module, pipeline = tilery.parse(text, verify=False), parse_pipeline("loop-split")
    return lambda: run_pipeline(module, pipeline)


def test_splitting_nested_loops_is_linear() -> None:
    assert is_linear(lambda depth: split(nested_loops(depth)), 100)


def test_splitting_nested_loops_that_compare_is_linear() -> None:
    # The bound is computed inside the loop, so that no loop can be split.
    branch = "%bN = addi %iN, %one : tile<i32> %cN = cmpi less_than %iN, %bN, signed : tile<i32> -> tile<i1> "
    assert is_linear(lambda depth: split(nested_loops(depth, branch + "if %cN { yield } ")), 30)


def names(text: str) -> Callable[[], object]:
    parsed = [part.parsed for part in read(text).parts]
    return lambda: [Names(each) for each in parsed]


def test_finding_names_that_are_defined_later_or_nowhere_is_linear() -> None:
    row = "%rN = addi %uN, %rM : tile<i32>\n"

    def text(count: int) -> str:
        rows = "".join(row.replace("N", str(n)).replace("M", str(n + 1)) for n in range(count))
        return f"entry @k() {{\n{rows}return\n}}\n"

    assert is_linear(lambda count: names(text(count)), 100)


def test_finding_names_in_nested_regions_is_linear() -> None:
    def text(depth: int) -> str:
        rows = "".join(f"if %c {{\n%r{n} = addi %u{n}, %u : tile<i32>\n" for n in range(depth))
        ends = "yield\n}\n" * depth
        return f"entry @k(%c: tile<i1>) {{\n{rows}{ends}return\n}}\n"

    assert is_linear(lambda depth: names(text(depth)), 50)


STORES = {
    "operations": ("%tN = store_ptr_tko weak %p, %n : tile<ptr<i32>>, tile<i32> -> token\n", True),
    "weak": ("%t = store_ptr_tko weak %p, %n : tile<ptr<i32>>, tile<i32> -> token\n", False),
    "strong": ("%t = store_ptr_tko relaxed device %p, %n : tile<ptr<i32>>, tile<i32> -> token\n", False),
}


@pytest.mark.parametrize("name", STORES)
def test_looking_for_races_of_unordered_stores_is_linear(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Comparisons of accesses are counted, and steps along lists of earlier ones."""
    store, in_a_row = STORES[name]
    calls = 0

    def counted(original: Any) -> Any:
        def count(*values: Any) -> Any:
            nonlocal calls
            calls += 1
            return original(*values)

        return count

    for method in ("_compare", "_is_followed", "_report_hit"):
        monkeypatch.setattr(Race, method, counted(getattr(Race, method)))

    def calls_of(count: int) -> int:
        nonlocal calls
        head = f"entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {{ {COUNT} %m = constant <i32: {count}> : tile<i32>\n"
        if in_a_row:
            text = head + "".join(store.replace("N", str(n)) for n in range(count)) + "return }"
        else:
            text = head + f"for %i in (%zero to %m, step %one) : tile<i32> {{ {store} continue }} return }}"
        calls = 0
        tilery.compile(tilery.parse(text)).launch(2, [np.zeros(1, np.int32), 1], sanitize=Sanitizer("race"))
        return calls

    assert 0 < calls_of(160) < 2.3 * calls_of(80)
