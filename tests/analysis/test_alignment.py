"""Contiguity, divisibility and constancy: examples, and the law that they hold in every execution."""

from __future__ import annotations

import numpy as np
import pytest

from support.contract import random_case
from support.index_arithmetic import index_arithmetic
from support.observe import observe
from tilery import parse
from tilery.analysis.alignment import axis_info
from tilery.analysis.axes import LARGEST, Axis, AxisInfo, dimensions, measured, power_of_two, step_of
from tilery.engines.common.tiles import Array
from tilery.ir import Op, Value
from tilery.ops import Module
from tilery.smith import Contract
from tilery.types import I32, Tile

HEADER = """
%c4 = constant <i32: 4> : tile<i32>
%c12 = constant <i32: 12> : tile<i32>
%i = iota : tile<128xi32>
%n1 = reshape %n : tile<i32> -> tile<1xi32>
%nn = broadcast %n1 : tile<1xi32> -> tile<128xi32>
%c16 = constant <i32: 16> : tile<128xi32>
%p1 = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
%pp = broadcast %p1 : tile<1xptr<f32>> -> tile<128xptr<f32>>
"""


def last(body: str, trust: bool = True) -> AxisInfo:
    """The facts about the last result in an entry with parameters %n of i32, %c of i1 and %p, a pointer to f32."""
    entry = parse(f"entry @k(%n: tile<i32>, %c: tile<i1>, %p: tile<ptr<f32>>) {{ {HEADER}{body} return }}").entries[0]
    return axis_info(entry, trust=trust)[entry.body.ops[-2].results[-1]]


BLOCK = """
%x, %y, %z = get_tile_block_id : tile<i32>
%size = constant <i32: 128> : tile<i32>
%start = muli %x, %size : tile<i32>
%s1 = reshape %start : tile<i32> -> tile<1xi32>
%ss = broadcast %s1 : tile<1xi32> -> tile<128xi32>
%index = addi %ss, %i : tile<128xi32>
"""
ALIGNED = """
%q = assume div_by<16>, %p : tile<ptr<f32>>
%q1 = reshape %q : tile<ptr<f32>> -> tile<1xptr<f32>>
%qq = broadcast %q1 : tile<1xptr<f32>> -> tile<128xptr<f32>>
"""
POINTERS = "%0 = offset {}, {} : tile<128xptr<f32>>, tile<128xi32> -> tile<128xptr<f32>>"


@pytest.mark.parametrize(
    ("body", "contiguity", "divisibility", "constancy"),
    [
        ("%0 = addi %n, %n : tile<i32>", 1, 1, 1),
        ("%0 = addi %i, %c16 : tile<128xi32>", 128, 16, 1),
        ("%0 = addi %i, %nn : tile<128xi32>", 128, 1, 1),
        ("%0 = subi %i, %nn : tile<128xi32>", 128, 1, 1),
        ("%0 = subi %nn, %i : tile<128xi32>", 1, 1, 1),
        ("%0 = muli %i, %c16 : tile<128xi32>", 1, 16, 1),
        ("%0 = muli %nn, %c16 : tile<128xi32>", 1, 16, 128),
        ("%0 = divi %i, %c16 signed : tile<128xi32>", 1, 1, 16),
        ("%0 = divi %i, %nn signed : tile<128xi32>", 1, 1, 1),
        ("%0 = remi %i, %c16 signed : tile<128xi32>", 16, 16, 1),
        ("%0 = shli %i, %c16 : tile<128xi32>", 1, 1 << 16, 1),
        ("%0 = shri %c16, %i signed : tile<128xi32>", 1, 1, 1),
        ("%0 = andi %nn, %c16 : tile<128xi32>", 1, 16, 128),
        ("%0 = cmpi less_than %i, %c16, signed : tile<128xi32> -> tile<128xi1>", 1, 1, 16),
        ("%0 = cmpi less_than_or_equal %i, %c16, signed : tile<128xi32> -> tile<128xi1>", 1, 1, 1),
        ("%0 = cmpi greater_than %c16, %i, signed : tile<128xi32> -> tile<128xi1>", 1, 1, 16),
        ("%0 = exti %i signed : tile<128xi32> -> tile<128xi64>", 128, LARGEST, 1),
        ("%s = addi %i, %nn : tile<128xi32> %0 = exti %s signed : tile<128xi32> -> tile<128xi64>", 1, 1, 1),
        (BLOCK, 128, 128, 1),
        (BLOCK + "%0 = exti %index signed : tile<128xi32> -> tile<128xi64>", 128, 128, 1),
        (BLOCK + POINTERS.format("%pp", "%index"), 128, 1, 1),
        (BLOCK + ALIGNED + POINTERS.format("%qq", "%index"), 128, 16, 1),
        (ALIGNED + "%0 = ptr_to_int %qq : tile<128xptr<f32>> -> tile<128xi64>", 1, 16, 128),
        (POINTERS.format("%pp", "%nn"), 1, 1, 128),
        ("%0 = assume same_elements<[8]>, %i : tile<128xi32>", 128, LARGEST, 8),
        ("%0 = assume div_by<4, every 8 along 0>, %i : tile<128xi32>", 128, LARGEST, 1),
        ("%0 = assume div_by<4, every 8 along 0>, %nn : tile<128xi32>", 1, 4, 128),
        ("%0 = extract %i[%n] : tile<128xi32> -> tile<32xi32>", 32, 32, 1),
        ("%0 = cat %i, %c16 dim = 0 : tile<128xi32>, tile<128xi32> -> tile<256xi32>", 1, 1, 1),
        ("%0 = alloca num_elem = 16, alignment = 32 : tile<ptr<f32>>", 1, 32, 1),
        ("%0 = constant <i32: [4, 5, 12, 13]> : tile<4xi32>", 2, 4, 1),
        ("%0 = constant <i32: 24> : tile<4xi32>", 1, 8, 4),
    ],
)  # fmt: skip
def test_operation(body: str, contiguity: int, divisibility: int, constancy: int) -> None:
    assert last(body).axes == (Axis(contiguity, divisibility, constancy),)


MATRIX = """
%row = reshape %i : tile<128xi32> -> tile<1x128xi32>
%rows = broadcast %row : tile<1x128xi32> -> tile<4x128xi32>
%line = iota : tile<4xi32>
%col = reshape %line : tile<4xi32> -> tile<4x1xi32>
%cols = broadcast %col : tile<4x1xi32> -> tile<4x128xi32>
%stride = constant <i32: 128> : tile<4x128xi32>
%lines = muli %cols, %stride : tile<4x128xi32>
%index = addi %lines, %rows : tile<4x128xi32>
"""


def test_row_major_index() -> None:
    found = last(MATRIX)
    assert (found.contiguity, found.divisibility, found.constancy) == ((1, 128), (1, 128), (1, 1))


def test_permute_swaps_the_dimensions() -> None:
    found = last(MATRIX + "%0 = permute %index [1, 0] : tile<4x128xi32> -> tile<128x4xi32>")
    assert found.contiguity == (128, 1) and found.divisibility == (128, 1)


def test_reshape_keeps_groups_of_the_last_dimension() -> None:
    assert last("%0 = reshape %i : tile<128xi32> -> tile<4x32xi32>").contiguity == (1, 32)
    assert last(MATRIX + "%0 = reshape %index : tile<4x128xi32> -> tile<512xi32>").contiguity == (128,)


def test_select_takes_groups_from_one_arm() -> None:
    body = "%m = cmpi less_than %i, %c16, signed : tile<128xi32> -> tile<128xi1> %j = addi %i, %c16 : tile<128xi32>"
    found = last(body + " %0 = select %m, %i, %j : tile<128xi1>, tile<128xi32>")
    assert found.axes == (Axis(16, 16, 1),)


def test_loop_counter() -> None:
    body = """%0 = for %k in (%c12 to %n, step %c4) : tile<i32> iter_values(%a = %c12) -> (tile<i32>) {
      %b = addi %a, %k : tile<i32>
      continue %b : tile<i32>
    }"""
    assert last(body).divisor == 4


def test_promises_are_believed_only_when_trusted() -> None:
    assert last(ALIGNED).divisor == 16 and last(ALIGNED, trust=False).divisor == 1


def test_globals_are_aligned_as_declared() -> None:
    text = """global @g alignment = 64 <f32: [1.0]> : tile<1xf32>
    entry @k() { %0 = get_global @g : tile<ptr<f32>> return }"""
    module = parse(text)
    value = module.entries[0].body.ops[0].results[0]
    assert axis_info(module)[value].divisor == 64 and axis_info(module.entries[0])[value].divisor == 1


def test_measured_facts_hold() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        shape = tuple(int(n) for n in 1 << rng.integers(0, 4, rng.integers(1, 4)))
        numbers = rng.integers(0, 3, shape) * 4 + (np.arange(shape[-1]) if rng.random() < 0.5 else 0)
        found = measured(Tile(shape, I32), numbers.reshape(-1).tolist())
        assert broken(found, numbers[None], 32) is None


def test_power_of_two() -> None:
    assert [power_of_two(n) for n in (0, 1, 6, -32, 1 << 70)] == [LARGEST, 1, 2, 32, LARGEST]


def broken(found: AxisInfo, array: Array, bits: int) -> str | None:
    """Which fact does not hold for these elements, lanes first."""
    numbers = array.astype(object) if array.dtype != object else array
    for dim, axis in enumerate(found.axes):
        lines = np.moveaxis(numbers, dim + 1, -1).reshape(-1, numbers.shape[dim + 1])
        same = lines.reshape(-1, axis.constancy)
        if (same != same[:, :1]).any():
            return f"constancy {axis.constancy} along {dim}"
        groups = lines.reshape(-1, axis.contiguity)
        steps = np.arange(axis.contiguity).astype(object) * found.step
        if ((groups - groups[:, :1] - steps) % (1 << bits) != 0).any():
            return f"contiguity {axis.contiguity} along {dim}"
        if (groups[:, 0] % axis.divisibility != 0).any():
            return f"divisibility {axis.divisibility} along {dim}"
    return "divisor" if (numbers % found.divisor != 0).any() else None


def check_execution(module: Module, contract: Contract) -> None:
    """Execute a module and compare all its values with the facts about them."""
    known = axis_info(module)

    def see(o: Op, value: Value, array: Array) -> None:
        if step_of(value.type):
            assert isinstance(value.type, Tile)
            bits = getattr(value.type.element, "bits", 64)
            tiles = array.reshape(-1, *dimensions(value.type))
            sample = tiles[:: max(1, len(tiles) // 4)]
            assert (why := broken(known.facts[value], sample, bits)) is None, (o, value, known.facts[value], why)

    observe(module, contract, see)


@pytest.mark.parametrize("seed", range(150))
def test_facts_hold_for_all_values(seed: int) -> None:
    check_execution(*random_case(seed))


@pytest.mark.parametrize("seed", range(150))
def test_facts_hold_for_index_arithmetic(seed: int) -> None:
    check_execution(*index_arithmetic(seed))
