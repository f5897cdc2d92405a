"""Views of tensors: where the elements of a tile are, as pointers and a mask, or as a box of a tensor map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...ir import Value
from ...types import GatherScatterView, PaddingValue, PartitionView, StridedView, TileView
from ..cuda.contract import Descriptor, Extent
from .config import HOST, POINTERS
from .emit import Val, carrier, names
from .state import Lowering

LARGE = 1 << 62
TMA_ELEMENTS = ("f16", "bf16", "f32", "tf32", "f8E4M3FN", "f8E5M2", "i8", "i16", "i32")


@dataclass(slots=True)
class ViewRef:
    """A tensor in memory: its address, and sizes and strides in elements, as lowered and as the module has them."""

    base: Val
    shape: tuple[int | Val, ...]
    strides: tuple[int | Val, ...]
    origin: tuple[Value, tuple[int | Value, ...], tuple[int | Value, ...]]
    slot: list[Any] = field(default_factory=list)
    """The lines after the view was made: where descriptors are made."""
    descriptors: dict[tuple[str, tuple[int, ...]], str] = field(default_factory=dict)
    """Tensor maps by their type and the order of their dimensions."""


@dataclass(frozen=True, slots=True)
class Where:
    """The places of the elements of a tile. Unit dimensions of the tile may be missing."""

    pointers: Val
    mask: Val | None
    nibbles: Val | None = None
    """For four-bit elements: whether each is in the upper half of its byte."""


def layout(view: TileView) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return for each dimension of a tile the dimension of the tensor, and the elements that one index step moves."""
    match view:
        case StridedView():
            return view.dim_map, view.traversal_strides
        case PartitionView():
            return view.dim_map, view.tile_shape
    dims = tuple(range(len(view.tile_shape)))
    return dims, (1,) * len(dims)


def as_i64(low: Lowering, number: int | Val, signed: bool = False) -> Val:
    return low.constant(number, (), "i64") if isinstance(number, int) else low.integer(number, "i64", signed)


def locate(low: Lowering, view: TileView, ref: ViewRef, index: tuple[Val, ...], promised: tuple[bool, ...]) -> Where:
    """Compute the pointers of a tile, and which of them are inside the tensor."""
    return _Locator(low, view, ref, promised).run(index)


class _Locator:
    """The sums that make up the pointers of a tile."""

    def __init__(self, low: Lowering, view: TileView, ref: ViewRef, promised: tuple[bool, ...]) -> None:
        self.low, self.view, self.ref, self.promised = low, view, ref, promised
        self.sparse = view.sparse_dim if isinstance(view, GatherScatterView) else None
        self.packed = view.tensor_view.element.is_packed
        shape = view.tile_shape
        # Row tiles keep their unit dimensions: without them, Triton converts layouts in every iteration of a loop.
        squeeze = self.sparse is None and sum(size != 1 for size in shape) >= 2
        self.kept = [k for k, size in enumerate(shape) if size != 1 or not squeeze]
        self.shape = tuple(shape[k] for k in self.kept)
        self.base = ref.base
        self.start: Val | None = None
        """For packed elements: the sum of scalar offsets, in elements."""
        self.offsets: Val | None = None
        self.mask: Val | None = None
        self.scalar_mask: Val | None = None

    def run(self, index: tuple[Val, ...]) -> Where:
        low = self.low
        dims, steps = layout(self.view)
        for k, (dim, step) in enumerate(zip(dims, steps)):
            self._dimension(k, dim, step, index[k])
        mask = self.mask
        if self.scalar_mask is not None:
            spread = low.splat(self.scalar_mask, self.shape)
            mask = spread if mask is None else low.map("arith.andi", mask, spread)
        assert self.offsets is not None
        offsets, odd = self.offsets, None
        if self.packed:
            if self.start is not None:
                offsets = low.map("arith.addi", offsets, low.splat(self.start, self.shape))
            odd = low.compare("ne", low.map("arith.andi", offsets, low.like(1, offsets)), low.like(0, offsets))
            offsets = low.map("arith.shrsi", offsets, low.like(1, offsets))
        pointers = low.splat(self.base, self.shape)
        text = f"tt.addptr {pointers.name}, {offsets.name} : {pointers.type}, {offsets.type}"
        return Where(low.make(text, self.shape, pointers.element), mask, odd)

    def _dimension(self, k: int, dim: int, step: int, index: Val) -> None:
        low = self.low
        size, stride = self.ref.shape[dim], self.ref.strides[dim]
        if k == self.sparse:
            positions = low.integer(index, "i64", signed=False)
            self._line(k, positions, positions, size, stride)
            return
        wide = low.integer(index, "i64", signed=self.sparse is not None)
        origin = wide if step == 1 else low.map("arith.muli", wide, low.constant(step, (), "i64"))
        if index.element == "i64" and self.sparse is None and not self.promised[k]:
            self._also(low.compare("ult", wide, low.constant(LARGE // step, (), "i64")))
        self._advance(origin if stride == 1 else low.map("arith.muli", origin, as_i64(low, stride)))
        if k not in self.kept:
            if not self.promised[k]:
                self._also(low.compare("ult", origin, as_i64(low, size)))
            return
        lanes = low.integer(low.iota(self.view.tile_shape[k]), "i64", signed=False)
        positions = low.map("arith.addi", low.splat(origin, lanes.shape), lanes)
        self._line(k, positions, lanes, size, stride)

    def _advance(self, by: Val) -> None:
        """Move the base by elements; two packed elements share an address."""
        low = self.low
        if self.packed:
            self.start = by if self.start is None else low.map("arith.addi", self.start, by)
            return
        self.base = low.make(f"tt.addptr {self.base.name}, {by.name} : {self.base.type}, i64", (), self.base.element)

    def _also(self, condition: Val) -> None:
        old = self.scalar_mask
        self.scalar_mask = condition if old is None else self.low.map("arith.andi", old, condition)

    def _line(self, k: int, positions: Val, lanes: Val, size: int | Val, stride: int | Val) -> None:
        """Add what one dimension contributes to offsets and mask."""
        low, at = self.low, self.kept.index(k)
        line = [n if i == at else 1 for i, n in enumerate(self.shape)]
        moved = lanes
        if stride != 1:
            moved = low.map("arith.muli", lanes, low.splat(as_i64(low, stride), lanes.shape))
        spread = low.broadcast(low.reshape(moved, line), self.shape)
        self.offsets = spread if self.offsets is None else low.map("arith.addi", self.offsets, spread)
        if not self.promised[k]:
            inside = low.compare("ult", positions, low.splat(as_i64(low, size), positions.shape))
            wide = low.broadcast(low.reshape(inside, line), self.shape)
            self.mask = wide if self.mask is None else low.map("arith.andi", self.mask, wide)


# ---------------------------------------------------------------- tensor maps


@dataclass(frozen=True, slots=True)
class Box:
    """A box of a tensor map: the descriptor, its type, the box in the descriptor's order, and its first element."""

    descriptor: str
    type: str
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    """For each dimension of the descriptor the dimension of the tile."""
    origin: tuple[Val, ...]

    @property
    def at(self) -> str:
        return f"{self.descriptor}[{names(self.origin)}]"

    def next(self, low: Lowering) -> Box:
        """Return the box after this one along the last dimension."""
        width = low.constant(self.shape[-1], (), "i32")
        return replace(self, origin=(*self.origin[:-1], low.map("arith.addi", self.origin[-1], width)))

    def trimmed(self, least: int) -> int:
        """Return how many leading unit dimensions can be left out if `least` dimensions must remain."""
        lead = 0
        while lead < len(self.shape) - least and self.shape[lead] == 1:
            lead += 1
        return lead


def box(low: Lowering, view: TileView, ref: ViewRef, index: tuple[Val, ...], parts: int = 1) -> Box | None:
    """The box of a tile, or None if the view cannot be accessed through a tensor map.

    With `parts`, it is the first of so many that lie side by side along the last dimension in memory.

    The descriptor has the unit dimensions of the box first, whatever their order in the tensor, because only leading
    ones can be left out of what is loaded: an operand of a product then stays in shared memory as it was copied.
    """
    if low.config.views == POINTERS or not low.target.tma or not _mappable(low, view, ref):
        return None
    dims, steps = layout(view)
    innermost = len(dims) - 1
    order = sorted(range(len(dims)), key=lambda d: d == innermost or view.tile_shape[dims.index(d)] != 1)
    axes = tuple(dims.index(d) for d in order)
    *outer, inner = (view.tile_shape[k] for k in axes)
    shape = (*outer, inner // parts)
    kind = low.descriptor_type(shape, carrier(view.tensor_view.element, low.target, memory=True))
    key = (kind, tuple(order))
    if key not in ref.descriptors:
        host = _host(low, view, ref, order, shape) if low.config.views == HOST else None
        ref.descriptors[key] = _device(low, ref, order, kind) if host is None else low.host_descriptor(host, kind)
    origin = []
    for k in axes:
        number = low.integer(index[k], "i32", signed=False)
        origin.append(number if steps[k] == 1 else low.map("arith.muli", number, low.constant(steps[k], (), "i32")))
    return Box(ref.descriptors[key], kind, shape, axes, tuple(origin))


def _mappable(low: Lowering, view: TileView, ref: ViewRef) -> bool:
    element = view.tensor_view.element
    if isinstance(view, GatherScatterView) or element.name not in TMA_ELEMENTS or len(view.tile_shape) > 5:
        return False
    if view.padding_value not in (None, PaddingValue.ZERO):
        return False
    base, _, strides = ref.origin
    size = element.row.memory_bits // 8
    dims, _ = layout(view)
    inner = view.tile_shape[dims.index(len(dims) - 1)] * size
    if inner < 16 or ref.strides[-1] != 1 or low.divisor(base) < 16:
        return False
    if any(low.divisor(s) * size % 16 for s in strides[:-1]):
        return False
    # Coordinates have 32 bits, and TMA knows no overlapping rows.
    wide = [v for v in (*ref.shape, *ref.strides) if isinstance(v, Val) and v.bits > 32]
    return not wide and all(isinstance(v, Val) or 0 < v < 1 << 31 for v in (*ref.shape, *ref.strides))


def ends_on_chunk(low: Lowering, view: TileView, ref: ViewRef, promised: tuple[bool, ...]) -> bool:
    """Whether a store through a tensor map stays inside: it writes chunks of 16 bytes, also past the end of a row."""
    dims, _ = layout(view)
    size = view.tensor_view.element.row.memory_bits // 8
    return promised[dims.index(len(dims) - 1)] or low.divisor(ref.origin[1][-1]) * size % 16 == 0


def _source(value: int | Value) -> int | Value:
    """The value that assumptions are about."""
    while isinstance(value, Value) and getattr(value.owner, "name", "") == "assume":
        value = value.owner.value  # type: ignore[union-attr]
    return value


def _host(
    low: Lowering, view: TileView, ref: ViewRef, order: Sequence[int], shape: tuple[int, ...]
) -> Descriptor | None:
    """The tensor map, if its parts are parameters of the kernel and constants."""
    address, sizes, strides = ref.origin
    base, *rest = map(_source, (address, *(sizes[d] for d in order), *(strides[d] for d in order)))
    parts = []
    for part in rest:
        if isinstance(part, int):
            parts.append(Extent(part))
        elif part in low.parameters:
            parts.append(Extent(parameter=low.parameters[part]))
        else:
            return None
    if base not in low.parameters:
        return None
    rank = len(shape)
    assert isinstance(base, Value)
    return Descriptor(
        low.parameters[base], view.tensor_view.element.name, tuple(parts[:rank]), tuple(parts[rank:]), shape
    )


def _device(low: Lowering, ref: ViewRef, order: Sequence[int], kind: str) -> str:
    """Make a tensor map in the kernel, right after the view."""
    keep, low.out = low.out, ref.slot
    shape = [ref.shape[d] for d in order]
    sizes = [low.constant(n, (), "i32") if isinstance(n, int) else low.integer(n, "i32", signed=False) for n in shape]
    strides = [as_i64(low, ref.strides[d]) for d in order]
    made = low.fresh("d")
    low.line(
        f"{made} = tt.make_tensor_descriptor {ref.base.name}, [{names(sizes)}], [{names(strides)}] : "
        f"{ref.base.type}, {kind}"
    )
    low.out = keep
    return made
