"""An interpreter of the loop IR in NumPy: what the IR means, and the oracle in tests.

A value is an array whose last axis are its lanes. The iterations of a parallel loop run together where that is
possible: each loop adds an axis before the lanes, and every statement runs on all iterations at once. So does a serial
loop that only writes memory, which NumPy visits in the order of the iterations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ....ops import AtomicCASTko, PrintTko
from ....types import F32, I1, TF32, Scalar
from ...common.memory import Fault, Memory
from ...common.numerics.arithmetic import add, fma, mul
from ...common.numerics.convert import float_to_float
from ...common.tiles import Array, carrier, unsigned
from ...reference.ops import RUNS
from ...reference.ops.atomics import compare_and_swap, read_modify_write
from ...reference.ops.memory import loaded, stored
from .dots import DOTS, dot, tile_dot
from .nodes import (
    Apply,
    Atomic,
    Buffer,
    Call,
    Check,
    Const,
    Declare,
    Dot,
    Float,
    Guard,
    If,
    Int,
    Jump,
    Kernel,
    Kind,
    Load,
    Locate,
    Loop,
    Operand,
    Prefetch,
    Product,
    Read,
    Scope,
    Shuffle,
    Stmt,
    Store,
    TileDot,
    TileLoad,
    TileStore,
    Value,
    While,
    Write,
    defined,
    walk,
)

JUNK = 0xA5
"""The byte that undefined elements of buffers are made of."""


class Faulted(Exception):
    """A check failed: the number of the operation and of the tile block."""

    def __init__(self, op: int, block: int) -> None:
        super().__init__(f"operation {op} in tile block {block}")
        self.op, self.block = op, block


class _Left(Exception):
    """A jump on its way to its loop; None ends the tile block."""

    def __init__(self, kind: str, loop: Loop | While | None) -> None:
        self.kind, self.loop = kind, loop


@dataclass(slots=True)
class Interpreter:
    """Runs one launch of a kernel."""

    kernel: Kernel
    memory: Memory
    output: Callable[[str], None] = print
    poll: Callable[[], None] = lambda: None
    axes: tuple[int, ...] = ()
    """The sizes of the loops that run together, outermost first."""
    mask: Array | None = None
    """The iterations that are active, if not all are."""
    values: dict[Value, tuple[Array, int]] = field(default_factory=dict)
    """Arrays, and how many axes there were."""
    buffers: dict[Buffer, tuple[Array, int]] = field(default_factory=dict)
    own: dict[Buffer, int] = field(default_factory=dict)
    """Addresses of buffers of scope `MEMORY`."""
    block: int = 0

    def run(self, grid: tuple[int, int, int], params: list[Array], globals_: dict[str, int]) -> None:
        """Run all tile blocks in order. `params` are arrays of one element, as the reference engine has them."""
        for v, a in zip(self.kernel.params, params):
            self.values[v] = (a.reshape(1), 0)
        for v, n in zip(self.kernel.grid, grid):
            self.values[v] = (np.array([n], np.int32), 0)
        self.values[self.kernel.streams] = (np.ones(1, np.bool_), 0)
        for name, v in self.kernel.globals:
            self.values[v] = (np.array([globals_[name]], np.int64), 0)
        with np.errstate(all="ignore"):
            self.run_block(self.kernel.body)

    # ------------------------------------------------------------ values

    def get(self, x: Operand) -> Array:
        """Return the array of an operand with as many axes as there are now."""
        if isinstance(x, Const):
            return _constant(x.element, x.bits).reshape((1,) * (len(self.axes) + 1))
        a, depth = self.values[x]
        more = len(self.axes) - depth
        return a.reshape(*a.shape[:-1], *(1,) * more, a.shape[-1]) if more else a

    def set(self, v: Value, a: Array) -> None:
        self.values[v] = (a, len(self.axes))

    def one(self, x: Operand) -> int:
        """Return an integer that must be the same in all iterations."""
        a = self.get(x)
        assert a.size == 1, "a value that differs between iterations"
        return int(a.reshape(-1)[0])

    def active(self, mask: Operand | None, *arrays: Array) -> tuple[Array | None, tuple[Array, ...]]:
        """Broadcast arrays to all active iterations, as flat arrays; the first result has the shape of all of them."""
        masks = [m for m in (self.mask, None if mask is None else self.get(mask)) if m is not None]
        shape = np.broadcast_shapes((*self.axes, 1), *(a.shape for a in (*arrays, *masks)))
        every = np.ones(shape, bool)
        for m in masks:
            every &= m
        if every.all():
            return None, tuple(np.broadcast_to(a, shape).reshape(-1) for a in arrays)
        return every, tuple(np.broadcast_to(a, shape)[every] for a in arrays)

    # ------------------------------------------------------------ statements

    def run_block(self, body: list[Stmt]) -> None:
        for s in body:
            self.statement(s)

    def statement(self, s: Stmt) -> None:
        match s:
            case Int():
                self.set(s.result, integer(s, [self.get(x) for x in s.operands]))
            case Apply():
                self.set(s.result, applied(s, [self.get(x) for x in s.operands]))
            case Float():
                self.set(s.result, floating(s, [self.get(x) for x in s.operands]))
            case Shuffle():
                whole = np.concatenate(np.broadcast_arrays(*(self.get(x) for x in s.operands)), axis=-1)
                self.set(s.result, whole[..., list(s.order)])
            case Dot():
                self.set(s.result, self.dot(s))
            case Declare():
                self.declare(s.buffer)
            case Load():
                self.load(s)
            case Store():
                self.store(s)
            case Loop():
                self.loop(s)
            case While():
                self.repeat(s)
            case If():
                self.branch(s)
            case Jump():
                raise _Left(s.kind, s.loop)
            case Check():
                _, (holds,) = self.active(None, self.get(s.condition))
                if not holds.all():
                    raise Faulted(s.fault, self.block)
            case TileLoad():
                self.buffers[s.tile][0][...] = self.part(s)
            case TileStore():
                self.part(s)[...] = self.buffers[s.tile][0]
            case TileDot():
                sums, left, right = (self.buffers[b][0] for b in (s.sums, s.left, s.right))
                sums[...] = tile_dot(s.name, left, right, sums)
            case Product():
                self.product(s)
            case Call():
                self.call(s)
            case _:
                self.access(s)

    def access(self, s: Stmt) -> None:
        match s:
            case Read():
                self.read(s)
            case Write():
                self.write(s)
            case Atomic():
                self.atomic(s)
            case Guard():
                self.guard(s)
            case Locate():
                self.set(s.result, np.full((1,) * (len(self.axes) + 1), self.own[s.buffer], np.int64))
            case Prefetch():
                pass
            case _:
                raise AssertionError(s)

    # ------------------------------------------------------------ buffers

    def declare(self, b: Buffer) -> None:
        dtype = carrier(b.element)
        if b.scope is Scope.MEMORY:
            assert not self.axes
            self.own[b] = self.memory.allocate(max(1, _size(b) * dtype.itemsize), b.alignment, "alloca")
        elif b.data is not None:
            self.buffers[b] = (np.asarray(b.data), 0)
        else:
            junk = 1 if b.element is I1 else JUNK
            shape = (*self.axes, *b.shape)
            made = np.full(int(np.prod(shape)) * dtype.itemsize, junk, np.uint8).view(dtype)
            self.buffers[b] = (made.reshape(shape), len(self.axes))

    def place(self, b: Buffer, index: tuple[Operand, ...], mask: Array | None) -> tuple[Array, tuple[Any, ...]]:
        """Return the array of a buffer and the key of elements; where the mask is false, those are any."""
        array, depth = self.buffers[b]
        ranges = [
            np.arange(n).reshape(*(1,) * d, n, *(1,) * (len(self.axes) - d)) for d, n in enumerate(self.axes[:depth])
        ]
        key = []
        for x, size in zip(index, b.shape):
            at = self.get(x)
            bad = (at < 0) | (at >= size)
            if bad.any():
                assert mask is not None and not (bad & mask).any(), f"index outside of {b.name or 'a buffer'}"
                at = np.where(bad, 0, at)
            key.append(at)
        return array, (*ranges, *key)

    def load(self, s: Load) -> None:
        mask = self.chosen(s.mask)
        array, key = self.place(s.buffer, s.index, mask)
        found = np.asarray(array[key])
        found = found.reshape(*found.shape, *(1,) * (len(self.axes) + 1 - found.ndim))
        if s.mask is not None:
            other = np.zeros(1, found.dtype) if s.other is None else self.get(s.other)
            found = np.where(self.get(s.mask), found, other)
        self.set(s.result, found)

    def store(self, s: Store) -> None:
        mask = self.chosen(s.mask)
        array, key = self.place(s.buffer, s.index, mask)
        value = self.get(s.value)
        if not key:  # a variable that all iterations share
            if mask is None or mask.any():
                array[...] = value.reshape(-1)[-1]
        elif mask is None:
            array[key] = value
        else:
            shape = np.broadcast_shapes(*(k.shape for k in key), value.shape, mask.shape)
            chosen = np.broadcast_to(mask, shape)
            array[tuple(np.broadcast_to(k, shape)[chosen] for k in key)] = np.broadcast_to(value, shape)[chosen]

    def dot(self, s: Dot) -> Array:
        arrays, w, each = [self.get(x) for x in s.operands], s.result.lanes, DOTS[s.name].each
        axes = np.broadcast_shapes(*(a.shape[:-1] for a in arrays))
        shapes = [(*axes, lanes) for lanes in (each * w, each * w, w)]
        return dot(s.name, *(np.ascontiguousarray(np.broadcast_to(a, n)) for a, n in zip(arrays, shapes)))

    def part(self, s: TileLoad | TileStore) -> Array:
        """Return the elements of a buffer that a tile register holds."""
        array, depth = self.buffers[s.buffer]
        assert not depth and not self.axes and self.mask is None
        *outer, i, j = map(self.one, s.index)
        rows, columns = s.tile.shape
        for number in outer:
            array = array[number]
        found = array[i : i + rows, j : j + columns]
        assert found.shape == s.tile.shape, f"a tile register outside of {s.buffer.name or 'a buffer'}"
        return found

    def chosen(self, mask: Operand | None) -> Array | None:
        own = None if mask is None else self.get(mask)
        if own is None or self.mask is None:
            return self.mask if own is None else own
        return own & self.mask

    # ------------------------------------------------------------ memory

    def read(self, s: Read) -> None:
        every, (addresses,) = self.active(s.mask, self.get(s.address))
        element = s.result.element
        found = loaded(self.memory.load(addresses, stored(element)), element)
        if every is None:
            shapes = [self.get(x).shape for x in (s.address, *([] if s.mask is None else [s.mask]))]
            self.set(s.result, found.reshape(np.broadcast_shapes((*self.axes, 1), *shapes)))
            return
        out = np.zeros(every.shape, carrier(element))
        if s.other is not None:
            out[...] = self.get(s.other)
        out[every] = found
        self.set(s.result, out)

    def write(self, s: Write) -> None:
        _, (addresses, values) = self.active(s.mask, self.get(s.address), self.get(s.value))
        if s.streams and addresses.size:
            aligned = min(LINE, s.address.lanes * values.dtype.itemsize)
            if (addresses.reshape(-1, s.address.lanes)[:, 0] % aligned).any():
                raise AssertionError("what bypasses the caches is not aligned")
        if addresses.size:
            self.memory.store(addresses, values.astype(np.uint8) if values.dtype == bool else values)

    def atomic(self, s: Atomic) -> None:
        every, (addresses, *args) = self.active(s.mask, self.get(s.address), *map(self.get, s.operands))
        op: Any = s.op
        element = s.operands[0].element
        if isinstance(op, AtomicCASTko):
            found = compare_and_swap(self.memory, element, addresses, args[0], args[1])
        else:
            found = read_modify_write(self.memory, op.mode, element, addresses, args[0])
        if s.result is None:
            return
        found = found.view(carrier(element))
        if every is None:
            shape = np.broadcast_shapes((*self.axes, 1), *(self.get(x).shape for x in (s.address, *s.operands)))
            self.set(s.result, found.reshape(shape))
            return
        out = np.zeros(every.shape, found.dtype)
        out[every] = found
        self.set(s.result, out)

    def guard(self, s: Guard) -> None:
        """Touch every element of the boxes."""
        dims = [self.get(x) for dim in s.dims for x in dim]
        _, (starts, *numbers) = self.active(s.mask, self.get(s.address), *dims)
        boxes = sorted(set(zip(*(a.tolist() for a in numbers)))) if numbers else [()]
        for box in boxes:
            chosen = np.ones(len(starts), bool)
            for n, a in zip(box, numbers):
                chosen &= a == n
            addresses = starts[chosen]
            for count, stride in zip(box[::2], box[1::2]):
                steps = np.arange(max(count, 0), dtype=np.int64) * np.int64(stride)
                addresses = addresses[..., np.newaxis] + steps
            self.touch(s, addresses.reshape(-1))

    def touch(self, s: Guard, addresses: Array) -> None:
        dtype = np.dtype(f"u{s.item}")
        if not addresses.size:
            return
        try:
            if s.strict and s.home is not None:
                self.stay(s, addresses)
            self.memory.load(addresses, dtype)
            if s.writes:
                self.memory.check_writable(addresses, s.item)
        except Fault:
            raise Faulted(s.fault, self.block) from None

    def stay(self, s: Guard, addresses: Array) -> None:
        """Fault unless elements are in the segment that their pointer comes from."""
        assert s.home is not None
        if s.home.kind == "own":
            segments = [self.memory.at(address) for address in self.own.values()]
        else:
            values = self.kernel.params if s.home.kind == "param" else [v for _, v in self.kernel.globals]
            segments = [self.memory.at(int(self.values[values[s.home.number]][0][0]))]
        inside = np.zeros(addresses.shape, bool)
        for segment in segments:
            if segment is not None:
                inside |= (addresses >= segment.address) & (addresses <= segment.end - s.item)
        if not inside.all():
            raise Faulted(s.fault, self.block)

    # ------------------------------------------------------------ control

    def loop(self, s: Loop) -> None:
        numbers = np.arange(self.one(s.low), self.one(s.high), s.step, dtype=np.int64)
        if s.kind is Kind.GRID:
            self.grid(s, numbers)
        elif len(numbers) > 1 and runs_together(s):
            axes, mask, self.axes = self.axes, self.mask, (*self.axes, len(numbers))
            if mask is not None:
                self.mask = mask[..., np.newaxis, :]
            self.set(s.index, numbers.reshape(*(1,) * len(axes), -1, 1))
            self.run_block(s.body)
            self.axes, self.mask = axes, mask
        else:
            for number in numbers:
                if s.polls:
                    self.poll()
                self.set(s.index, np.full((1,) * (len(self.axes) + 1), number))
                if not self.iterate(s):
                    break

    def grid(self, s: Loop, numbers: Array) -> None:
        for number in numbers.tolist():
            self.block = number
            self.set(s.index, np.array([number], np.int64))
            try:
                self.run_block(s.body)
            except _Left as left:
                assert left.loop is None
            self.memory.free(set(self.own.values()))
            self.own.clear()

    def repeat(self, s: While) -> None:
        while True:
            self.poll()
            if not self.iterate(s):
                break

    def iterate(self, s: Loop | While) -> bool:
        """Run the body once; return whether to go on."""
        try:
            self.run_block(s.body)
        except _Left as left:
            if left.loop is not s:
                raise
            return left.kind == "continue"
        return True

    def branch(self, s: If) -> None:
        condition = self.get(s.condition)
        if condition.size == 1:
            self.run_block(s.then if condition.all() else s.orelse)
            return
        before = self.mask
        for body, wanted in ((s.then, condition), (s.orelse, ~condition)):
            mask = wanted if before is None else wanted & before
            if body and mask.any():
                self.mask = mask
                self.run_block(body)
        self.mask = before

    # ------------------------------------------------------------ whole operations

    def product(self, s: Product) -> None:
        op: Any = s.op
        arrays = [self.buffers[b][0][np.newaxis] for b in (s.lhs, s.rhs, s.acc, *s.scales)]
        self.buffers[s.result][0][...] = RUNS[type(op)].function(op, *arrays)[0]

    def call(self, s: Call) -> None:
        op: Any = s.op
        arrays = [self.buffers[b][0][np.newaxis] for b in s.arguments]
        if isinstance(op, PrintTko):
            try:
                RUNS[PrintTko].function(op, _Page(self), tuple(arrays))
            except Fault:
                raise Faulted(s.fault, self.block) from None
            return
        (result,) = s.results
        self.buffers[result][0][...] = RUNS[type(op)].function(op, *arrays)[0]


class _Page:
    """The printing state of a batch of tile blocks."""

    lanes = 1

    def __init__(self, interpreter: Interpreter) -> None:
        self.memory, self.output, self.machine = interpreter.memory, interpreter.output, self

    def room_for_text(self) -> int:
        return 1 << 30

    def require_room(self, size: int) -> None:
        pass

    def write(self, lane: int, text: bytes) -> None:
        self.output(text.decode("utf-8", "surrogateescape"))


# ---------------------------------------------------------------- without a launch


def runs_together(loop: Loop) -> bool:
    """Tell whether all iterations of a loop can run at once, statement by statement."""
    writes = reads = 0
    inner = {loop.index}
    for s in walk(loop.body):
        if isinstance(s, (While, Jump, Product, Call, TileLoad, TileStore, TileDot)):
            return False
        if isinstance(s, Loop):
            if s.low in inner or s.high in inner:
                return False
            inner.add(s.index)
        writes += isinstance(s, (Write, Atomic))
        reads += isinstance(s, Read)
        if (made := defined(s)) is not None:
            inner.add(made)
    if loop.kind in (Kind.PARALLEL, Kind.VECTOR):
        return True
    stores = any(isinstance(s, (Store, Declare)) for s in walk(loop.body))
    return loop.kind is Kind.SERIAL and writes == 1 and not reads and not stores


def _size(b: Buffer) -> int:
    return int(np.prod(b.shape, dtype=np.int64))


def _constant(element: Scalar, bits: int) -> Array:
    dtype = carrier(element)
    if element is I1:
        return np.array([bool(bits)])
    return np.array([bits], np.uint64).astype(f"u{dtype.itemsize}").view(dtype)


def applied(s: Apply, operands: list[Array]) -> Array:
    """Return what the reference engine computes for an element-wise operation."""
    shape = np.broadcast_shapes(*(a.shape for a in operands))
    flat = [np.ascontiguousarray(np.broadcast_to(a, shape)).reshape(-1) for a in operands]
    made: Array = RUNS[type(s.op)].function(s.op, *flat)
    return made.reshape(shape)


LINE = 64
"""Bytes of a cache line."""
CANONICAL = 0x7FFFFFFF
"""The NaN of f32."""
STEPS: dict[str, Callable[..., Array]] = {
    "fma": fma,
    "add": add,
    "mul": mul,
    "larger": lambda a, b: chosen(b > a, b, a),
    "smaller": lambda a, b: chosen(b < a, b, a),
}
"""Floating-point operations on operands of one type."""


def chosen(condition: Array, x: Array, y: Array) -> Array:
    return np.where(condition, x, y)


def floating(s: Float, operands: list[Array]) -> Array:
    """Return the result of a step of a product."""
    x, source, target = operands[0], s.operands[0].element, s.result.element
    if s.name in STEPS:
        return STEPS[s.name](*np.broadcast_arrays(*operands))
    if source is TF32 and s.name == "widen":
        x = (x.view(np.uint32) & np.uint32(0xFFFFE000)).view(x.dtype)
    flat = np.ascontiguousarray(x).reshape(-1)
    made = float_to_float(flat, source, target)
    if target is F32:  # of which there is one NaN
        made = np.where(np.isnan(made), np.uint32(CANONICAL).view(np.float32), made)
    return made.reshape(x.shape)


def integer(s: Int, operands: list[Array]) -> Array:
    """Return the result of an integer operation."""
    a, b = operands[0], operands[-1]
    target = s.result.element
    found: Array
    match s.name:
        case "select":
            return np.where(*operands)
        case "ramp":
            found = a + np.arange(s.result.lanes, dtype=a.dtype)
            return found
        case "bits":
            return np.ascontiguousarray(a).view(carrier(target))
        case "sext" | "zext" | "trunc":
            return resized(a, s.operands[0].element, target, s.name == "sext")
    found = ARITHMETIC[s.name](a, b)
    if target.name == "i4":
        found &= np.uint8(15)
    return found


def resized(a: Array, source: Scalar, target: Scalar, signed: bool) -> Array:
    """Return integers in another type."""
    if source.name == "i1":
        a = -a.astype(np.int8) if signed else a.astype(np.int8)
    elif source.name == "i4":
        a = (a ^ np.uint8(8)).view(np.int8) - np.int8(8) if signed else a
    elif not signed:
        a = unsigned(a)
    made: Array
    if target.name == "i1":
        made = a & a.dtype.type(1)
        return made.astype(bool)
    made = a.astype(carrier(target))
    return made & np.uint8(15) if target.name == "i4" else made


def _unsigned(function: Callable[..., Any]) -> Callable[[Array, Array], Array]:
    def apply(a: Array, b: Array) -> Array:
        found: Array = function(unsigned(a), unsigned(b))
        return found if found.dtype == bool else found.view(a.dtype)

    return apply


def _truncated(a: Array, b: Array) -> Array:
    quotient: Array = np.floor_divide(unsigned(np.absolute(a)), unsigned(np.absolute(b))).view(a.dtype)
    return np.where((a < 0) != (b < 0), -quotient, quotient)


ARITHMETIC: dict[str, Callable[[Array, Array], Array]] = {
    "add": lambda a, b: a ^ b if a.dtype == bool else a + b,
    "sub": lambda a, b: a ^ b if a.dtype == bool else a - b,
    "mul": np.multiply,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "sdiv": _truncated,
    "srem": np.fmod,
    "udiv": _unsigned(np.floor_divide),
    "urem": _unsigned(np.remainder),
    "shl": np.left_shift,
    "lshr": _unsigned(np.right_shift),
    "ashr": np.right_shift,
    "smin": np.minimum,
    "smax": np.maximum,
    "umin": _unsigned(np.minimum),
    "umax": _unsigned(np.maximum),
    "eq": np.equal,
    "ne": np.not_equal,
    "slt": np.less,
    "sle": np.less_equal,
    "ult": _unsigned(np.less),
    "ule": _unsigned(np.less_equal),
}
"""Integer operations on two operands, as functions of arrays."""
