"""Places: the memory that each access of a function touches, as far as the text fixes it.

for place in places(entry, forms(entry)):
    place.root          # the argument, alloca or global that the addresses belong to, if that is known
    place.address       # the address of each element, as a form
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from ...attrs import MemoryOrderingSemantics as Ordering
from ...attrs import MemoryScope
from ...declare.fastclass import dataclass
from ...ir import Op, Value
from ...ops import (
    AndI,
    Assume,
    AtomicCASTko,
    AtomicRedViewTko,
    AtomicRMWTko,
    Broadcast,
    GetGlobal,
    LoadPtrTko,
    LoadViewTko,
    MakeGatherScatterView,
    MakePartitionView,
    MakeStridedView,
    MakeTensorView,
    Reshape,
    StorePtrTko,
    StoreViewTko,
)
from ...types import DYNAMIC, PartitionView, Ptr, StridedView, TensorView, Tile, TileView
from ..effects import accesses, memory_ordering
from .affine import MAX_NUMBERS
from .forms import Array, LinearForm, LinearForms

PointerAccess = LoadPtrTko | StorePtrTko | AtomicRMWTko | AtomicCASTko
ViewAccess = LoadViewTko | StoreViewTko | AtomicRedViewTko


@dataclass(slots=True, eq=False)
class MemoryAccess:
    """One access: what it does, and where."""

    op: Op
    reads: bool
    writes: bool
    ordering: Ordering
    scope: MemoryScope | None
    size: int
    """The bytes of an element; 0 if elements share a byte."""
    mask: Value | None
    pointer: Value
    """The pointers, or the view."""
    key: Hashable
    """Equal for accesses to the same elements, in the same iteration of all loops around both."""
    address: LinearForm | None = None
    active: Array | None = None
    """Which elements may be accessed, as far as that is known; None for all."""
    is_exact: bool = True
    """Whether they are surely accessed; False if a mask is not known."""

    @property
    def is_weak(self) -> bool:
        return self.ordering is Ordering.WEAK

    @property
    def releases(self) -> bool:
        return self.ordering in (Ordering.RELEASE, Ordering.ACQ_REL)

    @property
    def acquires(self) -> bool:
        return self.ordering in (Ordering.ACQUIRE, Ordering.ACQ_REL)

    @property
    def root(self) -> Value | None:
        """The one pointer that the addresses are counted from."""
        if self.address is None:
            return None
        found = [value for value in self.address.terms if is_pointer(value)]
        return found[0] if len(found) == 1 and self.address.terms[found[0]] == 1 else None

    @property
    def numbers(self) -> Array:
        """The known part of the addresses of all elements that may be accessed."""
        assert self.address is not None
        numbers = self.address.numbers
        if self.active is None:
            return numbers.reshape(-1)
        return np.broadcast_to(numbers, self.active.shape)[self.active]


def is_pointer(value: Value) -> bool:
    return isinstance(value.type, Tile) and isinstance(value.type.element, Ptr)


def places(root: Op, known: LinearForms) -> list[MemoryAccess]:
    """List the accesses inside an operation, in textual order."""
    found: list[MemoryAccess] = []
    for o in accesses(root):
        if isinstance(o, PointerAccess):
            found.append(_through_pointers(o, known))
        elif isinstance(o, ViewAccess):
            found.append(_through_view(o, known))
    return found


def _through_pointers(o: PointerAccess, known: LinearForms) -> MemoryAccess:
    pointer = o.source if isinstance(o, LoadPtrTko) else o.destination if isinstance(o, StorePtrTko) else o.pointers
    assert isinstance(pointer.type, Tile) and isinstance(pointer.type.element, Ptr)
    place = _place(o, pointer, pointer.type.element.pointee.row.memory_bits, o.mask)
    place.address = known[pointer]
    place.key = ("pointers", place.size, place.address.key)
    if o.mask is not None:
        place.is_exact = known[o.mask].known is not None
        active = _may_be_true(o.mask, known)
        place.active = None if active is None else np.broadcast_to(active, pointer.type.shape)
    return place


def _may_be_true(mask: Value, known: LinearForms, depth: int = 8) -> Array | None:
    """Which elements of a mask may be true; None for all."""
    numbers = known[mask].known
    if numbers is not None:
        return np.asarray(numbers != 0)
    match mask.owner if depth else None:
        case AndI() as o:
            given = [_may_be_true(value, known, depth - 1) for value in (o.lhs, o.rhs)]
            sides = [side for side in given if side is not None]
            return np.logical_and.reduce(np.broadcast_arrays(*sides)) if sides else None
        case Reshape() | Broadcast() as o:
            inner = _may_be_true(o.source, known, depth - 1)
            assert isinstance(o.source.type, Tile) and isinstance(o.result.type, Tile)
            if inner is None:
                return None
            inner = np.broadcast_to(inner, o.source.type.shape)
            shape = o.result.type.shape
            return inner.reshape(shape) if isinstance(o, Reshape) else np.broadcast_to(inner, shape)
    return None


def _through_view(o: ViewAccess, known: LinearForms) -> MemoryAccess:
    view = o.view.type
    assert isinstance(view, TileView)
    place = _place(o, o.view, view.tensor_view.element.row.memory_bits, None)
    place.key = ("view", known.first(o.view), tuple(known.key(i) for i in o.index))
    tensor = tensor_of(o.view)
    if tensor is not None and isinstance(view, (PartitionView, StridedView)) and place.size:
        # The tensor and the way it is cut decide which elements these are, not the value of the padding.
        shape = (known.key(tensor.base), tensor.result.type, *(known.key(v) for v in tensor.operands[1:]))
        cut = view.traversal_strides if isinstance(view, StridedView) else view.tile_shape
        place.key = ("view", shape, view.tile_shape, cut, view.dim_map, tuple(known.key(i) for i in o.index))
        _locate(place, view, tensor, o.index, known)
    return place


def tensor_of(view: Value) -> MakeTensorView | None:
    """The operation that makes the tensor of a view."""
    while isinstance(owner := view.owner, (Assume, MakePartitionView, MakeStridedView, MakeGatherScatterView)):
        view = owner.value if isinstance(owner, Assume) else owner.tensor_view
    return owner if isinstance(owner, MakeTensorView) else None


def _locate(
    place: MemoryAccess,
    view: PartitionView | StridedView,
    tensor: MakeTensorView,
    index: tuple[Value, ...],
    known: LinearForms,
) -> None:
    """Compute the addresses, if the strides are known and the tile is not too large."""
    strides, sizes = strides_of(tensor, known), view.tensor_view.shape
    if any(strides[d] is None for d in view.dim_map) or np.prod(view.tile_shape) > MAX_NUMBERS:
        return
    steps = view.traversal_strides if isinstance(view, StridedView) else view.tile_shape
    address: LinearForm | None = known[tensor.base]
    inside = np.ones(view.tile_shape, bool)
    is_certain = True
    for axis, (tile, step, dim) in enumerate(zip(view.tile_shape, steps, view.dim_map)):
        at = known[index[axis]]
        along = np.arange(tile, dtype=np.int64).reshape(-1, *(1,) * (len(steps) - axis - 1))
        unit = (strides[dim] or 0) * place.size
        if address is not None:
            address = address.plus(at, step * unit)
        if address is not None:
            address = LinearForm(address.terms, address.numbers + along * np.int64(unit))
        if at.constant is not None and sizes[dim] != DYNAMIC:
            inside = inside & (at.constant * step + along < sizes[dim])
        else:
            is_certain = False
    if address is not None:
        place.address = LinearForm(address.terms, np.broadcast_to(address.numbers, view.tile_shape))
        place.active = inside if is_certain or not inside.all() else None


def strides_of(tensor: MakeTensorView, known: LinearForms) -> list[int | None]:
    """The strides of a tensor in elements, as far as they are known."""
    dynamic = iter(tensor.dynamicStrides)
    assert isinstance(tensor.result.type, TensorView)
    strides = tensor.result.type.strides
    return [known[next(dynamic)].constant if stride == DYNAMIC else stride for stride in strides]


def _place(o: PointerAccess | ViewAccess, pointer: Value, bits: int, mask: Value | None) -> MemoryAccess:
    load, store = isinstance(o, (LoadPtrTko, LoadViewTko)), isinstance(o, (StorePtrTko, StoreViewTko))
    ordering = memory_ordering(o)
    assert ordering is not None
    return MemoryAccess(
        o, not store, not load, ordering, o.memory_scope, bits // 8 if bits % 8 == 0 else 0, mask, pointer, None
    )


def overlap(a: MemoryAccess, b: MemoryAccess) -> bool:
    """Whether two accesses surely touch a common byte, if both are executed in the same iteration of all loops."""
    if a.key == b.key:
        return bool(a.active is None or a.active.any()) and bool(b.active is None or b.active.any())
    if a.address is None or b.address is None or a.address.terms != b.address.terms or not (a.size and b.size):
        return False
    if any(not (isinstance(t.type, Tile) and not t.type.shape) for t in a.address.terms):
        return False  # symbols that are tiles: their elements need not be at the same positions
    return shares_byte(a.numbers, a.size, b.numbers, b.size)


def shares_byte(a: Array, a_size: int, b: Array, b_size: int) -> bool:
    """Whether elements of this size at these numbers share a byte."""
    if not a.size or not b.size:
        return False
    starts = np.unique(a)
    # The last element of `a` that starts before the end of an element of `b` must end after its start.
    at = np.searchsorted(starts, b + b_size, side="left") - 1
    return bool(((at >= 0) & (starts[np.maximum(at, 0)] + a_size > b)).any())


def global_of(value: Value) -> str | None:
    """The name of the global variable that a symbol is the address of."""
    return value.owner.name_ if isinstance(value.owner, GetGlobal) else None
