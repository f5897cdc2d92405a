"""Accesses that are outside their memory, or of no use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from ...analysis.memory.affine import LinearForm, is_scalar
from ...analysis.memory.places import MemoryAccess, is_pointer, strides_of, tensor_of
from ...ir import Value
from ...ops import (
    Alloca,
    AndI,
    CmpI,
    ExtI,
    Extract,
    GetGlobal,
    GetTileBlockId,
    Insert,
    OrI,
    StoreViewTko,
)
from ...types import DYNAMIC, PartitionView, StridedView, TensorView, TileView
from ..branches import is_skipped_by_first
from ..facts import Facts
from ..rule import ERROR, WARNING, Match, RuleFile

rule = RuleFile()


@rule("out-of-bounds", ERROR)
def out_of_bounds(facts: Facts) -> Iterator[Match]:
    """An access is outside its alloca, global or array, or a tile is outside its tensor.

    The index is known, and so is the size of the memory. The access destroys what is next to it, or returns it. Of
    an argument only the start is known: a negative offset that the first tile block uses is before it. A tile that
    is wholly outside its tensor is not stored, and loads padding or undefined elements.

    Fix: Correct the index, or make the memory larger.

    Bad:
        entry @k(%x: tile<f32>) {
          %p = alloca num_elem = 4, alignment = 4 : tile<ptr<f32>>
          %four = constant <i32: 4> : tile<i32>
          %q = offset %p, %four : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
          %t = store_ptr_tko weak %q, %x : tile<ptr<f32>>, tile<f32> -> token
          %v, %u = load_ptr_tko weak %q token=%t : tile<ptr<f32>> -> tile<f32>, token
          print_tko "%f\\n", %v : tile<f32> -> token
          return
        }
    Good:
        entry @k(%x: tile<f32>) {
          %p = alloca num_elem = 4, alignment = 4 : tile<ptr<f32>>
          %three = constant <i32: 3> : tile<i32>
          %q = offset %p, %three : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
          %t = store_ptr_tko weak %q, %x : tile<ptr<f32>>, tile<f32> -> token
          %v, %u = load_ptr_tko weak %q token=%t : tile<ptr<f32>> -> tile<f32>, token
          print_tko "%f\\n", %v : tile<f32> -> token
          return
        }
    """
    for place in facts.places:
        reach = _reach(place, facts)
        if reach is None:
            continue
        assert place.root is not None
        extent, low, high = facts.extent(place.root), reach[0], reach[1] + place.size
        if low < 0 and (extent is not None or place.root in facts.entry.body.args):
            yield Match(
                place.op, f"{place.op.name}: it accesses memory {-low} bytes before the start of {_name(place.root)}"
            )
        elif extent is not None and high > extent:
            what = f"{_name(place.root)}, which has {extent} bytes"
            yield Match(place.op, f"{place.op.name}: it accesses memory {high - extent} bytes past the end of {what}")
    yield from _tiles_outside(facts)


def _reach(place: MemoryAccess, facts: Facts) -> tuple[int, int] | None:
    """How far the elements that the first tile block accesses are from the start of their memory, if that is known."""
    if (
        place.address is None
        or place.root is None
        or not place.size
        or not place.is_exact
        or not is_pointer(place.pointer)
    ):
        return None
    numbers = place.numbers
    others = {value: factor for value, factor in place.address.terms.items() if value is not place.root}
    if not numbers.size:
        return None
    if _are_coordinates(others):
        return None if is_skipped_by_first(place.op, facts) else (int(numbers.min()), int(numbers.max()))
    return facts.extremes(place.op, LinearForm(others, numbers))


SHORTEST = 4
"""The shortest tile for which an index that is multiplied by its length counts as a mistake."""


def _skips_tiles(form: LinearForm, step: int, size: int) -> bool:
    """Whether a position times the length of a tile is outside of several tiles, but for the first tile block."""
    if len(form.terms) != 1 or not _are_coordinates(form.terms):
        return False
    (times,) = form.terms.values()
    return times == step >= SHORTEST and step < size <= (times + int(form.numbers.min())) * step


def _are_coordinates(values: Iterable[Value]) -> bool:
    """Whether values are positions of the tile block, which are 0 for the first one."""
    return all(isinstance(value.owner, GetTileBlockId) for value in values)


def _name(root: Value) -> str:
    owner = root.owner
    if isinstance(owner, Alloca):
        return "the alloca"
    return f"global @{owner.name_}" if isinstance(owner, GetGlobal) else "the argument"


def _tiles_outside(facts: Facts) -> Iterator[Match]:
    for place in facts.places:
        view = place.pointer.type
        if not isinstance(view, (PartitionView, StridedView)):
            continue
        steps = view.traversal_strides if isinstance(view, StridedView) else view.tile_shape
        for step, dim, index in zip(steps, view.dim_map, place.op.index):  # type: ignore[attr-defined]
            size, least, form = view.tensor_view.shape[dim], facts.range(index).lo, facts.forms[index]
            message = ""
            if size != DYNAMIC and least * step >= size:
                message = f"the tile starts at element {least * step} along dimension {dim}, which has {size} elements"
            elif size != DYNAMIC and _skips_tiles(form, step, size):
                message = f"the index along dimension {dim} counts tiles, not elements: it is {step} times the position"
            elif _are_coordinates(form.terms) and form.numbers.min() < 0 and not is_skipped_by_first(place.op, facts):
                message = f"the index along dimension {dim} is {int(form.numbers.min())}, before the first tile"
            elif form.terms and (reach := facts.extremes(place.op, form)) is not None:
                if size != DYNAMIC and reach[1] * step >= size:
                    start = f"in the last iteration the tile starts at element {reach[1] * step}"
                    message = f"{start} along dimension {dim}, which has {size} elements"
                elif reach[0] < 0:
                    message = f"in an iteration the index along dimension {dim} is {reach[0]}, before the first tile"
            if message:
                yield Match(place.op, f"{place.op.name}: {message}", severity=WARNING)
                break


@rule("index-out-of-range", ERROR)
def index_out_of_range(facts: Facts) -> Iterator[Match]:
    """The index of an `extract` or `insert` selects a part that does not exist.

    The larger tile is divided into a grid of parts, and the index counts parts, not elements. The result is
    undefined.

    Fix: Divide the index by the size of a part, or correct it.

    Bad:
        entry @k() {
          %a = iota : tile<8xi32>
          %at = constant <i32: 4> : tile<i32>
          %part = extract %a[%at] : tile<8xi32> -> tile<4xi32>
          print_tko "%d\\n", %part : tile<4xi32> -> token
          return
        }
    Good:
        entry @k() {
          %a = iota : tile<8xi32>
          %at = constant <i32: 1> : tile<i32>
          %part = extract %a[%at] : tile<8xi32> -> tile<4xi32>
          print_tko "%d\\n", %part : tile<4xi32> -> token
          return
        }
    """
    for o in facts.of(Extract, Insert):
        whole, part = (o.source, o.result) if isinstance(o, Extract) else (o.destination, o.source)
        sizes = zip(whole.type.shape, part.type.shape, o.indices)  # type: ignore[attr-defined]  # tiles
        for dim, (large, small, index) in enumerate(sizes):
            known, count = facts.range(index), large // small
            low, high = facts.reached(o, index) or (known.hi, known.lo)
            if high >= count or low < 0:
                at = high if high >= count else low
                yield Match(o, f"{o.name}: there are {count} parts along dimension {dim}, and the index is {at}")


@rule("read-only-store", ERROR)
def read_only_store(facts: Facts) -> Iterator[Match]:
    """A store writes to a global that is declared constant.

    Constants may be in memory that cannot be written, and the compiler may have replaced loads of them by their
    values.

    Fix: Declare the global without `constant`, or store elsewhere.

    Bad:
        global constant @table <f32: [1.0, 2.0]> : tile<2xf32>
        entry @k(%x: tile<f32>) {
          %p = get_global @table : tile<ptr<f32>>
          %t = store_ptr_tko weak %p, %x : tile<ptr<f32>>, tile<f32> -> token
          return
        }
    Good:
        global @table <f32: [1.0, 2.0]> : tile<2xf32>
        entry @k(%x: tile<f32>) {
          %p = get_global @table : tile<ptr<f32>>
          %t = store_ptr_tko weak %p, %x : tile<ptr<f32>>, tile<f32> -> token
          return
        }
    """
    for place in facts.places:
        owner = place.root.owner if place.root is not None else None
        if place.writes and isinstance(owner, GetGlobal) and owner.name_ in facts.globals:
            target = facts.globals[owner.name_]
            if target.constant:
                yield Match(
                    place.op,
                    f"{place.op.name}: global @{owner.name_} is constant",
                    related=((target, "declared here"),),
                )


@rule("dead-store", WARNING)
def dead_store(facts: Facts) -> Iterator[Match]:
    """Nothing reads what a store writes.

    Either another store overwrites all of it before anything can read it, or it is memory of an alloca that is
    never loaded.

    Fix: Remove the store, or correct the address of one of the two.

    Bad:
        entry @k(%p: tile<ptr<f32>>, %x: tile<f32>, %y: tile<f32>) {
          %t = store_ptr_tko weak %p, %x : tile<ptr<f32>>, tile<f32> -> token
          %u = store_ptr_tko weak %p, %y token=%t : tile<ptr<f32>>, tile<f32> -> token
          return
        }
    Good:
        entry @k(%p: tile<ptr<f32>>, %y: tile<f32>) {
          %t = store_ptr_tko weak %p, %y : tile<ptr<f32>>, tile<f32> -> token
          return
        }
    """
    for alloca, derived, mine in facts.allocas:
        escapes = alloca.global_ or not all(map(_only_addresses, derived))
        if not escapes and all(p.root is alloca.result and not p.reads for p in mine):
            for place in mine:
                yield Match(
                    place.op, f"{place.op.name}: nothing loads from this alloca", related=((alloca, "the alloca"),)
                )
    yield from _overwritten(facts)


def _only_addresses(value: Value) -> bool:
    return is_pointer(value) or isinstance(value.type, (TensorView, TileView))


def _overwritten(facts: Facts) -> Iterator[Match]:
    """Stores whose elements the next store to them in the same block overwrites, with no access in between."""
    previous: dict[object, MemoryAccess] = {}
    block = None
    for place in facts.places:
        if facts.home[place.op] is not block:
            previous, block = {}, facts.home[place.op]
        if place.reads or not place.is_weak:
            previous.clear()
            continue
        old = previous.get(place.key)
        if old is not None and old.mask is place.mask and facts.loop(old.op) is facts.loop(place.op):
            message = f"{old.op.name}: a later store overwrites everything that it writes"
            yield Match(old.op, message, related=((place.op, "the later store"),))
        previous[place.key] = place


# ---------------------------------------------------------------- layouts


@rule("duplicate-elements", ERROR)
def duplicate_elements(facts: Facts) -> Iterator[Match]:
    """Two elements of one store have the same address.

    The elements of a tile are stored in no particular order, so either may win; the specification calls it a race.

    Fix: Correct the addresses, mask all but one of the elements, or reduce them to one value first.

    Bad:
        entry @k(%p: tile<ptr<f32>>, %x: tile<f32>) {
          %q = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
          %all = broadcast %q : tile<1xptr<f32>> -> tile<8xptr<f32>>
          %y = constant <f32: 1.0> : tile<8xf32>
          %t = store_ptr_tko weak %all, %y : tile<8xptr<f32>>, tile<8xf32> -> token
          return
        }
    Good:
        entry @k(%p: tile<ptr<f32>>, %x: tile<f32>) {
          %q = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
          %all = broadcast %q : tile<1xptr<f32>> -> tile<8xptr<f32>>
          %i = iota : tile<8xi32>
          %each = offset %all, %i : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>
          %y = constant <f32: 1.0> : tile<8xf32>
          %t = store_ptr_tko weak %each, %y : tile<8xptr<f32>>, tile<8xf32> -> token
          return
        }
    """
    for place in facts.places:
        shape = getattr(place.pointer.type, "shape", ())
        if not (place.writes and place.is_weak and place.address is not None and shape):
            continue
        if any(value.type.shape for value in place.address.terms):  # type: ignore[attr-defined]  # tiles all
            continue
        numbers = np.broadcast_to(place.address.numbers, shape)
        active = np.ones(shape, bool) if place.active is None else place.active
        where = np.flatnonzero(active.reshape(-1))
        order = where[np.argsort(numbers.reshape(-1)[where], kind="stable")]
        near = np.flatnonzero(np.diff(numbers.reshape(-1)[order]) < max(1, place.size))
        if any(place.is_exact or _is_alike(place.mask, order[at], order[at + 1], facts) for at in near[:1]):
            yield Match(place.op, f"{place.op.name}: two elements of the tile share memory")


def _is_alike(mask: Value | None, a: int, b: int, facts: Facts, depth: int = 4) -> bool:
    """Whether a mask surely is the same for two elements: they are compared with the same numbers."""
    if mask is None:
        return True
    form = facts.forms[mask]
    if all(map(is_scalar, form.terms)):
        return form.numbers.ndim == 0 or bool(form.numbers.reshape(-1)[a] == form.numbers.reshape(-1)[b])
    owner = mask.owner
    if depth == 0 or not isinstance(owner, (CmpI, AndI, OrI, ExtI)):
        return False
    return all(_is_alike(value, a, b, facts, depth - 1) for value in owner.operands)


@rule("overlapping-view", WARNING)
def overlapping_view(facts: Facts) -> Iterator[Match]:
    """A kernel stores through a view whose elements or tiles overlap.

    A stride is smaller than the extent of the dimensions inside it, so two positions of the tensor are the same
    memory; or the tiles of a strided view are closer together than they are long. Stores of one tile, or of two
    tile blocks, then write the same memory.

    Fix: Correct the strides. Use a view with overlapping tiles for loads only.

    Bad:
        entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
          %m = make_tensor_view %p, shape = [8, 8], strides = [4, 1] : tensor_view<8x8xf32, strides=[4,1]>
          %v = make_partition_view %m : partition_view<tile=(1x8), tensor_view<8x8xf32, strides=[4,1]>>
          %x = constant <f32: 1.0> : tile<1x8xf32>
          %t = store_view_tko weak %x, %v[%n, %n] : tile<1x8xf32>, \
partition_view<tile=(1x8), tensor_view<8x8xf32, strides=[4,1]>>, tile<i32>, tile<i32> -> token
          return
        }
    Good:
        entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
          %m = make_tensor_view %p, shape = [8, 8], strides = [8, 1] : tensor_view<8x8xf32, strides=[8,1]>
          %v = make_partition_view %m : partition_view<tile=(1x8), tensor_view<8x8xf32, strides=[8,1]>>
          %x = constant <f32: 1.0> : tile<1x8xf32>
          %t = store_view_tko weak %x, %v[%n, %n] : tile<1x8xf32>, \
partition_view<tile=(1x8), tensor_view<8x8xf32, strides=[8,1]>>, tile<i32>, tile<i32> -> token
          return
        }
    """
    seen: set[Value] = set()
    for o in facts.of(StoreViewTko):
        if o.view in seen:
            continue
        seen.add(o.view)
        view, tensor = o.view.type, tensor_of(o.view)
        assert isinstance(view, TileView)
        if isinstance(view, StridedView) and any(s < t for s, t in zip(view.traversal_strides, view.tile_shape)):
            yield Match(o, f"{o.name}: the tiles of the view overlap")
        elif tensor is not None and _overlaps(view.tensor_view.shape, strides_of(tensor, facts.forms)):
            yield Match(o, f"{o.name}: elements of the tensor overlap", related=((tensor, "the tensor"),))


def _overlaps(shape: tuple[int, ...], strides: list[int | None]) -> bool:
    """Whether two positions of a tensor share an element.

    A dynamic size counts as two, unless another dimension has the same stride: then it is one that front ends make up
    for a size of one.
    """
    sizes = [size if size != DYNAMIC else 1 if strides.count(stride) > 1 else 2 for size, stride in zip(shape, strides)]
    known = [(stride, size) for size, stride in zip(sizes, strides) if stride is not None and size > 1]
    reach = 0
    for stride, size in sorted(known):
        if not stride or (stride <= reach and _hits(stride, size, known)):
            return True
        reach += stride * (size - 1)
    return False


def _hits(stride: int, size: int, known: list[tuple[int, int]]) -> bool:
    """Whether a multiple of a stride is also a multiple of a smaller one that its size reaches."""
    for times in range(1, min(size, 64)):
        if any(s < stride and stride * times % s == 0 and stride * times // s < n for s, n in known):
            return True
    return sum(s == stride for s, _ in known) > 1
