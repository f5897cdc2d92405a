"""Split buffers that should be in registers into buffers of one register each.

It applies where every index is known: then lanes are moved by shuffles, every access is of a whole register, and LLVM
keeps the buffers in registers, over loops, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from operator import add, mul, sub

from ....types import I64
from ..loops.nodes import (
    Buffer,
    Call,
    Const,
    Declare,
    Int,
    Kernel,
    Load,
    Operand,
    Product,
    Scope,
    Shuffle,
    Stmt,
    Store,
    Value,
    blocks_of,
    buffers_read,
    buffers_written,
    index,
    walk,
)
from ..targets import Machine
from .rewrite import Copy, with_values

MAX_ELEMENTS = 2048
Positions = tuple[int, ...]
STEPS: dict[str, Callable[[int, int], int]] = {"add": add, "sub": sub, "mul": mul, "smin": min, "smax": max}
"""Operations that compute positions, which are far too small to wrap around."""


def split_registers(machine: Machine) -> Callable[[Kernel], bool]:
    """Return the pass for a processor."""

    def run(kernel: Kernel) -> bool:
        places = _Places(kernel)
        chosen = {b: w for b in places.buffers if (w := places.width(b, machine))}
        if chosen:
            _Splitter(places, chosen).run(kernel)
        return bool(chosen)

    return run


class _Places:
    """The positions of elements that statements access, where they are known."""

    def __init__(self, kernel: Kernel) -> None:
        self.numbers: dict[Operand, Positions] = {}
        self.of: dict[int, Positions] = {}
        """By the identity of the statement."""
        self.buffers: dict[Buffer, None] = {}
        unknown: set[Buffer] = set()
        for s in walk(kernel.body):
            if isinstance(s, Int) and s.result.element is I64:
                self.compute(s)
            elif isinstance(s, Declare) and s.buffer.scope is Scope.REGISTER and s.buffer.shape:
                self.buffers[s.buffer] = None
            elif isinstance(s, (Load, Store)) and s.buffer.scope is Scope.REGISTER and s.buffer.shape:
                found = None if s.mask is not None else self.positions(s)
                if found is None:
                    unknown.add(s.buffer)
                else:
                    self.of[id(s)] = found
            elif isinstance(s, (Product, Call)):
                unknown.update((*buffers_read(s), *buffers_written(s)))
        for b in unknown:
            self.buffers.pop(b, None)

    def compute(self, s: Int) -> None:
        parts = [self.number(x) for x in s.operands]
        if any(p is None for p in parts):
            return
        if s.name == "ramp":
            (first,) = parts[0] or (0,)
            self.numbers[s.result] = tuple(range(first, first + s.result.lanes))
        elif s.name in STEPS and len(parts) == 2:
            a, b = (self.spread(p or (), s.result.lanes) for p in parts)
            self.numbers[s.result] = tuple(map(STEPS[s.name], a, b))

    def number(self, x: Operand) -> Positions | None:
        if isinstance(x, Const):
            return (x.bits - (1 << 64) if x.bits >> 63 else x.bits,)
        return self.numbers.get(x)

    def spread(self, p: Positions, lanes: int) -> Positions:
        return p * lanes if len(p) == 1 else p

    def positions(self, s: Load | Store) -> Positions | None:
        """Return the element of each lane, counted row by row; None if it is not known, or not inside."""
        shape = s.buffer.shape
        lanes = max([x.lanes for x in s.index] + ([s.value.lanes] if isinstance(s, Store) else []))
        total = [0] * lanes
        for x, size in zip(s.index, shape):
            p = self.number(x)
            if p is None or any(not 0 <= n < size for n in p):
                return None
            total = [t * size + n for t, n in zip(total, self.spread(p, lanes))]
        return tuple(total)

    def width(self, b: Buffer, machine: Machine) -> int:
        """Return the elements of a part; 0 to leave the buffer as it is."""
        size = prod(b.shape)
        width = machine.lanes(max(8, b.element.bits) // 8)
        while width > 1 and size % width:
            width //= 2
        return width if 1 < size <= MAX_ELEMENTS else 0


class _Splitter:
    def __init__(self, places: _Places, widths: dict[Buffer, int]) -> None:
        self.places, self.widths = places, widths
        self.parts: dict[Buffer, list[Buffer]] = {}
        self.copy = Copy()

    def run(self, kernel: Kernel) -> None:
        kernel.body = self.block(kernel.body)
        if self.copy.values:
            kernel.body = [with_values(s, self.copy) for s in kernel.body]

    def block(self, body: list[Stmt]) -> list[Stmt]:
        out: list[Stmt] = []
        for s in body:
            if isinstance(s, Declare) and s.buffer in self.widths:
                b, w = s.buffer, self.widths[s.buffer]
                parts = [Buffer(b.element, (w,), b.scope, b.name) for _ in range(prod(b.shape) // w)]
                self.parts[b] = parts
                out += map(Declare, parts)
            elif isinstance(s, Load) and s.buffer in self.widths:
                self.copy.values[s.result] = self.picked(out, s.buffer, self.places.of[id(s)])
            elif isinstance(s, Store) and s.buffer in self.widths:
                self.put(out, s.buffer, self.places.of[id(s)], s.value)
            else:
                for block in blocks_of(s):
                    block[:] = self.block(block)
                out.append(s)
        return out

    def whole(self, out: list[Stmt], part: Buffer) -> tuple[Operand, ...]:
        """Return the index of all lanes of a part."""
        (w,) = part.shape
        if w == 1:
            return (index(0),)
        ramp = Value(I64, w)
        out.append(Int(ramp, "ramp", (index(0),)))
        return (ramp,)

    def load(self, out: list[Stmt], part: Buffer) -> Value:
        made = Value(part.element, part.shape[0])
        at = self.whole(out, part)
        out.append(Load(made, part, at))
        return made

    def shuffle(self, out: list[Stmt], xs: Sequence[Operand], order: Sequence[int]) -> Operand:
        (x, *_) = xs
        if tuple(order) == tuple(range(x.lanes)):
            return x
        made = Value(x.element, len(order))
        out.append(Shuffle(made, tuple(xs), tuple(order)))
        return made

    def picked(self, out: list[Stmt], b: Buffer, positions: Positions) -> Operand:
        """Return the elements at some positions."""
        w, lanes = self.widths[b], len(positions)
        numbers = sorted({p // w for p in positions})
        starts = positions[::w]
        runs = [positions[k : k + w] == tuple(range(n, n + w)) for k, n in zip(range(0, lanes, w), starts)]
        if lanes > w and all(runs) and all(n % w == 0 for n in starts):
            rows = [self.load(out, self.parts[b][n // w]) for n in starts]
            while len(rows) > 1:
                pairs = zip(rows[::2], rows[1::2])
                rows = [self.joined(out, x, y) for x, y in pairs]
            return rows[0]
        found: Operand | None = None
        for number in numbers:
            part = self.load(out, self.parts[b][number])
            mine = [p % w if p // w == number else 0 for p in positions]
            here = self.shuffle(out, [part], mine)
            if found is None:
                found = here
            else:
                order = [k + lanes if p // w == number else k for k, p in enumerate(positions)]
                found = self.shuffle(out, [found, here], order)
        assert found is not None
        return found

    def joined(self, out: list[Stmt], x: Value, y: Value) -> Value:
        made = Value(x.element, 2 * x.lanes)
        out.append(Shuffle(made, (x, y), tuple(range(2 * x.lanes))))
        return made

    def put(self, out: list[Stmt], b: Buffer, positions: Positions, value: Operand) -> None:
        """Store elements at some positions; of several for one position the last stays."""
        w = self.widths[b]
        for number in sorted({p // w for p in positions}):
            part = self.parts[b][number]
            lanes = {p % w: k for k, p in enumerate(positions) if p // w == number}
            new: Operand = value
            if value.lanes > 1:
                new = self.shuffle(out, [value], [lanes.get(k, 0) for k in range(w)])
            if len(lanes) < w:
                old = self.load(out, part)
                if new.lanes == 1:
                    spread = Value(part.element, w)
                    out.append(Shuffle(spread, (new,), (0,) * w))
                    new = spread
                new = self.shuffle(out, [old, new], [k + w if k in lanes else k for k in range(w)])
            at = self.whole(out, part)
            out.append(Store(part, at, new))
