"""Reductions and scans with any body, and functions of scalars that are mapped over tiles."""

from __future__ import annotations

from collections.abc import Sequence

from ...builder import regions
from ...ir import Value
from ...types import I32, Scalar, Tile
from ..mlir import MlirValue, TBlock, TOp
from .shapes import to_shape
from .table import translates
from .translator import Translator, scalar, tile_type

INFINITY = float("inf")


@translates("tt.reduce")
def reduce(t: Translator, op: TOp, *xs: Value) -> list[Value]:
    block, axis = op.regions[0][0], op.attrs["axis"]
    neutral = identity(block, scalar(xs[0])) if len(xs) == 1 else None
    if neutral is not None or selects(block):
        return aggregate(t, "reduce", op, xs, neutral)
    # Tile IR reduces in any order. A scan combines neighbours only, so it serves bodies that do not commute.
    return [last_along(t, each, axis) for each in aggregate(t, "scan", op, xs, None)]


@translates("tt.scan")
def scan(t: Translator, op: TOp, *xs: Value) -> list[Value]:
    neutral = identity(op.regions[0][0], scalar(xs[0])) if len(xs) == 1 else None
    return aggregate(t, "scan", op, xs, neutral)


def last_along(t: Translator, x: Value, axis: int) -> Value:
    """Return the last elements along a dimension, without that dimension."""
    shape = tile_type(x).shape
    index = [t.builder.const(size - 1 if d == axis else 0) for d, size in enumerate(shape)]
    part = tuple(1 if d == axis else size for d, size in enumerate(shape))
    return to_shape(t, t.builder.extract(x, index, part), shape[:axis] + shape[axis + 1 :])


def aggregate(t: Translator, name: str, op: TOp, xs: Sequence[Value], neutral: float | None) -> list[Value]:
    """Build a reduction or scan.

    Triton's have no neutral element. For a body other than a known operation, a flag is reduced along: an element
    without it is Tile IR's neutral one, which the body never sees.
    """
    b, axis = t.builder, op.attrs["axis"]
    reverse = op.attrs.get("reverse") is True
    if neutral is not None:
        one = lambda x, y: inlined(t, op, [x, y])[0]  # noqa: E731  # as short as what it is passed to
        return [regions.aggregate(b, name, xs[0], one, neutral, axis, reverse=reverse)]
    flags = b.const(1, Tile(tile_type(xs[0]).shape, I32))

    def combine(*given: Value) -> list[Value]:
        left, right = list(given[0::2]), list(given[1::2])
        both = inlined(t, op, [*left[:-1], *right[:-1]])
        has_left, has_right = (b.value("cmpi", "not_equal", v[-1], t.full(v[-1], 0), "signed") for v in (left, right))
        out = [
            b.value("select", has_left, b.value("select", has_right, new, old), other)
            for new, old, other in zip(both, left, right)
        ]
        return [*out, b.value("ori", left[-1], right[-1])]

    zeros = [0] * (len(xs) + 1)
    return list(regions.aggregate(b, name, [*xs, flags], combine, zeros, axis, reverse=reverse)[: len(xs)])


def inlined(t: Translator, op: TOp, values: list[Value]) -> list[Value]:
    """Build the body of an operation on other values; constants from outside of it are repeated inside."""
    block = op.regions[0][0]
    loc, saved = t.loc, t.values
    t.values = {**saved, **dict(zip(block.args, values, strict=True))}
    inside = {v for each in block.ops for v in each.results} | set(block.args)
    for each in block.ops:
        for v in each.operands:
            if v not in inside:
                repeat_constant(t, v)
    t.ops(block)
    made = t.all(block.ops[-1].operands)
    t.values, t.loc = saved, loc
    return made


def repeat_constant(t: Translator, v: MlirValue) -> None:
    """Build a constant again; the body of a reduction cannot use values from outside."""
    if not isinstance(v.owner, TOp) or v.owner.name != "arith.constant":
        raise t.error(f"the body of a reduction uses {v.name}, which is computed outside of it")
    t.values[v] = t.constant(v.owner.attrs["value"], t.tile(v))


def identity(block: TBlock, element: Scalar) -> float | bool | None:
    """Return the neutral element of a body that is one known operation on both arguments."""
    body = block.ops[0]
    if len(block.ops) != 2 or set(body.operands) != set(block.args) or block.ops[1].operands != body.results:
        return None
    if element.bits == 1:
        flags = {"arith.ori": False, "arith.xori": False, "arith.andi": True, "arith.addi": False}
        return flags.get(body.name)
    top = (1 << element.bits - 1) - 1 if element.is_int else 0
    return {
        "arith.addf": -0.0,
        "arith.mulf": 1.0,
        **dict.fromkeys(("arith.maxnumf", "arith.maximumf"), -INFINITY),
        **dict.fromkeys(("arith.minnumf", "arith.minimumf"), INFINITY),
        **dict.fromkeys(("arith.addi", "arith.ori", "arith.xori", "arith.maxui"), 0),
        "arith.muli": 1,
        "arith.maxsi": -top - 1,
        "arith.minsi": top,
        **dict.fromkeys(("arith.andi", "arith.minui"), -1),
    }.get(body.name)


def selects(block: TBlock) -> bool:
    """Whether a body chooses one of its two sides as a whole, as that of argmax does.

    Such a body may treat equal elements by their position; which of them it returns is not defined in Triton either.
    """
    count = len(block.args) // 2
    chosen = block.ops[-1].operands
    makers = [v.owner for v in chosen]
    if not all(isinstance(m, TOp) and m.name == "arith.select" for m in makers):
        return False
    conditions = {m.operands[0] for m in makers if isinstance(m, TOp)}
    sides = [m.operands[1:] for m in makers if isinstance(m, TOp)]
    return len(conditions) == 1 and sides == [[block.args[i], block.args[count + i]] for i in range(count)]


@translates("tt.map_elementwise")
def map_elementwise(t: Translator, op: TOp, *xs: Value) -> list[Value]:
    """Build a function of scalars for each element of tiles, one element after the other.

    The elements go through memory of the tile block, because the function may branch.
    """
    from .mapped import map_scalars

    return map_scalars(t, op, list(xs))
