"""Facts about a kernel from which rules choose how to compile it: its products, loops and tiles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from ..analysis.effects import accesses, memory_ordering
from ..analysis.liveness import Liveness
from ..enums import MemoryOrderingSemantics
from ..ir import Block, Op, Value, walk
from ..ops import (
    Broadcast,
    Constant,
    Continue,
    Entry,
    For,
    LoadPtrTko,
    LoadViewTko,
    Loop,
    MmaF,
    MmaI,
    Permute,
    PrintTko,
    Reduce,
    Reshape,
    Return,
    Scan,
    StorePtrTko,
    StoreViewTko,
)
from ..types import Scalar, Tile
from .ahead import Product, is_transposable, needs_transpose
from .semantics import rounds_once
from .triton.gluon.feeds import PART_BYTES, is_feedable

LOOPS = (For, Loop)
LOADS = (LoadViewTko, LoadPtrTko)


@dataclass(frozen=True, slots=True)
class Work:
    """The facts about a kernel that decide how to compile it."""

    products: int = 0
    """Matrix products in the text of the kernel."""
    chained: bool = False
    """Whether a product in a loop uses the result of another one, as attention does."""
    accumulator: int = 0
    """Elements of all accumulators of a loop together, or of the largest one outside of loops."""
    narrow: bool = False
    """Whether products multiply 8-bit floats."""
    tf32: bool = False
    """Whether products multiply tf32."""
    stepwise: bool = False
    """Whether there are products whose sums have a defined order, which tensor cores do not keep."""
    needs_transpose: bool = False
    """Whether tensor cores need the right operand of a product in another order than memory has it."""
    transposable: bool = False
    """Whether that operand can be transposed ahead, see `ahead`."""
    loop_bytes: int = 0
    """Bytes that an iteration of a loop with products loads."""
    stored: int = 0
    """Bytes of shared memory for the tiles that two groups of warps store through views, see `triton.gluon`."""
    tile: int = 1
    """Elements of the largest tile that is loaded."""
    views: bool = False
    loops: bool = False
    """Whether there are loops without products that load."""
    stores: bool = False
    """Whether a loop without products loads and stores, so that its loads cannot all come first."""
    reduces: bool = False
    several: bool = False
    """Whether a reduction carries several values, as argmax does."""
    live: int = 0
    """Words of 32 bits that the tiles of floats take that are live at once: a bound for the registers of a block."""
    rows: int = 0
    """Rows of the left operand of the smallest product."""
    pure: bool = False
    """Whether loops with products only load operands, multiply and add: nothing else competes for registers."""
    integers: bool = False
    """Whether products multiply integers."""
    feedable: bool = False
    """Whether one warp can copy the operands of all products, see `triton.gluon`."""
    blocks: int = 0
    """Tile blocks of the launch; 0 if it is not known."""
    waits: bool = False
    """Whether tile blocks may wait for each other: a loop around an access that is not weak."""
    distrusts_tileiras: bool = False
    """Whether the kernel has a construct that tileiras 13.4 is known to compile wrongly."""


def work_of(entry: Entry) -> Work:
    """Return the facts about an entry."""
    ops = list(walk(entry.body))
    products = [o for o in ops if isinstance(o, Product)]
    loads = [o for o in ops if isinstance(o, (LoadViewTko, LoadPtrTko))]
    tiles = [v.type.size for o in loads for v in o.results if isinstance(v.type, Tile)]
    loops = [o for o in ops if isinstance(o, LOOPS)]
    inner = [o.region for o in loops]
    strong = {o for o in accesses(entry) if memory_ordering(o) is not MemoryOrderingSemantics.WEAK}
    return Work(
        products=len(products),
        chained=any(map(_is_chained, inner)),
        accumulator=max([*(_size(o.acc) for o in products), *map(_accumulators, inner)] or [0]),
        narrow=any(_is_narrow(o) for o in products),
        integers=any(isinstance(o, MmaI) for o in products),
        tf32=any(_element(o).name == "tf32" for o in products),
        stepwise=any(isinstance(o, MmaF) and not rounds_once(o) for o in products),
        needs_transpose=any(needs_transpose(o) for o in products),
        transposable=is_transposable(entry),
        loop_bytes=max((_loaded(block) for block in inner if _multiplies(block)), default=0),
        stored=sum(
            min(_bytes(o.tile.type), 2 * PART_BYTES)
            for o in ops
            if isinstance(o, StoreViewTko) and isinstance(o.tile.type, Tile)
        ),
        tile=max(tiles, default=1),
        views=any(isinstance(o, LoadViewTko) for o in loads),
        loops=any(not _multiplies(block) and any(o in loads for o in block.ops) for block in inner),
        stores=any(not _multiplies(b) and _loads_and_stores(b) for b in inner),
        reduces=any(isinstance(o, (Reduce, Scan)) for o in ops),
        several=any(isinstance(o, Reduce) and len(o.operands) > 1 for o in ops),
        live=live_words(entry.body),
        rows=min((_rows(o) for o in products), default=0),
        pure=all(_is_pure(block) for block in inner if _multiplies(block)),
        feedable=bool(products) and is_feedable(entry),
        waits=any(any(o in strong for o in walk(block)) for block in inner),
        distrusts_tileiras=any(_has_short_steps(o) for o in products) or any(map(_ends_or_prints, loops)),
    )


def _has_short_steps(o: Product) -> bool:
    """Whether a product of tf32 has fewer than the eight steps of the usual instruction."""
    return _element(o).name == "tf32" and isinstance(o.lhs.type, Tile) and o.lhs.type.shape[-1] < 8


def _ends_or_prints(loop: For | Loop) -> bool:
    """Whether a loop returns, prints, or continues with one value in place of two that begin differently."""
    for o in _own(loop.region):
        if isinstance(o, (Return, PrintTko)):
            return True
        if isinstance(o, Continue):
            firsts: dict[Value, Value] = {}
            for passed, first in zip(o.operands_, loop.initValues):
                if isinstance(passed.type, Tile) and firsts.setdefault(passed, first) is not first:
                    return True
    return False


def _own(block: Block) -> Iterator[Op]:
    """Yield the operations of a loop that are not in loops inside it."""
    for o in block.ops:
        yield o
        if not isinstance(o, LOOPS):
            for inner in o.blocks:
                yield from _own(inner)


def live_words(block: Block) -> int:
    """Return the most words of 32 bits that tiles of floats take at once, if each is kept from where it is computed."""
    lives = Liveness(block)
    ends = lives.ending()
    now = most = 0
    stack: list[tuple[Iterator[Op], Op | None]] = [(iter(block.ops), None)]
    while stack:
        ops, parent = stack[-1]
        o = next(ops, None)
        if o is None:
            stack.pop()
            if parent is None:
                continue
            o = parent
        elif inner := o.blocks:
            now += sum(_words(v) for b in inner for v in b.args if v in lives.last)
            stack.append((chain.from_iterable(b.ops for b in inner), o))
            continue
        now += sum(_words(v) for v in o.results if v in lives.last)
        most = max(most, now)
        now -= sum(_words(v) for v in ends.get(o, ()))
    return most


def _words(value: Value) -> int:
    """The words of a tile of floats; 0 for what is computed again where it is needed."""
    type = value.type
    if (
        not isinstance(type, Tile)
        or not type.shape
        or not isinstance(type.element, Scalar)
        or not type.element.is_float
    ):
        return 0
    return 0 if isinstance(value.owner, (Constant, Broadcast, Reshape)) else type.size * type.element.bits // 32


def _loads_and_stores(block: Block) -> bool:
    ops = list(walk(block))
    return any(isinstance(o, LOADS) for o in ops) and any(isinstance(o, (StoreViewTko, StorePtrTko)) for o in ops)


def _rows(o: Product) -> int:
    assert isinstance(o.lhs.type, Tile)
    return o.lhs.type.shape[-2]


def _is_pure(block: Block) -> bool:
    """Whether a block computes no floats but products."""
    return not any(
        _words(v) for o in block.ops if not isinstance(o, (*LOADS, Product, Permute)) for v in o.results
    ) and not any(o.blocks for o in block.ops)


def _size(value: Value) -> int:
    assert isinstance(value.type, Tile)
    return value.type.size


def _multiplies(block: Block) -> bool:
    return any(isinstance(o, Product) for o in block.ops)


def _loaded(block: Block) -> int:
    tiles = [o.results[0].type for o in block.ops if isinstance(o, (LoadViewTko, LoadPtrTko))]
    return sum(_bytes(t) for t in tiles if isinstance(t, Tile))


def _bytes(tile: Tile) -> int:
    return tile.size * (tile.element.row.memory_bits if isinstance(tile.element, Scalar) else 64) // 8


def _accumulators(block: Block) -> int:
    return sum(_size(o.acc) for o in block.ops if isinstance(o, Product))


def _is_chained(block: Block) -> bool:
    """Whether an operand of a product of a block follows from another product of the block."""
    products = [o for o in block.ops if isinstance(o, Product)]
    seen: set[Value] = set()
    todo = [v for o in products for v in (o.lhs, o.rhs)]
    while todo:
        value = todo.pop()
        owner = value.owner
        if value in seen or not isinstance(owner, Op):
            continue
        if owner in products:
            return True
        seen.add(value)
        todo += owner.operands
    return False


def _element(o: Product) -> Scalar:
    assert isinstance(o.lhs.type, Tile) and isinstance(o.lhs.type.element, Scalar)
    return o.lhs.type.element


def _is_narrow(o: Product) -> bool:
    return _element(o).is_float and _element(o).bits <= 8
