"""Why a kernel that a GPU has run before left other memory through an engine. Each rule is checked on its inputs.

A rule is a function of a case that returns whether the rule allows every difference. The first rule that does is the
reason; a difference without a reason is a fault until somebody explains it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

import hardware_report
import tilery
from parts.gpu_page import UNEXPLAINED
from tilery.engines.reference.numerics.convert import to_f64
from tilery.engines.reference.tiles import carrier
from tilery.engines.semantics import SEMANTICS, body_rounds, pads_tf32, same_bits
from tilery.engines.triton.limits import LIBRARY_ULPS
from tilery.enums import Signedness
from tilery.floats.formats import is_nan
from tilery.ir import Op, walk
from tilery.ops import AddF, LoadViewTko, MmaF, MmaI, MulF, PrintTko, Reduce, Scan
from tilery.sanitize import Sanitizer
from tilery.types import SCALARS, Scalar, Tile

Array = Any


@dataclass
class Case:
    """A case, and the memory that a kernel left: one array of bits for each output."""

    hw: Any
    name: str
    mine: list[Array]

    @cached_property
    def facts(self) -> dict[str, Any]:
        found: dict[str, Any] = self.hw.cases[self.name]
        return found

    @cached_property
    def module(self) -> tilery.ops.Module:
        return tilery.parse(self.facts["module"])

    @cached_property
    def op(self) -> Op:
        """The operation that the case is about."""
        name = {"pow": "fpowf"}.get(self.facts["op"], self.facts["op"])
        return next(o for o in walk(self.module) if name in (o.opdef.mnemonic, o.opdef.formerly))

    @cached_property
    def elements(self) -> list[Scalar]:
        return [SCALARS[p["elem"]] for p in self.facts["params"] if "output" in p]

    @cached_property
    def theirs(self) -> list[Array]:
        found: list[Array] = self.hw.outputs(self.name)
        return found

    @cached_property
    def inputs(self) -> list[Array]:
        """The arrays that the kernel reads, as the reference engine holds them."""
        params = [p for p in self.facts["params"] if p["kind"] != "val"]
        arrays = hardware_report.arguments(self.hw, self.name)[1]
        given = [(p, a) for p, a in zip(params, arrays) if p["kind"] != "out"]
        return [a.view(carrier(SCALARS[p["elem"]])) for p, a in given]

    def launch(self, sanitizer: Sanitizer | None = None) -> list[Array]:
        """Run the case on the reference engine; return what it leaves in memory."""
        args, buffers = hardware_report.arguments(self.hw, self.name)
        grid = self.facts["grid"]
        if self.facts["subset"]:
            size = max((len(b) for b in buffers), default=hardware_report.TILE)
            grid = [size // hardware_report.TILE, 1, 1]
        tilery.compile(self.module).launch(grid, args, sanitize=sanitizer)
        params = [p for p in self.facts["params"] if p["kind"] != "val"]
        left = [b for p, b in zip(params, buffers) if "output" in p]
        return [b[: len(t)] for b, t in zip(left, self.theirs)]

    @cached_property
    def reference(self) -> list[Array]:
        return self.launch()

    def reports(self, check: str) -> list[Any]:
        """What the sanitizer reports of the case."""
        found = Sanitizer(check)
        self.launch(found)
        return list(found.reports)

    def numbers(self, arrays: list[Array], index: int = 0) -> Array:
        """An output as f64."""
        element = self.elements[index]
        return to_f64(arrays[index].view(carrier(element)), element)


def reason(case: Case) -> str:
    """Return why a case may differ, or `UNEXPLAINED`."""
    for rule, text in RULES.items():
        if rule(case):
            return text
    return UNEXPLAINED


# ---------------------------------------------------------------- rules


def is_reference(case: Case) -> bool:
    """The operation may differ on hardware, and the bits are those of the reference engine."""
    if all(same_bits(o) for o in walk(case.module)):
        return False
    for element, mine, wanted in zip(case.elements, case.mine, case.reference):
        for i in np.flatnonzero(mine != wanted):
            bits = [hardware_report.bits_of(element, a[i]) for a in (mine, wanted)]
            if not element.is_float or not all(is_nan(element, b) for b in bits):
                return False
    return True


def depends_on_order(case: Case) -> bool:
    """The body is not associative, or not commutative, for these elements: the sanitizer says so."""
    o = case.op
    return isinstance(o, (Reduce, Scan)) and not body_rounds(o) and bool(case.reports("order-sensitive"))


def is_within_reordering(case: Case) -> bool:
    """The answers of both compilers are within the bound of n - 1 roundings, in any order, of sum or product."""
    o = case.op
    if not isinstance(o, (Reduce, Scan)) or len(o.body.ops) != 2 or not isinstance(o.body.ops[0], (AddF, MulF)):
        return False
    tile = o.operands_[0].type
    assert isinstance(tile, Tile) and isinstance(tile.element, Scalar)
    form, element = tile.element.format, tile.element
    lines = np.moveaxis(to_f64(case.inputs[0], element).reshape(tile.shape), o.dim, -1).reshape(-1, tile.shape[o.dim])
    if isinstance(o, Scan) and o.reverse:
        lines = lines[:, ::-1]
    unit, lowest = Fraction(1, 1 << form.mantissa + 1), Fraction(2) ** form.lowest
    for answers in (case.mine, case.theirs):
        for line, row in zip(lines, _by_line(case.numbers(answers), o, tile)):
            for count, got in zip(range(1, len(line) + 1) if isinstance(o, Scan) else [len(line)], row):
                if not np.isfinite([*line[:count], got]).all():
                    continue  # infinities and NaN have no bound
                exact, bound = _combined(o.body.ops[0], [Fraction(float(x)) for x in line[:count]], unit)
                if abs(Fraction(float(got)) - exact) > bound + (count - 1) * lowest:
                    return False
    return True


def _by_line(numbers: Array, o: Reduce | Scan, tile: Tile) -> Array:
    """The results of each line of a tile along the dimension, in the order in which they are made."""
    if isinstance(o, Reduce):
        return numbers.reshape(-1, 1)
    rows = np.moveaxis(numbers.reshape(tile.shape), o.dim, -1).reshape(-1, tile.shape[o.dim])
    return rows[:, ::-1] if o.reverse else rows


def _combined(o: Op, parts: list[Fraction], unit: Fraction) -> tuple[Fraction, Fraction]:
    """The exact sum or product, and how far results of any order may be from it."""
    steps = len(parts) - 1
    if isinstance(o, AddF):
        return sum(parts, Fraction()), steps * unit * sum(map(abs, parts), Fraction())
    made = prod(parts, start=Fraction(1))
    return made, ((1 + unit) ** steps - 1) * abs(made)


def overflows(case: Case) -> bool:
    """The sum of a matrix product leaves the range of i32, and the answer is the sum modulo 2**32."""
    o = case.op
    if not isinstance(o, MmaI):
        return False
    a, b, c = _factors(case, o, lambda v, s: v.view(np.int8 if s is Signedness.SIGNED else np.uint8).astype(np.int64))
    exact = c + a @ b
    steps, chunk = np.cumsum(np.moveaxis(a[..., None] * b[..., None, :, :], -2, 0), 0)[31::32], 1 << 31
    partial = np.concatenate([(c + steps), exact[None]]) if len(steps) else exact[None]
    leaves = ((partial < -chunk) | (partial >= chunk)).any(0).reshape(-1)
    mine, theirs = (arrays[0].view(np.int32) for arrays in (case.mine, case.theirs))
    where = np.flatnonzero(mine != theirs)
    return bool(leaves[where].all() and (mine == exact.astype(np.int32).reshape(-1)).all())


def _factors(case: Case, o: MmaF | MmaI, convert: Callable[[Array, Any], Array]) -> tuple[Array, Array, Array]:
    """Both factors and the accumulator, with a first dimension for tile blocks."""
    signs = (o.signedness_lhs, o.signedness_rhs) if isinstance(o, MmaI) else (None, None)
    shapes = [v.type.shape for v in (o.lhs, o.rhs, o.acc) if isinstance(v.type, Tile)]
    left, right = (convert(v, s).reshape(-1, *shape) for v, s, shape in zip(case.inputs, signs, shapes))
    acc = case.inputs[2] if isinstance(o, MmaI) else to_f64(case.inputs[2], case.elements[0])
    return left, right, (acc.astype(np.int64) if isinstance(o, MmaI) else acc).reshape(-1, *shapes[2])


def is_product_within_bound(case: Case) -> bool:
    """A matrix product is within the bound that the table of semantics states for tensor cores."""
    o = case.op
    if not isinstance(o, MmaF):
        return False
    assert isinstance(o.lhs.type, Tile) and isinstance(o.lhs.type.element, Scalar)
    element = o.lhs.type.element
    a, b, c = _factors(case, o, lambda v, _: to_f64(v, element))
    with np.errstate(all="ignore"):
        exact, size = (c + a @ b).reshape(-1), (abs(c) + abs(a) @ abs(b)).reshape(-1)
        bound = 2.0 ** (-9 if case.elements[0].bits == 16 or element.bits == 8 else -20)
        mine = case.numbers(case.mine)
        close = abs(mine - exact) <= bound * size
    return bool((close | ~np.isfinite(exact) | ~np.isfinite(mine)).all())


def is_padding(case: Case) -> bool:
    """All elements that differ are padding of tf32, for which an H200 has other bits."""
    o = case.op
    if not isinstance(o, LoadViewTko) or not pads_tf32(o):
        return False
    where = case.mine[0] != case.theirs[0]
    return len(set(case.reference[0][where].tolist())) == 1


def prints_in_any_order(case: Case) -> bool:
    """Several tile blocks print."""
    return isinstance(case.op, PrintTko) and prod(case.facts["grid"]) > 1


def prints_other_bytes(case: Case) -> bool:
    """A conversion of 64 bits shows elements of fewer bits, and so whatever is after them."""
    o = case.op
    if not isinstance(o, PrintTko) or not re.search(r"%[^%a-zA-Z]*ll", o.str_):
        return False
    return all(isinstance(v.type, Tile) and carrier(v.type.element).itemsize < 8 for v in o.args)


def races(case: Case) -> bool:
    """Two tile blocks store to one element, and nothing orders them: the sanitizer says so."""
    return bool(case.reports("race"))


def is_within_ulps(case: Case) -> bool:
    """A function is as close to the reference engine as documented: of an H200, or of Triton's library."""
    row = SEMANTICS[case.op.__class__]
    found = re.search(r"at most (\d+) ULP in f32, (\d+) in f64, (\d+) in f16", row.differs)
    if found is None:
        return False
    element = case.elements[0]
    bound = max(
        int(found[{"f32": 1, "f64": 2}.get(element.name, 3)]), LIBRARY_ULPS.get((case.op.name, element.name), 0)
    )
    verdict = hardware_report.Verdict(case.name, case.facts["op"], case.facts["group"])
    (param,) = (p for p in case.facts["params"] if "output" in p)
    hardware_report.compare(verdict, param, case.mine[0], case.reference[0])
    return verdict.steps <= bound


RULES: dict[Callable[[Case], bool], str] = {
    is_reference: "The bits are those of the reference engine, and its table of semantics says how an H200 differs.",
    depends_on_order: "The body is not associative for these elements. A program promises that it is (claim O165), "
    "and the order is the compiler's choice.",
    is_within_reordering: "Sums and products of floats in another order: both compilers are within the bound of n - 1 "
    "roundings.",
    overflows: "The sum leaves the range of i32. The result is then unspecified (NVIDIA's reference of CUDA Tile C++, "
    "matrix multiplication); it is the sum modulo 2**32.",
    is_product_within_bound: "Tensor cores and orders of summation differ: within the bound of the table of semantics.",
    is_within_ulps: "Another library of functions: within the documented bound of it.",
    is_padding: "Padding of tf32, which has other bits on an H200.",
    prints_in_any_order: "Tile blocks print in any order.",
    prints_other_bytes: "A conversion of 64 bits shows shorter elements and the bytes after them.",
    races: "Two tile blocks store different values to one element and nothing orders them; either may stay.",
}
