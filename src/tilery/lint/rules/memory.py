"""Accesses that are outside their memory, or of no use."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...analysis.memory.affine import Array, is_scalar
from ...analysis.memory.places import Place, is_pointer, strides_of, tensor_of
from ...ir import Op, Value
from ...ops import (
    Alloca,
    AndI,
    Break,
    CmpI,
    Continue,
    ExtI,
    Extract,
    GetGlobal,
    GetTileBlockId,
    Insert,
    OrI,
    StoreViewTko,
    Yield,
)
from ...types import DYNAMIC, PartitionView, StridedView, TensorView, TileView
from ..facts import Facts
from ..rule import ERROR, WARNING, Report, Rules

rule = Rules()


@rule("out-of-bounds", ERROR)
def out_of_bounds(facts: Facts) -> Iterator[Report]:
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
        numbers = _first_block(place)
        if numbers is None or not numbers.size:
            continue
        assert place.root is not None
        extent, low, high = facts.extent(place.root), int(numbers.min()), int(numbers.max()) + place.size
        if low < 0 and (extent is not None or place.root in facts.entry.body.args):
            yield Report(
                place.op, f"{place.op.name}: it accesses memory {-low} bytes before the start of {_name(place.root)}"
            )
        elif extent is not None and high > extent:
            what = f"{_name(place.root)}, which has {extent} bytes"
            yield Report(place.op, f"{place.op.name}: it accesses memory {high - extent} bytes past the end of {what}")
    yield from _tiles_outside(facts)


def _first_block(place: Place) -> Array | None:
    """How far the elements that the first tile block accesses are from the start of their memory, if that is known."""
    if (
        place.root is None
        or place.address is None
        or not place.size
        or (place.mask is not None and place.active is None)
    ):
        return None
    others = [value for value in place.address.terms if value is not place.root]
    return place.numbers if all(isinstance(value.owner, GetTileBlockId) for value in others) else None


def _name(root: Value) -> str:
    owner = root.owner
    if isinstance(owner, Alloca):
        return "the alloca"
    return f"global @{owner.name_}" if isinstance(owner, GetGlobal) else "the argument"


def _tiles_outside(facts: Facts) -> Iterator[Report]:
    for place in facts.places:
        view = place.pointer.type
        if not isinstance(view, (PartitionView, StridedView)):
            continue
        steps = view.traversal_strides if isinstance(view, StridedView) else view.tile_shape
        for step, dim, index in zip(steps, view.dim_map, place.op.index):  # type: ignore[attr-defined]
            size, least = view.tensor_view.shape[dim], facts.range(index).lo
            if size != DYNAMIC and least * step >= size:
                what = f"along dimension {dim}, which has {size} elements"
                message = f"{place.op.name}: the tile starts at element {least * step} {what}"
                yield Report(place.op, message, severity=WARNING)
                break


@rule("index-out-of-range", ERROR)
def index_out_of_range(facts: Facts) -> Iterator[Report]:
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
            if known.lo >= count or known.hi < 0:
                at = known.lo if known.lo >= count else known.hi
                yield Report(o, f"{o.name}: there are {count} parts along dimension {dim}, and the index is {at}")


@rule("read-only-store", ERROR)
def read_only_store(facts: Facts) -> Iterator[Report]:
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
                yield Report(
                    place.op,
                    f"{place.op.name}: global @{owner.name_} is constant",
                    related=((target, "declared here"),),
                )


# ---------------------------------------------------------------- alloca


@rule("alloca-unwritten", ERROR)
def alloca_unwritten(facts: Facts) -> Iterator[Report]:
    """A load reads memory of an alloca that nothing has written.

    The memory of an alloca is undefined at first, and new each time that the alloca is executed: an alloca in a
    loop does not keep what the iteration before stored.

    Fix: Store to the memory before the load. Move the alloca out of the loop if it is to keep its content.

    Bad:
        entry @k(%out: tile<ptr<f32>>) {
          %p = alloca num_elem = 1, alignment = 4 : tile<ptr<f32>>
          %v, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
          %u = store_ptr_tko weak %out, %v : tile<ptr<f32>>, tile<f32> -> token
          return
        }
    Good:
        entry @k(%out: tile<ptr<f32>>, %x: tile<f32>) {
          %p = alloca num_elem = 1, alignment = 4 : tile<ptr<f32>>
          %s = store_ptr_tko weak %p, %x : tile<ptr<f32>>, tile<f32> -> token
          %v, %t = load_ptr_tko weak %p token=%s : tile<ptr<f32>> -> tile<f32>, token
          %u = store_ptr_tko weak %out, %v : tile<ptr<f32>>, tile<f32> -> token
          return
        }
    """
    for alloca, _, mine in facts.allocas:
        stores = [p for p in mine if p.writes]
        for place in mine:
            if place.writes or place.op.results[0] not in facts.uses:
                continue
            before = [p for p in stores if _may_be_before(p.op, place.op, alloca, facts)]
            if not before:
                yield Report(
                    place.op,
                    f"{place.op.name}: nothing has been stored to this memory",
                    related=((alloca, "the alloca"),),
                )
            elif (missing := _unwritten(place, before, alloca.result)) > 0:
                message = f"{place.op.name}: {missing} of the elements that it reads have never been stored"
                yield Report(place.op, message, related=((alloca, "the alloca"),))


def _may_be_before(store: Op, load: Op, alloca: Op, facts: Facts) -> bool:
    """Whether a store may be executed before a load of the memory that one execution of an alloca makes."""
    if facts.number[store] < facts.number[load]:
        return True
    loop = facts.loop(load)
    while loop is not None and not facts.is_inside(alloca, loop):
        if facts.is_inside(store, loop):
            return True
        loop = facts.loop(loop)
    return False


def _unwritten(load: Place, stores: list[Place], root: Value) -> int:
    """How many elements of a load are surely not written by any of these stores, not even in part."""
    only = {root: 1}
    if any(p.address is None or dict(p.address.terms) != only or not p.size for p in (load, *stores)):
        return 0
    starts = np.unique(np.concatenate([(p.numbers[:, None] + np.arange(p.size)).reshape(-1) for p in stores]))
    wanted = np.unique(load.numbers)
    at = np.searchsorted(starts, wanted)
    following = np.append(starts, np.iinfo(np.int64).max)[at]
    return int((following >= wanted + load.size).sum())


@rule("alloca-escapes", ERROR)
def alloca_escapes(facts: Facts) -> Iterator[Report]:
    """A pointer to an alloca leaves the block that the alloca is in.

    The memory of an alloca lives until the block around it ends: a branch, or one iteration of a loop. Afterwards
    it may be used for something else.

    Fix: Move the alloca to the block in which the pointer is used.

    Bad:
        entry @k(%c: tile<i1>, %p: tile<ptr<f32>>, %x: tile<f32>) {
          %q = if %c -> (tile<ptr<f32>>) {
            %a = alloca num_elem = 1, alignment = 4 : tile<ptr<f32>>
            yield %a : tile<ptr<f32>>
          } else {
            yield %p : tile<ptr<f32>>
          }
          %t = store_ptr_tko weak %q, %x : tile<ptr<f32>>, tile<f32> -> token
          return
        }
    Good:
        entry @k(%c: tile<i1>, %p: tile<ptr<f32>>, %x: tile<f32>) {
          %a = alloca num_elem = 1, alignment = 4 : tile<ptr<f32>>
          %q = if %c -> (tile<ptr<f32>>) {
            yield %a : tile<ptr<f32>>
          } else {
            yield %p : tile<ptr<f32>>
          }
          %t = store_ptr_tko weak %q, %x : tile<ptr<f32>>, tile<f32> -> token
          return
        }
    """
    for alloca, derived, _ in facts.allocas:
        inside = facts.parent[facts.home[alloca]]
        if inside is facts.entry:
            continue
        users = {o: None for value in derived if is_pointer(value) for o in facts.uses.of(value)}
        for o in users:
            if isinstance(o, (Yield, Break, Continue)) and facts.is_inside(o, inside) and _ends(o, inside, facts):
                message = f"{o.name}: a pointer to an alloca leaves the block in which its memory lives"
                yield Report(o, message, related=((alloca, "the alloca"),))


def _ends(o: Op, inside: Op, facts: Facts) -> bool:
    """Whether a terminator ends the block of an operation, and not one that is nested in it."""
    if isinstance(o, Yield):
        return facts.parent[facts.home[o]] is inside
    loop = facts.loop(o)
    return loop is inside or (loop is not None and facts.is_inside(inside, loop))


@rule("dead-store", WARNING)
def dead_store(facts: Facts) -> Iterator[Report]:
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
                yield Report(
                    place.op, f"{place.op.name}: nothing loads from this alloca", related=((alloca, "the alloca"),)
                )
    yield from _overwritten(facts)


def _only_addresses(value: Value) -> bool:
    return is_pointer(value) or isinstance(value.type, (TensorView, TileView))


def _overwritten(facts: Facts) -> Iterator[Report]:
    """Stores whose elements the next store to them in the same block overwrites, with no access in between."""
    previous: dict[object, Place] = {}
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
            yield Report(old.op, message, related=((place.op, "the later store"),))
        previous[place.key] = place


# ---------------------------------------------------------------- layouts


@rule("duplicate-elements", ERROR)
def duplicate_elements(facts: Facts) -> Iterator[Report]:
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
        is_known = place.mask is None or place.active is not None
        if any(is_known or _is_alike(place.mask, order[at], order[at + 1], facts) for at in near[:1]):
            yield Report(place.op, f"{place.op.name}: two elements of the tile share memory")


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
def overlapping_view(facts: Facts) -> Iterator[Report]:
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
            yield Report(o, f"{o.name}: the tiles of the view overlap")
        elif tensor is not None and _overlaps(view.tensor_view.shape, strides_of(tensor, facts.forms)):
            yield Report(o, f"{o.name}: elements of the tensor overlap", related=((tensor, "the tensor"),))


def _overlaps(shape: tuple[int, ...], strides: list[int | None]) -> bool:
    """Whether two positions of a tensor surely share an element."""
    known = [(stride, size) for size, stride in zip(shape, strides) if stride is not None and size not in (1, DYNAMIC)]
    reach = 0
    for stride, size in sorted(known):
        if stride <= reach and stride * (size - 1) >= 0 and _hits(stride, size, known):
            return True
        reach += stride * (size - 1)
    return False


def _hits(stride: int, size: int, known: list[tuple[int, int]]) -> bool:
    """Whether a multiple of a stride is also a multiple of a smaller one that its size reaches."""
    for times in range(1, min(size, 64)):
        if any(s < stride and stride * times % s == 0 and stride * times // s < n for s, n in known):
            return True
    return sum(s == stride for s, _ in known) > 1
