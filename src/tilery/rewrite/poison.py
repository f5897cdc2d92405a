"""Poisoned padding: elements that a load leaves undefined become NaN, so that results which depend on them show it."""

from __future__ import annotations

from ..attrs import Dense
from ..ir import Block, clone, walk
from ..ops import Constant, LoadPtrTko, Module
from ..types import PaddingValue, Scalar, Tile, TileView, Type
from .editing import insert


def poison_padding(module: Module) -> Module:
    """Return a copy of a module in which floats that nothing defines are NaN.

    These are the elements outside the tensor of a view without a padding value, and those that the mask of a load
    leaves out if it has no padding. Types without NaN have their largest number instead. Integers stay as they are.
    """
    made: Module = clone(module)
    for o in walk(made):
        for v in (*o.results, *(v for block in o.blocks for v in block.args)):
            v.type = poisoned(v.type)
        for block in o.blocks:
            for load in [i for i in block.ops if isinstance(i, LoadPtrTko)]:
                _pad(block, load)
    return made


def poisoned(type: Type) -> Type:
    """Return a view with NaN for its padding value if it has none and its elements are floats; others are the same."""
    if not isinstance(type, TileView) or type.padding_value is not None or not type.tensor_view.element.is_float:
        return type
    cls, *fields, _ = type.key  # the padding value is the last one
    made: Type = cls(*fields, PaddingValue.NAN)
    return made


def _pad(block: Block, o: LoadPtrTko) -> None:
    tile = o.result.type
    assert isinstance(tile, Tile)
    if o.mask is None or o.paddingValue is not None or not _is_float(tile):
        return
    nan = Constant(value=Dense.of(tile, [_nan(tile)]))
    insert(block, o, nan)
    o.paddingValue = nan.result


def _is_float(tile: Tile) -> bool:
    return isinstance(tile.element, Scalar) and tile.element.is_float


def _nan(tile: Tile) -> int:
    assert isinstance(tile.element, Scalar)
    return tile.element.format.nan
