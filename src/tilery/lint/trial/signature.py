"""Roles of the parameters of a kernel, as far as the text tells: sizes, strides, addresses, or just numbers."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...attrs import Bounded, ComparisonPredicate, DivBy, IntegerOverflow
from ...ir import Op, Value
from ...ops import (
    Assume,
    AtomicCASTko,
    AtomicRedViewTko,
    AtomicRMWTko,
    Bitcast,
    Broadcast,
    CmpI,
    ExtI,
    For,
    LoadPtrTko,
    LoadViewTko,
    MakeGatherScatterView,
    MakePartitionView,
    MakeStridedView,
    MakeTensorView,
    MaxI,
    MinI,
    MulI,
    Offset,
    Reshape,
    StorePtrTko,
    StoreViewTko,
    TruncI,
)
from ...types import DYNAMIC, GatherScatterView, PartitionView, Ptr, Scalar, StridedView, TensorView, Tile
from ..facts import Facts

MOST_VALUES = 4096
"""Values that are followed from one parameter."""
LARGEST = 1024
"""The largest tile that sizes are chosen for."""
COPIES = (Assume, ExtI, TruncI, Bitcast, Reshape, Broadcast)
"""Operations whose result is their operand, if that is an integer, as another type."""
EQUALITIES = (ComparisonPredicate.EQUAL, ComparisonPredicate.NOT_EQUAL)


@dataclass(slots=True)
class ScalarParameter:
    """A parameter that is an integer or a float."""

    type: Scalar
    low: int | None = None
    high: int | None = None
    divisor: int = 1
    extents: list[int] = field(default_factory=list)
    """The sizes of tiles whose positions it bounds."""
    is_size: bool = False
    """Whether it is compared with positions, bounds a loop, or is the size of a view."""
    is_stride: bool = False
    """Whether positions are multiplied by it to make an address."""
    is_count: bool = False
    """Whether a number is compared with it for equality: it may be the number of tile blocks."""
    is_plain: bool = False
    """Whether it is used for something else than the size or stride of a view, too."""

    def fit(self, number: int) -> int:
        """Return the nearest number that keeps the promises about it, not below `number` if possible."""
        number = -(-number // self.divisor) * self.divisor
        if self.high is not None and number > self.high:
            number = self.high // self.divisor * self.divisor
        if self.low is not None and number < self.low:
            number = -(-self.low // self.divisor) * self.divisor
        return number


@dataclass(frozen=True, slots=True)
class ViewParameter:
    """A tensor view: for each dimension its size and stride, a number, a parameter, or None if it is computed."""

    base: int | None
    sizes: tuple[int | Value | None, ...]
    strides: tuple[int | Value | None, ...]
    tiles: tuple[int, ...]
    """The longest tile along each dimension."""
    is_output: bool
    """Whether the kernel only stores to it."""


@dataclass(slots=True)
class Signature:
    """The parameters of a kernel."""

    numbers: dict[Value, ScalarParameter] = field(default_factory=dict)
    pointers: dict[Value, Scalar] = field(default_factory=dict)
    tensors: list[ViewParameter] = field(default_factory=list)
    atomic: set[Value] = field(default_factory=set)
    """The pointers through which atomic operations go."""
    extent: int = 16
    """The longest tile of the kernel."""


def read_signature(facts: Facts) -> Signature | None:
    """Return what the parameters are for; None if a launch cannot pass one of them."""
    made = Signature()
    for value in facts.entry.body.args:
        t = value.type
        if not isinstance(t, Tile) or t.rank:
            return None
        if isinstance(t.element, Ptr):
            made.pointers[value] = t.element.pointee
        else:
            assert isinstance(t.element, Scalar)
            made.numbers[value] = ScalarParameter(t.element)
    shapes = [v.type.shape for o in facts.ops for v in o.results if isinstance(v.type, Tile)]
    made.extent = min(LARGEST, max((max(shape, default=1) for shape in shapes), default=16))
    homes = {value: source for source in facts.entry.body.args for value in _same(source, facts)}
    for value, number in made.numbers.items():
        if number.type.is_int:
            _promises(value, number, facts)
            _follow(value, number, facts)
            users = (o for at in _same(value, facts) for o in facts.uses.users.get(at, ()))
            number.is_plain = any(not isinstance(o, (MakeTensorView, *COPIES)) or _may_wrap(o) for o in users)
    for o in facts.of(MakeTensorView):
        tensor = _tensor(o, homes, list(facts.entry.body.args), facts)
        made.tensors.append(tensor)
        for size, tile in zip(tensor.sizes, tensor.tiles):
            if isinstance(size, Value):
                made.numbers[size].is_size = True
                made.numbers[size].extents.append(tile)
    for value in made.pointers:
        if any(isinstance(o, (AtomicRMWTko, AtomicCASTko, AtomicRedViewTko)) for o in _users(value, facts)):
            made.atomic.add(value)
    return made


def _same(value: Value, facts: Facts) -> list[Value]:
    """A value, and those that are the same number: promised, of another width, or of another shape."""
    found = [value]
    for at in found:
        for o in facts.uses.users.get(at, ()):
            if isinstance(o, COPIES):
                found += o.results
    return found


def _may_wrap(o: Op) -> bool:
    return isinstance(o, TruncI) and o.overflow is not IntegerOverflow.NONE


def _promises(value: Value, number: ScalarParameter, facts: Facts) -> None:
    for at in _same(value, facts):
        for o in facts.uses.users.get(at, ()):
            match o.predicate if isinstance(o, Assume) else None:
                case DivBy(divisor=divisor, every=None):
                    number.divisor = max(number.divisor, divisor)
                case Bounded(lb=low, ub=high):
                    number.low = low if number.low is None or (low is not None and low > number.low) else number.low
                    number.high = (
                        high if number.high is None or (high is not None and high < number.high) else number.high
                    )


def _follow(value: Value, number: ScalarParameter, facts: Facts) -> None:
    """Find out what a number is used for, through arithmetic and shapes."""
    todo, seen = [(value, False)], {(value, False)}
    while todo and len(seen) < MOST_VALUES:
        at, scaled = todo.pop()
        for o in facts.uses.users.get(at, ()):
            match o:
                case CmpI() if o.comparison_predicate not in EQUALITIES:
                    number.is_size = True
                    number.extents += [max(o.result.type.shape, default=1)]  # type: ignore[attr-defined]  # a tile
                    continue
                case CmpI():
                    number.is_count = True
                    continue
                case MinI() | MaxI():
                    number.is_size = True
                case For():
                    if at is o.upperBound:
                        step = facts.ranges.constant(o.step)
                        number.is_size = True
                        number.extents.append(1 if step is None else max(1, min(LARGEST, step)))
                    continue
                case Offset() | MakeTensorView():
                    number.is_stride |= scaled
                    continue
            if o.nested or o in facts.place:
                continue
            more = scaled or isinstance(o, MulI)
            for result in o.results:
                if isinstance(result.type, Tile) and (result, more) not in seen:
                    seen.add((result, more))
                    todo.append((result, more))


def _users(value: Value, facts: Facts) -> list[Op]:
    """The operations that use what is computed from a pointer."""
    found: list[Op] = []
    todo, seen = [value], {value}
    while todo and len(seen) < MOST_VALUES:
        at = todo.pop()
        for o in facts.uses.users.get(at, ()):
            found.append(o)
            results = () if o.nested or isinstance(o, (LoadPtrTko, StorePtrTko)) else o.results
            for result in (*results, *facts.copies_to.get(at, ())):
                if result not in seen:
                    seen.add(result)
                    todo.append(result)
    return found


def _tensor(o: MakeTensorView, homes: dict[Value, Value], args: list[Value], facts: Facts) -> ViewParameter:
    t = o.result.type
    assert isinstance(t, TensorView)
    tiles = [1] * len(t.shape)
    stored = loaded = False
    for user in facts.uses.users.get(o.result, ()):
        if isinstance(user, (MakePartitionView, MakeStridedView, MakeGatherScatterView)):
            view = user.result.type
            dims = view.dim_map if isinstance(view, (PartitionView, StridedView)) else range(len(t.shape))
            assert isinstance(view, (PartitionView, StridedView, GatherScatterView))
            for dim, size in zip(dims, view.tile_shape):
                tiles[dim] = max(tiles[dim], size)
            for access in facts.uses.users.get(user.result, ()):
                stored |= isinstance(access, (StoreViewTko, AtomicRedViewTko))
                loaded |= isinstance(access, LoadViewTko)
    base = homes.get(o.base)
    return ViewParameter(
        None if base is None else args.index(base),
        _dynamic(t.shape, o.dynamicShape, homes),
        _dynamic(t.strides, o.dynamicStrides, homes),
        tuple(tiles),
        stored and not loaded,
    )


def _dynamic(
    known: tuple[int, ...], values: tuple[Value, ...], homes: dict[Value, Value]
) -> tuple[int | Value | None, ...]:
    """Sizes or strides: numbers, and the parameters that dynamic ones are."""
    left = iter(values)
    return tuple(homes.get(next(left)) if n == DYNAMIC else n for n in known)
