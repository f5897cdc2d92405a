"""Attention: all keys at once, flash attention, flash decoding, and linear attention by recurrence or by chunks."""

from __future__ import annotations

from typing import Any

from tilery import Builder, Module, Value
from tilery.builder import f16, f32, i32, ptr
from tilery.prove import Program, Stage
from tilery.prove.programs import Argument

from .products import NONE, Faults, cdiv
from .sizes import now

INF = float("inf")
LOG2E = 1.4426950408889634
D = 16


def args() -> list[Argument]:
    return ["q", "k", "v", "o", now().queries, now().queries, "scale"]


def _line(b: Builder, n: int, axis: int, shape: tuple[int, int]) -> Value:
    return b.broadcast(b.reshape(b.iota(n), *((n, 1) if axis == 0 else (1, n))), *shape)


def naive(n: int = 64, rows: int = 16, f: Faults = NONE, causal: bool = False, late: bool = False) -> Program:
    """All keys at once; their number is padded to a power of two."""
    b = Builder()
    with b.entry("att", q=ptr(f16), k=ptr(f16), v=ptr(f16), o=ptr(f32), m=i32, n=i32, scale=f32) as p:
        x, _, _ = b.block_id()
        q = b.load(b.view(p.q, (p.m, D), tile=(rows, D), padding="zero"), (x, 0))
        k, v = (b.load(b.view(w, (p.n, D), tile=(n, D), padding="zero"), (0, 0)) for w in (p.k, p.v))
        s = b.mma(q, b.permute(k, 1, 0), b.zeros((rows, n), f32))
        s = s if "no_scale" in f else s * p.scale
        col, row = _line(b, n, 1, (rows, n)), _line(b, rows, 0, (rows, n)) + x * rows
        if "no_mask" not in f:
            keep = col < p.n
            if causal:
                keep = keep & (col < row if "strict_causal" in f else col <= row)
            s = b.select(keep, s, -INF)
        e = b.exp(s - b.max(s, dim=1, keep=True))
        total = b.sum(e, dim=1, keep=True)
        if late:
            o = b.mma(b.cast(e, f16), v, b.zeros((rows, D), f32)) / total
        else:
            o = b.mma(b.cast(e / total, f16), v, b.zeros((rows, D), f32))
        b.store(b.view(p.o, (p.m, D), tile=(rows, D)), (x, 0), o)
    return Program.of(b.module, cdiv(now().queries, rows), args())


def flash(
    tile: int = 16,
    rows: int = 16,
    f: Faults = NONE,
    causal: bool = False,
    base2: bool = False,
    guard: bool = False,
    skip: bool = False,
    down: bool = False,
) -> Program:
    """Keys in tiles, with a running maximum and sum; `skip` leaves out tiles above the diagonal."""
    b = Builder()

    def ex(v: Value) -> Any:
        return b.exp2(v * LOG2E) if base2 else b.exp(v)

    with b.entry("att", q=ptr(f16), k=ptr(f16), v=ptr(f16), o=ptr(f32), m=i32, n=i32, scale=f32) as p:
        x, _, _ = b.block_id()
        q = b.load(b.view(p.q, (p.m, D), tile=(rows, D), padding="zero"), (x, 0))
        ks, vs = (b.view(w, (p.n, D), tile=(tile, D), padding="zero") for w in (p.k, p.v))
        steps = (p.n + (tile - 1)) // tile
        if skip:
            steps = b.mini(steps, ((x + 1) * rows + (tile - 1)) // tile, "signed")
        if "one_step_less" in f:
            steps = steps - 1
        first = [b.full((rows, 1), -INF, f32), b.zeros((rows, 1), f32), b.zeros((rows, D), f32)]
        with b.for_(0, steps, carry=first) as (number, m, den, acc):
            i = steps - 1 - number if down else number
            k, v = b.load(ks, (i, 0)), b.load(vs, (i * 0 if "v_index" in f else i, 0))
            s = b.mma(q, b.permute(k, 1, 0), b.zeros((rows, tile), f32))
            s = s if "no_scale" in f else s * p.scale
            s = s * p.scale if "scale_twice" in f else s
            col, row = _line(b, tile, 1, (rows, tile)), _line(b, rows, 0, (rows, tile)) + x * rows
            if "mask_without_offset" not in f:
                col = col + i * tile
            if "no_mask" not in f:
                keep = col <= p.n if "mask_le" in f else col < p.n
                if causal:
                    keep = keep & (col < row if "strict_causal" in f else col <= row)
                s = b.select(keep, s, -INF)
            new = b.maximum(m, b.max(s, dim=1, keep=True))
            safe = b.select(b.eq(new, -INF), 0.0, new) if guard else new
            a, e = ex(m - safe), ex(s - safe)
            l2 = (den if "l_no_rescale" in f else den * a) + b.sum(e, dim=1, keep=True)
            acc2 = acc if "acc_no_rescale" in f else acc * a
            acc2 = acc2 * a if "acc_rescale_twice" in f else acc2
            b.continue_(new, l2, b.mma(b.cast(e, f16), v, acc2))
        m, den, acc = b.results
        o = acc if "no_final_division" in f else acc / den
        b.store(b.view(p.o, (p.m, D), tile=(rows, D)), (x, 0), o)
    return Program.of(b.module, cdiv(now().queries, rows), args())


def _decode_part(parts: int, tile: int, rows: int, f: Faults) -> Module:
    b = Builder()
    with b.entry("part", q=ptr(f16), k=ptr(f16), v=ptr(f16), o=ptr(f32), w=ptr(f32), m=i32, n=i32, scale=f32) as p:
        x, part, _ = b.block_id()
        q = b.load(b.view(p.q, (p.m, D), tile=(rows, D), padding="zero"), (x, 0))
        ks, vs = (b.view(w, (p.n, D), tile=(tile, D), padding="zero") for w in (p.k, p.v))
        steps = (p.n + (tile - 1)) // tile
        per = (steps + (parts - 1)) // parts
        first = [b.full((rows, 1), -INF, f32), b.zeros((rows, 1), f32), b.zeros((rows, D), f32)]
        with b.for_(part * per, b.mini((part + 1) * per, steps, "signed"), carry=first) as (i, m, den, acc):
            s = b.mma(q, b.permute(b.load(ks, (i, 0)), 1, 0), b.zeros((rows, tile), f32)) * p.scale
            s = b.select(_line(b, tile, 1, (rows, tile)) + i * tile < p.n, s, -INF)
            new = b.maximum(m, b.max(s, dim=1, keep=True))
            a, e = b.exp(m - new), b.exp(s - new)
            b.continue_(new, den * a + b.sum(e, dim=1, keep=True), b.mma(b.cast(e, f16), b.load(vs, (i, 0)), acc * a))
        m, den, acc = b.results
        lse = m + b.log(den) if "stores_lse" in f else m
        out = b.view(p.o, (parts, p.m, D), tile=(1, rows, D))
        b.store(out, (part, x, 0), b.reshape(acc, 1, rows, D))
        both = b.view(p.w, (parts, p.m, 2), tile=(1, rows, 1))
        b.store(both, (part, x, 0), b.reshape(lse, 1, rows, 1))
        b.store(both, (part, x, 1), b.reshape(den, 1, rows, 1))
    return b.module


def _decode_join(parts: int, rows: int, f: Faults) -> Module:
    b = Builder()
    with b.entry("join", o=ptr(f32), w=ptr(f32), out=ptr(f32), m=i32) as p:
        x, _, _ = b.block_id()
        src = b.view(p.o, (parts, p.m, D), tile=(1, rows, D), padding="zero")
        both = b.view(p.w, (parts, p.m, 2), tile=(1, rows, 1), padding="zero")
        first = [b.full((rows, 1), -INF, f32), b.zeros((rows, 1), f32), b.zeros((rows, D), f32)]
        with b.for_(0, parts, carry=first) as (i, m, den, acc):
            mi, li = (b.reshape(b.load(both, (i, x, j)), rows, 1) for j in (0, 1))
            new = b.maximum(m, mi)
            a, c = b.exp(m - new), b.exp(mi - new)
            part = b.reshape(b.load(src, (i, x, 0)), rows, D)
            total = den * a + (li if "l_no_scale" in f else li * c)
            b.continue_(new, total, acc * a + (part if "acc_no_scale" in f else part * c))
        _, den, acc = b.results
        b.store(b.view(p.out, (p.m, D), tile=(rows, D)), (x, 0), acc / den)
    return b.module


def decoding(parts: int = 2, tile: int = 16, rows: int = 16, f: Faults = NONE) -> Program:
    """Parts of the keys by different blocks, then a second kernel that joins them."""
    blocks = cdiv(now().queries, rows)
    one = Stage(
        _decode_part(parts, tile, rows, f),
        [blocks, parts],
        ["q", "k", "v", "po", "w", now().queries, now().queries, "scale"],
    )
    two = Stage(_decode_join(parts, rows, f), blocks, ["po", "w", "o", now().queries])
    return Program([one, two], {"po": (parts, now().queries, D), "w": (parts, now().queries, 2)})


# ---------------------------------------------------------------- linear attention


def recurrent(f: Faults = NONE) -> Program:
    """One position after the other: the state decays by exp(g), and k v is added."""
    b = Builder()
    with b.entry("lin", q=ptr(f32), k=ptr(f32), v=ptr(f32), g=ptr(f32), o=ptr(f32), t=i32) as p:
        qs, ks, vs = (b.view(w, (p.t, D), tile=(1, D)) for w in (p.q, p.k, p.v))
        gs, out = b.view(p.g, (p.t,), tile=(1,)), b.view(p.o, (p.t, D), tile=(1, D))
        with b.for_(0, p.t, carry=[b.zeros((D, D), f32)]) as (i, state):
            decay = b.broadcast(b.reshape(b.exp(b.load(gs, (i,))), 1, 1), D, D)
            kv = b.mma(b.permute(b.load(ks, (i, 0)), 1, 0), b.load(vs, (i, 0)), b.zeros((D, D), f32))
            new = state + kv if "no_decay" in f else (state + kv) * decay if "decay_late" in f else state * decay + kv
            b.store(out, (i, 0), b.mma(b.load(qs, (i, 0)), state if "old_state" in f else new, b.zeros((1, D), f32)))
            b.continue_(new)
    return Program.of(b.module, 1, ["q", "k", "v", "g", "o", now().steps])


def chunked(size: int = 8, f: Faults = NONE) -> Program:
    """Chunks: a product with a causal mask inside, and the state from before."""
    b = Builder()
    with b.entry("lin", q=ptr(f32), k=ptr(f32), v=ptr(f32), g=ptr(f32), o=ptr(f32), t=i32) as p:
        qs, ks, vs = (b.view(w, (p.t, D), tile=(size, D), padding="zero") for w in (p.q, p.k, p.v))
        gs = b.view(p.g, (p.t,), tile=(size,), padding="zero")
        out = b.view(p.o, (p.t, D), tile=(size, D))
        with b.for_(0, (p.t + (size - 1)) // size, carry=[b.zeros((D, D), f32)]) as (i, state):
            q, k, v = (b.load(w, (i, 0)) for w in (qs, ks, vs))
            total = b.scan(b.load(gs, (i,)), lambda x, y: x + y, 0.0, 0)
            down = b.reshape(total, size, 1)
            across = b.reshape(total, 1, size)
            gap = b.broadcast(down, size, size) - b.broadcast(across, size, size)
            row, col = _line(b, size, 0, (size, size)), _line(b, size, 1, (size, size))
            keep = col < row if "strict" in f else col <= row
            inside = b.select(keep, b.exp(gap), 0.0) if "no_causal" not in f else b.exp(gap)
            scores = b.mma(q, b.permute(k, 1, 0), b.zeros((size, size), f32)) * inside
            before = b.mma(
                q if "no_decay_q" in f else q * b.broadcast(b.exp(down), size, D), state, b.zeros((size, D), f32)
            )
            b.store(out, (i, 0), b.mma(scores, v, before))
            last = b.sum(b.load(gs, (i,)), dim=0)
            left = b.exp(b.broadcast(b.reshape(last, 1, 1), size, 1) - down)
            kd = k if "no_decay_k" in f else k * b.broadcast(left, size, D)
            whole = b.broadcast(b.reshape(b.exp(last), 1, 1), D, D)
            b.continue_(b.mma(b.permute(kd, 1, 0), v, state if "state_no_decay" in f else state * whole))
    return Program.of(b.module, 1, ["q", "k", "v", "g", "o", now().steps])
