"""Views of tensors in memory, and access through views and pointers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..diag import TileError
from ..enums import PaddingValue
from ..ir import Value
from ..types import (
    DYNAMIC,
    I32,
    GatherScatterView,
    PartitionView,
    Ptr,
    StridedView,
    TensorView,
    Tile,
    TileView,
    Type,
)
from .arithmetic import expand, match, tile_of
from .constants import is_number

if TYPE_CHECKING:
    from .builder import Builder


def listed(given: Any) -> tuple[Any, ...]:
    """Return a sequence as a tuple; a single item stands for a sequence of one."""
    return tuple(given) if isinstance(given, Iterable) else (given,)


def pointee(base: Value, what: str) -> Ptr:
    """Return the pointer type of a value that must be one pointer."""
    if not isinstance(base.type, Tile) or not isinstance(base.type.element, Ptr) or base.type.rank:
        raise TileError(f"{what}: 'base' must be a pointer, got {base.type}")
    return base.type.element


def tensor(b: Builder, base: Value, shape: Any, strides: Any) -> Value:
    """Make a tensor view; without strides it is row-major."""
    pointer = pointee(base, "tensor")
    sizes = listed(shape)
    steps = row_major(sizes) if strides is None else listed(strides)
    if len(sizes) != len(steps):
        raise TileError(f"tensor: 'shape' has {len(sizes)} dimensions and 'strides' has {len(steps)}")
    for what, dims in (("shape", sizes), ("strides", steps)):
        for dim in dims:
            if not isinstance(dim, (int, Value)):
                raise TileError(f"tensor: '{what}' must be integers and values, got {dim!r}")
    made = TensorView(
        pointer.pointee,
        [d if isinstance(d, int) else DYNAMIC for d in sizes],
        [d if isinstance(d, int) else DYNAMIC for d in steps],
        pointer.ptr_attr,
    )
    values = [[d for d in dims if isinstance(d, Value)] for dims in (sizes, steps)]
    return b.value("make_tensor_view", base, *values, result=made)


def row_major(sizes: Sequence[Any]) -> tuple[Any, ...]:
    """Return the strides of a tensor without gaps; products with dynamic sizes are computed at run time."""
    steps: list[Any] = [1] if sizes else []
    for size in reversed(sizes[1:]):
        steps.append(size if steps == [1] else size * steps[-1])
    return tuple(reversed(steps))


def view(
    b: Builder,
    base: Value,
    shape: Any,
    tile: Any,
    strides: Any,
    padding: PaddingValue | str | None,
    dim_map: Sequence[int] | None,
    traversal: Any,
    sparse_dim: int | None,
) -> Value:
    """Make a view of tiles, of a tensor or of the memory at a pointer."""
    if isinstance(base.type, TensorView):
        if shape is not None or strides is not None:
            raise TileError("view: 'base' is a tensor, which has a shape and strides of its own")
        source = base
    elif shape is None:
        raise TileError("view: 'shape' is missing: the sizes of the tensor at the pointer")
    else:
        source = tensor(b, base, shape, strides)
    fill = None if padding is None else PaddingValue(padding)
    tiles = listed(tile)
    made: Type
    if sparse_dim is not None:
        if dim_map is not None or traversal is not None:
            raise TileError("view: a view with 'sparse_dim' has neither 'dim_map' nor 'traversal'")
        made = GatherScatterView(tiles, source.type, sparse_dim, fill)
        return b.value("make_gather_scatter_view", source, result=made)
    if traversal is not None:
        made = StridedView(tiles, listed(traversal), source.type, dim_map, fill)
        return b.value("make_strided_view", source, result=made)
    made = PartitionView(tiles, source.type, dim_map, fill)
    return b.value("make_partition_view", source, result=made)


def indices(b: Builder, what: str, view: Value, given: Any) -> tuple[Value, ...]:
    """Return the indices of a tile; integers become constants of the type of the others, or i32."""
    if not isinstance(view.type, TileView):
        raise TileError(f"{what}: 'view' must be a view of tiles, got {view.type}; make one with view(...)")
    items = listed(given)
    rank = view.type.index_rank
    if len(items) != rank:
        raise TileError(f"{what}: 'index' must have {rank} items for {view.type}, got {len(items)}")
    scalars = [v.type for v in items if isinstance(v, Value) and isinstance(v.type, Tile) and v.type.rank == 0]
    wanted = scalars[0] if scalars else Tile((), I32)
    return tuple(b.const(v, wanted) if is_number(v) else v for v in items)


def load_ptr(b: Builder, pointers: Value, mask: Any, other: Any, more: dict[str, Any]) -> Value:
    """Load elements through pointers; mask and padding are broadcast."""
    tile = tile_of(pointers, "load_ptr")
    if not isinstance(tile.element, Ptr):
        raise TileError(f"load_ptr: 'pointers' must be pointers, got {pointers.type}")
    if mask is not None:
        more["mask"] = expand(b, mask, tile.shape)
    if other is not None:
        more["paddingValue"] = b.full(tile.shape, other, tile.element.pointee) if is_number(other) else other
    found: Value = b.op("load_ptr_tko", source=pointers, **more)[0]
    return found


def store_ptr(b: Builder, pointers: Value, value: Any, mask: Any, more: dict[str, Any]) -> Value:
    """Store elements through pointers; value and mask are broadcast."""
    tile = tile_of(pointers, "store_ptr")
    if not isinstance(tile.element, Ptr):
        raise TileError(f"store_ptr: 'pointers' must be pointers, got {pointers.type}")
    if is_number(value):
        value = b.full(tile.shape, value, tile.element.pointee)
    pointers, value = match(b, "store_ptr", pointers, value)
    if mask is not None:
        more["mask"] = expand(b, mask, tile_of(pointers, "store_ptr").shape)
    return b.value("store_ptr_tko", destination=pointers, value=value, **more)
