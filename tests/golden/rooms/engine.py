"""The reference engine: what launches leave, print and count, and what observers see of them."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from hashlib import blake2b
from itertools import islice
from typing import Any

import numpy as np

import tilery
from golden.expressions import element_kernel, elements, expressions, view_kernel
from golden.launches import block_alone, exact, launched, module_of, observed
from golden.material import rng_of, stored
from golden.table import group
from tilery.ir import walk
from tilery.text.parse.parser import parse
from tilery.types import SCALARS
from tilery.verifier.verify import verify

PARTS = 4


def described(row: dict[str, Any], number: int) -> Iterator[str]:
    """Run a launch in several ways; they must leave the same memory."""
    m = module_of(row)
    said, contents = launched(row, m)
    one, alone = launched(row, m, batch=1)
    three, some = launched(row, m, batch=3)
    if not row.get("racy"):
        legal = [each for each in (contents, alone, some) if each]
        assert all(each == legal[0] for each in legal), "the size of a batch changes what a launch leaves"
    if number % 5 == 0 and m.entry(row["entry"]).blocks:
        threads, together = launched(row, m, batch=1, threads=2)
        assert row.get("racy") or not (alone and together) or (alone == together and one == threads), "threads"
    certain = exact(m) and contents == alone == some
    digests = [blake2b(content, digest_size=6).hexdigest() for content in contents] if certain else [len(contents)]
    yield f"{said}\n{one}\n{three}\n{digests}"
    if number % 2 == 0:
        options = ({}, {"batch": 1})[number // 2 % 2]
        yield observed(row, m, tokens=number % 4 == 0, **({"blocks": [0]} if options else {}))
    if number % 3 == 0:
        yield launched(row, m, sanitize="all")[0]
    if number % 3 == 1:
        yield block_alone(row, m)


@group("engine/recorded", PARTS)
def recorded(part: int) -> Iterator[str]:
    """Launches of other tests."""
    for number, row in enumerate(islice(stored()["launches"], part, None, PARTS)):
        yield from described(row, number)


@group("engine/observed")
def on_observed() -> Iterator[str]:
    """Launches of which observers see some operations, tile blocks and values."""
    rows = [row for row in stored()["launches"] if row["text"].count("\n") > 8]
    for number, row in enumerate(rows[::4]):
        rng = rng_of("observed", number)
        m = tilery.parse(row["text"], file="a/k.mlir")
        ops = list(walk(m.entry(row["entry"])))
        o = rng.choice(ops)
        line = rng.randrange(2, row["text"].count("\n") + 1)
        filters: list[dict[str, Any]] = [
            {"ops": [o.name]},
            {"ops": [rng.choice(("addj", "entry", "global", "constant", "yield", "for"))]},
            {"lines": [line, f"k.mlir:{line + 1}", f"./a/k.mlir:{line + 2}", f"b/k.mlir:{line + 3}", "k.mlir:x"]},
            {"values": [*o.results, *o.operands][:2]},
            {"blocks": rng.sample([0, 1, (1,), (0, 1), (1, 0, 0), (5, 0, 0)], 2), "ops": [o.name, "store_ptr_tko"]},
            {"when": lambda *values: any(isinstance(each, np.ndarray) and each.ndim > 1 for each in values)},
        ]
        for each in rng.sample(filters, 3):
            yield observed(row, m, tokens=number % 2 == 0, **each)


@group("engine/expressions", 2)
def on_expressions(part: int) -> Iterator[str]:
    for number in range(60):
        rng = rng_of("run", part, number)
        text = expressions(rng)
        m = parse(text)
        size = 64
        row = {
            "text": text,
            "entry": "k",
            "grid": 1,
            "regions": [{"seed": number, "size": size}, {"seed": number, "size": 1, "mask": True}],
            "args": [
                {"region": 0, "start": 0, "length": 8, "item": _item(m)},
                {"region": 1, "start": 0, "length": 1, "item": 1},
                *(rng.randrange(-128, 128) for _ in range(3)),
                number % 2,
            ],
        }
        yield from described(row, number)


@group("engine/views", 2)
def on_views(part: int) -> Iterator[str]:
    """Copies from one view to another of each kind, inside of tensors, across their ends and outside of memory."""
    for number in range(110):
        rng = rng_of("view", part, number)
        text, element = view_kernel(rng)
        m = parse(text)
        assert not verify(m), verify(m)[0].message
        item = max(SCALARS[element].bits // 8, 1)
        args = [{"region": at, "start": 64, "length": 600, "item": item} for at in range(2)]
        row = {
            "text": text,
            "entry": "k",
            "grid": (rng.choice((1, 2, 5)), rng.choice((1, 1, 3)), 1),
            "regions": [{"seed": number, "size": 700 * item}] * 2,
            "args": [*args, *(rng.choice((0, 1, 3, 7, 8, 16)) for _ in range(4))],
            "racy": True,
        }
        yield from described(row, number)


@group("engine/elements", 2)
def on_elements(part: int) -> Iterator[str]:
    """One operation on special elements of each type."""
    for number in range(200):
        rng = rng_of("elements", part, number)
        text, given, out = element_kernel(rng)
        m = parse(text)
        assert not verify(m), verify(m)[0].message
        sizes = {name: int(name.lstrip("bif")) // 8 for name in (given, out)}
        regions = [b64encode(elements(given, 16, rng)).decode() for _ in range(2)]
        regions.append(b64encode(bytes(16 * sizes[out])).decode())
        args = [
            {"region": at, "start": 0, "length": 16, "item": sizes[name]} for at, name in enumerate((given, given, out))
        ]
        row = {"text": text, "entry": "k", "grid": 1, "regions": regions, "args": args}
        said, contents = launched(row, m)
        yield f"{said} {contents[2].hex() if contents else ''}"


def _item(m: Any) -> int:
    bits: int = m.entries[0].body.args[0].type.element.pointee.bits
    return bits // 8
