"""Reductions and scans."""

from __future__ import annotations

from ....ops import Reduce, Scan
from ..emit import FLOAT_BITS, Val, names, types
from ..registry import lowers
from ..state import Lowering
from ..structure import Exits, Kind, lower_ops, open_op


@lowers(Reduce)
def reduce(low: Lowering, o: Reduce, sources: tuple[Val, ...]) -> tuple[Val, ...]:
    return _combine(low, o, sources, "tt.reduce", "")


@lowers(Scan)
def scan(low: Lowering, o: Scan, sources: tuple[Val, ...]) -> tuple[Val, ...]:
    return _combine(low, o, sources, "tt.scan", f", reverse = {str(o.reverse).lower()}")


def _held(low: Lowering, value: Val) -> Val:
    """Booleans and 8-bit floats travel between threads as integers."""
    if value.element == "i1":
        return low.integer(value, "i32", signed=False)
    if value.is_pointer or FLOAT_BITS.get(value.element) == 8:
        return low.held(value)
    return value


def _combine(low: Lowering, o: Reduce | Scan, sources: tuple[Val, ...], name: str, attributes: str) -> tuple[Val, ...]:
    """The body takes a pair of elements for each operand; Triton wants all first elements, then all second ones."""
    held = [_held(low, v) for v in sources]
    first = [Val(low.fresh("x"), (), v.element) for v in held]
    second = [Val(low.fresh("y"), (), v.element) for v in held]
    kinds: list[Kind] = [(low.shape(r), v.element) for r, v in zip(o.results_, held)]
    head = f'"{name}"({names(held)}) <{{axis = {o.dim} : i32{attributes}}}> ({{'
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
