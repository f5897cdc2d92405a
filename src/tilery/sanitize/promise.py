"""`promise`: what a program claims with `assume`, `inbounds` and `overflow`, and does not keep."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..analysis.promises import harmless_promises
from ..attrs import Bounded, DivBy, IntegerOverflow, SameElements, Signedness
from ..engines.common.tiles import Array, element_of, pointee_bytes, unsigned
from ..engines.reference.access import view_elements
from ..engines.reference.ops.integer import _upper_half, read
from ..engines.reference.view_access import TensorRef
from ..ir import Op
from ..ops import AddI, Assume, Entry, LoadViewTko, MulI, NegI, ShLI, StoreViewTko, SubI, TruncI
from ..types import Ptr, Tile
from .checks import Check, Rule, Step

NSW, NUW = IntegerOverflow.NSW, IntegerOverflow.NUW


class Promise(Check):
    """Every promise must hold."""

    name = "promise"

    def begin(self, entry: Entry) -> None:
        self.harmless = harmless_promises(entry)

    def rules(self, cls: type[Op]) -> Rule | None:
        return RULES.get(cls)


# ---------------------------------------------------------------- assume


def _assume(check: Promise, step: Step) -> None:
    if step.op in check.harmless:
        return
    value = step.args["value"]
    match step.op.predicate:
        case DivBy() as predicate if isinstance(value, TensorRef):
            _divisible(check, step, value.base, predicate)
        case DivBy() as predicate:
            _divisible(check, step, value, predicate)
        case SameElements(values=sizes):
            check.report(step, f"elements differ within groups of {_listed(sizes)}", _differ(value, sizes), value=value)
        case Bounded(lb=low, ub=high):
            # Bounds are signed. They are compared as Python integers, which do not wrap.
            numbers = read(value, Signedness.SIGNED)
            bad = np.zeros(numbers.shape, bool)
            info = np.iinfo(numbers.dtype)
            if low is not None and low > info.min:
                bad |= numbers < low if low <= info.max else True
            if high is not None and high < info.max:
                bad |= numbers > high if high >= info.min else True
            check.report(step, f"a value is not within {_between(low, high)}", bad, value=numbers)


def _divisible(check: Promise, step: Step, value: Array, predicate: DivBy) -> None:
    bits = unsigned(value) if value.dtype != np.bool_ else value.view(np.uint8)
    # A divisor that the type cannot hold divides 0 only.
    bad = bits & bits.dtype.type((predicate.divisor - 1) & ((1 << 8 * bits.itemsize) - 1)) != 0
    if predicate.every is not None and predicate.along is not None and predicate.every > 0:
        _consecutive(check, step, value, predicate.every, predicate.along + 1)
        first = np.arange(bad.shape[predicate.along + 1]) % predicate.every == 0
        bad = bad & first.reshape(-1, *(1,) * (bad.ndim - predicate.along - 2))
    tile = step.op.value.type
    what = "an address" if not isinstance(tile, Tile) or isinstance(tile.element, Ptr) else "a value"
    check.report(step, f"{what} is not divisible by {predicate.divisor}", bad, value=value)


def _consecutive(check: Promise, step: Step, value: Array, every: int, axis: int) -> None:
    """Within the groups of `div_by<..., every N along D>`, each element is the one before plus 1, or plus its size."""
    element = step.op.value.type.element
    by = pointee_bytes(element.pointee) if isinstance(element, Ptr) else 1
    inner = np.arange(1, value.shape[axis]) % every != 0
    bad = np.zeros(value.shape, bool)
    rest = (slice(None),) * axis
    if value.dtype != np.bool_:
        wrong = np.diff(value, axis=axis) != by
        bad[(*rest, slice(1, None))] = wrong & inner.reshape(-1, *(1,) * (value.ndim - axis - 1))
    check.report(step, f"elements do not increase by {by} within groups of {every}", bad, value=value)


def _differ(value: Array, sizes: tuple[int, ...]) -> Array:
    """Which elements differ from the first one of their group."""
    first = value
    for axis, size in enumerate(sizes, 1):
        if size > 1:
            first = np.take(first, np.arange(value.shape[axis]) // size * size, axis=axis)
    differ: Array = value != first
    return differ


def _between(low: int | None, high: int | None) -> str:
    return f"[{'-inf' if low is None else low}, {'inf' if high is None else high}]"


def _listed(sizes: tuple[int, ...]) -> str:
    return " x ".join(map(str, sizes))


# ---------------------------------------------------------------- views


def _inbounds(check: Promise, step: Step) -> None:
    o = step.op
    if not any(o.inbounds):
        return
    view, tensor, index = o.view.type, step.args["view"], step.args["index"]
    place = view_elements(view, tensor, index, (False,) * len(index), step.batch.lanes)
    if place.span is not None and place.span.whole:
        return
    inside = place.made[1]
    # Elements that other dimensions leave out are no concern of a promise.
    others = view_elements(view, tensor, index, o.inbounds, step.batch.lanes).made[1]

    def values(where: tuple[int, ...]) -> dict[str, Any]:
        at = [int(i[where[0] if len(i) > 1 else 0].reshape(-1)[0]) for i in index]
        return {"the index of the tile": at}

    rule = "a tile is not inside the tensor, as 'inbounds' promises"
    check.reports.elements(check.name, o, rule, step.blocks, others & ~inside, values)


# ---------------------------------------------------------------- overflow


def _exact(step: Step, names: tuple[str, ...], signedness: Signedness) -> list[Array]:
    return [read(step.args[name], signedness) for name in names]


def _out_of_range(numbers: Array, bits: int, signed: bool) -> Array:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    outside: Array = (numbers < low) | (numbers > high)
    return outside


def _overflow(check: Promise, step: Step) -> None:
    o = step.op
    if o.overflow is IntegerOverflow.NONE:
        return
    names = ("source",) if isinstance(o, NegI) else ("lhs", "rhs")
    bits = element_of(o.result.type).bits
    for flag, signedness in ((NSW, Signedness.SIGNED), (NUW, Signedness.UNSIGNED)):
        if o.overflow in (flag, IntegerOverflow.NW):
            operands = _exact(step, names, signedness)
            if isinstance(o, ShLI):
                operands[1] = read(step.args["rhs"], Signedness.UNSIGNED)
            bad = (_wraps_wide if bits == 64 else _wraps)(o, operands, bits, signedness is Signedness.SIGNED)
            word = str(flag.text)
            check.report(step, f"the result wraps, which '{word}' rules out", bad, **dict(zip(names, operands)))


def _wraps(o: Op, operands: list[Array], bits: int, signed: bool) -> Array:
    """Whether results of up to 32 bits wrap: they are exact in 64 bits."""
    a, b = (x.astype(np.int64) for x in (*operands, np.zeros((), np.int64))[:2])
    match o:
        case AddI():
            exact = a + b
        case SubI():
            exact = a - b
        case MulI() if signed:
            exact = a * b
        case MulI():
            over: Array = a.astype(np.uint64) * b.astype(np.uint64) > np.uint64((1 << bits) - 1)
            return over
        case NegI():
            exact = -a
        case _:
            # A shift by the width or more is another fault.
            exact = np.where(b < bits, a << np.minimum(b, 31), 0)
    return _out_of_range(exact, bits, signed)


def _wraps_wide(o: Op, operands: list[Array], bits: int, signed: bool) -> Array:
    """Whether results of 64 bits wrap."""
    a, b = (*operands, np.zeros((1,) * operands[0].ndim, operands[0].dtype))[:2]
    bad: Array
    match o:
        case AddI():
            bad = ((a ^ (a + b)) & (b ^ (a + b))) < 0 if signed else a + b < a
        case SubI():
            bad = ((a ^ b) & (a ^ (a - b))) < 0 if signed else a < b
        case MulI():
            x, y = (unsigned(np.absolute(n)) if signed else n for n in np.broadcast_arrays(a, b))
            bad = _upper_half(x, y) != 0
            if signed:
                bad |= x * y > np.where((a < 0) != (b < 0), np.uint64(1 << 63), np.uint64((1 << 63) - 1))
        case NegI():
            bad = a == np.iinfo(np.int64).min
        case _:
            by = np.minimum(b.astype(np.uint64), np.uint64(63)).astype(a.dtype)
            bad = ((a << by) >> by != a) & (b < 64)
    return bad


def _truncated(check: Promise, step: Step) -> None:
    o = step.op
    bits = element_of(o.to.type).bits
    for flag, signedness in ((NSW, Signedness.SIGNED), (NUW, Signedness.UNSIGNED)):
        if o.overflow in (flag, IntegerOverflow.NW):
            (numbers,) = _exact(step, ("from_",), signedness)
            bad = _out_of_range(numbers, bits, flag is NSW)
            check.report(step, f"the result wraps, which '{flag.text}' rules out", bad, from_=numbers)


RULES: dict[type[Op], Any] = {
    Assume: _assume,
    LoadViewTko: _inbounds,
    StoreViewTko: _inbounds,
    **dict.fromkeys((AddI, SubI, MulI, NegI, ShLI), _overflow),
    TruncI: _truncated,
}
"""The checks before an operation."""
