"""Reductions whose order matters are spelled out in the order of the reference engine."""

from __future__ import annotations

import pytest

import tilery
from tilery.engines.triton.config import Config
from tilery.engines.triton.lower import lower
from tilery.engines.triton.targets import find_target
from tilery.engines.triton.versions import dialect_of

REDUCE = """entry @k() {{
  %x = iota : tile<1024xi32>
  %c = constant <i32: 2> : tile<i32>
  %r = reduce %x dim=0 identities=[0 : i32] : tile<1024xi32> -> tile<i32>
  (%a: tile<i32>, %b: tile<i32>) {{
    {body}
    yield %y : tile<i32>
  }}
  %t = print_tko "%d", %r : tile<i32> -> token
  return
}}"""


def lowered(body: str) -> str:
    module = tilery.parse(REDUCE.format(body=body))
    return lower(module, module.entries[0], find_target("sm_90"), Config(), dialect_of("3.6.0")).text


@pytest.mark.parametrize("body", ["%y = addi %a, %b : tile<i32>", "%y = maxi %b, %a signed : tile<i32>"])
def test_a_commutative_operation_is_left_to_triton(body: str) -> None:
    text = lowered(body)
    assert text.count("tt.reduce.return") == 1 and "tensor<1024xi32>) -> i32" in text


def test_several_operations_are_applied_to_halves() -> None:
    """Eight elements a thread, 32 lanes and four warps: ten times half of the elements are combined with the others."""
    text = lowered("%d = muli %b, %c : tile<i32>\n %y = subi %a, %d : tile<i32>")
    sizes = [line.rpartition(": ")[2] for line in text.splitlines() if "arith.subi" in line]
    assert sizes == [
        *("tensor<1x4x4x32xi32>", "tensor<1x2x4x32xi32>", "tensor<1x1x4x32xi32>"),
        *("tensor<1x4x16xi32>", "tensor<1x4x8xi32>", "tensor<1x4x4xi32>", "tensor<1x4x2xi32>", "tensor<1x4x1xi32>"),
        *("tensor<1x2x1xi32>", "tensor<1x1x1xi32>"),
    ]


def test_one_operation_that_is_not_commutative_is_applied_from_first_to_last() -> None:
    text = lowered("%y = subi %a, %b : tile<i32>")
    inside = text.partition("scf.for")[2].partition("scf.yield")[0]
    assert "arith.subi" in inside and "tensor<1x4x32xi32>" in inside
