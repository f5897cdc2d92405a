"""Element by element, and neighbours: activations, transposes, scans, convolutions and rotations."""

from __future__ import annotations

from typing import Any

from tilery import Builder, Value
from tilery.builder import f32, i32, ptr
from tilery.prove import Program

from .products import NONE, Faults, cdiv
from .sizes import now

GELU = 0.7978845608028654


def _activation(b: Builder, x: Value, form: str, f: Faults) -> Any:
    one = x * 0.0 + 1.0
    match form:
        case "gelu tanh" | "gelu exp":
            cube = x * x if "square" in f else x * x * x
            u = (x + cube * 0.044715) * GELU
            if form == "gelu tanh":
                return x * 0.5 * (b.tanh(u) + 1.0)
            w = u if "half" in f else u * 2.0
            return x / ((b.exp(w) if "sign" in f else b.exp(-w)) + 1.0)
        case "silu":
            return x / (b.exp(-x) + (0.5 if "half" in f else 1.0))
        case "silu sigmoid":
            return x * (one / (b.exp(-x) + 1.0))
        case "silu tanh":
            return x * 0.5 * (b.tanh(x * (1.0 if "half" in f else 0.5)) + 1.0)
        case "relu squared":
            r = b.minimum(x, 0.0) if "min" in f else b.maximum(x, 0.0)
            return r * r
        case "relu power":
            return b.maximum(x, 0.0) ** 2.0
        case "softplus":
            return b.log(b.exp(x) + 1.0)
        case "softplus shifted":
            return b.log(b.exp(-x) + 1.0) - x if "minus" in f else b.log(b.exp(-x) + 1.0) + x
        case "leaky":
            return b.select(x > 0.0, x, x * 0.125)
        case "leaky other way":
            return b.select(x <= 0.0, x * (0.25 if "slope" in f else 0.125), x)
    raise ValueError(form)


def activation(form: str, f: Faults = NONE, tile: int = 64, loop: bool = False) -> Program:
    """An activation, one tile per block or several tiles per block in a loop."""
    b = Builder()
    with b.entry("act", x=ptr(f32), y=ptr(f32), n=i32) as p:
        first, _, _ = b.block_id()
        src, dst = b.view(p.x, (p.n,), tile=(tile,), padding="zero"), b.view(p.y, (p.n,), tile=(tile,))
        if loop:
            count, _, _ = b.grid_size()
            with b.for_(first, (p.n + (tile - 1)) // tile, count) as (i,):
                b.store(dst, (i,), _activation(b, b.load(src, (i,)), form, f))
                b.continue_()
        else:
            b.store(dst, (first,), _activation(b, b.load(src, (first,)), form, f))
    return Program.of(b.module, 2 if loop else cdiv(now().elements, tile), ["x", "y", now().elements])


def transpose(how: str = "permute", f: Faults = NONE, tile: int = 16) -> Program:
    b = Builder()
    with b.entry("t", x=ptr(f32), y=ptr(f32), m=i32, n=i32) as p:
        i, j, _ = b.block_id()
        out = b.view(p.y, (p.n, p.m), tile=(tile, tile))
        if how in ("permute", "reshape"):
            t = b.load(b.view(p.x, (p.m, p.n), tile=(tile, tile)), (i, j))
            if how == "permute":
                t = b.permute(t, 1, 0)
            else:
                t = b.reshape(b.permute(b.reshape(t, 2, tile // 2, tile), 2, 0, 1), tile, tile)
                if "wrong_permutation" in f:
                    t = b.reshape(b.permute(b.reshape(t, 2, tile // 2, tile), 1, 0, 2), tile, tile)
            b.store(out, (j, i), t)
        elif how == "dim_map":
            b.store(out, (j, i), b.load(b.view(p.x, (p.m, p.n), tile=(tile, tile), dim_map=(1, 0)), (j, i)))
        elif how == "rows":
            src, dst = b.view(p.x, (p.m, p.n), tile=(1, tile)), b.view(p.y, (p.n, p.m), tile=(tile, 1))
            with b.for_(i * tile, b.mini((i + 1) * tile, p.m, "signed")) as (r,):
                b.store(dst, (j, r), b.reshape(b.load(src, (r, j)), tile, 1))
                b.continue_()
        else:
            r = b.broadcast(b.reshape(b.iota(tile), tile, 1), tile, tile) + i * tile
            c = b.broadcast(b.reshape(b.iota(tile), 1, tile), tile, tile) + j * tile
            keep = r < p.m if "mask_one_side" in f else (r < p.m) & (c < p.n)
            t = b.load_ptr(p.x + (r * p.n + c), mask=keep, other=0)
            b.store_ptr(p.y + (c * (p.n if "wrong_stride" in f else p.m) + r), t, mask=keep)
    m, n = now().across
    return Program.of(b.module, [cdiv(m, tile), cdiv(n, tile)], ["x", "y", m, n])


def cumsum(how: str = "scan", f: Faults = NONE, tile: int = 32) -> Program:
    """Running sums of a vector: scans of tiles with a carry, or products with a triangle."""
    b = Builder()
    with b.entry("cumsum", x=ptr(f32), y=ptr(f32), n=i32) as p:
        src, dst = b.view(p.x, (p.n,), tile=(tile,), padding="zero"), b.view(p.y, (p.n,), tile=(tile,))
        if how == "elements":
            one, out = b.view(p.x, (p.n,), tile=(1,)), b.view(p.y, (p.n,), tile=(1,))
            with b.for_(0, p.n, carry=[b.zeros((1,), f32)]) as (i, total):
                new = total + b.load(one, (i,))
                b.store(out, (i,), total if "exclusive" in f else new)
                b.continue_(new)
        else:
            with b.for_(0, (p.n + (tile - 1)) // tile, carry=[b.zeros((1,), f32)]) as (i, carry):
                x = b.load(src, (i,))
                if how == "scan":
                    s = b.scan(x, lambda u, v: u + v, 0.0, 0)
                else:
                    r = b.broadcast(b.reshape(b.iota(tile), tile, 1), tile, tile)
                    c = b.broadcast(b.reshape(b.iota(tile), 1, tile), tile, tile)
                    keep = c < r if "strict" in f else c <= r
                    lower = b.select(keep, b.full((tile, tile), 1.0, f32), 0.0)
                    s = b.reshape(b.mma(lower, b.reshape(x, tile, 1), b.zeros((tile, 1), f32)), tile)
                b.store(dst, (i,), s if "no_carry" in f else s + b.broadcast(carry, tile))
                b.continue_(carry + b.reshape(b.sum(x, dim=0), 1))
    return Program.of(b.module, 1, ["x", "y", now().line])


def convolution(how: str = "taps", f: Faults = NONE, tile: int = 32, taps: int = 5) -> Program:
    """A causal convolution: a loop over taps, or over outputs."""
    b = Builder()
    with b.entry("conv", x=ptr(f32), w=ptr(f32), y=ptr(f32), n=i32) as p:
        i, _, _ = b.block_id()
        w = b.view(p.w, (taps,), tile=(1,))
        at = b.iota(tile) + i * tile
        if how == "taps":
            last = taps - 1 if "tap_less" in f else taps
            with b.for_(0, last, carry=[b.zeros((tile,), f32)]) as (k, acc):
                here = at + k if "forward" in f else at - k
                x = b.load_ptr(p.x + here, mask=(here >= 0) & (here < p.n), other=0)
                b.continue_(acc + x * b.broadcast(b.load(w, (k,)), tile))
            y = b.result
        elif how == "unrolled":
            y = b.zeros((tile,), f32)
            for number in range(taps):
                here = at - number
                x = b.load_ptr(p.x + here, mask=(here >= 0) & (here < p.n), other=0)
                y = b.fma(x, b.broadcast(b.load(w, (taps - 1 - number if "reversed" in f else number,)), tile), y)
        else:  # the last tap first
            with b.for_(0, taps, carry=[b.zeros((tile,), f32)]) as (j, acc):
                k = taps - 1 - j
                here = at - k
                x = b.load_ptr(p.x + here, mask=(here >= 0) & (here < p.n), other=0)
                b.continue_(acc + x * b.broadcast(b.load(w, (k,)), tile))
            y = b.result
        b.store_ptr(p.y + at, y, mask=at < p.n)
    return Program.of(b.module, cdiv(now().line, tile), ["x", "w", "y", now().line])


def rotate(how: str = "halves", f: Faults = NONE, d: int = 16) -> Program:
    """Rotary embedding: halves of a row are rotated by given angles."""
    b = Builder()
    half = d // 2
    with b.entry("rope", x=ptr(f32), c=ptr(f32), s=ptr(f32), y=ptr(f32), n=i32) as p:
        first, _, _ = b.block_id()
        src, dst = b.view(p.x, (p.n, d), tile=(1, half)), b.view(p.y, (p.n, d), tile=(1, half))
        cs, ss = (b.view(v, (p.n, half), tile=(1, half)) for v in (p.c, p.s))

        def one(row: Value) -> None:
            c, s = b.load(cs, (row, 0)), b.load(ss, (row, 0))
            u, v = b.load(src, (row, 0)), b.load(src, (row, 1))
            low = u * c + v * s if "wrong_sign" in f else u * c - v * s
            high = v * s + u * c if "swapped" in f else v * c + u * s
            if how == "fma":
                low, high = b.fma(-v, s, u * c), b.fma(u, s, v * c)
            b.store(dst, (row, 0), low)
            b.store(dst, (row, 1), high)

        if how == "loop":
            count, _, _ = b.grid_size()
            with b.for_(first, p.n, count) as (row,):
                one(row)
                b.continue_()
        else:
            one(first)
    return Program.of(b.module, 3 if how == "loop" else now().turns, ["x", "c", "s", "y", now().turns])
