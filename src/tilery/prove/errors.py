"""Rounding errors: measured against exact arithmetic on adverse inputs, and bounded for all inputs of a size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..diag import TileError
from ..engines.common.tiles import Array
from ..types import Scalar
from .arithmetic.bounds import Bounds
from .arithmetic.constants import digits
from .arithmetic.enclosure import Enclosures
from .arithmetic.numbers import NoSample
from .inputs import ADVERSE, draw
from .programs import REAL, Comparison
from .running.runner import Runner, contents, own_types, run_own


@dataclass(slots=True)
class Errors:
    """The errors of one output of one program."""

    output: str
    ulps: float = 0.0
    """The largest measured error, in units in the last place of the exact value in the output's type."""
    relative: float = 0.0
    """The largest measured error, relative to the largest exact value."""
    kind: str = ""
    """The kind of inputs where the error in ULP was largest."""
    bound: float | None = None
    """A bound on the error for all inputs up to 1 in size, barring overflow and underflow, or None."""
    why: str = ""
    """Why there is no bound."""

    def as_dict(self) -> dict[str, Any]:
        made = {"output": self.output, "ulps": self.ulps, "relative": self.relative, "inputs": self.kind}
        return made | {"bound": self.bound, "no_bound": self.why}


class Exact(Enclosures):
    """Enclosures with constants as they are: errors of constants are not rounding errors of the program."""

    def constant(self, values: Array, element: Scalar) -> Array:
        return self.literal(values)


def measure(case: Comparison, side: str, runner: Runner, seed: int = 71) -> list[Errors]:
    """Measure the errors of a program's outputs, and bound them where its operations allow."""
    with np.errstate(all="ignore"):
        return _measure(case, side, runner, seed)


def _measure(case: Comparison, side: str, runner: Runner, seed: int) -> list[Errors]:
    buffers = case.all_buffers(side)
    program = case.a if side == "a" else case.b
    types = own_types(program, buffers)
    found = {name: Errors(name) for name in case.outs if case.buffers[name].is_float and name in types}
    for number, (kind, how) in enumerate(ADVERSE.items()):
        reals = draw(case, how, seed + number)
        numbers = Exact()
        data = contents(case, side, {n: numbers.literal(v) for n, v in reals.items()}, numbers)
        try:
            runner.run(program, buffers, data, numbers)
            own = run_own(case, side, reals)
        except (NoSample, TileError):
            continue
        for name, errors in found.items():
            mid, rad = numbers.get(data[name].view(np.uint64))
            _note(errors, own[name], mid, rad, types[name], kind)
    _bound(case, side, runner, found)
    return list(found.values())


def _note(errors: Errors, own: Array, mid: Array, rad: Array, element: Scalar, kind: str) -> None:
    known = np.isfinite(mid) & np.isfinite(rad) & np.isfinite(own)
    if not known.any():
        return
    mid, rad, own = mid[known], rad[known], own[known]
    distance = np.abs(own - mid) + rad
    assert element.format is not None
    least = 2 - element.format.bias - element.format.mantissa - 1
    _, exponents = np.frexp(mid)
    spacing = 2.0 ** np.maximum(exponents - digits(element), least)
    worst = float((distance / spacing).max())
    if worst > errors.ulps:
        errors.ulps, errors.kind = worst, kind
    largest = float(np.abs(mid).max())
    if largest:
        errors.relative = max(errors.relative, float(distance.max()) / largest)


def _bound(case: Comparison, side: str, runner: Runner, found: dict[str, Errors]) -> None:
    numbers = Bounds()
    reals = {n: numbers.new(np.ones(b.shape), 0.0) for n, b in case.buffers.items() if b.content == REAL}
    data = contents(case, side, reals, numbers)
    try:
        runner.run(case.a if side == "a" else case.b, case.all_buffers(side), data, numbers)
    except TileError as error:
        for errors in found.values():
            errors.why = error.message
        return
    for name, errors in found.items():
        _, rad = numbers.get(data[name].view(np.uint64))
        errors.bound = float(rad.max(initial=0.0))
