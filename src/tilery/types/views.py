"""Views: tensors in memory, and the ways to cut them into tiles."""

from __future__ import annotations

from collections.abc import Sequence

from ..diag import TileError
from ..enums import PaddingValue, PtrAttr
from ..version import V13_1, V13_3
from .basic import NUMBER_TEXT, NUMBERS, POOL, Scalar, Tile, Type, check_tile, commas, intern, quoted, wrong_type

DYNAMIC = -(1 << 63)
"""A size or stride of a tensor view that is known only at run time; `?` in text."""


class TensorView(Type):
    """A tensor in memory: element, sizes, and strides in elements. Each size and stride is constant or DYNAMIC.

    >>> from tilery.types import F32
    >>> TensorView(F32, (DYNAMIC, 64), (64, 1))
    tensor_view<?x64xf32, strides=[64,1]>
    """

    __slots__ = ("element", "ptr_attr", "shape", "strides")
    since = V13_1
    element: Scalar
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    ptr_attr: PtrAttr | None

    def __new__(
        cls, element: Type, shape: Sequence[int], strides: Sequence[int], ptr_attr: PtrAttr | None = None
    ) -> TensorView:
        shape, strides = tuple(shape), tuple(strides)
        key = (cls, element, shape, strides, ptr_attr)
        if (found := POOL.get(key)) is not None:
            return found  # type: ignore[return-value]  # keyed by this class
        if element not in NUMBERS:
            raise wrong_type("elementType", NUMBER_TEXT, element)
        if len(shape) != len(strides):
            raise TileError(
                "expected shape and stride to be of same rank but got shape of rank "
                f"{len(shape)} and stride of rank {len(strides)}"
            )
        for what, dims in (("sizes", shape), ("strides", strides)):
            if any(dim <= 0 and dim != DYNAMIC for dim in dims):
                shown = ", ".join(map(_dim, dims))
                raise TileError(f"dimensions must have strictly positive constant {what} but got [{shown}]")
        parts = ["".join(_dim(d) + "x" for d in shape) + element.text]
        if shape:
            parts.append(f"strides=[{','.join(map(_dim, strides))}]")
        if ptr_attr:
            parts.append(f"#cuda_tile.ptr_attr<{ptr_attr.text}>")
        text = f"tensor_view<{', '.join(parts)}>"
        return intern(cls, key, text, element=element, shape=shape, strides=strides, ptr_attr=ptr_attr)


class TileView(Type):
    """Base of the views that loads and stores use: an index selects a tile of a tensor."""

    __slots__ = ("padding_value", "tensor_view", "tile_shape")
    tile_shape: tuple[int, ...]
    tensor_view: TensorView
    padding_value: PaddingValue | None

    @property
    def index_rank(self) -> int:
        """The number of indices that select a tile."""
        return len(self.tile_shape)

    @property
    def tile_type(self) -> Tile:
        """The type of a selected tile."""
        return Tile(self.tile_shape, self.tensor_view.element)


class PartitionView(TileView):
    """A tensor view divided into a grid of tiles. An index selects a tile."""

    __slots__ = ("dim_map",)
    since = V13_1
    dim_map: tuple[int, ...]

    def __new__(
        cls,
        tile_shape: Sequence[int],
        tensor_view: Type,
        dim_map: Sequence[int] | None = None,
        padding_value: PaddingValue | None = None,
    ) -> PartitionView:
        tile_shape = tuple(tile_shape)
        dim_map = tuple(range(len(tile_shape)) if dim_map is None else dim_map)
        key = (cls, tile_shape, tensor_view, dim_map, padding_value)
        if (found := POOL.get(key)) is not None:
            return found  # type: ignore[return-value]  # keyed by this class
        view = _check_view(tile_shape, tensor_view, dim_map, padding_value)
        inner = f"{_tile_text(tile_shape)}, {_padding_text(padding_value)}{view.text}{_map_text(dim_map)}"
        text = f"partition_view<{inner}>"
        return intern(
            cls, key, text, tile_shape=tile_shape, tensor_view=view, dim_map=dim_map, padding_value=padding_value
        )


class StridedView(TileView):
    """Like a partition view, but neighbouring tiles are `traversal_strides` elements apart."""

    __slots__ = ("dim_map", "traversal_strides")
    since = V13_3
    traversal_strides: tuple[int, ...]
    dim_map: tuple[int, ...]

    def __new__(
        cls,
        tile_shape: Sequence[int],
        traversal_strides: Sequence[int],
        tensor_view: Type,
        dim_map: Sequence[int] | None = None,
        padding_value: PaddingValue | None = None,
    ) -> StridedView:
        tile_shape, steps = tuple(tile_shape), tuple(traversal_strides)
        dim_map = tuple(range(len(tile_shape)) if dim_map is None else dim_map)
        key = (cls, tile_shape, steps, tensor_view, dim_map, padding_value)
        if (found := POOL.get(key)) is not None:
            return found  # type: ignore[return-value]  # keyed by this class
        view = _check_view(tile_shape, tensor_view, dim_map, padding_value)
        if len(steps) != len(tile_shape):
            raise TileError(f"expected {len(tile_shape)} traversal strides, got {len(steps)}")
        if any(step <= 0 for step in steps):
            raise TileError(f"traversal strides must be strictly positive but got [{commas(steps)}]")
        text = (
            f"strided_view<{_tile_text(tile_shape)}, traversal_strides=[{','.join(map(str, steps))}], "
            f"{_padding_text(padding_value)}{view.text}{_map_text(dim_map)}>"
        )
        return intern(
            cls,
            key,
            text,
            tile_shape=tile_shape,
            traversal_strides=steps,
            tensor_view=view,
            dim_map=dim_map,
            padding_value=padding_value,
        )


class GatherScatterView(TileView):
    """A view whose `sparse_dim` is addressed by a tile of positions instead of one index."""

    __slots__ = ("sparse_dim",)
    since = V13_3
    sparse_dim: int

    def __new__(
        cls, tile_shape: Sequence[int], tensor_view: Type, sparse_dim: int, padding_value: PaddingValue | None = None
    ) -> GatherScatterView:
        tile_shape = tuple(tile_shape)
        key = (cls, tile_shape, tensor_view, sparse_dim, padding_value)
        if (found := POOL.get(key)) is not None:
            return found  # type: ignore[return-value]  # keyed by this class
        view = _check_view_ranks(tile_shape, tensor_view)
        _check_view_dims(tile_shape)
        if not 0 <= sparse_dim < len(view.shape):
            raise TileError(
                "gather dimension is outside of tensor view dimensions, expected strictly less than "
                f"{len(view.shape)}, got {sparse_dim}"
            )
        check_tile(tile_shape, view.element)
        _check_padding(view, padding_value)
        text = (
            f"gather_scatter_view<{_tile_text(tile_shape)}, {_padding_text(padding_value)}{view.text}, "
            f"sparse_dim={sparse_dim}>"
        )
        return intern(
            cls, key, text, tile_shape=tile_shape, tensor_view=view, sparse_dim=sparse_dim, padding_value=padding_value
        )


def _dim(value: int) -> str:
    return "?" if value == DYNAMIC else str(value)


def _tile_text(tile_shape: tuple[int, ...]) -> str:
    return f"tile=({'x'.join(map(str, tile_shape))})"


def _padding_text(padding: PaddingValue | None) -> str:
    return f"padding_value = {padding.text}, " if padding else ""


def _map_text(dim_map: tuple[int, ...]) -> str:
    return "" if dim_map == tuple(range(len(dim_map))) else f", dim_map=[{commas(dim_map)}]"


def _check_view(
    tile_shape: tuple[int, ...], tensor_view: Type, dim_map: tuple[int, ...], padding: PaddingValue | None
) -> TensorView:
    view = _check_view_ranks(tile_shape, tensor_view)
    if len(dim_map) != len(tile_shape):
        raise TileError(
            f"expected dim_map to map exactly all {len(tile_shape)} dimensions of the tile, got {len(dim_map)} mappings"
        )
    _check_view_dims(tile_shape)
    used: dict[int, int] = {}
    for tile_dim, view_dim in enumerate(dim_map):
        if view_dim < 0:
            raise TileError(f"target dimension must not be negative, got {view_dim}")
        if view_dim >= len(view.shape):
            raise TileError(
                "target dimension is outside of tensor view dimensions, expected strictly less than "
                f"{len(view.shape)}, got {view_dim}"
            )
        if view_dim in used:
            raise TileError(
                f"target dimension {view_dim} mapped at least twice "
                f"(for tile dimensions {used[view_dim]} and {tile_dim})"
            )
        used[view_dim] = tile_dim
    check_tile(tile_shape, view.element)
    _check_padding(view, padding)
    return view


def _check_view_ranks(tile_shape: tuple[int, ...], tensor_view: Type) -> TensorView:
    if not isinstance(tensor_view, TensorView):
        raise TileError(f"expected 'tensor_view' type, but got {tensor_view}")
    if not tile_shape:
        raise TileError("0-dimension tile shape is not supported")
    if len(tile_shape) != len(tensor_view.shape):
        raise TileError(
            "expected tensor_view rank and tile rank to match, got tensor_view of rank "
            f"{len(tensor_view.shape)} and tiles of rank {len(tile_shape)}"
        )
    return tensor_view


def _check_view_dims(tile_shape: tuple[int, ...]) -> None:
    if any(dim <= 0 for dim in tile_shape):
        raise TileError(f"tile shape dimensions must have positive length but got [{commas(tile_shape)}]")
    if any(dim & (dim - 1) for dim in tile_shape):
        raise TileError(f"tile shape dimensions must have power of two length but got [{commas(tile_shape)}]")


def _check_padding(view: TensorView, padding: PaddingValue | None) -> None:
    if padding not in (None, PaddingValue.ZERO) and not view.element.is_float:
        what = f"padding_value {padding.text} can only be used with floating point element types"
        raise TileError(f"{what}, got {quoted(view.element)}")
