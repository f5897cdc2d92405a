"""Find the operands of products that a warp of their own can copy, and what that warp must compute for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....analysis.uses import Uses
from ....diag import TileError
from ....enums import MemoryOrderingSemantics
from ....ir import Block, Op, Refused, Value, walk
from ....ops import (
    Assume,
    Continue,
    Entry,
    For,
    LoadViewTko,
    MmaF,
    MmaFScaled,
    MmaI,
    Permute,
    PrintTko,
    Reshape,
    StorePtrTko,
)
from ....types import Scalar, Tile, TileView, Token

WIDE = ("f16", "bf16")
SHORT = ("f8E4M3FN", "f8E5M2")
"""Types of operands that are multiplied from shared memory as they were copied."""
PART_BYTES = 16 << 10
"""The most bytes of a tile that a group of warps stores at once, where the tile can be split."""
ROWS, COLUMNS = 64, 8
"""The smallest product of an instruction."""


@dataclass(eq=False, slots=True)
class Feed:
    """Operands that are copied to one stage of shared memory."""

    block: Block
    loads: tuple[LoadViewTko, ...]
    products: tuple[MmaF, ...]
    last: Op
    """The operation of the block after which the stage is free."""
    channel: int = 0
    """The stages that it takes in turn with the feeds of other loops that copy as much."""
    held: bool = False
    """Whether the products are in loops inside of the block."""


@dataclass(slots=True)
class Feeds:
    """All that is copied for a kernel."""

    feeds: list[Feed]
    overlapping: set[For]
    """Loops whose products only add to what the loop carries: one may start before the last one has ended."""

    @property
    def channels(self) -> list[Feed]:
        """One feed of each channel."""
        return list({feed.channel: feed for feed in reversed(self.feeds)}.values())[::-1]

    @property
    def products(self) -> list[MmaF]:
        return list(dict.fromkeys(o for feed in self.feeds for o in feed.products))


def refuse(o: Op, why: str) -> Refused:
    return Refused(o, f"{o.name}: no warp-specialised kernel: {why}")


def is_feedable(entry: Entry) -> bool:
    """Tell whether the loops of an entry can be fed."""
    try:
        needed(entry, find_feeds(entry))
    except TileError:
        return False
    return True


def is_exact(o: MmaF) -> bool:
    """Whether sums of 8-bit floats must not be rounded as instructions do."""
    return element_bits(o) == 8 and not o.fast_acc


def element_bits(o: MmaF) -> int:
    """The bits of an element of an operand."""
    assert isinstance(o.lhs.type, Tile) and isinstance(o.lhs.type.element, Scalar)
    return o.lhs.type.element.bits


def find_feeds(entry: Entry) -> Feeds:
    """Return what is copied for the products in loops; raise Refused if a product is none of those that this can do."""
    uses = Uses(entry)
    bodies = dict(_loop_bodies(entry))
    homes = {o: block for block in (entry.body, *bodies.values()) for o in block.ops}
    products = [o for body in bodies.values() for o in body.ops if isinstance(o, MmaF)]
    for o in walk(entry.body):
        if isinstance(o, (MmaF, MmaI, MmaFScaled)) and o not in products:
            raise refuse(o, "it is not in a loop over a range, without a branch around that loop")
        if isinstance(o, (PrintTko, StorePtrTko)):
            raise refuse(o, "it prints, or stores through pointers")
    if not products:
        raise refuse(entry, "it has no loop with products")
    users: dict[LoadViewTko, list[MmaF]] = {}
    for o in products:
        _check_product(o)
        for value in (o.lhs, o.rhs):
            load = loaded(value)
            if load is not None:
                users.setdefault(load, []).append(o)
            elif value is o.rhs or is_exact(o):
                raise refuse(o, "an operand of a product is not loaded, as it is")
    groups: dict[tuple[Block, MmaF], list[LoadViewTko]] = {}
    for load, its in users.items():
        if load not in homes:
            raise refuse(load, "it is loaded in a branch")
        if load.memory_ordering_semantics is not MemoryOrderingSemantics.WEAK:
            raise refuse(load, "the load is not weak")
        _check_uses(uses, load, its)
        groups.setdefault((homes[load], its[0]), []).append(load)
    feeds = [_feed(homes[loads[0]], tuple(loads), users) for loads in groups.values()]
    places = {o: n for n, o in enumerate(walk(entry.body))}
    feeds.sort(key=lambda feed: places[feed.loads[0]])
    parents = {loop.region: homes[loop] for loop in bodies}
    _share(feeds, parents)
    overlapping = {
        loop
        for loop, body in bodies.items()
        if (own := [o for o in body.ops if isinstance(o, MmaF)])
        and all(_only_adds(uses, loop, o) and not is_exact(o) for o in own)
        and not any(feed.held for feed in feeds if set(own).intersection(feed.products))
        and all(loaded(o.lhs) is not None for o in own)
    }
    return Feeds(feeds, overlapping)


def _loop_bodies(entry: Entry) -> Iterator[tuple[For, Block]]:
    """Yield the loops over ranges that only such loops are around, and their bodies."""
    todo = [entry.body]
    while todo:
        for o in todo.pop(0).ops:
            if isinstance(o, For):
                if not isinstance(o.region.ops[-1], Continue):
                    raise refuse(o, "its body ends early")
                yield o, o.region
                todo.append(o.region)


def loaded(value: Value) -> LoadViewTko | None:
    """Return the load that an operand comes from, unchanged but for its shape."""
    while isinstance(owner := value.owner, (Permute, Reshape)):
        value = owner.source
    return owner if isinstance(owner, LoadViewTko) else None


def _feed(block: Block, loads: tuple[LoadViewTko, ...], users: dict[LoadViewTko, list[MmaF]]) -> Feed:
    products = tuple(dict.fromkeys(o for load in loads for o in users[load]))
    wanted = set(products)
    around = [o for o in block.ops if o in wanted or (o.blocks and wanted.intersection(walk(o)))]
    return Feed(block, loads, products, around[-1], held=any(o not in block.ops for o in products))


def _share(feeds: list[Feed], parents: dict[Block, Block]) -> None:
    """Let loops that follow each other use the same stages for as much, in the same order."""
    known: dict[tuple[object, ...], int] = {}
    counts: dict[Block, int] = {}
    for feed in feeds:
        number = counts[feed.block] = counts.get(feed.block, 0) + 1
        key = (parents.get(feed.block), number, feed.held, tuple(load.tile.type for load in feed.loads))
        if feed.held or key not in known:
            known[key] = len(set(known.values()))
        feed.channel = known[key]


def _check_uses(uses: Uses, load: LoadViewTko, products: list[MmaF]) -> None:
    """Refuse a load that something else uses than products."""
    todo = [load.tile]
    while todo:
        for o in uses.of(todo.pop()):
            if isinstance(o, (Permute, Reshape)):
                todo += o.results
            elif o not in products:
                raise refuse(o, "an operand of a product is used for something else")


def _check_product(o: MmaF) -> None:
    lhs, acc = o.lhs.type, o.acc.type
    assert isinstance(lhs, Tile) and isinstance(acc, Tile) and isinstance(lhs.element, Scalar)
    if lhs.element.name not in (*WIDE, *SHORT):
        raise refuse(o, f"elements of {lhs.element.name} are not multiplied from shared memory as they are")
    if not isinstance(acc.element, Scalar) or acc.element.name != "f32":
        raise refuse(o, "its sums are not f32")
    if len(acc.shape) != 2 or acc.shape[0] % ROWS or acc.shape[1] < COLUMNS or lhs.shape[1] * lhs.element.bits < 256:
        raise refuse(o, "its tiles are too small, or have more than two dimensions")


def _only_adds(uses: Uses, loop: For, o: MmaF) -> bool:
    """Whether a product adds to a value that the loop carries, and nothing else in the loop uses either."""
    end = loop.region.ops[-1]
    args = loop.region.args[1:]
    return (
        o.acc in args
        and uses.of(o.acc) == [o]
        and uses.of(o.result) == [end]
        and [i for i, v in enumerate(end.operands) if v is o.result] == [args.index(o.acc)]
    )


def needed(entry: Entry, found: Feeds) -> tuple[set[Op], set[Value]]:
    """Return the operations and values from which the bounds of the loops and the indices of their loads follow."""
    ops: set[Op] = set()
    values: set[Value] = set()
    bodies = dict(_loop_bodies(entry))
    homes = {arg: (loop, i) for loop, body in bodies.items() for i, arg in enumerate(body.args)}
    parents = {o: loop for loop, body in bodies.items() for o in body.ops}
    todo: list[Value] = []

    def enter(loop: For | None) -> None:
        while loop is not None and loop not in ops:
            ops.add(loop)
            todo.extend((loop.lowerBound, loop.upperBound, loop.step))
            loop = parents.get(loop)

    for feed in found.feeds:
        for load in feed.loads:
            todo += [load.view, *load.index]
        ops.update(feed.loads)
        enter(parents.get(feed.loads[0]))
    while todo:
        value = todo.pop()
        if value in values:
            continue
        values.add(value)
        owner = value.owner
        if value in homes:
            loop, position = homes[value]
            enter(loop)
            if position:
                todo += [loop.initValues[position - 1], loop.region.ops[-1].operands[position - 1]]
        elif isinstance(owner, For):
            enter(owner)
            position = owner.resultValues.index(value)
            values.add(owner.region.args[position + 1])
            todo += [owner.initValues[position], owner.region.ops[-1].operands[position]]
        elif isinstance(owner, Op):
            if owner.blocks or not (isinstance(owner, Assume) or _is_scalar(owner)):
                raise refuse(owner, "what is loaded, or how often, depends on more than numbers")
            ops.add(owner)
            todo += owner.operands
    return ops, values


def _is_scalar(o: Op) -> bool:
    """Whether an operation computes numbers, or views of tensors, without accessing memory."""
    types = [v.type for v in o.results]
    return not any(isinstance(t, Token) or (isinstance(t, Tile) and t.shape) for t in types)


def copied_bytes(load: LoadViewTko) -> int:
    """The bytes of a tile that is loaded."""
    assert isinstance(load.view.type, TileView)
    size = 1
    for n in load.view.type.tile_shape:
        size *= n
    return size * load.view.type.tensor_view.element.row.memory_bits // 8
