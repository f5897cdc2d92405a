"""What a kernel computes, as far as its text tells: tiles, matrix products, bytes and operations per tile block."""

from __future__ import annotations

from collections import Counter
from math import prod
from typing import Any

from ..analysis.effects import memory_ordering
from ..attrs import DictAttr
from ..ir import Block, Op, Value, walk
from ..ops import Entry, For, Module
from ..source.lines import innermost
from ..types import Scalar, Tile, Type
from ..version import SUPPORTED

MOST = 6
"""How many kinds of tiles to name."""


def entry_facts(entry: Entry) -> dict[str, Any]:
    """Collect the facts about a kernel."""
    every = list(walk(entry.body))
    tiles = Counter(v.type.text for o in every for v in o.results if isinstance(v.type, Tile) and v.type.shape)
    return {
        "tiles": dict(tiles.most_common(MOST)),
        "products": products(every),
        "work": work(entry.body),
        "hints": hints(entry),
        "sources": sorted({place.file for o in (entry, *every) if (place := innermost(o.loc)) is not None}),
    }


def needs(module: Module) -> dict[str, list[str]]:
    """Return what is newer than the first bytecode version, by the version that introduced it."""
    found: dict[str, set[str]] = {}
    for o in walk(module.body):
        news = [(o.opdef.since, o.name)]
        news += [(f.since, f"{o.name}.{f.name}") for f in o.opdef.attrs if f.since > o.opdef.since and _is_set(o, f)]
        for value in o.results:
            if isinstance(value.type, Tile) and isinstance(value.type.element, Scalar):
                news.append((value.type.element.since, value.type.element.text))
            else:
                news.append((value.type.since, value.type.text.partition("<")[0]))
        for since, what in news:
            if since > SUPPORTED[0]:
                found.setdefault(str(since), set()).add(what)
    return {version: sorted(names) for version, names in sorted(found.items())}


def _is_set(o: Op, f: Any) -> bool:
    """Return whether a field has a value other than its default or nothing."""
    value = getattr(o, f.attr)
    if isinstance(value, tuple):
        return any(value)
    return value != f.default and value not in (None, False)


def hints(entry: Entry) -> dict[str, dict[str, str]]:
    """Return the optimization hints by architecture, as text."""
    attr = entry.optimization_hints
    if attr is None:
        return {}
    return {
        name: {key: str(getattr(value, "value", value)) for key, value in inner.items}
        for name, inner in attr.value.items
        if isinstance(inner, DictAttr) and inner.items
    }


# ---------------------------------------------------------------- matrix products


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


def products(ops: list[Op]) -> list[dict[str, Any]]:
    """List the matrix products by shape and types."""
    counts: Counter[tuple[str, tuple[int, int, int, int], str, str]] = Counter()
    for o in ops:
        size = product_size(o)
        if size is not None:
            inputs, acc = (v.type.element.text for v in (o.operands[0], o.operands[2]) if isinstance(v.type, Tile))
            counts[o.name, size, inputs, acc] += 1
    return [
        {"op": name, "batch": b, "m": m, "n": n, "k": k, "inputs": inputs, "accumulator": acc, "count": count}
        for (name, (b, m, n, k), inputs, acc), count in counts.items()
    ]


# ---------------------------------------------------------------- bytes and operations


def work(body: Block) -> dict[str, dict[str, int]]:
    """Count bytes and float operations of one tile block: in all, and per iteration of loops of unknown length.

    Both branches of an `if` count. Masks and bounds are ignored, so the bytes are the most that can be moved.
    """
    totals: dict[str, Counter[str]] = {"block": Counter(), "iteration": Counter()}
    todo: list[tuple[Block, int | None]] = [(body, 1)]
    while todo:
        block, times = todo.pop()
        for o in block.ops:
            kind = "iteration" if times is None else "block"
            for what, amount in costs(o).items():
                totals[kind][what] += amount * (times or 1)
            if o.nested:
                inner = repeated(o, times)
                todo += [(b, inner) for b in o.blocks if o.opdef.group == "Control Flow"]
    return {kind: dict(found) for kind, found in totals.items() if found}


def repeated(o: Op, times: int | None) -> int | None:
    """Return how often the body of an operation runs if that is known."""
    if not isinstance(o, For):
        return None if o.opdef.mnemonic == "loop" else times
    trips = trip_count(o)
    return None if times is None or trips is None else times * trips


def trip_count(o: For) -> int | None:
    """Return the number of iterations of a loop with constant bounds."""
    from ..passes.constants import splat

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


def costs(o: Op) -> dict[str, int]:
    """Return the bytes that an operation reads and writes, and its float operations."""
    size = product_size(o)
    if size is not None:
        return {"flops": 2 * prod(size)}
    if memory_ordering(o) is not None:
        read = sum(byte_count(v.type) for v in o.results)
        data = [getattr(o, name, None) for name in ("value", "tile", "arg", "val")]
        written = sum(byte_count(v.type) for v in data if isinstance(v, Value) and v not in o.results)
        return {"bytes read": read, "bytes written": written}
    floats = [v.type for v in o.results if isinstance(v.type, Tile) and _is_float(v.type)]
    if o.opdef.group == "Floating Point" and floats:
        return {"flops": prod(floats[0].shape) * (2 if hasattr(o, "acc") else 1)}
    return {}


def _is_float(t: Tile) -> bool:
    return isinstance(t.element, Scalar) and t.element.is_float


def byte_count(t: Type) -> int:
    """Return the size of a tile of numbers in memory; 0 for anything else."""
    if not isinstance(t, Tile) or not isinstance(t.element, Scalar):
        return 0
    return -(-prod(t.shape) * t.element.bits // 8)
