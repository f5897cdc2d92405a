"""The cost of one tile block as far as the text of a kernel tells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import prod

from ..analysis.effects import memory_ordering
from ..analysis.flops import flops, product_size
from ..analysis.ranges import ranges
from ..attrs import Dense
from ..ir import Block, Op, Value, clone, walk
from ..ops import Constant, Entry, For, Loop
from ..passes.constants import splat
from ..rewrite import replace_uses
from ..types import Scalar, Tile, Type
from .gpus import TENSOR, VECTOR
from .model import KernelCost, OpCost

TENSOR_TYPES = {"f16": "f16", "bf16": "f16", "tf32": "tf32", "f64": "f64", "i8": "i8"}
"""The column of a table of GPUs for an element type of a matrix product; all floats of eight bits are f8."""

MAX_TRIPS, MAX_TIMES = 1 << 40, 1 << 128
"""Loops that run more often count as loops of unknown length, alone or with those around them."""


def static_cost(entry: Entry, blocks: int = 1, constant: Callable[[Value], int | None] = splat) -> KernelCost:
    """Count what tile blocks do. Loops of unknown length count as one iteration, and both branches of an `if` count.

    Masks and bounds are ignored, so the bytes are the most that can be moved. `constant` returns the bits of a bound
    of a loop, or None if they are unknown.
    """
    found: list[OpCost] = []
    todo: list[tuple[Block, int, bool]] = [(entry.body, blocks, True)]
    while todo:
        block, times, known = todo.pop()
        for o in block.ops:
            cost = op_cost(o, times, known)
            if cost.flops or cost.bytes_read or cost.bytes_written:
                found.append(cost)
            if o.nested and o.opdef.group == "Control Flow":
                trips = trip_count(o, constant)
                if trips is None or trips > MAX_TRIPS or times * trips > MAX_TIMES:
                    inside = times, False
                else:
                    inside = times * trips, known
                todo += [(inner, *inside) for inner in o.blocks]
    order = {o: number for number, o in enumerate(walk(entry.body))}
    return KernelCost(entry.sym_name, sorted(found, key=lambda cost: order[cost.op]), tiles(entry), blocks)


def launch_cost(entry: Entry, blocks: int, slots: Sequence[bytes]) -> KernelCost:
    """Count what a launch does by the text of its kernel, in which the arguments replace scalar parameters.

    That way the lengths of loops are known that arguments decide. `slots` has the bytes of each argument.
    """
    known: Entry = clone(entry)
    values: dict[Value, Value] = {}
    constants: list[Op] = []
    for value, slot in zip(known.body.args, slots):
        if isinstance(value.type, Tile) and isinstance(value.type.element, Scalar) and value.type.element.is_int:
            made = Constant(value=Dense.of(value.type, [int.from_bytes(slot, "little")]))
            constants.append(made)
            values[value] = made.result
    replace_uses(known, values)
    known.body.ops[:0] = constants
    return static_cost(known, blocks, ranges(known).constant)


def op_cost(o: Op, times: int, known: bool) -> OpCost:
    """Return what this many executions of an operation cost; `known` tells whether there are not more."""
    read, written = bytes_of(o)
    return OpCost(o, times if known else None, flops(o) * times, read * times, written * times, ceiling(o))


def tiles(entry: Entry) -> dict[str, int]:
    """Return how often each type of tile occurs, the most frequent first."""
    every = (v.type for o in walk(entry.body) for v in o.results)
    return dict(Counter(t.text for t in every if isinstance(t, Tile) and t.shape).most_common())


def bytes_of(o: Op) -> tuple[int, int]:
    """Return the bytes that one execution reads and writes."""
    if memory_ordering(o) is None:
        return 0, 0
    read = sum(byte_count(v.type) for v in o.results)
    data = [getattr(o, name, None) for name in ("value", "tile", "arg", "val")]
    written = sum(byte_count(v.type) for v in data if isinstance(v, Value) and v not in o.results)
    return read, written


def ceiling(o: Op) -> str:
    """Return the unit and type that do the arithmetic of an operation."""
    if product_size(o) is not None:
        element = o.operands[0].type.element if isinstance(o.operands[0].type, Tile) else None
        if isinstance(element, Scalar) and element.is_float and element.bits <= 8:
            return f"{TENSOR} f8"
        known = TENSOR_TYPES.get(element.text if isinstance(element, Scalar) else "")
        return f"{TENSOR} {known}" if known else f"{VECTOR} f32"
    wide = any(isinstance(v.type, Tile) and v.type.element.text == "f64" for v in o.results)
    return f"{VECTOR} {'f64' if wide else 'f32'}"


def trip_count(o: Op, constant: Callable[[Value], int | None] = splat) -> int | None:
    """Return how often the body of an operation runs each time; None if that is unknown."""
    if not isinstance(o, For):
        return None if isinstance(o, Loop) else 1
    bounds = [constant(v) for v in (o.lowerBound, o.upperBound, o.step)]
    if any(bound is None for bound in bounds) or not isinstance(o.step.type, Tile):
        return None
    element = o.step.type.element
    if not isinstance(element, Scalar):
        return None
    size = 1 << element.bits
    unsigned = [bound % size for bound in bounds if bound is not None]
    lower, upper, step = (n if o.unsignedCmp or n < size // 2 else n - size for n in unsigned)
    return max(0, -(-(upper - lower) // step)) if step > 0 else None


def byte_count(t: Type) -> int:
    """Return the size of a tile of numbers in memory; 0 for anything else."""
    if not isinstance(t, Tile) or not isinstance(t.element, Scalar):
        return 0
    return -(-prod(t.shape) * t.element.bits // 8)
