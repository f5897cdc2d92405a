"""Reductions and scans.

Triton reduces in an order of its own, and lanes that hold the same result may have combined it from different sides. A
reduction is left to it if the order does not matter: each value is combined by one commutative operation, or the body
chooses one of two elements by rules that do not depend on the order. Others are spelled out in the order of NVIDIA's
compiler, which the reference engine has too, so that their results have the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from ....declare.relations import ELEMENTWISE
from ....ir import Block, Value
from ....ops import Constant, Reduce, Scan
from ...common.threads import spread_over_threads
from ..choices import order_is_free
from ..emit import FLOAT_BITS, INTEGERS, Val, names, types
from ..registry import lowers
from ..state import Lowering
from ..structure import Exits, Kind, end_region, kinds_text, lower_ops, open_op


@lowers(Reduce)
def reduce(low: Lowering, o: Reduce, sources: tuple[Val, ...]) -> tuple[Val, ...]:
    if not is_elementwise(o.body) or order_is_free(o.body, [_counts_up(low, v, o.dim) for v in o.operands_]):
        return _combine(low, o, sources, "tt.reduce", o.dim, "")
    return _reduce_in_order(low, o, sources)


@lowers(Scan)
def scan(low: Lowering, o: Scan, sources: tuple[Val, ...]) -> tuple[Val, ...]:
    """A scan without unit dimensions: Triton before 3.7 shuffles wrong lanes where such a dimension has several."""
    shape, attributes = sources[0].shape, f", reverse = {str(o.reverse).lower()}"
    kept = [d for d, size in enumerate(shape) if size != 1 or d == o.dim]
    if len(kept) == len(shape):
        return _combine(low, o, sources, "tt.scan", o.dim, attributes)

    def shaped(values: Sequence[Val], to: Sequence[int]) -> tuple[Val, ...]:
        return tuple(low.released(low.reshape(low.held(v), to), v.element) for v in values)

    squeezed = shaped(sources, [shape[d] for d in kept])
    return shaped(_combine(low, o, squeezed, "tt.scan", kept.index(o.dim), attributes), shape)


def _counts_up(low: Lowering, value: Value, dim: int) -> bool:
    """Tell whether the elements along a dimension are consecutive integers."""
    size, element = low.shape(value)[dim], low.element(value)
    fits = element in INTEGERS and size <= 1 << INTEGERS[element]
    return fits and low.alignment[value].axes[dim].contiguity >= size


def is_elementwise(body: Block) -> bool:
    """Tell whether a body can be applied to many elements at once."""
    return all(o.opdef.has(ELEMENTWISE) or isinstance(o, Constant) for o in body.ops[:-1])


# ---------------------------------------------------------------- in the order of NVIDIA's compiler


def _reduce_in_order(low: Lowering, o: Reduce, sources: tuple[Val, ...]) -> tuple[Val, ...]:
    """Combine what a thread would hold, then lanes, then warps; see the reference engine's `reduce`."""
    shape, dim = sources[0].shape, o.dim
    outer, inner = prod(shape[:dim]), prod(shape[dim + 1 :])
    kept, warps, lanes = spread_over_threads(shape, dim)
    values = [low.reshape(_held(low, v), (outer, kept, warps, lanes * inner)) for v in sources]

    def combine(earlier: list[Val], later: list[Val]) -> list[Val]:
        return _apply(low, o, [v.element for v in sources], earlier, later)

    if len(o.body.ops) <= 2:
        values = _fold(low, combine, values)
    else:
        while kept > 1:
            kept //= 2
            values = _halves(low, combine, values, (outer, kept, 2, warps, lanes * inner), 2)
    while lanes > 1:
        lanes //= 2
        values = _halves(low, combine, values, (outer, warps, 2, lanes * inner), 2)
    while warps > 1:
        warps //= 2
        values = _halves(low, combine, values, (outer, 2, warps, inner), 1)
    result = shape[:dim] + shape[dim + 1 :]
    return tuple(low.released(low.reshape(v, result), s.element) for v, s in zip(values, sources))


Combine = Callable[[list[Val], list[Val]], list[Val]]


def _halves(low: Lowering, combine: Combine, values: list[Val], shape: tuple[int, ...], dim: int) -> list[Val]:
    """Combine the two elements along a dimension of a shape.

    They are picked by masks: Triton's own split hangs on small tiles, and makes the same instructions on others.
    """
    pairs = [low.reshape(v, shape) for v in values]
    first, second = ([low.pick(v, low.constant(i, (), "i32"), dim) for v in pairs] for i in range(2))
    return combine(first, second)


def _fold(low: Lowering, combine: Combine, values: list[Val]) -> list[Val]:
    """Combine the elements along the second dimension from first to last."""
    outer, size, *rest = values[0].shape
    if size == 1:
        return [low.reshape(v, (outer, *rest)) for v in values]
    zero, one, count = (low.constant(n, (), "i32") for n in (0, 1, size))
    total = [low.pick(v, zero, 1) for v in values]
    kinds: list[Kind] = [(v.shape, v.element) for v in total]
    index, inner = low.fresh("k"), [Val(low.fresh("t"), *kind) for kind in kinds]
    carried = ", ".join(f"{a.name} = {b.name}" for a, b in zip(inner, total))
    head = f"scf.for {index} = {one.name} to {count.name} step {one.name} iter_args({carried})"
    found = open_op(low, f"{head} -> ({kinds_text(kinds)}) : i32 {{", kinds)
    end_region(low, combine(inner, [low.pick(v, Val(index, (), "i32"), 1) for v in values]))
    low.line("}")
    return found


def _apply(
    low: Lowering, o: Reduce, elements: Sequence[str], earlier: Sequence[Val], later: Sequence[Val]
) -> list[Val]:
    """The body on many pairs of elements at once."""
    shape, outside = earlier[0].shape, low.values
    low.values = dict(outside)
    for i, element in enumerate(elements):
        for arg, value in zip(o.body.args[2 * i : 2 * i + 2], (earlier[i], later[i])):
            low.values[arg] = low.released(value, element)
    for inner in o.body.ops[:-1]:
        for operand in inner.operands:
            low.values[operand] = low.splat(low.values[operand], shape)
        low.one(inner)
    ended = [_held(low, low.splat(low.get(v), shape)) for v in o.body.ops[-1].operands]
    low.values = outside
    return ended


# ---------------------------------------------------------------- in Triton's order


def _held(low: Lowering, value: Val) -> Val:
    """Booleans and 8-bit floats travel between threads as integers."""
    if value.element == "i1":
        return low.integer(value, "i32", signed=False)
    if value.is_pointer or FLOAT_BITS.get(value.element) == 8:
        return low.held(value)
    return value


def _combine(
    low: Lowering, o: Reduce | Scan, sources: tuple[Val, ...], name: str, dim: int, attributes: str
) -> tuple[Val, ...]:
    """The body takes a pair of elements for each operand; Triton wants all first elements, then all second ones."""
    held = [_held(low, v) for v in sources]
    first = [Val(low.fresh("x"), (), v.element) for v in held]
    second = [Val(low.fresh("y"), (), v.element) for v in held]
    shape = sources[0].shape if isinstance(o, Scan) else low.shape(o.results_[0])
    kinds: list[Kind] = [(shape, v.element) for v in held]
    head = f'"{name}"({names(held)}) <{{axis = {dim} : i32{attributes}}}> ({{'
    found = open_op(low, head, kinds)
    low.line(f"^bb0({', '.join(f'{v.name}: {v.type}' for v in (*first, *second))}):")
    for i, value in enumerate(sources):
        for arg, inner in zip(o.body.args[2 * i : 2 * i + 2], (first[i], second[i])):
            low.values[arg] = low.released(inner, value.element)
    ended: list[Val] = []

    def leave(end: object) -> list[Val]:
        ended.extend(_held(low, low.get(v)) for v in end.operands)  # type: ignore[attr-defined]
        return []

    lower_ops(low, o.body.ops, 0, Exits((), leave))
    low.line(f"{name}.return {names(ended)} : {types(ended)}")
    results = ", ".join(v.type for v in found)
    low.line(f"}}) : ({types(held)}) -> " + (results if len(found) == 1 else f"({results})"))
    return tuple(low.released(made, value.element) for made, value in zip(found, sources))
