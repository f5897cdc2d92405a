"""Builds operations with scalars and tiles of integers, for passes that insert them."""

from __future__ import annotations

from typing import Any, TypeVar

from ..analysis.affine import Polynomial
from ..analysis.intervals import element
from ..analysis.ranges import Ranges
from ..attrs import Signedness
from ..ir import Op, Value
from ..ops import AddI, Broadcast, ExtI, MulI, Reshape, TruncI
from ..types import Scalar, Tile
from .constants import filled

OpT = TypeVar("OpT", bound=Op)


class Appender:
    """A list of operations that grows, all with the place of another one."""

    def __init__(self, known: Ranges, loc: Any) -> None:
        self.known, self.loc = known, loc
        self.ops: list[Op] = []

    def add(self, o: OpT) -> OpT:
        o.loc = self.loc
        self.ops.append(o)
        return o

    def number(self, n: int, kind: Scalar) -> Value:
        return self.add(filled(Tile((), kind), n % (1 << kind.bits))).result

    def scalar(self, p: Polynomial, kind: Scalar) -> Value:
        """Build the value of a polynomial, modulo the width of a type."""
        total: Value | None = None
        for product, factor in p.items():
            term = None if product and factor == 1 else self.number(factor, kind)
            for value in product:
                atom = self.cast(value, kind)
                term = atom if term is None else self.add(MulI(lhs=term, rhs=atom)).result
            assert term is not None, "a product without factors is a number"
            total = term if total is None else self.add(AddI(lhs=total, rhs=term)).result
        return self.number(0, kind) if total is None else total

    def cast(self, value: Value, kind: Scalar) -> Value:
        bits = element(value).bits
        if bits == kind.bits:
            return value
        if bits < kind.bits:
            return self.add(ExtI(from_=value, signedness=Signedness.SIGNED, to=Value(Tile((), kind)))).to
        return self.add(TruncI(from_=value, to=Value(Tile((), kind)))).to

    def spread(self, value: Value, shape: tuple[int, ...]) -> Value:
        """Build a tile whose elements are all the same scalar."""
        assert isinstance(value.type, Tile)
        ones = self.add(Reshape(source=value, result=Value(Tile((1,) * len(shape), value.type.element)))).result
        return self.add(Broadcast(source=ones, result=Value(Tile(shape, value.type.element)))).result
