"""Matrix products in many forms, and matrix-vector products."""

from __future__ import annotations

from tilery import Builder, Module, Value
from tilery.builder import f16, f32, i32, ptr
from tilery.prove import Program, Stage
from tilery.prove.programs import Argument

from .sizes import now

Faults = frozenset[str]
NONE: Faults = frozenset()


def cdiv(a: int, b: int) -> int:
    return -(-a // b)


def args() -> list[Argument]:
    return ["a", "b", "c", now().m, now().n, now().k]


def gemm(
    tile: int = 32, kt: int = 16, f: Faults = NONE, order: str = "up", trans: bool = False, swizzle: bool = False
) -> Program:
    """A tile of the result per block, through views."""
    b = Builder()
    with b.entry("gemm", a=ptr(f16), b=ptr(f16), c=ptr(f32), m=i32, n=i32, k=i32) as p:
        x, y, _ = b.block_id()
        if swizzle:  # one grid dimension, columns first
            wide = (p.n + (tile - 1)) // tile
            x, y = x // wide, x % wide
        if "swapped_block_ids" in f:
            x, y = y, x
        pad = None if "no_padding" in f else "zero"
        lhs = b.view(p.a, (p.m, p.k), tile=(tile, kt), padding=pad)
        if trans:
            rhs = b.view(p.b, (p.k, p.n), strides=(p.n, 1), tile=(tile, kt), padding=pad, dim_map=(1, 0))
        else:
            rhs = b.view(p.b, (p.k, p.n), tile=(kt, tile), padding=pad)
        out = b.view(p.c, (p.m, p.n), tile=(tile, tile))
        steps = p.k // kt if "floor_steps" in f else (p.k + (kt - 1)) // kt
        if "one_step_less" in f:
            steps = steps - 1
        first = b.full((tile, tile), 1.0, f32) if "acc_starts_at_1" in f else b.zeros((tile, tile), f32)
        with b.for_(1 if "start_at_1" in f else 0, steps, carry=[first]) as (i, acc):
            j = steps - 1 - i if order == "down" else i
            left = b.load(lhs, (x, j))
            jr = j * 0 if "rhs_row_twice" in f else i if "rhs_other_order" in f else j
            right = b.permute(b.load(rhs, (y, jr)), 1, 0) if trans else b.load(rhs, (jr, y))
            b.continue_(b.mma(left, right, b.zeros((tile, tile), f32) if "forget_acc" in f else acc))
        c = b.result * 2.0 if "double" in f else b.result
        b.store(out, (x, y), c)
    grid = [cdiv(now().m, tile), cdiv(now().n, tile)]
    return Program.of(b.module, [grid[0] * grid[1]] if swizzle else grid, args())


def persistent(tile: int = 32, kt: int = 16, blocks: int = 3, f: Faults = NONE) -> Program:
    """A few blocks that each compute several tiles of the result."""
    b = Builder()
    with b.entry("gemm", a=ptr(f16), b=ptr(f16), c=ptr(f32), m=i32, n=i32, k=i32) as p:
        first, _, _ = b.block_id()
        count, _, _ = b.grid_size()
        lhs = b.view(p.a, (p.m, p.k), tile=(tile, kt), padding="zero")
        rhs = b.view(p.b, (p.k, p.n), tile=(kt, tile), padding="zero")
        out = b.view(p.c, (p.m, p.n), tile=(tile, tile))
        wide = (p.n + (tile - 1)) // tile
        tiles = (p.m + (tile - 1)) // tile * wide
        if "one_tile_less" in f:
            tiles = tiles - 1
        with b.for_(first, tiles, count) as (t,):
            x, y = t // wide, t % wide
            if "div_by_rows" in f:
                x, y = t % wide, t // wide
            with b.for_(0, (p.k + (kt - 1)) // kt, carry=[b.zeros((tile, tile), f32)]) as (i, acc):
                b.continue_(b.mma(b.load(lhs, (x, i)), b.load(rhs, (i, y)), acc))
            b.store(out, (x, y), b.result)
            b.continue_()
    return Program.of(b.module, blocks, args())


def by_columns(tile: int = 32, f: Faults = NONE) -> Program:
    """One column of a at a time, by broadcasting; no mma."""
    b = Builder()
    with b.entry("gemm", a=ptr(f16), b=ptr(f16), c=ptr(f32), m=i32, n=i32, k=i32) as p:
        x, y, _ = b.block_id()
        lhs = b.view(p.a, (p.m, p.k), tile=(tile, 1), padding="zero")
        rhs = b.view(p.b, (p.k, p.n), tile=(1, tile), padding="zero")
        with b.for_(0, p.k - 1 if "one_step_less" in f else p.k, carry=[b.zeros((tile, tile), f32)]) as (i, acc):
            left, right = (b.cast(v, f32) for v in (b.load(lhs, (x, i)), b.load(rhs, (i, y))))
            wide = b.broadcast(left, tile, tile), b.broadcast(right, tile, tile)
            b.continue_(wide[0] + wide[1] * acc if "fma_operands" in f else b.fma(*wide, acc))
        b.store(b.view(p.c, (p.m, p.n), tile=(tile, tile)), (x, y), b.result)
    return Program.of(b.module, [cdiv(now().m, tile), cdiv(now().n, tile)], args())


def by_sums(tile: int = 16, kt: int = 8, f: Faults = NONE) -> Program:
    """Products of all elements of a step at once, summed over the middle dimension."""
    b = Builder()
    with b.entry("gemm", a=ptr(f16), b=ptr(f16), c=ptr(f32), m=i32, n=i32, k=i32) as p:
        x, y, _ = b.block_id()
        lhs = b.view(p.a, (p.m, p.k), tile=(tile, kt), padding="zero")
        rhs = b.view(p.b, (p.k, p.n), tile=(kt, tile), padding="zero")
        with b.for_(0, (p.k + (kt - 1)) // kt, carry=[b.zeros((tile, tile), f32)]) as (i, acc):
            left = b.reshape(b.cast(b.load(lhs, (x, i)), f32), tile, kt, 1)
            right = b.reshape(b.cast(b.load(rhs, (i, y)), f32), 1, kt, tile)
            terms = b.broadcast(left, tile, kt, tile) * b.broadcast(right, tile, kt, tile)
            part = b.max(terms, dim=1) if "max_for_sum" in f else b.sum(terms, dim=1)
            b.continue_(acc + part)
        b.store(b.view(p.c, (p.m, p.n), tile=(tile, tile)), (x, y), b.result)
    return Program.of(b.module, [cdiv(now().m, tile), cdiv(now().n, tile)], args())


def _offsets(b: Builder, x: Value, tile: int, axis: int, shape: tuple[int, int]) -> Value:
    line = b.reshape(b.iota(tile), *((tile, 1) if axis == 0 else (1, tile)))
    return b.broadcast(line, *shape) + x * tile


def pointers(tile: int = 32, kt: int = 16, f: Faults = NONE) -> Program:
    """The same through pointers and masks."""
    b = Builder()
    with b.entry("gemm", a=ptr(f16), b=ptr(f16), c=ptr(f32), m=i32, n=i32, k=i32) as p:
        x, y, _ = b.block_id()
        steps = (p.k + (kt - 1)) // kt
        with b.for_(0, steps, carry=[b.zeros((tile, tile), f32)]) as (i, acc):
            ra, ca = _offsets(b, x, tile, 0, (tile, kt)), _offsets(b, i, kt, 1, (tile, kt))
            rb, cb = _offsets(b, i, kt, 0, (kt, tile)), _offsets(b, y, tile, 1, (kt, tile))
            keep_a = (ra < p.m) if "mask_one_side" in f else (ra < p.m) & (ca < p.k)
            width = p.m if "wrong_stride" in f else p.k
            left = b.load_ptr(p.a + (ra * width + ca), mask=keep_a, other=0)
            right = b.load_ptr(p.b + (rb * p.n + cb), mask=(rb < p.k) & (cb < p.n), other=0)
            b.continue_(b.mma(left, right, acc))
        r, c = _offsets(b, x, tile, 0, (tile, tile)), _offsets(b, y, tile, 1, (tile, tile))
        keep = (r < p.m) & (c <= p.n - 2 if "short_mask" in f else c < p.n)
        b.store_ptr(p.c + (r * p.n + c), b.result, mask=keep)
    return Program.of(b.module, [cdiv(now().m, tile), cdiv(now().n, tile)], args())


def _part(parts: int, tile: int, kt: int, f: Faults) -> Module:
    b = Builder()
    with b.entry("part", a=ptr(f16), b=ptr(f16), w=ptr(f32), m=i32, n=i32, k=i32) as p:
        x, y, z = b.block_id()
        lhs = b.view(p.a, (p.m, p.k), tile=(tile, kt), padding="zero")
        rhs = b.view(p.b, (p.k, p.n), tile=(kt, tile), padding="zero")
        steps = (p.k + (kt - 1)) // kt
        per = (steps + (parts - 1)) // parts
        last = (z + 1) * per + (1 if "overlap" in f else -1 if "gap" in f else 0)
        last = b.mini(last, steps, "signed")
        with b.for_(z * per, last, carry=[b.zeros((tile, tile), f32)]) as (i, acc):
            b.continue_(b.mma(b.load(lhs, (x, i)), b.load(rhs, (i, y)), acc))
        out = b.view(p.w, (parts, p.m, p.n), tile=(1, tile, tile))
        b.store(out, (z * 0 if "all_to_part_0" in f else z, x, y), b.reshape(b.result, 1, tile, tile))
    return b.module


def _sum_parts(parts: int, tile: int, f: Faults) -> Module:
    b = Builder()
    with b.entry("sum", w=ptr(f32), c=ptr(f32), m=i32, n=i32) as p:
        x, y, _ = b.block_id()
        v = b.view(p.w, (parts, p.m, p.n), tile=(1, tile, tile))
        with b.for_(0, parts - ("drop_part" in f), carry=[b.zeros((tile, tile), f32)]) as (i, acc):
            u = b.reshape(b.load(v, (i, x, y)), tile, tile)
            b.continue_(acc - u if "subtract_part" in f else acc + u)
        b.store(b.view(p.c, (p.m, p.n), tile=(tile, tile)), (x, y), b.result)
    return b.module


def split(parts: int = 2, tile: int = 32, kt: int = 16, f: Faults = NONE) -> Program:
    """Parts of K to a workspace, then their sum: two launches."""
    grid = [cdiv(now().m, tile), cdiv(now().n, tile)]
    m, n = now().m, now().n
    one = Stage(_part(parts, tile, kt, f), [*grid, parts], ["a", "b", "w", m, n, now().k])
    return Program([one, Stage(_sum_parts(parts, tile, f), grid, ["w", "c", m, n])], {"w": (parts, m, n)})


def atomic(parts: int = 2, tile: int = 32, kt: int = 16, f: Faults = NONE) -> Program:
    """Parts of K, added up by atomic operations; the result starts at zero."""
    b = Builder()
    with b.entry("part", a=ptr(f16), b=ptr(f16), c=ptr(f32), m=i32, n=i32, k=i32) as p:
        x, y, z = b.block_id()
        lhs = b.view(p.a, (p.m, p.k), tile=(tile, kt), padding="zero")
        rhs = b.view(p.b, (p.k, p.n), tile=(kt, tile), padding="zero")
        steps = (p.k + (kt - 1)) // kt
        per = steps // parts if "floor_parts" in f else (steps + (parts - 1)) // parts
        with b.for_(z * per, b.mini((z + 1) * per, steps, "signed"), carry=[b.zeros((tile, tile), f32)]) as (i, acc):
            b.continue_(b.mma(b.load(lhs, (x, i)), b.load(rhs, (i, y)), acc))
        r, c = _offsets(b, x, tile, 0, (tile, tile)), _offsets(b, y, tile, 1, (tile, tile))
        keep = (r < p.m) & (c < p.n)
        b.atomic_rmw_tko("relaxed", "device", p.c + (r * p.n + c), "addf", b.result, mask=keep)
    return Program.of(b.module, [cdiv(now().m, tile), cdiv(now().n, tile), parts], args())


VARIANTS = {
    "32x16": lambda f=NONE: gemm(f=f),
    "64x32": lambda f=NONE: gemm(64, 32, f=f),
    "16x8": lambda f=NONE: gemm(16, 8, f=f),
    "k down": lambda f=NONE: gemm(order="down", f=f),
    "transposed loads": lambda f=NONE: gemm(trans=True, f=f),
    "swizzled": lambda f=NONE: gemm(swizzle=True, f=f),
    "persistent": lambda f=NONE: persistent(f=f),
    "persistent 2": lambda f=NONE: persistent(16, 32, 2, f=f),
    "by columns": lambda f=NONE: by_columns(f=f),
    "by sums": lambda f=NONE: by_sums(f=f),
    "pointers": lambda f=NONE: pointers(f=f),
    "split-K 2": lambda f=NONE: split(2, f=f),
    "split-K 3": lambda f=NONE: split(3, 16, 8, f=f),
    "atomics": lambda f=NONE: atomic(f=f),
    "atomics 4": lambda f=NONE: atomic(4, f=f),
}
FAULTS = {
    "32x16": "no_padding floor_steps one_step_less start_at_1 acc_starts_at_1 rhs_row_twice forget_acc double "
    "swapped_block_ids",
    "k down": "rhs_other_order",
    "transposed loads": "no_padding floor_steps double",
    "swizzled": "swapped_block_ids one_step_less",
    "persistent": "one_tile_less div_by_rows",
    "by columns": "one_step_less fma_operands",
    "by sums": "max_for_sum",
    "pointers": "mask_one_side wrong_stride short_mask",
    "split-K 2": "overlap gap all_to_part_0 drop_part subtract_part",
    "atomics": "floor_parts",
}
