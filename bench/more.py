"""Times of further kernels, whose Tile IR `export.py` keeps in `kernels/more`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

import tilery
from peers import installed

Call = Callable[[], object]


@dataclass
class More:
    """A kernel with its grid, arrays, constants, and the same in torch; `wanted` checks the result."""

    kernel: str
    grid: tuple[int, ...]
    arrays: list[Any]
    constants: tuple[int, ...]
    torch: Callable[..., Any] | None
    wanted: Callable[[], bool]

    def peer(self, threads: int) -> Call | None:
        """Return the call of torch on some threads; None if it has none."""
        torch, call = installed("torch"), self.torch
        if not torch or call is None:
            return None
        torch.set_num_threads(threads)
        tensors = [as_tensor(torch, x) for x in self.arrays]
        try:
            call(torch, *tensors)
        except (RuntimeError, AttributeError):
            return None
        return lambda: call(torch, *tensors)


def close(found: Any, wanted: Any, tolerance: float) -> bool:
    a, b = np.asarray(found, np.float64), np.asarray(wanted, np.float64)
    return bool(np.abs(a - b).max() <= tolerance * max(1.0, float(np.abs(b).max())))


def cases(quick: bool) -> dict[str, More]:
    return {**plain(quick), **products(quick)}


def plain(quick: bool) -> dict[str, More]:
    """Transpose, FFT and histogram."""
    rng = np.random.default_rng(3)
    n = 512 if quick else 4096
    x, y = rng.standard_normal((n, n), np.float32), np.zeros((n, n), np.float32)
    radix, batch = 64, 8 if quick else 256
    re, im = (rng.standard_normal((batch, radix, radix), np.float32) for _ in range(2))
    k = np.arange(radix)
    short = np.exp(-2j * np.pi * np.outer(k, k) / radix)
    turn = np.exp(-2j * np.pi * np.outer(k, k) / radix**2)
    tables = [np.ascontiguousarray(t, np.float32) for t in (short.real, short.imag, turn.real, turn.imag)]
    outs = [np.zeros_like(re), np.zeros_like(re)]
    signal = (re + 1j * im).reshape(batch, -1).astype(np.complex64)
    values, counts = rng.integers(0, 256, 1 << (16 if quick else 22), dtype=np.int32), np.zeros(256, np.int32)

    def is_transform() -> bool:
        return close(np.abs((outs[0] + 1j * outs[1]).reshape(batch, -1) - np.fft.fft(signal)), 0, 2e-2)

    def is_histogram() -> bool:
        return bool((counts == np.bincount(values, minlength=256)).all())

    return {
        f"transpose {n} x {n} f32": More(
            "transpose",
            (n // 64, n // 64),
            [x, y],
            (64, 64),
            lambda t, x, y: x.t().contiguous(),
            lambda: bool((y == x.T).all()),
        ),
        f"FFT of {radix**2} points, {batch} times": More(
            "fft",
            (batch,),
            [re, im, *tables, *outs],
            (radix,),
            lambda t, re, im, *_: t.fft.fft(t.complex(re, im).reshape(batch, -1)),
            is_transform,
        ),
        f"histogram of {values.size:,} numbers": More(
            "histogram",
            (values.size // 1024,),
            [values, counts],
            (1024,),
            lambda t, x, counts: t.bincount(x, minlength=256),
            is_histogram,
        ),
    }


def products(quick: bool) -> dict[str, More]:
    """Matrix products in several types and groupings."""
    rng = np.random.default_rng(4)
    n = 256 if quick else 1024
    a, b = (rng.standard_normal((n, n), np.float32).astype(ml_dtypes.bfloat16) for _ in range(2))
    c = np.zeros((n, n), ml_dtypes.bfloat16)
    p, q = (rng.integers(-128, 128, (n, n), dtype=np.int8) for _ in range(2))
    r = np.zeros((n, n), np.int32)
    group = (4, n // 2, n // 2)
    ga, gb = (rng.standard_normal(group, np.float32) for _ in range(2))
    gc = np.zeros(group, np.float32)
    tokens, width, many = n, 256, 8
    x = rng.standard_normal((tokens, width), np.float32)
    w = rng.standard_normal((many, width, width), np.float32)
    rows = rng.permutation(tokens).astype(np.int32)
    owner = np.sort(rng.integers(0, many, tokens // 64)).astype(np.int32)
    out = np.zeros((tokens, width), np.float32)

    def of_experts(t: Any, x: Any, w: Any, rows: Any, owner: Any, y: Any) -> Any:
        for tile in range(len(owner)):
            chosen = rows[64 * tile : 64 * tile + 64].long()
            y[chosen] = x[chosen] @ w[owner[tile]]
        return y

    def is_of_experts() -> bool:
        expert = np.repeat(owner, 64)
        return all(close(out[rows[k]], x[rows[k]] @ w[expert[k]], 1e-3) for k in range(0, tokens, 37))

    wide = [m.astype(np.float32) for m in (a, b)]
    return {
        "bf16 GEMM": More(
            "gemm",
            (n // 128, n // 128),
            [a, b, c],
            (128, 128, 64),
            lambda t, a, b, c: a @ b,
            lambda: close(c.astype(np.float32), wide[0] @ wide[1], 2e-2),
        ),
        "int8 GEMM": More(
            "int_gemm",
            (n // 128, n // 128),
            [p, q, r],
            (128, 128, 64),
            lambda t, a, b, c: t._int_mm(a, b),
            lambda: bool((r == p.astype(np.int32) @ q.astype(np.int32)).all()),
        ),
        f"grouped GEMM, 4 of {n // 2}, f32": More(
            "grouped_gemm", (8,), [ga, gb, gc], (64, 64, 32), lambda t, a, b, c: a @ b, lambda: close(gc, ga @ gb, 1e-3)
        ),
        f"experts, {tokens} x {width}, {many} of them": More(
            "experts", (tokens // 64, width // 64), [x, w, rows, owner, out], (64, 64, 64), of_experts, is_of_experts
        ),
    }


def large_products(quick: bool) -> dict[str, More]:
    """Products that keep many cores busy."""
    rng = np.random.default_rng(6)
    n = 512 if quick else 4096
    a, b = (rng.standard_normal((n, n), np.float32) for _ in range(2))
    p, q = (rng.integers(-128, 128, (n, n), dtype=np.int8) for _ in range(2))
    short = [x.astype(ml_dtypes.bfloat16) for x in (a, b)]
    grid, constants = (n // 128, n // 128), (128, 128, 64)
    return {
        f"bf16 GEMM of {n}": More(
            "gemm", grid, [*short, np.zeros((n, n), ml_dtypes.bfloat16)], constants, lambda t, a, b, c: a @ b, bool
        ),
        f"int8 GEMM of {n}": More(
            "int_gemm", grid, [p, q, np.zeros((n, n), np.int32)], constants, lambda t, a, b, c: t._int_mm(a, b), bool
        ),
    }


def attention(quick: bool) -> dict[str, tuple[tuple[int, int], list[Any]]]:
    """Attention at two more sizes, with the kernel of the six."""
    rng = np.random.default_rng(5)
    found = {}
    for heads, length in ((2, 256), (4, 512)) if quick else ((16, 512), (4, 4096)):
        arrays = [rng.standard_normal((heads, length, 64), np.float32).astype(np.float16) for _ in range(3)]
        name = f"attention, {heads} heads, length {length}"
        found[name] = ((length // 128, heads), [*arrays, np.zeros_like(arrays[0])])
    return found


def measure_more(args: argparse.Namespace, take_turns: Callable[..., dict[str, float]]) -> dict[str, dict[str, float]]:
    """Return milliseconds by kernel and contender."""
    if args.only:
        return {}
    found = {}
    torch = installed("torch")
    for name, case in cases(args.quick).items():
        found[name] = measure(name, case, args, torch, take_turns)
    for name, (grid, arrays) in attention(args.quick).items():
        text = (args.kernels / "attention.mlir").read_text()
        calls: dict[str, Call] = {
            engine: launcher(tilery.compile(tilery.parse(text), engine=engine), grid, arrays, args.threads)
            for engine in ("cpu", "reference")
        }
        if torch:
            tensors = [torch.from_numpy(x)[None] for x in arrays[:3]]
            calls["torch eager"] = lambda t=tensors: torch.nn.functional.scaled_dot_product_attention(*t)  # type: ignore[misc]  # a default binds
        found[name] = take_turns(calls, args.rounds, 0.7)
    return found


def launcher(kernel: Any, grid: tuple[int, ...], arrays: list[Any], threads: int) -> Call:
    return lambda: kernel.launch(grid, arrays, convention="cutile", threads=threads)


def module_of(kernels: Path, case: More) -> Any:
    """Return the Tile IR of a kernel, with its constants."""
    return tilery.parse((kernels / "more" / f"{case.kernel}.mlir").read_text("utf-8"))


def measure(name: str, case: More, args: argparse.Namespace, torch: Any, take_turns: Any) -> dict[str, float]:
    calls: dict[str, Call] = {}
    for engine in ("cpu", "reference"):
        kernel = tilery.compile(module_of(args.kernels, case), engine=engine)
        call = launcher(kernel, case.grid, case.arrays, args.threads)
        call()
        if not case.wanted():
            raise SystemExit(f"{name} on engine {engine}: the result is wrong")
        if case.kernel == "histogram":
            case.arrays[-1][...] = 0
        calls[engine] = call
    if torch and case.torch is not None:
        tensors = [as_tensor(torch, x) for x in case.arrays]
        call_torch = case.torch
        try:
            call_torch(torch, *tensors)
            calls["torch eager"] = lambda: call_torch(torch, *tensors)
        except (RuntimeError, AttributeError) as error:
            print(f"{name}: torch: {error}", file=sys.stderr)
    found: dict[str, float] = take_turns(calls, args.rounds, 0.7)
    return found


def as_tensor(torch: Any, x: Any) -> Any:
    if x.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(x.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(x)
