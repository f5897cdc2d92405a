"""Affine tiles: tiles whose elements are `start + i * step_0 + j * step_1 ...`, with scalars for start and steps.

    forms = Forms(ranges(entry))
    forms[offsets]       # Form(base=None, start={(pid,): 1024}, steps=({(): 1},)) for `pid * 1024 + iota`

A form is exact: it is only found where the known ranges prove that no operation on the way wraps around.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..attrs import Signedness
from ..ir import Value
from ..ops import AddI, Assume, Broadcast, Constant, ExtI, Iota, MulI, Offset, Permute, Reshape, SubI
from ..types import Ptr, Tile
from .intervals import Range, element, is_integer, read, signed_limits
from .range_rules import EXACT
from .ranges import Ranges

Product = tuple[Value, ...]
Polynomial = Mapping[Product, int]
"""A sum of products of scalars, each with a factor; the empty product is the constant. Scalars are read as signed."""
ZERO: Polynomial = {}
ONE: Polynomial = {(): 1}
MOST_TERMS, MOST_FACTORS, LARGEST = 8, 4, 1 << 64
"""Above these numbers of terms, of factors in one of them, and above this number, a polynomial is not worth it."""


class Form(NamedTuple):
    """The elements of a tile: at `(i, j, ...)`, `start + i * steps[0] + j * steps[1] ...`, added to the base.

    Tiles of integers have no base. That of pointers is a scalar, and start and steps count elements.
    """

    base: Value | None
    start: Polynomial
    steps: tuple[Polynomial, ...]

    @property
    def uniform(self) -> bool:
        """Whether all elements are equal."""
        return not any(self.steps)


def number(p: Polynomial) -> int | None:
    """Return the value of a polynomial without scalars."""
    if not p:
        return 0
    return p[()] if len(p) == 1 and () in p else None


def plus(a: Polynomial, b: Polynomial, sign: int = 1) -> Polynomial:
    """Return a + b, or a - b."""
    total = dict(a)
    for product, factor in b.items():
        total[product] = total.get(product, 0) + sign * factor
    return {product: factor for product, factor in total.items() if factor}


def scaled(p: Polynomial, n: int) -> Polynomial:
    """Return p * n."""
    return {product: factor * n for product, factor in p.items() if n}


def is_large(p: Polynomial) -> bool:
    """Whether a polynomial has too many parts or too large ones."""
    return len(p) > MOST_TERMS or any(
        len(product) > MOST_FACTORS or abs(factor) > LARGEST for product, factor in p.items()
    )


def range_of(p: Polynomial, known: Ranges) -> Range:
    """Return a range that holds the value of a polynomial."""
    low = high = 0
    for product, factor in p.items():
        found = Range(factor, factor)
        for value in product:
            found = EXACT[MulI](found, read(known[value], element(value), Signedness.SIGNED))
        low, high = low + found.lo, high + found.hi
    return Range(low, high)


class Forms:
    """The forms of the values of a kernel, computed when they are asked for."""

    def __init__(self, known: Ranges) -> None:
        self.known = known
        self.found: dict[Value, Form | None] = {}
        self.ranks: dict[Value, int] = {}
        """The order of scalars in a product, which is that in which they were met: it is the same in every run."""

    def __getitem__(self, value: Value) -> Form | None:
        """Return the form of a tile of integers or pointers; None if it is not known to be affine."""
        todo = [value]
        while todo:
            v = todo[-1]
            if v in self.found:
                todo.pop()
                continue
            missing = [each for each in operands_of(v) if each not in self.found]
            if missing:
                todo += missing
                continue
            form = self._form(v)
            self.found[v] = None if form is None or any(map(is_large, (form.start, *form.steps))) else form
            todo.pop()
        return self.found[value]

    def _form(self, v: Value) -> Form | None:
        type = v.type
        if not isinstance(type, Tile):
            return None
        if not type.shape:  # a scalar is known by its name
            is_pointer = isinstance(type.element, Ptr)
            scalar = constant_of(v)
            start: Polynomial = {(): scalar} if scalar else {} if scalar == 0 or is_pointer else {(v,): 1}
            is_number = is_integer(v) and element(v).bits > 1
            return Form(v if is_pointer else None, start, ()) if is_pointer or is_number else None
        match v.owner:
            case Constant():
                scalar = constant_of(v)
                flat: tuple[Polynomial, ...] = (ZERO,) * len(type.shape)
                return None if scalar is None else Form(None, {(): scalar} if scalar else {}, flat)
            case Iota():
                return Form(None, ZERO, (ONE,))
            case Assume(value=source):
                return self.found[source]
            case Broadcast(source=source) | Reshape(source=source) | Permute(source=source):
                form = self.found[source]
                steps = None if form is None else moved(v.owner, source, form.steps, ZERO)
                return None if form is None or steps is None else Form(form.base, form.start, steps)
            case ExtI(from_=source, signedness=signedness):
                fits = signedness is Signedness.SIGNED or self.known[source].lo >= 0
                return self.found[source] if fits else None
            case AddI() | SubI() | MulI():
                return self._arithmetic(v.owner, self.found[v.owner.lhs], self.found[v.owner.rhs])
            case Offset(ptr=ptr, offset=offset):
                return joined(self.found[ptr], self.found[offset], 1)
        return None

    def _arithmetic(self, o: Any, a: Form | None, b: Form | None) -> Form | None:
        if a is None or b is None or self.wraps(o):
            return None
        if not isinstance(o, MulI):
            return joined(a, b, -1 if isinstance(o, SubI) else 1)
        if not b.uniform:
            a, b = b, a
        if not b.uniform:
            return None
        factor = b.start
        return Form(None, self.times(a.start, factor), tuple(self.times(step, factor) for step in a.steps))

    def times(self, a: Polynomial, b: Polynomial) -> Polynomial:
        """Return a * b."""
        total: dict[Product, int] = {}
        for p, x in a.items():
            for q, y in b.items():
                product = tuple(sorted((*p, *q), key=self._rank))
                total[product] = total.get(product, 0) + x * y
        return {product: factor for product, factor in total.items() if factor}

    def _rank(self, scalar: Value) -> int:
        return self.ranks.setdefault(scalar, len(self.ranks))

    def wraps(self, o: Any) -> bool:
        """Whether a sum, difference or product of integers may not fit in its type."""
        kind = element(o.result)
        a, b = (read(self.known[v], kind, Signedness.SIGNED) for v in (o.lhs, o.rhs))
        return not EXACT[type(o)](a, b).within(*signed_limits(kind))


def joined(a: Form | None, b: Form | None, sign: int) -> Form | None:
    """Return the form of a sum or difference."""
    if a is None or b is None:
        return None
    return Form(a.base, plus(a.start, b.start, sign), tuple(plus(x, y, sign) for x, y in zip(a.steps, b.steps)))


def operands_of(v: Value) -> tuple[Value, ...]:
    """Return the operands that the form of a value depends on."""
    if not isinstance(v.type, Tile) or not v.type.shape:
        return ()
    match v.owner:
        case Assume(value=source) | Broadcast(source=source) | Reshape(source=source) | Permute(source=source):
            return (source,)
        case ExtI(from_=source):
            return (source,)
        case AddI() | SubI() | MulI():
            return (v.owner.lhs, v.owner.rhs)
        case Offset(ptr=ptr, offset=offset):
            return (ptr, offset)
    return ()


def constant_of(v: Value) -> int | None:
    """Return the integer that all elements of a constant are, read as signed."""
    if not isinstance(v.owner, Constant) or not is_integer(v):
        return None
    bits, kind = v.owner.value.splat, element(v)
    return None if bits is None else bits - (1 << kind.bits) if bits >> (kind.bits - 1) and kind.bits > 1 else bits


def moved(o: Any, source: Value, of_dims: tuple[Any, ...], nothing: Any) -> tuple[Any, ...] | None:
    """Return what the dimensions of a result have, if those of the source have `of_dims`; None if they are mixed.

    `o` broadcasts, permutes, or adds and removes dimensions of size one, which have `nothing`.
    """
    assert isinstance(source.type, Tile) and isinstance(o.result.type, Tile)
    old, new = source.type.shape, o.result.type.shape
    if isinstance(o, Permute):
        return tuple(of_dims[dim] for dim in o.permutation)
    if isinstance(o, Broadcast):
        return tuple(each if size == wide else nothing for each, size, wide in zip(of_dims, old, new))
    kept = [each for each, size in zip(of_dims, old) if size != 1]
    if [size for size in old if size != 1] != [size for size in new if size != 1]:
        return None
    rest = iter(kept)
    return tuple(nothing if size == 1 else next(rest) for size in new)
