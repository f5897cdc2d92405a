"""How a kernel is compiled: warps, pipeline stages, how views are accessed. The default follows from rules."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ...ir import walk
from ...ops import Entry, For, LoadPtrTko, LoadViewTko, Loop, MmaF, MmaFScaled, MmaI, Reduce, Scan
from ...types import Scalar, Tile, TileView
from .targets import Target

POINTERS, DEVICE, HOST = "pointers", "device", "host"
"""How views access memory: through pointers, or through tensor maps that the kernel or the host makes."""

REGISTERS = 192
"""Registers per thread that accumulators may take before a kernel gets eight warps."""
HALF_SHARED, ALL_SHARED = 113 << 10, 227 << 10
ELEMENTS_PER_THREAD = 32
PRODUCTS = (MmaF, MmaI, MmaFScaled)


@dataclass(frozen=True, slots=True)
class Config:
    """How a kernel is compiled."""

    num_warps: int = 4
    num_stages: int = 3
    views: str = POINTERS
    unroll: int = 0
    """How often loops without matrix products are unrolled; 0 leaves it to Triton."""
    folded: bool = False
    """Whether the grid is folded into one dimension, for grids with more than 65535 tile blocks along y or z."""


def default_config(entry: Entry, target: Target) -> Config:
    """Choose a configuration by rules, without measuring."""
    products = [o for o in walk(entry.body) if isinstance(o, PRODUCTS)]
    return _with_products(entry, target, products) if products else _without_products(entry)


def _with_products(entry: Entry, target: Target, products: list[MmaF | MmaI | MmaFScaled]) -> Config:
    elements = 0
    for o in products:
        acc, lhs = o.acc.type, o.lhs.type
        assert isinstance(acc, Tile) and isinstance(lhs, Tile) and isinstance(lhs.element, Scalar)
        factor = 2 if lhs.element.is_float and lhs.element.bits == 8 else 1
        elements = max(elements, acc.size * factor)
    warps = 4 if elements / 128 <= REGISTERS else 8
    if not target.tma:
        return Config(warps, 2 if not target.nvidia else 3)
    limit = min(target.shared, HALF_SHARED if warps == 4 else ALL_SHARED)
    return Config(warps, _stages(entry, limit), HOST)


def _stages(entry: Entry, limit: int) -> int:
    """The most stages whose tiles fit in shared memory: those loaded by the loops that multiply matrices."""
    largest = 0
    for loop in (o for o in walk(entry.body) if isinstance(o, (For, Loop))):
        inner = loop.region.ops
        if any(isinstance(o, PRODUCTS) for o in inner):
            loads = [o.view.type for o in inner if isinstance(o, LoadViewTko)]
            views = [v for v in loads if isinstance(v, TileView)]
            largest = max(largest, sum(prod(v.tile_shape) * v.tensor_view.element.row.memory_bits // 8 for v in views))
    return max(2, min(5, limit // largest)) if largest else 3


def _without_products(entry: Entry) -> Config:
    tiles = [
        v.type.size
        for o in walk(entry.body)
        if isinstance(o, (LoadViewTko, LoadPtrTko))
        for v in o.results
        if isinstance(v.type, Tile)
    ]
    size = max(tiles, default=1)
    warps = 1
    while warps < 16 and size / (32 * warps) > ELEMENTS_PER_THREAD:
        warps *= 2
    if any(isinstance(o, (Reduce, Scan)) for o in walk(entry.body)):
        warps = min(warps, 4) if size <= 4096 else max(4, min(warps, 8))
    return Config(max(warps, 4 if size >= 1024 else 1), 3, POINTERS, unroll=4)
