"""Kernels that count: every tile block adds a constant to words of a short array, as a histogram does.

Additions of many tile blocks to one word wait for each other. Here a program takes many tile blocks, counts in shared
memory, and adds its counts to the array once. Sums of integers have no order, so all bits are the same. If the array
turns out to be long, a program adds element by element.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from ...analysis.effects import has_no_effect
from ...enums import AtomicRMWMode, ComparisonPredicate, MemoryOrderingSemantics, Signedness
from ...ir import Op, Value
from ...ops import (
    AndI,
    Assume,
    AtomicRMWTko,
    Broadcast,
    CmpI,
    ExtI,
    LoadPtrTko,
    LoadViewTko,
    MulI,
    Offset,
    Reshape,
    Return,
)
from ...types import Tile
from .access import atomic
from .emit import Val
from .state import Lowering, Tok
from .structure import Exits, branch, lower_ops

SIZES = (1024, 4096)
"""The lengths of arrays whose words are counted in shared memory: the first that is long enough is taken."""
PROGRAMS = 1056
"""The programs that share the tile blocks: eight for each of the 132 multiprocessors of an H200."""


@dataclass(frozen=True, slots=True)
class Counting:
    """An atomic addition of a constant to words of an array."""

    addition: AtomicRMWTko
    base: Value
    """The address of the array."""
    index: Value
    """The numbers of the words."""
    limit: Value
    """The length of the array: only words before it are changed."""
    amount: int
    scalars: tuple[Op, ...]
    """The operations that make base and limit. They do not depend on the tile block."""


def find_counting(low: Lowering) -> Counting | None:
    """Return the addition of a kernel that does nothing but load and count, or None."""
    additions = [o for o in low.entry.body.ops if isinstance(o, AtomicRMWTko)]
    others = (o for o in low.entry.body.ops if not isinstance(o, AtomicRMWTko))
    if len(additions) != 1 or not low.target.nvidia or not all(map(_is_harmless, others)):
        return None
    return _counting(low, additions[0])


def _is_harmless(o: Op) -> bool:
    if isinstance(o, (LoadViewTko, LoadPtrTko)):
        return o.memory_ordering_semantics is MemoryOrderingSemantics.WEAK
    return isinstance(o, (Assume, Return)) or has_no_effect(o)


def _counting(low: Lowering, o: AtomicRMWTko) -> Counting | None:
    offset, amount = o.pointers.owner, low.ranges.constant(o.arg)
    if (
        o.mode is not AtomicRMWMode.ADD
        or o.memory_ordering_semantics is not MemoryOrderingSemantics.RELAXED
        or o.result in low.uses
        or o.result_token in low.uses
        or low.element(o.arg) not in ("i32", "i64")
        or prod(low.shape(o.arg)) < 32 * low.config.num_warps
        or amount is None
        or not isinstance(offset, Offset)
    ):
        return None
    index = _without_one(low, offset.offset)
    limit = _limit(low, o.mask, index)
    if limit is None:
        return None
    scalars: dict[Op, None] = {}
    base, length = (_fixed(low, value, scalars) for value in (offset.ptr, limit))
    if base is None or length is None or low.element(length) not in ("i32", "i64"):
        return None
    return Counting(o, base, index, length, amount, tuple(scalars))


def _without_one(low: Lowering, value: Value) -> Value:
    """A value without multiplications by one."""
    while isinstance(value.owner, MulI) and low.ranges.constant(value.owner.rhs) == 1:
        value = value.owner.lhs
    return value


def _limit(low: Lowering, mask: Value | None, index: Value) -> Value | None:
    """The value below which a mask keeps an index, compared as unsigned integers."""
    todo = [] if mask is None else [mask]
    while todo:
        o = todo.pop().owner
        if isinstance(o, AndI):
            todo += [o.lhs, o.rhs]
        elif isinstance(o, CmpI) and _without_one(low, o.lhs) is index:
            below = o.comparison_predicate is ComparisonPredicate.LESS_THAN
            if below and o.signedness is Signedness.UNSIGNED:
                return o.rhs
    return None


def _fixed(low: Lowering, value: Value, scalars: dict[Op, None]) -> Value | None:
    """The scalar that all elements of a tile are, if it is made from a parameter by `scalars`; None otherwise."""
    while isinstance(value.owner, (Broadcast, Reshape)) and isinstance(value.type, Tile) and value.type.shape:
        value = value.owner.source
    chain: list[Op] = []
    at = value
    while isinstance(at.owner, (Assume, ExtI)):
        chain.insert(0, at.owner)
        at = at.owner.operands[0]
    if at not in low.parameters:
        return None
    scalars.update(dict.fromkeys(chain))
    return value


# ---------------------------------------------------------------- lowering


def lower_counting(low: Lowering, found: Counting) -> None:
    """Lower the kernel: each program takes the tile blocks of its number and of every further `PROGRAMS`."""
    low.config, low.programs = replace(low.config, folded=True), PROGRAMS
    for o in found.scalars:
        low.one(o)
    limit = low.get(found.limit)
    outside = dict(low.values)

    def by_length(sizes: Sequence[int]) -> list[Val]:
        low.values = dict(outside)
        if not sizes:
            _over_blocks(low)
            return []
        fits = low.compare("ule", limit, low.like(sizes[0], limit))
        return branch(low, fits, (), lambda: _count(low, found, limit, sizes[0]), lambda: by_length(sizes[1:]))

    by_length(SIZES)


def _over_blocks(low: Lowering) -> None:
    """The kernel in a loop over the tile blocks of a program."""
    first, step = (low.make(f"tt.get_{name} x : i32", (), "i32") for name in ("program_id", "num_programs"))
    x, y, z = (low.grid_extent(dim) for dim in range(3))
    blocks = low.map("arith.muli", low.map("arith.muli", x, y), z)
    low.block = Val(low.fresh("i"), (), "i32")
    low.line(f"scf.for {low.block.name} = {first.name} to {blocks.name} step {step.name} : i32 {{")
    lower_ops(low, low.entry.body.ops, 0, Exits((), lambda o: []))
    low.line("} {tt.num_stages = 3 : i32}")
    low.block = None


def _count(low: Lowering, found: Counting, limit: Val, size: int) -> list[Val]:
    """Count the words of all tile blocks of a program, and add the counts to the array."""
    total = _counted(low, found, size)
    words = low.iota(size)
    base = low.splat(low.get(found.base), (size,))
    pointers = low.make(f"tt.addptr {base.name}, {words.name} : {base.type}, {words.type}", (size,), base.element)
    wide = low.integer(words, limit.element, signed=False)
    inside = low.compare("ult", wide, low.splat(limit, (size,)))
    used = low.map("arith.andi", inside, low.compare("ne", total, low.like(0, total)))
    element = low.element(found.addition.arg)
    each = low.constant(found.amount, (size,), element)
    amount = low.map("arith.muli", low.integer(total, element, signed=False), each)
    atomic(low, "add", "relaxed", found.addition.memory_scope, pointers, amount, used)
    return []


# ---------------------------------------------------------------- words in shared memory

DECLARE = f".shared .align 16 .b8 tilery_words[{4 * SIZES[-1]}]; mov.u32 $0, tilery_words; add.u32 $0, $0, $1;"
CLEAR = "st.shared.u32 [$1], 0; mov.u32 $0, 0;"
ADD = "{ .reg .pred p; setp.ne.b32 p, $2, 0; @p red.shared.add.u32 [$1], 1; mov.u32 $0, 0; }"
READ = "ld.shared.u32 $0, [$1];"


def _counted(low: Lowering, found: Counting, size: int) -> Val:
    """Counts by atomic operations on words of shared memory.

    Triton's own histogram would start from zero for each tile, and before 3.9 it asks all lanes for every word.
    """
    if low.words is None:
        low.words = Val(low.fresh("w"), (), "i32")
        outside, low.out = low.out, low.prologue
        start = low.constant(0, (), "i32")
        made = low.assembly(DECLARE, "=r,r", "i32", start, pure=False)
        low.line(f"{low.words.name} = arith.addi {made.name}, {start.name} : i32")
        low.out = outside
    words = low.words

    def places(index: Val) -> Val:
        return low.map("arith.addi", low.splat(words, index.shape), low.map("arith.muli", index, low.like(4, index)))

    def count(low: Lowering, o: Op, pointers: Val, arg: Val, mask: Val, token: Tok | None) -> tuple[Val, Tok]:
        index = low.integer(low.get(found.index), "i32", signed=False)
        low.assembly(ADD, "=r,r,r", "i32", places(index), low.integer(mask, "i32", signed=False), pure=False)
        return low.like(0, arg), Tok()

    every = places(low.iota(size))
    low.assembly(CLEAR, "=r,r", "i32", every, pure=False)
    low.barrier()
    low.instead[found.addition] = count
    _over_blocks(low)
    del low.instead[found.addition]
    low.barrier()
    return low.assembly(READ, "=r,r", "i32", every, pure=False)


def counts_once(text: str) -> bool:
    """Tell from Triton IR with layouts whether each element of a tile is counted by one thread, and by it once."""
    layouts = dict(re.findall(r"(#\w+) = #ttg\.blocked<\{([^}]*)\}>", text))
    tiles = re.findall(r'red\.shared[^"]*".* -> tensor<((?:\d+x)+)i32, (#\w+)>', text)
    return len(tiles) == len(SIZES) and all(
        name in layouts and _covers_once(layouts[name], shape) for shape, name in tiles
    )


def _covers_once(layout: str, shape: str) -> bool:
    lists = re.findall(r"(?:sizePerThread|threadsPerWarp|warpsPerCTA) = \[([^\]]*)\]", layout)
    factors = [[int(n) for n in each.split(",")] for each in lists]
    sizes = [int(n) for n in shape.split("x")[:-1]]
    return len(factors) == 3 and all(prod(each) <= size for each, size in zip(zip(*factors), sizes))
