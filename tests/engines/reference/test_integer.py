"""Integer operations of the reference engine, checked against Python's integers."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

import tilery
from support.oracle import FULL
from tilery import Op, Value, ops
from tilery.attrs import ComparisonPredicate, IntegerOverflow, RoundingMode, Signedness
from tilery.engines.common.tiles import Array, carrier, unsigned
from tilery.engines.reference.ops import RUNS
from tilery.engines.reference.ops import integer as run_integer
from tilery.types import I1, I8, I16, I32, I64, Scalar, Tile

SIGNED, UNSIGNED = Signedness.SIGNED, Signedness.UNSIGNED
FLOOR, CEIL = RoundingMode.NEGATIVE_INF, RoundingMode.POSITIVE_INF
WIDTHS = (I1, I8, I16, I32, I64)
Oracle = Callable[[int, int], int | bool]
assert run_integer, "the module declares how its operations are executed"


@cache
def operands(element: Scalar, count: int = 2, every: bool = FULL) -> list[tuple[int, ...]]:
    """Bits to compute with: corners crossed and random ones, or every tuple of i1 and (if asked for) i8."""
    if element is I1 or (element is I8 and every):
        return list(product(range(1 << element.bits), repeat=count))
    draw = random.Random(f"{element} {count}")
    top = 1 << element.bits
    corners = {c % top for c in (0, 1, 2, 3, 7, -1, -2, -3, -7, top >> 1, (top >> 1) - 1, (top >> 1) + 1)}
    corners |= {1 << n for n in range(0, element.bits, 5)} | {element.bits, element.bits - 1, element.bits + 1}
    corners |= {(1 << 32) % top, ((1 << 32) - 1) % top}
    found = list(product(sorted(corners), repeat=count))
    return found + [
        tuple(draw.getrandbits(draw.randrange(1, element.bits + 1)) for _ in range(count)) for _ in range(500)
    ]


def held(bits: list[int], element: Scalar) -> Array:
    """One lane that holds the integers."""
    if element is I1:
        return np.array([bits], bool)
    dtype = carrier(element)
    return np.array([bits], f"u{dtype.itemsize}").view(dtype)


def bits_of(array: Array) -> list[int]:
    found: list[int] = unsigned(array).reshape(-1).tolist()
    return found


def tile(element: Scalar) -> Value:
    return Value(Tile((4,), element))


def read(bits: int, element: Scalar, signedness: Signedness) -> int:
    return bits - (1 << element.bits) if signedness is SIGNED and bits >> (element.bits - 1) else bits


def check(o: Op, element: Scalar, oracle: Oracle, every: bool = FULL) -> None:
    """The operation gives the bits that the oracle says, for all those operands."""
    pairs = operands(element, every=every)
    with np.errstate(all="ignore"):
        result = RUNS[type(o)].function(o, *(held([p[i] for p in pairs], element) for i in range(2)))
    assert result.dtype == (np.bool_ if isinstance(o, ops.CmpI) else carrier(element))
    mask = (1 << element.bits) - 1
    for (a, b), found in zip(pairs, bits_of(result), strict=True):
        assert found == int(oracle(a, b)) & mask, f"{o} of {a:#x}, {b:#x} gave {found:#x}"


@pytest.mark.parametrize("element", WIDTHS, ids=str)
@pytest.mark.parametrize(
    ("cls", "oracle"),
    [
        (ops.AddI, lambda a, b: a + b),
        (ops.SubI, lambda a, b: a - b),
        (ops.MulI, lambda a, b: a * b),
        (ops.AndI, lambda a, b: a & b),
        (ops.OrI, lambda a, b: a | b),
        (ops.XOrI, lambda a, b: a ^ b),
    ],
)
def test_wrapping(cls: type[Any], oracle: Oracle, element: Scalar) -> None:
    check(cls(lhs=tile(element), rhs=tile(element)), element, oracle)


@pytest.mark.parametrize("overflow", IntegerOverflow)
def test_overflow_promises_change_nothing(overflow: IntegerOverflow) -> None:
    check(ops.AddI(lhs=tile(I8), rhs=tile(I8), overflow=overflow), I8, lambda a, b: a + b)


@pytest.mark.parametrize("element", WIDTHS, ids=str)
def test_upper_half_of_the_product(element: Scalar) -> None:
    check(ops.MulhiI(x=tile(element), y=tile(element)), element, lambda a, b: a * b >> element.bits, every=True)


@pytest.mark.parametrize("element", WIDTHS, ids=str)
@pytest.mark.parametrize(("cls", "oracle"), [(ops.AbsI, abs), (ops.NegI, lambda a: -a)])
def test_absolute_value_and_negative(cls: type[Any], oracle: Callable[[int], int], element: Scalar) -> None:
    numbers = [a for (a,) in operands(element, 1, every=True)]
    found = bits_of(RUNS[cls].function(cls(source=tile(element)), held(numbers, element)))
    mask = (1 << element.bits) - 1
    assert found == [oracle(read(a, element, SIGNED)) & mask for a in numbers]


def divided(a: int, b: int, rounding: RoundingMode) -> int:
    if rounding is CEIL:
        return -(-a // b)
    if rounding is FLOOR:
        return a // b
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def by_zero(a: int, element: Scalar) -> int:
    return 0xFFFFFFFF if element is I64 and a >> 32 == 0 else -1


@pytest.mark.parametrize("element", WIDTHS, ids=str)
@pytest.mark.parametrize(
    ("signedness", "rounding"),
    [(s, r) for s in Signedness for r in (RoundingMode.ZERO, FLOOR, CEIL) if (s, r) != (UNSIGNED, FLOOR)],
)
def test_quotient(signedness: Signedness, rounding: RoundingMode, element: Scalar) -> None:
    def oracle(a: int, b: int) -> int:
        if b == 0:
            return by_zero(a, element)
        return divided(read(a, element, signedness), read(b, element, signedness), rounding)

    check(
        ops.DivI(lhs=tile(element), rhs=tile(element), signedness=signedness, rounding=rounding), element, oracle, True
    )


@pytest.mark.parametrize("element", WIDTHS, ids=str)
@pytest.mark.parametrize("signedness", Signedness)
def test_remainder(signedness: Signedness, element: Scalar) -> None:
    def oracle(a: int, b: int) -> int:
        if b == 0:
            return by_zero(a, element)
        x, y = read(a, element, signedness), read(b, element, signedness)
        return x - y * divided(x, y, RoundingMode.ZERO)

    check(ops.RemI(lhs=tile(element), rhs=tile(element), signedness=signedness), element, oracle, every=True)


@pytest.mark.parametrize("element", WIDTHS, ids=str)
@pytest.mark.parametrize("signedness", Signedness)
@pytest.mark.parametrize(("cls", "choose"), [(ops.MaxI, max), (ops.MinI, min)])
def test_larger_and_smaller(
    cls: type[Any], choose: Callable[[int, int], int], signedness: Signedness, element: Scalar
) -> None:
    o = cls(lhs=tile(element), rhs=tile(element), signedness=signedness)
    check(o, element, lambda a, b: choose(read(a, element, signedness), read(b, element, signedness)))


COMPARE: dict[ComparisonPredicate, Callable[[int, int], bool]] = {
    ComparisonPredicate.EQUAL: lambda a, b: a == b,
    ComparisonPredicate.NOT_EQUAL: lambda a, b: a != b,
    ComparisonPredicate.LESS_THAN: lambda a, b: a < b,
    ComparisonPredicate.LESS_THAN_OR_EQUAL: lambda a, b: a <= b,
    ComparisonPredicate.GREATER_THAN: lambda a, b: a > b,
    ComparisonPredicate.GREATER_THAN_OR_EQUAL: lambda a, b: a >= b,
}


@pytest.mark.parametrize("element", WIDTHS, ids=str)
@pytest.mark.parametrize("signedness", Signedness)
@pytest.mark.parametrize("predicate", ComparisonPredicate)
def test_comparison(predicate: ComparisonPredicate, signedness: Signedness, element: Scalar) -> None:
    o = ops.CmpI(comparison_predicate=predicate, lhs=tile(element), rhs=tile(element), signedness=signedness)
    holds = COMPARE[predicate]
    check(o, element, lambda a, b: holds(read(a, element, signedness), read(b, element, signedness)))


@pytest.mark.parametrize("element", WIDTHS, ids=str)
def test_shift_to_the_left(element: Scalar) -> None:
    check(ops.ShLI(lhs=tile(element), rhs=tile(element)), element, lambda a, b: a << min(b, element.bits))


@pytest.mark.parametrize("element", WIDTHS, ids=str)
@pytest.mark.parametrize("signedness", Signedness)
def test_shift_to_the_right(signedness: Signedness, element: Scalar) -> None:
    o = ops.ShRI(lhs=tile(element), rhs=tile(element), signedness=signedness)
    check(o, element, lambda a, b: read(a, element, signedness) >> min(b, element.bits), every=True)


BINARY: list[tuple[type[Any], dict[str, Signedness]]] = [
    (ops.AddI, {}),
    (ops.SubI, {}),
    (ops.MulI, {}),
    (ops.AndI, {}),
    (ops.OrI, {}),
    (ops.XOrI, {}),
    (ops.ShLI, {}),
    (ops.ShRI, {"signedness": UNSIGNED}),
    (ops.MaxI, {"signedness": UNSIGNED}),
    (ops.MinI, {"signedness": SIGNED}),
    (ops.DivI, {"signedness": SIGNED}),
    (ops.RemI, {"signedness": SIGNED}),
]


@pytest.mark.parametrize("element", (I1, I32), ids=str)
@pytest.mark.parametrize(("cls", "extra"), BINARY, ids=lambda x: getattr(x, "__name__", ""))
def test_one_lane_stands_for_all(cls: type[Any], extra: dict[str, Signedness], element: Scalar) -> None:
    o, run = cls(lhs=tile(element), rhs=tile(element), **extra), RUNS[cls].function
    many = held([1, 0, 1, 1, 0, 1], element).reshape(3, 2)
    one = held([1, 1], element)
    expected = np.concatenate([run(o, many[i : i + 1], one) for i in range(3)])
    assert (run(o, many, one) == expected).all()


@pytest.mark.parametrize("element", (I1, I32), ids=str)
@pytest.mark.parametrize(
    ("cls", "extra"), [pair for pair in BINARY if RUNS[pair[0]].reuses], ids=lambda x: getattr(x, "__name__", "")
)
def test_an_operand_may_be_overwritten(cls: type[Any], extra: dict[str, Signedness], element: Scalar) -> None:
    o, run = cls(lhs=tile(element), rhs=tile(element), **extra), RUNS[cls].function
    lhs, rhs = held([1, 0, 1, 1], element), held([0, 1, 1, 0], element)
    expected = run(o, lhs, rhs)
    assert (run(o, lhs.copy(), rhs, out=np.empty_like(lhs)) == expected).all()
    assert (run(o, same := lhs.copy(), rhs, out=same) == expected).all()


@pytest.mark.parametrize("name", ["absi", "negi"])
def test_what_gives_an_i1_back_does_not_share_its_memory(name: str) -> None:
    """The result may be overwritten where it is used for the last time, and the operand is still needed."""
    text = f"""entry @k(%out: tile<ptr<i1>>) {{
      %x, %y, %z = get_tile_block_id : tile<i32>
      %c = cmpi equal %x, %y, signed : tile<i32> -> tile<i1>
      %a = xori %c, %c : tile<i1>
      %b = {name} %a : tile<i1>
      %true = constant <i1: true> : tile<i1>
      %d = ori %b, %true : tile<i1>
      %p = offset %out, %x : tile<ptr<i1>>, tile<i32> -> tile<ptr<i1>>
      %t = store_ptr_tko weak %p, %a : tile<ptr<i1>>, tile<i1> -> token
      return
    }}"""
    out = np.ones(4, bool)
    tilery.compile(tilery.parse(text)).launch(4, [out], batch=4)
    assert not out.any()
