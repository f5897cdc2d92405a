"""Time kernels of classes that engine cpu is tuned on, and kernels of the same classes that are held out.

    python bench/cpu_classes.py [--only NAME] [--rounds 6] [--known | --held-out] [--report FILE.md]

Rows that are addressed by gathers and scatters, and columns that a program reduces along a permuted dimension.
Contenders take turns, on one core; times are of the processor, in compiled code. A third of each class is held out: it
is only run to report, and no rule is written for it.
"""

from __future__ import annotations

# kernels have no annotations but those of their language
# mypy: ignore-errors
import argparse
import os
import random
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import cuda.tile as ct
import torch
import triton
import triton.language as tl

import tilery.cutile
import tilery.triton
from peers import MALLOC
from run import versions
from run_page import geomean
from tilery.engines.cpu.native import pool

INT = ct.Constant[int]
ROWS = (
    *("add rows", "gated tanh", "rms norm in chunks", "rotary halves", "rows by number", "dropout", "masked softmax"),
    *("flat polynomial", "layer norm", "moving average", "copy into a cache", "clamped swish"),
)
COLUMNS = (
    *("softmax", "mean and variance", "sum", "cumulative sum", "largest", "norm of columns"),
    *("log-sum-exp", "scaled by a column", "argmax"),
)
NAMES = tuple(f"rows: {name}" for name in ROWS) + tuple(f"columns: {name}" for name in COLUMNS)
HELD_OUT = frozenset(
    f"{kind}: {name}"
    for kind, names in (("rows", ROWS), ("columns", COLUMNS))
    for name in random.Random(3232).sample(sorted(names), len(names) // 3)
)
Case = tuple[Callable[[], Any], Callable[..., Any], tuple[Any, ...], float]
"""A launch that returns its result; what torch computes, its arguments, and the tolerance."""
CALLS = 3


def launch(grid, kernel, *values):
    ct.launch(torch.cuda.current_stream(), (*grid, 1, 1)[:3], kernel, values)


def normal(*shape, dtype=torch.float32):
    return torch.randn(*shape).to(dtype)


# ---------------------------------------------------------------- rows by gathers


@ct.kernel
def add_rows(a, b, out, SIZE: INT):
    row, cols = ct.bid(0), ct.arange(SIZE, dtype=ct.int32)
    total = ct.gather(a, (row, cols)) + ct.gather(b, (row, cols))
    ct.scatter(out, (row, cols), total)


def make_add_rows() -> Case:
    a, b = normal(2048, 1000), normal(2048, 1000)
    out = torch.empty_like(a)
    return lambda: (launch((2048,), add_rows, a, b, out, 1024), out)[1], lambda a, b: a + b, (a, b), 1e-6


@ct.kernel
def gated_tanh(x, out, N: INT, SIZE: INT):
    row, cols = ct.bid(0), ct.bid(1) * SIZE + ct.arange(SIZE, dtype=ct.int32)
    mask = cols < N
    gate = ct.gather(x, (row, cols), mask=mask).astype(ct.float32)
    value = ct.gather(x, (row, cols + N), mask=mask).astype(ct.float32)
    ct.scatter(out, (row, cols), (ct.tanh(gate) * value).astype(out.dtype), mask=mask)


def make_gated_tanh() -> Case:
    x = normal(1024, 2 * 1400, dtype=torch.bfloat16)
    out = torch.empty(1024, 1400, dtype=torch.bfloat16)

    def peer(x):
        gate, value = x.float().chunk(2, dim=-1)
        return (torch.tanh(gate) * value).bfloat16()

    return lambda: (launch((1024, 6), gated_tanh, x, out, 1400, 256), out)[1], peer, (x,), 2e-2


@ct.kernel
def rms_chunks(x, w, out, N: INT, SIZE: INT):
    row = ct.bid(0)
    total = ct.zeros((SIZE,), dtype=ct.float32)
    for j in range(ct.cdiv(N, SIZE)):
        cols = j * SIZE + ct.arange(SIZE, dtype=ct.int32)
        part = ct.gather(x, (row, cols)).astype(ct.float32)
        total += part * part
    scale = ct.rsqrt(ct.sum(total) / N + 1e-6)
    for j in range(ct.cdiv(N, SIZE)):
        cols = j * SIZE + ct.arange(SIZE, dtype=ct.int32)
        part = ct.gather(x, (row, cols)).astype(ct.float32)
        ct.scatter(out, (row, cols), (part * scale * ct.gather(w, cols).astype(ct.float32)).astype(out.dtype))


def make_rms_chunks() -> Case:
    x, w = normal(1024, 2000, dtype=torch.float16), normal(2000, dtype=torch.float16)
    out = torch.empty_like(x)

    def peer(x, w):
        wide = x.float()
        return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-6) * w.float()).half()

    return lambda: (launch((1024,), rms_chunks, x, w, out, 2000, 512), out)[1], peer, (x, w), 1e-2


@ct.kernel
def rotary(x, cos, sin, out, HEADS: INT, HALF: INT):
    token = ct.bid(0)
    heads = ct.arange(HEADS, dtype=ct.int32)[:, None]
    cols = ct.arange(HALF, dtype=ct.int32)
    c, s = ct.gather(cos, (token, cols)), ct.gather(sin, (token, cols))
    low, high = heads * (2 * HALF) + cols[None, :], heads * (2 * HALF) + cols[None, :] + HALF
    a, b = ct.gather(x, (token, low)).astype(ct.float32), ct.gather(x, (token, high)).astype(ct.float32)
    ct.scatter(out, (token, low), (a * c[None, :] - b * s[None, :]).astype(out.dtype))
    ct.scatter(out, (token, high), (b * c[None, :] + a * s[None, :]).astype(out.dtype))


def make_rotary() -> Case:
    x, cos, sin = normal(1024, 16 * 64, dtype=torch.bfloat16), normal(1024, 32), normal(1024, 32)
    out = torch.empty_like(x)

    def peer(x, cos, sin):
        a, b = x.float().view(1024, 16, 2, 32).unbind(2)
        c, s = cos[:, None], sin[:, None]
        return torch.stack((a * c - b * s, b * c + a * s), 2).view(1024, 1024).bfloat16()

    return lambda: (launch((1024,), rotary, x, cos, sin, out, 16, 32), out)[1], peer, (x, cos, sin), 2e-2


@ct.kernel
def rows_by_number(table, numbers, out, SIZE: INT):
    i, cols = ct.bid(0), ct.arange(SIZE, dtype=ct.int32)
    number = ct.gather(numbers, (i,))
    ct.scatter(out, (i, cols), ct.gather(table, (number, cols)))


def make_rows_by_number() -> Case:
    table, numbers = normal(5000, 512), torch.randint(0, 5000, (4096,), dtype=torch.int32)
    out = torch.empty(4096, 512)
    return (
        lambda: (launch((4096,), rows_by_number, table, numbers, out, 512), out)[1],
        lambda table, numbers: table[numbers.long()],
        (table, numbers),
        1e-7,
    )


@ct.kernel
def masked_dropout(x, keep, out, SIZE: INT):
    at = ct.bid(0) * SIZE + ct.arange(SIZE, dtype=ct.int32)
    kept = ct.gather(keep, at) > 0.25
    ct.scatter(out, at, ct.where(kept, ct.gather(x, at) / 0.75, 0.0))


def make_dropout() -> Case:
    x, keep = normal(2_000_001), torch.rand(2_000_001)
    out = torch.empty_like(x)
    return (
        lambda: (launch((-(-2_000_001 // 1024),), masked_dropout, x, keep, out, 1024), out)[1],
        lambda x, keep: torch.where(keep > 0.25, x / 0.75, 0.0),
        (x, keep),
        1e-6,
    )


@ct.kernel
def masked_softmax(x, lengths, out, SIZE: INT):
    row, cols = ct.bid(0), ct.arange(SIZE, dtype=ct.int32)
    length = ct.gather(lengths, (row,))
    scores = ct.gather(x, (row, cols), mask=cols < length, padding_value=-float("inf"))
    numerator = ct.exp(scores - ct.max(scores))
    ct.scatter(out, (row, cols), numerator / ct.sum(numerator))


def make_masked_softmax() -> Case:
    x, lengths = normal(1024, 1024), torch.randint(1, 1025, (1024,), dtype=torch.int32)
    out = torch.empty_like(x)

    def peer(x, lengths):
        inside = torch.arange(1024)[None] < lengths[:, None]
        return torch.softmax(torch.where(inside, x, -float("inf")), dim=-1)

    return lambda: (launch((1024,), masked_softmax, x, lengths, out, 1024), out)[1], peer, (x, lengths), 1e-5


@ct.kernel
def polynomial(x, out, SIZE: INT):
    at = ct.bid(0) * SIZE + ct.arange(SIZE, dtype=ct.int32)
    v = ct.gather(x, at)
    ct.scatter(out, at, ((0.5 * v + 0.25) * v - 1.0) * v + 2.0)


def make_polynomial() -> Case:
    x = normal(3_000_000)
    out = torch.empty_like(x)
    return (
        lambda: (launch((-(-3_000_000 // 2048),), polynomial, x, out, 2048), out)[1],
        lambda x: ((0.5 * x + 0.25) * x - 1.0) * x + 2.0,
        (x,),
        1e-5,
    )


@ct.kernel
def norm_rows(x, w, b, out, N: INT, SIZE: INT):
    row, cols = ct.bid(0), ct.arange(SIZE, dtype=ct.int32)
    inside = cols < N
    v = ct.gather(x, (row, cols))
    mean = ct.sum(v) / N
    centred = ct.where(inside, v - mean, 0.0)
    rstd = ct.rsqrt(ct.sum(centred * centred) / N + 1e-5)
    ct.scatter(out, (row, cols), centred * rstd * ct.gather(w, cols) + ct.gather(b, cols))


def make_layer_norm() -> Case:
    x, w, b = normal(2048, 768), normal(768), normal(768)
    out = torch.empty_like(x)
    return (
        lambda: (launch((2048,), norm_rows, x, w, b, out, 768, 1024), out)[1],
        lambda x, w, b: torch.nn.functional.layer_norm(x, (768,), w, b),
        (x, w, b),
        1e-5,
    )


@ct.kernel
def moving_average(x, out, SIZE: INT):
    row, cols = ct.bid(0), ct.bid(1) * SIZE + ct.arange(SIZE, dtype=ct.int32)
    total = ct.gather(x, (row, cols)) + ct.gather(x, (row, cols - 1))
    total += ct.gather(x, (row, cols - 2)) + ct.gather(x, (row, cols - 3))
    ct.scatter(out, (row, cols), total * 0.25)


def make_moving_average() -> Case:
    x = normal(512, 4096)
    out = torch.empty_like(x)

    def peer(x):
        wide = torch.nn.functional.pad(x, (3, 0))
        return (wide[:, 3:] + wide[:, 2:-1] + wide[:, 1:-2] + wide[:, :-3]) * 0.25

    return lambda: (launch((512, 8), moving_average, x, out, 512), out)[1], peer, (x,), 1e-5


@ct.kernel
def copy_into(new, places, cache, SIZE: INT):
    i, cols = ct.bid(0), ct.arange(SIZE, dtype=ct.int32)
    place = ct.gather(places, (i,))
    ct.scatter(cache, (place, cols), ct.gather(new, (i, cols)))


def make_copy_into() -> Case:
    new, places = normal(2048, 1024, dtype=torch.float16), torch.randperm(4096)[:2048].to(torch.int32)
    cache = torch.zeros(4096, 1024, dtype=torch.float16)

    def peer(new, places, cache):
        return cache.index_copy_(0, places.long(), new)

    return (
        lambda: (launch((2048,), copy_into, new, places, cache, 1024), cache)[1],
        peer,
        (new, places, torch.zeros_like(cache)),
        1e-7,
    )


@ct.kernel
def clamped_swish(a, b, out, N: INT, SIZE: INT):
    row = ct.bid(0)
    for j in range(ct.cdiv(N, SIZE)):
        cols = j * SIZE + ct.arange(SIZE, dtype=ct.int32)
        x = ct.minimum(ct.gather(a, (row, cols)).astype(ct.float32), 7.0)
        y = ct.maximum(ct.gather(b, (row, cols)).astype(ct.float32), -7.0)
        ct.scatter(out, (row, cols), (x / (1.0 + ct.exp(-1.7 * x)) * (y + 1.0)).astype(out.dtype))


def make_clamped_swish() -> Case:
    a, b = normal(512, 3000, dtype=torch.bfloat16), normal(512, 3000, dtype=torch.bfloat16)
    out = torch.empty_like(a)

    def peer(a, b):
        x, y = a.float().clamp(max=7.0), b.float().clamp(min=-7.0)
        return (x * torch.sigmoid(1.7 * x) * (y + 1.0)).bfloat16()

    return lambda: (launch((512,), clamped_swish, a, b, out, 3000, 1024), out)[1], peer, (a, b), 2e-2


# ---------------------------------------------------------------- columns


def columns_of(x_ptr, rows, columns, BLOCK_C, BLOCK_R):
    """Return the positions of a tile whose rows are columns of memory, and which of them are inside."""
    c = tl.program_id(0) * BLOCK_C + tl.arange(0, BLOCK_C)
    r = tl.arange(0, BLOCK_R)
    return r[None, :] * columns + c[:, None], (c[:, None] < columns) & (r[None, :] < rows), c


columns_of = triton.jit(columns_of)


@triton.jit
def softmax_columns(x_ptr, out_ptr, rows, columns, BLOCK_C: tl.constexpr, BLOCK_R: tl.constexpr):
    at, inside, _ = columns_of(x_ptr, rows, columns, BLOCK_C, BLOCK_R)
    x = tl.load(x_ptr + at, mask=inside, other=-float("inf"))
    shifted = tl.exp(x - tl.max(x, axis=1)[:, None])
    tl.store(out_ptr + at, shifted / tl.sum(shifted, axis=1)[:, None], mask=inside)


@triton.jit
def moments(x_ptr, out_ptr, rows, columns, BLOCK_C: tl.constexpr, BLOCK_R: tl.constexpr):
    at, inside, c = columns_of(x_ptr, rows, columns, BLOCK_C, BLOCK_R)
    x = tl.load(x_ptr + at, mask=inside, other=0.0)
    mean = tl.sum(x, axis=1) / rows
    centred = tl.where(inside, x - mean[:, None], 0.0)
    variance = tl.sum(centred * centred, axis=1) / rows
    tl.store(out_ptr + c, mean, mask=c < columns)
    tl.store(out_ptr + columns + c, variance, mask=c < columns)


@triton.jit
def sums(x_ptr, out_ptr, rows, columns, BLOCK_C: tl.constexpr, BLOCK_R: tl.constexpr):
    at, inside, c = columns_of(x_ptr, rows, columns, BLOCK_C, BLOCK_R)
    x = tl.load(x_ptr + at, mask=inside, other=0.0)
    tl.store(out_ptr + c, tl.sum(x, axis=1), mask=c < columns)


@triton.jit
def running_sums(x_ptr, out_ptr, rows, columns, BLOCK_C: tl.constexpr, BLOCK_R: tl.constexpr):
    at, inside, _ = columns_of(x_ptr, rows, columns, BLOCK_C, BLOCK_R)
    x = tl.load(x_ptr + at, mask=inside, other=0.0)
    tl.store(out_ptr + at, tl.cumsum(x, axis=1), mask=inside)


@triton.jit
def largest(x_ptr, out_ptr, rows, columns, BLOCK_C: tl.constexpr, BLOCK_R: tl.constexpr):
    at, inside, c = columns_of(x_ptr, rows, columns, BLOCK_C, BLOCK_R)
    x = tl.load(x_ptr + at, mask=inside, other=-float("inf"))
    tl.store(out_ptr + c, tl.max(x, axis=1), mask=c < columns)


@triton.jit
def unit_columns(x_ptr, out_ptr, rows, columns, BLOCK_C: tl.constexpr, BLOCK_R: tl.constexpr):
    at, inside, _ = columns_of(x_ptr, rows, columns, BLOCK_C, BLOCK_R)
    x = tl.load(x_ptr + at, mask=inside, other=0.0)
    scale = tl.rsqrt(tl.sum(x * x, axis=1) + 1e-6)
    tl.store(out_ptr + at, x * scale[:, None], mask=inside)


@triton.jit
def log_sum_exp(x_ptr, out_ptr, rows, columns, BLOCK_C: tl.constexpr, BLOCK_R: tl.constexpr):
    at, inside, c = columns_of(x_ptr, rows, columns, BLOCK_C, BLOCK_R)
    x = tl.load(x_ptr + at, mask=inside, other=-float("inf"))
    most = tl.max(x, axis=1)
    tl.store(out_ptr + c, most + tl.log(tl.sum(tl.exp(x - most[:, None]), axis=1)), mask=c < columns)


@triton.jit
def scaled(x_ptr, out_ptr, rows, columns, BLOCK_C: tl.constexpr, BLOCK_R: tl.constexpr):
    at, inside, c = columns_of(x_ptr, rows, columns, BLOCK_C, BLOCK_R)
    x = tl.load(x_ptr + at, mask=inside, other=0.0)
    first = tl.load(x_ptr + c, mask=c < columns, other=0.0)
    tl.store(out_ptr + at, x * first[:, None] + 1.0, mask=inside)


@triton.jit
def argmax(x_ptr, out_ptr, rows, columns, BLOCK_C: tl.constexpr, BLOCK_R: tl.constexpr):
    at, inside, c = columns_of(x_ptr, rows, columns, BLOCK_C, BLOCK_R)
    x = tl.load(x_ptr + at, mask=inside, other=-float("inf"))
    tl.store(out_ptr + c, tl.argmax(x, axis=1), mask=c < columns)


def on_columns(kernel: Any, peer: Callable[..., Any], out: Callable[[Any], Any], tolerance: float = 1e-5) -> Case:
    rows, columns = 240, 4000
    x = normal(rows, columns)
    result = out(x)
    grid = (triton.cdiv(columns, 64),)
    return lambda: (kernel[grid](x, result, rows, columns, 64, 256), result)[1], peer, (x,), tolerance


def line(x: Any) -> Any:
    return torch.empty(x.shape[1], dtype=x.dtype)


def make_columns() -> Iterator[Callable[[], Case]]:
    same = torch.empty_like

    def by_moments(x):
        mean = x.mean(0)
        return torch.stack((mean, (x - mean).square().mean(0)))

    yield lambda: on_columns(softmax_columns, lambda x: torch.softmax(x, 0), same)
    yield lambda: on_columns(moments, by_moments, lambda x: torch.empty(2, x.shape[1]))
    yield lambda: on_columns(sums, lambda x: x.sum(0), line)
    yield lambda: on_columns(running_sums, lambda x: x.cumsum(0), same)
    yield lambda: on_columns(largest, lambda x: x.amax(0), line)
    yield lambda: on_columns(unit_columns, lambda x: x * torch.rsqrt(x.square().sum(0) + 1e-6), same)
    yield lambda: on_columns(log_sum_exp, lambda x: torch.logsumexp(x, 0), line)
    yield lambda: on_columns(scaled, lambda x: x * x[0] + 1.0, same)
    yield lambda: on_columns(argmax, lambda x: x.argmax(0), lambda x: torch.empty(x.shape[1], dtype=torch.int32))


def made() -> Iterator[tuple[str, Callable[[], Case]]]:
    """Yield names of kernels and what makes them."""
    rows = (
        *(make_add_rows, make_gated_tanh, make_rms_chunks, make_rotary, make_rows_by_number, make_dropout),
        *(make_masked_softmax, make_polynomial, make_layer_norm, make_moving_average, make_copy_into),
        make_clamped_swish,
    )
    yield from zip(NAMES, (*rows, *make_columns()), strict=True)


# ---------------------------------------------------------------- measuring


def difference(found: Any, wanted: Any) -> float:
    """Return the largest difference of results, by the largest number."""
    found, wanted = found.double(), wanted.double()
    return float((found - wanted).abs().max() / wanted.abs().max().clamp(min=1e-30))


def milliseconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return (time.process_time() - start) * 1e3


def measure(make: Callable[[], Case], rounds: int) -> dict[str, float]:
    """Return the milliseconds of each contender. Raises ValueError if the result is not that of torch."""
    torch.manual_seed(1)
    call, peer, values, tolerance = make()
    compiled = torch.compile(peer, dynamic=False)
    inside = [0.0]
    run = pool.Pool.run

    def timed(*given: Any) -> int:
        start = time.process_time()
        result = run(*given)
        inside[0] += (time.process_time() - start) * 1e3
        return result

    wanted = peer(*values)
    compiled(*values)
    best = dict.fromkeys(("whole", "kernels", "eager", "compile"), float("inf"))
    for _ in range(rounds):
        with tilery.cutile.on("cpu"), tilery.triton.on("cpu"), patch.object(pool.Pool, "run", timed):
            worst = difference(call(), wanted)
            if not worst <= tolerance:
                raise ValueError(f"the result differs by {worst:.1e} of the largest number")
            for _ in range(CALLS):
                inside[0] = 0.0
                best["whole"] = min(best["whole"], milliseconds(call))
                best["kernels"] = min(best["kernels"], inside[0] or float("inf"))
        for name, function in (("eager", peer), ("compile", compiled)):
            for _ in range(CALLS):
                best[name] = min(best[name], milliseconds(lambda: function(*values)))  # noqa: B023
    return best


FIRST_LOOK = """\
* Before any pass was written for them, torch.compile took 0.35 times as long as the kernels of rows that were tuned on
later, 0.46 times as long as those held out; of columns 0.29 and 0.45 times."""


def page(found: dict[str, dict[str, float]]) -> str:
    """Render the results."""
    from tilery.engines.cpu.native.compiler import host

    known = ", ".join(f"{name} {version}" for name, version in versions().items() if name in ("python", "torch"))
    lines = [
        "# Classes of kernels on engine cpu",
        "",
        textwrap.fill(
            "`bench/cpu_classes.py` wrote this page. Rows are addressed by gathers and scatters of cuTile, columns are "
            "tiles of Triton whose rows are columns of memory. Milliseconds of the processor on one core "
            f"({host().cpu}; {known}), the best of rounds in which contenders take turns; other programs ran on the "
            "machine. The ratios say how many times as long torch.compile takes as a whole call, and as what is spent "
            "in compiled kernels. "
            "Engine cpu was tuned on the kernels that are not held out.",
            120,
        ),
        "",
        "| kernel | whole call | in kernels | torch eager | torch.compile | by whole call | by kernels |",
        "|---|" + "--:|" * 6,
    ]
    for name, row in found.items():
        held = " (held out)" * (name in HELD_OUT)
        ratios = row["compile"] / row["whole"], row["compile"] / row["kernels"]
        cells = [f"{x:.2f}" for x in (row["whole"], row["kernels"], row["eager"], row["compile"], *ratios)]
        lines.append(f"| {name}{held} | {' | '.join(cells)} |")
    lines.append("")
    for kind in ("rows", "columns"):
        for held in (False, True):
            rows = {n: r for n, r in found.items() if n.startswith(kind) and (n in HELD_OUT) is held}
            if rows:
                ratios = {n: r["compile"] / r["kernels"] for n, r in rows.items()}
                worst = min(ratios, key=ratios.__getitem__)
                lines.append(
                    f"* {kind.capitalize()}, {'held out' if held else 'tuned on'}: torch.compile takes "
                    f"{geomean(list(ratios.values())):.2f} times as long as the kernels (geometric mean of "
                    f"{len(rows)}), "
                    f"{geomean([r['compile'] / r['whole'] for r in rows.values()]):.2f} times as long as whole calls; "
                    f"worst in kernels: {worst} with {ratios[worst]:.2f}."
                )
    lines.append(FIRST_LOOK)
    return "\n".join([*lines, "", "## Not measured", "", "Several threads, compilation and other processors.", ""])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--known", action="store_true", help="leave out what is held out")
    parser.add_argument("--held-out", action="store_true", help="only what is held out")
    parser.add_argument("--report", type=Path, metavar="FILE.md")
    args = parser.parse_args()
    if os.environ.get("MALLOC_TOP_PAD_") != MALLOC["MALLOC_TOP_PAD_"]:
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **MALLOC})
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    torch.set_num_threads(1)
    found: dict[str, dict[str, float]] = {}
    for name, make in made():
        if args.only in name and not (args.held_out if name not in HELD_OUT else args.known):
            found[name] = measure(make, args.rounds)
            print(name, {k: round(v, 2) for k, v in found[name].items()}, file=sys.stderr, flush=True)
    text = page(found)
    if args.report:
        args.report.write_text(text, "utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
