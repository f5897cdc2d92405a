"""Shapes: broadcasting, reshaping, transposing, joining and splitting tiles."""

from __future__ import annotations

from ...ir import Value
from ...types import Tile
from ..mlir import TOp
from .table import translates
from .translator import Translator, tile_type


@translates("tt.splat", "tt.broadcast")
def broadcast(t: Translator, op: TOp, x: Value) -> Value:
    return t.builder.broadcast(x, *t.result(op).shape)


@translates("tt.expand_dims", "tt.reshape", "tt.unsplat", "tt.view")
def reshape(t: Translator, op: TOp, x: Value) -> Value:
    return to_shape(t, x, t.result(op).shape)


def to_shape(t: Translator, x: Value, shape: tuple[int, ...]) -> Value:
    tile = tile_type(x)
    return x if tile.shape == shape else t.builder.value("reshape", x, result=Tile(shape, tile.element))


@translates("tt.trans")
def transpose(t: Translator, op: TOp, x: Value) -> Value:
    return t.builder.value("permute", x, tuple(op.attrs["order"]))


@translates("tt.cat")
def cat(t: Translator, op: TOp, x: Value, y: Value) -> Value:
    return t.builder.cat(x, y, 0)


@translates("tt.join")
def join(t: Translator, op: TOp, x: Value, y: Value) -> Value:
    shape = tile_type(x).shape
    return t.builder.cat(to_shape(t, x, (*shape, 1)), to_shape(t, y, (*shape, 1)), len(shape))


@translates("tt.split")
def split(t: Translator, op: TOp, x: Value) -> list[Value]:
    shape = tile_type(x).shape
    zero = t.builder.const(0)
    made = []
    for half in range(2):
        index = [zero] * (len(shape) - 1) + [t.builder.const(half)]
        made.append(to_shape(t, t.builder.extract(x, index, (*shape[:-1], 1)), shape[:-1]))
    return made
