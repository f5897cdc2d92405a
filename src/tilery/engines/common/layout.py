"""The layout of tensors, views and memory of tile blocks, the same for all engines."""

from __future__ import annotations

from ...ops import Alloca
from ...types import FLOATS, GatherScatterView, PaddingValue, PartitionView, Ptr, Scalar, StridedView, Tile, TileView
from .tiles import pointee_bytes

WORD = 1 << 64
FAR = 1 << 61
"""No memory has this many elements. Offsets beyond it could wrap around, so such an access is a fault."""
MAX_RANK = 31
"""NumPy allows 64 dimensions: `extract` splits each dimension of a tile in two, and lanes take one."""


def layout(view: TileView) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return for each dimension of a tile the dimension of the tensor, and the elements that one index step moves."""
    match view:
        case StridedView():
            return view.dim_map, view.traversal_strides
        case PartitionView():
            return view.dim_map, view.tile_shape
        case GatherScatterView():
            # As on an H200, indices along the other dimensions are positions in the tensor too.
            dims = tuple(range(len(view.tile_shape)))
            return dims, (1,) * len(dims)
    raise AssertionError(view)


def wrapped(number: int) -> int:
    """Wrap a number to a signed 64-bit integer."""
    number %= WORD
    return number - WORD if number >> 63 else number


def alloca_bytes(o: Alloca) -> int:
    """Return the bytes that `alloca` gives each tile block."""
    tile = o.result.type
    assert isinstance(tile, Tile) and isinstance(tile.element, Ptr)
    return max(1, o.num_elem * pointee_bytes(tile.element.pointee))


def _patterns(element: Scalar) -> dict[PaddingValue, int]:
    """Return the bits of each padding value in the type's carrier, as on an H200 where it supports the type.

    Types without an infinity have a NaN instead, types without NaN their largest number, and types without a sign no
    negative zero.
    """
    form, shift = element.format, element.row.memory_bits - element.bits
    infinity = form.top + 1 if form.infinity else form.nan
    bits = {
        PaddingValue.ZERO: 0,
        PaddingValue.NEG_ZERO: form.sign,
        PaddingValue.NAN: form.nan,
        PaddingValue.POS_INF: infinity,
        PaddingValue.NEG_INF: form.sign | infinity,
    }
    return {value: pattern << shift for value, pattern in bits.items()}


PATTERNS = {s.name: _patterns(s) for s in FLOATS}
