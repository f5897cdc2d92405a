"""Simpler types: smaller tiles, fewer dimensions, ordinary elements, plain views."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from math import prod
from typing import Any

from ..attrs import Dense, FloatAttr, IntAttr
from ..declare.fields import AttrKind
from ..diag import TileError
from ..ir import Op, UnknownOp, Value, walk
from ..ops import Entry
from ..types import (
    F32,
    I32,
    Function,
    GatherScatterView,
    PartitionView,
    Ptr,
    Scalar,
    StridedView,
    TensorView,
    Tile,
    Type,
)
from .case import Case, CaseLaunch
from .fill import default_argument, values_of

Change = Callable[[Type], Type]


# ---------------------------------------------------------------- which values change together


def classes(case: Case, aspects: Sequence[str]) -> list[list[int]]:
    """Group values, by their positions, that declarations tie together in their type or one of these aspects."""
    values = values_of(case)
    numbers = {value: n for n, value in enumerate(values)}
    parent = list(range(len(values)))

    def root(n: int) -> int:
        while parent[n] != n:
            parent[n] = parent[parent[n]]
            n = parent[n]
        return n

    for o in walk(case.module):
        for group in _tied(o, aspects):
            for a, b in pairwise(group):
                if a in numbers and b in numbers:
                    parent[root(numbers[b])] = root(numbers[a])
    groups: dict[int, list[int]] = {}
    for n in range(len(values)):
        groups.setdefault(root(n), []).append(n)
    return list(groups.values())


def _tied(o: Op, aspects: Sequence[str]) -> Iterator[list[Value]]:
    """Yield the values of an operation that have the same type, shape or element."""
    if isinstance(o, UnknownOp):
        return
    for rule in o.opdef.rules:
        if rule.what in ("type", *aspects):
            lists = [_flat(getattr(o, o.opdef.field(name).attr)) for name in rule.names]
            if rule.what == "type" and len({len(x) for x in lists}) == 1:
                yield from map(list, zip(*lists))
            else:
                yield [v for part in lists for v in part]
    for block in o.blocks:
        # Where a region passes values on, the lists of types are equal.
        last = block.ops[-1].operands if block.ops else []
        for one, other in ((last, o.results), (last, block.args), (block.args, o.operands), (o.results, o.operands)):
            count = min(len(one), len(other))
            ends = list(zip(one[len(one) - count :], other[len(other) - count :]))
            if ends and all(a.type is b.type for a, b in ends):
                yield from map(list, ends)


def _flat(value: Any) -> list[Value]:
    return list(value) if isinstance(value, tuple) else [] if value is None else [value]


# ---------------------------------------------------------------- changes


def with_dims(change: Callable[[tuple[int, ...]], tuple[int, ...]]) -> Change:
    """Change the shapes of tiles."""

    def apply(t: Type) -> Type:
        return Tile(change(t.shape), t.element) if isinstance(t, Tile) else t

    return apply


def with_shape(old: tuple[int, ...], new: tuple[int, ...]) -> Change:
    """Change every tile of one shape."""
    return with_dims(lambda shape: new if shape == old else shape)


def with_size(old: int, new: int) -> Change:
    """Change every tile of one size to a row of another size; the rank stays."""

    def dims(shape: tuple[int, ...]) -> tuple[int, ...]:
        return (*(1,) * (len(shape) - 1), new) if shape and prod(shape) == old else shape

    return lambda t: _with_tile_shape(t, dims)


def _with_tile_shape(t: Type, dims: Callable[[tuple[int, ...]], tuple[int, ...]]) -> Type:
    """Change the shape of a tile, or of the tiles of a view."""
    match t:
        case Tile():
            return Tile(dims(t.shape), t.element)
        case PartitionView():
            return PartitionView(dims(t.tile_shape), t.tensor_view, t.dim_map, t.padding_value)
        case StridedView():
            steps = t.traversal_strides
            return StridedView(dims(t.tile_shape), steps, t.tensor_view, t.dim_map, t.padding_value)
        case GatherScatterView():
            return GatherScatterView(dims(t.tile_shape), t.tensor_view, t.sparse_dim, t.padding_value)
    return t


def with_extent(old: int, new: int) -> Change:
    """Change every dimension of one extent, in tiles and in views."""

    def dims(shape: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(new if d == old else d for d in shape)

    return lambda t: _with_tile_shape(t, dims)


def with_element(old: Scalar, new: Scalar) -> Change:
    """Change an element type everywhere: in tiles, pointers and views."""

    def apply(t: Type) -> Type:
        match t:
            case Tile():
                return Tile(t.shape, apply(t.element))
            case Ptr():
                return Ptr(apply(t.pointee), t.ptr_attr)
            case Scalar():
                return new if t is old else t
            case TensorView():
                return TensorView(apply(t.element), t.shape, t.strides, t.ptr_attr)
            case PartitionView():
                return PartitionView(t.tile_shape, apply(t.tensor_view), t.dim_map, t.padding_value)
            case StridedView():
                view = apply(t.tensor_view)
                return StridedView(t.tile_shape, t.traversal_strides, view, t.dim_map, t.padding_value)
            case GatherScatterView():
                return GatherScatterView(t.tile_shape, apply(t.tensor_view), t.sparse_dim, t.padding_value)
        return t

    return apply


def plain(t: Type) -> Type:
    """Remove what a type need not have: kinds of pointers, padding."""
    match t:
        case Tile():
            return Tile(t.shape, plain(t.element))
        case Ptr():
            return Ptr(t.pointee)
        case TensorView():
            return TensorView(t.element, t.shape, t.strides)
        case PartitionView():
            return PartitionView(t.tile_shape, plain(t.tensor_view))
        case StridedView():
            return StridedView(t.tile_shape, t.traversal_strides, plain(t.tensor_view))
        case GatherScatterView():
            return GatherScatterView(t.tile_shape, plain(t.tensor_view), t.sparse_dim)
    return t


def retyped(case: Case, numbers: Sequence[int] | None, change: Change) -> Case | None:
    """Return a copy in which values, by their positions, or all of them, have other types; None if nothing changes."""
    case = case.copy()
    values = values_of(case)
    changed = False
    try:
        for value in values if numbers is None else [values[n] for n in numbers]:
            new = change(value.type)
            changed |= new is not value.type
            value.type = new
        for o in walk(case.module) if changed else ():
            _fit_attributes(o, change)
    except (TileError, ValueError):  # there is no such type
        return None
    if not changed:
        return None
    launch = case.launch
    for entry in case.module.entries:
        old, new_types = entry.function_type.params, [v.type for v in entry.body.args]
        if list(old) != new_types:
            entry.function_type = Function(new_types)
            launch = _fit_launch(launch, entry, old)
    return replace(case, launch=launch)


def _fit_attributes(o: Op, change: Change) -> None:
    """Give constants and neutral elements the types of the values that they belong to."""
    if isinstance(o, UnknownOp):
        return
    for f in o.opdef.attrs:
        value = getattr(o, f.attr)
        if f.kind is AttrKind.DENSE and o.results and value.type is not o.results[0].type:
            type = o.results[0].type
            assert isinstance(type, Tile)
            setattr(o, f.attr, _fit_dense(value, type))
        elif f.kind is AttrKind.ARRAY and value is not None:
            setattr(o, f.attr, tuple(_fit_number(item, change) for item in value))


def _fit_dense(value: Dense, type: Tile) -> Dense:
    elements = value.elements() if len(value.stored()) > 1 else value.stored()
    if type.element is not value.type.element:
        return Dense.of(type, [0])
    return Dense.of(type, elements if len(elements) == 1 else (elements * type.size)[: type.size])


def _fit_number(item: Any, change: Change) -> Any:
    if not isinstance(item, (IntAttr, FloatAttr)):
        return item
    new = change(item.type)
    if new is item.type or not isinstance(new, Scalar):
        return item
    return IntAttr(new, 0) if new.is_int else FloatAttr.of(new, 0.0)


def _fit_launch(launch: CaseLaunch | None, entry: Entry, old: Sequence[Type]) -> CaseLaunch | None:
    if launch is None or launch.entry != entry.sym_name:
        return launch
    args = []
    for argument, before, value in zip(launch.args, old, entry.body.args):
        if before is value.type:
            args.append(argument)
        else:
            args.append(default_argument(value.type, argument.size if hasattr(argument, "ndim") else 1))
    return replace(launch, args=tuple(args))


# ---------------------------------------------------------------- candidates


def simpler_types(case: Case) -> Iterator[Case | None]:
    """Yield copies with simpler types, the largest changes first."""
    values = values_of(case)
    tiles = [v.type for v in values if isinstance(v.type, Tile)]
    extents = sorted({d for t in tiles for d in t.shape}, reverse=True)
    elements = {t.element.pointee if isinstance(t.element, Ptr) else t.element for t in tiles}
    yield retyped(case, None, plain)
    for extent in extents:
        for new in (1, 2, extent // 2):
            if 0 < new < extent:
                yield retyped(case, None, with_extent(extent, new))
    for size in sorted({t.size for t in tiles}, reverse=True):
        for new in dict.fromkeys((1, 2, size // 2, size)):
            if 0 < new <= size:
                yield retyped(case, None, with_size(size, new))
    for shape in sorted({t.shape for t in tiles if t.rank}):
        for smaller in dict.fromkeys(((), shape[1:], shape[:-1])):
            yield retyped(case, None, with_shape(shape, smaller))
    for element in sorted(elements, key=lambda e: e.name):
        yield retyped(case, None, with_element(element, I32 if element.is_int else F32))
    for group in classes(case, ("shape", "rank")):
        type = values[group[0]].type
        if isinstance(type, Tile) and type.rank:
            yield retyped(case, group, with_dims(lambda shape: ()))
            yield retyped(case, group, with_dims(lambda shape: shape[1:]))
            yield retyped(case, group, with_dims(lambda shape: shape[:-1]))
            for axis in range(type.rank):
                yield retyped(case, group, with_dims(_halving(axis)))
    for group in classes(case, ("element type",)):
        type = values[group[0]].type
        if isinstance(type, Tile) and isinstance(type.element, Scalar):
            yield retyped(case, group, with_element(type.element, I32 if type.element.is_int else F32))


def _halving(axis: int) -> Callable[[tuple[int, ...]], tuple[int, ...]]:
    return lambda shape: tuple(max(1, d // 2) if n == axis else d for n, d in enumerate(shape))
