"""How undefined bytes spread through values: the shadow of each operation's results from those of its operands.

A shadow has an unsigned byte per element of a tile, lanes first; bit k says that byte k of the element is undefined.
None is a value that is defined throughout. The shadow of a view has one element per lane: whether its address or its
sizes are undefined. As in Valgrind, what is only moved keeps its bytes, and arithmetic on an undefined byte makes the
whole result undefined.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..attrs import Signedness
from ..declare.relations import ELEMENTWISE
from ..engines.common.tiles import Array, carrier, element_of
from ..engines.reference.registry import RUNS
from ..ir import Op
from ..ops import (
    AndI,
    Assume,
    Bitcast,
    Broadcast,
    Cat,
    ExtI,
    Extract,
    GetIndexSpaceShape,
    GetTensorShape,
    Insert,
    IntToPtr,
    MakeGatherScatterView,
    MakePartitionView,
    MakeStridedView,
    MakeTensorView,
    MmaF,
    MmaFScaled,
    MmaI,
    OrI,
    Pack,
    Permute,
    PtrToInt,
    PtrToPtr,
    Reduce,
    Reshape,
    Scan,
    Select,
    ShLI,
    ShRI,
    TruncI,
    Unpack,
    XOrI,
)
from ..types import I1, Scalar
from .checks import Step

FULL = np.uint8(0xFF)
Shadow = Array | None
Shadows = dict[str, Any]
"""The shadows of the operands by name: a shadow, or a tuple of them for a variadic operand."""


def full(where: Array) -> Array:
    """The shadow of elements that are undefined as a whole."""
    return np.where(where, FULL, np.uint8(0))


def spread(o: Op, step: Step, shadows: Shadows) -> Any:
    """Return the shadow of each result field of an operation that has an undefined operand."""
    rule = RULES.get(type(o))
    if rule is not None:
        return rule(o, step, shadows)
    if o.opdef.has(ELEMENTWISE):
        return _all(shadows)
    return None


def present(shadows: Shadows) -> list[Array]:
    """The shadows of all operands that have one."""
    found = []
    for shadow in shadows.values():
        found += [s for s in (shadow if isinstance(shadow, tuple) else (shadow,)) if s is not None]
    return found


def _all(shadows: Shadows) -> Array:
    """An element is undefined where some operand is."""
    first, *rest = present(shadows)
    for shadow in rest:
        first = first | shadow
    return full(first != 0)


def _same(o: Op, step: Step, shadows: Shadows) -> Shadow:
    """The bytes are passed on."""
    found: list[Array] = present(shadows)
    return found[0]


def zeros_like(value: Any) -> Array:
    """The shadow of a value that is defined, in one lane."""
    return np.broadcast_to(np.uint8(0), (1, *value.shape[1:]))


def _moved(o: Op, step: Step, shadows: Shadows) -> Shadow:
    """Elements are only moved: the operation itself moves their shadows."""
    args = []
    for name, value in step.args.items():
        if name == "indices":
            if any(s is not None and s.any() for s in shadows[name]):
                return full(np.ones((1, *_shape(o)), bool))
            args.append(value)
        else:
            args.append(zeros_like(value) if shadows[name] is None else shadows[name])
    made: Array = RUNS[type(o)].function(o, *args)
    return made


def _shape(o: Any) -> tuple[int, ...]:
    shape: tuple[int, ...] = o.result.type.shape
    return shape


def _select(o: Select, step: Step, shadows: Shadows) -> Shadow:
    args = step.args
    a, b = (zeros_like(args[n]) if shadows[n] is None else shadows[n] for n in ("val_if_true", "val_if_false"))
    made: Array = np.where(args["cond"], a, b)
    if shadows["cond"] is not None:
        made = made | full(shadows["cond"] != 0)
    return made


# ---------------------------------------------------------------- bits


def _masks(value: Array, ones: bool) -> Array:
    """For each element the bytes that are all ones, or all zeros, as bits."""
    raw = np.ascontiguousarray(value).view(np.uint8).reshape(*value.shape, value.dtype.itemsize)
    if value.dtype == np.bool_:
        raw = raw * FULL
    matches = np.packbits(raw == (FULL if ones else 0), axis=-1, bitorder="little")
    return matches.reshape(value.shape)


def _logic(o: AndI | OrI, step: Step, shadows: Shadows) -> Shadow:
    """A byte is defined if both are, or if one of them alone decides it: 0 for `andi`, all ones for `ori`."""
    a, b = shadows["lhs"], shadows["rhs"]
    x, y = step.args["lhs"], step.args["rhs"]
    a, b = zeros_like(x) if a is None else a, zeros_like(y) if b is None else b
    ones = isinstance(o, OrI)
    decided = (_masks(x, ones) & ~a) | (_masks(y, ones) & ~b)
    made: Array = (a | b) & ~decided
    return made


def _xor(o: XOrI, step: Step, shadows: Shadows) -> Shadow:
    found = present(shadows)
    return found[0] if len(found) == 1 else found[0] | found[1]


def _shift(o: ShLI | ShRI, step: Step, shadows: Shadows) -> Shadow:
    """Whole bytes keep their identity; what is shifted in from the sign is not tracked."""
    by, size = step.args["rhs"], carrier(element_of(o.result.type)).itemsize
    signed = isinstance(o, ShRI) and o.signedness is Signedness.SIGNED
    if shadows["rhs"] is not None or signed or by.dtype == np.bool_ or (by & 7).any() or shadows["lhs"] is None:
        return _all(shadows)
    count = np.clip(by.astype(np.int64) >> 3, 0, 8).astype(np.uint16)
    wide = shadows["lhs"].astype(np.uint16) & np.uint16((1 << size) - 1)
    moved = wide << count if isinstance(o, ShLI) else wide >> count
    made: Array = (moved & ((1 << size) - 1)).astype(np.uint8)
    return made


def _narrow(o: TruncI, step: Step, shadows: Shadows) -> Shadow:
    made: Array = shadows["from_"] & np.uint8((1 << _bytes(element_of(o.to.type))) - 1)
    return made


def _widen(o: ExtI, step: Step, shadows: Shadows) -> Shadow:
    shadow, size = shadows["from_"], _bytes(element_of(o.from_.type))
    if o.signedness is not Signedness.SIGNED:
        return shadow & np.uint8((1 << size) - 1)  # type: ignore[no-any-return]  # an array of bytes
    upper = np.uint8(0xFF & ~((1 << size) - 1))
    made: Array = np.where(shadow >> (size - 1) & 1 != 0, shadow | upper, shadow)
    return made


def _bytes(element: Scalar) -> int:
    return carrier(element).itemsize


def _pack(o: Pack, step: Step, shadows: Shadows) -> Shadow:
    shadow, element = shadows["source"], element_of(o.source.type)
    each = 8 if element is I1 else 2 if element.bits == 4 else 1
    if each > 1:
        return full(shadow.reshape(*shadow.shape[:-1], -1, each).any(axis=-1))
    bits = np.unpackbits(shadow[..., np.newaxis], axis=-1, bitorder="little")[..., : _bytes(element)]
    return bits.reshape(*shadow.shape[:-1], -1)


def _unpack(o: Unpack, step: Step, shadows: Shadows) -> Shadow:
    shadow, element = shadows["source"], element_of(o.result.type)
    each = 8 if element is I1 else 2 if element.bits == 4 else 1
    if each > 1:
        return full(np.repeat(shadow != 0, each, axis=-1))
    groups = (shadow != 0).reshape(*shadow.shape[:-1], -1, _bytes(element))
    return np.packbits(groups, axis=-1, bitorder="little").reshape(groups.shape[:-1])


# ---------------------------------------------------------------- along dimensions


def _matrix(o: Any, step: Step, shadows: Shadows) -> Shadow:
    """An element of a product is undefined if its row, its column or its accumulator has an undefined element."""
    made = zeros_like(step.args["acc"]) != 0
    for name, axis in (("lhs", -1), ("rhs", -2), ("lhs_scale", -1), ("rhs_scale", -2)):
        if shadows.get(name) is not None:
            made = made | (shadows[name] != 0).any(axis=axis, keepdims=True)
    if shadows["acc"] is not None:
        made = made | (shadows["acc"] != 0)
    return full(made)


def _reduce(o: Reduce, step: Step, shadows: Shadows) -> tuple[tuple[Shadow, ...]]:
    undefined = (_all(shadows) != 0).any(axis=o.dim + 1)
    return ((full(undefined),) * len(o.results),)


def _scan(o: Scan, step: Step, shadows: Shadows) -> tuple[tuple[Shadow, ...]]:
    undefined = _all(shadows) != 0
    axis = o.dim + 1
    if o.reverse:
        undefined = np.flip(np.logical_or.accumulate(np.flip(undefined, axis), axis=axis), axis)
    else:
        undefined = np.logical_or.accumulate(undefined, axis=axis)
    return ((full(undefined),) * len(o.results),)


# ---------------------------------------------------------------- views


def _tensor(o: MakeTensorView, step: Step, shadows: Shadows) -> Shadow:
    return _all(shadows)


def _sizes(o: GetTensorShape | GetIndexSpaceShape, step: Step, shadows: Shadows) -> Any:
    return (tuple(shadows["src"] for _ in o.results),)


RULES: dict[type[Op], Any] = {
    **dict.fromkeys((Broadcast, Reshape, Permute, Cat, Extract, Insert), _moved),
    **dict.fromkeys((Bitcast, IntToPtr, PtrToInt, PtrToPtr, Assume), _same),
    **dict.fromkeys((MakePartitionView, MakeStridedView, MakeGatherScatterView), _same),
    **dict.fromkeys((GetTensorShape, GetIndexSpaceShape), _sizes),
    **dict.fromkeys((AndI, OrI), _logic),
    **dict.fromkeys((ShLI, ShRI), _shift),
    **dict.fromkeys((MmaF, MmaFScaled, MmaI), _matrix),
    XOrI: _xor,
    Select: _select,
    TruncI: _narrow,
    ExtI: _widen,
    Pack: _pack,
    Unpack: _unpack,
    Reduce: _reduce,
    Scan: _scan,
    MakeTensorView: _tensor,
}
"""The operations whose results do not simply depend on the same elements of all operands."""
