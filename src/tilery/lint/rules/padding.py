"""Elements that a load leaves undefined, and where they affect results."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from ...analysis.memory.places import tensor_of
from ...declare.fastclass import dataclass
from ...declare.relations import ELEMENTWISE
from ...enums import PaddingValue
from ...floats.arithmetic import is_negative
from ...floats.arithmetic import value as number_of
from ...floats.formats import is_nan
from ...ir import Op, UnknownOp, Value
from ...ops import (
    AddF,
    AddI,
    AndI,
    Broadcast,
    Constant,
    LoadPtrTko,
    LoadViewTko,
    MakeTensorView,
    MaxF,
    MinF,
    MmaF,
    MmaFScaled,
    MmaI,
    MulF,
    MulI,
    Offset,
    OrI,
    Permute,
    Reduce,
    Reshape,
    Scan,
    Select,
    StorePtrTko,
    XOrI,
)
from ...types import DYNAMIC, PartitionView, Scalar, StridedView, TensorView, Tile
from ..facts import Facts
from ..rule import NOTE, WARNING, Match, RuleFile

rule = RuleFile()


@dataclass(frozen=True, slots=True)
class Hole:
    """Elements of a value that are undefined: along these dimensions, or where a mask is false."""

    load: Op
    dims: frozenset[int]
    mask: Value | None = None


@rule("unpadded-load", WARNING)
def unpadded_load(facts: Facts) -> Iterator[Match]:
    """Elements that a load leaves undefined become part of a result.

    A masked load without a padding value leaves the masked elements undefined, and a load through a view without
    `padding_value` those outside the tensor. A sum, a maximum or a product over them is undefined as a whole:
    adding 0 or multiplying by 0 does not help, because an undefined element may be NaN. The same goes for a store
    that writes them.

    Fix: Give the load a padding value, or the view a `padding_value`, that is neutral: 0 for sums and products,
    -inf for a maximum. Or mask the store in the same way as the load.

    Bad:
        entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %n: tile<i32>) {
          %i = iota : tile<8xi32>
          %n1 = reshape %n : tile<i32> -> tile<1xi32>
          %n8 = broadcast %n1 : tile<1xi32> -> tile<8xi32>
          %m = cmpi less_than %i, %n8, signed : tile<8xi32> -> tile<8xi1>
          %p1 = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
          %p8 = broadcast %p1 : tile<1xptr<f32>> -> tile<8xptr<f32>>
          %a = offset %p8, %i : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>
          %v, %t = load_ptr_tko weak %a, %m : tile<8xptr<f32>>, tile<8xi1> -> tile<8xf32>, token
          %s = reduce %v dim=0 identities=[0.0 : f32] : tile<8xf32> -> tile<f32> (%x: tile<f32>, %y: tile<f32>) {
            %z = addf %x, %y : tile<f32>
            yield %z : tile<f32>
          }
          %u = store_ptr_tko weak %q, %s : tile<ptr<f32>>, tile<f32> -> token
          return
        }
    Good:
        entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %n: tile<i32>) {
          %i = iota : tile<8xi32>
          %n1 = reshape %n : tile<i32> -> tile<1xi32>
          %n8 = broadcast %n1 : tile<1xi32> -> tile<8xi32>
          %m = cmpi less_than %i, %n8, signed : tile<8xi32> -> tile<8xi1>
          %p1 = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
          %p8 = broadcast %p1 : tile<1xptr<f32>> -> tile<8xptr<f32>>
          %a = offset %p8, %i : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>
          %zero = constant <f32: 0.0> : tile<8xf32>
          %v, %t = load_ptr_tko weak %a, %m, %zero : tile<8xptr<f32>>, tile<8xi1>, tile<8xf32> -> tile<8xf32>, token
          %s = reduce %v dim=0 identities=[0.0 : f32] : tile<8xf32> -> tile<f32> (%x: tile<f32>, %y: tile<f32>) {
            %z = addf %x, %y : tile<f32>
            yield %z : tile<f32>
          }
          %u = store_ptr_tko weak %q, %s : tile<ptr<f32>>, tile<f32> -> token
          return
        }
    """
    for load in facts.of(LoadPtrTko):
        if load.mask is not None and load.paddingValue is None and not _all_true(load.mask, facts):
            rank = len(load.result.type.shape)  # type: ignore[attr-defined]  # a tile
            yield from _consequences(load.result, Hole(load, frozenset(range(rank)), load.mask), facts)
    for view in facts.of(LoadViewTko):
        certain, _ = _edges(view, facts)
        if certain:
            yield from _consequences(view.tile, Hole(view, certain), facts)


@rule("unpadded-edge", NOTE)
def unpadded_edge(facts: Facts) -> Iterator[Match]:
    """A sum or product is undefined unless the size of a tensor is a multiple of the tile.

    The view has no `padding_value`, and nothing in the kernel says that tiles end where the tensor does. If the
    last tile hangs over, its elements outside the tensor are undefined, and so is every sum or product over them.

    Fix: Give the view a `padding_value` (`padding_mode` in cuTile), or promise that the size is a multiple of the
    tile (`assume div_by`).

    Bad:
        entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %n: tile<i32>, %i: tile<i32>) {
          %m = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
          %v = make_partition_view %m : partition_view<tile=(8), tensor_view<?xf32, strides=[1]>>
          %w, %t = load_view_tko weak %v[%i] : partition_view<tile=(8), tensor_view<?xf32, strides=[1]>>, tile<i32> \
-> tile<8xf32>, token
          %s = reduce %w dim=0 identities=[0.0 : f32] : tile<8xf32> -> tile<f32> (%x: tile<f32>, %y: tile<f32>) {
            %z = addf %x, %y : tile<f32>
            yield %z : tile<f32>
          }
          %u = store_ptr_tko weak %q, %s : tile<ptr<f32>>, tile<f32> -> token
          return
        }
    Good:
        entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %n: tile<i32>, %i: tile<i32>) {
          %whole = assume div_by<8>, %n : tile<i32>
          %m = make_tensor_view %p, shape = [%whole], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
          %v = make_partition_view %m : partition_view<tile=(8), tensor_view<?xf32, strides=[1]>>
          %w, %t = load_view_tko weak %v[%i] : partition_view<tile=(8), tensor_view<?xf32, strides=[1]>>, tile<i32> \
-> tile<8xf32>, token
          %s = reduce %w dim=0 identities=[0.0 : f32] : tile<8xf32> -> tile<f32> (%x: tile<f32>, %y: tile<f32>) {
            %z = addf %x, %y : tile<f32>
            yield %z : tile<f32>
          }
          %u = store_ptr_tko weak %q, %s : tile<ptr<f32>>, tile<f32> -> token
          return
        }
    """
    for load in facts.of(LoadViewTko):
        certain, possible = _edges(load, facts)
        if possible - certain:
            yield from _consequences(load.tile, Hole(load, possible - certain), facts)


@rule("padding-takes-part", WARNING)
def padding_takes_part(facts: Facts) -> Iterator[Match]:
    """Padding changes the result of a reduction, because it is not neutral for it.

    A load returns its padding for elements outside the tensor, or where the mask is false. Zero is neutral for a sum,
    but a maximum of negative numbers becomes 0 with it, and so does every product.

    Fix: Pad with what is neutral: `neg_inf` for a maximum, `pos_inf` for a minimum, 1 for a product. Or replace the
    elements by `select` before the reduction.

    Bad:
        entry @k(%p: tile<ptr<f32>>, %zero: tile<i32>) {
          %m = make_tensor_view %p, shape = [6], strides = [1] : tensor_view<6xf32, strides=[1]>
          %v = make_partition_view %m : partition_view<tile=(8), padding_value = zero, tensor_view<6xf32, strides=[1]>>
          %i = constant <i32: 0> : tile<i32>
          %w, %t = load_view_tko weak %v[%i] : partition_view<tile=(8), padding_value = zero, \
tensor_view<6xf32, strides=[1]>>, tile<i32> -> tile<8xf32>, token
          %s = reduce %w dim=0 identities=[0xFF800000 : f32] : tile<8xf32> -> tile<f32> (%x: tile<f32>, %y: tile<f32>) {
            %z = maxf %x, %y : tile<f32>
            yield %z : tile<f32>
          }
          print_tko "%f\\n", %s : tile<f32> -> token
          return
        }
    Good:
        entry @k(%p: tile<ptr<f32>>, %zero: tile<i32>) {
          %m = make_tensor_view %p, shape = [6], strides = [1] : tensor_view<6xf32, strides=[1]>
          %v = make_partition_view %m : partition_view<tile=(8), padding_value = neg_inf, \
tensor_view<6xf32, strides=[1]>>
          %i = constant <i32: 0> : tile<i32>
          %w, %t = load_view_tko weak %v[%i] : partition_view<tile=(8), padding_value = neg_inf, \
tensor_view<6xf32, strides=[1]>>, tile<i32> -> tile<8xf32>, token
          %s = reduce %w dim=0 identities=[0xFF800000 : f32] : tile<8xf32> -> tile<f32> (%x: tile<f32>, %y: tile<f32>) {
            %z = maxf %x, %y : tile<f32>
            yield %z : tile<f32>
          }
          print_tko "%f\\n", %s : tile<f32> -> token
          return
        }
    """
    for load in facts.of(LoadViewTko):
        view = load.view.type
        if isinstance(view, (PartitionView, StridedView)) and view.padding_value is not None:
            certain, _ = _outside(load, view, facts)
            yield from _reduced(load.tile, certain, _padding(view.padding_value), load, facts)
    for masked in facts.of(LoadPtrTko):
        padding = masked.paddingValue
        if padding is None or masked.mask is None or _all_true(masked.mask, facts) or not _is_float(masked.result):
            continue
        if (number := _constant(padding)) is not None:
            rank = len(masked.result.type.shape)  # type: ignore[attr-defined]  # a tile
            yield from _reduced(masked.result, frozenset(range(rank)), number, masked, facts)


FAR = 1e4
"""Programs pad a maximum with such a large negative number instead of an infinity."""
NEUTRAL: dict[type[Op], Callable[[float], bool]] = {
    **dict.fromkeys((AddF, AddI, OrI, XOrI), lambda padding: padding == 0),
    **dict.fromkeys((MulF, MulI), lambda padding: padding == 1),
    MaxF: lambda padding: padding <= -FAR,
    MinF: lambda padding: padding >= FAR,
    AndI: lambda padding: False,
}
"""Whether padding does not change the result of a reduction; others are not judged."""


def _padding(value: PaddingValue) -> float:
    known = {PaddingValue.NAN: math.nan, PaddingValue.POS_INF: math.inf, PaddingValue.NEG_INF: -math.inf}
    return known.get(value, 0.0)


def _is_float(value: Value) -> bool:
    t = value.type
    return isinstance(t, Tile) and isinstance(t.element, Scalar) and t.element.is_float


def _constant(value: Value) -> float | None:
    """The number that all elements of a float tile are, if it is a constant."""
    owner = value.owner
    while isinstance(owner, (Broadcast, Reshape)):
        owner = owner.source.owner
    if not isinstance(owner, Constant):
        return None
    numbers = set(owner.value.stored())
    element = owner.result.type.element  # type: ignore[attr-defined]  # a tile
    if len(numbers) != 1:
        return None
    bits = numbers.pop()
    if (number := number_of(element, bits)) is not None:
        return float(number)
    return math.nan if is_nan(element, bits) else -math.inf if is_negative(element, bits) else math.inf


def _reduced(value: Value, dims: frozenset[int], padding: float, load: Op, facts: Facts) -> Iterator[Match]:
    """Follow a load through what only moves its elements to reductions for which its padding is not neutral."""
    todo = [(value, Hole(load, dims))] if dims else []
    while todo:
        at, hole = todo.pop()
        for user in facts.uses.users.get(at, ()):
            if isinstance(user, (Reshape, Broadcast, Permute)):
                passed = _passes(user, at, hole, facts)
                if passed is not None and passed.dims:
                    todo.append((user.results[0], passed))
            elif isinstance(user, Reduce) and user.dim in hole.dims and len(user.operands_) == 1:
                by = user.body.ops[0] if len(user.body.ops) == 2 else None
                if by is not None and by.__class__ in NEUTRAL and not NEUTRAL[by.__class__](padding):
                    message = f"reduce: padding of {padding:g} takes part, and is not neutral for {by.name}"
                    yield Match(user, message, related=((load, "the load pads"),))


# ---------------------------------------------------------------- which elements are undefined


def _all_true(mask: Value, facts: Facts) -> bool:
    known = facts.elements(mask)
    return known is not None and bool(known.all())


def _edges(load: LoadViewTko, facts: Facts) -> tuple[frozenset[int], frozenset[int]]:
    """The dimensions along which the tile of a load surely hangs over the tensor, and those along which it may."""
    view = load.view.type
    if not isinstance(view, (PartitionView, StridedView)) or view.padding_value is not None:
        return frozenset(), frozenset()
    return _outside(load, view, facts)


def _outside(
    load: LoadViewTko, view: PartitionView | StridedView, facts: Facts
) -> tuple[frozenset[int], frozenset[int]]:
    tensor = tensor_of(load.view)
    steps = view.traversal_strides if isinstance(view, StridedView) else view.tile_shape
    certain, possible = set(), set()
    for axis, (tile, step, dim) in enumerate(zip(view.tile_shape, steps, view.dim_map)):
        if (axis < len(load.inbounds) and load.inbounds[axis]) or tile == 1:
            continue
        size = view.tensor_view.shape[dim]
        if size == DYNAMIC:
            if tensor is None or not _is_multiple(tensor, dim, tile, facts):
                possible.add(axis)
        elif size % tile or step != tile:
            known = facts.range(load.index[axis])
            if known.lo * step + tile > size:
                certain.add(axis)
            if known.hi * step + tile > size:
                possible.add(axis)
    return frozenset(certain), frozenset(possible)


def _is_multiple(tensor: MakeTensorView, dim: int, tile: int, facts: Facts) -> bool:
    """Whether a dynamic size is a multiple of a tile, by what is computed or promised."""
    assert isinstance(tensor.result.type, TensorView)
    number = sum(size == DYNAMIC for size in tensor.result.type.shape[:dim])
    size = tensor.dynamicShape[number]
    known = facts.forms[size].constant
    return facts.promised[size].divisor % tile == 0 or (known is not None and known % tile == 0)


# ---------------------------------------------------------------- where they affect results


def _consequences(value: Value, hole: Hole, facts: Facts) -> Iterator[Match]:
    """Follow undefined elements through operations on elements and shapes to the first use that depends on them."""
    holes: dict[Value, Hole] = {value: hole}
    todo = [value]
    while todo:
        at = todo.pop()
        for user in facts.uses.users.get(at, ()):
            why = _matters(user, at, holes[at], facts)
            if why:
                load = hole.load
                where = "where its mask is false" if hole.mask is not None else "outside the tensor"
                message = f"{user.name}: {why} elements that the {load.name} leaves undefined {where}"
                yield Match(user, message, related=((load, "the load has no padding"),))
                return
            passed = _passes(user, at, holes[at], facts)
            for result in user.results if passed is not None else ():
                if result not in holes and passed is not None:
                    holes[result] = passed
                    todo.append(result)


def _matters(o: Op, value: Value, hole: Hole, facts: Facts) -> str:
    """How an operation depends on undefined elements of an operand; empty if it does not."""
    match o:
        case Reduce() if o.dim in hole.dims:
            return "it combines"
        case Scan() if o.dim in hole.dims and (o.reverse or hole.mask is not None):
            return "it combines"
        case MmaF() | MmaI() | MmaFScaled():
            rank = len(value.type.shape)  # type: ignore[attr-defined]  # a tile
            if (value is o.lhs and rank - 1 in hole.dims) or (value is o.rhs and rank - 2 in hole.dims):
                return "it multiplies and adds"
        case Offset() if value is o.offset:
            return "it computes addresses from"
        case StorePtrTko() if value is o.value and hole.mask is not None and o.mask is None:
            return "it stores"
    return ""


def _passes(o: Op, value: Value, hole: Hole, facts: Facts) -> Hole | None:
    """The undefined elements of a result."""
    match o:
        case Select() if value in (o.val_if_true, o.val_if_false):
            same = hole.mask is not None and facts.forms.key(o.cond) == facts.forms.key(hole.mask)
            # With another condition, the elements may be those that are replaced.
            return hole if same and value is o.val_if_false else None
        case Reshape():
            return _reshaped(o, hole)
        case Broadcast():
            return Hole(hole.load, hole.dims)
        case Permute():
            return Hole(hole.load, frozenset(i for i, dim in enumerate(o.permutation) if dim in hole.dims))
        case Scan():
            return hole  # elements before the end of the tensor do not depend on those after it
        case Reduce():
            return Hole(hole.load, frozenset(d - (d > o.dim) for d in hole.dims if d != o.dim))
    if isinstance(o, UnknownOp) or o.nested or not o.opdef.has(ELEMENTWISE):
        return None
    return hole


def _reshaped(o: Reshape, hole: Hole) -> Hole | None:
    """Dimensions of size 1 come and go; how others are divided is not followed."""
    assert isinstance(o.source.type, Tile) and isinstance(o.result.type, Tile)
    old = [dim for dim, size in enumerate(o.source.type.shape) if size > 1]
    new = [dim for dim, size in enumerate(o.result.type.shape) if size > 1]
    if [o.source.type.shape[d] for d in old] != [o.result.type.shape[d] for d in new]:
        return None
    moved = dict(zip(old, new))
    return Hole(hole.load, frozenset(moved[d] for d in hole.dims if d in moved))
