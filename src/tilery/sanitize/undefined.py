"""`undefined`: operands for which the specification defines no result, or leaves it to the compiler."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..attrs import Signedness
from ..engines.common.layout import layout
from ..engines.common.numerics.convert import to_f64
from ..engines.common.tiles import element_of, pointee_bits, unsigned
from ..engines.reference.batch import Batch
from ..engines.reference.ops.integer import read
from ..engines.reference.program import Advance, Instruction
from ..ir import Op
from ..ops import (
    DivI,
    Extract,
    FToI,
    GetIndexSpaceShape,
    GetTensorShape,
    Insert,
    MmaFScaled,
    Offset,
    RemI,
    ShLI,
    ShRI,
)
from ..types import F64, I1, Tile, TileView
from .checks import Check, Rule, Step

SIGNED = Signedness.SIGNED


class Undefined(Check):
    """Operands must be in the domain of their operation."""

    name = "undefined"

    def rules(self, cls: type[Op]) -> Rule | None:
        return RULES.get(cls)

    def decides(self, instruction: Instruction) -> bool:
        return isinstance(instruction, Advance)

    def branch(self, instruction: Any, batch: Batch) -> None:
        """The step of a `for` must be positive."""
        by = batch.env[instruction.step]
        bad = by <= 0 if not instruction.op.unsignedCmp else by == 0
        self.report(Step(instruction.op, batch, {}), "the step of the loop is not positive", bad, step=by)


# ---------------------------------------------------------------- integers


def _shift(check: Undefined, step: Step) -> None:
    bits = element_of(step.op.result.type).bits
    by = read(step.args["rhs"], Signedness.UNSIGNED)
    check.report(step, f"the shift amount is not less than {bits}, the width of the type", by >= bits, rhs=by)


def _divide(check: Undefined, step: Step) -> None:
    o = step.op
    a, b = read(step.args["lhs"], o.signedness), read(step.args["rhs"], o.signedness)
    check.report(step, "division by zero", b == 0, lhs=a)
    if o.signedness is SIGNED:
        smallest = -1 if a.dtype == np.int8 and element_of(o.result.type) is I1 else np.iinfo(a.dtype).min
        bad = (a == smallest) & (b == -1)
        check.report(step, "the quotient of the smallest integer and -1 is too large", bad, lhs=a)


# ---------------------------------------------------------------- conversions


def _to_integer(check: Undefined, step: Step) -> None:
    o = step.op
    if o.saturating:
        return
    source, target = element_of(o.from_.type), element_of(o.to.type)
    if target is I1:
        return  # any number but 0 is true
    numbers = np.trunc(to_f64(step.args["from_"], source))
    signed = o.signedness is SIGNED
    high = 2.0 ** (target.bits - signed)
    bad = ~((numbers < high) & (numbers >= (-high if signed else 0)))
    shown = to_f64(step.args["from_"], source) if source is not F64 else step.args["from_"]
    check.report(step, f"the number does not fit {'a signed' if signed else 'an unsigned'} {target}", bad, from_=shown)


# ---------------------------------------------------------------- tiles and pointers


def _parts(check: Undefined, step: Step) -> None:
    """The indices of `extract` and `insert` count parts of the larger tile."""
    o = step.op
    whole, part = (o.source, o.result) if isinstance(o, Extract) else (o.result, o.source)
    assert isinstance(whole.type, Tile) and isinstance(part.type, Tile)
    for dim, (index, size, inner) in enumerate(zip(step.args["indices"], whole.type.shape, part.type.shape)):
        number = read(index, Signedness.UNSIGNED)
        rule = f"index {dim} is not less than {size // inner}, the number of parts along the dimension"
        check.report(step, rule, number >= size // inner, index=number)


def _offset(check: Undefined, step: Step) -> None:
    """The distance must not wrap as a signed integer, nor the address as an unsigned one."""
    o = step.op
    by = read(step.args["offset"], SIGNED).astype(np.int64)
    bits = pointee_bits(o.result.type.element.pointee)
    scale, shift = (bits // 8, 0) if bits >= 8 else (1, 1)
    limit = np.iinfo(np.int64).max // scale
    bad = (by > limit) | (by < -limit - 1)
    distance = (by * scale) >> shift
    base = step.args["ptr"]
    end = unsigned(base + distance)
    wraps = np.where(distance >= 0, end < unsigned(base), end > unsigned(base))
    check.report(step, "pointer arithmetic wraps around", bad | wraps, offset=by)


def _shape_fits(check: Undefined, step: Step) -> None:
    """The sizes of a tensor or of an index space must fit the type of the result."""
    o, tensor = step.op, step.args["src"]
    sizes = list(tensor.shape)
    if isinstance(o, GetIndexSpaceShape):
        assert isinstance(o.src.type, TileView)
        dims, steps = layout(o.src.type)
        sizes = [-(-tensor.shape[dim] // size) for dim, size in zip(dims, steps)]
    for dim, (size, value) in enumerate(zip(sizes, o.result)):
        bits = element_of(value.type).bits
        numbers = np.atleast_1d(np.asarray(size, np.int64))
        rule = f"the size of dimension {dim} does not fit {value.type}"
        check.report(step, rule, unsigned(numbers) >> np.uint64(bits - 1) != 0, size=numbers)


def _scales(check: Undefined, step: Step) -> None:
    """Scales of a type that has a sign must not be negative."""
    for name in ("lhs_scale", "rhs_scale"):
        element = element_of(getattr(step.op, name).type)
        numbers = to_f64(step.args[name], element)
        check.report(step, f"'{name}' is negative", numbers < 0, scale=numbers)


RULES: dict[type[Op], Any] = {
    **dict.fromkeys((ShLI, ShRI), _shift),
    **dict.fromkeys((DivI, RemI), _divide),
    FToI: _to_integer,
    **dict.fromkeys((Extract, Insert), _parts),
    Offset: _offset,
    **dict.fromkeys((GetTensorShape, GetIndexSpaceShape), _shape_fits),
    MmaFScaled: _scales,
}
"""The checks before an operation."""
