"""Formulas of operations that make elements or move them: each returns the formulas of its results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import z3  # type: ignore[import-untyped]  # it has no types

from ... import ops
from ...attrs import Bounded, DivBy, SameElements
from ...ir import Op, Value
from ...types import DYNAMIC, GatherScatterView, Ptr, Scalar, StridedView, TensorView, Tile, TileView
from .algebra import ADDRESS, Algebra, Term, attributes, both

Index = tuple[Any, ...]
Formula = Callable[[Index], Term]
MOST_CONSTANTS = 1024
TRUE = z3.BoolVal(True)
Made = Mapping[Value, Any]
Promise = tuple[str, list[Term]]
"""A promise about a view: its text and what the view is made from."""


class Unsupported(Exception):
    """A kernel does something that has no formula here."""


class PartialFormulas(Protocol):
    """The part of a kernel's formulas that is needed here."""

    z: Algebra
    env: dict[Value, Any]
    bid: list[Any]
    grid: list[Any]
    promises: list[Promise]
    homes: dict[Value, str]

    def symbol(self, name: str, t: Tile, more: Index) -> Formula: ...

    def iterations(self) -> Index: ...

    def at(self, v: Value, idx: Index) -> Term: ...

    def is_needed(self, v: Value) -> bool: ...


def width(t: Any) -> int:
    """Return how many bits an element of a tile has."""
    element = t.element if isinstance(t, Tile) else t
    return ADDRESS if isinstance(element, Ptr) else int(element.bits)


def bytes_and_halves(element: Scalar) -> tuple[int, int]:
    """Return the distance between neighbours in a tensor, and in how many parts a byte is counted for it."""
    return (1, 2) if element.row.memory_bits < 8 else (element.row.memory_bits // 8, 1)


def element_bytes(element: Scalar) -> int:
    """Return the distance between neighbours that pointers address."""
    if element.row.memory_bits < 8:
        raise Unsupported(f"pointers to elements of {element}, which share a byte")
    return element.row.memory_bits // 8


def dims_of(view: TileView) -> tuple[int, ...]:
    """Return for each dimension of a tile the dimension of the tensor."""
    if isinstance(view, GatherScatterView):
        raise Unsupported("the size of a gather/scatter view")
    return tuple(view.dim_map)  # type: ignore[attr-defined]  # the other views have it


def chosen(first: Any, a: Term, b: Term) -> Term:
    """Return one of two terms; only the chosen one has to be defined."""
    (x, dx), (y, dy) = a, b
    if dx is True and dy is True:
        return z3.If(first, x, y), True
    return z3.If(first, x, y), z3.If(first, *(TRUE if d is True else d for d in (dx, dy)))


def _grid(s: PartialFormulas, o: Any) -> Made:
    terms = s.bid if isinstance(o, ops.GetTileBlockId) else s.grid
    return {v: _fixed(t) for v, t in zip(o.results, terms)}


def _fixed(value: Any, defined: Any = True) -> Formula:
    return lambda idx: (value, defined)


def _constant(s: PartialFormulas, o: Any) -> Made:
    w, value = width(o.result.type), o.value
    if value.splat is not None:
        return {o.result: _fixed(s.z.value(value.splat, w))}
    table, shape = value.elements(), o.result.type.shape

    def term(idx: Index) -> Term:
        if len(table) > MOST_CONSTANTS:
            raise Unsupported(f"a constant of more than {MOST_CONSTANTS} different elements")
        at = flat(s, idx, shape)
        made = s.z.value(table[-1], w)
        for i, x in enumerate(table[:-1]):
            made = z3.If(at == s.z.value(i, 32), s.z.value(x, w), made)
        return made, True

    return {o.result: term}


def flat(s: PartialFormulas, idx: Index, shape: Any) -> Any:
    """Return the number of an element in row-major order."""
    total, step = s.z.value(0, 32), 1
    for i, n in reversed(list(zip(idx, shape))):
        total = total + i * s.z.value(step, 32)
        step *= n
    return total


def parts_of(s: PartialFormulas, number: Any, shape: Any) -> Index:
    """Return the index of an element from its number; sizes are powers of two."""
    made, step = [], 1
    for n in reversed(shape):
        if n == 1:
            made.append(s.z.value(0, 32))
        elif s.z.name == "integers":
            made.append(number / step % n)
        else:
            made.append(z3.LShR(number, s.z.value(step.bit_length() - 1, 32)) & s.z.value(n - 1, 32))
        step *= n
    return tuple(reversed(made))


def _iota(s: PartialFormulas, o: Any) -> Made:
    w = width(o.result.type)
    return {o.result: lambda idx: (s.z.resize(idx[0], 32, w), True)}


def _broadcast(s: PartialFormulas, o: Any) -> Made:
    shape, zero = o.source.type.shape, s.z.value(0, 32)
    return {o.result: lambda idx: s.at(o.source, tuple(zero if n == 1 else i for n, i in zip(shape, idx)))}


def _reshape(s: PartialFormulas, o: Any) -> Made:
    old, new = o.source.type.shape, o.result.type.shape
    plain = [n for n in old if n > 1] == [n for n in new if n > 1]

    def term(idx: Index) -> Term:
        if plain:  # only dimensions of size 1 come or go
            left = iter([i for i, n in zip(idx, new) if n > 1])
            return s.at(o.source, tuple(next(left) if n > 1 else s.z.value(0, 32) for n in old))
        return s.at(o.source, parts_of(s, flat(s, idx, new), old))

    return {o.result: term}


def _permute(s: PartialFormulas, o: Any) -> Made:
    def term(idx: Index) -> Term:
        source: list[Any] = [None] * len(idx)
        for d, p in enumerate(o.permutation):
            source[p] = idx[d]
        return s.at(o.source, tuple(source))

    return {o.result: term}


def _cat(s: PartialFormulas, o: Any) -> Made:
    def term(idx: Index) -> Term:
        here = s.z.value(o.lhs.type.shape[o.dim], 32)
        other = tuple(i - here if d == o.dim else i for d, i in enumerate(idx))
        return chosen(s.z.below(idx[o.dim], here, 32), s.at(o.lhs, idx), s.at(o.rhs, other))

    return {o.result: term}


def _extract(s: PartialFormulas, o: Any) -> Made:
    def term(idx: Index) -> Term:
        terms = [s.at(v, ()) for v in o.indices]
        wide = [s.z.resize(t, width(v.type), 32) for (t, _), v in zip(terms, o.indices)]
        at = [t * s.z.value(n, 32) + i for t, n, i in zip(wide, o.result.type.shape, idx)]
        inside = [
            s.z.below(t, s.z.value(whole // part, 32), 32)
            for t, whole, part in zip(wide, o.source.type.shape, o.result.type.shape)
        ]
        value, defined = s.at(o.source, tuple(at))
        return value, both(defined, *(d for _, d in terms), *inside)

    return {o.result: term}


def _insert(s: PartialFormulas, o: Any) -> Made:
    def term(idx: Index) -> Term:
        terms = [s.at(v, ()) for v in o.indices]
        inside, part, here = [], [], []
        for (t, _), v, i, whole, n in zip(terms, o.indices, idx, o.destination.type.shape, o.source.type.shape):
            wide = s.z.resize(t, width(v.type), 32)
            inside.append(s.z.below(wide, s.z.value(whole // n, 32), 32))
            # The destination is a grid of tiles: an element is in the part if it is in that tile of the grid.
            here.append(s.z.quotient(i, n) == wide)
            part.append(s.z.remainder(i, n))
        replaced = z3.And(*here) if here else TRUE
        value, defined = chosen(replaced, s.at(o.source, tuple(part)), s.at(o.destination, idx))
        return value, both(defined, *(d for _, d in terms), *inside)

    return {o.result: term}


def _stored_bits(v: Value) -> int:
    """Return the bits of an element where elements follow each other without gaps, as `pack` puts them."""
    assert isinstance(v.type, Tile) and isinstance(v.type.element, Scalar)
    w = width(v.type)
    return w if w < 8 else int(v.type.element.row.memory_bits)


def _packed(s: PartialFormulas, o: Any) -> Made:
    """Read the bits of a tile as elements of another width, low bits first. Narrow floats have theirs at the top."""
    old, new = _stored_bits(o.source), _stored_bits(o.result)
    low, to = old - width(o.source.type), width(o.result.type)

    def whole(at: Any) -> Term:
        value, defined = s.at(o.source, (at,))
        return s.z.shifted(value, old - low, low), defined

    def term(idx: Index) -> Term:
        if old >= new:
            value, defined = whole(s.z.quotient(idx[0], old // new))
            made = s.z.piece(value, s.z.remainder(idx[0], old // new), old, new)
        else:
            count = new // old
            parts = [whole(idx[0] * s.z.value(count, 32) + s.z.value(i, 32)) for i in range(count)]
            made, defined = s.z.joined([t for t, _ in parts], old), both(*(d for _, d in parts))
        return s.z.top(made, new, to), defined

    return {o.result: term}


def _alloca(s: PartialFormulas, o: Any) -> Made:
    """Private memory is at some address, which depends on the iteration."""
    if not s.is_needed(o.result):
        return {}
    return {o.result: s.symbol(f"{s.homes[o.result]}[{attributes(o)}]", o.result.type, s.iterations())}


def _offset(s: PartialFormulas, o: Any) -> Made:
    def term(idx: Index) -> Term:
        (p, dp), (n, dn) = s.at(o.ptr, idx), s.at(o.offset, idx)
        wide = s.z.resize(n, width(o.offset.type), ADDRESS, True)
        size, halves = bytes_and_halves(o.result.type.element.pointee)
        if halves > 1:  # pointers to halves of a byte are those of the byte
            return p + s.z.halved(wide), both(dp, dn)
        return p + wide * s.z.value(size, ADDRESS), both(dp, dn)

    return {o.result: term}


def _assume(s: PartialFormulas, o: Any) -> Made:
    v = o.value
    if isinstance(v.type, Tile):
        return {o.result: _promised(s, v, o.predicate)}
    if v not in s.env:
        return {}
    base, shape, strides = s.env[v]
    s.promises.append((f"{v.type.text}: {o.predicate!r}", [base, *shape, *strides]))
    return {o.result: s.env[v]}


def _promised(s: PartialFormulas, v: Value, predicate: Any) -> Formula:
    """Return a value that is defined where a promise about it holds."""
    assert isinstance(v.type, Tile)
    w, element = width(v.type), v.type.element
    groups = predicate.values if isinstance(predicate, SameElements) else (getattr(predicate, "every", None) or 1,)
    if any(n & (n - 1) for n in groups):
        raise Unsupported("a promise about groups whose size is no power of two")

    def holds(idx: Index, t: Any) -> Any:
        match predicate:
            case Bounded(lb=low, ub=high):
                return s.z.between(t, low, high, w)
            case DivBy(divisor=by, every=every, along=along):
                multiple = s.z.divisible(t, by, w) if by else True
                if not every or along is None or every == 1:
                    return multiple
                # Only the first element of a group is a multiple; each other one is the one before and 1, or its size.
                inner = s.z.remainder(idx[along], every) != s.z.value(0, 32)
                before = tuple(i - s.z.value(1, 32) if d == along else i for d, i in enumerate(idx))
                distance = element_bytes(element.pointee) if isinstance(element, Ptr) else 1
                follows = TRUE if w == 1 else t == s.at(v, before)[0] + s.z.value(distance, w)
                return z3.If(inner, follows, TRUE if multiple is True else multiple)
        start = [i - s.z.remainder(i, n) if n > 1 else i for i, n in zip(idx, predicate.values)]
        return t == s.at(v, tuple(start))[0]

    def term(idx: Index) -> Term:
        t, defined = s.at(v, idx)
        return t, both(defined, holds(idx, t))

    return term


def _tensor(s: PartialFormulas, o: Any) -> Made:
    t = o.result.type
    assert isinstance(t, TensorView)
    if not s.is_needed(o.result):
        return {}

    def numbers(fixed: Any, dynamic: Any) -> list[Term]:
        left, made = iter(dynamic), list[Term]()
        for n in fixed:
            if n != DYNAMIC:
                made.append((s.z.value(n, ADDRESS), True))
                continue
            v = next(left)
            value, defined = s.at(v, ())
            made.append((s.z.resize(value, width(v.type), ADDRESS), defined))
        return made

    return {o.result: (s.at(o.base, ()), numbers(t.shape, o.dynamicShape), numbers(t.strides, o.dynamicStrides))}


def _same_view(s: PartialFormulas, o: Any) -> Made:
    return {o.result: s.env[o.tensor_view]} if o.tensor_view in s.env else {}


def _tensor_shape(s: PartialFormulas, o: Any) -> Made:
    made: dict[Value, Any] = {}
    for d, v in enumerate(o.result):
        if not s.is_needed(v):
            continue
        view, (_, shape, _) = o.src.type, s.env[o.src]
        if isinstance(o, ops.GetTensorShape):
            size, defined = shape[d]
        else:
            steps = view.traversal_strides if isinstance(view, StridedView) else view.tile_shape
            size, defined = shape[dims_of(view)[d]]
            size = s.z.ceil_div(size, steps[d], ADDRESS)
        made[v] = _fixed(s.z.resize(size, ADDRESS, width(v.type)), defined)
    return made


def _global(s: PartialFormulas, o: Any) -> Made:
    return {o.result: _fixed(s.z.unknown(f"global {o.name_!a}", ADDRESS))}


def _nothing(s: PartialFormulas, o: Any) -> Made:
    """Tokens have no value."""
    return {}


def _alias(s: PartialFormulas, o: Any) -> Made:
    return {o.results[0]: s.env[o.source]} if o.source in s.env else {}


MOVES: dict[type[Op], Callable[[Any, Any], Made]] = {
    ops.GetTileBlockId: _grid, ops.GetNumTileBlocks: _grid, ops.Constant: _constant, ops.Iota: _iota,
    ops.Broadcast: _broadcast, ops.Reshape: _reshape, ops.Permute: _permute, ops.Cat: _cat, ops.Extract: _extract,
    ops.Offset: _offset, ops.Assume: _assume, ops.MakeTensorView: _tensor, ops.MakePartitionView: _same_view,
    ops.MakeStridedView: _same_view, ops.MakeGatherScatterView: _same_view, ops.GetTensorShape: _tensor_shape,
    ops.GetIndexSpaceShape: _tensor_shape, ops.GetGlobal: _global, ops.MakeToken: _nothing, ops.JoinTokens: _nothing,
    ops.Insert: _insert, ops.Pack: _packed, ops.Unpack: _packed,
    ops.Alloca: _alloca, ops.Bitcast: _alias, ops.PtrToInt: _alias, ops.IntToPtr: _alias, ops.PtrToPtr: _alias,
}  # fmt: skip
"""Operations that make or move elements."""
