"""The loop IR: a kernel as loops over scalars and buffers.

A kernel is a tree of statements. A statement that computes something defines one `Value`, which never changes and is
visible after it in its block and in the blocks inside. Everything that changes is in a `Buffer` or in memory: loops
carry nothing, branches return nothing.

**Types.** A value has an element type of Tile IR and a number of lanes. Pointers are i64. The lowering makes values of
one lane; vectorisation makes more. An operand of one lane is used for every lane of the others. Floats obey the
reference engine: an operation of Tile IR (`Apply`) has exactly the bits that the reference engine computes.

**Buffers** are arrays of a fixed shape that belong to one tile block. A buffer comes to life with its `Declare`, whose
place matters: one that is declared in a loop is private to each iteration. Its elements are undefined until stored.
Indices of `Load` and `Store` must be inside the shape; the verifier proves what it can, the interpreter checks all.

**Memory** is what pointers point to: arguments, globals and buffers of scope `MEMORY`. `Read`, `Write` and `Atomic` use
addresses, which must have passed a `Guard`: they do not check anything themselves.

**Faults.** `Guard` and `Check` end the tile block, and with it the launch, if what they ask for does not hold. The
number of an operation says where; the reference engine finds the words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cache
from itertools import islice
from operator import is_
from typing import TYPE_CHECKING, Any, ClassVar

from ....types import I1, I32, I64, Scalar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ....ir import Op


# ---------------------------------------------------------------- values


@dataclass(slots=True, eq=False)
class Value:
    """Something computed once; two values are the same only if they are the same object. `name` is for readers."""

    element: Scalar
    lanes: int = 1
    name: str = ""


@dataclass(frozen=True, slots=True)
class Const:
    """A number that is known now, as the bits of its type. It has one lane."""

    element: Scalar
    bits: int
    lanes: ClassVar[int] = 1


Operand = Value | Const


@cache
def index(number: int) -> Const:
    """Return an i64, the type of indices and addresses."""
    return Const(I64, number % (1 << 64))


def truth(value: bool) -> Const:
    """Return an i1."""
    return Const(I1, int(value))


# ---------------------------------------------------------------- buffers


class Scope(Enum):
    """Where a buffer lives."""

    REGISTER = "register"
    """Small; indices should become constants, so that its elements can be registers."""
    ARENA = "arena"
    """The scratch memory of the thread."""
    CONSTANT = "constant"
    """Data of the kernel; never stored to. It is declared like others."""
    TILE = "tile"
    """A tile register: 16 rows of 64 bytes. Only tile statements use it."""
    MEMORY = "memory"
    """Zeroed memory that has an address (`Locate`): the `alloca` of Tile IR. Its elements are accessed as memory."""


@dataclass(slots=True, eq=False)
class Buffer:
    """An array of one tile block. `shape` () is a single variable."""

    element: Scalar
    shape: tuple[int, ...]
    scope: Scope = Scope.ARENA
    name: str = ""
    strides: tuple[int, ...] | None = None
    """The layout in elements; None for row by row without gaps."""
    data: NDArray[np.generic] | None = None
    """The elements of a constant, as the carriers of the reference engine."""
    alignment: int = 64


# ---------------------------------------------------------------- computing


@dataclass(slots=True)
class Int:
    """Integer arithmetic, which wraps around. `name` is one of `INT`.

    A divisor is not 0, and the least number is not divided by -1.
    """

    result: Value
    name: str
    operands: tuple[Operand, ...]


INT = {
    **dict.fromkeys(("add", "sub", "mul", "sdiv", "srem", "udiv", "urem", "and", "or", "xor"), 2),
    **dict.fromkeys(("shl", "lshr", "ashr"), 2),
    **dict.fromkeys(("smin", "smax", "umin", "umax"), 2),
    **dict.fromkeys(("eq", "ne", "slt", "sle", "ult", "ule"), 2),
    **dict.fromkeys(("sext", "zext", "trunc", "bits"), 1),
    "select": 3,
    "ramp": 1,
}
"""Integer operations and the number of their operands.

Operands have one type, which is the result's, but: comparisons return i1; `sext`, `zext` and `trunc` return the type of
their result, and so does `bits`, which keeps the bits of any type that takes as many bytes; the first operand of
`select` is i1 and the others may have any type; the operand of `ramp` has one lane, and the lanes of its result are the
operand plus 0, 1, 2 and so on. Shifts are by less than the width.
"""
COMPARISONS = frozenset(("eq", "ne", "slt", "sle", "ult", "ule"))


@dataclass(slots=True)
class Apply:
    """An element-wise operation of Tile IR on elements. `op` is there for its class, attributes and element types."""

    result: Value
    op: Op
    operands: tuple[Operand, ...]


@dataclass(slots=True)
class Float:
    """A step of a product or reduction. `name` is one of `FLOAT`; a NaN of f32 stands for the canonical one.

    A NaN of f64 is that of the first operand that has one, made quiet.
    """

    result: Value
    name: str
    operands: tuple[Operand, ...]


FLOAT = {"fma": 3, "add": 2, "mul": 2, "widen": 1, "narrow": 1, "larger": 2, "smaller": 2}
"""Floating-point operations of f32 and f64 and the number of their operands.

`fma` rounds once. `widen` turns any float into f32 or f64, which have all its numbers; of tf32 only the bits that count
are used. `narrow` rounds f32 and f64 to the nearest number of a narrower type. `larger` is the second operand if it is
larger than the first, which it is not if either is NaN, and the first otherwise; `smaller` likewise.
"""


@dataclass(slots=True)
class Shuffle:
    """Lanes of one or two values of the same type, in any order: lane `k` of the result is lane `order[k]` of all.

    A value of one lane beside one of more has its element in as many.
    """

    result: Value
    operands: tuple[Operand, ...]
    order: tuple[int, ...]


@dataclass(slots=True)
class Dot:
    """Products of neighbours, added to sums. `name` is one of `DOTS`.

    The operands are two vectors and the sums; lane `k` of the sums takes the products of the lanes from `each * k` on.
    An operand of one lane is used for every lane.
    """

    result: Value
    name: str
    operands: tuple[Operand, ...]


# ---------------------------------------------------------------- buffers and memory


@dataclass(frozen=True, slots=True)
class Home:
    """The memory that a pointer probably comes from: checks look there first."""

    kind: str
    """`param` or `global`, with its number, or `own` for buffers of scope `MEMORY`."""
    number: int


@dataclass(slots=True)
class Declare:
    """The buffer begins here, with undefined elements, and lives until the end of the block."""

    buffer: Buffer


@dataclass(slots=True)
class Load:
    """Read an element of a buffer, or one per lane of the index. Where the mask is false the result is `other`."""

    result: Value
    buffer: Buffer
    index: tuple[Operand, ...]
    mask: Operand | None = None
    other: Operand | None = None


@dataclass(slots=True)
class Store:
    """Write an element of a buffer, or one per lane; lanes with the same index store in order, the last one stays."""

    buffer: Buffer
    index: tuple[Operand, ...]
    value: Operand
    mask: Operand | None = None


@dataclass(slots=True)
class Read:
    """Read an element from memory. Where the mask is false, memory is not touched and the result is `other`.

    Without `other` that result is undefined; in fact it is 0.
    """

    result: Value
    address: Operand
    mask: Operand | None = None
    other: Operand | None = None
    home: Home | None = None
    """The memory that it probably is in; see `Kernel.disjoint`."""


@dataclass(slots=True)
class Write:
    """Write an element to memory where the mask is true; lanes are written in order."""

    address: Operand
    value: Operand
    mask: Operand | None = None
    streams: bool = False
    """Whether the store bypasses the caches: its neighbours are whole lines, or an aligned part of one."""
    home: Home | None = None


@dataclass(slots=True)
class Atomic:
    """An atomic update of an element, as the Tile IR operation does it on one element.

    `operands` are the value, or the expected and the new value. The result, if wanted, is what memory held before;
    where the mask is false it is 0.
    """

    result: Value | None
    op: Op
    address: Operand
    operands: tuple[Operand, ...]
    mask: Operand | None = None


@dataclass(slots=True)
class Locate:
    """The address of a buffer of scope `MEMORY`."""

    result: Value
    buffer: Buffer


@dataclass(slots=True)
class Prefetch:
    """Fetch the line of an address, which may be anywhere, into the caches."""

    address: Operand


# ---------------------------------------------------------------- tile registers


@dataclass(slots=True)
class TileLoad:
    """Fill a tile register from a buffer. The index is that of its first element; rows are those of the buffer."""

    tile: Buffer
    buffer: Buffer
    index: tuple[Operand, ...]


@dataclass(slots=True)
class TileStore:
    """Store a tile register to a buffer."""

    buffer: Buffer
    index: tuple[Operand, ...]
    tile: Buffer


@dataclass(slots=True)
class TileDot:
    """Add a product of tile registers to another one. `name` is one of `DOTS`, but for `i16`.

    Rows of `right` have `each` neighbours along K for each column.
    """

    sums: Buffer
    name: str
    left: Buffer
    right: Buffer


# ---------------------------------------------------------------- faults


@dataclass(slots=True)
class Guard:
    """Fault unless elements lie in memory that the kernel may access, and at addresses that are multiples of `item`.

    The elements are a box: `dims` has the count and the stride in bytes of each dimension, and `address` is that of the
    first one; there are none if a count is not positive. Lanes are several boxes, of which the mask selects some.
    """

    address: Operand
    dims: tuple[tuple[Operand, Operand], ...]
    item: int
    writes: bool
    fault: int
    home: Home | None = None
    mask: Operand | None = None
    strict: bool = False
    """Whether elements must be in the home, not in any memory of the launch."""


@dataclass(slots=True)
class Check:
    """Fault unless the condition holds in all lanes. `fault` is the number of the Tile IR operation."""

    condition: Operand
    fault: int


# ---------------------------------------------------------------- control


class Kind(Enum):
    """How the iterations of a loop may run."""

    GRID = "grid"
    """Tile blocks: in any order, on any thread; there is one, outside all others, from 0 to the number of blocks."""
    PARALLEL = "parallel"
    """In any order: no iteration reads or writes what another one writes, but for lanes of memory (see `Write`)."""
    SERIAL = "serial"
    """One after the other."""
    UNROLLED = "unrolled"
    """Serial with constant bounds, to be written out."""
    VECTOR = "vector"
    """Parallel with constant bounds, to be turned into lanes; none is left when code is written."""


@dataclass(slots=True, eq=False)
class Loop:
    """Run the body with `index` (i64) at `low`, `low + step` and so on below `high`, as signed numbers."""

    kind: Kind
    index: Value
    low: Operand
    high: Operand
    body: list[Stmt]
    step: int = 1
    polls: bool = False
    """Whether each iteration asks if the launch should stop: loops of Tile IR do."""


@dataclass(slots=True, eq=False)
class While:
    """Run the body again and again until a `Jump` leaves it. It polls as loops do."""

    body: list[Stmt]


@dataclass(slots=True)
class If:
    """Run one of two blocks. `rarely` says that the first one is not expected to run."""

    condition: Operand
    then: list[Stmt]
    orelse: list[Stmt] = field(default_factory=list)
    rarely: bool = False


@dataclass(slots=True)
class Jump:
    """Leave a loop, or begin its next iteration. Without a loop, end the tile block. It is the last of its block.

    It is not inside a parallel or vector loop that it leaves.
    """

    kind: str
    """`break`, `continue` or `return`."""
    loop: Loop | While | None = None


# ---------------------------------------------------------------- whole operations


@dataclass(slots=True)
class Product:
    """A matrix product of Tile IR on buffers, with the bits of the reference engine: `result` = `lhs` x `rhs` + `acc`.

    Passes turn it into loops. `result` may be `acc`. `scales` are those of `mmaf_scaled`.
    """

    result: Buffer
    op: Op
    lhs: Buffer
    rhs: Buffer
    acc: Buffer
    scales: tuple[Buffer, ...] = ()


@dataclass(slots=True)
class Call:
    """Let the reference engine execute an operation. A result that says no is a fault of `fault`."""

    op: Op
    arguments: tuple[Buffer, ...]
    results: tuple[Buffer, ...]
    fault: int


Pure = Int | Apply | Float | Shuffle | Dot
Stmt = (
    Int | Apply | Float | Shuffle | Dot | Declare | Load | Store | Read | Write | Atomic | Locate | Prefetch
    | TileLoad | TileStore | TileDot | Guard | Check | Loop | While | If | Jump | Product | Call
)  # fmt: skip


@dataclass(slots=True)
class Kernel:
    """A kernel. Its body has one loop, over the grid, and maybe what comes before it."""

    name: str
    params: list[Value]
    """One per parameter of the entry."""
    grid: tuple[Value, Value, Value]
    """The extents of the grid, i32."""
    globals: list[tuple[str, Value]]
    """Names and addresses of the globals that are used."""
    body: list[Stmt]
    ops: list[Op]
    """The operations by their numbers in faults."""
    streams: Value
    """Whether stores should bypass the caches, i1: the launch writes more than they hold."""
    disjoint: bool = False
    """Whether accesses stay in their homes and no two homes overlap: those of different homes are then independent."""
    gathers: bool = False
    """Whether the kernel does nothing but read memory and add integers to that of parameters (`passes.gather`)."""


def make_kernel(name: str, params: list[Value], ops: list[Op]) -> Kernel:
    """Return a kernel without a body."""
    x, y, z = (Value(I32, 1, f"grid_{d}") for d in "xyz")
    return Kernel(name, params, (x, y, z), [], [], ops, Value(I1, 1, "streams"))


# ---------------------------------------------------------------- walking


def blocks_of(s: Stmt) -> tuple[list[Stmt], ...]:
    """Return the blocks inside a statement."""
    kind = type(s)
    if kind not in NESTED:
        return ()
    return (s.then, s.orelse) if kind is If else (s.body,)  # type: ignore[union-attr]


def walk(body: list[Stmt]) -> Iterator[Stmt]:
    """Yield every statement of a block and of the blocks inside, outer ones first."""
    stack = body[::-1]
    while stack:
        s = stack.pop()
        yield s
        if type(s) in NESTED:
            for block in reversed(blocks_of(s)):
                stack.extend(reversed(block))


def defined(s: Stmt) -> Value | None:
    """Return the value that a statement defines for the statements after it."""
    return s.result if type(s) in DEFINING else None  # type: ignore[union-attr,return-value]


def operands(s: Stmt) -> list[Operand]:
    """Return the operands of a statement itself, not of the blocks inside."""
    find = _OPERANDS.get(type(s))
    return [] if find is None else find(s)


def _given(a: Operand | None, b: Operand | None = None) -> tuple[Operand, ...]:
    if a is None:
        return () if b is None else (b,)
    return (a,) if b is None else (a, b)


# Passes ask for these more often than for anything else: tables by type take half the time of patterns.
NESTED = frozenset((Loop, While, If))
DEFINING = frozenset((Int, Apply, Float, Shuffle, Dot, Load, Read, Atomic, Locate))
_OPERANDS: dict[type, Callable[[Any], list[Operand]]] = {
    **dict.fromkeys((Int, Apply, Float, Shuffle, Dot), lambda s: list(s.operands)),
    **dict.fromkeys((TileLoad, TileStore), lambda s: list(s.index)),
    Load: lambda s: [*s.index, *_given(s.mask, s.other)],
    Store: lambda s: [*s.index, s.value, *_given(s.mask)],
    Read: lambda s: [s.address, *_given(s.mask, s.other)],
    Write: lambda s: [s.address, s.value, *_given(s.mask)],
    Atomic: lambda s: [s.address, *s.operands, *_given(s.mask)],
    Guard: lambda s: [s.address, *(x for dim in s.dims for x in dim), *_given(s.mask)],
    Prefetch: lambda s: [s.address],
    **dict.fromkeys((Check, If), lambda s: [s.condition]),
    Loop: lambda s: [s.low, s.high],
}


def with_operands(s: Any, get: Callable[[Operand], Operand]) -> Any:
    """Return a statement without blocks, with its operands replaced. It defines the same value."""
    old = operands(s)
    new = [get(x) for x in old]
    if all(map(is_, old, new)):
        return s  # copies take time, and nothing changes these statements
    rest = iter(new)

    def maybe(x: Operand | None) -> Operand | None:
        return None if x is None else next(rest)

    match s:
        case Int():
            return Int(s.result, s.name, tuple(new))
        case Apply():
            return Apply(s.result, s.op, tuple(new))
        case Float():
            return Float(s.result, s.name, tuple(new))
        case Shuffle():
            before, after = (max(x.lanes for x in xs) for xs in (old, new))
            order = s.order if before == after else tuple(n // before for n in s.order)
            return Shuffle(s.result, tuple(new), order)
        case Dot():
            return Dot(s.result, s.name, tuple(new))
        case TileLoad():
            return TileLoad(s.tile, s.buffer, tuple(new))
        case TileStore():
            return TileStore(s.buffer, tuple(new), s.tile)
        case Load():
            return Load(s.result, s.buffer, tuple(islice(rest, len(s.index))), maybe(s.mask), maybe(s.other))
        case Store():
            return Store(s.buffer, tuple(islice(rest, len(s.index))), next(rest), maybe(s.mask))
        case Read():
            return Read(s.result, next(rest), maybe(s.mask), maybe(s.other), s.home)
        case Write():
            return Write(next(rest), next(rest), maybe(s.mask), s.streams, s.home)
        case Atomic():
            return Atomic(s.result, s.op, next(rest), tuple(islice(rest, len(s.operands))), maybe(s.mask))
        case Guard():
            address, dims = next(rest), tuple((next(rest), next(rest)) for _ in s.dims)
            return Guard(address, dims, s.item, s.writes, s.fault, s.home, maybe(s.mask), s.strict)
        case Prefetch():
            return Prefetch(next(rest))
        case Check():
            return Check(next(rest), s.fault)
    return s


def with_result(s: Any, result: Value) -> Any:
    """Return a statement that defines another value."""
    match s:
        case Int():
            return Int(result, s.name, s.operands)
        case Apply():
            return Apply(result, s.op, s.operands)
        case Float():
            return Float(result, s.name, s.operands)
        case Shuffle():
            return Shuffle(result, s.operands, s.order)
        case Dot():
            return Dot(result, s.name, s.operands)
        case Load():
            return Load(result, s.buffer, s.index, s.mask, s.other)
        case Read():
            return Read(result, s.address, s.mask, s.other, s.home)
    return replace(s, result=result)


def buffers_read(s: Stmt) -> tuple[Buffer, ...]:
    """Return the buffers that a statement itself reads."""
    find = _READ.get(type(s))
    return () if find is None else find(s)


def buffers_written(s: Stmt) -> tuple[Buffer, ...]:
    """Return the buffers that a statement itself writes."""
    find = _WRITTEN.get(type(s))
    return () if find is None else find(s)


_READ: dict[type, Callable[[Any], tuple[Buffer, ...]]] = {
    Load: lambda s: (s.buffer,),
    TileLoad: lambda s: (s.buffer,),
    TileStore: lambda s: (s.tile,),
    TileDot: lambda s: (s.sums, s.left, s.right),
    Product: lambda s: (s.lhs, s.rhs, s.acc, *s.scales),
    Call: lambda s: s.arguments,
}
_WRITTEN: dict[type, Callable[[Any], tuple[Buffer, ...]]] = {
    Store: lambda s: (s.buffer,),
    TileLoad: lambda s: (s.tile,),
    TileStore: lambda s: (s.buffer,),
    TileDot: lambda s: (s.sums,),
    Product: lambda s: (s.result,),
    Call: lambda s: s.results,
}
