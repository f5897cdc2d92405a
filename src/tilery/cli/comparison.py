"""Where two engines differ: the first element, the tile block and operations behind it, and how far apart they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..engines.common.numerics.convert import to_f64
from ..engines.common.tiles import Array, carrier, unpacked
from ..engines.reference.access import Access
from ..ir import Op, Value
from ..sanitize.checks import Check
from ..sanitize.sanitizer import Sanitizer
from ..source.lines import innermost
from ..types import Scalar

MOST_OPS = 24
"""How many of the operations behind an element are shown."""


class LastWriter(NamedTuple):
    """Who wrote an element last."""

    op: Op
    block: tuple[int, ...]


@dataclass(slots=True)
class Difference:
    """How one argument differs. `ulps` counts elements by how many representable numbers lie between the results."""

    name: str
    element: Scalar
    count: int
    size: int
    index: tuple[int, ...]
    values: tuple[Any, Any]
    bits: tuple[int, int]
    ulps: dict[str, int]
    writer: LastWriter | None = None
    ops: list[Op] = field(default_factory=list)

    def as_dict(self, engines: Sequence[str]) -> dict[str, object]:
        """Return it as JSON can hold it."""
        writer = self.writer
        return {
            "argument": self.name,
            "type": str(self.element),
            "differing": self.count,
            "elements": self.size,
            "first": {
                "index": list(self.index),
                "values": {name: _plain(value) for name, value in zip(engines, self.values)},
                "bits": {name: f"{bits:#x}" for name, bits in zip(engines, self.bits)},
                "block": None if writer is None else list(writer.block),
                "operations": [{"operation": o.name, "source": _source(o)} for o in self.ops],
            },
            "ulps": self.ulps,
        }


def _plain(value: Any) -> object:
    return value if isinstance(value, int) or np.isfinite(value) else str(value)


def _source(o: Op) -> str | None:
    place = innermost(o.loc)
    return None if place is None else str(place)


# ---------------------------------------------------------------- comparing


def compare_arrays(name: str, element: Scalar, left: Array, right: Array) -> Difference | None:
    """Compare two arrays bit by bit; None if they are equal."""
    a, b = _elements(left, element), _elements(right, element)
    width = a.dtype.itemsize
    bits = [np.ascontiguousarray(x).view(f"u{width}") for x in (a, b)]
    different = bits[0] != bits[1]
    if not different.any():
        return None
    index = tuple(int(i) for i in np.argwhere(different)[0])
    values = tuple(_value(x[index], element) for x in (a, b))
    first = tuple(int(x[index]) for x in bits)
    ulps = histogram(element, a[different], b[different])
    return Difference(
        name, element, int(different.sum()), different.size, index, (values[0], values[1]), (first[0], first[1]), ulps
    )


def _elements(array: Array, element: Scalar) -> Array:
    if element.bits == 4:
        array = unpacked(array)
    return array.view(carrier(element))


def _value(bits: Any, element: Scalar) -> Any:
    if element.is_int:
        return int(bits)
    return float(to_f64(np.array([bits], carrier(element)), element)[0])


def histogram(element: Scalar, left: Array, right: Array) -> dict[str, int]:
    """Count elements by their distance: in representable numbers for floats, in units for integers.

    >>> from tilery.types import F32
    >>> one = np.ones(3, np.float32)
    >>> histogram(F32, one, np.array([1, np.nextafter(np.float32(1), np.float32(2)), np.nan], np.float32))
    {'0': 1, '1': 1, 'NaN': 1}
    """
    distance, nan = distances(element, left, right)
    found: dict[str, int] = {}
    low = 0
    for high in (0, 1, 2, *(1 << n for n in range(2, 65))):
        count = int(((distance >= low) & (distance <= high) & ~nan).sum())
        if count:
            found[str(high) if low == high else f"{low} to {high}"] = count
        low = high + 1
    if nan.any():
        found["NaN"] = int(nan.sum())
    return found


def distances(element: Scalar, left: Array, right: Array) -> tuple[Array, Array]:
    """Return how far apart elements are, and where one of two is NaN and the other one is not."""
    if element.is_int:
        a, b = (x.astype(object) for x in (left, right))
        return np.abs(a - b), np.zeros(left.shape, bool)
    nans = [np.isnan(to_f64(x, element)) for x in (left, right)]
    signed = element.format.signed
    sign = 1 << (8 * left.dtype.itemsize - 1)
    lines = []
    for x in (left, right):
        bits = np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}").astype(object)
        lines.append(np.where(bits >= sign, sign - bits, bits) if signed and element.bits >= 8 else bits)
    apart = np.abs(lines[0] - lines[1])
    apart[nans[0] & nans[1]] = 0
    return apart, nans[0] != nans[1]


# ---------------------------------------------------------------- who wrote it


def find_writer(kernel: Any, grid: Any, args: list[Any], array: Array, difference: Difference, **options: Any) -> None:
    """Run the kernel once more on the reference engine and note who writes the element of `array` that differs."""
    flat = np.ravel_multi_index(difference.index, _elements(array, difference.element).shape)
    byte = int(flat) // 2 if difference.element.bits == 4 else int(flat) * array.dtype.itemsize
    if not array.flags.c_contiguous:
        return
    address = array.ctypes.data + byte
    seen: list[LastWriter] = []

    class WriterWatch(Check):
        """Notes who writes an address."""

        name = "watch"

        def after(self, access: Access) -> None:
            if not access.writes:
                return
            hit = access.mask & (access.addresses <= address) & (access.addresses + access.bytes > address)
            if hit.any():
                lane = int(np.argwhere(hit)[-1][0])
                seen.append(LastWriter(access.op, tuple(int(n) for n in access.blocks[lane])))

    watcher = Sanitizer("bounds", more=[WriterWatch])
    kernel.launch(grid, args, sanitize=watcher, output=lambda text: None, **options)  # the kernel has printed already
    if seen:
        difference.writer = seen[-1]
        difference.ops = operations_behind(seen[-1].op)


def operations_behind(o: Op) -> list[Op]:
    """Return the operations that an operation depends on, nearest first, itself included.

    Values that come from outside a loop or branch are followed; what a loop carries is followed through its operands.
    """
    found: list[Op] = []
    todo: list[Op] = [o]
    while todo and len(found) < MOST_OPS:
        here = todo.pop(0)
        if here in found:
            continue
        found.append(here)
        todo += [v.owner for v in here.operands if isinstance(v, Value) and isinstance(v.owner, Op)]
    return found
