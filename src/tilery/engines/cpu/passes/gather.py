"""Find kernels that do nothing but read memory and add integers to it, like a histogram.

Each thread can then add to memory of its own, see `abi`: the sums have the same bits in any order.
"""

from __future__ import annotations

from math import prod

from ....attrs import AtomicRMWMode as Mode
from ....ir import Op, Value, walk
from ....ops import AtomicRedViewTko, AtomicRMWTko, Entry, PtrToInt
from ....types import I32, I64, Tile
from ..loops.nodes import (
    Apply,
    Atomic,
    Call,
    Float,
    Guard,
    Int,
    Kernel,
    Kind,
    Load,
    Loop,
    Shuffle,
    Stmt,
    Write,
    blocks_of,
)
from ..loops.nodes import Value as Result
from ..loops.nodes import walk as walk_loops
from .rewrite import Copy

PURE = (Int, Apply, Float, Shuffle, Load)


def gathered(kernel: Kernel, entry: Entry) -> tuple[list[tuple[int, int]], int]:
    """Return what `Lowered.gathered` and `Lowered.additions` say about a kernel before any pass."""
    used = {v for o in walk(entry) for v in o.operands}
    values = [v for o in walk(entry) if (v := _added(o, used)) is not None]
    items: dict[int, set[int]] = {}
    read: set[int] = set()
    for s in walk_loops(kernel.body):
        if isinstance(s, (Write, Call)) or (isinstance(s, Atomic) and _added(s.op, used) is None):
            return [], 0
        if isinstance(s, Guard):
            number = s.home.number if s.home is not None and s.home.kind == "param" else None
            if s.writes and number is None:
                return [], 0
            if s.writes and number is not None:
                items.setdefault(number, set()).add(s.item)
            elif number is not None:
                read.add(number)
    found = sorted((number, size) for number, sizes in items.items() for size in sizes)
    if len(found) > len(items) or read & items.keys() or any(isinstance(o, PtrToInt) for o in walk(entry)):
        return [], 0
    return found, sum(prod(_tile(v).shape) for v in values)


def split_guards(kernel: Kernel) -> None:
    """Check the addresses of a nest that adds to memory before it, where that can be done in lanes."""
    _split(kernel.body)


def _split(body: list[Stmt]) -> None:
    for at, s in reversed(list(enumerate(body))):
        for block in blocks_of(s):
            _split(block)
        if not isinstance(s, Loop) or s.kind is not Kind.SERIAL or s.polls or not s.body:
            continue
        n = next((n for n, each in enumerate(s.body) if isinstance(each, Guard)), 0)
        guard = s.body[n]
        if isinstance(guard, Guard) and not guard.dims and all(isinstance(each, PURE) for each in s.body[:n]):
            copy = Loop(Kind.PARALLEL, Result(I64, 1, s.index.name), s.low, s.high, [], s.step)
            copy.body = Copy({s.index: copy.index}).block([*s.body[:n], guard])
            del s.body[n]
            body.insert(at, copy)


def _added(o: Op, used: set[Value]) -> Value | None:
    """Return the integers that an operation adds to memory, if it does nothing else; `used` are all operands."""
    value = None
    if isinstance(o, AtomicRedViewTko) and o.mode is Mode.ADD:
        value = o.value
    elif isinstance(o, AtomicRMWTko) and o.mode is Mode.ADD and o.result not in used:
        value = o.arg
    return None if value is None or _tile(value).element not in (I32, I64) else value


def _tile(v: Value) -> Tile:
    assert isinstance(v.type, Tile)
    return v.type
