"""The rules of the loop IR: types, dominance, indices. Passes are checked with it after each change."""

from __future__ import annotations

from dataclasses import dataclass, field

from ....types import F32, F64, I1, I32, I64, Scalar
from ...common.tiles import carrier
from .builder import element_of
from .dots import DOTS, SIDE
from .integers import WIDTHS
from .nodes import (
    COMPARISONS,
    FLOAT,
    INT,
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
    blocks_of,
    buffers_read,
    buffers_written,
    defined,
    operands,
)
from .printer import print_block


class Malformed(Exception):
    """A kernel breaks a rule: the message has the rule and the statement."""

    shown = False
    """Whether the message has the statement already."""


def verify(kernel: Kernel) -> None:
    """Raise Malformed if a kernel breaks a rule."""
    state = _State()
    for v in (*kernel.params, *kernel.grid, kernel.streams, *(v for _, v in kernel.globals)):
        state.values[v] = None
    if any(v.element is not I32 for v in kernel.grid):
        raise Malformed("the extents of the grid are i32")
    state.block(kernel.body)
    if sum(isinstance(s, Loop) and s.kind is Kind.GRID for s in kernel.body) != 1:
        raise Malformed("the body has one loop over the grid")


@dataclass(slots=True)
class _State:
    """The names visible at a statement."""

    values: dict[Value, Stmt | None] = field(default_factory=dict)
    """Every value that was defined, with its statement; those of closed blocks are removed."""
    buffers: set[Buffer] = field(default_factory=set)
    ranges: dict[Value, tuple[int, int]] = field(default_factory=dict)
    """The least and the largest number that an index can be."""
    around: list[Loop | While] = field(default_factory=list)

    def block(self, body: list[Stmt]) -> None:
        values, buffers = set(self.values), set(self.buffers)
        for n, s in enumerate(body):
            try:
                self.statement(s, last=n == len(body) - 1)
            except Malformed as error:
                raise error if error.shown else _with_text(error, s) from None
        for v in set(self.values) - values:
            del self.values[v]
            self.ranges.pop(v, None)
        self.buffers = buffers

    def statement(self, s: Stmt, last: bool) -> None:
        for x in operands(s):
            self.visible(x)
        for b in (*buffers_read(s), *buffers_written(s)):
            _require(b in self.buffers, "a buffer is used where it is not declared")
        for b in buffers_written(s):
            _require(b.scope is not Scope.CONSTANT, "a constant buffer is stored to")
        self.typed(s)
        if isinstance(s, Jump):
            self.jump(s, last)
        for inner in blocks_of(s):
            if isinstance(s, (Loop, While)):
                self.around.append(s)
            if isinstance(s, Loop):
                self.define(s.index, s)
                self.ranges.pop(s.index, None)
                if (low := self.range(s.low)) and (high := self.range(s.high)) and low[0] < high[1]:
                    self.ranges[s.index] = (low[0], high[1] - 1)
            self.block(inner)
            if isinstance(s, (Loop, While)):
                self.around.pop()
            if isinstance(s, Loop):
                del self.values[s.index]
        if isinstance(s, Declare):
            _require(s.buffer not in self.buffers, "a buffer is declared twice")
            if s.buffer.scope is Scope.TILE:
                items = 4 * SIDE * 8 // s.buffer.element.bits
                _require(s.buffer.shape == (SIDE, items), "a tile register has 16 rows of 64 bytes")
            _require((s.buffer.data is not None) == (s.buffer.scope is Scope.CONSTANT), "only constants have data")
            self.buffers.add(s.buffer)
        if (made := defined(s)) is not None:
            self.define(made, s)

    def define(self, v: Value, s: Stmt) -> None:
        _require(v not in self.values, "a value is defined twice")
        _require(v.lanes >= 1, "a value has at least one lane")
        self.values[v] = s
        if isinstance(s, Int) and (found := self.range_of(s)) is not None:
            self.ranges[v] = found

    def visible(self, x: Operand) -> None:
        if isinstance(x, Value):
            _require(x in self.values, "an operand is not defined before its use")
        else:
            width = 8 * carrier(x.element).itemsize
            _require(0 <= x.bits < 1 << width, "a constant has more bits than its type")

    # ------------------------------------------------------------ ranges of indices

    def range(self, x: Operand) -> tuple[int, int] | None:
        """Return the least and the largest number that an i64 can be, if that is known."""
        if isinstance(x, Const):
            return (x.bits, x.bits) if x.element is I64 and x.bits < 1 << 62 else None
        return self.ranges.get(x)

    def range_of(self, s: Int) -> tuple[int, int] | None:
        if s.result.element is not I64 or len(s.operands) != 2 or any(x.element is not I64 for x in s.operands):
            if s.name == "ramp" and (found := self.range(s.operands[0])):
                return found[0], found[1] + s.result.lanes - 1
            return None
        a, b = map(self.range, s.operands)
        if s.name == "urem" and b is not None and b[0] == b[1] > 0:
            return 0, b[0] - 1
        if s.name == "and" and (known := b or a) is not None and known[0] == known[1]:
            return 0, known[1]
        if a is None or b is None:
            return None
        match s.name:
            case "add":
                return a[0] + b[0], a[1] + b[1]
            case "sub":
                return (a[0] - b[1], a[1] - b[0]) if a[0] >= b[1] else None
            case "mul":
                return a[0] * b[0], a[1] * b[1]
            case "udiv" if b[0] == b[1] > 0:
                return a[0] // b[0], a[1] // b[0]
            case "smin" | "umin":
                return min(a[0], b[0]), min(a[1], b[1])
            case "smax" | "umax":
                return max(a[0], b[0]), max(a[1], b[1])
        return None

    def place(self, b: Buffer, index: tuple[Operand, ...], masked: bool) -> None:
        _require(b.scope is not Scope.TILE, "only tile statements use tile registers")
        _require(len(index) == len(b.shape), "an index has as many numbers as the buffer has dimensions")
        for x, size in zip(index, b.shape):
            _require(x.element is I64, "indices are i64")
            found = self.range(x)
            if found is not None and not masked:
                _require(found[0] < size, "an index is always outside the buffer")
                if not isinstance(x, Value) or x.lanes == 1:
                    _require(found[1] < size or not self.exact(x), "an index runs out of the buffer")

    def exact(self, x: Operand) -> bool:
        """Tell whether the largest number of a range is reached: for constants and the indices of loops."""
        return isinstance(x, Const) or isinstance(self.values.get(x), Loop)

    # ------------------------------------------------------------ types

    def typed(self, s: Stmt) -> None:
        match s:
            case Int():
                _integer(s)
            case Float():
                _floating(s)
            case Apply():
                given = [element_of(v.type) for v in s.op.operands]
                _require(given == [x.element for x in s.operands], "operands have the types of the operation's")
                _require(s.result.element is element_of(s.op.results[0].type), "the result has the operation's type")
                _lanes(s.result, s.operands)
            case Shuffle():
                _require(len(s.order) == s.result.lanes, "a shuffle has a number per lane")
                widest = max(x.lanes for x in s.operands)
                _require(all(x.lanes in (1, widest) for x in s.operands), "a shuffle has vectors of one size")
                total = widest * len(s.operands)
                _require(all(0 <= n < total for n in s.order), "a shuffle takes lanes that there are")
                _require(all(x.element is s.result.element for x in s.operands), "a shuffle keeps the type")
            case Dot():
                _dot(s)
            case TileLoad() | TileStore():
                _require(s.tile.scope is Scope.TILE and s.buffer.element is s.tile.element, "tiles keep the type")
                _require(len(s.buffer.shape) >= 2, "a tile register has rows and columns")
                _require(all(x.lanes == 1 for x in s.index), "a tile register begins at one element")
                self.place(s.buffer, s.index, False)
                for x, size, count in zip(s.index[-2:], s.buffer.shape[-2:], s.tile.shape):
                    found = self.range(x)
                    _require(found is None or found[0] + count <= size, "a tile register is outside the buffer")
            case TileDot():
                form = DOTS.get(s.name)
                _require(form is not None and s.name != "i16", "a product of tiles has a known name")
                assert form is not None
                _require(all(b.scope is Scope.TILE for b in (s.sums, s.left, s.right)), "it multiplies tile registers")
                found_types = (s.left.element, s.right.element, s.sums.element)
                _require(found_types == (form.element, form.element, form.sums), "a product of tiles has its types")
            case Load():
                self.place(s.buffer, s.index, s.mask is not None)
                _require(s.result.element is s.buffer.element, "a load has the type of the buffer")
                _lanes(s.result, (*s.index, *_optional(s.mask, s.other)))
                _masked(s.mask, s.other, s.result.element)
            case Store():
                self.place(s.buffer, s.index, s.mask is not None)
                _require(s.value.element is s.buffer.element, "a stored value has the type of the buffer")
                _masked(s.mask, None, s.buffer.element)
            case Loop():
                _require(s.index.element is I64 and s.index.lanes == 1, "the index of a loop is one i64")
                _require(s.step > 0, "the step of a loop is positive")
                _require(all(x.element is I64 and x.lanes == 1 for x in (s.low, s.high)), "bounds are i64")
                if s.kind in (Kind.UNROLLED, Kind.VECTOR):
                    _require(isinstance(s.low, Const) and isinstance(s.high, Const), "bounds are constant")
                _require(s.kind is not Kind.GRID or not self.around, "the loop over the grid is outside all others")
            case If() | Check():
                _require(s.condition.element is I1, "a condition is an i1")
                _require(isinstance(s, Check) or s.condition.lanes == 1, "the condition of a branch has one lane")
            case While() | Jump() | Declare() | Call() | Product():
                pass
            case _:
                self.memory(s)

    def memory(self, s: Stmt) -> None:
        match s:
            case Read():
                _address(s.address)
                _lanes(s.result, (s.address, *_optional(s.mask, s.other)))
                _masked(s.mask, s.other, s.result.element)
            case Write():
                _address(s.address)
                _masked(s.mask, None, s.value.element)
            case Atomic():
                _address(s.address)
                _masked(s.mask, None, s.operands[0].element)
            case Guard():
                _address(s.address)
                _require(s.item in (1, 2, 4, 8), "elements take 1, 2, 4 or 8 bytes")
                _require(all(x.element is I64 for dim in s.dims for x in dim), "counts and strides are i64")
                _masked(s.mask, None, I64)
            case Locate():
                _require(s.buffer in self.buffers and s.buffer.scope is Scope.MEMORY, "only own memory has an address")
                _require(s.result.element is I64, "an address is an i64")
            case Prefetch():
                _address(s.address)

    def jump(self, s: Jump, last: bool) -> None:
        _require(last, "a jump is the last statement of its block")
        _require(s.kind in ("break", "continue", "return"), "a jump breaks, continues or returns")
        _require((s.loop is None) == (s.kind == "return"), "a jump names the loop that it leaves")
        if s.loop is not None:
            _require(s.loop in self.around, "a jump is inside the loop that it names")
        for each in reversed(self.around):
            if each is s.loop:
                break
            kind = each.kind if isinstance(each, Loop) else Kind.SERIAL
            _require(kind not in (Kind.PARALLEL, Kind.VECTOR), "a jump does not leave parallel iterations")


def _with_text(error: Malformed, s: Stmt) -> Malformed:
    text = print_block([s])
    shown = text if len(text) < 400 else text[:400] + "..."
    made = Malformed(f"{error}: {shown.strip()}")
    made.shown = True
    return made


def _require(holds: bool, rule: str) -> None:
    if not holds:
        raise Malformed(rule)


def _optional(*xs: Operand | None) -> tuple[Operand, ...]:
    return tuple(x for x in xs if x is not None)


def _lanes(result: Value, xs: tuple[Operand, ...]) -> None:
    widest = max((x.lanes for x in xs), default=1)
    _require(all(x.lanes in (1, widest) for x in xs), "operands have one lane or as many as the others")
    _require(result.lanes == widest, "the result has as many lanes as its operands")


def _address(x: Operand) -> None:
    _require(x.element is I64, "an address is an i64")


def _masked(mask: Operand | None, other: Operand | None, element: Scalar) -> None:
    _require(mask is None or mask.element is I1, "a mask is an i1")
    _require(other is None or (mask is not None and other.element is element), "`other` has the type of the result")


def _floating(s: Float) -> None:
    _require(FLOAT.get(s.name) == len(s.operands), "a floating-point operation has a known name and operands")
    elements = [x.element for x in s.operands]
    target = s.result.element
    if s.name in ("widen", "narrow"):
        wide = target if s.name == "widen" else elements[0]
        _require(wide in (F32, F64), "the wider type is f32 or f64")
    else:
        _require(target in (F32, F64) and set(elements) == {target}, "operands are f32 or f64")
    _lanes(s.result, s.operands)


def _dot(s: Dot) -> None:
    form = DOTS.get(s.name)
    _require(form is not None and len(s.operands) == 3, "a product of neighbours has a known name and three operands")
    assert form is not None
    elements = tuple(x.element for x in (*s.operands, s.result))
    _require(elements == (form.element, form.element, form.sums, form.sums), "a product of neighbours has its types")
    w = s.result.lanes
    for x, lanes in zip(s.operands, (form.each * w, form.each * w, w)):
        _require(x.lanes in (1, lanes), "a product of neighbours has so many lanes for each sum")


def _integer(s: Int) -> None:
    _require(INT.get(s.name) == len(s.operands), "an integer operation has a known name and number of operands")
    elements = [x.element for x in s.operands]
    target = s.result.element
    if s.name == "ramp":
        _require(s.operands[0].lanes == 1 and elements[0] is target, "a ramp starts at one number")
        return
    _lanes(s.result, s.operands)
    match s.name:
        case "select":
            _require(elements[0] is I1 and elements[1] is elements[2] is target, "a select returns one of two values")
        case "bits":
            same = carrier(elements[0]).itemsize == carrier(target).itemsize
            _require(same and I1 not in (elements[0], target), "`bits` keeps the size")
        case "sext" | "zext" | "trunc":
            names = elements[0].name, target.name
            _require(all(name in WIDTHS for name in names), "only integers are resized")
            grows = WIDTHS[names[0]] < WIDTHS[names[1]]
            _require(grows == (s.name != "trunc") and names[0] != names[1], "the width changes as the name says")
        case _:
            _require(len(set(elements)) == 1 and elements[0].name in WIDTHS, "operands are integers of one type")
            _require(target is (I1 if s.name in COMPARISONS else elements[0]), "the result has the right type")
