"""Tiles that a loop carries and moves as a whole: `carry_distances`.

    p = loop(p = start): p + n          becomes         d = loop(d = 0): d + n, with start + d for p

A tile of pointers that a loop increases is then affine if the one before the loop is, and needs no memory.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..analysis.affine import Forms, Polynomial
from ..ir import Block, Op, Value, walk
from ..ops import AddI, Continue, For, If, Loop, Offset
from ..rewrite.editing import index_of, insert, replace_uses
from ..types import I64, Ptr, Scalar, Tile
from .constants import filled
from .emitter import Appender

LONGEST = 64
"""How many sums lead from a carried tile to the next one at most."""


def carry_distances(entry: Op, forms: Forms) -> int:
    """Let loops carry how far a tile has moved instead of the tile; return the number of tiles.

    Distances are sums modulo the width of the integers, for pointers modulo 2**64, as those of the tiles are.
    """
    made = 0
    # Inner loops come first: then what they leave is a distance for the loops around them.
    for block in reversed([block for o in walk(entry) if o.nested for block in o.blocks]):
        for o in list(block.ops):
            if isinstance(o, For | Loop):
                made += sum(_carry_distance(entry, block, o, n, forms) for n in range(len(o.initValues)))
    return made


def _carry_distance(entry: Op, block: Block, loop: For | Loop, n: int, forms: Forms) -> bool:
    """Replace one carried tile, if every iteration adds the same to all its elements."""
    at = n + isinstance(loop, For)
    tile, start = loop.region.args[at], loop.initValues[n]
    if not isinstance(tile.type, Tile) or not tile.type.shape or not _moves(tile.type):
        return False
    steps = [(home, o, _distance(tile, o.operands_[n], forms)) for home, o in _continues(loop.region)]
    if any(found is None for _, _, found in steps) or not any(found for _, _, found in steps):
        return False
    kind = tile.type.element if isinstance(tile.type.element, Scalar) else I64
    distance = Value(Tile((), kind), loop.region)
    for home, o, found in steps:
        assert found is not None
        made, total = Appender(forms.known, o.loc), distance
        for step in found:
            total = made.add(AddI(lhs=total, rhs=made.scalar(step, kind))).result
        insert(home, o, *made.ops)
        o.operands_ = (*o.operands_[:n], total, *o.operands_[n + 1 :])
    before = Appender(forms.known, loop.loc)
    zero = before.add(filled(Tile((), kind), 0)).result
    insert(block, loop, *before.ops)
    loop.initValues = (*loop.initValues[:n], zero, *loop.initValues[n + 1 :])
    loop.region.args[at] = distance
    inside = Appender(forms.known, loop.loc)
    values = {tile: _moved(inside, start, distance)}
    loop.region.ops[:0] = inside.ops
    if isinstance(loop, For):
        old, left = loop.resultValues[n], Value(distance.type, loop)
        loop.resultValues = (*loop.resultValues[:n], left, *loop.resultValues[n + 1 :])
        after = Appender(forms.known, loop.loc)
        values[old] = _moved(after, start, left)
        where = index_of(block, loop) + 1
        block.ops[where:where] = after.ops
    replace_uses(entry, values)
    return True


def _moves(type: Tile) -> bool:
    return isinstance(type.element, Ptr) or (type.element.is_int and type.element.bits > 1)


def _distance(tile: Value, next: Value, forms: Forms) -> list[Polynomial] | None:
    """Return what is added to all elements of a tile to make it the next one; None if that is not so."""
    found: list[Polynomial] = []
    while next is not tile:
        match next.owner:
            case Offset(ptr=source, offset=step):
                pass
            case AddI(lhs=source, rhs=step):
                if (form := forms[step]) is None or not form.uniform:
                    source, step = step, source
            case _:
                return None
        if (form := forms[step]) is None or not form.uniform or form.base is not None or len(found) == LONGEST:
            return None
        found.append(form.start)
        next = source
    return found


def _continues(block: Block) -> Iterator[tuple[Block, Continue]]:
    """Yield what continues the loop of this body, with the blocks that it ends."""
    for o in block.ops:
        if isinstance(o, Continue):
            yield block, o
        elif isinstance(o, If):
            for branch in o.blocks:
                yield from _continues(branch)


def _moved(made: Appender, start: Value, distance: Value) -> Value:
    """Build the tile at a distance from the one before the loop."""
    assert isinstance(start.type, Tile)
    steps = made.spread(distance, start.type.shape)
    if isinstance(start.type.element, Ptr):
        return made.add(Offset(ptr=start, offset=steps, result=Value(start.type))).result
    return made.add(AddI(lhs=start, rhs=steps)).result
