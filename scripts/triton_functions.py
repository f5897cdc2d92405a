"""Measure the error of the functions that Triton programs call and Tile IR does not have; needs mpmath.

    python scripts/triton_functions.py [--count 1000] [--report docs/reports/lab/triton_functions.md]

Each function is built as the translation builds it, executed by the reference engine, and compared with mpmath.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath
import numpy as np

import tilery
from tilery.builder import Builder, ptr
from tilery.triton.translation import special
from tilery.triton.translation.libdevice import ONLY_F32
from tilery.types import F32, F64, Tile

mpmath.mp.prec = 300

WIDE = [(-1e30, 1e30), (-100.0, 100.0), (-4.0, 4.0), (-1e-3, 1e-3)]
ONE = [(-1.0, 1.0), (-1e-3, 1e-3), (0.99, 1.0)]
UP = [(1e-30, 1e30), (0.01, 100.0), (0.9, 1.1)]
FUNCTIONS: dict[str, tuple[Callable[..., Any], list[tuple[float, float]], int, int]] = {
    "log1p": (mpmath.log1p, [(-0.99, 1e30), (-0.9, 10.0), (-1e-3, 1e-3)], 1, 1),
    "expm1": (mpmath.expm1, [(-50.0, 88.0), (-2.0, 2.0), (-1e-3, 1e-3)], 1, 1),
    "asin": (mpmath.asin, ONE, 2, 2),
    "acos": (mpmath.acos, ONE, 2, 2),
    "atan": (mpmath.atan, WIDE, 2, 2),
    "asinh": (mpmath.asinh, WIDE, 3, 3),
    "acosh": (mpmath.acosh, [(1.0, 1e30), (1.0, 100.0), (1.0, 1.01)], 4, 3),
    "atanh": (mpmath.atanh, ONE, 3, 2),
    "log10": (lambda x: mpmath.log(x, 10), UP, 2, 1),
    "exp10": (lambda x: mpmath.mpf(10) ** x, [(-37.0, 38.0), (-1.0, 1.0)], 2, 1),
    "cbrt": (lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)), WIDE, 1, 1),
    "rcbrt": (lambda x: mpmath.sign(x) / mpmath.cbrt(abs(x)), UP, 1, 1),
    "sinpi": (lambda x: mpmath.sin(mpmath.pi * x), [(-100.0, 100.0), (-1.0, 1.0), (-1e-3, 1e-3)], 1, 2),
    "cospi": (lambda x: mpmath.cos(mpmath.pi * x), [(-100.0, 100.0), (-1.0, 1.0)], 1, 2),
    "erf": (mpmath.erf, [(-5.0, 5.0), (-1.0, 1.0), (-1e-3, 1e-3)], 2, 2),
    "erfc": (mpmath.erfc, [(-5.0, 9.0), (-1.0, 1.0), (5.0, 9.0)], 4, 5),
    "erfcx": (lambda x: mpmath.exp(x * x) * mpmath.erfc(x), [(-5.0, 100.0), (0.0, 10.0), (100.0, 1e6)], 4, 4),
    "normcdf": (mpmath.ncdf, [(-12.0, 5.0), (-1.0, 1.0)], 5, 5),
}
"""The exact function, the ranges of its arguments, and the documented largest error in f32 and f64, in ULP."""


def computed(name: str, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return what a kernel with one function computes."""
    kind = F32 if values.dtype == np.float32 else F64
    b = Builder()
    shape = (len(values),)
    with b.entry("k", x=ptr(kind), out=ptr(kind)) as k:
        places = [b.value("offset", b.broadcast(p, *shape), b.iota(shape[0])) for p in (k.x, k.out)]
        loaded = b.load_ptr(places[0])
        assert loaded.type is Tile(shape, kind)
        b.store_ptr(places[1], special.in_f64(b, getattr(special, name), loaded))
    out = np.zeros_like(values)
    tilery.compile(b.module).launch(1, [values, out])
    return out


def worst(name: str, kind: Any, count: int, seed: int) -> float:
    """Return the largest error over random arguments of all ranges, in ULP of the result."""
    exact, ranges, *_ = FUNCTIONS[name]
    rng = np.random.default_rng(seed)
    largest = 0.0
    for low, high in ranges:
        values = spread(rng, low, high, count).astype(kind)
        found = computed(name, values)
        for x, y in zip(values.tolist(), found.tolist()):
            wanted = exact(mpmath.mpf(x))
            unit = float(np.spacing(kind(abs(float(wanted)))))
            if unit > 0 and np.isfinite(float(kind(float(wanted)))):
                largest = max(largest, float(abs(mpmath.mpf(y) - wanted) / mpmath.mpf(unit)))
    return largest


def spread(rng: Any, low: float, high: float, count: int) -> np.ndarray[Any, Any]:
    """Return numbers of a range, half of them evenly, half by their exponents."""
    even = rng.uniform(low, high, count // 2)
    top = max(abs(low), abs(high))
    powers = np.exp2(rng.uniform(np.log2(top) - 30, np.log2(top), count - len(even))) * rng.choice([-1, 1], count // 2)
    found: np.ndarray[Any, Any] = np.clip(np.concatenate([even, powers]), low, high)
    return found


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=512, help="arguments per range, a power of two")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--report", type=Path)
    args = parser.parse_args()
    rows = []
    for name, (_, _, f32, f64) in FUNCTIONS.items():
        narrow = worst(name, np.float32, args.count, args.seed)
        wide = None if name in ONLY_F32 else worst(name, np.float64, args.count, args.seed)
        rows.append((name, narrow, f32, wide, f64))
        print(f"{name}: {narrow:.3f} of {f32}; " + ("f64 refused" if wide is None else f"{wide:.3f} of {f64}"))
    lines = [
        "# Functions of libdevice",
        "",
        f"`scripts/triton_functions.py --count {args.count} --seed {args.seed}` wrote this page. Triton programs call",
        "these functions, and Tile IR does not have them. They are composed of operations in f64. The errors are those",
        "of the reference engine against mpmath, the largest of random arguments, in units in the last place. CUDA",
        "documents the limits.",
        "",
        "| function | f32 | limit | f64 | limit |",
        "|---|--:|--:|--:|--:|",
    ]
    for name, narrow, f32, wide, f64 in rows:
        shown = "refused | " if wide is None else f"{wide:.3f} | {f64}"
        lines.append(f"| {name} | {narrow:.3f} | {f32} | {shown} |")
    lines += [
        "",
        "## Not measured",
        "",
        "Arguments are sampled, so these are not bounds. Subnormal results are not counted. `hypot`, `norm3d` and the",
        "like are one square root of a sum in f64. Rounding, bit and conversion functions are exact, and tested.",
        "Functions that are not listed here or in the guide are refused: inverse error functions, gamma and Bessel",
        "functions.",
    ]
    if args.report:
        args.report.write_text("\n".join(lines) + "\n", "utf-8")
    return int(any(narrow > f32 or (wide or 0) > f64 for _, narrow, f32, wide, f64 in rows))


if __name__ == "__main__":
    sys.exit(main())
