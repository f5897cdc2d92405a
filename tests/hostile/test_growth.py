"""Work grows in proportion to the input: steps and bytes are counted, not seconds."""

from __future__ import annotations

from collections.abc import Callable

import tilery
from support.hostile.growth import is_linear
from tilery.passes import parse_pipeline, run_pipeline

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
