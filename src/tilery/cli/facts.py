"""Facts about a kernel that its text tells: tiles, matrix products, bytes and operations per tile block."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ..analysis.flops import product_size
from ..attrs import DictAttr
from ..cost.static import static_cost
from ..ir import Op, walk
from ..ops import Entry, Module
from ..source.lines import innermost
from ..types import Scalar, Tile
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
        "work": work(entry),
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


def work(entry: Entry) -> dict[str, dict[str, int]]:
    """Count bytes and float operations of one tile block: in all, and per iteration of loops of unknown length."""
    totals: dict[str, dict[str, int]] = {}
    for o in static_cost(entry).ops:
        amounts = {"bytes read": o.bytes_read, "bytes written": o.bytes_written, "flops": o.flops}
        known = totals.setdefault("iteration" if o.times is None else "block", dict.fromkeys(amounts, 0))
        for what, amount in amounts.items():
            known[what] += amount
    return {kind: totals[kind] for kind in ("block", "iteration") if kind in totals}
