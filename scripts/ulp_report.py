"""Measure how far transcendental functions are from their exact values, and write docs/reports/lab/ulp.md.

    python scripts/ulp_report.py [--count 2000] [--seed 1] [--output docs/reports/lab/ulp.md]

The exact values have more than a hundred digits (`numerics/precise.py`, on Python's decimal numbers).
How far an H200 is from the engine is measured by `hardware_report.py`.
"""

from __future__ import annotations

import argparse
import platform
from dataclasses import dataclass
from decimal import Context, Decimal, DecimalException, localcontext
from fractions import Fraction
from math import frexp, isfinite
from pathlib import Path
from typing import Any

import numpy as np

import checkout
from tilery.cli.progress import progress
from tilery.engines.common.numerics import precise, transcendental
from tilery.engines.common.numerics.rounding import BF16, F16, F32, F64, doubled
from tilery.engines.reference.ops.floating import FUNCTIONS

FORMATS = {"f16": (F16, 11, -14), "bf16": (BF16, 8, -126), "f32": (F32, 24, -126), "f64": (F64, 53, -1022)}
"""The dtype that carries a type, its precision in bits, and its smallest normal exponent."""

TWO_OPERANDS = ("atan2", "fpowf")
LARGEST = 2.0**300
"""Beyond this, `precise` has too few digits to reduce the argument of a sine."""


@dataclass
class Result:
    """The errors of a function in one type."""

    samples: int = 0
    worst: float = 0.0
    not_nearest: int = 0
    at: tuple[float, ...] = ()

    def add(self, error: float, at: tuple[float, ...]) -> None:
        self.samples += 1
        self.not_nearest += error > 0.5
        if error > self.worst:
            self.worst, self.at = error, at


def samples(rng: np.random.Generator, dtype: np.dtype[Any], count: int) -> Any:
    """Return arguments: bit patterns of all exponents, and numbers near zero, where most functions bend."""
    bits = np.frombuffer(rng.bytes(count * dtype.itemsize), f"u{dtype.itemsize}").view(dtype)
    near = [rng.uniform(-limit, limit, count // 4) for limit in (1, 10, 100, 700)]
    narrow = np.concatenate(near).astype(np.float32 if dtype != F64 else np.float64)
    if dtype == BF16:
        return np.concatenate([bits, (narrow.view(np.uint32) >> 16).astype(np.uint16)])
    return np.concatenate([bits, narrow.astype(dtype)])


def exact(function: transcendental.ExactFunction, numbers: tuple[float, ...]) -> Fraction | None:
    """Return the exact value, or None where the function is not defined or out of reach."""
    if not all(isfinite(x) and abs(x) < LARGEST for x in numbers):
        return None
    try:
        with localcontext(Context(prec=precise.DIGITS)):
            return Fraction(function.precise(*map(Decimal, numbers)))
    except (DecimalException, ArithmeticError, ValueError):
        return None


def ulp(value: Fraction, digits: int, least: int) -> Fraction:
    """Return the distance between neighbouring numbers at a value."""
    exponent = max(frexp(float(value))[1] - 1, least)
    return Fraction(2) ** (exponent - digits + 1)


def measure(
    function: transcendental.ExactFunction, type_name: str, operands: int, rng: np.random.Generator, count: int
) -> Result:
    """Compare the engine with exact values. Overflow and results that are not numbers are skipped."""
    dtype, digits, least = FORMATS[type_name]
    args = [samples(rng, dtype, count) for _ in range(operands)]
    with np.errstate(all="ignore"):
        got = doubled(transcendental.apply(function, *args)).tolist()
        rows = zip(*(doubled(x).tolist() for x in args))
        result = Result()
        for numbers, mine in zip(rows, got):
            if not isfinite(mine) or (value := exact(function, numbers)) is None:
                continue
            if not isfinite(float_of(value)):
                continue
            result.add(float(abs(Fraction(mine) - value) / ulp(value, digits, least)), numbers)
    return result


def float_of(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def page(found: dict[str, dict[str, Result]], args: argparse.Namespace) -> str:
    lines = [
        "# The accuracy of transcendental functions",
        "",
        checkout.fill(
            f"`scripts/ulp_report.py --count {args.count} --seed {args.seed}` wrote this page (NumPy {np.__version__}, "
            f"{platform.machine()}). It compares the reference engine with values of more than a hundred digits. An "
            "error of at most 0.5 ULP (unit in the last place) means the nearest number."
        ),
        "",
        "| operation | " + " | ".join(f"{name}, max ULP" for name in FORMATS) + " | samples |",
        "|---|" + "--:|" * (len(FORMATS) + 1),
    ]
    for name, results in found.items():
        cells = [f"{results[kind].worst:.3f}" for kind in FORMATS]
        number = sum(result.samples for result in results.values())
        lines.append(f"| {name} | {' | '.join(cells)} | {number:,} |")
    for kind in ("f16", "bf16", "f32"):
        wrong = sum(results[kind].not_nearest for results in found.values())
        total = sum(results[kind].samples for results in found.values())
        lines += ["", f"In {kind}, {total - wrong:,} of {total:,} results are the nearest number."]
    worst = max(results["f64"].worst for results in found.values())
    lines += ["", f"In f64, results are NumPy's. The largest error is {worst:.3f} ULP on this host.", "", *NOT_MEASURED]
    return "\n".join(lines)


NOT_MEASURED = """\
## Not measured

Arguments are sampled, so these are not bounds for all inputs. The exact values of trigonometric functions come from
series in `numerics/precise.py`, which the engine also uses to decide close cases of the narrow types: a mistake there
would not show. Arguments above 2^300, overflow, NaN and infinities are left to the tests. f64 results depend on the
host, because NumPy's do. The modes `approx` and `full` are not special here: the engine rounds to nearest in them. How
far an H200 is from the engine is in [the hardware report](hardware.md).""".splitlines()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000, help="samples per function and type, before filtering")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()
    rng = np.random.default_rng(args.seed)
    found: dict[str, dict[str, Result]] = {}
    with progress(len(FUNCTIONS) * len(FORMATS), "functions") as step:
        for cls, function in FUNCTIONS.items():
            name = cls.opdef.mnemonic
            results = found.setdefault(name, {})
            for type_name in FORMATS:
                results[type_name] = measure(function, type_name, 1 + (name in TWO_OPERANDS), rng, args.count)
                step()
    checkout.publish(page(found, args), args.output)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
