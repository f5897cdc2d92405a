"""Promises to the compiler that are false."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import gcd

import numpy as np

from ...analysis.intervals import Range, limits, read
from ...analysis.memory.affine import Array, LinearForm, bits_of, is_scalar
from ...analysis.memory.places import is_pointer
from ...analysis.promises import harmless_promises
from ...analysis.ranges import is_integer
from ...attrs import Bounded, DivBy, IntegerOverflow, SameElements, Signedness
from ...ir import Value
from ...ops import (
    AddI,
    Alloca,
    Assert,
    Assume,
    GetGlobal,
    GetTileBlockId,
    LoadViewTko,
    MulI,
    NegI,
    Reduce,
    ShLI,
    StoreViewTko,
    SubI,
    Yield,
)
from ...types import DYNAMIC, PartitionView, StridedView, Tile
from ..branches import is_skipped_by_first
from ..facts import Facts
from ..rule import ERROR, Fix, Match, ReplaceWord, RuleFile

rule = RuleFile()

ALIGNMENT = 16
"""The least alignment of arguments; every allocator guarantees it."""


@rule("false-promise", ERROR)
def false_promise(facts: Facts) -> Iterator[Match]:
    """A promise to the compiler does not hold.

    `assume`, `inbounds` and `overflow` let the compiler rely on something without a check. If it is false, the
    behaviour is undefined: the compiler may have removed the very check that would have caught it. Here the text
    itself shows that it is false. Arguments that are pointers count as aligned to 16 bytes.

    Fix: Correct the promise, or remove it.

    Bad:
        entry @k() {
          %n = constant <i32: 12> : tile<i32>
          %m = assume div_by<8>, %n : tile<i32>
          print_tko "%d\\n", %m : tile<i32> -> token
          return
        }
    Good:
        entry @k() {
          %n = constant <i32: 16> : tile<i32>
          %m = assume div_by<8>, %n : tile<i32>
          print_tko "%d\\n", %m : tile<i32> -> token
          return
        }
    """
    harmless = harmless_promises(facts.entry)
    for o in facts.of(Assume):
        why = "" if o in harmless else _broken(o, facts)
        if why:
            yield Match(o, f"assume: {why}")
    yield from _tiles_outside(facts)
    yield from _wraps(facts)
    yield from _sums(facts)


def _broken(o: Assume, facts: Facts) -> str:
    """Why a predicate is false; empty if it may be true."""
    if not isinstance(o.value.type, Tile):
        return ""
    form = facts.forms[o.value]
    match o.predicate:
        case Bounded(lb=low, ub=high) if is_integer(o.value):
            return _outside(o, form, low, high, facts)
        case DivBy() as predicate:
            return _not_divisible(o.value, form, predicate, facts)
        case SameElements(values=sizes) if form.numbers.ndim and all(map(is_scalar, form.terms)):
            first = form.numbers
            for axis, size in enumerate(sizes):
                if size > 1:
                    first = np.take(first, np.arange(first.shape[axis]) // size * size, axis=axis)
            return "" if (first == form.numbers).all() else "elements of a group differ"
    return ""


def _outside(o: Assume, form: LinearForm, low: int | None, high: int | None, facts: Facts) -> str:
    value = o.value
    known = read(facts.range(value), value.type.element, Signedness.SIGNED)  # type: ignore[attr-defined]  # integers
    if all(isinstance(symbol.owner, GetTileBlockId) for symbol in form.terms):  # the first tile block always exists
        if is_skipped_by_first(o, facts):
            return ""
        numbers = -form.numbers if bits_of(value) == 1 else form.numbers
        least, most = int(numbers.min()), int(numbers.max())
    else:
        least, most = facts.extremes(o, form) or (known.hi, known.lo)
    if low is not None and least < low:
        return f"a value is {least}, and at least {low} is promised"
    if high is not None and most > high:
        return f"a value is {most}, and at most {high} is promised"
    return ""


def _not_divisible(value: Value, form: LinearForm, promise: DivBy, facts: Facts) -> str:
    numbers, shape = form.numbers, value.type.shape  # type: ignore[attr-defined]  # a tile
    if not all(map(is_scalar, form.terms)):
        return ""
    if promise.every and promise.along is not None:
        numbers = np.broadcast_to(numbers, shape)
        axis, count = promise.along, shape[promise.along]
        unit = value.type.element.pointee.row.memory_bits // 8 if is_pointer(value) else 1  # type: ignore[attr-defined]
        inner = np.arange(1, count) % promise.every != 0
        wrong = np.diff(numbers, axis=axis) != unit
        if (wrong & inner.reshape(-1, *(1,) * (len(shape) - axis - 1))).any():
            return f"elements do not increase by {unit} within groups of {promise.every}"
        numbers = np.take(numbers, np.arange(0, count, promise.every), axis=axis)
    step = promise.divisor
    for symbol, times in form.terms.items():
        step = gcd(step, times * divisor_of(symbol, facts))
    rest = numbers % step if step > 0 else np.array(0)
    return f"a value is not divisible by {promise.divisor}" if (rest != 0).any() else ""


def divisor_of(symbol: Value, facts: Facts) -> int:
    """A number that surely divides a symbol. Arguments and memory are aligned as usual."""
    if not is_pointer(symbol):
        return facts.alignment[symbol].divisor
    if isinstance(symbol.owner, Alloca):
        return symbol.owner.alignment
    if isinstance(symbol.owner, GetGlobal):
        return facts.alignment[symbol].divisor
    return ALIGNMENT if symbol in facts.entry.body.args else facts.alignment[symbol].divisor


@rule("misaligned-access", ERROR)
def misaligned_access(facts: Facts) -> Iterator[Match]:
    """An address is not a multiple of the size of the element.

    Elements in memory must be aligned to their size. A GPU stops the kernel at an access that is not. Arguments
    count as aligned to 16 bytes.

    Fix: Correct the offset. After a conversion of a pointer, offsets count elements of the new type.

    Bad:
        entry @k(%p: tile<ptr<i8>>) {
          %two = constant <i32: 2> : tile<i32>
          %q = offset %p, %two : tile<ptr<i8>>, tile<i32> -> tile<ptr<i8>>
          %r = ptr_to_ptr %q : tile<ptr<i8>> -> tile<ptr<f32>>
          %v, %t = load_ptr_tko weak %r : tile<ptr<f32>> -> tile<f32>, token
          print_tko "%f\\n", %v : tile<f32> -> token
          return
        }
    Good:
        entry @k(%p: tile<ptr<i8>>) {
          %four = constant <i32: 4> : tile<i32>
          %q = offset %p, %four : tile<ptr<i8>>, tile<i32> -> tile<ptr<i8>>
          %r = ptr_to_ptr %q : tile<ptr<i8>> -> tile<ptr<f32>>
          %v, %t = load_ptr_tko weak %r : tile<ptr<f32>> -> tile<f32>, token
          print_tko "%f\\n", %v : tile<f32> -> token
          return
        }
    """
    for place in facts.places:
        if place.address is None or place.size < 2 or not all(map(is_scalar, place.address.terms)):
            continue
        step = place.size
        for symbol, times in place.address.terms.items():
            step = gcd(step, times * divisor_of(symbol, facts))
        if step > 1 and place.numbers.size and (place.numbers % step != 0).any():
            yield Match(
                place.op, f"{place.op.name}: an address is not a multiple of {place.size}, the size of an element"
            )


# ---------------------------------------------------------------- inbounds and overflow


def _tiles_outside(facts: Facts) -> Iterator[Match]:
    for o in facts.of(LoadViewTko, StoreViewTko):
        view = o.view.type
        if not any(o.inbounds) or not isinstance(view, (PartitionView, StridedView)):
            continue
        steps = view.traversal_strides if isinstance(view, StridedView) else view.tile_shape
        for axis, (promised, tile, step, dim) in enumerate(zip(o.inbounds, view.tile_shape, steps, view.dim_map)):
            size = view.tensor_view.shape[dim]
            if promised and size != DYNAMIC and facts.range(o.index[axis]).lo * step + tile > size:
                words = ", ".join("true" if each else "false" for each in o.inbounds)
                new = ", ".join("false" if n == axis or not each else "true" for n, each in enumerate(o.inbounds))
                fix = Fix("Do not promise it", ReplaceWord(f"[{words}]", f"[{new}]"))
                message = f"{o.name}: the tile is not inside the tensor along dimension {dim}, as 'inbounds' promises"
                yield Match(o, message, fix=fix)
                break


EXACT: dict[type, Callable[[int, int], int]] = {
    AddI: lambda a, b: a + b,
    SubI: lambda a, b: a - b,
    MulI: lambda a, b: a * b,
    ShLI: lambda a, b: a << b,
    NegI: lambda a, b: -a,
}
MOST = 256
"""The most pairs of numbers whose results are computed one by one."""


def _wraps(facts: Facts) -> Iterator[Match]:
    for o in (*facts.of(AddI, SubI, MulI), *facts.of(ShLI, NegI)):
        if o.overflow is IntegerOverflow.NONE:
            continue
        for sign in _promised(o.overflow):
            if _always_wraps(o, sign, facts):
                what = "unsigned" if sign is Signedness.UNSIGNED else "signed"
                fix = Fix("Do not promise it", ReplaceWord(f"overflow<{o.overflow.text}>", ""))
                yield Match(
                    o,
                    f"{o.name}: the result wraps around as a {what} integer, and 'overflow' says that it does not",
                    fix=fix,
                )
                break


def _promised(overflow: IntegerOverflow) -> tuple[Signedness, ...]:
    """In which ways a result is promised not to wrap around."""
    signed, unsigned = (Signedness.SIGNED,), (Signedness.UNSIGNED,)
    return {IntegerOverflow.NSW: signed, IntegerOverflow.NUW: unsigned}.get(overflow, signed + unsigned)


def _always_wraps(o: AddI | SubI | MulI | ShLI | NegI, sign: Signedness, facts: Facts) -> bool:
    """Whether a known element of the exact result does not fit, or none of the possible results does."""
    element = o.result.type.element  # type: ignore[attr-defined]  # integers
    compute, top = EXACT[o.__class__], limits(element, sign)
    values = [o.source] if isinstance(o, NegI) else [o.lhs, o.rhs]
    known = [facts.elements(value) for value in values]
    if all(numbers is not None for numbers in known):
        pairs = _pairs([numbers for numbers in known if numbers is not None])
        bits = bits_of(values[0])
        return any(not top.lo <= compute(*(_as(n, bits, sign) for n in pair)) <= top.hi for pair in pairs)
    if isinstance(o, (ShLI, NegI)):
        return False
    a, b = (read(facts.range(value), element, sign) for value in values)
    results = [compute(x, y) for x in a for y in b]
    return Range(min(results), max(results)).lo > top.hi or max(results) < top.lo


def _pairs(known: list[Array]) -> set[tuple[int, int]]:
    left, right = known[0], known[-1]
    both = np.broadcast_arrays(left, right)
    return set(zip(*(each.reshape(-1)[:MOST].tolist() for each in both)))


def _as(number: int, bits: int, sign: Signedness) -> int:
    if sign is Signedness.UNSIGNED:
        return number % (1 << bits)
    return -number if bits == 1 else number


def _sums(facts: Facts) -> Iterator[Match]:
    """Sums over known elements that wrap around, though the addition in their body says that it does not."""
    for o in facts.of(Reduce):
        add, end = [*o.body.ops, None, None][:2]
        if not isinstance(add, AddI) or not isinstance(end, Yield) or list(end.operands_) != [add.result]:
            continue
        known = facts.elements(o.operands_[0])
        if known is None or set(add.operands) != set(o.body.args) or add.overflow is IntegerOverflow.NONE:
            continue
        shape = o.operands_[0].type.shape  # type: ignore[attr-defined]  # a tile
        sign = _promised(add.overflow)[0]
        bits, top = bits_of(add.result), limits(add.result.type.element, sign)  # type: ignore[attr-defined]
        total = np.broadcast_to(known, shape) if known.ndim else None
        sums = [shape[o.dim] * _as(int(known), bits, sign)] if total is None else _along(total, o.dim, bits, sign)
        if any(not top.lo <= each <= top.hi for each in sums):
            yield Match(
                add,
                "addi: the sum wraps around, and 'overflow' says that it does not",
                related=((o, "of these elements"),),
            )


def _along(numbers: Array, dim: int, bits: int, sign: Signedness) -> list[int]:
    rows = np.moveaxis(numbers, dim, -1).reshape(-1, numbers.shape[dim])
    return [sum(_as(int(n), bits, sign) for n in row) for row in rows[:MOST]]


@rule("assert-fails", ERROR)
def assert_fails(facts: Facts) -> Iterator[Match]:
    """The condition of an assertion is always false.

    The kernel reports an error whenever it gets here.

    Fix: Correct the condition. To stop a kernel that cannot go on, an assertion that always fails is in order:
    suppress the finding there.

    Bad:
        entry @k() {
          %i = iota : tile<8xi32>
          %seven = constant <i32: 7> : tile<8xi32>
          %c = cmpi less_than %i, %seven, signed : tile<8xi32> -> tile<8xi1>
          assert %c, "too large" : tile<8xi1>
          return
        }
    Good:
        entry @k() {
          %i = iota : tile<8xi32>
          %seven = constant <i32: 7> : tile<8xi32>
          %c = cmpi less_than_or_equal %i, %seven, signed : tile<8xi32> -> tile<8xi1>
          assert %c, "too large" : tile<8xi1>
          return
        }
    """
    for o in facts.of(Assert):
        known = facts.elements(o.condition)
        if known is not None and not known.all():
            yield Match(o, "assert: the condition is always false")
