"""Packing operands of products, as early as they are known.

A left operand is packed row by row, with a dimension for the batch; a right one in panels of as many columns as stay in
registers: [batch][n / columns][k][columns]. Where an instruction multiplies neighbours along K, a step is a word that
holds them, and panels have the words of a row side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from ....ir import Op
from ....types import BF16, I16, Scalar
from ..abi import Specialisation
from ..loops.nodes import (
    Buffer,
    Const,
    Declare,
    If,
    Kind,
    Load,
    Loop,
    Operand,
    Scope,
    Stmt,
    While,
    blocks_of,
    buffers_read,
    buffers_written,
    index,
    walk,
)
from ..targets import Machine
from .inline import Producer, producer_of
from .rewrite import written_buffers
from .vectors import Sizes, Vectors

SQUARE = 16
"""Rows of a square that is transposed in registers."""
T = TypeVar("T")


class Facts:
    """Facts about buffers before any product is expanded."""

    def __init__(self, body: list[Stmt]) -> None:
        self.readers: dict[Buffer, int] = {}
        self.writers: dict[Buffer, int] = {}
        self.blocks = [body]
        for s in walk(body):
            self.blocks += blocks_of(s)
            for b in buffers_read(s):
                self.readers[b] = self.readers.get(b, 0) + 1
            for b in buffers_written(s):
                self.writers[b] = self.writers.get(b, 0) + 1
        self.makers: dict[Buffer, Producer] = {}
        for block in self.blocks:
            for s in block:
                if isinstance(s, Loop) and (made := producer_of(s, self.writers)) is not None:
                    self.makers[made.buffer] = made
        self.starts: dict[int, Producer] = {}
        """The statements that compute the accumulator of a product formed in place, by the identity of the product."""

    def transposed(self, b: Buffer) -> Buffer | None:
        """Return the buffer that another one is the transpose of, in its last two dimensions."""
        made = self.makers.get(b)
        if made is None or len(made.body) != 1 or len(b.shape) < 2:
            return None
        (load,) = made.body
        if not isinstance(load, Load) or load.mask is not None or self.writers.get(load.buffer) != 1:
            return None
        if None in made.indices or load.buffer not in self.makers:
            return None
        *outer, i, j = made.indices
        return load.buffer if load.index == (*outer, j, i) else None


@dataclass(slots=True)
class Spot:
    """A place in a block: a product, or the statement that it is in."""

    body: list[Stmt]
    at: int = 0
    packed: dict[object, object] = field(default_factory=dict)
    """Operands packed in this block."""


@dataclass(slots=True)
class Context:
    """A kernel whose products are expanded one after the other."""

    facts: Facts
    machine: Machine
    wanted: Specialisation
    ops: list[Op]
    """The operations of the kernel."""
    path: list[Spot] = field(default_factory=list)
    """Where the product is, outermost block first."""
    first: list[Stmt] = field(default_factory=list)
    """Statements that a tile block begins with."""
    out: list[Stmt] = field(default_factory=list)
    """The code that replaces the product."""
    rare: Vectors | None = None
    """Where operands are packed in code that is not expected to run."""

    def loop(self) -> Loop | While | None:
        """Return the innermost loop of Tile IR around the product."""
        around = (spot.body[spot.at] for spot in reversed(self.path[:-1]))
        return next((s for s in around if isinstance(s, While) or (isinstance(s, Loop) and s.polls)), None)

    def level(self, sources: tuple[Buffer, ...]) -> int:
        """Return the outermost block that buffers can be packed in: loops that do not change them may be left."""
        found = level = len(self.path) - 1
        while level > 0:
            around = self.path[level - 1].body[self.path[level - 1].at]
            if isinstance(around, Loop) and around.kind is Kind.GRID:
                break
            inside = {s.buffer for s in walk([around]) if isinstance(s, Declare)} | written_buffers([around])
            if not inside.isdisjoint(sources):
                break
            level -= 1
            if not isinstance(around, If):
                found = level
        return found

    def packed(self, sources: tuple[Buffer, ...], kind: object, pack: Callable[[Vectors], T]) -> T:
        """Pack an operand, which may have scales, unless that was done before; `kind` says how."""
        if self.rare is not None:
            return pack(self.rare)
        key = (sources, kind)
        alone = all(self.facts.writers.get(b) == 1 for b in sources)
        known = next((spot.packed[key] for spot in reversed(self.path) if key in spot.packed), None)
        if alone and known is not None:
            return known  # type: ignore[return-value]
        level = self.level(sources)
        spot = self.path[level]
        if level == len(self.path) - 1:
            made = pack(Vectors(self.out))
        else:
            out: list[Stmt] = []
            made = pack(Vectors(out))
            spot.body[spot.at : spot.at] = out
            spot.at += len(out)
        spot.packed[key] = made
        return made


def place(b: Buffer, batch: Operand, i: Operand, j: Operand) -> list[Operand]:
    """Return the index of an element of an operand or result, which may have a dimension for the batch."""
    return [batch, i, j] if len(b.shape) == 3 else [i, j]


# ---------------------------------------------------------------- operands

Element = Callable[[Vectors, Operand, list[Operand]], Operand]
"""From an element of an operand, or neighbours, and the index of the first, to what is packed."""


def rows(b: Vectors, source: Buffer, s: Sizes, to: Scalar, element: Element) -> Buffer:
    """Pack a left operand row by row."""
    made = b.declare(to, (s.batch, s.m, source.shape[-1]), name="rows")
    with b.nest(Kind.PARALLEL, made.shape) as at:
        where = place(source, *at)
        b.store(made, at, element(b, b.load(source, where), where))
    return made


def panels(b: Vectors, source: Buffer, s: Sizes, to: Scalar, element: Element, across: Buffer | None) -> Buffer:
    """Pack a right operand; `across` is its transpose, if squares are to be transposed in registers."""
    made = b.declare(to, (s.batch, s.n // s.columns, s.k, s.columns), name="panels")
    if across is not None and has_squares(s):
        _squares(b, across, made, s, 1, element)
        return made
    with b.nest(Kind.PARALLEL, made.shape, (0, 2, 1, 3)) as (batch, panel, k, c):
        where = place(source, batch, k, b.add(b.mul(panel, index(s.columns)), c))
        b.store(made, (batch, panel, k, c), element(b, b.load(source, where), where))
    return made


def has_squares(s: Sizes) -> bool:
    """Tell whether squares fit in a right operand and in its panels."""
    return s.columns % SQUARE == s.k % SQUARE == 0


def word_panels(
    b: Vectors, source: Buffer, s: Sizes, to: Scalar, each: int, element: Element, across: Buffer | None
) -> Buffer:
    """Pack a right operand as words of so many neighbours along K."""
    w = s.columns
    made = b.declare(to, (s.batch, s.n // w, s.k, each * w), name="panels")
    if across is not None and has_squares(s):
        _squares(b, across, made, s, each, element)
        return made
    with b.nest(Kind.SERIAL, made.shape[:3], (0, 2, 1)) as (batch, panel, k):
        first, j = b.mul(k, index(each)), b.mul(panel, index(w))
        found = []
        for i in range(each):
            where = place(source, batch, b.add(first, index(i)), j)
            found.append(element(b, b.elements(source, where, w), where))
        b.put(made, [batch, panel, k, index(0)], b.woven(found), each * w)
    return made


def _squares(b: Vectors, source: Buffer, made: Buffer, s: Sizes, each: int, element: Element) -> None:
    """Pack an operand whose columns are neighbours in memory: squares of words are transposed in registers."""
    w = SQUARE
    with b.nest(Kind.SERIAL, (s.batch, s.n // w, s.k // w)) as (batch, n, m):
        j, k = b.mul(n, index(w)), b.mul(m, index(w))
        found = []
        for c in range(w):
            where = place(source, batch, b.add(j, index(c)), b.mul(k, index(each)))
            found.append(element(b, b.elements(source, where, each * w), where))
        panel, column = (b.integer(name, j, index(s.columns)) for name in ("udiv", "urem"))
        for r, x in enumerate(b.transposed(found, each)):
            b.put(made, [batch, panel, b.add(k, index(r)), b.mul(column, index(each))], x, each * w)


# ---------------------------------------------------------------- how small numbers are


TINY = 87 << 7
"""2**-40 as a bf16. The processor takes subnormal numbers for 0, also sums: where every operand is 0 or larger than
this, all sums are multiples of 2**-94, and none is subnormal."""


class Smallest:
    """The size of the smallest number but 0 that a tile block has packed of an operand, in some lanes.

    It is the bits without the sign, less 1: then 0 becomes the largest. It is never forgotten, because sums may be tiny
    from then on.
    """

    def __init__(self, context: Context, lanes: int) -> None:
        b = Vectors(context.first)
        self.lanes = lanes
        self.room = b.declare(I16, (lanes,), Scope.REGISTER, "smallest")
        b.put(self.room, [index(0)], Const(I16, 0xFFFF), lanes)

    def element(self, b: Vectors, x: Operand, where: list[Operand]) -> Operand:
        """Look at bf16 that are packed."""
        size = b.whole("and", Const(I16, 0x7FFF), b.whole("bits", x, to=I16))
        size = b.whole("add", Const(I16, 0xFFFF), size)
        before = b.elements(self.room, [index(0)], self.lanes)
        b.put(self.room, [index(0)], b.whole("umin", before, size), self.lanes)
        return x

    def is_tiny(self, b: Vectors) -> Operand:
        """Return whether some number is tiny."""
        least = b.extreme("umin", b.elements(self.room, [index(0)], self.lanes))
        return b.integer("ult", least, Const(I16, TINY - 1))


def scanned_rows(b: Vectors, source: Buffer, s: Sizes, smallest: Smallest) -> Buffer:
    """Copy a left operand of bf16, looking at all of it."""
    k, w = source.shape[-1], smallest.lanes
    made = b.declare(BF16, (s.batch, s.m, k), name="rows")
    with b.nest(Kind.SERIAL, (s.batch, s.m, k // w)) as (batch, i, part):
        at = b.mul(part, index(w))
        where = place(source, batch, i, at)
        b.put(made, [batch, i, at], smallest.element(b, b.elements(source, where, w), where), w)
    return made
