"""Values that a loop carries and combines with others: what they start from."""

from __future__ import annotations

from collections.abc import Iterator

from ...attrs import Signedness
from ...ir import Op, Value
from ...ops import (
    AbsF,
    AbsI,
    AddF,
    AndI,
    Broadcast,
    Constant,
    Exp,
    Exp2,
    Extract,
    FToF,
    IToF,
    MaxF,
    MaxI,
    MinF,
    MinI,
    MulF,
    MulI,
    Permute,
    Reduce,
    Reshape,
    Sqrt,
)
from ...types import Scalar, Tile
from ..facts import Facts
from ..rule import NOTE, WARNING, Match, RuleFile

rule = RuleFile()

SAME_SIGN = (Broadcast, Reshape, Permute, FToF, Extract, Sqrt, Reduce)
"""Operations whose result is not negative if their first operand is not; for a `reduce`, if its body keeps the sign."""
KEEPS = (AddF, MulF, MaxF, MinF)
"""Operations whose result is not negative if no operand is."""
DEEPEST = 32


@rule("accumulator-start", WARNING)
def accumulator_start(facts: Facts) -> Iterator[Match]:
    """What a loop accumulates starts from a number that decides the result.

    A product that starts from 0 stays 0, and so does a bitwise `and`. A maximum that starts from 0 is 0 where all
    numbers are negative. That is a note, because it may be meant.

    Fix: Start a product from 1, an `and` from all ones, a maximum from minus infinity or the smallest integer, a
    minimum from infinity or the largest integer, or any of them from the first number.

    Bad:
        entry @k(%n: tile<i32>, %zero: tile<i32>, %one: tile<i32>, %x: tile<f32>) {
          %start = constant <f32: 0.0> : tile<f32>
          %p = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%so_far = %start) -> (tile<f32>) {
            %t = mulf %so_far, %x : tile<f32>
            continue %t : tile<f32>
          }
          print_tko "%f\\n", %p : tile<f32> -> token
          return
        }
    Good:
        entry @k(%n: tile<i32>, %zero: tile<i32>, %one: tile<i32>, %x: tile<f32>) {
          %start = constant <f32: 1.0> : tile<f32>
          %p = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%so_far = %start) -> (tile<f32>) {
            %t = mulf %so_far, %x : tile<f32>
            continue %t : tile<f32>
          }
          print_tko "%f\\n", %p : tile<f32> -> token
          return
        }
    """
    for carried, sources in facts.flow.copies.items():
        values = [value for value, _ in sources]
        start = next((value for value in values if _is_zero(value)), None)
        if start is None or len(values) != 2:
            continue
        by = next(value.owner for value in values if value is not start)
        if not isinstance(by, (MulF, MulI, AndI, MaxF, MinF, MaxI, MinI)) or (by.lhs is carried) == (by.rhs is carried):
            continue
        if isinstance(by, (MulF, MulI, AndI)):
            yield Match(by, f"{by.name}: a loop accumulates from 0, and the result stays 0", related=_start(start))
        elif _may_lose(by, by.rhs if by.lhs is carried else by.lhs, facts):
            worse, what = ("negative", "maximum") if isinstance(by, (MaxF, MaxI)) else ("positive", "minimum")
            message = f"{by.name}: a {what} in a loop starts from 0, and is 0 if all numbers are {worse}"
            yield Match(by, message, related=_start(start), severity=NOTE)


def _start(value: Value) -> tuple[tuple[Op, str], ...]:
    return ((value.owner, "it starts here"),) if isinstance(value.owner, Op) else ()


def _is_zero(value: Value) -> bool:
    owner = value.owner
    while isinstance(owner, (Broadcast, Reshape)):
        owner = owner.source.owner
    if not isinstance(owner, Constant) or not isinstance(owner.result.type, Tile):
        return False
    element = owner.result.type.element
    sign = 1 << element.bits - 1 if isinstance(element, Scalar) and element.is_float else 0
    return owner.value.splat is not None and owner.value.splat & ~sign == 0


def _may_lose(by: MaxF | MinF | MaxI | MinI, other: Value, facts: Facts) -> bool:
    """Whether 0 may be the result although no number is 0."""
    if isinstance(by, (MaxI, MinI)):
        known = facts.range(other)
        if by.signedness is Signedness.UNSIGNED:
            return isinstance(by, MinI)
        return known.lo < 0 if isinstance(by, MaxI) else known.hi > 0
    return isinstance(by, MinF) or not _is_positive(other)


def _is_positive(value: Value, depth: int = 0) -> bool:
    """Whether a float is surely not negative."""
    o = value.owner
    if not isinstance(o, Op) or depth > DEEPEST:
        return False
    match o:
        case AbsF() | Exp() | Exp2():
            return True
        case IToF():
            return o.signedness is Signedness.UNSIGNED or isinstance(o.operands[0].owner, AbsI)
        case MulF() if o.lhs is o.rhs:
            return True
        case MaxF():
            return any(_is_positive(each, depth + 1) for each in o.operands)
        case Constant():
            element = o.result.type.element  # type: ignore[attr-defined]  # a tile
            return all(not bits >> element.bits - 1 for bits in set(o.value.stored()))
        case Reduce() if not (o.body.ops and isinstance(o.body.ops[0], KEEPS)):
            return False
    if isinstance(o, (*KEEPS, *SAME_SIGN)):
        values = o.operands if isinstance(o, KEEPS) else o.operands[:1]
        return all(_is_positive(each, depth + 1) for each in values)
    return False
