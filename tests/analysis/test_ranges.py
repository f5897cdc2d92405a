"""Ranges: examples, and the law that every value of an execution lies in its range."""

from __future__ import annotations

import pytest

from support.contract import random_case
from support.index_arithmetic import index_arithmetic
from support.observe import integers, observe
from tilery import parse
from tilery.analysis.intervals import Range, element, is_integer, read, whole, wrap
from tilery.analysis.ranges import ranges
from tilery.attrs import Signedness
from tilery.engines.common.tiles import Array
from tilery.ir import Op, Value
from tilery.ops import Module
from tilery.smith import Contract
from tilery.types import I1, I8, I32

HEADER = (
    "%c1 = constant <i32: 1> : tile<i32> %c8 = constant <i32: 8> : tile<i32> %cm3 = constant <i32: -3> : tile<i32>\n"
)


def last(body: str, trust: bool = True) -> Range:
    """The range of the last result in an entry with parameters %n of i32, %b of i8 and %p of i1."""
    text = f"entry @k(%n: tile<i32>, %b: tile<i8>, %p: tile<i1>) {{ {HEADER}{body} return }}"
    entry = parse(text).entries[0]
    return ranges(entry, trust)[entry.body.ops[-2].results[-1]]


I32_RANGE = whole(I32)
IOTA = "%i = iota : tile<128xi32> "
BOUNDED = "%x = assume bounded<0, 100>, %n : tile<i32> "


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("%0 = constant <i32: [5, -7, 3, 0]> : tile<4xi32>", (-7, 5)),
        ("%0 = constant <i1: [true, true]> : tile<2xi1>", (1, 1)),
        (IOTA, (0, 127)),
        ("%0 = iota : tile<256xi8>", (-128, 127)),
        ("%x, %y, %z = get_tile_block_id : tile<i32>", (0, 2**31 - 2)),
        ("%x, %y, %z = get_num_tile_blocks : tile<i32>", (1, 2**31 - 1)),
        ("%0 = addi %n, %c1 : tile<i32>", I32_RANGE),
        (IOTA + "%0 = addi %i, %i : tile<128xi32>", (0, 254)),
        (IOTA + "%0 = muli %i, %i : tile<128xi32>", (0, 127 * 127)),
        (IOTA + "%0 = subi %i, %i : tile<128xi32>", (-127, 127)),
        (IOTA + "%0 = negi %i : tile<128xi32>", (-127, 0)),
        (BOUNDED, (0, 100)),
        (BOUNDED + "%0 = divi %x, %cm3 signed : tile<i32>", (-33, 0)),
        (BOUNDED + "%0 = divi %x, %cm3 signed rounding<negative_inf> : tile<i32>", (-34, 0)),
        (BOUNDED + "%0 = divi %c8, %x signed : tile<i32>", I32_RANGE),
        (BOUNDED + "%0 = remi %x, %c8 signed : tile<i32>", (0, 7)),
        ("%0 = remi %n, %c8 signed : tile<i32>", (-7, 7)),
        (BOUNDED + "%0 = shli %x, %c8 : tile<i32>", (0, 25600)),
        (BOUNDED + "%0 = shri %x, %c1 signed : tile<i32>", (0, 50)),
        ("%0 = shri %n, %n signed : tile<i32>", I32_RANGE),
        (BOUNDED + "%0 = mini %x, %c8 signed : tile<i32>", (0, 8)),
        (BOUNDED + "%0 = maxi %x, %cm3 unsigned : tile<i32>", (-3, -3)),
        ("%0 = andi %n, %c8 : tile<i32>", (0, 8)),
        (BOUNDED + "%0 = ori %x, %c8 : tile<i32>", (8, 127)),
        ("%0 = absi %n : tile<i32>", I32_RANGE),
        ("%0 = exti %b signed : tile<i8> -> tile<i32>", (-128, 127)),
        ("%0 = exti %b unsigned : tile<i8> -> tile<i32>", (0, 255)),
        ("%0 = exti %p signed : tile<i1> -> tile<i32>", (-1, 0)),
        ("%0 = exti %p unsigned : tile<i1> -> tile<i32>", (0, 1)),
        (BOUNDED + "%0 = trunci %x : tile<i32> -> tile<i8>", (0, 100)),
        ("%0 = trunci %n : tile<i32> -> tile<i8>", (-128, 127)),
        (BOUNDED + "%0 = cmpi less_than %x, %cm3, signed : tile<i32> -> tile<i1>", (0, 0)),
        (BOUNDED + "%0 = cmpi less_than %x, %cm3, unsigned : tile<i32> -> tile<i1>", (1, 1)),
        ("%0 = select %p, %c1, %c8 : tile<i1>, tile<i32>", (1, 8)),
        ("%t = constant <i1: true> : tile<i1> %0 = select %t, %c1, %c8 : tile<i1>, tile<i32>", (1, 1)),
        (IOTA + "%r = reshape %i : tile<128xi32> -> tile<2x64xi32>", (0, 127)),
    ],
)  # fmt: skip
def test_operation(body: str, wanted: tuple[int, int]) -> None:
    assert last(body) == wanted


LOOP = """
%r = for %i in (%c1 to %c8, step %c1) : tile<i32> iter_values(%a = %c8) -> (tile<i32>) {{
  {body}
  continue %next : tile<i32>
}}
"""


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("%next = mini %i, %a signed : tile<i32>", (1, 8)),
        ("%next = addi %a, %c1 : tile<i32>", I32_RANGE),
        ("%next = addi %a, %c1 overflow<no_signed_wrap> : tile<i32>", (8, 2**31 - 1)),
        ("%next = muli %i, %cm3 : tile<i32>", (-21, 8)),
    ],
)
def test_loop(body: str, wanted: tuple[int, int]) -> None:
    assert last(LOOP.format(body=body)) == wanted


def test_branch() -> None:
    assert last("%0 = if %p -> (tile<i32>) { yield %c1 : tile<i32> } else { yield %cm3 : tile<i32> }") == (-3, 1)


def test_loop_until_break() -> None:
    body = """%0 = loop iter_values(%a = %c1) : tile<i32> -> tile<i32> {
      if %p { break %a : tile<i32> }
      %next = mini %a, %c8 signed : tile<i32>
      continue %next : tile<i32>
    }"""
    assert last(body) == (1, 1)


def test_reduction() -> None:
    body = """%i = iota : tile<64xi32>
    %0 = reduce %i dim=0 identities=[-9 : i32] : tile<64xi32> -> tile<i32> (%a: tile<i32>, %b2: tile<i32>) {
      %m = maxi %a, %b2 signed : tile<i32>
      yield %m : tile<i32>
    }"""
    assert last(body) == (-9, 63)


def test_promises_are_believed_only_when_trusted() -> None:
    assert last(BOUNDED, trust=False) == I32_RANGE
    assert last(BOUNDED + "%0 = addi %x, %c1 overflow<no_signed_wrap> : tile<i32>", trust=False) == I32_RANGE


def test_values_from_outside_are_unknown() -> None:
    text = f"entry @k(%n: tile<i32>) {{ {HEADER}" + LOOP.format(body="%next = addi %n, %a : tile<i32>") + "return }"
    loop = parse(text).entries[0].body.ops[3]
    assert ranges(loop)[loop.blocks[0].ops[0].results[0]] == I32_RANGE


def test_deep_nesting_takes_linear_time() -> None:
    depth = 300
    text = "entry @k(%n: tile<i32>) {" + "%v0 = addi %n, %n : tile<i32>"
    for level in range(depth):
        a, b = f"%v{level}", f"%v{level + 1}"
        text += f"%r{level} = for %i{level} in (%n to %n, step %n) : tile<i32> iter_values({b} = {a}) -> (tile<i32>) {{"
    text += f"%x = addi %v{depth}, %n : tile<i32> continue %x : tile<i32> }}"
    text += "".join(f"continue %r{level} : tile<i32> }}" for level in reversed(range(1, depth)))
    entry = parse(text + " return }").entries[0]
    assert ranges(entry)[entry.body.ops[1].results[0]] == I32_RANGE


def test_wrap_covers_the_lower_bits() -> None:
    for lo in range(-9, 9):
        for hi in range(lo, lo + 4):
            found = wrap(Range(lo, hi), I1)
            assert all(n % 2 in range(found.lo, found.hi + 1) for n in range(lo, hi + 1))


@pytest.mark.parametrize("signedness", Signedness)
def test_read_covers_the_integers_that_an_operation_sees(signedness: Signedness) -> None:
    for lo in range(-128, 128, 5):
        for hi in range(lo, 128, 7):
            found = read(Range(lo, hi), I8, signedness)
            numbers = [n if signedness is Signedness.SIGNED else n % 256 for n in range(lo, hi + 1)]
            assert found.lo <= min(numbers) and max(numbers) <= found.hi


def check_execution(module: Module, contract: Contract) -> None:
    """Execute a module and compare all its values with their ranges."""
    known = ranges(module)

    def see(o: Op, value: Value, array: Array) -> None:
        if is_integer(value):
            found, numbers = known.facts[value], integers(value, array)
            assert found.lo <= numbers.min() and numbers.max() <= found.hi, (o, element(value), found)

    observe(module, contract, see)


@pytest.mark.parametrize("seed", range(150))
def test_values_lie_in_their_ranges(seed: int) -> None:
    check_execution(*random_case(seed))


@pytest.mark.parametrize("seed", range(150))
def test_results_of_index_arithmetic_lie_in_their_ranges(seed: int) -> None:
    check_execution(*index_arithmetic(seed))
