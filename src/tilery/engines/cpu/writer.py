"""Evaluating tiles: recipes chunk by chunk, buffers, and the loops that fill them.

Only stores, reductions, matrix products and carried values have loops of their own. Everything behind them is a recipe:
`chunk` gives some neighbouring elements of it, wherever a loop needs them. What several loops need and is not cheap is
put in a buffer first.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Sequence
from math import prod
from typing import Any

import numpy as np

from ...attrs import Dense
from ...ir import Block, Op, Value
from ...ops import (
    Alloca,
    Bitcast,
    Broadcast,
    Constant,
    For,
    FToF,
    Iota,
    LoadViewTko,
    MmaF,
    MmaFScaled,
    Permute,
    Reshape,
    Select,
)
from ...ops.floating import GROUP as FLOATING_POINT
from ...types import F16, F32, F64, TF32, Tile, Type
from ..common.tiles import dense_array
from .abi import FAULT_CELL, STOP, NotLowered, Specialisation, Target
from .arithmetic.floats import canonical, float_of
from .registry import ELEMENTWISE, HEAVY
from .text import BYTES, Number, Text, vector
from .tiles import (
    Access,
    Buffer,
    Env,
    Home,
    element,
    is_scalar,
    is_tile,
    reg,
    same_but_for_ones,
    shape,
    stored,
    wide_dims,
)

MOVES = (Broadcast, Reshape, Permute)
MAX_ARENA = 1 << 30
MAX_LINES = 300000
"""More than this takes LLVM too long."""
MAX_VISITS = 4_000_000
"""Producers that are looked at, over all tiles: stores that share long chains ask for more than their number."""
SKEW = 192
"""Bytes between buffers, so that they do not fall on the same places of the cache."""
EDGE_LANES = 16

Index = Sequence[Number]
Place = tuple[list[Number], int, int]
"""An index, the dimension of the vector and its width."""


class Writer(Text):
    """The function of a kernel that is being written."""

    def __init__(self, target: Target, wanted: Specialisation) -> None:
        super().__init__()
        self.target, self.wanted = target, wanted
        self.lanes = target.vector_bytes  # elements of a chunk: four registers of f32
        self.held: Env = {}
        self.homes: dict[Value, Home] = {}
        self.sides: dict[Value, Buffer] = {}
        self.keep: dict[Value, str] = {}
        self.blank: dict[Value, str] = {}  # whether a tile that is loaded is known to be padding of zeros
        self.goal: dict[Value, Buffer] = {}
        self.dirty_memo: dict[Value, bool] = {}
        self.masked = False
        self.arena = self.peak = 0
        self.numbers_of: dict[Op, int] = {}
        self.frames: list[Any] = []
        self.globals: dict[str, Op] = {}
        self.narrow: set[str] = set()
        """Names of i64 that are less than 2**32."""
        self.fetchers: dict[Value, Op] = {}
        """For loads that several loops read: the one that has time to fetch what a later tile block will load."""
        self.fetches: dict[Op, list[tuple[Access, str]]] = {}
        """The memory that the loops of an operation fetch for a later tile block: this part and the bytes between."""
        self.loops: dict[Value, For] = {}
        """The loops that carry block arguments."""
        self.allocas: dict[Alloca, int] = {}
        """The start of the memory of each `alloca`, counted from that of the first."""
        self.done_in_place: set[Value] = set()
        self.called: dict[Op, None] = {}
        """Operations that are computed by a call of the reference engine."""
        self.visits = 0
        self.tables: dict[tuple[bytes, Type, int], str | None] = {}
        """The names of constants by their bytes, elements and sizes; None if all elements are the same."""

    # ------------------------------------------------------------ which NaNs

    def dirty(self, v: Value) -> bool:
        """Whether elements of f32 may hold NaNs that are still to be made canonical."""
        if not is_tile(v) or v.type.element is not F32:  # type: ignore[attr-defined]
            return False
        found = self.dirty_memo.get(v)
        if found is None:
            found = self.dirty_memo[v] = self._dirty(v)
        return found

    def _dirty(self, v: Value) -> bool:
        o = v.owner
        if not isinstance(o, Op):
            return False
        if isinstance(o, MOVES):
            return self.dirty(o.operands[0])
        if isinstance(o, Select):
            return self.dirty(o.val_if_true) and self.dirty(o.val_if_false)
        if isinstance(o, FToF):
            return element(o.from_) is F16
        if isinstance(o, (MmaF, MmaFScaled)):
            return True
        return type(o) in ELEMENTWISE and o not in self.called and o.opdef.group == FLOATING_POINT

    def clean(self, x: str, v: Value, w: int) -> str:
        """A chunk of `v` with its final bits, in its register type."""
        return float_of(self, canonical(self, x, w), "float", w) if self.dirty(v) else x

    def final(self, x: str, v: Value, w: int) -> tuple[str, str]:
        """A chunk of `v` as it is stored, and its type: NaNs are made canonical among integers."""
        t = reg(v)
        if t == "i1":
            return self.cast("zext", x, "i1", "i8", w), "i8"
        if self.dirty(v):
            nan = self.compare("uno", "float", w, x, x)
            b = self.cast("bitcast", x, "float", "i32", w)
            return self.select(nan, "i32", w, self.const(0x7FFFFFFF, "i32", w), b), "i32"
        return x, t

    # ------------------------------------------------------------ stopping

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

    # ------------------------------------------------------------ buffers

    def buffer(self, sizes: Sequence[int], t: str, more: int = 0) -> Buffer:
        """Room for a tile in the arena, and for some bytes more."""
        t = stored(t)
        at = self.arena
        self.arena += -(-prod(sizes) * BYTES[t] // 64) * 64 + SKEW + more
        self.peak = max(self.peak, self.arena)
        if self.peak > MAX_ARENA:
            raise NotLowered(f"the kernel needs more than {MAX_ARENA} bytes for a tile block")
        # Computed at the top of the function, so that it can be used anywhere.
        name = self.new("buf")
        self.slots.append(f"  {name} = getelementptr i8, ptr %arena, i64 {at}")
        return Buffer(name, tuple(sizes), t)

    def linear(self, sizes: Sequence[int], index: Index) -> Number:
        at: Number = 0
        for n, i in zip(sizes, index):
            at = self.add(self.mul(at, n), i)
        return at

    def read(self, b: Buffer, t: str, index: Index, vd: int, w: int) -> str:
        """Elements of a buffer along a dimension."""
        p = self.at(b.type, b.pointer, self.linear(b.shape, index))
        step = prod(b.shape[vd + 1 :]) if b.shape else 1
        if w == 1 or step == 1:
            x = self.load(vector(b.type, w), p, BYTES[b.type])
        else:
            x = self.strided(p, b.type, step, w)
        return self.truth(x, t, w)

    def truth(self, x: str, t: str, w: int) -> str:
        """A byte that stands for an i1: any but 0 is true."""
        return self.compare("ne", "i8", w, x, self.const(0, "i8", w)) if t == "i1" else x

    def write(self, b: Buffer, x: str, index: Index, w: int) -> None:
        """Store a chunk along the last dimension that is wide; `x` has the type of the buffer."""
        p = self.at(b.type, b.pointer, self.linear(b.shape, index))
        self.store(vector(b.type, w), x, p, BYTES[b.type])

    def strided(self, p: str, t: str, step: Number, w: int, mask: str | None = None) -> str:
        """Elements that are `step` apart, in elements."""
        numbers = self.op("mul", "i64", w, self.splat(str(step), "i64", w), self.numbers("i64", w))
        places = self.let(f"getelementptr {t}, ptr {p}, <{w} x i64> {numbers}")
        return self.gather(places, t, w, mask)

    def gather(self, places: str, t: str, w: int, mask: str | None = None, rest: str = "zeroinitializer") -> str:
        f = f"@llvm.masked.gather.v{w}{_mangled(t)}.v{w}p0"
        self.needs[f"declare <{w} x {t}> {f}(<{w} x ptr>, i32, <{w} x i1>, <{w} x {t}>)"] = None
        m = mask or "splat (i1 true)"
        operands = f"<{w} x ptr> {places}, i32 {BYTES[t]}, <{w} x i1> {m}, <{w} x {t}> {rest}"
        return self.let(f"call <{w} x {t}> {f}({operands})")

    # ------------------------------------------------------------ chunks

    def scalar(self, v: Value) -> str:
        """The value of a tile of one element."""
        return self.chunk(v, [0] * len(shape(v)), 0, 1)

    def scalar64(self, v: Value, signed: bool = True) -> str:
        return self.cast("sext" if signed else "zext", self.scalar(v), reg(v), "i64", 1)

    def chunk(self, v: Value, index: Index, vd: int, w: int) -> str:
        """`w` elements of a tile along dimension `vd`, from an index on."""
        sizes = shape(v)
        if w > 1 and sizes[vd] < w:  # it would read past the row, by a stride that is not checked
            raise NotLowered(f"{w} elements along a dimension of {sizes[vd]}")
        place = tuple(0 if n == 1 else i for n, i in zip(sizes, index))
        key = (v, place, vd if w > 1 else None, w)
        found = self.known(key)
        if found is None:
            if len(self.lines) > MAX_LINES:
                raise NotLowered("the kernel is very large")
            found = self.remember(key, self._chunk(v, sizes, place, vd, w))
        return found

    def _chunk(self, v: Value, sizes: tuple[int, ...], index: tuple[Number, ...], vd: int, w: int) -> str:
        held, t = self.held.get(v), reg(v)
        if isinstance(held, str):
            return self.splat(held, t, w)
        if isinstance(held, Buffer):
            return self.read(held, t, index, vd, w)
        if isinstance(held, Access):
            made = self.load_chunk(held, t, index, vd, w)
        else:
            made = self._computed(v, sizes, index, vd, w)
        side = self.sides.get(v)
        if side is not None:  # stored on the way, and read by later loops
            raw = self.cast("zext", made, "i1", "i8", w) if t == "i1" else made
            self.write(side, raw, index, w)
        return made

    def load_chunk(self, access: Access, t: str, index: tuple[Number, ...], vd: int, w: int) -> str:
        """Elements of a tile that is loaded through a view."""
        raise NotImplementedError

    def runs(self, v: Value, vd: int, w: int) -> bool:
        """Whether chunks of a tile of pointers are neighbours in memory, whatever the program promises."""
        raise NotImplementedError

    def block(self, block: Block) -> bool:
        """Write the operations of a block; return whether it ends with a jump."""
        raise NotImplementedError

    def filled_by_squares(self, b: Buffer, v: Value) -> bool:
        """Store a tile in a buffer by squares that are turned in registers, if that is how it lies in memory."""
        raise NotImplementedError

    def with_sides(self, values: list[Value], emit: Callable[[], None]) -> None:
        """Write a loop that stores some tiles on the way."""
        raise NotImplementedError

    def _computed(self, v: Value, sizes: tuple[int, ...], index: tuple[Number, ...], vd: int, w: int) -> str:
        o, t = v.owner, reg(v)
        match o:
            case Broadcast():
                inner = shape(o.source)
                if w > 1 and inner[vd] == 1:
                    return self._spread(o.source, index, t, w)
                return self.chunk(o.source, index, vd, w)
            case Reshape():
                place = dict(zip(wide_dims(sizes), wide_dims(shape(o.source))))
                inside: list[Number] = [0] * len(shape(o.source))
                for here, there in place.items():
                    inside[there] = index[here]
                return self.chunk(o.source, inside, place.get(vd, 0), w)
            case Permute():
                inside = [0] * len(sizes)
                for here, there in enumerate(o.permutation):
                    inside[there] = index[here]
                return self.chunk(o.source, inside, o.permutation[vd] if sizes else 0, w)
            case Iota():
                return self._iota(t, index[0] if index else 0, w)
            case Constant():
                return self.pattern(constant_bits(o), t, w)
            case Op() if type(o) in ELEMENTWISE:
                return self.apply(o, w, [self.chunk(u, index, vd, w) for u in o.operands])
        raise NotLowered(f"{o}")

    def apply(self, o: Op, w: int, operands: list[str]) -> str:
        """An element-wise operation on chunks."""
        if isinstance(o, Select) and self.dirty(o.val_if_true) != self.dirty(o.val_if_false):
            operands = [operands[0], *(self.clean(x, u, w) for x, u in zip(operands[1:], o.operands[1:]))]
        elif isinstance(o, Bitcast) or (isinstance(o, FToF) and element(o.to) in (F64, TF32)):  # they keep payloads
            operands = [self.clean(operands[0], o.operands[0], w)]
        return ELEMENTWISE[type(o)](self, o, w, *operands)

    def _spread(self, v: Value, index: Index, t: str, w: int) -> str:
        """An element in every place of a vector."""
        x = self.chunk(v, index, 0, 1)
        key = ("splat", x, t, w)
        found = self.known(key)
        if found is None:
            found = self.remember(key, self.splat(x, t, w))
        return found

    def _iota(self, t: str, at: Number, w: int) -> str:
        first = self.cast("trunc", str(at), "i64", t, 1) if isinstance(at, str) else str(_wrapped(at, t))
        return first if w == 1 else self.op("add", t, w, self.splat(first, t, w), self.numbers(t, w))

    # ------------------------------------------------------------ constants

    def pattern(self, bits: int, t: str, w: int) -> str:
        """The same bits in every element."""
        if t not in ("float", "double"):
            return self.const(bits, t, w)
        i, kind = ("i32", "f") if t == "float" else ("i64", "d")
        number = struct.unpack(f"<{kind}", bits.to_bytes(BYTES[t], "little"))[0]
        # A NaN as an integer: as a float its payload might change.
        return self.const(number, t, w) if number == number else self.cast("bitcast", self.const(bits, i, w), i, t, w)

    def constant(self, o: Constant) -> Buffer | None:
        """The table of a constant whose elements differ; None if they are the same."""
        value = o.value
        key = value.data, value.element, value.type.size
        if key not in self.tables:
            self.tables[key] = self._table(value)
        name = self.tables[key]
        return None if name is None else Buffer(name, shape(o.result), stored(reg(o.result)))

    def _table(self, value: Dense) -> str | None:
        data = dense_array(value)
        if data.size == 1 or not any(data.strides):
            return None
        raw = np.ascontiguousarray(data).tobytes()
        name = f"@constant{len(self.tables)}"
        text = "".join(f"\\{byte:02X}" for byte in raw)
        self.functions[name] = f'{name} = internal constant [{len(raw)} x i8] c"{text}", align 64'
        return name

    # ------------------------------------------------------------ loops over tiles

    def nest(
        self, sizes: Sequence[int], body: Callable[[list[Number], int, int], None], hoist: Sequence[Value] = ()
    ) -> None:
        """Loops over a tile, by chunks along its last dimension that is wide."""
        dims = wide_dims(tuple(sizes))
        vd = dims[-1] if dims else max(0, len(sizes) - 1)
        w = min(self.lanes, sizes[vd]) if sizes else 1
        index: list[Number] = [0] * len(sizes)
        loops = []
        for d in dims[:-1]:
            loops.append(self.begin(sizes[d]))
            index[d] = loops[-1].index
        for v in hoist:
            self.hoist(v, index, vd, w)
        if dims and sizes[vd] > w:
            loops.append(self.begin(sizes[vd], w))
            index[vd] = loops[-1].index
        body(index, vd, w)
        for loop in reversed(loops):
            self.end(loop)

    def hoist(self, v: Value, index: Index, vd: int, w: int) -> None:
        """Compute what a row has in common before the loop over the row: LLVM cannot move it past stores."""
        stack, seen = [v], set[Value]()
        while stack:
            v = stack.pop()
            o = v.owner
            if v in seen or v in self.held or not isinstance(o, Op):
                continue
            seen.add(v)
            if isinstance(o, Broadcast) and w > 1 and shape(o.source)[vd] == 1:
                self.chunk(v, index, vd, w)
            elif type(o) in ELEMENTWISE:
                stack += reversed(o.operands)

    def accesses(self, values: Sequence[Value]) -> list[Access]:
        """The loads that evaluating the values makes."""
        found: dict[Value, bool] = {}
        for v in values:
            self.behind(v, found, None)
        return [self.held[v] for v in found if isinstance(self.held.get(v), Access)]

    def at_edge(self, body: Callable[[], None]) -> None:
        """Write code with masks, and with short vectors, because it is rare."""
        before = self.masked, self.lanes
        self.masked, self.lanes = True, min(self.lanes, EDGE_LANES)
        body()
        self.masked, self.lanes = before

    def materialise(self, v: Value, into: Buffer | None = None) -> Buffer:
        """Put a tile in a buffer."""
        held = self.held.get(v)
        if into is None and isinstance(held, Buffer):
            return held
        b = into or self.goal.get(v) or self.buffer(shape(v), reg(v))
        self.fill(b, v)
        if into is None:
            self.settle({v: b})
        return b

    def fill(self, b: Buffer, v: Value) -> None:
        """Store a tile in a buffer, without NaNs being made canonical."""
        sides, self.sides = self.sides, {}

        def body(index: list[Number], vd: int, w: int) -> None:
            x = self.chunk(v, index, vd, w)
            self.write(b, self.cast("zext", x, "i1", "i8", w) if reg(v) == "i1" else x, index, w)

        if not self.filled_by_squares(b, v):
            self.nest(shape(v), body, [v])
        self.sides = sides

    def fill_clean(self, b: Buffer, v: Value) -> None:
        """Store a tile in a buffer with its final bits."""

        def body(index: list[Number], vd: int, w: int) -> None:
            x, t = self.final(self.chunk(v, index, vd, w), v, w)
            self.write(Buffer(b.pointer, b.shape, t), x, index, w)

        self.nest(shape(v), body, [v])

    def settle(self, new: Env) -> None:
        """Values now have other places: forget chunks that were made from the old ones."""
        self.held.update(new)
        self.forget(new)

    def forget(self, values: Collection[Value]) -> None:
        """Forget the chunks of values."""
        for level in self.memo:
            for v in values:
                level.pop(v, None)

    # ------------------------------------------------------------ what stands behind a value

    def behind(self, v: Value, out: dict[Value, bool], block: set[Op] | None, direct: bool = True) -> None:
        """The recipes behind a value; True where all its elements are visited in the order of the value's."""
        stack = [(v, direct)]
        while stack:
            v, direct = stack.pop()
            held, o = self.held.get(v), v.owner
            if (held is not None and not isinstance(held, Access)) or not isinstance(o, Op):
                continue
            if (block is not None and o not in block) or not is_tile(v) or not self.is_recipe(o):
                continue
            if v in out and out[v] <= direct:
                continue
            self.visits += 1
            if self.visits > MAX_VISITS:
                raise NotLowered("the kernel is very large")
            out[v] = out.get(v, True) and direct
            if isinstance(o, LoadViewTko):
                continue
            for u in o.operands:
                same = direct and not isinstance(o, Permute) and is_tile(u) and same_but_for_ones(shape(u), shape(v))
                stack.append((u, same))

    def is_recipe(self, o: Op) -> bool:
        return (type(o) in ELEMENTWISE and o not in self.called) or isinstance(o, (*MOVES, Constant, Iota, LoadViewTko))

    def free(self, v: Value) -> bool:
        """Whether evaluating a tile anywhere costs nothing: constants and scalars, spread."""
        o = v.owner
        if isinstance(self.held.get(v), str) or isinstance(o, (Constant, Iota)):
            return True
        return isinstance(o, (Broadcast, Reshape)) and v not in self.held and self.free(o.source)

    def weigh(self, v: Value, members: dict[Value, list[tuple[int, bool]]], memo: dict[Value, bool]) -> bool:
        """Whether computing a tile twice would be a waste."""
        if v not in memo:
            o = v.owner
            memo[v] = False
            if v in members and not is_scalar(v) and isinstance(o, Op):
                same = [u for u in o.operands if isinstance(u.type, Tile) and u.type.shape == shape(v)]
                inner = type(o) in ELEMENTWISE and any(self.weigh(u, members, memo) for u in same)
                memo[v] = type(o) in HEAVY or inner
        return memo[v]


def _mangled(t: str) -> str:
    return {"float": "f32", "double": "f64"}.get(t, t)


def _wrapped(number: int, t: str) -> int:
    return number % (1 << int(t[1:]))


def constant_bits(o: Constant) -> int:
    """The bits of the first element of a constant."""
    first = dense_array(o.value).reshape(-1)[:1]
    return int(first[0]) if first.dtype == bool else int(first.view(f"u{first.dtype.itemsize}")[0])


def pointer(g: Text, address: str) -> str:
    return g.let(f"inttoptr i64 {address} to ptr", "p")
