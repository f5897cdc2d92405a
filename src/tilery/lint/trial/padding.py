"""`padding`: elements that a load pads, where they change the result of a reduction or of a matrix product.

Padding is neutral if the result is the same without it. Whether it is depends on the numbers, so that a kernel is
launched on positive and on negative ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...engines.common.numerics.convert import to_f64
from ...engines.common.tiles import Array, element_of
from ...engines.reference.access import Access, Kind
from ...ir import Op, Value
from ...ops import LoadPtrTko, LoadViewTko, MmaF, MmaI, PrintTko, Reduce, Scan
from ...sanitize.body import fold
from ...sanitize.checks import Step
from ...sanitize.hints import identity_array
from ...sanitize.origins import Origin, bytes_of, with_origins
from ...sanitize.reports import Place
from ...sanitize.shadow import Shadow, full, present, spread
from ...sanitize.uninit import Uninit, padding_of

NEUTRAL = 1e-5
"""The largest change of a result that counts as rounding."""


class Padding(Uninit):
    """Follows padding through values as `Uninit` follows undefined bytes: its shadow says which elements are padding.

    A reduction over padding and other elements ends it: the result counts as one that padding does not concern.
    """

    name = "padding"

    def shadows_of(self, step: Step, result: Any, shadows: dict[str, Any]) -> Any:
        o, found = step.op, present(shadows)
        if step.access is not None:
            return (self._padded(o, step.access), None) if step.access.kind is Kind.READ else None
        if not found or isinstance(o, PrintTko):
            return None
        match o:
            case Reduce():
                return self._reduced(o, step, shadows)
            case Scan():
                return (tuple(bytes_of(each) for each in shadows["operands_"]),)
            case MmaF() | MmaI():
                return self._multiplied(o, step, shadows)
        plain = {name: _bytes(shadow) for name, shadow in shadows.items()}
        return with_origins(spread(o, step, plain), o, step.args, shadows)

    def _report(self, o: Op, rule: str, blocks: Array, shadow: Array, values: Any = None, hint: bool = False) -> None:
        """Padding is defined, so that no use of it is a fault in itself."""

    def _padded(self, o: Op, access: Access) -> Shadow:
        """The shadow of a loaded tile."""
        assert isinstance(o, (LoadPtrTko, LoadViewTko))
        if padding_of(o) is None or (access.place.span is not None and access.place.span.whole):
            return None
        left_out = ~access.mask if access.refused is None else ~(access.mask | access.refused)
        number = self._origins.add(Origin("which pads", o))
        return np.where(left_out, np.uint32(number << 8 | 0xFF), np.uint32(0)) if left_out.any() else None

    def _reduced(self, o: Reduce, step: Step, shadows: dict[str, Any]) -> Any:
        axis = o.dim + 1
        operands: tuple[Array, ...] = step.args["operands_"]
        some = [each for each in shadows["operands_"] if each is not None]
        padded = np.zeros((1,) * operands[0].ndim, np.uint32)
        for each in some:
            padded = np.maximum(padded, each)
        where = np.broadcast_to(padded != 0, np.broadcast_shapes(padded.shape, operands[0].shape))
        whole = where.all(axis=axis)
        mixed = where.any(axis=axis) & ~whole
        if mixed.any():
            lanes = len(where)
            given = [np.broadcast_to(a, (lanes, *a.shape[1:])) for a in operands]
            kept = [
                np.where(where, identity_array(attr, a).reshape(a.shape), a) for attr, a in zip(o.identities, given)
            ]
            with self.machine.quiet():
                with_padding = fold(o, step.batch, tuple(given), direct=True)
                without = fold(o, step.batch, tuple(kept), direct=True)
            changed = np.zeros(mixed.shape, bool)
            for a, b, value in zip(with_padding, without, o.results):
                changed |= _differs(_numbers(a, value), _numbers(b, value))
            self._found(o, step, changed & mixed, padded)
        made = full(np.asarray(whole))
        return (tuple(made for _ in o.results),)

    def _multiplied(self, o: MmaF | MmaI, step: Step, shadows: dict[str, Any]) -> Any:
        lhs, rhs = (np.abs(_numbers(step.args[name], getattr(o, name))) for name in ("lhs", "rhs"))
        a, b = (
            np.zeros((1,) * lhs.ndim, np.uint32) if shadows[name] is None else shadows[name] for name in ("lhs", "rhs")
        )
        from_lhs, from_rhs = np.broadcast_to(a != 0, _both(a, lhs)), np.broadcast_to(b != 0, _both(b, rhs))
        rows, columns = from_lhs.all(axis=-1, keepdims=True), from_rhs.all(axis=-2, keepdims=True)
        padding = np.where(from_lhs, lhs, 0) @ rhs + lhs @ np.where(from_rhs, rhs, 0)
        changed = (padding > NEUTRAL * (lhs @ rhs)) & ~rows & ~columns
        if changed.any():
            self._found(o, step, changed, np.where(a.any(), a.max(), b.max()).astype(np.uint32))
        acc = shadows["acc"]
        outside = np.broadcast_to(rows | columns, changed.shape)
        if acc is not None:
            outside = outside | (acc != 0)
        return full(outside) if outside.any() else None

    def _found(self, o: Op, step: Step, bad: Array, shadow: Array) -> None:
        report = self.reports.elements(
            self.name, o, "padding takes part in the result, and is not neutral", step.blocks, bad
        )
        if report is not None:
            origin = self._origins[int(shadow.max()) >> 8]
            if origin.op is not None:
                report.places.append(Place(origin.op, role="it comes from", reason=origin.what))


def _bytes(shadow: Any) -> Any:
    return tuple(map(bytes_of, shadow)) if isinstance(shadow, tuple) else bytes_of(shadow)


def _numbers(array: Array, value: Value) -> Array:
    element = element_of(value.type)
    made: Array = to_f64(array, element) if element.is_float else array.astype(np.float64)
    return made


def _differs(a: Array, b: Array) -> Array:
    return ~np.isclose(a, b, rtol=NEUTRAL, atol=0, equal_nan=True)


def _both(a: Array, b: Array) -> tuple[int, ...]:
    return np.broadcast_shapes(a.shape, b.shape)
