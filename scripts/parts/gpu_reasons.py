"""Why a kernel that a GPU has run before left other memory through an engine. Each rule is checked on its inputs.

A rule is a function of a case that returns whether the rule allows every difference. The first rule that does is the
reason; a difference without a reason counts as a fault until it is explained.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

import hardware_report
import tilery
from parts import gpu_bounds
from parts.gpu_page import UNEXPLAINED
from tilery.engines.common.tiles import carrier
from tilery.engines.semantics import body_rounds, pads_tf32, same_bits
from tilery.enums import Signedness
from tilery.ir import Op, walk
from tilery.ops import LoadViewTko, MmaF, MmaI, PrintTko, Reduce, Scan
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
        """The reports of the sanitizer about the case."""
        found = Sanitizer(check)
        self.launch(found)
        return list(found.reports)


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
    return all(map(gpu_bounds.same_but_nans, case.elements, case.mine, case.reference))


def depends_on_order(case: Case) -> bool:
    """The body is not associative, or not commutative, for these elements: the sanitizer says so."""
    o = case.op
    return isinstance(o, (Reduce, Scan)) and not body_rounds(o) and bool(case.reports("order-sensitive"))


def is_within_reordering(case: Case) -> bool:
    """The answers of both compilers are within the bound of n - 1 roundings, in any order, of sum or product."""
    o = case.op
    if not isinstance(o, (Reduce, Scan)) or not gpu_bounds.is_sum_or_product(o):
        return False
    return all(gpu_bounds.within_reordering(o, case.inputs[0], answers[0]) for answers in (case.mine, case.theirs))


def overflows(case: Case) -> bool:
    """The sum of a matrix product leaves the range of i32, and the answer is the sum modulo 2**32."""
    o = case.op
    if not isinstance(o, MmaI):
        return False
    signs = (o.signedness_lhs, o.signedness_rhs, Signedness.SIGNED)
    kinds = (f"{'i' if sign is Signedness.SIGNED else 'u'}{v.itemsize}" for sign, v in zip(signs, case.inputs))
    a, b, c = gpu_bounds.factors(o, [v.view(kind).astype(np.int64) for v, kind in zip(case.inputs, kinds)])
    exact = c + a @ b
    steps, chunk = np.cumsum(np.moveaxis(a[..., None] * b[..., None, :, :], -2, 0), 0)[31::32], 1 << 31
    partial = np.concatenate([(c + steps), exact[None]]) if len(steps) else exact[None]
    leaves = ((partial < -chunk) | (partial >= chunk)).any(0).reshape(-1)
    mine, theirs = (arrays[0].view(np.int32) for arrays in (case.mine, case.theirs))
    where = np.flatnonzero(mine != theirs)
    return bool(leaves[where].all() and (mine == exact.astype(np.int32).reshape(-1)).all())


def is_product_within_bound(case: Case) -> bool:
    """A matrix product is within the bound that the table of semantics states for tensor cores."""
    o = case.op
    return isinstance(o, MmaF) and gpu_bounds.within_product_bound(o, case.inputs, case.mine[0])


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
    if not case.elements:
        return False
    element = case.elements[0]
    bound = gpu_bounds.ulps(case.op, element, "triton")
    return bound is not None and gpu_bounds.steps(element, case.mine[0], case.reference[0]) <= bound


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
