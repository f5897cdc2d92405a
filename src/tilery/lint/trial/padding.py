"""`padding`: elements that a load pads, where they change the result of a reduction or of a matrix product.

Padding is neutral if the result is the same without it. Whether it is depends on the numbers, so that a kernel is
launched on positive and on negative ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...declare.relations import ELEMENTWISE
from ...engines.common.numerics.convert import to_f64
from ...engines.common.tiles import Array, element_of
from ...engines.reference.access import Access, AccessKind
from ...ir import Op, Value
from ...ops import Assume, Bitcast, Broadcast, LoadPtrTko, LoadViewTko, MmaF, MmaI, Reduce, Scan, Select
from ...sanitize.body import fold
from ...sanitize.checks import Step
from ...sanitize.hints import identity_array
from ...sanitize.origins import MOVES, Origin, bytes_of, with_origins
from ...sanitize.reports import Occurrence
from ...sanitize.shadow import Shadow, present, spread
from ...sanitize.uninit import Uninit, padding_of

NEUTRAL = 1e-5
"""The largest change of a result that counts as rounding."""
PADDED, REAL = np.uint32(1), np.uint32(2)
"""The shadow of an element: it is computed from padding, or from an element of memory at its own place.

An element that is computed from both is real. One that was broadcast is neither, as it is at every place.
"""


class Padding(Uninit):
    """Follows padding through values, as `Uninit` follows undefined bytes."""

    name = "padding"

    def shadows_of(self, step: Step, result: Any, shadows: dict[str, Any]) -> Any:
        o, found = step.op, present(shadows)
        if step.access is not None:
            return (self._of_load(o, step.access), None) if step.access.kind is AccessKind.READ else None
        if not found or not o.results:
            return None
        match o:
            case Reduce():
                return self._reduced(o, step, shadows)
            case Scan():
                return (shadows["operands_"],)
            case MmaF() | MmaI():
                return self._multiplied(o, step, shadows)
            case Select():
                chosen = [shadows[name] for name in ("val_if_true", "val_if_false")]
                a, b = (np.zeros((1,) * len(_shape(o.result)), np.uint32) if s is None else s for s in chosen)
                made = np.where(step.args["cond"], a, b)
                return made if shadows["cond"] is None else _combined([made, shadows["cond"]])
            case Assume() | Bitcast():
                return found[0]
        if isinstance(o, MOVES):
            plain = {name: _bytes(shadow) for name, shadow in shadows.items()}
            moved = with_origins(spread(o, step, plain), o, step.args, shadows)
            return np.where(moved & 0xFF == REAL, 0, moved) if isinstance(o, Broadcast) else moved
        return _combined(found) if o.opdef.has(ELEMENTWISE) and len(o.results) == 1 else None

    def _report(self, o: Op, rule: str, blocks: Array, shadow: Array, values: Any = None, hint: bool = False) -> None:
        """Padding is defined, so that no use of it is a fault in itself."""

    def _of_load(self, o: Op, access: Access) -> Shadow:
        assert isinstance(o, (LoadPtrTko, LoadViewTko))
        shape = access.mask.shape
        if padding_of(o) is None or (access.place.span is not None and access.place.span.whole):
            return np.full((1, *shape[1:]), REAL)
        kept = access.mask if access.refused is None else access.mask | access.refused
        number = self._origins.add(Origin("which pads", o))
        return np.where(kept, REAL, np.uint32(number << 8) | PADDED)

    def _reduced(self, o: Reduce, step: Step, shadows: dict[str, Any]) -> Any:
        axis = o.dim + 1
        operands: tuple[Array, ...] = step.args["operands_"]
        shadow = _combined([each for each in shadows["operands_"] if each is not None])
        shadow = np.broadcast_to(shadow, np.broadcast_shapes(shadow.shape, operands[0].shape))
        padded = shadow & 0xFF == PADDED
        real = (shadow & 0xFF == REAL).any(axis=axis)
        mixed = padded.any(axis=axis) & real
        if mixed.any():
            given = [np.broadcast_to(a, (len(shadow), *a.shape[1:])) for a in operands]
            kept = [
                np.where(padded, identity_array(attr, a).reshape(a.shape), a) for attr, a in zip(o.identities, given)
            ]
            with self.machine.quiet():
                with_padding = fold(o, step.batch, tuple(given), direct=True)
                without = fold(o, step.batch, tuple(kept), direct=True)
            changed = np.zeros(mixed.shape, bool)
            for a, b, value in zip(with_padding, without, o.results):
                changed |= _differs(_numbers(a, value), _numbers(b, value))
            self._found(o, step, changed & mixed, shadow[padded])
        made = np.where(real, REAL, shadow.max(axis=axis)).astype(np.uint32)
        return (tuple(made for _ in o.results),)

    def _multiplied(self, o: MmaF | MmaI, step: Step, shadows: dict[str, Any]) -> Any:
        (lhs, a), (rhs, b) = ((_factor(step, o, name, shadows[name])) for name in ("lhs", "rhs"))
        rows = (a & 0xFF == REAL).any(axis=-1, keepdims=True)
        columns = (b & 0xFF == REAL).any(axis=-2, keepdims=True)
        padding = np.where(a & 0xFF == PADDED, lhs, 0) @ rhs + lhs @ np.where(b & 0xFF == PADDED, rhs, 0)
        changed = (padding > NEUTRAL * (lhs @ rhs)) & rows & columns
        if changed.any():
            both = np.concatenate([each[each & 0xFF == PADDED] for each in (a, b)])
            self._found(o, step, changed, both)
        outside = np.maximum(np.where(rows, 0, a.max(axis=-1, keepdims=True)), 0)
        outside = np.maximum(outside, np.where(columns, 0, b.max(axis=-2, keepdims=True)))
        made = np.where(rows & columns, REAL, outside).astype(np.uint32)
        return made if shadows["acc"] is None else _combined([made, shadows["acc"]])

    def _found(self, o: Op, step: Step, bad: Array, padding: Array) -> None:
        rule = "padding takes part in the result, and is not neutral"
        report = self.reports.elements(self.name, o, rule, step.blocks, bad)
        origin = self._origins[int(padding.max()) >> 8].op
        if report is not None and origin is not None:
            report.places.append(Occurrence(origin, role="it comes from", reason="which pads"))


def _combined(shadows: list[Array]) -> Array:
    """Return the shadow of elements that are computed from others at the same place."""
    real = padded = np.zeros((), bool)
    origin = np.zeros((), np.uint32)
    for shadow in shadows:
        real = real | (shadow & 0xFF == REAL)
        padded = padded | (shadow & 0xFF == PADDED)
        origin = np.maximum(origin, shadow)
    return np.where(real, REAL, np.where(padded, origin & ~np.uint32(0xFF) | PADDED, 0)).astype(np.uint32)


def _factor(step: Step, o: MmaF | MmaI, name: str, shadow: Shadow) -> tuple[Array, Array]:
    """The sizes of the elements of a factor, and their shadow."""
    numbers = np.abs(_numbers(step.args[name], getattr(o, name)))
    given = np.full((1,) * numbers.ndim, REAL) if shadow is None else shadow
    return numbers, np.broadcast_to(given, np.broadcast_shapes(given.shape, numbers.shape))


def _bytes(shadow: Any) -> Any:
    return tuple(map(bytes_of, shadow)) if isinstance(shadow, tuple) else bytes_of(shadow)


def _shape(value: Value) -> tuple[int, ...]:
    shape: tuple[int, ...] = value.type.shape  # type: ignore[attr-defined]  # a tile
    return (1, *shape)


def _numbers(array: Array, value: Value) -> Array:
    element = element_of(value.type)
    made: Array = to_f64(array, element) if element.is_float else array.astype(np.float64)
    return made


def _differs(a: Array, b: Array) -> Array:
    different: Array = ~np.isclose(a, b, rtol=NEUTRAL, atol=0, equal_nan=True)
    return different
