"""Reductions of several values are left to Triton if their order cannot matter, and to nothing else."""

from __future__ import annotations

import pytest

import tilery
from tilery.engines.triton.choices import order_is_free
from tilery.engines.triton.config import Config
from tilery.engines.triton.lower import lower
from tilery.engines.triton.targets import find_target
from tilery.engines.triton.versions import dialect_of
from tilery.ir import Block, walk
from tilery.ops import Reduce

TWO = """entry @k(%p: tile<ptr<f32>>) {{
  %x = constant <f32: 0.0> : tile<4x64xf32>
  %i = iota : tile<64xi32>
  %j = reshape %i : tile<64xi32> -> tile<1x64xi32>
  %k = broadcast %j : tile<1x64xi32> -> tile<4x64xi32>
  %place = {place}
  %r, %s = reduce %x, %place dim={dim} identities=[0.0 : f32, 0 : i32] : tile<4x64xf32>, tile<4x64xi32> -> tile<{rest}xf32>, tile<{rest}xi32>
  (%a: tile<f32>, %b: tile<f32>, %m: tile<i32>, %n: tile<i32>) {{
    {body}
    yield %v, %w : tile<f32>, tile<i32>
  }}
  return
}}"""  # noqa: E501
COUNTED, DOUBLED = "addi %k, %k0 : tile<4x64xi32>", "muli %k, %k1 : tile<4x64xi32>"
CONSTANTS = "%k0 = constant <i32: 5> : tile<4x64xi32>\n  %k1 = constant <i32: 2> : tile<4x64xi32>\n  %place ="
TAKE = "\n%v = select %t, %a, %b : tile<i1>, tile<f32>\n%w = select %t, %m, %n : tile<i1>, tile<i32>"
FIRST = "\n%f = cmpi less_than %m, %n, signed : tile<i32> -> tile<i1>\n%tie = andi %e, %f : tile<i1>"
NUMBERS_FIRST = (
    """%g = cmpf greater_than ordered %a, %b : tile<f32> -> tile<i1>
%q = cmpf equal ordered %a, %b : tile<f32> -> tile<i1>
%na = cmpf not_equal unordered %a, %a : tile<f32> -> tile<i1>
%nb = cmpf not_equal unordered %b, %b : tile<f32> -> tile<i1>
%one = constant <i1: true> : tile<i1>
%x1 = xori %na, %one : tile<i1>
%only = andi %x1, %nb : tile<i1>
%better = ori %g, %only : tile<i1>
%nan = andi %na, %nb : tile<i1>
%e = ori %q, %nan : tile<i1>"""
    + FIRST
    + "\n%t = ori %better, %tie : tile<i1>"
    + TAKE
)
NO_NAN = (
    """%g = cmpf greater_than ordered %a, %b : tile<f32> -> tile<i1>
%e = cmpf equal ordered %a, %b : tile<f32> -> tile<i1>"""
    + FIRST
    + "\n%t = ori %g, %tie : tile<i1>"
    + TAKE
)
LATER = "%t = cmpf greater_than ordered %a, %b : tile<f32> -> tile<i1>" + TAKE
APART = "%v = addf %b, %a : tile<f32>\n%w = maxi %m, %n signed : tile<i32>"
CROSSED = "%v = addf %a, %b : tile<f32>\n%u = ftoi %a signed : tile<f32> -> tile<i32>\n%w = addi %u, %n : tile<i32>"
FIRST_OF_BOTH = "%v = addf %a, %b : tile<f32>\n%w = addi %m, %m : tile<i32>"


def module(body: str, place: str = COUNTED, dim: int = 1) -> tilery.Module:
    text = TWO.format(body=body, place=place, dim=dim, rest=(64, 4)[dim])
    return tilery.parse(text.replace("%place =", CONSTANTS))


def body_of(text: str) -> Block:
    return next(o.body for o in walk(module(text).entries[0].body) if isinstance(o, Reduce))


@pytest.mark.parametrize(("body", "distinct", "free"), [
    (NUMBERS_FIRST, (False, True), True),
    (NUMBERS_FIRST, (False, False), False),
    (NO_NAN, (False, True), False),
    (LATER, (False, True), False),
    (APART, (False, False), True),
    (CROSSED, (False, True), False),
    (FIRST_OF_BOTH, (False, True), False),
])  # fmt: skip
def test_laws_are_proven_by_trying_every_comparison(body: str, distinct: tuple[bool, bool], free: bool) -> None:
    assert order_is_free(body_of(body), distinct) is free


@pytest.mark.parametrize(("body", "place", "dim", "native"), [
    (NUMBERS_FIRST, COUNTED, 1, True),
    (NUMBERS_FIRST, COUNTED, 0, False),
    (NUMBERS_FIRST, DOUBLED, 1, False),
    (APART, DOUBLED, 0, True),
    (NO_NAN, COUNTED, 1, False),
])  # fmt: skip
def test_free_reductions_are_one_operation_of_triton(body: str, place: str, dim: int, native: bool) -> None:
    found = module(body, place, dim)
    text = lower(found, found.entries[0], find_target("sm_90"), Config(), dialect_of("3.6.0")).text
    assert (text.count('"tt.reduce"') == 1) is native


def test_a_body_with_many_operations_is_not_tried() -> None:
    long = "\n".join(f"%z{i} = addf %a, %b : tile<f32>" for i in range(100))
    assert not order_is_free(body_of(f"{long}\n{APART}"), (False, False))
