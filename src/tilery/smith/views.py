"""Makers of views and of accesses through them: all indices are in the index space, all elements defined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import ops
from ..attrs import AtomicRMWMode
from ..declare.operation import OpDef
from ..ir import Value
from ..types import (
    DYNAMIC,
    NUMBERS,
    GatherScatterView,
    PaddingValue,
    PartitionView,
    Ptr,
    Scalar,
    StridedView,
    TensorView,
    Tile,
    TileView,
)
from . import draw
from .facts import F4
from .generic import ordering
from .kernel import Draft, KnownTensor, KnownView, create
from .memory import base, in_memory, modes, summed
from .values import get, index, index_element, number, pick, positions, tile_of

LARGEST = 1024


def kind_of(view: KnownView) -> TileView:
    assert isinstance(view.value.type, TileView)
    return view.value.type


# ---------------------------------------------------------------- tensors


def make_tensor(k: Draft, opdef: OpDef) -> bool:
    """`make_tensor_view` of any memory."""
    return tensor(k) is not None


def tensor(k: Draft, element: Scalar | None = None, writable: bool | None = None) -> KnownTensor | None:
    """Make a tensor: dense, with gaps, or transposed."""
    shape = [k.rng.choice((1, 2, 4, 8, 8, 16, 16, 32, 5, 12)) for _ in range(k.rng.choice((1, 1, 2, 2, 2, 3)))]
    while _product(shape) > LARGEST:
        shape[shape.index(max(shape))] //= 2
    order = list(range(len(shape)))
    if element is None and F4.since <= k.version and k.chance(0.04):
        element = F4
        shape[-1] += shape[-1] % 2  # two share a byte
    elif k.chance(0.2):
        k.rng.shuffle(order)
    gaps = [0 if element is F4 else k.rng.choice((0, 0, 0, 0, 4)) for _ in shape]
    strides, extent = layout(shape, order, gaps)
    start = base(k, in_memory(k.version) if element is None else [element], extent, writable)
    return None if start is None else _view_tensor(k, start, tuple(shape), strides)


def layout(shape: Sequence[int], order: Sequence[int], gaps: Sequence[int]) -> tuple[tuple[int, ...], int]:
    """Compute strides without overlap for dimensions in this order, outermost first, and the elements they span."""
    strides, extent = [1] * len(shape), 1
    for dim in reversed(order):
        strides[dim] = extent
        extent = extent * shape[dim] + gaps[dim]
    return tuple(strides), extent


def _product(numbers: Sequence[int]) -> int:
    total = 1
    for n in numbers:
        total *= n
    return total


def _view_tensor(k: Draft, start: Value, shape: tuple[int, ...], strides: tuple[int, ...]) -> KnownTensor:
    """Emit a view of the tensor at this address; some sizes and strides are dynamic."""
    pointer = tile_of(start).element
    assert isinstance(pointer, Ptr)
    width = Tile((), index_element(k, max(*shape, *strides)))
    open_shape = [k.chance(0.3) for _ in shape]
    open_strides = [k.chance(0.15) for _ in strides]
    sizes = tuple(number(k, width, n) for n, given in zip(shape, open_shape) if given)
    steps = tuple(number(k, width, n) for n, given in zip(strides, open_strides) if given)
    known_shape = [DYNAMIC if given else n for n, given in zip(shape, open_shape)]
    known_strides = [DYNAMIC if given else n for n, given in zip(strides, open_strides)]
    t = TensorView(pointer.pointee, known_shape, known_strides, pointer.ptr_attr)
    o = k.emit(ops.MakeTensorView(base=start, dynamicShape=sizes, dynamicStrides=steps, result=Value(t)))
    made = KnownTensor(o.result, k.facts.targets[start], shape, strides)
    k.tensors.append(made)
    return made


def a_tensor(k: Draft, element: Scalar | None, writable: bool | None) -> KnownTensor | None:
    """Find or make a tensor."""
    found = [
        t
        for t in k.tensors
        if (element is None or t.value.type.element is element)  # type: ignore[attr-defined]  # it is a tensor view
        and (writable is None or t.target.memory.writable == writable)
        and k.reachable(t.target.memory)
    ]
    if found and k.chance(0.8):
        return found[-1 - k.rng.randrange(min(3, len(found)))]
    return tensor(k, element, writable)


def tensor_shape(k: Draft, opdef: OpDef) -> bool:
    """`get_tensor_shape`, in a type that holds the sizes."""
    found = a_tensor(k, None, None)
    if found is not None:
        _sizes(k, opdef, found.value, found.shape)
    return found is not None


def _sizes(k: Draft, opdef: OpDef, source: Value, sizes: tuple[int, ...]) -> None:
    t = Tile((), index_element(k, max(sizes)))
    o = k.emit(create(opdef, src=source, result=tuple(Value(t) for _ in sizes)))
    for value, size in zip(o.results, sizes):
        k.facts.know(value, size, size)


# ---------------------------------------------------------------- views of tensors


def paddings(element: Scalar) -> list[PaddingValue]:
    """List the padding values that an element type can represent."""
    if element.is_int:
        return [PaddingValue.ZERO]
    form = element.format
    has = {
        PaddingValue.ZERO: form.subnormals,
        PaddingValue.NEG_ZERO: form.signed,
        PaddingValue.NAN: element is not F4,
        PaddingValue.POS_INF: form.infinity,
        PaddingValue.NEG_INF: form.infinity,
    }
    return [value for value, there in has.items() if there]


def make_view(k: Draft, opdef: OpDef) -> bool:
    """A view of the kind that the operation makes."""
    found = a_tensor(k, None, None)
    return found is not None and _view(k, opdef, found) is not None


def _view(
    k: Draft, opdef: OpDef, of: KnownTensor, tile: tuple[int, ...] | None = None, padded: bool = True
) -> KnownView | None:
    t = of.value.type
    assert isinstance(t, TensorView)
    rank = len(of.shape)
    if tile is None:
        tile = tuple(1 << k.rng.randrange(min(n, 32).bit_length() + (k.chance(0.2))) for n in of.shape)
        if t.element is F4 and all(n == 1 for n in tile):
            tile = (*tile[:-1], 2)
    if _product(tile) > LARGEST:
        return None
    pad = k.rng.choice(paddings(t.element)) if padded and k.chance(0.5) else None
    dim_map = list(range(rank))
    if k.chance(0.25) and opdef.cls is not ops.MakeGatherScatterView:
        k.rng.shuffle(dim_map)
    made: TileView
    if opdef.cls is ops.MakePartitionView:
        made = PartitionView(tile, t, dim_map, pad)
    elif opdef.cls is ops.MakeStridedView:
        made = StridedView(tile, [k.rng.randrange(1, n + 3) for n in tile], t, dim_map, pad)
    else:
        made = GatherScatterView(tile, t, k.rng.randrange(rank), pad)
    o = k.emit(create(opdef, tensor_view=of.value, result=Value(made)))
    view = KnownView(o.result, of)
    k.views.append(view)
    return view


def grid_of(t: TileView) -> list[tuple[int, int, int]]:
    """Return for each dimension of the tiles the tensor's dimension, the tile's size, and the step to the next tile."""
    assert isinstance(t, (PartitionView, StridedView))
    steps = t.traversal_strides if isinstance(t, StridedView) else t.tile_shape
    return list(zip(t.dim_map, t.tile_shape, steps))


def space(view: KnownView) -> list[int]:
    """Count the tiles of a view along each dimension of its index; along a sparse one, the positions."""
    t, sizes = kind_of(view), view.tensor.shape
    if isinstance(t, GatherScatterView):
        # Along the other dimensions, only the first tile is used.
        return [n if dim == t.sparse_dim else 1 for dim, n in enumerate(sizes)]
    assert isinstance(t, (PartitionView, StridedView))
    return [-(-sizes[dim] // step) for dim, _, step in grid_of(t)]


def whole(view: KnownView) -> list[int]:
    """Count the leading tiles along each dimension that lie entirely inside the tensor."""
    t, sizes = kind_of(view), view.tensor.shape
    if isinstance(t, GatherScatterView):
        return [n if dim == t.sparse_dim else int(n >= t.tile_shape[dim]) for dim, n in enumerate(sizes)]
    assert isinstance(t, (PartitionView, StridedView))
    return [max(0, (sizes[dim] - size) // step + 1) for dim, size, step in grid_of(t)]


def space_shape(k: Draft, opdef: OpDef) -> bool:
    """`get_index_space_shape` of a view that is a grid."""
    found = [v for v in k.views if not isinstance(kind_of(v), GatherScatterView)]
    view = k.rng.choice(found) if found and k.chance(0.7) else a_view(k, None, None, grid=True)
    if view is not None:
        _sizes(k, opdef, view.value, tuple(space(view)))
    return view is not None


def a_view(
    k: Draft, element: Scalar | None, writable: bool | None, tile: tuple[int, ...] | None = None, grid: bool = False
) -> KnownView | None:
    """Find or make a view; with `grid`, one that takes plain indices and has no padding."""

    def fine(view: KnownView) -> bool:
        t, memory = kind_of(view), view.tensor.target.memory
        if grid and (isinstance(t, GatherScatterView) or t.padding_value is not None):
            return False
        suits = (element is None or t.tensor_view.element is element) and (tile is None or t.tile_shape == tile)
        return suits and (writable is None or memory.writable == writable) and k.reachable(memory)

    found = [v for v in k.views if fine(v)]
    if found and k.chance(0.8):
        return k.rng.choice(found)
    of = tensor_for(k, element, tile) if tile is not None else a_tensor(k, element, writable)
    if of is None:
        return None
    kinds = [ops.MakePartitionView] if grid or k.chance(0.6) else [ops.MakeStridedView, ops.MakeGatherScatterView]
    known = [cls for cls in kinds if cls.opdef.since <= k.version] or [ops.MakePartitionView]
    return _view(k, k.rng.choice(known).opdef, of, tile, padded=not grid)


def tensor_for(k: Draft, element: Scalar | None, tile: tuple[int, ...]) -> KnownTensor | None:
    """Find or make a writable tensor with the rank of a tile that is at least as large."""
    shape = tuple(n * k.rng.choice((1, 1, 2)) for n in tile)
    strides, extent = layout(shape, range(len(tile)), [0] * len(tile))
    start = base(k, [element] if element is not None else in_memory(k.version), extent, True)
    return None if start is None else _view_tensor(k, start, shape, strides)


# ---------------------------------------------------------------- accesses


def indices(k: Draft, view: KnownView, counts: list[int], distinct: bool = False) -> tuple[Value, ...] | None:
    """Make indices for an access to a view, below these counts and of one type."""
    t = kind_of(view)
    sparse = t.sparse_dim if isinstance(t, GatherScatterView) else None
    if 0 in counts or (distinct and sparse is not None and counts[sparse] < t.tile_shape[sparse]):
        return None
    element = index_element(k, max(counts))
    found = []
    for dim, count in enumerate(counts):
        if dim != sparse:
            found.append(index(k, count, (), element))
        elif distinct:
            found.append(positions(k, count, (t.tile_shape[dim],), element))
        else:
            found.append(index(k, count, (t.tile_shape[dim],), element))
    return tuple(found)


def inbounds(k: Draft, o: Any, view: KnownView) -> None:
    """Add `inbounds` promises that hold."""
    if k.has(o.__class__, "inbounds"):
        fits = [k.facts.within(at, 0, count - 1) for at, count in zip(o.index, whole(view))]
        o.inbounds = tuple(fine and k.chance(0.5) for fine in fits)


def hinted(k: Draft, o: Any) -> None:
    if k.chance(0.15):
        o.optimization_hints = draw.hints(k.rng, "allow_tma", "latency")


def load_view(k: Draft, opdef: OpDef) -> bool:
    """A load; a view without padding only loads tiles inside the tensor."""
    view = a_view(k, None, None)
    if view is None:
        return False
    memory = view.tensor.target.memory
    at = indices(k, view, whole(view) if kind_of(view).padding_value is None else space(view))
    if at is None:
        return False
    o = ops.LoadViewTko(view=view.value, index=at, token=k.reading(memory), **ordering(k, opdef))
    hinted(k, o)
    inbounds(k, o, view)
    k.read(memory, k.emit(o).result_token)
    return True


def store_view(k: Draft, opdef: OpDef) -> bool:
    """A store of a visible tile, or through a visible view."""
    if not k.effects:
        return False
    views = [v for v in k.views if v.tensor.target.memory.writable]
    if views and k.chance(0.5):
        view: KnownView | None = k.rng.choice(views)
        assert view is not None
        value = get(k, kind_of(view).tile_type)
    else:
        known = [s for s in NUMBERS if s.since <= k.version]
        found = pick(k, lambda t: isinstance(t, Tile) and t.rank > 0 and t.element in known and t.size <= LARGEST)
        value = get(k, Tile((8,), k.rng.choice(known))) if found is None else found
        t = tile_of(value)
        assert isinstance(t.element, Scalar)
        view = a_view(k, t.element, True, t.shape)
    return view is not None and _store(k, opdef, view, value)


def _store(k: Draft, opdef: OpDef, view: KnownView, value: Value) -> bool:
    at = indices(k, view, space(view), distinct=True)
    if at is None:
        return False
    drawn = ordering(k, opdef)
    o = ops.StoreViewTko(view=view.value, index=at, tile=value, token=k.settle(), **drawn)
    hinted(k, o)
    inbounds(k, o, view)
    k.wrote(k.emit(o).result_token)
    return True


def reduce_view(k: Draft, opdef: OpDef) -> bool:
    """`atomic_red_view_tko` through a grid without padding, in a scope that it accepts."""
    if not k.effects:
        return False
    view = a_view(k, k.rng.choice(summed(k)), True, grid=True)
    at = None if view is None else indices(k, view, whole(view))
    if view is None or at is None:
        return False
    element = kind_of(view).tensor_view.element
    mode = k.rng.choice([m for m in modes(element) if m is not AtomicRMWMode.XCHG])
    scope = k.rng.choice(opdef.field("memory_scope").only)
    value = get(k, kind_of(view).tile_type)
    drawn = ordering(k, opdef) | {"mode": mode, "memory_scope": scope}
    o = ops.AtomicRedViewTko(view=view.value, index=at, value=value, token=k.settle(), **drawn)
    k.wrote(k.emit(o).result_token)
    return True
