"""Sums of multiples of symbols and known numbers, one for each element of a tile."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...declare.fastclass import dataclass
from ...ir import Value
from ...types import Ptr, Scalar, Tile

Array = NDArray[Any]

MAX_NUMBERS = 1 << 14
"""The most elements of a tile whose numbers are computed one by one."""
MAX_TERMS = 8
MAX_FACTOR = 1 << 40
"""Longer sums and larger multiples are symbols."""


@dataclass(frozen=True, slots=True, eq=False)
class LinearForm:
    """A tile of integers, or of addresses in bytes: for each element, the sum of all terms and a number."""

    terms: Mapping[Value, int]
    """The factor of each symbol. A symbol is a scalar, or a tile of the same shape."""
    numbers: Array
    """One int64 for each element, or a single one, of rank 0, if all are equal."""

    @property
    def known(self) -> Array | None:
        """The elements, if no symbol takes part."""
        return None if self.terms else self.numbers

    @property
    def constant(self) -> int | None:
        """The integer that all elements are."""
        return int(self.numbers) if not self.terms and self.numbers.ndim == 0 else None

    @property
    def key(self) -> Hashable:
        """Equal for equal forms."""
        numbers = int(self.numbers) if self.numbers.ndim == 0 else (self.numbers.shape, self.numbers.tobytes())
        return frozenset(self.terms.items()), numbers

    @property
    def is_uniform(self) -> bool:
        """Whether all elements are equal."""
        return self.numbers.ndim == 0 and all(is_scalar(symbol) for symbol in self.terms)

    def plus(self, other: LinearForm, factor: int = 1) -> LinearForm | None:
        """This plus a multiple of another form; None if the sum is too long."""
        terms = dict(self.terms)
        for symbol, times in other.terms.items():
            terms[symbol] = terms.get(symbol, 0) + times * factor
        terms = {symbol: times for symbol, times in terms.items() if times}
        if len(terms) > MAX_TERMS or any(abs(times) > MAX_FACTOR for times in terms.values()):
            return None
        return LinearForm(terms, self.numbers + other.numbers * np.int64(factor))


def number(value: int) -> LinearForm:
    """The form of a known integer."""
    return LinearForm({}, np.array(value, np.int64))


def symbol(value: Value) -> LinearForm:
    """The form of a value about which nothing is known."""
    return LinearForm({value: 1}, np.array(0, np.int64))


def is_scalar(value: Value) -> bool:
    return isinstance(value.type, Tile) and not value.type.shape


def has_form(value: Value) -> bool:
    """Whether a value is a tile of integers or pointers."""
    t = value.type
    return isinstance(t, Tile) and (isinstance(t.element, Ptr) or t.element.is_int)


class KnownForms(Protocol):
    """The forms found so far."""

    def __getitem__(self, value: Value) -> LinearForm: ...


def bits_of(value: Value) -> int:
    """The width of an integer, 64 for an address."""
    assert isinstance(value.type, Tile)
    return value.type.element.bits if isinstance(value.type.element, Scalar) else 64


def wrapped(numbers: Array, bits: int) -> Array:
    """Numbers as a signed integer of this width holds them; an i1 is 0 or 1."""
    if bits == 64:
        return numbers
    if bits == 1:
        return numbers & 1
    half = np.int64(1 << (bits - 1))
    mask = np.int64((1 << bits) - 1)
    return ((numbers + half) & mask) - half
