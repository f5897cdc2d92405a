"""Every access to memory as one event, whatever its form: by pointers, through views, atomic, of four-bit elements.

Elements are as the kernel asks for them, one per element of the tile and per tile block, before the engine merges or
collapses anything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from math import prod
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...attrs import MemoryOrderingSemantics, MemoryScope
from ...ir import Op
from ...ops import AtomicCASTko, AtomicRedViewTko, AtomicRMWTko, LoadPtrTko, LoadViewTko, StorePtrTko, StoreViewTko
from ...types import Scalar, TileView
from ..common.tiles import Array
from .boxes import box_addresses
from .nibbles import paired_axis
from .ops.memory import pointee, stored
from .view_access import TensorRef, ViewAccess, locate_tiles, split_by_strides

Made = tuple[Array, Array, Array | None]
NO_IDS: Array = np.empty(0, np.uint64)


class AccessKind(Enum):
    """The effect of an access: read, write, or both as one atomic transaction per element."""

    READ = "read"
    WRITE = "write"
    UPDATE = "update"

    @property
    def noun(self) -> str:
        """The access with its article."""
        return f"{'an' if self is AccessKind.UPDATE else 'a'} {self.value}"


class AddressRange(NamedTuple):
    """The places of all elements of an access, and possibly more."""

    low: int
    high: int
    """The lowest and the highest address of an element."""
    bits: int
    """The bits that are set in some address."""
    whole: bool
    """Whether every element of the tile is accessed."""


class Boxes(NamedTuple):
    """The bytes of an access, if they form a box of the same shape in each tile block."""

    starts: Array
    """The address of the first element of each tile block."""
    dims: tuple[tuple[int, int], ...]
    """Sizes and positive strides in bytes, without dimensions of size 1."""


class Elements:
    """The elements of an access. To make them takes long, so that is done when a check first asks."""

    def __init__(
        self,
        make: Callable[[], Made],
        span: Callable[[], AddressRange | None],
        boxes: Callable[[], Boxes | None] = lambda: None,
        lane_size: int = 1,
    ) -> None:
        self._make, self._span, self._boxes = make, span, boxes
        self.lane_size = lane_size
        """Elements of one tile block."""

    @cached_property
    def made(self) -> Made:
        """Addresses, which of them are accessed, and halves of bytes."""
        return self._make()

    @cached_property
    def span(self) -> AddressRange | None:
        """A quick summary; None if there is none."""
        return self._span()

    @cached_property
    def boxes(self) -> Boxes | None:
        """The bytes of whole boxes; None if they are not known to be that."""
        return self._boxes()


@dataclass(slots=True, eq=False)
class Access:
    """One execution of a load, a store or an atomic operation by a batch of tile blocks.

    Arrays that have an element per element of the tile have the shape `(lanes, *tile)`; lane `i` is the tile block
    `blocks[i]`, and `ranks[i]` its number in the grid, x varying fastest. All of them are read-only.
    """

    op: Op
    ranks: Array
    blocks: Array
    """The position of each tile block in the grid: (lanes, 3)."""
    place: Elements
    bytes: int
    """The bytes that an element covers. A four-bit element covers the byte that it shares with a neighbour."""
    kind: AccessKind
    ordering: MemoryOrderingSemantics
    scope: MemoryScope | None
    """None for a weak access."""
    tokens: Array | None
    """The token that each lane waits for, an id; None without a token operand: it waits for nothing."""
    element: Scalar
    value: Array | None = None
    """The values that are stored or combined with memory; lanes may be 1."""
    refused: Array | None = None
    """The elements that a check refused, if any; `mask` does not select them."""
    wrote: Array | None = None
    """After a compare-and-swap: which elements replaced memory. None otherwise: all that `mask` selects."""
    result_token: Array = field(default_factory=lambda: NO_IDS)
    """After the access: the token that each lane makes, new ids, never 0, that grow with every execution."""

    @property
    def addresses(self) -> Array:
        """The address of each element; meaningless where `mask` is false."""
        return self.place.made[0]

    @property
    def mask(self) -> Array:
        """A mask of the elements that access memory: not those that are masked or outside the tensor of a view."""
        return self.place.made[1]

    @property
    def half(self) -> Array | None:
        """For four-bit elements, which half of the byte: 0 for the lower one."""
        return self.place.made[2]

    def drop(self, bad: Array) -> None:
        """Leave out elements: the machine then accesses only the others."""
        addresses, mask, half = self.place.made
        self.place.made = addresses, mask & ~bad, half
        self.refused = bad if self.refused is None else self.refused | bad

    @property
    def reads(self) -> bool:
        return self.kind is not AccessKind.WRITE

    @property
    def writes(self) -> bool:
        return self.kind is not AccessKind.READ

    @property
    def elements(self) -> tuple[Array, Array]:
        """The indices of the accessed elements in the flat tile of all lanes, and their addresses."""
        chosen = np.flatnonzero(self.mask)
        return chosen, self.addresses.reshape(-1)[chosen]

    @property
    def lane_size(self) -> int:
        """Elements of one lane: the lane of a flat index is the index divided by this."""
        return self.place.lane_size


@dataclass(slots=True, eq=False)
class Link:
    """One execution of an operation that makes a token without accessing memory."""

    op: Op
    ranks: Array
    tokens: tuple[Array, ...]
    """The tokens that it waits for, each an id per lane; none for `make_token`."""
    result_token: Array


KINDS: dict[type[Op], AccessKind] = {
    LoadPtrTko: AccessKind.READ,
    LoadViewTko: AccessKind.READ,
    StorePtrTko: AccessKind.WRITE,
    StoreViewTko: AccessKind.WRITE,
    AtomicRMWTko: AccessKind.UPDATE,
    AtomicCASTko: AccessKind.UPDATE,
    AtomicRedViewTko: AccessKind.UPDATE,
}
"""The effects of all operations that access memory; another operation with a memory ordering would be an error."""

STORED = {
    StorePtrTko: "value",
    StoreViewTko: "tile",
    AtomicRMWTko: "arg",
    AtomicCASTko: "val",
    AtomicRedViewTko: "value",
}
"""The operand that is written or combined with memory."""
POINTERS = ("source", "destination", "pointers")


class Blocks(Protocol):
    """Tile blocks that execute an operation together: a batch, or a part of one."""

    @property
    def ranks(self) -> Array: ...

    @property
    def blocks(self) -> Array: ...

    @property
    def lanes(self) -> int: ...


def make_access(o: Any, batch: Blocks, args: dict[str, Any], tokens: Array | None) -> Access:
    """Return the access of an operation; `args` are its operands by name."""
    if "view" in args:
        promised = getattr(o, "inbounds", (False,) * len(args["index"]))
        element = o.view.type.tensor_view.element
        place = view_elements(o.view.type, args["view"], args["index"], promised, batch.lanes)
    else:
        name = next(name for name in POINTERS if name in args)
        element = pointee(getattr(o, name).type)
        place = _pointed(args[name], args["mask"], batch.lanes, element)
    return Access(
        op=o,
        ranks=batch.ranks,
        blocks=batch.blocks,
        place=place,
        bytes=stored(element).itemsize,
        kind=KINDS[type(o)],
        ordering=o.memory_ordering_semantics,
        scope=o.memory_scope,
        tokens=tokens,
        element=element,
        value=args.get(STORED.get(type(o), "")),
    )


def _pointed(pointers: Array, mask: Array | None, lanes: int, element: Scalar) -> Elements:
    """The elements at a tile of addresses."""

    def make() -> Made:
        addresses = _each(lanes, pointers)
        chosen = np.broadcast_to(True, addresses.shape) if mask is None else _each(lanes, mask)
        return addresses, chosen, _halves(addresses) if element.bits == 4 else None

    def span() -> AddressRange:
        bits = int(np.bitwise_or.reduce(pointers, axis=None))
        return AddressRange(int(pointers.min()), int(pointers.max()), bits, mask is None or bool(mask.all()))

    def boxes() -> Boxes | None:
        """Tiles of consecutive elements, which programs make from `iota`."""
        if element.bits < 8 or not span().whole:
            return None
        size, flat = stored(element).itemsize, pointers.reshape(len(pointers), -1)
        count = flat.shape[1]
        if count > 1 and not (flat[:, 1:] - flat[:, :-1] == size).all():
            return None
        return Boxes(np.broadcast_to(flat[:, 0], lanes), ((count, size),) if count > 1 else ())

    return Elements(make, span, boxes, prod(pointers.shape[1:]))


def _each(lanes: int, array: Array) -> Array:
    return np.broadcast_to(array, (lanes, *array.shape[1:]))


def _halves(addresses: Array) -> Array:
    """Return the half of its byte that each four-bit element of a tile of pointers is: neighbours share an address."""
    axis = paired_axis(addresses)
    if axis is None:
        return np.broadcast_to(np.uint8(0), addresses.shape)  # the engine refuses to execute it
    parity = (np.arange(addresses.shape[axis]) & 1).astype(np.uint8)
    return np.broadcast_to(parity.reshape(-1, *(1,) * (addresses.ndim - axis - 1)), addresses.shape)


def view_elements(
    view: TileView, tensor: TensorRef, index: tuple[Array, ...], promised: tuple[bool, ...], lanes: int
) -> Elements:
    """Return the elements of tiles of a view.

    Elements outside the tensor are not accessed, except along a dimension whose index is `promised` to be inside.
    """
    split = split_by_strides(tensor, index)
    parts = [(chosen, locate_tiles(view, some, part, promised)) for chosen, some, part in split]
    narrow = view.tensor_view.element.bits == 4

    def make() -> Made:
        shape = (lanes, *view.tile_shape)
        addresses, mask = np.empty(shape, np.int64), np.empty(shape, bool)
        for chosen, where in parts:
            key = slice(None) if chosen is None else chosen
            addresses[key] = where.tile(box_addresses(where.starts, where.shape, where.strides))
            mask[key] = where.tile(_inside(where))
        if not narrow:
            return addresses, mask, None
        return addresses >> 1, mask, (addresses & 1).astype(np.uint8)

    alone = None if narrow or len(parts) != 1 else parts[0][1]
    return Elements(
        make,
        lambda: None if alone is None else _span(alone),
        lambda: None if alone is None else _boxes(alone, lanes),
        prod(view.tile_shape),
    )


def _boxes(where: ViewAccess, lanes: int) -> Boxes | None:
    """The boxes of an access, if there is one in each tile block, all of the same size."""
    if _span(where) is None or len(where.starts) != where.lanes or where.lanes not in (1, lanes):
        return None
    dims = tuple((n, stride) for n, stride in zip(where.extents, where.strides) if isinstance(n, int) and n > 1)
    if any(stride <= 0 for _, stride in dims):
        return None
    return Boxes(np.broadcast_to(where.starts, lanes), dims)


def _span(where: ViewAccess) -> AddressRange | None:
    """Return the places of the boxes, if each is in the tensor as a whole or is clipped in the same way."""
    if any(not isinstance(n, int) for n in (*where.skips, *where.extents)) or any(where.skips):
        return None
    extents = [n for n in where.extents if isinstance(n, int)]
    if 0 in extents or where.present is not None:
        return None
    reach = [(size - 1) * stride for size, stride in zip(extents, where.strides)]
    low = int(where.starts.min()) + sum(min(0, r) for r in reach)
    high = int(where.starts.max()) + sum(max(0, r) for r in reach)
    bits = int(np.bitwise_or.reduce(where.starts))
    for stride in where.strides:
        bits |= stride
    return AddressRange(low, high, bits, extents == list(where.shape))


def _inside(where: ViewAccess) -> Array:
    """Return a mask of the elements of the boxes that are in the tensor."""
    inside = np.ones((1,) * (1 + len(where.shape)), bool)
    if where.present is not None:
        inside = inside & where.present.reshape(-1, *(1,) * len(where.shape))
    for axis, (size, skip, extent) in enumerate(zip(where.shape, where.skips, where.extents)):
        numbers = np.arange(size).reshape(-1, *(1,) * (len(where.shape) - axis - 1))
        low, count = (np.reshape(n, (-1, *(1,) * len(where.shape))) for n in (skip, extent))
        inside = inside & (numbers >= low) & (numbers < low + count)
    return np.broadcast_to(inside, where.full_shape)
