"""Building loop IR: statements are appended to the innermost open block, and known integers are folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ....types import I1, I64, Ptr, Scalar, Tile, Type
from .integers import absorb, fold, simplify
from .nodes import (
    COMPARISONS,
    Apply,
    Buffer,
    Check,
    Const,
    Declare,
    Guard,
    Home,
    If,
    Int,
    Jump,
    Kind,
    Load,
    Loop,
    Operand,
    Read,
    Scope,
    Stmt,
    Store,
    Value,
    While,
    Write,
    index,
    truth,
)

if TYPE_CHECKING:
    from ....ir import Op


def element_of(type: Type) -> Scalar:
    """Return the element type of a tile in the loop IR, where pointers are i64."""
    assert isinstance(type, Tile)
    if isinstance(type.element, Ptr):
        return I64
    assert isinstance(type.element, Scalar)
    return type.element


CONVERSIONS = frozenset(("sext", "zext", "trunc", "bits"))


def known(x: Operand) -> int | None:
    """Return the bits of a constant, None for others."""
    return x.bits if type(x) is Const else None


def folded(name: str, operands: tuple[Operand, ...], target: Scalar) -> Operand | None:
    """Return the result of an integer operation if it is a constant or one of the operands; else None."""
    element = operands[-1].element
    if name == "select":
        condition, a, b = operands
        if type(condition) is Const:
            return a if condition.bits else b
        return a if a == b else None
    if element is target and name in CONVERSIONS:
        return operands[0]
    numbers = tuple(map(known, operands))
    if None not in numbers:
        bits = fold(name, element, target, *(n for n in numbers if n is not None))
        return None if bits is None else Const(target, bits)
    if name in CONVERSIONS or len(numbers) != 2 or numbers == (None, None):
        return None
    if (at := simplify(name, element, numbers)) is not None:
        return operands[at]
    bits = absorb(name, element, numbers)
    return None if bits is None else Const(target, bits)


class Builder:
    """Appends statements. `block` is where they go."""

    __slots__ = ("block",)

    def __init__(self, block: list[Stmt]) -> None:
        self.block = block

    def emit(self, s: Stmt) -> None:
        self.block.append(s)

    # ------------------------------------------------------------ computing

    def integer(self, name: str, *operands: Operand, to: Scalar | None = None) -> Operand:
        """Return the result of an integer operation: a constant or an operand if that is known."""
        target = to or (I1 if name in COMPARISONS else operands[-1].element)
        found = folded(name, operands, target)
        if found is not None:
            return found
        result = Value(target, max(x.lanes for x in operands))
        self.emit(Int(result, name, operands))
        return result

    def add(self, a: Operand, b: Operand) -> Operand:
        return self.integer("add", a, b)

    def sub(self, a: Operand, b: Operand) -> Operand:
        return self.integer("sub", a, b)

    def mul(self, a: Operand, b: Operand) -> Operand:
        return self.integer("mul", a, b)

    def both(self, a: Operand, b: Operand) -> Operand:
        return self.integer("and", a, b)

    def either(self, a: Operand, b: Operand) -> Operand:
        return self.integer("or", a, b)

    def opposite(self, a: Operand) -> Operand:
        return self.integer("xor", a, truth(True))

    def select(self, c: Operand, a: Operand, b: Operand) -> Operand:
        return self.integer("select", c, a, b)

    def resize(self, x: Operand, to: Scalar, *, signed: bool) -> Operand:
        """Return an integer in a type of another width."""
        if x.element is to:
            return x
        name = "trunc" if to.bits < x.element.bits else "sext" if signed else "zext"
        return self.integer(name, x, to=to)

    def apply(self, op: Op, *operands: Operand) -> Value:
        """Return an element of the result of an element-wise operation."""
        result = Value(element_of(op.results[0].type), max((x.lanes for x in operands), default=1))
        self.emit(Apply(result, op, operands))
        return result

    # ------------------------------------------------------------ buffers and memory

    def declare(self, element: Scalar, shape: Sequence[int], scope: Scope = Scope.ARENA, name: str = "") -> Buffer:
        buffer = Buffer(element, tuple(shape), scope, name)
        self.emit(Declare(buffer))
        return buffer

    def variable(self, element: Scalar, name: str = "") -> Buffer:
        """Return a buffer of one element without dimensions."""
        return self.declare(element, (), Scope.REGISTER, name)

    def load(self, buffer: Buffer, at: Sequence[Operand] = ()) -> Value:
        result = Value(buffer.element)
        self.emit(Load(result, buffer, tuple(at)))
        return result

    def store(self, buffer: Buffer, at: Sequence[Operand], value: Operand) -> None:
        self.emit(Store(buffer, tuple(at), value))

    def read(
        self,
        element: Scalar,
        address: Operand,
        mask: Operand | None = None,
        other: Operand | None = None,
        home: Home | None = None,
    ) -> Operand:
        """Read an element from memory; what is known of the mask is used, unless the result is undefined."""
        if mask is not None and known(mask) == 0 and other is not None:
            return other
        if mask is not None and known(mask) == 1:
            mask = other = None
        result = Value(element)
        self.emit(Read(result, address, mask, other, home))
        return result

    def write(self, address: Operand, value: Operand, mask: Operand | None = None, home: Home | None = None) -> None:
        if mask is not None and known(mask) is not None:
            if not known(mask):
                return
            mask = None
        self.emit(Write(address, value, mask, home=home))

    def guard(
        self,
        address: Operand,
        item: int,
        writes: bool,
        fault: int,
        home: Home | None,
        dims: Sequence[tuple[Operand, Operand]] = (),
        mask: Operand | None = None,
    ) -> None:
        if mask is not None and known(mask) is not None:
            if not known(mask):
                return
            mask = None
        self.emit(Guard(address, tuple(dims), item, writes, fault, home, mask))

    def check(self, condition: Operand, fault: int) -> None:
        if known(condition) != 1:
            self.emit(Check(condition, fault))

    # ------------------------------------------------------------ control

    @contextmanager
    def within(self, block: list[Stmt]) -> Iterator[None]:
        """Append to another block for a while."""
        before, self.block = self.block, block
        try:
            yield
        finally:
            self.block = before

    @contextmanager
    def loop(
        self,
        kind: Kind,
        high: Operand,
        low: Operand | None = None,
        step: int = 1,
        *,
        name: str = "",
        polls: bool = False,
    ) -> Iterator[Loop]:
        made = Loop(kind, Value(I64, 1, name), low or index(0), high, [], step, polls)
        self.emit(made)
        with self.within(made.body):
            yield made

    @contextmanager
    def nest(
        self, kind: Kind, shape: Sequence[int], order: Sequence[int] | None = None
    ) -> Iterator[tuple[Operand, ...]]:
        """Open a loop for each dimension, in their order or another; dimensions of one element need none."""
        indices: list[Operand] = [index(0)] * len(shape)
        before = self.block
        for d in order or range(len(shape)):
            if shape[d] != 1:
                made = Loop(kind, Value(I64, 1, "ijklmn"[d] if d < 6 else f"i{d}"), index(0), index(shape[d]), [])
                self.emit(made)
                self.block, indices[d] = made.body, made.index
        try:
            yield tuple(indices)
        finally:
            self.block = before

    @contextmanager
    def repeat(self) -> Iterator[While]:
        made = While([])
        self.emit(made)
        with self.within(made.body):
            yield made

    @contextmanager
    def when(self, condition: Operand, *, rarely: bool = False) -> Iterator[If]:
        made = If(condition, [], [], rarely)
        self.emit(made)
        with self.within(made.then):
            yield made

    def jump(self, kind: str, loop: Loop | While | None = None) -> None:
        self.emit(Jump(kind, loop))
