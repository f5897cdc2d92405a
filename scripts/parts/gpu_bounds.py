"""How far results of a GPU may be from those of the reference engine, by operation: the documented bounds.

Arrays hold the elements of all tile blocks, one after the other.
"""

from __future__ import annotations

import re
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np

import hardware_report
from tilery.attrs import RoundingMode
from tilery.engines.common.numerics.convert import to_f64
from tilery.engines.common.tiles import carrier
from tilery.engines.semantics import SEMANTICS
from tilery.engines.triton.limits import LIBRARY_ULPS
from tilery.floats.formats import is_nan
from tilery.ir import Op, Value
from tilery.ops import AddF, MmaF, MmaI, MulF, Reduce, Scan
from tilery.types import Scalar, Tile

Array = Any


def tile_of(value: Value) -> tuple[tuple[int, ...], Scalar]:
    """The shape and the element type of a value."""
    assert isinstance(value.type, Tile) and isinstance(value.type.element, Scalar)
    return value.type.shape, value.type.element


def numbers(bits: Array, element: Scalar) -> Array:
    """Elements in memory as f64."""
    return to_f64(bits.view(carrier(element)), element)


def same_but_nans(element: Scalar, a: Array, b: Array) -> bool:
    """Tell whether all elements that differ are NaN on both sides."""
    bits = [hardware_report.bits_of(element, x[i]) for i in np.flatnonzero(a != b) for x in (a, b)]
    return not bits or (element.is_float and all(is_nan(element, each) for each in bits))


# ---------------------------------------------------------------- functions


def ulps(o: Op, element: Scalar, engine: str) -> int | None:
    """The documented bound of a function in ULP: of NVIDIA's compiler, or of Triton's library if that is larger."""
    text = SEMANTICS[o.__class__].differs
    approximate = re.search(r"`approx` differs by up to (\d+)", text)
    if approximate and getattr(o, "rounding_mode", None) is RoundingMode.APPROX:
        return int(approximate[1])
    if same := re.search(r"at most (\d+) ULP\.", text):
        return int(same[1])
    found = re.search(r"at most (\d+) ULP in f32, (\d+) in f64, (\d+) in f16", text)
    if found is None:
        return None
    bound = int(found[{"f32": 1, "f64": 2}.get(element.name, 3)])
    return max(bound, LIBRARY_ULPS.get((o.name, element.name), 0)) if engine == "triton" else bound


def steps(element: Scalar, a: Array, b: Array) -> float:
    """The largest distance in ULP of elements that are not both NaN."""
    verdict = hardware_report.Verdict("", "", "")
    hardware_report.compare(verdict, {"elem": element.name}, a, b)
    return verdict.steps


# ---------------------------------------------------------------- sums and products


def is_sum_or_product(o: Op) -> bool:
    """Tell whether an operation adds or multiplies floats along a dimension."""
    return isinstance(o, (Reduce, Scan)) and len(o.body.ops) == 2 and isinstance(o.body.ops[0], (AddF, MulF))


def within_reordering(o: Reduce | Scan, given: Array, answer: Array) -> bool:
    """Tell whether sums or products are within n - 1 roundings of the exact ones; `given` are the elements."""
    shape, element = tile_of(o.operands_[0])
    form = element.format
    lines = np.moveaxis(numbers(given, element).reshape(-1, *shape), o.dim + 1, -1).reshape(-1, shape[o.dim])
    if isinstance(o, Scan) and o.reverse:
        lines = lines[:, ::-1]
    unit, lowest = Fraction(1, 1 << form.mantissa + 1), Fraction(2) ** form.lowest
    for line, row in zip(lines, _by_line(numbers(answer, element), o, shape)):
        for count, got in zip(range(1, len(line) + 1) if isinstance(o, Scan) else [len(line)], row):
            if not np.isfinite([*line[:count], got]).all():
                continue  # infinities and NaN have no bound
            exact, bound = _combined(o.body.ops[0], [Fraction(float(x)) for x in line[:count]], unit)
            if abs(Fraction(float(got)) - exact) > bound + (count - 1) * lowest:
                return False
    return True


def _by_line(answer: Array, o: Reduce | Scan, shape: tuple[int, ...]) -> Array:
    """The results of each line of a tile along the dimension, in the order in which they are made."""
    if isinstance(o, Reduce):
        return answer.reshape(-1, 1)
    rows = np.moveaxis(answer.reshape(-1, *shape), o.dim + 1, -1).reshape(-1, shape[o.dim])
    return rows[:, ::-1] if o.reverse else rows


def _combined(o: Op, parts: list[Fraction], unit: Fraction) -> tuple[Fraction, Fraction]:
    """The exact sum or product, and how far results of any order may be from it."""
    count = len(parts) - 1
    if isinstance(o, AddF):
        return sum(parts, Fraction()), count * unit * sum(map(abs, parts), Fraction())
    made = prod(parts, start=Fraction(1))
    return made, ((1 + unit) ** count - 1) * abs(made)


def factors(o: MmaF | MmaI, given: list[Array]) -> tuple[Array, Array, Array]:
    """Shape both factors and the accumulator of a matrix product, with a first dimension for tile blocks."""
    shapes = [tile_of(v)[0] for v in (o.lhs, o.rhs, o.acc)]
    a, b, c = (part.reshape(-1, *shape) for part, shape in zip(given, shapes))
    return a, b, c


def within_product_bound(o: MmaF, given: list[Array], answer: Array) -> bool:
    """Tell whether a matrix product is within the bound that the table of semantics states for tensor cores."""
    kinds = [tile_of(v)[1] for v in (o.lhs, o.rhs, o.acc)]
    a, b, c = factors(o, [numbers(part, kind) for part, kind in zip(given, kinds)])
    with np.errstate(all="ignore"):
        exact, size = (c + a @ b).reshape(-1), (abs(c) + abs(a) @ abs(b)).reshape(-1)
        bound = 2.0 ** (-9 if kinds[2].bits == 16 or kinds[0].bits == 8 else -20)
        mine = numbers(answer, kinds[2])
        close = abs(mine - exact) <= bound * size
    return bool((close | ~np.isfinite(exact) | ~np.isfinite(mine)).all())
