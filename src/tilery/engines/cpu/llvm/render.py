"""Render a kernel of the loop IR as LLVM IR that keeps the contract of `abi`.

Loops that passes have to remove (unrolled, vector) and whole products must be gone. A buffer of scope `REGISTER` is a
variable on the stack, which LLVM turns into registers where its indices are constants.
"""

from __future__ import annotations

import struct
from math import prod
from typing import Any

import numpy as np

from ....attrs import AtomicRMWMode as Mode
from ....ops import AtomicCASTko, Bitcast, FToF, Select
from ....types import BF16, F16, F32, F64, I4, I64, TF32, Scalar
from ..abi import (
    ALLOWED_SYMBOLS,
    CALLBACK,
    CONTEXT,
    FAULT_CELL,
    PRIVATE,
    STOP,
    Lowered,
    NotLowered,
    Specialisation,
    Target,
)
from ..arithmetic import circle, floating, integer, mathlib, powers  # noqa: F401  (they fill the table)
from ..arithmetic.floats import bits_of, canonical, doubled, fixed64, float_of, from_f32, narrowed, widened
from ..atomics import combined
from ..loops.dots import DOTS, SIDE
from ..loops.nodes import (
    COMPARISONS,
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
    Home,
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
    walk,
)
from ..registry import ELEMENTWISE, HEAVY
from ..text import BYTES, FOOTER, Number, Text, vector
from ..tiles import element, register, stored
from .buffers import Places, assign, size_of
from .entry import BLOCK, run_function
from .guards import Dim, Segment, any_of, fault_if, guard_box, guard_lanes
from .matrix import TILES, configure, dot, tile, tile_dot
from .nans import FINAL, LOOSE, Nans

MAX_LINES = 300000
"""More than this takes LLVM too long."""
LOOKS = ((2_000, 100_000), (100, 30_000_000))
"""Statements that are executed in a turn of a loop, and in the loop, from which on it looks whether to stop in each
turn: it is not felt then, and no loop that does not look takes long."""
LOOKS_BEFORE = 10_000
"""Statements of a loop that looks once, before its first turn."""
HEAVY_WORK, GUARD_WORK = 40, 10
"""Statements that take as long as a function, and as a check of an address."""
GUESS = 16
"""Iterations of a loop whose bounds are not known."""
MAX_WORK = 3_000_000
"""Statements that are executed in some milliseconds."""
LINE = 64
"""Bytes of a cache line."""
SIGNED = {"sdiv", "srem", "smin", "smax", "slt", "sle", "ashr"}


def render(kernel: Kernel, target: Target, wanted: Specialisation) -> Lowered:
    """Return a kernel as LLVM IR. Raises NotLowered if it cannot be compiled."""
    if target.x86 and not {"avx2", "fma", "f16c"} <= target.features:
        raise NotLowered("the processor has no AVX2")
    g = Rendering(kernel, target, wanted)
    text = g.function()
    lowered = Lowered(text, list(kernel.ops), g.places.arena + 64, [name for name, _ in kernel.globals])
    lowered.symbols = ALLOWED_SYMBOLS
    calls = [s for s in walk(kernel.body) if isinstance(s, Call)]
    lowered.callbacks = [s.op for s in calls]
    lowered.long = g.is_long
    return lowered


class Rendering(Text):
    """The function of a tile block that is being written."""

    def __init__(self, kernel: Kernel, target: Target, wanted: Specialisation) -> None:
        super().__init__(target, wanted)
        self.kernel = kernel
        self.nans = Nans(kernel)
        self.places: Places = assign(kernel)
        self.names: dict[Value, str] = {}
        self.steps: dict[Value, tuple[Number, int]] = {}
        """Lanes of i64 that are a number apart: the first one and the distance."""
        self.rank: Operand | None = None
        self.limits: dict[Operand, int] = {}
        """Numbers that some are not above."""
        self.extents: dict[Operand, int] = {}
        """The extents of the grid as i64, by their position."""
        self.rows: set[Operand] = set()
        """The number of the row of tile blocks."""
        self.pointers: dict[Buffer, str] = {}
        self.tables: dict[bytes, str] = {}
        """The names of constants, by their bytes."""
        self.targets: list[tuple[Loop | While, str, str]] = []
        """Loops that are open, and where `continue` and `break` go."""
        self.tiles: dict[Buffer, int] = {}
        """The tile registers in use."""
        self.ended = False
        """Whether the code at this place cannot be reached."""
        self.is_long = False
        self.alone = "false"
        """Whether no other thread uses the memory that the kernel adds integers to."""
        self.has_tiles = any(isinstance(s, Declare) and s.buffer.scope is Scope.TILE for s in walk(kernel.body))

    # ------------------------------------------------------------ the function

    def function(self) -> str:
        kernel = self.kernel
        if kernel.gathers:
            self.alone = self.test("ne", self.load("i64", self.at("i64", "%control", PRIVATE)), 0)
        count, names = len(kernel.params), len(kernel.globals)
        for n, v in enumerate(kernel.params):
            t = register(v.element)
            x = self.load(stored(t), self.at("i64", "%slots", n))
            self.names[v] = self.truth(x, t, 1)
        self.names.update(zip(kernel.grid, ("%gx", "%gy", "%gz")))
        self.names[kernel.streams] = "%stream"
        for n, (_, v) in enumerate(kernel.globals):
            self.names[v] = self.load("i64", self.at("i64", "%slots", 4 * count + 3 * names + n))
        (grid,) = (s for s in kernel.body if isinstance(s, Loop))
        assert grid.kind is Kind.GRID and kernel.body[-1] is grid
        self.names[grid.index] = "%rank"
        self.rank = grid.index
        self.is_long = _work(grid.body) > MAX_WORK or any(
            isinstance(s, While) or (isinstance(s, Loop) and s.polls) for s in walk(grid.body)
        )
        self.block(kernel.body[:-1])
        self.block(grid.body)
        if not self.ended:
            self.put("ret i64 0")
        self._own_memory()
        code = [BLOCK, "entry:", *self.slots, *self.lines, "}", run_function(self, self.target, self.has_tiles)]
        functions = [f.replace("TABLE", str(4 * (count + names))) for f in self.functions.values()]
        return "\n".join([*functions, *code, *self.needs, FOOTER])

    def _own_memory(self) -> None:
        """Find the memory of buffers that have an address, which may be aligned more than the arena is."""
        own, align = self.places.own, self.places.own_alignment
        words = [len(own)]
        for b, at in own.items():
            words += [at, at + size_of(b), 1]
        if "@find" in self.functions:
            numbers = ", ".join(f"i64 {n}" for n in words)
            self.functions["@allocas"] = f"@allocas = internal constant [{len(words)} x i64] [{numbers}]"
        lines = ["  %own = add i64 0, 0"]
        if own:
            lines = [
                f"  %own.r = getelementptr i8, ptr %arena, i64 {self.places.own_start}",
                "  %own.n = ptrtoint ptr %own.r to i64",
                f"  %own.u = add i64 %own.n, {align - 64}",
                f"  %own = and i64 %own.u, {-align}",
                "  %own.p = inttoptr i64 %own to ptr",
            ]
        self.slots[:0] = lines

    def segment(self, home: Home | None) -> Segment | None:
        """Return the names of the bounds of a segment, which are loaded here: few values live long."""
        if home is None or home.kind == "own":
            return None
        count = len(self.kernel.params)
        at = count + 3 * home.number if home.kind == "param" else 4 * count + 3 * home.number
        return Segment(*(self.load("i64", self.at("i64", "%slots", at + k)) for k in range(3)))

    # ------------------------------------------------------------ operands

    def use(self, x: Operand, w: int = 1) -> str:
        """Return an operand in `w` lanes."""
        t = register(x.element)
        if isinstance(x, Const):
            return self.pattern(x.bits, t, w)
        name = self.names[x]
        if x.lanes == w:
            return name
        assert x.lanes == 1
        key = ("splat", name, t, w)
        return self.known(key) or self.remember(key, self.splat(name, t, w))

    def number(self, x: Operand) -> Number:
        """Return an i64 of one lane."""
        if isinstance(x, Const):
            return x.bits - (1 << 64) if x.bits >> 63 else x.bits
        return self.names[x]

    def pattern(self, bits: int, t: str, w: int) -> str:
        """Return the same bits in every lane."""
        if t not in ("float", "double"):
            return self.const(bits, t, w)
        i, kind = ("i32", "f") if t == "float" else ("i64", "d")
        number = struct.unpack(f"<{kind}", bits.to_bytes(BYTES[t], "little"))[0]
        # A NaN as an integer: as a float its payload might change.
        return self.const(number, t, w) if number == number else self.cast("bitcast", self.const(bits, i, w), i, t, w)

    def clean(self, x: Operand, w: int) -> str:
        """Return an operand with its final bits."""
        name = self.use(x, w)
        if self.nans.of(x) != LOOSE:
            return name
        return float_of(self, canonical(self, name, w), "float", w)

    def final(self, x: Operand, w: int) -> tuple[str, str]:
        """Return an operand as it is stored in memory, and its type: NaNs are made canonical among integers."""
        t = register(x.element)
        if t == "i1":
            return self.cast("zext", self.use(x, w), "i1", "i8", w), "i8"
        name = self.use(x, w)
        if self.nans.of(x) == LOOSE:
            nan = self.compare("uno", "float", w, name, name)
            return self.select(nan, "i32", w, self.const(0x7FFFFFFF, "i32", w), bits_of(self, name, "float", w)), "i32"
        return name, t

    def truth(self, x: str, t: str, w: int) -> str:
        """Return a byte that is an i1: any but 0 is true."""
        return self.compare("ne", "i8", w, x, self.const(0, "i8", w)) if t == "i1" else x

    # ------------------------------------------------------------ statements

    def block(self, body: list[Stmt]) -> None:
        tiles = dict(self.tiles)
        for s in body:
            if self.ended:
                break
            if len(self.lines) > MAX_LINES:
                raise NotLowered("the kernel is very large")
            self.statement(s)
        self.tiles = tiles

    def scope(self, body: list[Stmt]) -> None:
        self.memo.append({})
        self.block(body)
        self.memo.pop()

    def statement(self, s: Stmt) -> None:
        match s:
            case Int():
                self.integer(s)
            case Apply():
                self.apply(s)
            case Float():
                self.floating(s)
            case Dot():
                w, (left, right, total), each = s.result.lanes, s.operands, DOTS[s.name].each
                xs = self.use(left, each * w), self.use(right, each * w), self.use(total, w)
                self.names[s.result] = dot(self, self.target, s.name, w, *xs)
            case Shuffle():
                self.names[s.result] = self.shuffled(s)
            case Declare():
                self.declare(s.buffer)
            case Load():
                self.load_buffer(s)
            case Store():
                self.store_buffer(s)
            case Loop():
                self.loop(s)
            case While():
                self.repeat(s)
            case If():
                self.conditional(s)
            case Jump():
                self.leave(s)
            case Check():
                w = s.condition.lanes
                bad = self.op("xor", "i1", w, self.use(s.condition, w), self.const(1, "i1", w))
                fault_if(self, s.fault, any_of(self, bad, w))
            case Guard():
                self.guard(s)
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
            case Locate():
                self.names[s.result] = self.let(f"add i64 %own, {self.places.own[s.buffer]}")
            case Prefetch():
                self.prefetch(self.let(f"inttoptr i64 {self.use(s.address)} to ptr"))
            case TileLoad():
                self.move("tileloadd64", s)
            case TileStore():
                self.move("tilestored64", s)
                if s.buffer.element is F32 and self.nans.of_buffer(s.buffer) == FINAL:
                    self.clean_tile(s)
            case TileDot():
                tile_dot(self, s.name, *(self.tiles[b] for b in (s.sums, s.left, s.right)))
            case Call():
                self.call_back(s)
            case _:
                raise NotLowered(f"a {type(s).__name__.lower()} that no pass has lowered")

    # ------------------------------------------------------------ computing

    def integer(self, s: Int) -> None:
        w, target = s.result.lanes, s.result.element
        source = s.operands[-1].element
        t, to = register(source), register(target)
        if w > 1 and target is I64 and (found := self.stepped(s)) is not None:
            self.steps[s.result] = found
        if w == 1 and (position := self.position(s)) is not None:
            self.names[s.result] = self.cast("zext", position, "i32", "i64", 1)
            return
        if s.name == "smin":
            least = [n for x in s.operands if (n := self.limit(x)) is not None]
            self.limits.update({s.result: min(least)} if least else {})
        if s.name == "ramp":
            first = self.use(s.operands[0])
            self.names[s.result] = self.op("add", t, w, self.splat(first, t, w), self.numbers(t, w))
            return
        if s.name == "slt" and (below := self.first_lanes(s)) is not None:
            self.names[s.result] = below
            return
        xs = [self.use(x, w) for x in s.operands]
        if source is I4 and s.name in SIGNED | {"lshr", "shl"}:
            raise NotLowered("integers of 4 bits")
        match s.name:
            case "select":
                if self.nans.of(s.result) == FINAL:
                    xs[1:] = [self.clean(x, w) for x in s.operands[1:]]
                made = self.select(xs[0], t, w, *xs[1:])
            case "sext" | "zext":
                made = integer.integers(self, xs[0], source, s.name == "sext", to, w)
            case "trunc":
                made = self.cast("trunc", xs[0], t, to, w)
            case "bits":
                made = self.cast("bitcast", self.clean(s.operands[0], w), t, to, w)
            case "smin" | "smax" | "umin" | "umax":
                made = self.intrinsic(s.name, t, w, *xs)
            case name if name in COMPARISONS:
                made = self.compare(name, t, w, *xs)
            case name:
                made = self.op(name, t, w, *xs)
        self.names[s.result] = self.op("and", "i8", w, made, self.const(15, "i8", w)) if target is I4 else made

    def limit(self, x: Operand) -> int | None:
        """Return a number that one is not above, if that is known."""
        if not isinstance(x, Const):
            return self.limits.get(x)
        return x.bits if x.bits < 1 << 62 else None

    def position(self, s: Int) -> str | None:
        """Return the name of a coordinate of the tile block, if this is how it is computed from its number."""
        if s.name == "zext" and s.operands[0] in self.kernel.grid:
            self.extents[s.result] = self.kernel.grid.index(s.operands[0])
        if s.name not in ("udiv", "urem"):
            return None
        x, y = s.operands
        extent = self.extents.get(y)
        if extent == 0 and x is self.rank:
            if s.name == "urem":
                return "%bx"
            self.rows.add(s.result)
        elif extent == 1 and x in self.rows:
            return "%by" if s.name == "urem" else "%bz"
        return None

    def stepped(self, s: Int) -> tuple[Number, int] | None:
        """Return the first lane and the distance between lanes, if lanes of i64 are a known number apart."""
        if s.name == "ramp":
            return self.number(s.operands[0]), 1
        if s.name not in ("add", "sub", "mul", "shl"):
            return None
        parts = []
        for x in s.operands:
            if x.lanes == 1:
                parts.append((self.number(x), 0))
            elif isinstance(x, Value) and x in self.steps:
                parts.append(self.steps[x])
            else:
                return None
        (a, i), (b, j) = parts
        match s.name:
            case "add":
                return self.add(a, b), i + j
            case "sub":
                return self.sub(a, b), i - j
            case "mul" if isinstance(b, int) and j == 0:
                return self.mul(a, b), i * b
            case "mul" if isinstance(a, int) and i == 0:
                return self.mul(a, b), a * j
            case "shl" if isinstance(b, int) and j == 0 and 0 <= b < 32:
                return self.mul(a, 1 << b), i << b
        return None

    def first_lanes(self, s: Int) -> str | None:
        """Return whether consecutive numbers are below another one: some of the first lanes are, counted in a byte."""
        (i, last), w = s.operands, s.result.lanes
        if last.lanes != 1 or not isinstance(i, Value) or not 1 < w <= 64:
            return None
        first, step = self.steps.get(i, (0, 0))
        if step != 1:
            return None
        here, bound = (str(n) for n in (first, self.number(last)))
        count = self.let(f"sub i64 {self.intrinsic('smax', 'i64', 1, bound, here)}, {here}")
        count = self.cast("trunc", self.intrinsic("umin", "i64", 1, count, str(w)), "i64", "i8", 1)
        return self.compare("ult", "i8", w, self.numbers("i8", w), self.splat(count, "i8", w))

    def apply(self, s: Apply) -> None:
        o: Any = s.op
        function = ELEMENTWISE.get(type(o))
        if function is None:
            raise NotLowered(o.name)
        w = s.result.lanes
        keeps = isinstance(o, Bitcast) or (isinstance(o, FToF) and element(o.to) in (F64, TF32))
        if keeps or (isinstance(o, Select) and self.nans.of(s.result) == FINAL):
            xs = [self.clean(x, w) for x in s.operands]
        else:
            xs = [self.use(x, w) for x in s.operands]
        self.names[s.result] = function(self, o, w, *xs)

    def floating(self, s: Float) -> None:
        w, e = s.result.lanes, s.result.element
        xs = [self.use(x, w) for x in s.operands]
        t = register(e)
        match s.name:
            case "fma":
                made = self.intrinsic("fma", t, w, *xs)
            case "add" | "mul":
                made = self.op("f" + s.name, t, w, *xs)
            case "larger" | "smaller":
                sooner = self.compare("ogt" if s.name == "larger" else "olt", t, w, xs[1], xs[0])
                made = self.select(sooner, t, w, xs[1], xs[0])
            case "widen":
                source = s.operands[0].element
                if source is TF32:
                    xs = [self.op("and", "i32", w, xs[0], self.const(0xFFFFE000, "i32", w))]
                made = doubled(self, xs[0], source, w) if e is F64 else widened(self, xs[0], source, w)
            case _:
                made = self.narrow(xs[0], s.operands[0].element, e, w)
        if e is F64 and s.name in ("fma", "add", "mul") and self.nans.is_seen(s.result):
            made = fixed64(self, made, w, *xs)
        self.names[s.result] = made

    def narrow(self, x: str, source: Scalar, e: Scalar, w: int) -> str:
        if source is F32:
            return from_f32(self, x, e, w)
        made = narrowed(self, x, e, w)
        if e not in (F16, BF16):
            return made
        nan = self.compare("uno", "double", w, x, x)
        return self.select(nan, "i16", w, self.const(0x7FFF, "i16", w), made)

    def shuffled(self, s: Shuffle) -> str:
        t, w = register(s.result.element), max(x.lanes for x in s.operands)
        clean = self.nans.of(s.result) == FINAL
        xs = [self.clean(x, w) if clean else self.use(x, w) for x in s.operands]
        if w == 1:
            return (
                self.splat(xs[0], t, s.result.lanes)
                if len(set(s.order)) == 1
                else self.joined([xs[i] for i in s.order], t, 1)
            )
        if len(s.order) == 1:
            return self.part(xs[s.order[0] // w], t, w, s.order[0] % w, 1)
        return self.moved(xs, t, w, s.order)

    def moved(self, xs: list[str], t: str, w: int, order: tuple[int, ...]) -> str:
        """Shuffle vectors. Small integers that stay together move as wider ones: LLVM does not always see that."""
        if t in ("i8", "i16") and len(order) % 2 == w % 2 == 0 and min(w, len(order)) > 2:
            pairs = list(zip(order[::2], order[1::2]))
            if all(a % 2 == 0 and b == a + 1 for a, b in pairs):
                wide = {"i8": "i16", "i16": "i32"}[t]
                ys = [self.let(f"bitcast {vector(t, w)} {x} to {vector(wide, w // 2)}") for x in xs]
                made = self.moved(ys, wide, w // 2, tuple(a // 2 for a, _ in pairs))
                return self.let(f"bitcast {vector(wide, len(pairs))} {made} to {vector(t, len(order))}")
        return self.shuffle(xs[0], xs[1] if len(xs) > 1 else None, t, w, order)

    # ------------------------------------------------------------ buffers

    def declare(self, b: Buffer) -> None:
        if b.scope is Scope.TILE:
            free = sorted(set(range(TILES)) - set(self.tiles.values()))
            if not free or "amx-tile" not in self.target.features:
                raise NotLowered("a tile register")
            self.tiles[b] = free[0]
        if b.scope is Scope.MEMORY:
            self.needs["declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"] = None
            p = self.at("i8", "%own.p", self.places.own[b])
            self.put(f"call void @llvm.memset.p0.i64(ptr {p}, i8 0, i64 {size_of(b)}, i1 false)")

    def pointer(self, b: Buffer) -> str:
        """Return the address of a buffer, which is computed when the function starts."""
        if b not in self.pointers:
            t = stored(register(b.element))
            if b.data is not None:
                raw = np.ascontiguousarray(b.data).tobytes()
                name = self.tables.setdefault(raw, f"@constant{len(self.tables)}")
                text = "".join(f"\\{byte:02X}" for byte in raw)
                self.functions[name] = f'{name} = internal constant [{len(raw)} x i8] c"{text}", align 64'
            elif b in self.places.offsets:
                name = self.new("buf")
                self.slots.append(f"  {name} = getelementptr i8, ptr %arena, i64 {self.places.offsets[b]}")
            else:
                name = self.slot(f"[{prod(b.shape)} x {t}], align 64" if b.shape else t)
            self.pointers[b] = name
        return self.pointers[b]

    def place(self, b: Buffer, index: tuple[Operand, ...], w: int) -> tuple[str, int | str]:
        """Return the address of the first lane, and the elements between lanes; or all addresses, and ''."""
        t, strides = stored(register(b.element)), strides_of(b)
        first: Number = 0
        step = 0
        for x, stride in zip(index, strides):
            if x.lanes == 1:
                first = self.add(first, self.mul(self.number(x), stride))
            elif isinstance(x, Value) and x in self.steps:
                at, apart = self.steps[x]
                first, step = self.add(first, self.mul(at, stride)), step + apart * stride
            else:
                return self._scattered(b, index, w), ""
        return self.at(t, self.pointer(b), first), step

    def _scattered(self, b: Buffer, index: tuple[Operand, ...], w: int) -> str:
        total = self.const(0, "i64", w)
        for x, stride in zip(index, strides_of(b)):
            total = self.op(
                "add", "i64", w, total, self.op("mul", "i64", w, self.use(x, w), self.const(stride, "i64", w))
            )
        return self.let(f"getelementptr {stored(register(b.element))}, ptr {self.pointer(b)}, <{w} x i64> {total}")

    def load_buffer(self, s: Load) -> None:
        t, w = register(s.buffer.element), s.result.lanes
        kind = stored(t)
        inner = max((x.lanes for x in s.index), default=1)
        mask = None if s.mask is None else self.use(s.mask, w)
        rest = "zeroinitializer" if w > 1 else self.pattern(0, kind, 1)
        if s.other is not None:
            rest = self.clean(s.other, w) if self.nans.of(s.result) == FINAL else self.use(s.other, w)
            rest = self.cast("zext", rest, "i1", "i8", w) if t == "i1" else rest
        if w > 1 and inner == 1 and mask is None:
            p, _ = self.place(s.buffer, s.index, 1)
            x = self.splat(self.load(kind, p, BYTES[kind]), kind, w)
        else:
            p, step = self.place(s.buffer, s.index, w)
            x = self.fetched(kind, p, step, w, mask, rest)
        loose = self.nans.of_buffer(s.buffer) == LOOSE and self.nans.of(s.result) == FINAL
        if loose and s.buffer.element is F32:
            x = float_of(self, canonical(self, x, w), "float", w)
        self.names[s.result] = self.truth(x, t, w)

    def fetched(self, t: str, p: str, step: int | str, w: int, mask: str | None, rest: str) -> str:
        """Return elements from an address on, or from addresses."""
        if w == 1:
            if mask is None:
                return self.load(t, p, BYTES[t])
            slot = self.slot(t)
            self.store(t, rest, slot)
            return self.load(t, self.let(f"select i1 {mask}, ptr {p}, ptr {slot}"), BYTES[t])
        if step == 1:
            return self.masked_load(t, p, w, mask, rest)
        return self.gather(self.addresses(p, step, t, w), t, w, mask, rest)

    def addresses(self, p: str, step: int | str, t: str, w: int) -> str:
        if step == "":
            return p
        assert isinstance(step, int)
        return self.let(
            f"getelementptr {t}, ptr {p}, <{w} x i64> {self.constants([n * step for n in range(w)], 'i64')}"
        )

    def gather(self, places: str, t: str, w: int, mask: str | None, rest: str) -> str:
        f = f"@llvm.masked.gather.v{w}{_mangled(t)}.v{w}p0"
        self.needs[f"declare <{w} x {t}> {f}(<{w} x ptr>, i32, <{w} x i1>, <{w} x {t}>)"] = None
        m = mask or "splat (i1 true)"
        return self.let(
            f"call <{w} x {t}> {f}(<{w} x ptr> {places}, i32 {BYTES[t]}, <{w} x i1> {m}, <{w} x {t}> {rest})"
        )

    def scatter(self, places: str, x: str, t: str, w: int, mask: str | None) -> None:
        f = f"@llvm.masked.scatter.v{w}{_mangled(t)}.v{w}p0"
        self.needs[f"declare void {f}(<{w} x {t}>, <{w} x ptr>, i32, <{w} x i1>)"] = None
        m = mask or "splat (i1 true)"
        self.put(f"call void {f}(<{w} x {t}> {x}, <{w} x ptr> {places}, i32 {BYTES[t]}, <{w} x i1> {m})")

    def store_buffer(self, s: Store) -> None:
        t = register(s.buffer.element)
        kind = stored(t)
        w = max([s.value.lanes, *(x.lanes for x in s.index), 1 if s.mask is None else s.mask.lanes])
        loose = self.nans.of_buffer(s.buffer) == LOOSE
        x = self.use(s.value, w) if loose else self.clean(s.value, w)
        x = self.cast("zext", x, "i1", "i8", w) if t == "i1" else x
        p, step = self.place(s.buffer, s.index, w)
        self.put_elements(kind, x, p, step, w, None if s.mask is None else self.use(s.mask, w))

    def put_elements(self, t: str, x: str, p: str, step: int | str, w: int, mask: str | None) -> None:
        """Store elements from an address on, or to addresses."""
        if w == 1:
            self.when(mask or "true", lambda: self.store(t, x, p, BYTES[t]))
        elif step == 1:
            self.masked_store(t, x, p, w, mask)
        else:
            self.scatter(self.addresses(p, step, t, w), x, t, w, mask)

    # ------------------------------------------------------------ tile registers

    def move(self, name: str, s: TileLoad | TileStore) -> None:
        """Load or store a tile register."""
        p, _ = self.place(s.buffer, s.index, 1)
        bytes_ = strides_of(s.buffer)[-2] * BYTES[stored(register(s.buffer.element))]
        tile(self, name, f"i8 {self.tiles[s.tile]}", f"ptr {p}", f"i64 {bytes_}")

    def clean_tile(self, s: TileStore) -> None:
        """Make NaNs canonical that a tile register has stored."""
        p, _ = self.place(s.buffer, s.index, 1)
        for row in range(SIDE):
            line = self.at("float", p, row * strides_of(s.buffer)[-2])
            x = self.load(vector("float", SIDE), line, 4)
            self.store(vector("i32", SIDE), canonical(self, x, SIDE), line, 4)

    # ------------------------------------------------------------ memory

    def location(self, address: Operand, item: int) -> tuple[str, int | str]:
        """Return a pointer to the first lane and the elements between lanes; or all pointers, and ''."""
        if address.lanes == 1:
            return self.let(f"inttoptr i64 {self.use(address)} to ptr", "p"), 0
        if isinstance(address, Value) and address in self.steps:
            first, step = self.steps[address]
            if step % item == 0:
                return self.let(f"inttoptr i64 {first} to ptr", "p"), step // item
        w = address.lanes
        return self.let(f"inttoptr <{w} x i64> {self.use(address, w)} to <{w} x ptr>"), ""

    def read(self, s: Read) -> None:
        e, w = s.result.element, s.result.lanes
        if e.bits == 4:
            raise NotLowered("elements of 4 bits")
        t = register(e)
        kind = stored(t)
        mask = None if s.mask is None else self.use(s.mask, w)
        rest = "zeroinitializer" if w > 1 else self.pattern(0, kind, 1)
        if s.other is not None:
            rest, _ = self.clean(s.other, w), t
            rest = self.cast("zext", rest, "i1", "i8", w) if t == "i1" else rest
        p, step = self.location(s.address, BYTES[kind])
        if w > 1 and s.address.lanes == 1:
            x = (
                self.splat(self.fetched(kind, p, 0, 1, None, ""), kind, w)
                if mask is None
                else self.gather(self.addresses(p, 0, kind, w), kind, w, mask, rest)
            )
        elif step == "":
            x = self._perhaps_neighbours(s, kind, w, p, mask, rest)
        else:
            x = self.fetched(kind, p, step, w, mask, rest)
        self.names[s.result] = self.truth(x, t, w)

    def _neighbours(self, address: Operand, w: int, item: int, mask: str | None) -> tuple[str, str]:
        """Return whether lanes are not neighbours in memory, or not all are active; and a pointer to the first."""
        a = self.use(address, w)
        first = self.part(a, "i64", w, 0, 1)
        steps = self.op(
            "add", "i64", w, self.splat(first, "i64", w), self.constants([n * item for n in range(w)], "i64")
        )
        wrong = self.compare("ne", "i64", w, a, steps)
        if mask is not None:
            wrong = self.op("or", "i1", w, wrong, self.op("xor", "i1", w, mask, "splat (i1 true)"))
        return any_of(self, wrong, w), first

    def _perhaps_neighbours(self, s: Read, t: str, w: int, places: str, mask: str | None, rest: str) -> str:
        wrong, first = self._neighbours(s.address, w, BYTES[t], mask)
        slot, v = self.slot(vector(t, w)), vector(t, w)

        def scattered() -> None:
            self.store(v, self.gather(places, t, w, mask, rest), slot)

        def together() -> None:
            self.store(v, self.load(v, self.let(f"inttoptr i64 {first} to ptr"), BYTES[t]), slot)

        self.when(wrong, scattered, together)
        return self.load(v, slot)

    def write(self, s: Write) -> None:
        if s.value.element.bits == 4:
            raise NotLowered("elements of 4 bits")
        w = max(s.address.lanes, s.value.lanes, 1 if s.mask is None else s.mask.lanes)
        x, kind = self.final(s.value, w)
        mask = None if s.mask is None else self.use(s.mask, w)
        p, step = self.location(s.address, BYTES[kind])
        if s.streams:
            self.store(vector(kind, w), x, p, min(LINE, w * BYTES[kind]), ", !nontemporal !0")
            return
        if step != "":
            self.put_elements(kind, x, p, step, w, mask)
            return
        wrong, first = self._neighbours(s.address, w, BYTES[kind], mask)
        self.when(
            wrong,
            lambda: self.scatter(p, x, kind, w, mask),
            lambda: self.store(vector(kind, w), x, self.let(f"inttoptr i64 {first} to ptr"), BYTES[kind]),
        )

    def atomic(self, s: Atomic) -> None:
        o: Any = s.op
        e = s.operands[0].element
        t = register(e)
        raw = {"float": "i32", "double": "i64"}.get(t, t)
        if s.address.lanes != 1:
            raise NotLowered("atomics in lanes")
        xs = [self.cast("bitcast", self.clean(x, 1), t, raw, 1) for x in s.operands]
        p = self.let(f"inttoptr i64 {self.use(s.address)} to ptr", "p")
        if self.kernel.gathers:
            self.when("true" if s.mask is None else self.use(s.mask), lambda: self.add_to_memory(e, raw, p, xs[0]))
            if s.result is not None:
                self.names[s.result] = self.pattern(0, t, 1)
            return
        slot = self.slot(raw)
        self.store(raw, 0, slot)

        def act() -> None:
            if isinstance(o, AtomicCASTko):
                pair = self.let(f"cmpxchg ptr {p}, {raw} {xs[0]}, {raw} {xs[1]} seq_cst seq_cst, align {BYTES[raw]}")
                found = self.let(f"extractvalue {{ {raw}, i1 }} {pair}, 0")
            else:
                found = combined(self, o.mode, e, p, xs[0])
            self.store(raw, found, slot)

        self.when("true" if s.mask is None else self.use(s.mask), act)
        if s.result is not None:
            self.names[s.result] = self.cast("bitcast", self.load(raw, slot), raw, t, 1)

    def add_to_memory(self, e: Scalar, t: str, p: str, x: str) -> None:
        """Add an integer to memory, which no other thread may use."""

        def add() -> None:
            self.store(t, self.op("add", t, 1, self.let(f"load {t}, ptr {p}, align {BYTES[t]}"), x), p, BYTES[t])

        def add_atomically() -> None:
            combined(self, Mode.ADD, e, p, x)

        self.when(self.alone, add, add_atomically)

    def guard(self, s: Guard) -> None:
        lanes = [s.address, *(x for dim in s.dims for x in dim), *([] if s.mask is None else [s.mask])]
        w = max(x.lanes for x in lanes)
        home = self.segment(s.home)
        mask = None if s.mask is None else self.use(s.mask, w)
        alone = self.alone if s.writes else "false"
        if w == 1:
            dims = [Dim(self.number(a), self.number(b), self.limit(a)) for a, b in s.dims]
            guard_box(self, s, self.use(s.address), dims, mask, home, alone)
        elif s.dims:
            raise NotLowered("boxes in lanes")
        else:
            first, step = self.steps.get(s.address, (0, 0)) if isinstance(s.address, Value) else (0, 0)
            near = first if step == s.item else None
            guard_lanes(self, s, self.use(s.address, w), mask, w, home, near, alone)

    def call_back(self, s: Call) -> None:
        buffers = [*s.arguments, *s.results]
        words = self.slot(f"[{max(1, len(buffers))} x i64]")
        for n, b in enumerate(buffers):
            address = self.let(f"ptrtoint ptr {self.pointer(b)} to i64")
            self.store("i64", address, self.at("i64", words, n))
        function = self.load("ptr", self.at("i64", "%control", CALLBACK))
        context = self.load("i64", self.at("i64", "%control", CONTEXT))
        code = self.let(f"call i64 {function}(i64 {context}, i64 {s.fault}, i64 %rank, ptr {words})")
        fault_if(self, s.fault, self.test("ne", code, 0))
        if self.has_tiles:  # which other code may have used
            configure(self)

    # ------------------------------------------------------------ control

    def poll(self) -> None:
        """End the tile block if the launch is to stop."""
        fault = self.let(f"load atomic i64, ptr {self.at('i64', '%control', FAULT_CELL)} monotonic, align 8")
        stop = self.let(f"load atomic i64, ptr {self.at('i64', '%control', STOP)} monotonic, align 8")
        over = self.either(self.test("ne", fault, -1), self.test("ne", stop, 0))
        out, on = self.fresh("stop"), self.fresh("on")
        self.branch(over, out, on, rarely=True)
        self.mark(out)
        self.put("ret i64 -1")
        self.mark(on)

    def loop(self, s: Loop) -> None:
        if s.kind in (Kind.UNROLLED, Kind.VECTOR, Kind.GRID):
            raise NotLowered(f"a loop of kind {s.kind.value}")
        turn = _work(s.body)
        whole = turn * _turns(s)
        looks = s.polls or any(turn >= least and whole >= most for least, most in LOOKS)
        if not looks and whole >= LOOKS_BEFORE:
            self.poll()  # many such loops may follow each other
        head, body, latch, done = (self.fresh(kind) for kind in ("head", "body", "latch", "done"))
        low, high = self.number(s.low), self.number(s.high)
        index, following = self.new("i"), self.new("n")
        before = self.label
        self.jump(head)
        self.mark(head)
        self.put(f"{index} = phi i64 [ {low}, %{before} ], [ {following}, %{latch} ]")
        self.branch(self.test("slt", index, high), body, done)
        self.mark(body)
        self.names[s.index] = index
        if looks:
            self.poll()
        self.targets.append((s, latch, done))
        self.scope(s.body)
        self.targets.pop()
        if not self.ended:
            self.jump(latch)
        self.mark(latch)
        self.put(f"{following} = add i64 {index}, {s.step}")
        self.jump(head)
        self.mark(done)
        self.ended = False

    def repeat(self, s: While) -> None:
        head, done = self.fresh("head"), self.fresh("done")
        self.jump(head)
        self.mark(head)
        self.poll()
        self.targets.append((s, head, done))
        self.scope(s.body)
        self.targets.pop()
        if not self.ended:
            self.jump(head)
        self.mark(done)
        self.ended = False

    def conditional(self, s: If) -> None:
        if isinstance(s.condition, Const):
            self.scope(s.then if s.condition.bits else s.orelse)
            return
        then, other, join = (self.fresh(kind) for kind in ("then", "else", "join"))
        self.branch(self.use(s.condition), then, other, s.rarely)
        both = True
        for label, body in ((then, s.then), (other, s.orelse)):
            self.mark(label)
            self.ended = False
            self.scope(body)
            if not self.ended:
                self.jump(join)
            both = both and self.ended
        self.ended = both
        if not both:
            self.mark(join)

    def leave(self, s: Jump) -> None:
        if s.loop is None:
            self.put("ret i64 0")
        else:
            (found,) = ((again, done) for loop, again, done in self.targets if loop is s.loop)
            self.jump(found[0] if s.kind == "continue" else found[1])
        self.ended = True


# ---------------------------------------------------------------- facts about loops and buffers


def strides_of(b: Buffer) -> tuple[int, ...]:
    """Return the strides of a buffer in elements."""
    if b.strides is not None:
        return b.strides
    return tuple(prod(b.shape[d + 1 :]) for d in range(len(b.shape)))


def _turns(s: Loop) -> int:
    """Return about how many iterations a loop has; those of a tile that begin somewhere as if they began at 0."""
    if not isinstance(s.high, Const):
        return GUESS
    low, high = (x.bits - (x.bits >> 63 << 64) if isinstance(x, Const) else 0 for x in (s.low, s.high))
    return max(0, -(-(high - low) // s.step))


def _work(body: list[Stmt]) -> int:
    """Return about how many statements a block executes."""
    total = 0
    for s in body:
        match s:
            case Loop():
                total += _turns(s) * (1 + _work(s.body))
            case While():
                total += GUESS * (1 + _work(s.body))
            case If():
                total += 1 + max(_work(s.then), _work(s.orelse))
            case Call():
                total += 1000
            case Apply() if type(s.op) in HEAVY:
                total += HEAVY_WORK
            case Guard():
                total += GUARD_WORK
            case _:
                total += 1
    return total


def _mangled(t: str) -> str:
    return {"float": "f32", "double": "f64"}.get(t, t)
