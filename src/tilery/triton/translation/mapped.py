"""Functions of scalars mapped over tiles: a loop over the elements, which are kept in memory of the tile block."""

from __future__ import annotations

from ...ir import Value
from ...types import I8, Ptr, Scalar, Tile
from ..mlir import TOp
from .control import function_block
from .order import effects
from .shapes import to_shape
from .table import refuse
from .translator import Translator, scalar, tile_type


def map_scalars(t: Translator, op: TOp, xs: list[Value]) -> list[Value]:
    """Build the loop and return the tiles of results."""
    b, pack = t.builder, op.attrs.get("pack", 1)
    if effects(op.regions, t.functions).any:
        refuse(t, op, "a function that accesses memory")
    shape, size = tile_type(xs[0]).shape, tile_type(xs[0]).size
    linear = to_shape(t, b.iota(size), shape)
    arrays = [BlockMemory(t, scalar(x), size) for x in xs]
    tokens = [cells.store(b.broadcast(cells.base, *shape), linear, x, None) for cells, x in zip(arrays, xs)]
    results = [BlockMemory(t, element(t.result(op, n)), size) for n in range(len(op.results))]
    start = b.value("join_tokens", tokens) if len(tokens) > 1 else tokens[0]
    with b.for_(0, size, pack, carry=[start]) as (i, token):
        # The elements of a group: all of the first tile, then all of the second.
        places = [b.value("addi", i, b.const(k)) for k in range(pack)]
        given = [cells.load(cells.base, place, token) for cells in arrays for place in places]
        block = op.regions[0][0]
        for arg, value in zip(block.args, given, strict=True):
            t.values[arg] = value
        made = function_block(t, block)
        for n, cells in enumerate(results):
            for k, place in enumerate(places):
                token = cells.store(cells.base, place, made[n * pack + k], token)
        b.continue_(token)
    done = b.results[0]
    return [cells.load(b.broadcast(cells.base, *shape), linear, done) for cells in results]


def element(kind: Tile) -> Scalar:
    assert isinstance(kind.element, Scalar)
    return kind.element


class BlockMemory:
    """Memory of the tile block for the elements of a tile; those narrower than a byte take one."""

    def __init__(self, t: Translator, kind: Scalar, size: int) -> None:
        self.builder, self.kind = t.builder, kind
        self.stored = I8 if kind.bits < 8 else kind
        self.base = t.builder.value("alloca", num_elem=size, alignment=16, result=Tile((), Ptr(self.stored)))

    def store(self, base: Value, index: Value, value: Value, token: Value | None) -> Value:
        b = self.builder
        if self.stored is not self.kind:
            value = b.value("exti", value, "unsigned", to=Tile(tile_type(value).shape, self.stored))
        return b.value("store_ptr_tko", "weak", b.value("offset", base, index), value, token=token)

    def load(self, base: Value, index: Value, token: Value) -> Value:
        b = self.builder
        found: Value = b.op("load_ptr_tko", "weak", b.value("offset", base, index), token=token)[0]
        if self.stored is not self.kind:
            found = b.value("trunci", found, to=Tile(tile_type(found).shape, self.kind))
        return found
