"""The form of each operation's result, from the forms of its operands: one function per kind of operation.

A function returns None where the result is a symbol of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, TypeVar

import numpy as np

from ...attrs import ComparisonPredicate, RoundingMode, Signedness
from ...ir import Op, Value
from ...ops import (
    AbsI,
    AddI,
    AndI,
    Assume,
    Bitcast,
    Broadcast,
    Cat,
    CmpI,
    Constant,
    DivI,
    ExtI,
    Extract,
    GetTensorShape,
    IntToPtr,
    Iota,
    MaxI,
    MinI,
    MulI,
    NegI,
    Offset,
    OrI,
    Permute,
    PtrToInt,
    PtrToPtr,
    RemI,
    Reshape,
    Select,
    ShLI,
    ShRI,
    SubI,
    TruncI,
    XOrI,
)
from ...types import DYNAMIC, Ptr, TensorView, Tile
from .affine import MAX_NUMBERS, Array, KnownForms, LinearForm, bits_of, has_form, is_scalar, number, wrapped

Rule = Callable[[Any, KnownForms], LinearForm | None]
RuleT = TypeVar("RuleT", bound=Rule)

RULES: dict[type[Op], Rule] = {}
UNSIGNED = Signedness.UNSIGNED


def rule(*classes: type[Op]) -> Callable[[RuleT], RuleT]:
    """Declare the function for these operations."""

    def declare(run: RuleT) -> RuleT:
        RULES.update(dict.fromkeys(classes, run))
        return run

    return declare


def element_bytes(value: Value) -> int:
    """The size of what pointers point to; 0 for elements that share a byte."""
    assert isinstance(value.type, Tile) and isinstance(value.type.element, Ptr)
    return value.type.element.pointee.row.memory_bits // 8


def read(numbers: Array, bits: int, signedness: Signedness) -> Array:
    """Numbers as an operation of that signedness reads them; 64-bit unsigned ones as uint64. A signed i1 is 0 or -1."""
    if signedness is not UNSIGNED:
        return -numbers if bits == 1 else numbers
    return numbers.astype(np.uint64) if bits == 64 else numbers & np.int64((1 << bits) - 1)


def shape_of(value: Value) -> tuple[int, ...]:
    assert isinstance(value.type, Tile)
    return value.type.shape


def _settled(form: LinearForm | None, value: Value) -> LinearForm | None:
    """A sum, wrapped around if it is a known number."""
    if form is None or form.terms:
        return form
    return LinearForm({}, wrapped(form.numbers, bits_of(value)))


def _folded(o: Op, compute: Callable[..., Array | None], *values: LinearForm) -> LinearForm | None:
    """Compute the elements, if all operands are known."""
    known = [form.known for form in values]
    if any(numbers is None for numbers in known):
        return None
    made = compute(*known)
    return None if made is None else LinearForm({}, wrapped(np.asarray(made).astype(np.int64), bits_of(o.results[0])))


# ---------------------------------------------------------------- sources


@rule(Constant)
def constant(o: Constant, known: KnownForms) -> LinearForm | None:
    """The elements"""
    bits = o.value.splat
    if bits is not None:
        return LinearForm({}, wrapped(_int64([bits]), bits_of(o.result)).reshape(()))
    if o.value.type.size > MAX_NUMBERS:
        return None
    return LinearForm({}, wrapped(_int64(o.value.elements()), bits_of(o.result)).reshape(shape_of(o.result)))


def _int64(patterns: list[int]) -> Array:
    return np.array(patterns, np.uint64).astype(np.int64)


@rule(Iota)
def iota(o: Iota, known: KnownForms) -> LinearForm | None:
    """0 to n - 1"""
    (size,) = shape_of(o.result)
    return LinearForm({}, wrapped(np.arange(size, dtype=np.int64), bits_of(o.result))) if size <= MAX_NUMBERS else None


@rule(GetTensorShape)
def tensor_shape(o: GetTensorShape, known: KnownForms) -> LinearForm | None:
    """The size that the type fixes, of a tensor with one dimension"""
    assert isinstance(o.src.type, TensorView)
    sizes = o.src.type.shape
    return number(sizes[0]) if len(sizes) == 1 and sizes[0] != DYNAMIC else None


@rule(Assume)
def assume(o: Assume, known: KnownForms) -> LinearForm | None:
    """The same"""
    return known[o.value]


# ---------------------------------------------------------------- sums


@rule(AddI)
def addi(o: AddI, known: KnownForms) -> LinearForm | None:
    """The sum"""
    return _settled(known[o.lhs].plus(known[o.rhs]), o.result)


@rule(SubI)
def subi(o: SubI, known: KnownForms) -> LinearForm | None:
    """The difference"""
    return _settled(known[o.lhs].plus(known[o.rhs], -1), o.result)


@rule(NegI)
def negi(o: NegI, known: KnownForms) -> LinearForm | None:
    """0 minus the operand"""
    return _settled(number(0).plus(known[o.source], -1), o.result)


@rule(MulI)
def muli(o: MulI, known: KnownForms) -> LinearForm | None:
    """A multiple, if one factor is known"""
    a, b = known[o.lhs], known[o.rhs]
    for form, other in ((a, b), (b, a)):
        if (factor := other.constant) is not None:
            return _settled(number(0).plus(form, factor), o.result)
    return _folded(o, np.multiply, a, b)


@rule(ShLI)
def shli(o: ShLI, known: KnownForms) -> LinearForm | None:
    """A multiple, if the amount is known"""
    amount = known[o.rhs].constant
    if amount is None or not 0 <= amount < min(bits_of(o.result), 63):
        return None
    return _settled(number(0).plus(known[o.lhs], 1 << amount), o.result)


@rule(Offset)
def offset(o: Offset, known: KnownForms) -> LinearForm | None:
    """The address plus the number of elements times their size"""
    size = element_bytes(o.ptr)
    return known[o.ptr].plus(known[o.offset], size) if size else None


@rule(PtrToPtr, PtrToInt, IntToPtr, Bitcast)
def same_bits(o: PtrToPtr | PtrToInt | IntToPtr | Bitcast, known: KnownForms) -> LinearForm | None:
    """The same number"""
    return known[o.source] if has_form(o.source) else None


@rule(ExtI)
def exti(o: ExtI, known: KnownForms) -> LinearForm | None:
    """The same number; one with symbols is taken not to change"""
    form, bits = known[o.from_], bits_of(o.from_)
    if form.terms:
        return form
    return LinearForm({}, wrapped(read(form.numbers, bits, o.signedness), bits_of(o.results[0])))


@rule(TruncI)
def trunci(o: TruncI, known: KnownForms) -> LinearForm | None:
    """The lower bits of known numbers"""
    return _folded(o, lambda a: a, known[o.from_])


# ---------------------------------------------------------------- shapes


def _moved(o: Op, form: LinearForm, move: Callable[[Array], Array]) -> LinearForm | None:
    """Move the numbers. Symbols must be the same for every element."""
    if not all(is_scalar(symbol) for symbol in form.terms):
        return None
    result = o.results[0]
    if form.numbers.ndim and prod(shape_of(result)) > MAX_NUMBERS:
        return None
    return form if form.numbers.ndim == 0 else LinearForm(form.terms, move(form.numbers))


@rule(Reshape)
def reshape(o: Reshape, known: KnownForms) -> LinearForm | None:
    """The same elements"""
    return _moved(o, known[o.source], lambda numbers: numbers.reshape(shape_of(o.result)))


@rule(Broadcast)
def broadcast(o: Broadcast, known: KnownForms) -> LinearForm | None:
    """The same elements, repeated"""
    return _moved(o, known[o.source], lambda numbers: np.broadcast_to(numbers, shape_of(o.result)))


@rule(Permute)
def permute(o: Permute, known: KnownForms) -> LinearForm | None:
    """The same elements, reordered"""
    return _moved(o, known[o.source], lambda numbers: numbers.transpose(o.permutation))


@rule(Extract)
def extract(o: Extract, known: KnownForms) -> LinearForm | None:
    """A part, if the indices are known"""
    shape, whole = shape_of(o.result), shape_of(o.source)
    index = [known[value].constant for value in o.indices]
    if any(i is None or not 0 <= i < n // size for i, n, size in zip(index, whole, shape)):
        return None
    part = tuple(slice((i or 0) * size, (i or 0) * size + size) for i, size in zip(index, shape))
    return _moved(o, known[o.source], lambda numbers: numbers[part])


@rule(Cat)
def cat(o: Cat, known: KnownForms) -> LinearForm | None:
    """Both parts, if they have the same symbols"""
    a, b = known[o.lhs], known[o.rhs]
    scalars = all(is_scalar(symbol) for symbol in a.terms)
    if a.terms != b.terms or not scalars or prod(shape_of(o.result)) > MAX_NUMBERS:
        return None
    parts = [np.broadcast_to(form.numbers, shape_of(value)) for form, value in ((a, o.lhs), (b, o.rhs))]
    return LinearForm(a.terms, np.concatenate(parts, axis=o.dim))


@rule(Select)
def select(o: Select, known: KnownForms) -> LinearForm | None:
    """The chosen elements"""
    a, b = known[o.val_if_true], known[o.val_if_false]
    condition = known[o.cond]
    if condition.constant is not None:
        return a if condition.constant else b
    if a.terms != b.terms or condition.known is None:
        return None
    chosen = np.where(condition.numbers != 0, a.numbers, b.numbers)
    return LinearForm(a.terms, chosen)


# ---------------------------------------------------------------- arithmetic on known numbers


@rule(DivI)
def divi(o: DivI, known: KnownForms) -> LinearForm | None:
    """The quotients; a division without a result is a symbol"""

    def divide(a: Array, b: Array) -> Array | None:
        if (b == 0).any():
            return None
        a, b = (read(each, bits_of(o.result), o.signedness) for each in (a, b))
        quotient: Array = np.floor_divide(a, b)
        inexact = quotient * b != a
        if o.rounding is RoundingMode.POSITIVE_INF:
            quotient = quotient + inexact
        elif o.rounding is RoundingMode.ZERO and o.signedness is not UNSIGNED:
            quotient = quotient + (inexact & ((a < 0) != (b < 0)))
        return quotient

    return _folded(o, divide, known[o.lhs], known[o.rhs])


@rule(RemI)
def remi(o: RemI, known: KnownForms) -> LinearForm | None:
    """The remainders, with the sign of the dividend"""

    def remainder(a: Array, b: Array) -> Array | None:
        if (b == 0).any():
            return None
        a, b = (read(each, bits_of(o.result), o.signedness) for each in (a, b))
        rest: Array = np.fmod(a, b)
        return rest

    return _folded(o, remainder, known[o.lhs], known[o.rhs])


@rule(ShRI)
def shri(o: ShRI, known: KnownForms) -> LinearForm | None:
    """The shifted numbers"""

    def shift(a: Array, b: Array) -> Array | None:
        if ((b < 0) | (b >= bits_of(o.result))).any():
            return None
        a = read(a, bits_of(o.result), o.signedness)
        shifted: Array = np.right_shift(a, b.astype(a.dtype))
        return shifted

    return _folded(o, shift, known[o.lhs], known[o.rhs])


@rule(AndI)
def andi(o: AndI, known: KnownForms) -> LinearForm | None:
    """Bit by bit"""
    return _folded(o, np.bitwise_and, known[o.lhs], known[o.rhs])


@rule(OrI)
def ori(o: OrI, known: KnownForms) -> LinearForm | None:
    """Bit by bit"""
    return _folded(o, np.bitwise_or, known[o.lhs], known[o.rhs])


@rule(XOrI)
def xori(o: XOrI, known: KnownForms) -> LinearForm | None:
    """Bit by bit"""
    return _folded(o, np.bitwise_xor, known[o.lhs], known[o.rhs])


@rule(MaxI, MinI)
def extreme(o: MaxI | MinI, known: KnownForms) -> LinearForm | None:
    """The larger or the smaller numbers"""
    pick = np.maximum if isinstance(o, MaxI) else np.minimum
    bits = bits_of(o.result)

    def choose(a: Array, b: Array) -> Array:
        chosen: Array = pick(read(a, bits, o.signedness), read(b, bits, o.signedness))
        return chosen

    return _folded(o, choose, known[o.lhs], known[o.rhs])


@rule(AbsI)
def absi(o: AbsI, known: KnownForms) -> LinearForm | None:
    """The sizes"""
    return _folded(o, np.abs, known[o.source])


COMPARE: dict[ComparisonPredicate, Callable[[Array, Array], Array]] = {
    ComparisonPredicate.EQUAL: np.equal,
    ComparisonPredicate.NOT_EQUAL: np.not_equal,
    ComparisonPredicate.LESS_THAN: np.less,
    ComparisonPredicate.LESS_THAN_OR_EQUAL: np.less_equal,
    ComparisonPredicate.GREATER_THAN: np.greater,
    ComparisonPredicate.GREATER_THAN_OR_EQUAL: np.greater_equal,
}


@rule(CmpI)
def cmpi(o: CmpI, known: KnownForms) -> LinearForm | None:
    """Whether the comparison holds"""
    bits = bits_of(o.lhs)

    def compare(a: Array, b: Array) -> Array:
        return COMPARE[o.comparison_predicate](read(a, bits, o.signedness), read(b, bits, o.signedness))

    return _folded(o, compare, known[o.lhs], known[o.rhs])
