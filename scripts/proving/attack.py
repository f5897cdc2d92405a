"""Pairs that no rule was written for: equal ones, and ones that are subtly unequal.

They were written and committed before the prover saw them; `attack_campaign.py` reports the first look and the present.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tilery import Builder, Value
from tilery.builder import f32, i8, i32, ptr
from tilery.prove import Buffer, Program, Stage

INF = float("inf")


@dataclass(slots=True)
class Attack:
    """A program, one that computes the same, and some that do not."""

    name: str
    first: Program
    same: Mapping[str, Program]
    other: Mapping[str, Program]
    inputs: Mapping[str, Any]
    outs: Mapping[str, Any]
    rung: str = "reals"
    given: list[str] = field(default_factory=list)


def _cdiv(a: int, b: int) -> int:
    return -(-a // b)


# ---------------------------------------------------------------- 1. softmax in parts, three launches

ROWS, COLS, PART = 3, 75, 32


def softmax_row() -> Program:
    b = Builder()
    with b.entry("k", x=ptr(f32), y=ptr(f32), n=i32) as p:
        r, _, _ = b.block_id()
        x = b.load(b.view(p.x, (ROWS, p.n), tile=(1, 128), padding="neg_inf"), (r, 0))
        e = b.exp(x - b.max(x, dim=1, keep=True))
        b.store(b.view(p.y, (ROWS, p.n), tile=(1, 128)), (r, 0), e / b.sum(e, dim=1, keep=True))
    return Program.of(b.module, ROWS, ["x", "y", COLS])


def softmax_parts(fault: str = "") -> Program:
    """Each part has a maximum and a sum of its own; a second launch joins them for each part again."""
    parts = _cdiv(COLS, PART)
    a = Builder()
    with a.entry("k", x=ptr(f32), m=ptr(f32), s=ptr(f32), n=i32) as p:
        r, i, _ = a.block_id()
        x = a.load(a.view(p.x, (ROWS, p.n), tile=(1, PART), padding="neg_inf"), (r, i))
        top = a.max(x, dim=1, keep=True)
        a.store(a.view(p.m, (ROWS, parts), tile=(1, 1)), (r, i), top)
        a.store(a.view(p.s, (ROWS, parts), tile=(1, 1)), (r, i), a.sum(a.exp(x - top), dim=1, keep=True))
    b = Builder()
    with b.entry("k", x=ptr(f32), m=ptr(f32), s=ptr(f32), y=ptr(f32), n=i32) as p:
        r, i, _ = b.block_id()
        pad = None if fault == "no padding of the sums" else "zero"
        ms = b.load(b.view(p.m, (ROWS, parts), tile=(1, 4), padding="neg_inf"), (r, 0))
        ss = b.load(b.view(p.s, (ROWS, parts), tile=(1, 4), padding=pad), (r, 0))
        top = b.max(ms, dim=1, keep=True)
        scale = b.exp(ms - top)
        total = b.sum(ss if fault == "sums are not rescaled" else ss * scale, dim=1, keep=True)
        x = b.load(b.view(p.x, (ROWS, p.n), tile=(1, PART), padding="neg_inf"), (r, i))
        mine = b.load(b.view(p.m, (ROWS, parts), tile=(1, 1)), (r, i))
        e = b.exp(x - (mine if fault == "the maximum of the part" else top))
        b.store(b.view(p.y, (ROWS, p.n), tile=(1, PART)), (r, i), e / total)
    stages = [
        Stage(a.module, [ROWS, parts], ["x", "m", "s", COLS]),
        Stage(b.module, [ROWS, parts], ["x", "m", "s", "y", COLS]),
    ]
    return Program(stages, {"m": (ROWS, parts), "s": (ROWS, parts)})


# ---------------------------------------------------------------- 2. variance by merging triples


def variance_two_passes() -> Program:
    b = Builder()
    with b.entry("k", x=ptr(f32), y=ptr(f32), n=i32) as p:
        r, _, _ = b.block_id()
        x = b.load(b.view(p.x, (ROWS, p.n), tile=(1, 128), padding="zero"), (r, 0))
        mean = b.sum(x, dim=1, keep=True) / float(COLS)
        d = b.select(b.reshape(b.iota(128), 1, 128) < p.n, x - mean, 0.0)
        b.store(b.view(p.y, (ROWS, 1), tile=(1, 1)), (r, 0), b.sum(d * d, dim=1, keep=True) / float(COLS))
    return Program.of(b.module, ROWS, ["x", "y", COLS])


def variance_merged(fault: str = "") -> Program:
    """Chan's rule as a reduction of triples: count, mean and sum of squares; empty lanes have count zero."""
    b = Builder()

    def merge(*v: Value) -> Any:
        (n, p, m, q, s, t) = v
        count = n + p
        total = b.maximum(count, 1.0)
        d = q - m
        weight = n / total if fault == "the other weight" else p / total
        cross = d * d * n * p / total
        return count, m + d * weight, s + t + (cross * 2.0 if fault == "the cross term twice" else cross)

    with b.entry("k", x=ptr(f32), y=ptr(f32), n=i32) as p:
        r, _, _ = b.block_id()
        x = b.load(b.view(p.x, (ROWS, p.n), tile=(1, 128), padding="zero"), (r, 0))
        inside = b.reshape(b.iota(128), 1, 128) < p.n
        ones = b.full((1, 128), 1.0, f32)
        count = ones if fault == "padding counts" else b.select(inside, ones, 0.0)
        found = b.reduce([count, x, b.zeros((1, 128), f32)], merge, (0, 0, 0), 1, keep=True)
        b.store(b.view(p.y, (ROWS, 1), tile=(1, 1)), (r, 0), found[2] / float(COLS))
    return Program.of(b.module, ROWS, ["x", "y", COLS])


# ---------------------------------------------------------------- 3. a scan in blocks, three launches

LINE, BLOCK = 90, 16


def scan_serial() -> Program:
    b = Builder()
    with b.entry("k", x=ptr(f32), y=ptr(f32), n=i32) as p:
        xs, ys = b.view(p.x, (p.n,), tile=(1,)), b.view(p.y, (p.n,), tile=(1,))
        with b.for_(0, p.n, carry=[b.zeros((1,), f32)]) as (i, total):
            new = total + b.load(xs, (i,))
            b.store(ys, (i,), new)
            b.continue_(new)
    return Program.of(b.module, 1, ["x", "y", LINE])


def scan_blocks(fault: str = "") -> Program:
    blocks = _cdiv(LINE, BLOCK)
    a = Builder()
    with a.entry("k", x=ptr(f32), t=ptr(f32), n=i32) as p:
        i, _, _ = a.block_id()
        x = a.load(a.view(p.x, (p.n,), tile=(BLOCK,), padding="zero"), (i,))
        a.store(a.view(p.t, (blocks,), tile=(1,)), (i,), a.reshape(a.sum(x, dim=0), 1))
    c = Builder()
    with c.entry("k", t=ptr(f32), u=ptr(f32)) as p:
        t = c.load(c.view(p.t, (blocks,), tile=(8,), padding="zero"), (0,))
        before = c.scan(t, lambda v, w: v + w, 0, 0)
        before = before if fault == "inclusive sums of blocks" else before - t
        c.store(c.view(p.u, (blocks,), tile=(8,)), (0,), before)
    b = Builder()
    with b.entry("k", x=ptr(f32), u=ptr(f32), y=ptr(f32), n=i32) as p:
        i, _, _ = b.block_id()
        x = b.load(b.view(p.x, (p.n,), tile=(BLOCK,), padding="zero"), (i,))
        here = b.scan(x, lambda v, w: v + w, 0, 0, reverse=fault == "backwards within blocks")
        before = b.load(b.view(p.u, (blocks,), tile=(1,)), (i,))
        b.store(b.view(p.y, (p.n,), tile=(BLOCK,)), (i,), here + b.broadcast(before, BLOCK))
    stages = [
        Stage(a.module, blocks, ["x", "t", LINE]),
        Stage(c.module, 1, ["t", "u"]),
        Stage(b.module, blocks, ["x", "u", "y", LINE]),
    ]
    return Program(stages, {"t": (blocks,), "u": (blocks,)})


# ---------------------------------------------------------------- 4. convolution of images

HIGH, WIDE, CIN, COUT, K = 7, 9, 3, 5, 3


def _pixels(b: Builder, p: Any, count: int) -> tuple[Value, Value]:
    at = b.iota(count)
    return at // WIDE, at % WIDE


def convolution_direct() -> Program:
    """One output channel per block; loops over input channels and taps."""
    b = Builder()
    with b.entry("k", x=ptr(f32), w=ptr(f32), y=ptr(f32)) as p:
        o, _, _ = b.block_id()
        at = b.iota(64)
        row, col = at // WIDE, at % WIDE
        with b.for_(0, CIN * K * K, carry=[b.zeros((64,), f32)]) as (t, acc):
            c, tap = t // (K * K), t % (K * K)
            r, s = row + tap // K - 1, col + tap % K - 1
            inside = (r >= 0) & (r < HIGH) & (s >= 0) & (s < WIDE) & (at < HIGH * WIDE)
            x = b.load_ptr(p.x + ((r + c * HIGH) * WIDE + s), mask=inside, other=0)
            w = b.load_ptr(p.w + (o * (CIN * K * K) + t))
            b.continue_(acc + x * b.broadcast(b.reshape(w, 1), 64))
        b.store_ptr(p.y + (at + o * (HIGH * WIDE)), b.result, mask=at < HIGH * WIDE)
    return Program.of(b.module, COUT, ["x", "w", "y"])


def convolution_columns(fault: str = "") -> Program:
    """A matrix of columns in a launch of its own, then one product of matrices."""
    taps, size = CIN * K * K, HIGH * WIDE
    a = Builder()
    with a.entry("k", x=ptr(f32), m=ptr(f32)) as p:
        t, _, _ = a.block_id()
        c, tap = t // (K * K), t % (K * K)
        at = a.iota(64)
        dr, dc = (tap % K, tap // K) if fault == "taps transposed" else (tap // K, tap % K)
        r, s = at // WIDE + dr - 1, at % WIDE + dc - 1
        inside = (r >= 0) & (r < HIGH) & (at < size)
        if fault != "rows run into each other":
            inside = inside & (s >= 0) & (s < WIDE)
        else:
            flat = r * WIDE + s
            inside = inside & (flat >= 0) & (flat < size)
        x = a.load_ptr(p.x + ((r + c * HIGH) * WIDE + s), mask=inside, other=0)
        a.store_ptr(p.m + (at + t * size), x, mask=at < size)
    b = Builder()
    with b.entry("k", m=ptr(f32), w=ptr(f32), y=ptr(f32)) as p:
        i, _, _ = b.block_id()
        steps = taps // 8 if fault == "no last step" else _cdiv(taps, 8)
        ws = b.view(p.w, (COUT, taps), tile=(8, 8), padding="zero")
        ms = b.view(p.m, (taps, size), tile=(8, 16), padding="zero")
        with b.for_(0, steps, carry=[b.zeros((8, 16), f32)]) as (j, acc):
            b.continue_(b.mma(b.load(ws, (0, j)), b.load(ms, (j, i)), acc))
        b.store(b.view(p.y, (COUT, size), tile=(8, 16)), (0, i), b.result)
    stages = [Stage(a.module, taps, ["x", "m"]), Stage(b.module, _cdiv(size, 16), ["m", "w", "y"])]
    return Program(stages, {"m": (taps, size)})


# ---------------------------------------------------------------- 5. the two largest


def two_largest_pairs() -> Program:
    """A reduction of pairs: the largest and the second largest."""
    b = Builder()

    def join(a: Value, c: Value, second: Value, other: Value) -> Any:
        return b.maximum(a, c), b.maximum(b.minimum(a, c), b.maximum(second, other))

    with b.entry("k", x=ptr(f32), y=ptr(f32), n=i32) as p:
        r, _, _ = b.block_id()
        x = b.load(b.view(p.x, (ROWS, p.n), tile=(1, 32), padding="neg_inf"), (r, 0))
        low = b.full((1, 32), -INF, f32)
        top, second = b.reduce([x, low], join, (-INF, -INF), 1, keep=True)
        out = b.view(p.y, (ROWS, 2), tile=(1, 1))
        b.store(out, (r, 0), top)
        b.store(out, (r, 1), second)
    return Program.of(b.module, ROWS, ["x", "y", 21])


def two_largest_masked(fault: str = "") -> Program:
    """The maximum, and the maximum of the rest: the first of the largest is left out by its position."""
    b = Builder()
    with b.entry("k", x=ptr(f32), y=ptr(f32), n=i32) as p:
        r, _, _ = b.block_id()
        x = b.load(b.view(p.x, (ROWS, p.n), tile=(1, 32), padding="neg_inf"), (r, 0))
        top = b.max(x, dim=1, keep=True)
        at = b.broadcast(b.reshape(b.iota(32), 1, 32), 1, 32)
        is_top = b.eq(x, b.broadcast(top, 1, 32))
        where = b.min(b.select(is_top, at, 32), dim=1, keep=True)
        gone = b.eq(at, b.broadcast(where, 1, 32))
        if fault == "by value: equal ones go together":
            gone = is_top
        rest = b.select(gone, x if fault == "nothing is left out" else -INF, x)
        out = b.view(p.y, (ROWS, 2), tile=(1, 1))
        b.store(out, (r, 0), top)
        b.store(out, (r, 1), b.max(rest, dim=1, keep=True))
    return Program.of(b.module, ROWS, ["x", "y", 21])


# ---------------------------------------------------------------- 6. rotation of neighbours

TURNS, DIM = 11, 16


def rotation_pointers() -> Program:
    b = Builder()
    with b.entry("k", x=ptr(f32), c=ptr(f32), s=ptr(f32), y=ptr(f32)) as p:
        r, _, _ = b.block_id()
        i = b.iota(DIM // 2)
        even = p.x + (i * 2 + r * DIM)
        u, v = b.load_ptr(even), b.load_ptr(p.x + (i * 2 + r * DIM + 1))
        c, s = b.load_ptr(p.c + (i + r * (DIM // 2))), b.load_ptr(p.s + (i + r * (DIM // 2)))
        b.store_ptr(p.y + (i * 2 + r * DIM), u * c - v * s)
        b.store_ptr(p.y + (i * 2 + r * DIM + 1), v * c + u * s)
    return Program.of(b.module, TURNS, ["x", "c", "s", "y"])


def rotation_neighbours(fault: str = "") -> Program:
    """Whole rows: each element and its neighbour, which a permutation of pairs brings to its place."""
    b = Builder()
    with b.entry("k", x=ptr(f32), c=ptr(f32), s=ptr(f32), y=ptr(f32)) as p:
        r, _, _ = b.block_id()
        x = b.load(b.view(p.x, (TURNS, DIM), tile=(4, DIM), padding="zero"), (r, 0))
        half = DIM // 2
        if fault == "halves instead of neighbours":
            turned = b.reshape(b.permute(b.reshape(x, 4, 2, half), 0, 2, 1), 4, DIM)
            first, second = b.extract(turned, (0, 0), (4, half)), b.extract(turned, (0, 1), (4, half))
            swapped = b.cat(second, first, 1)
        else:
            pairs = b.reshape(x, 4, half, 2)
            first, second = b.extract(pairs, (0, 0, 0), (4, half, 1)), b.extract(pairs, (0, 0, 1), (4, half, 1))
            swapped = b.reshape(b.cat(second, first, 2), 4, DIM)
        odd = b.broadcast(b.reshape(b.iota(DIM) % 2, 1, DIM), 4, DIM)
        sign = b.select(b.eq(odd, 0 if fault != "the other sign" else 1), b.full((4, DIM), -1.0, f32), 1.0)

        def twice(q: Value) -> Value:
            t = b.load(b.view(q, (TURNS, half), tile=(4, half), padding="zero"), (r, 0))
            return b.reshape(b.broadcast(b.reshape(t, 4, half, 1), 4, half, 2), 4, DIM)

        y = x * twice(p.c) + swapped * sign * twice(p.s)
        b.store(b.view(p.y, (TURNS, DIM), tile=(4, DIM)), (r, 0), y)
    return Program.of(b.module, _cdiv(TURNS, 4), ["x", "c", "s", "y"])


# ---------------------------------------------------------------- 7. a layer in one launch or in four

BATCH, FIN, HID = 13, 20, 24


def _silu(b: Builder, x: Value) -> Any:
    return x / (b.exp(-x) + 1.0)


def mlp_fused(fault: str = "") -> Program:
    """Gate and value, their product, the second matrix and the residual, in one launch."""
    b = Builder()
    with b.entry("k", x=ptr(f32), g=ptr(f32), u=ptr(f32), d=ptr(f32), y=ptr(f32)) as p:
        i, _, _ = b.block_id()
        x = b.load(b.view(p.x, (BATCH, FIN), tile=(8, 32), padding="zero"), (i, 0))
        gs, us = (b.view(w, (FIN, HID), tile=(32, 8), padding="zero") for w in (p.g, p.u))
        ds = b.view(p.d, (HID, FIN), tile=(8, 32), padding="zero")
        with b.for_(0, HID // 8, carry=[b.zeros((8, 32), f32)]) as (j, acc):
            zero = b.zeros((8, 8), f32)
            gate, up = b.mma(x, b.load(gs, (0, j)), zero), b.mma(x, b.load(us, (0, j)), zero)
            h = gate * _silu(b, up) if fault == "the other is activated" else _silu(b, gate) * up
            b.continue_(b.mma(h, b.load(ds, (j, 0)), acc))
        y = b.result if fault == "no residual" else b.result + x
        b.store(b.view(p.y, (BATCH, FIN), tile=(8, 32)), (i, 0), y)
    return Program.of(b.module, _cdiv(BATCH, 8), ["x", "g", "u", "d", "y"])


def _product(m: int, n: int, k: int, names: list[str], add: bool = False) -> Stage:
    b = Builder()
    with b.entry("k", a=ptr(f32), w=ptr(f32), c=ptr(f32), r=ptr(f32)) as p:
        i, j, _ = b.block_id()
        a, w = b.view(p.a, (m, k), tile=(4, 4), padding="zero"), b.view(p.w, (k, n), tile=(4, 8), padding="zero")
        out = b.view(p.c, (m, n), tile=(4, 8))
        with b.for_(0, _cdiv(k, 4), carry=[b.zeros((4, 8), f32)]) as (s, acc):
            b.continue_(b.mma(b.load(a, (i, s)), b.load(w, (s, j)), acc))
        y = b.result
        if add:
            y = y + b.load(b.view(p.r, (m, n), tile=(4, 8), padding="zero"), (i, j))
        b.store(out, (i, j), y)
    return Stage(b.module, [_cdiv(m, 4), _cdiv(n, 8)], names)


def mlp_separate() -> Program:
    b = Builder()
    with b.entry("k", g=ptr(f32), u=ptr(f32), h=ptr(f32)) as p:
        i, _, _ = b.block_id()
        gs, us, hs = (b.view(w, (BATCH * HID,), tile=(64,)) for w in (p.g, p.u, p.h))
        b.store(hs, (i,), _silu(b, b.load(gs, (i,))) * b.load(us, (i,)))
    stages = [
        _product(BATCH, HID, FIN, ["x", "g", "hg", "x"]),
        _product(BATCH, HID, FIN, ["x", "u", "hu", "x"]),
        Stage(b.module, _cdiv(BATCH * HID, 64), ["hg", "hu", "h"]),
        _product(BATCH, FIN, HID, ["h", "d", "y", "x"], add=True),
    ]
    shape = (BATCH, HID)
    return Program(stages, {"hg": shape, "hu": shape, "h": shape})


# ---------------------------------------------------------------- 8. a histogram

COUNT, BINS = 75, 10


def histogram_counts() -> Program:
    """One bin per block: compare and count."""
    b = Builder()
    with b.entry("k", x=ptr(i32), y=ptr(i32), n=i32) as p:
        i, _, _ = b.block_id()
        at = b.iota(128)
        x = b.load_ptr(p.x + at, mask=at < p.n, other=-1)
        hit = b.select(b.eq(x, b.broadcast(b.reshape(i, 1), 128)), b.full((128,), 1, i32), 0)
        b.store_ptr(p.y + i, b.sum(hit, dim=0))
    return Program.of(b.module, BINS, ["x", "y", COUNT])


def histogram_atomics(fault: str = "") -> Program:
    """A launch that clears, and one that adds."""
    a = Builder()
    with a.entry("k", y=ptr(i32)) as p:
        at = a.iota(16)
        a.store_ptr(p.y + at, a.zeros((16,), i32), mask=at < BINS)
    b = Builder()
    with b.entry("k", x=ptr(i32), y=ptr(i32), n=i32) as p:
        i, _, _ = b.block_id()
        at = b.iota(16) + i * 16
        inside = at < p.n - 1 if fault == "the last one is left out" else at < p.n
        x = b.load_ptr(p.x + at, mask=inside, other=0)
        one = b.full((16,), 1, i32)
        if fault == "padding counts":
            inside = at < 80
        b.atomic_rmw_tko("relaxed", "device", p.y + x, "add", one, mask=inside)
    return Program([Stage(a.module, 1, ["y"]), Stage(b.module, _cdiv(COUNT, 16), ["x", "y", COUNT])])


# ---------------------------------------------------------------- 9. cross entropy

CLASSES, SAMPLES = 37, 5


def entropy_whole() -> Program:
    b = Builder()
    with b.entry("k", x=ptr(f32), t=ptr(i32), y=ptr(f32), n=i32) as p:
        r, _, _ = b.block_id()
        x = b.load(b.view(p.x, (SAMPLES, p.n), tile=(1, 64), padding="neg_inf"), (r, 0))
        m = b.max(x, dim=1, keep=True)
        lse = m + b.log(b.sum(b.exp(x - m), dim=1, keep=True))
        t = b.load_ptr(p.t + r)
        picked = b.load_ptr(p.x + (r * p.n + b.maximum(t, 0)))
        loss = b.reshape(lse, 1) - b.reshape(picked, 1)
        b.store(b.view(p.y, (SAMPLES,), tile=(1,)), (r,), b.select(b.reshape(t, 1) >= 0, loss, 0.0))
    return Program.of(b.module, SAMPLES, ["x", "t", "y", CLASSES])


def entropy_online(fault: str = "") -> Program:
    """One pass; the wanted class is found by comparison, and labels below zero are ignored."""
    b = Builder()
    with b.entry("k", x=ptr(f32), t=ptr(i32), y=ptr(f32), n=i32) as p:
        r, _, _ = b.block_id()
        xs = b.view(p.x, (SAMPLES, p.n), tile=(1, 16), padding="neg_inf")
        t = b.reshape(b.load_ptr(p.t + r), 1, 1)
        first = [b.full((1, 1), -INF, f32), b.zeros((1, 1), f32), b.zeros((1, 1), f32)]
        with b.for_(0, (p.n + 15) // 16, carry=first) as (i, m, s, found):
            x = b.load(xs, (r, i))
            new = b.maximum(m, b.max(x, dim=1, keep=True))
            total = s * b.exp(m - new) + b.sum(b.exp(x - new), dim=1, keep=True)
            at = b.reshape(b.iota(16), 1, 16) + (i * 16 + 1 if fault == "the next class" else i * 16)
            hit = b.eq(b.broadcast(at, 1, 16), b.broadcast(t, 1, 16))
            b.continue_(new, total, found + b.sum(b.select(hit, x, 0.0), dim=1, keep=True))
        m, s, found = b.results
        loss = m + b.log(s) - found
        if fault != "labels to ignore count":
            loss = b.select(t >= 0, loss, 0.0)
        b.store(b.view(p.y, (SAMPLES,), tile=(1,)), (r,), b.reshape(loss, 1))
    return Program.of(b.module, SAMPLES, ["x", "t", "y", CLASSES])


# ---------------------------------------------------------------- 10. layer norm, backward


def norm_backward(how: str, fault: str = "") -> Program:
    """The gradient by its usual form, or as the derivative of each step."""
    b = Builder()
    n = float(COLS)
    with b.entry("k", x=ptr(f32), w=ptr(f32), d=ptr(f32), y=ptr(f32), n=i32) as p:
        r, _, _ = b.block_id()
        inside = b.reshape(b.iota(128), 1, 128) < p.n
        x, g = (b.load(b.view(q, (ROWS, p.n), tile=(1, 128), padding="zero"), (r, 0)) for q in (p.x, p.d))
        w = b.load(b.view(p.w, (1, p.n), tile=(1, 128), padding="zero"), (0, 0))
        mean = b.sum(x, dim=1, keep=True) / n
        c = b.select(inside, x - mean, 0.0)
        var = b.sum(c * c, dim=1, keep=True) / n
        r_std = b.rsqrt(var + 1e-5)
        g = g * w
        if how == "usual":
            hat = c * r_std
            first = b.sum(hat * g, dim=1, keep=True) / n
            second = b.sum(g, dim=1, keep=True) / n
            dx = (g - (hat * first + second)) * r_std
        else:
            d_var = b.sum(g * c, dim=1, keep=True) * r_std * r_std * r_std * -0.5
            if fault == "one power less":
                d_var = b.sum(g * c, dim=1, keep=True) * r_std * r_std * -0.5
            d_c = g * r_std + c * d_var * 2.0 / n
            d_c = b.select(inside, d_c, 0.0)
            dx = d_c - b.sum(d_c, dim=1, keep=True) / n
            if fault == "the mean is constant":
                dx = d_c
        b.store(b.view(p.y, (ROWS, p.n), tile=(1, 128)), (r, 0), dx)
    return Program.of(b.module, ROWS, ["x", "w", "d", "y", COLS])


# ---------------------------------------------------------------- 11. a selective scan

TIME, CHANNELS = 19, 6


def recurrence_serial() -> Program:
    b = Builder()
    with b.entry("k", a=ptr(f32), x=ptr(f32), y=ptr(f32)) as p:
        c, _, _ = b.block_id()
        av, xv, yv = (b.view(q, (TIME, CHANNELS), tile=(1, 1)) for q in (p.a, p.x, p.y))
        with b.for_(0, TIME, carry=[b.zeros((1, 1), f32)]) as (t, h):
            decay = b.exp(-b.load(av, (t, c)))
            new = decay * h + b.load(xv, (t, c))
            b.store(yv, (t, c), new)
            b.continue_(new)
    return Program.of(b.module, CHANNELS, ["a", "x", "y"])


def recurrence_scan(fault: str = "") -> Program:
    """A scan of pairs: decay and state."""
    b = Builder()

    def join(a1: Value, a2: Value, h1: Value, h2: Value) -> Any:
        if fault == "the earlier decay":
            return a1 * a2, a1 * h1 + h2
        if fault == "decay after the input":
            return a1 * a2, a2 * (h1 + h2)
        return a1 * a2, a2 * h1 + h2

    with b.entry("k", a=ptr(f32), x=ptr(f32), y=ptr(f32)) as p:
        av, xv = (b.view(q, (TIME, CHANNELS), tile=(32, 8), padding="zero") for q in (p.a, p.x))
        decay = b.exp(-b.load(av, (0, 0)))
        _, h = b.scan([decay, b.load(xv, (0, 0))], join, (1, 0), 0)
        b.store(b.view(p.y, (TIME, CHANNELS), tile=(32, 8)), (0, 0), h)
    return Program.of(b.module, 1, ["a", "x", "y"])


# ---------------------------------------------------------------- 12. the inverse of a triangular matrix

SIDE = 8


def _lower(b: Builder, x: Value) -> Value:
    row = b.broadcast(b.reshape(b.iota(SIDE), SIDE, 1), SIDE, SIDE)
    col = b.broadcast(b.reshape(b.iota(SIDE), 1, SIDE), SIDE, SIDE)
    return b.select(col < row, x, 0.0)


def _unit(b: Builder) -> Value:
    row = b.broadcast(b.reshape(b.iota(SIDE), SIDE, 1), SIDE, SIDE)
    col = b.broadcast(b.reshape(b.iota(SIDE), 1, SIDE), SIDE, SIDE)
    return b.select(b.eq(row, col), b.full((SIDE, SIDE), 1.0, f32), 0.0)


def inverse_rows() -> Program:
    """(1 - L)**-1 row by row: each row is the unit row and L's row times the rows above."""
    b = Builder()
    with b.entry("k", x=ptr(f32), y=ptr(f32)) as p:
        low = _lower(b, b.load(b.view(p.x, (SIDE, SIDE), tile=(SIDE, SIDE)), (0, 0)))
        row = b.broadcast(b.reshape(b.iota(SIDE), SIDE, 1), SIDE, SIDE)
        with b.for_(0, SIDE, carry=[_unit(b)]) as (i, acc):
            here = b.eq(row, b.broadcast(b.reshape(i, 1, 1), SIDE, SIDE))
            line = b.mma(b.select(here, low, 0.0), acc, b.zeros((SIDE, SIDE), f32))
            b.continue_(acc + line)
        b.store(b.view(p.y, (SIDE, SIDE), tile=(SIDE, SIDE)), (0, 0), b.result)
    return Program.of(b.module, 1, ["x", "y"])


def inverse_powers(fault: str = "") -> Program:
    """(1 + L)(1 + L**2)(1 + L**4), as L**8 is zero."""
    b = Builder()
    with b.entry("k", x=ptr(f32), y=ptr(f32)) as p:
        low, unit, zero = _lower(b, b.load(b.view(p.x, (SIDE, SIDE), tile=(SIDE, SIDE)), (0, 0))), _unit(b), None
        zero = b.zeros((SIDE, SIDE), f32)
        acc, power = unit + low, low
        for _ in range(1 if fault == "one factor less" else 2):
            power = b.mma(power, low if fault == "powers grow by one" else power, zero)
            acc = b.mma(acc, unit + power, zero)
        b.store(b.view(p.y, (SIDE, SIDE), tile=(SIDE, SIDE)), (0, 0), acc)
    return Program.of(b.module, 1, ["x", "y"])


# ---------------------------------------------------------------- 13. the Walsh-Hadamard transform

POINTS, LINES = 16, 5


def hadamard_butterflies(fault: str = "") -> Program:
    b = Builder()
    with b.entry("k", x=ptr(f32), y=ptr(f32)) as p:
        r, _, _ = b.block_id()
        x = b.load(b.view(p.x, (LINES, POINTS), tile=(2, POINTS), padding="zero"), (r, 0))
        for level in range(4):
            half = 1 << level
            pairs = b.reshape(x, 2, POINTS // (2 * half), 2, half)
            u, v = (b.extract(pairs, (0, 0, i, 0), (2, POINTS // (2 * half), 1, half)) for i in (0, 1))
            low = v - u if fault == "a sign on one level" and level == 2 else u - v
            x = b.reshape(b.cat(u + v, low, 2), 2, POINTS)
        b.store(b.view(p.y, (LINES, POINTS), tile=(2, POINTS)), (r, 0), x)
    return Program.of(b.module, _cdiv(LINES, 2), ["x", "y"])


def hadamard_matrix(fault: str = "") -> Program:
    """A product with signs: the parity of the bits that row and column share."""
    b = Builder()
    with b.entry("k", x=ptr(f32), y=ptr(f32)) as p:
        x = b.load(b.view(p.x, (LINES, POINTS), tile=(8, POINTS), padding="zero"), (0, 0))
        row = b.broadcast(b.reshape(b.iota(POINTS), POINTS, 1), POINTS, POINTS)
        col = b.broadcast(b.reshape(b.iota(POINTS), 1, POINTS), POINTS, POINTS)
        bits = row | col if fault == "or instead of and" else row & col
        bits = bits ^ (bits >> 2)
        bits = bits ^ (bits >> 1)
        sign = b.select(b.eq(bits & 1, 1), b.full((POINTS, POINTS), -1.0, f32), 1.0)
        y = b.mma(x, sign, b.zeros((8, POINTS), f32))
        b.store(b.view(p.y, (LINES, POINTS), tile=(8, POINTS)), (0, 0), y)
    return Program.of(b.module, 1, ["x", "y"])


# ---------------------------------------------------------------- 14. Strassen's product


def strassen(fault: str = "") -> Program:
    """Four blocks of 8 by 8 each; the last ones are ragged."""
    b = Builder()
    with b.entry("k", a=ptr(f32), w=ptr(f32), c=ptr(f32), n=i32) as p:
        av, wv = (b.view(q, (p.n, p.n), tile=(8, 8), padding="zero") for q in (p.a, p.w))
        a11, a12, a21, a22 = (b.load(av, (i, j)) for i in (0, 1) for j in (0, 1))
        b11, b12, b21, b22 = (b.load(wv, (i, j)) for i in (0, 1) for j in (0, 1))

        def dot(x: Value, y: Value) -> Value:
            return b.mma(x, y, b.zeros((8, 8), f32))

        m1, m2, m3 = dot(a11 + a22, b11 + b22), dot(a21 + a22, b11), dot(a11, b12 - b22)
        m4, m5 = dot(a22, b21 - b11), dot(a11 + a12, b22)
        m6, m7 = dot(a21 - a11, b11 + b12), dot(a12 - a22, b21 + b22)
        c11 = m1 + m4 - m5 + m7
        c22 = m1 - m2 + m3 + (m7 if fault == "the seventh for the sixth" else m6)
        c12, c21 = m3 + m5, m2 + m4
        if fault == "corners swapped":
            c12, c21 = c21, c12
        cv = b.view(p.c, (p.n, p.n), tile=(8, 8))
        for n, part in enumerate((c11, c12, c21, c22)):
            b.store(cv, (n // 2, n % 2), part)
    return Program.of(b.module, 1, ["a", "w", "c", 13])


def product_plain() -> Program:
    stage = _product(13, 13, 13, ["a", "w", "c", "a"])
    return Program([stage])


# ---------------------------------------------------------------- 15. weights in eight bits, a scale per group

OUT_N, IN_K, GROUP = 12, 40, 16


def quantised(how: str, fault: str = "") -> Program:
    b = Builder()
    groups = _cdiv(IN_K, GROUP)
    with b.entry("k", x=ptr(f32), w=ptr(i8), s=ptr(f32), y=ptr(f32)) as p:
        j, _, _ = b.block_id()
        xs = b.view(p.x, (BATCH, IN_K), tile=(16, 8), padding="zero")
        ws = b.view(p.w, (IN_K, OUT_N), tile=(8, 4), padding="zero")
        ss = b.view(p.s, (groups, OUT_N), tile=(1, 4), padding="zero")
        zero = b.zeros((16, 4), f32)
        if how == "scale the weights":
            with b.for_(0, IN_K // 8, carry=[zero]) as (i, acc):
                w = b.cast(b.load(ws, (i, j)), f32)
                scale = b.load(ss, (i // (GROUP // 8), j))
                b.continue_(b.mma(b.load(xs, (0, i)), w * b.broadcast(scale, 8, 4), acc))
            y = b.result
        else:
            with b.for_(0, groups, carry=[zero]) as (g, acc):
                with b.for_(0, GROUP // 8, carry=[zero]) as (i, part):
                    at = g * (GROUP // 8) + i
                    w = b.cast(b.load(ws, (at, j)), f32, signed=fault != "weights without a sign")
                    b.continue_(b.mma(b.load(xs, (0, at)), w, part))
                which = b.minimum(g + 1, groups - 1) if fault == "the next scale" else g
                b.continue_(acc + b.result * b.broadcast(b.load(ss, (which, j)), 16, 4))
            y = b.result
        b.store(b.view(p.y, (BATCH, OUT_N), tile=(16, 4)), (0, j), y)
    return Program.of(b.module, _cdiv(OUT_N, 4), ["x", "w", "s", "y"])


# ---------------------------------------------------------------- 16 to 18. integers, by bits


def integers(compute: Callable[[Builder, Value, Value], Any]) -> Program:
    b = Builder()
    with b.entry("k", x=ptr(i32), y=ptr(i32), z=ptr(i32)) as p:
        i, _, _ = b.block_id()
        at = b.iota(64) + i * 64
        b.store_ptr(p.z + at, compute(b, b.load_ptr(p.x + at), b.load_ptr(p.y + at)))
    return Program.of(b.module, 1, ["x", "y", "z"])


def _shr(b: Builder, x: Value, by: int) -> Value:
    """Shift without sign."""
    return b.value("shri", x, b.full((64,), by, i32), signedness="unsigned")


def reverse_bits(masks: tuple[int, ...] = (0x55555555, 0x33333333, 0x0F0F0F0F, 0x00FF00FF)) -> Program:
    def compute(b: Builder, x: Value, y: Value) -> Any:
        for level, mask in enumerate(masks):
            by = 1 << level
            x = (_shr(b, x, by) & mask) | ((x & mask) << by)
        return _shr(b, x, 16) | (x << 16)

    return integers(compute)


def reverse_bits_serial(fault: str = "") -> Program:
    def compute(b: Builder, x: Value, y: Value) -> Any:
        made = x & 0
        for i in range(31 if fault == "the last bit is missing" else 32):
            made = made | ((_shr(b, x, i) & 1) << (31 - i))
        return made

    return integers(compute)


def average(how: str) -> Program:
    def compute(b: Builder, x: Value, y: Value) -> Any:
        match how:
            case "wide":
                return b.cast((b.cast(x, "i64") + b.cast(y, "i64")) >> 1, "i32")
            case "shared bits":
                return (x & y) + ((x ^ y) >> 1)
            case "shift without sign":
                return (x & y) + _shr(b, x ^ y, 1)
            case "rounded up":
                return (x | y) - ((x ^ y) >> 1)
        return (x + y) >> 1

    return integers(compute)


def absolute(how: str) -> Program:
    def compute(b: Builder, x: Value, y: Value) -> Any:
        sign = x >> 31
        match how:
            case "select":
                return b.select(x < 0, y - x, y + x)
            case "sign mask":
                return ((x ^ sign) - sign) + y
            case "one too few":
                return (x ^ sign) + y
        return ((x ^ sign) + sign) + y

    return integers(compute)


# ---------------------------------------------------------------- 19, 20. equal almost everywhere


def step(how: str) -> Program:
    """Steps that differ at zero alone: no random point shows it."""
    b = Builder()
    with b.entry("k", x=ptr(f32), y=ptr(f32)) as p:
        xs, ys = b.view(p.x, (64,), tile=(64,)), b.view(p.y, (64,), tile=(64,))
        x = b.load(xs, (0,))
        one = b.full((64,), 1.0, f32)
        y = b.select(x <= 0.0, 0.0 * one, one) if how == "not at most" else None
        keep = x >= 0.0 if how == "at least" else x > 0.0
        b.store(ys, (0,), b.select(keep, one, 0.0) if y is None else y)
    return Program.of(b.module, 1, ["x", "y"])


def ramp(how: str) -> Program:
    """Ramps that are the same at zero as well, whichever side zero is on."""
    b = Builder()
    with b.entry("k", x=ptr(f32), y=ptr(f32)) as p:
        xs, ys = b.view(p.x, (64,), tile=(64,)), b.view(p.y, (64,), tile=(64,))
        x = b.load(xs, (0,))
        match how:
            case "above":
                y = b.select(x > 0.0, x, 0.0)
            case "at least":
                y = b.select(x >= 0.0, x, 0.0)
            case "shifted":
                y = b.select(x > 0.0, x + 1.0, 0.0)
            case _:
                y = b.select(x >= 0.0, x + 1.0, 0.0)
        b.store(ys, (0,), y)
    return Program.of(b.module, 1, ["x", "y"])


def attacks() -> Iterator[Attack]:
    """Yield all pairs."""
    x, y, one = {"x": (ROWS, COLS)}, {"y": (ROWS, COLS)}, {"y": (ROWS, 1)}
    rng = np.random.default_rng(7)

    def planted(make: Callable[[str], Program], *faults: str) -> dict[str, Program]:
        return {fault: make(fault) for fault in faults}

    wrong = planted(softmax_parts, "sums are not rescaled", "the maximum of the part", "no padding of the sums")
    yield Attack("softmax in parts", softmax_row(), {"three launches": softmax_parts()}, wrong, x, y)
    wrong = planted(variance_merged, "the other weight", "the cross term twice", "padding counts")
    yield Attack("variance", variance_two_passes(), {"merged triples": variance_merged()}, wrong, x, one)
    wrong = planted(scan_blocks, "inclusive sums of blocks", "backwards within blocks")
    yield Attack("scan", scan_serial(), {"three launches": scan_blocks()}, wrong, {"x": (LINE,)}, {"y": (LINE,)})
    images = {"x": (CIN, HIGH, WIDE), "w": (COUT, CIN * K * K)}
    wrong = planted(convolution_columns, "taps transposed", "rows run into each other", "no last step")
    same = {"columns": convolution_columns()}
    yield Attack("convolution of images", convolution_direct(), same, wrong, images, {"y": (COUT, HIGH, WIDE)})
    wrong = planted(two_largest_masked, "by value: equal ones go together", "nothing is left out")
    same = {"by position": two_largest_masked()}
    yield Attack("two largest", two_largest_pairs(), same, wrong, {"x": (ROWS, 21)}, {"y": (ROWS, 2)})
    half = (TURNS, DIM // 2)
    wrong = planted(rotation_neighbours, "halves instead of neighbours", "the other sign")
    same = {"whole rows": rotation_neighbours()}
    turns = {"x": (TURNS, DIM), "c": half, "s": half}
    yield Attack("rotation of neighbours", rotation_pointers(), same, wrong, turns, {"y": (TURNS, DIM)})
    layer = {"x": (BATCH, FIN), "g": (FIN, HID), "u": (FIN, HID), "d": (HID, FIN)}
    wrong = planted(mlp_fused, "the other is activated", "no residual")
    yield Attack("gated layer", mlp_separate(), {"one launch": mlp_fused()}, wrong, layer, {"y": (BATCH, FIN)})
    numbers = {"x": Buffer((COUNT,), "given", rng.integers(0, BINS, COUNT).astype(np.int32))}
    wrong = planted(histogram_atomics, "the last one is left out", "padding counts")
    same = {"atomics": histogram_atomics()}
    yield Attack("histogram", histogram_counts(), same, wrong, numbers, {"y": (BINS,)})
    labels = Buffer((SAMPLES,), "given", np.array([3, 0, -1, 36, 15], np.int32))
    wrong = planted(entropy_online, "the next class", "labels to ignore count")
    classes = {"x": (SAMPLES, CLASSES), "t": labels}
    yield Attack("cross entropy", entropy_whole(), {"one pass": entropy_online()}, wrong, classes, {"y": (SAMPLES,)})
    steps = {fault: norm_backward("steps", fault) for fault in ("one power less", "the mean is constant")}
    same = {"step by step": norm_backward("steps")}
    grads = {"x": (ROWS, COLS), "w": (COLS,), "d": (ROWS, COLS)}
    yield Attack("layer norm, backward", norm_backward("usual"), same, steps, grads, y)
    wrong = planted(recurrence_scan, "the earlier decay", "decay after the input")
    same, shape = {"scan of pairs": recurrence_scan()}, (TIME, CHANNELS)
    yield Attack("recurrence", recurrence_serial(), same, wrong, {"a": shape, "x": shape}, {"y": shape})
    wrong, square = planted(inverse_powers, "one factor less", "powers grow by one"), (SIDE, SIDE)
    same = {"powers": inverse_powers()}
    yield Attack("triangular inverse", inverse_rows(), same, wrong, {"x": square}, {"y": square})
    lines = (LINES, POINTS)
    wrong = {**planted(hadamard_matrix, "or instead of and"), **planted(hadamard_butterflies, "a sign on one level")}
    same = {"matrix": hadamard_matrix()}
    yield Attack("Hadamard", hadamard_butterflies(), same, wrong, {"x": lines}, {"y": lines})
    wrong, square = planted(strassen, "the seventh for the sixth", "corners swapped"), (13, 13)
    same = {"Strassen": strassen()}
    yield Attack("product", product_plain(), same, wrong, {"a": square, "w": square}, {"c": square})
    weights = Buffer((IN_K, OUT_N), "given", rng.integers(-128, 128, (IN_K, OUT_N)).astype(np.int8))
    late = {fault: quantised("scale sums", fault) for fault in ("weights without a sign", "the next scale")}
    same = {"scale sums": quantised("scale sums")}
    inputs = {"x": (BATCH, IN_K), "w": weights, "s": (_cdiv(IN_K, GROUP), OUT_N)}
    yield Attack("eight-bit weights", quantised("scale the weights"), same, late, inputs, {"y": (BATCH, OUT_N)})
    wrong = {
        "a mask is wrong": reverse_bits((0x55555555, 0x33333333, 0x0F0F0F0E, 0x00FF00FF)),
        "the last bit is missing": reverse_bits_serial("the last bit is missing"),
    }
    yield Attack("bits reversed", reverse_bits(), {"one by one": reverse_bits_serial()}, wrong, {}, {}, "bits")
    wrong = {how: average(how) for how in ("shift without sign", "rounded up", "sum may overflow")}
    yield Attack("average", average("wide"), {"shared bits": average("shared bits")}, wrong, {}, {}, "bits")
    wrong = {how: absolute(how) for how in ("one too few", "the other way")}
    yield Attack("absolute value", absolute("select"), {"sign mask": absolute("sign mask")}, wrong, {}, {}, "bits")
    line, out = {"x": (64,)}, {"y": (64,)}
    wrong = {"at least": step("at least")}
    yield Attack("step", step("above"), {"not at most": step("not at most")}, wrong, line, out)
    yield Attack("ramp", ramp("above"), {"at least": ramp("at least")}, {"shifted": ramp("shifted")}, line, out)
    wrong = {"at least, shifted": ramp("at least, shifted")}
    yield Attack("shifted ramp", ramp("shifted"), {"the same": ramp("shifted")}, wrong, line, out)
