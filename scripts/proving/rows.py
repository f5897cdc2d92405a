"""Row by row: softmax, logsumexp, norms and sums, whole rows at once or in tiles."""

from __future__ import annotations

from typing import Any

from tilery import Builder, Value
from tilery.builder import f32, i32, ptr
from tilery.prove import Program

from .products import NONE, Faults, cdiv
from .sizes import now

INF = float("inf")
LOG2E = 1.4426950408889634


def _row(
    b: Builder, p: Value, row: Value, rows: Value, n: Value, tile: int, pad: str | None, at: Value | int = 0
) -> Value:
    return b.load(b.view(p, (rows, n), tile=(1, tile), padding=pad), (row, at))


def softmax(cols: int = 128, f: Faults = NONE, shift: bool = True, masked: bool = False) -> Program:
    """A whole row at once."""
    b = Builder()
    with b.entry("softmax", x=ptr(f32), y=ptr(f32), rows=i32, n=i32) as p:
        row, _, _ = b.block_id()
        pad = "zero" if "pad_zero" in f else None if "no_pad" in f else "neg_inf"
        x = _row(b, p.x, row, p.rows, p.n, cols, "zero" if masked else pad)
        if masked:
            x = b.select(b.reshape(b.iota(cols), 1, cols) < p.n, x, -INF)
        if shift:
            m = b.max(x, dim=1, keep=True)
            e = b.exp(m - x) if "swapped_sub" in f else b.exp(x - m)
        else:
            e = b.exp(x)
        s = b.sum(e, dim=1, keep=True)
        y = s / e if "swapped_div" in f else e / s
        b.store(b.view(p.y, (p.rows, p.n), tile=(1, cols)), (row, 0), y)
    return Program.of(b.module, now().rows, ["x", "y", now().rows, now().columns])


def online(tile: int = 32, f: Faults = NONE, base2: bool = False, inverse: bool = False) -> Program:
    """A running maximum and a running sum over tiles, then the quotients."""
    b = Builder()

    def ex(v: Value) -> Any:
        return b.exp2(v * LOG2E) if base2 else b.exp(v)

    with b.entry("softmax", x=ptr(f32), y=ptr(f32), rows=i32, n=i32) as p:
        row, _, _ = b.block_id()
        src = b.view(p.x, (p.rows, p.n), tile=(1, tile), padding="zero" if "pad_zero" in f else "neg_inf")
        dst = b.view(p.y, (p.rows, p.n), tile=(1, tile))
        steps = p.n // tile if "floor_steps" in f else (p.n + (tile - 1)) // tile
        m0 = b.full((1, 1), -INF, f32)
        l0 = b.full((1, 1), 0.0, f32)
        with b.for_(0, steps, carry=[m0, l0]) as (i, m, den):
            x = b.load(src, (row, i))
            new = b.maximum(m, b.max(x, dim=1, keep=True))
            scale = ex(new - m) if "swapped_rescale" in f else ex(m - new)
            l2 = den if "no_rescale" in f else den * scale
            e = ex(x - (m if "old_max" in f else new))
            b.continue_(new, l2 + b.sum(e, dim=1, keep=True))
        m, den = b.results
        r = b.full((1, 1), 1.0, f32) / den if inverse else den
        with b.for_(0, steps) as (i,):
            e = ex(b.load(src, (row, i)) - (m * 0.0 if "no_shift_at_end" in f else m))
            b.store(dst, (row, i * 0 if "same_tile_out" in f else i), e * r if inverse else e / r)
            b.continue_()
    return Program.of(b.module, now().rows, ["x", "y", now().rows, now().columns])


def three_passes(tile: int = 16, f: Faults = NONE) -> Program:
    """The maximum, then the sum, then the quotients: three loops."""
    b = Builder()
    with b.entry("softmax", x=ptr(f32), y=ptr(f32), rows=i32, n=i32) as p:
        row, _, _ = b.block_id()
        src = b.view(p.x, (p.rows, p.n), tile=(1, tile), padding="neg_inf")
        steps = (p.n + (tile - 1)) // tile
        with b.for_(0, steps, carry=[b.full((1, tile), -INF, f32)]) as (i, best):
            b.continue_(b.maximum(best, b.load(src, (row, i))))
        m = b.max(b.result, dim=1, keep=True)
        with b.for_(0, steps, carry=[b.zeros((1, tile), f32)]) as (i, acc):
            e = b.exp(b.load(src, (row, i)) - m)
            b.continue_(e if "forget_acc" in f else acc + e)
        total = b.sum(b.result, dim=1, keep=True)
        with b.for_(0, steps) as (i,):
            e = b.exp(b.load(src, (row, i)) - m)
            y = e if "no_division" in f else e / total
            b.store(b.view(p.y, (p.rows, p.n), tile=(1, tile)), (row, i), y)
            b.continue_()
    return Program.of(b.module, now().rows, ["x", "y", now().rows, now().columns])


def logsumexp(tile: int = 32, f: Faults = NONE, running: bool = True, shift: bool = True) -> Program:
    """log(sum(exp(x))) of each row."""
    b = Builder()
    with b.entry("lse", x=ptr(f32), y=ptr(f32), rows=i32, n=i32) as p:
        row, _, _ = b.block_id()
        src = b.view(p.x, (p.rows, p.n), tile=(1, tile), padding="neg_inf")
        steps = (p.n + (tile - 1)) // tile
        if running:
            first = [b.full((1, 1), -INF, f32), b.zeros((1, 1), f32)]
            with b.for_(0, steps, carry=first) as (i, m, den):
                x = b.load(src, (row, i))
                new = b.maximum(m, b.max(x, dim=1, keep=True))
                l2 = den if "no_rescale" in f else den * b.exp(m - new)
                b.continue_(new, l2 + b.sum(b.exp(x - new), dim=1, keep=True))
            m, den = b.results
            y = b.log(den) if "no_max" in f else b.log(den) - m if "minus_max" in f else b.log(den) + m
        else:
            with b.for_(0, steps, carry=[b.zeros((1, 1), f32)]) as (i, den):
                x = b.load(src, (row, i))
                e = b.exp(x - 1.5) if shift else b.exp(x)
                b.continue_(den + b.sum(e, dim=1, keep=True))
            y = b.log(b.result) + 1.5 if shift and "no_max" not in f else b.log(b.result)
        b.store(b.view(p.y, (p.rows, 1), tile=(1, 1)), (row, 0), y)
    return Program.of(b.module, now().rows, ["x", "y", now().rows, now().columns])


def layer_norm(cols: int = 128, f: Faults = NONE, how: str = "two", eps: float = 1e-5) -> Program:
    """Two passes over a row that is held at once, or one pass with squares."""
    b = Builder()
    with b.entry("ln", x=ptr(f32), g=ptr(f32), h=ptr(f32), y=ptr(f32), rows=i32, n=i32) as p:
        row, _, _ = b.block_id()
        x = _row(b, p.x, row, p.rows, p.n, cols, "zero")
        g, h = (b.reshape(b.load(b.view(v, (p.n,), tile=(cols,), padding="zero"), (0,)), 1, cols) for v in (p.g, p.h))
        n = b.full((1, 1), float(cols), f32) if "n_is_cols" in f else b.reshape(b.cast(p.n, f32), 1, 1)
        mean = b.sum(x, dim=1, keep=True) / n
        if how == "two":
            d = x - mean
            if "no_mask" not in f:
                d = b.select(b.reshape(b.iota(cols), 1, cols) < p.n, d, 0.0)
            var = b.sum(d * d, dim=1, keep=True) / n
        else:
            square = mean if "mean_not_squared" in f else mean * mean
            var = b.sum(x * x, dim=1, keep=True) / n
            var = square - var if "swapped_var" in f else var - square
        if "no_eps" not in f:
            var = var + (1e-6 if "other_eps" in f else eps)
        y = (x - mean) * (b.sqrt(var) if "sqrt_for_rsqrt" in f else b.rsqrt(var))
        y = y if "no_gamma" in f else y * g
        y = y - h if "minus_beta" in f else y + h
        b.store(b.view(p.y, (p.rows, p.n), tile=(1, cols)), (row, 0), y)
    return Program.of(b.module, now().rows, ["x", "g", "h", "y", now().rows, now().columns])


def layer_norm_tiles(tile: int = 32, f: Faults = NONE, welford: bool = False) -> Program:
    """Statistics over tiles in a loop: sums and sums of squares, or Welford's update for whole tiles."""
    b = Builder()
    with b.entry("ln", x=ptr(f32), g=ptr(f32), h=ptr(f32), y=ptr(f32), rows=i32, n=i32) as p:
        row, _, _ = b.block_id()
        src = b.view(p.x, (p.rows, p.n), tile=(1, tile), padding="zero")
        steps = (p.n + (tile - 1)) // tile
        n = b.reshape(b.cast(p.n, f32), 1, 1)
        zero = b.zeros((1, 1), f32)
        with b.for_(0, steps, carry=[zero, zero]) as (i, s, q):
            x = b.load(src, (row, i))
            part = b.sum(x, dim=1, keep=True)
            if welford:  # s is the mean so far, q the sum of squared distances from it
                done = i * tile
                here = b.mini(p.n - done, tile, "signed")
                before, count = (b.reshape(b.cast(v, f32), 1, 1) for v in (done, here))
                mean = part / count
                inside = b.reshape(b.iota(tile), 1, tile) + done < p.n
                d = b.select(inside, x - mean, 0.0)
                delta = mean - s
                all_ = before + count
                weight = count if "welford_weight" in f else before * count
                more = b.sum(d * d, dim=1, keep=True) + delta * delta * weight / all_
                b.continue_(s + delta * count / all_, q + more)
            else:
                b.continue_(s + part, q + b.sum(x * x, dim=1, keep=True))
        s, q = b.results
        mean = s if welford else s / n
        var = q / n if welford else q / n - mean * mean
        r = b.full((1, 1), 1.0, f32) / b.sqrt(var + 1e-5)
        with b.for_(0, steps) as (i,):
            x = b.load(src, (row, i))
            g, h = (
                b.reshape(b.load(b.view(v, (p.n,), tile=(tile,), padding="zero"), (i,)), 1, tile) for v in (p.g, p.h)
            )
            y = (x - mean) * r * (h if "beta_for_gamma" in f else g) + h
            b.store(b.view(p.y, (p.rows, p.n), tile=(1, tile)), (row, i), y)
            b.continue_()
    return Program.of(b.module, now().rows, ["x", "g", "h", "y", now().rows, now().columns])


def rms_norm(tile: int = 32, f: Faults = NONE, how: str = "loop") -> Program:
    """x / sqrt(mean(x²) + eps) * g."""
    b = Builder()
    with b.entry("rms", x=ptr(f32), g=ptr(f32), y=ptr(f32), rows=i32, n=i32) as p:
        row, _, _ = b.block_id()
        n = b.reshape(b.cast(p.n, f32), 1, 1)
        if how == "whole":
            x = _row(b, p.x, row, p.rows, p.n, 128, "zero")
            g = b.reshape(b.load(b.view(p.g, (p.n,), tile=(128,), padding="zero"), (0,)), 1, 128)
            r = b.rsqrt(b.sum(x * x, dim=1, keep=True) / n + 1e-6)
            y = x / r * g if "divide" in f else x * r * g
            b.store(b.view(p.y, (p.rows, p.n), tile=(1, 128)), (row, 0), y)
        else:
            src = b.view(p.x, (p.rows, p.n), tile=(1, tile), padding="zero")
            steps = (p.n + (tile - 1)) // tile
            with b.for_(0, steps, carry=[b.zeros((1, tile), f32)]) as (i, acc):
                x = b.load(src, (row, i))
                b.continue_(acc + x if "no_square" in f else b.fma(x, x, acc))
            total = b.sum(b.result, dim=1, keep=True)
            mean = total if "no_mean" in f else total / n
            with b.for_(0, steps) as (i,):
                g = b.reshape(b.load(b.view(p.g, (p.n,), tile=(tile,), padding="zero"), (i,)), 1, tile)
                y = b.load(src, (row, i)) * g / b.sqrt(mean + 1e-6)
                b.store(b.view(p.y, (p.rows, p.n), tile=(1, tile)), (row, i), y)
                b.continue_()
    return Program.of(b.module, now().rows, ["x", "g", "y", now().rows, now().columns])


def row_sums(tile: int = 32, f: Faults = NONE, how: str = "vector") -> Program:
    """The sum of each row: a vector of partial sums, a scalar, atomics, or a matrix product with ones."""
    b = Builder()
    with b.entry("sum", x=ptr(f32), y=ptr(f32), rows=i32, n=i32) as p:
        row, part, _ = b.block_id()
        src = b.view(p.x, (p.rows, p.n), tile=(1, tile), padding="zero")
        steps = p.n // tile if "floor_steps" in f else (p.n + (tile - 1)) // tile
        out = b.view(p.y, (p.rows, 1), tile=(1, 1))
        if how == "atomics":
            s = b.sum(b.load(src, (row, part)), dim=1)
            b.atomic_rmw_tko("relaxed", "device", b.reshape(p.y + row, 1), "addf", s)
        elif how == "vector":
            with b.for_(0, steps, carry=[b.zeros((1, tile), f32)]) as (i, acc):
                b.continue_(acc + b.load(src, (row, i)))
            b.store(out, (row, 0), b.sum(b.result, dim=1, keep=True))
        elif how == "scalar":
            with b.for_(0, steps, carry=[b.full((1, 1), 1.0 if "starts_at_1" in f else 0.0, f32)]) as (i, acc):
                b.continue_(acc + b.sum(b.load(src, (row, i)), dim=1, keep=True))
            b.store(out, (row, 0), b.result)
        else:
            with b.for_(0, steps, carry=[b.zeros((1, 1), f32)]) as (i, acc):
                b.continue_(b.mma(b.load(src, (row, i)), b.full((tile, 1), 1.0, f32), acc))
            b.store(out, (row, 0), b.result)
    grid = [now().rows, cdiv(now().columns, tile)] if how == "atomics" else [now().rows]
    return Program.of(b.module, grid, ["x", "y", now().rows, now().columns])
