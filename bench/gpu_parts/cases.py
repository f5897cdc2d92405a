"""The launches of `gpu_rows.toml` on a GPU: arguments, grids, what torch does instead, and how results are checked."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F

GPU = "cuda"
TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "f8": torch.float8_e4m3fn}
TOLERANCE = {"f32": 1e-5, "f16": 2e-3, "bf16": 1e-2, "f8": 5e-3}


@dataclass
class Case:
    """A launch, ready to run."""

    args: list[Any]
    grid: tuple[int, int, int]
    outs: list[Any]
    error: Callable[[], float]
    """The relative error of what is in `outs`, against torch in higher precision."""
    tolerance: float
    torch: dict[str, Callable[[], Any]]
    bytes: float = 0.0
    flops: float = 0.0
    """Work; without flops, or if `bound` is bytes, memory is the limit."""
    bound: str = ""
    start: float = math.nan
    """The contents of `outs` before a checked launch: NaN, unless the kernel adds to it."""
    peak: str = "bf16"
    tf32: bool = False
    keep: list[Any] = field(default_factory=list)

    @property
    def by_flops(self) -> bool:
        return bool(self.flops) and self.bound != "bytes"

    def work(self) -> float:
        """Operations or bytes, whichever is the limit."""
        return self.flops if self.by_flops else self.bytes

    def passed(self) -> list[Any]:
        """The arguments for tilery: DLPack has no 8-bit floats in all versions of torch."""
        return [
            a.view(torch.uint8) if isinstance(a, torch.Tensor) and a.dtype is torch.float8_e4m3fn else a
            for a in self.args
        ]


def random(*shape: int, dtype: torch.dtype = torch.float32, scale: float = 1.0) -> Any:
    return (torch.randn(*shape, device=GPU) * scale).to(dtype)


def relative(found: Any, wanted: Any) -> float:
    found, wanted = found.double(), wanted.double()
    return float((found - wanted).norm() / wanted.norm()) if torch.isfinite(found).all() else math.nan


def ceil_div(a: int, b: int) -> int:
    return -(-a // b)


def layernorm(M: int, N: int, dtype: str, statistics: bool = False) -> Case:
    kind = TYPES[dtype]
    x, w, b = random(M, N, dtype=kind), random(N, dtype=kind), random(N, dtype=kind)
    y, mean, scale = torch.empty_like(x), torch.empty(M, device=GPU), torch.empty(M, device=GPU)
    rows = slice(M - 512, M)

    def error() -> float:
        wanted = F.layer_norm(x[rows].double(), (N,), w.double(), b.double(), 1e-5)
        spread = 1 / (x[rows].double().var(1, unbiased=False) + 1e-5).sqrt()
        return max(relative(y[rows], wanted), relative(scale[rows], spread) if statistics else 0.0)

    outs = [y, mean, scale] if statistics else [y]
    peers = {"layer_norm": lambda: F.layer_norm(x, (N,), w, b, 1e-5)}
    moved = 2 * x.numel() * x.element_size()
    return Case([x, w, b, *outs, 1e-5], (M, 1, 1), outs, error, TOLERANCE[dtype], peers, moved)


def rmsnorm(M: int, N: int, grid: int = 0) -> Case:
    x, w = random(M, N, dtype=torch.bfloat16), random(N, dtype=torch.bfloat16)
    y, scale = torch.empty_like(x), torch.empty(M, device=GPU)
    rows = slice(M - 512, M)
    return Case(
        [x, y, w, scale] if grid else [x, w, y, scale],
        (grid or M, 1, 1),
        [y, scale],
        lambda: relative(y[rows], F.rms_norm(x[rows].double(), (N,), w.double(), 1e-6)),
        TOLERANCE["bf16"],
        {"rms_norm": lambda: F.rms_norm(x, (N,), w, 1e-6)},
        4 * x.numel(),
    )


def transpose(N: int, dtype: str, tile: int) -> Case:
    x = random(N, N, dtype=TYPES[dtype])
    y = torch.empty_like(x)
    peers = {"t().contiguous": lambda: y.copy_(x.t())}
    moved = 2 * x.numel() * x.element_size()
    return Case([x, y], (N // tile, N // tile, 1), [y], lambda: relative(y, x.t()), 0.0, peers, moved)


def attention(B: int, H: int, S: int, D: int, dtype: str, causal: bool, tile: int = 128) -> Case:
    kind = TYPES[dtype]
    q, k, v = (random(B, H, S, D, dtype=kind) for _ in range(3))
    out, scale = torch.empty_like(q), 1 / math.sqrt(D)

    def head(b: int, h: int) -> float:
        scores = (q[b, h].float() @ k[b, h].float().t()) * scale
        if causal:
            later = torch.ones(S, S, device=GPU, dtype=torch.bool).triu(1)
            scores = scores.masked_fill(later, -math.inf)
        return relative(out[b, h], torch.softmax(scores, 1) @ v[b, h].float())

    def peer(backend: str) -> Any:
        from torch.nn.attention import SDPBackend, sdpa_kernel

        with sdpa_kernel(getattr(SDPBackend, backend)):
            return F.scaled_dot_product_attention(q, k, v, is_causal=causal)

    return Case(
        [q, k, v, out, scale, 0],
        (S // tile, B * H, 1),
        [out],
        lambda: max(head(0, 0), head(B - 1, H - 1)),
        TOLERANCE[dtype],
        {"sdpa flash": partial(peer, "FLASH_ATTENTION"), "sdpa cudnn": partial(peer, "CUDNN_ATTENTION")},
        flops=4.0 * B * H * S * S * D * (0.5 if causal else 1),
    )


def gemm(
    M: int,
    N: int,
    K: int,
    tile: list[int],
    dtype: str,
    out: str,
    transposed: bool = False,
    sizes: bool = False,
    grid: int = 0,
    fast: bool = False,
) -> Case:
    kind = TYPES[dtype]
    a = random(M, K, dtype=kind)
    b = random(N, K, dtype=kind) if transposed else random(K, N, dtype=kind)
    c = torch.empty(M, N, device=GPU, dtype=TYPES[out])
    right = b.t() if transposed else b
    tiles = ceil_div(M, tile[0]) * ceil_div(N, tile[1])
    peers: dict[str, Callable[[], Any]] = {"matmul": lambda: torch.matmul(a, right, out=c)}
    if dtype == "f8":
        # Transposing is not timed: torch takes only one order.
        columns, one = right if transposed else b.t().contiguous().t(), torch.ones((), device=GPU)
        multiply = partial(torch._scaled_mm, a, columns, one, one, out_dtype=torch.bfloat16)
        peers = {
            "_scaled_mm": partial(multiply, use_fast_accum=False),
            "_scaled_mm fast": partial(multiply, use_fast_accum=True),
        }
        if fast:
            del peers["_scaled_mm"]

    def error() -> float:
        before, torch.backends.cuda.matmul.allow_tf32 = torch.backends.cuda.matmul.allow_tf32, False
        parts = (slice(0, min(M, 256)), slice(max(0, M - 128), M))
        found = max(relative(c[part], a[part].float() @ right.float()) for part in parts)
        torch.backends.cuda.matmul.allow_tf32 = before
        return found

    moved = sum(t.numel() * t.element_size() for t in (a, b, c))
    return Case(
        [a, b, c, *([M, N, K] if sizes else [])],
        (min(grid or tiles, tiles), 1, 1),
        [c],
        error,
        1e-3 if dtype == "f32" else TOLERANCE[dtype],
        peers,
        moved,
        2.0 * M * N * K,
        peak="tf32" if dtype == "f32" else dtype,
        tf32=dtype == "f32",
    )


def batched(B: int, S: int) -> Case:
    a, b = random(B, S, S, dtype=torch.float16), random(B, S, S, dtype=torch.float16)
    c = torch.empty_like(a)
    return Case(
        [a, b, c],
        (B, S // 128, S // 256),
        [c],
        lambda: max(relative(c[i], a[i].float() @ b[i].float()) for i in (0, B - 1)),
        TOLERANCE["f16"],
        {"bmm": lambda: torch.bmm(a, b, out=c)},
        flops=2.0 * B * S**3,
    )


def splitk(M: int, N: int, K: int) -> Case:
    a, b = random(M, K, dtype=torch.bfloat16), random(K, N, dtype=torch.bfloat16)
    c = torch.zeros(M, N, device=GPU)
    return Case(
        [a, b, c],
        (M // 64, N // 128, 8),
        [c],
        lambda: relative(c, a.float() @ b.float()),
        2e-4,
        {"matmul": lambda: torch.matmul(a, b)},
        2 * (a.numel() + b.numel()) + 4 * c.numel(),
        2.0 * M * N * K,
        bound="bytes",
        start=0.0,
    )


def colsum(M: int, N: int) -> Case:
    x, out = random(M, N), torch.zeros(N, device=GPU)
    return Case(
        [x, out],
        (M // 128, N // 128, 1),
        [out],
        lambda: relative(out, x.double().sum(0)),
        1e-5,
        {"sum": lambda: x.sum(0)},
        4 * x.numel(),
        start=0.0,
    )


def splitk_reduce(B: int, H: int, S: int, D: int) -> Case:
    x, weights = random(B, H, S, D), random(B, H, S)
    out = torch.empty(B, H, D, device=GPU, dtype=torch.bfloat16)

    def error() -> float:
        shares = torch.softmax(weights.double() * math.log(2), 2)
        return relative(out, (x.double() * shares[..., None]).sum(2))

    return Case(
        [x, weights, out],
        (B, H, 1),
        [out],
        error,
        TOLERANCE["bf16"],
        {"softmax+matmul": lambda: torch.softmax(weights * math.log(2), 2)[:, :, None, :] @ x},
        4 * x.numel() + 4 * weights.numel() + 2 * out.numel(),
    )


def embedding(V: int, N: int, T: int) -> Case:
    table = random(V, N, dtype=torch.bfloat16)
    ids = torch.randint(0, V, (T,), device=GPU, dtype=torch.int32)
    out = torch.empty(T, N, device=GPU, dtype=torch.bfloat16)
    peers = {
        "F.embedding": lambda: F.embedding(ids, table),
        "index_select": lambda: torch.index_select(table, 0, ids, out=out),
    }
    wanted = table[ids.long()]
    grid = (T // 16, N // 512, 1)
    return Case([ids, table, out], grid, [out], lambda: relative(out, wanted), 0.0, peers, 4 * out.numel())


def fft(N: int, factor: int, B: int) -> Case:
    x = torch.randn(B, N, dtype=torch.complex64, device=GPU)
    real = torch.view_as_real(x).reshape(B, N * 2 // 64, 64)
    out = torch.empty_like(real)

    def twiddles(rows: int, columns: int, period: int) -> Any:
        r = torch.arange(rows, device=GPU, dtype=torch.float64)
        c = torch.arange(columns, device=GPU, dtype=torch.float64)
        return torch.view_as_real(torch.exp(-2j * math.pi * r[:, None] * c / period)).float().contiguous()

    def error() -> float:
        found = torch.view_as_complex(out.reshape(B, N, 2)[-256:].contiguous())
        wanted = torch.fft.fft(x[-256:].to(torch.complex128))
        return float(((found - wanted).abs().square().sum() / wanted.abs().square().sum()).sqrt())

    tables = [twiddles(factor, factor, factor)] * 3
    tables += [twiddles(factor, factor * factor, N), twiddles(factor, factor, factor * factor)]
    peers = {"fft (cuFFT)": lambda: torch.fft.fft(x)}
    return Case([real, out, *tables], (B, 1, 1), [out], error, 1e-5, peers, 16 * B * N)


def moe(T: int, K: int, N: int, E: int, topk: int = 2, tile: int = 128) -> Case:
    a, w = random(T, K, dtype=torch.bfloat16), random(E, N, K, dtype=torch.bfloat16, scale=0.05)
    c = torch.empty(T * topk, N, device=GPU, dtype=torch.bfloat16)
    expert = torch.rand(T, E, device=GPU).argsort(1)[:, :topk].reshape(-1)
    order = torch.argsort(expert, stable=True).int()
    counts = torch.bincount(expert, minlength=E).tolist()
    tokens, experts, at = [], [], 0
    for e, count in enumerate(counts):
        blocks = ceil_div(count, tile)
        unused = torch.full((blocks * tile - count,), T * topk, device=GPU, dtype=torch.int32)
        tokens += [order[at : at + count], unused]
        experts += [e] * blocks
        at += count
    sorted_tokens = torch.cat(tokens)
    sorted_experts = torch.tensor(experts, device=GPU, dtype=torch.int32)
    rows, right = (order // topk).long(), w.transpose(1, 2)
    ends = torch.cumsum(torch.tensor(counts, device=GPU), 0).int()

    def one_by_one() -> list[Any]:
        parts = a[rows].split(counts)
        return [part @ right[e] for e, part in enumerate(parts)]

    def error() -> float:
        some = torch.arange(0, T * topk, 37, device=GPU)
        wanted = torch.empty(len(some), N, device=GPU)
        for e in range(E):
            mine = expert[some] == e
            wanted[mine] = a[(some // topk)[mine]].float() @ w[e].float().t()
        return relative(c[some], wanted)

    return Case(
        [a, w, c, torch.rand(T * topk, device=GPU), sorted_tokens, sorted_experts, topk],
        (ceil_div(sorted_tokens.numel(), tile) * ceil_div(N, tile), 1, 1),
        [c],
        error,
        TOLERANCE["bf16"],
        {"gather+_grouped_mm": lambda: torch._grouped_mm(a[rows], right, ends), "gather+matmul": one_by_one},
        flops=2.0 * T * topk * N * K,
    )


def swiglu(M: int, N: int) -> Case:
    a, b = random(M, N, dtype=torch.bfloat16), random(M, N, dtype=torch.bfloat16)
    c, rows = torch.empty_like(a), slice(M - 512, M)
    return Case(
        [a, b, c],
        (M, 1, 1),
        [c],
        lambda: relative(c[rows], F.silu(a[rows].double()) * b[rows].double()),
        TOLERANCE["bf16"],
        {"silu*mul": lambda: F.silu(a) * b},
        6 * a.numel(),
    )


CASES: dict[str, Callable[..., Case]] = {
    function.__name__: function
    for function in (
        layernorm, rmsnorm, transpose, attention, gemm, batched, splitk, colsum, splitk_reduce, embedding, fft, moe,
        swiglu,
    )
}  # fmt: skip


def make(row: dict[str, Any]) -> Case:
    """Return the case of a row."""
    sizes = {name: value for name, value in row.items() if name not in ("name", "shape", "kernel", "case")}
    return CASES[row["case"]](**sizes)
