"""The cost of one tile block as far as the text of a kernel tells."""

from __future__ import annotations

from collections import Counter
from math import prod

from ..analysis.effects import memory_ordering
from ..ir import Block, Op, Value, walk
from ..ops import Entry, For, Reduce, Scan
from ..passes.constants import splat
from ..types import Scalar, Tile, Type
from .gpus import TENSOR, VECTOR
from .model import KernelCost, OpCost

TENSOR_TYPES = {"f16": "f16", "bf16": "f16", "tf32": "tf32", "f64": "f64", "i8": "i8"}
"""The column of a table of GPUs for an element type of a matrix product; all floats of eight bits are f8."""

MAX_TIMES = 1 << 128
"""Loops that run more often count as loops of unknown length: nested ones could exceed any number."""


def static_cost(entry: Entry, blocks: int = 1) -> KernelCost:
    """Count what tile blocks do. Loops of unknown length count as one iteration, and both branches of an `if` count.

    Masks and bounds are ignored, so the bytes are the most that can be moved.
    """
    found: list[OpCost] = []
    todo: list[tuple[Block, int | None]] = [(entry.body, blocks)]
    while todo:
        block, times = todo.pop()
        for o in block.ops:
            cost = op_cost(o, times)
            if cost.flops or cost.bytes_read or cost.bytes_written:
                found.append(cost)
            if o.nested and o.opdef.group == "Control Flow":
                todo += [(inner, repeated(o, times)) for inner in o.blocks]
    order = {o: number for number, o in enumerate(walk(entry.body))}
    return KernelCost(entry.sym_name, sorted(found, key=lambda cost: order[cost.op]), tiles(entry), blocks)


def op_cost(o: Op, times: int | None) -> OpCost:
    """Return what executions of an operation cost; with an unknown number, what one costs."""
    count = 1 if times is None else times
    read, written = bytes_of(o)
    return OpCost(o, times, flops(o) * count, read * count, written * count, ceiling(o))


def tiles(entry: Entry) -> dict[str, int]:
    """Return how often each type of tile occurs, the most frequent first."""
    every = (v.type for o in walk(entry.body) for v in o.results)
    return dict(Counter(t.text for t in every if isinstance(t, Tile) and t.shape).most_common())


def flops(o: Op) -> int:
    """Count the arithmetic of one execution: two per product of a matrix product, one per element of a float result.

    The body of a reduction or a scan counts each time that it combines two elements.
    """
    if (size := product_size(o)) is not None:
        return 2 * prod(size)
    if isinstance(o, (Reduce, Scan)):
        shape = o.operands_[0].type.shape if isinstance(o.operands_[0].type, Tile) else ()
        return sum(map(flops, o.body.ops)) * (prod(shape) - prod(shape) // shape[o.dim])
    floats = [v.type for v in o.results if isinstance(v.type, Tile) and _is_float(v.type)]
    if o.opdef.group == "Floating Point" and floats:
        return prod(floats[0].shape) * (2 if hasattr(o, "acc") else 1)
    return 0


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


def repeated(o: Op, times: int | None) -> int | None:
    """Return how often the body of an operation runs if that is known."""
    if not isinstance(o, For):
        return None if o.opdef.mnemonic == "loop" else times
    trips = trip_count(o)
    if times is None or trips is None or times * trips > MAX_TIMES:
        return None
    return times * trips


def trip_count(o: For) -> int | None:
    """Return the number of iterations of a loop with constant bounds."""
    bounds = [splat(v) for v in (o.lowerBound, o.upperBound, o.step)]
    if any(bound is None for bound in bounds) or not isinstance(o.step.type, Tile):
        return None
    element = o.step.type.element
    if not isinstance(element, Scalar):
        return None
    lower, upper, step = (
        bits if o.unsignedCmp or not bits >> (element.bits - 1) else bits - (1 << element.bits)
        for bits in bounds
        if bits is not None
    )
    return max(0, -(-(upper - lower) // step)) if step > 0 else None


def product_size(o: Op) -> tuple[int, int, int, int] | None:
    """Return batch, M, N and K of a matrix product, or None for any other operation.

    Matrix products are the operations with an accumulator that are not element-wise: their operands need only have the
    same rank.
    """
    lhs, rhs, acc = (getattr(o, name, None) for name in ("lhs", "rhs", "acc"))
    ranks = any(rule.what == "rank" and "acc" in rule.names for rule in o.opdef.rules)
    if not ranks or not all(isinstance(v, Value) and isinstance(v.type, Tile) for v in (lhs, rhs, acc)):
        return None
    assert (
        isinstance(lhs, Value) and isinstance(rhs, Value) and isinstance(lhs.type, Tile) and isinstance(rhs.type, Tile)
    )
    *batch, m, k = lhs.type.shape
    return prod(batch), m, rhs.type.shape[-1], k


def _is_float(t: Tile) -> bool:
    return isinstance(t.element, Scalar) and t.element.is_float


def byte_count(t: Type) -> int:
    """Return the size of a tile of numbers in memory; 0 for anything else."""
    if not isinstance(t, Tile) or not isinstance(t.element, Scalar):
        return 0
    return -(-prod(t.shape) * t.element.bits // 8)
