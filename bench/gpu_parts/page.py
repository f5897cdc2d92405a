"""The page about kernels on a GPU, from the results of `bench/gpu.py run`."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

PEAKS = {"bf16": 989e12, "f16": 989e12, "f8": 1979e12, "tf32": 494e12}
"""What NVIDIA states for an H200, in operations per second without sparsity."""
COLUMNS = ("gpu tuned", "gpu default", "triton", "tileiras tuned", "tileiras as is", "torch", "limit")
Row = dict[str, Any]
Variant = dict[str, Any]


def best(row: Row, wanted: Callable[[Variant], bool]) -> Variant | None:
    """Return the fastest correct variant that was timed in turn."""
    good = [v for v in row["variants"] if v.get("ok") and v.get("final") and wanted(v)]
    return min(good, key=lambda v: float(v["seconds"])) if good else None


def columns(row: Row, limits: dict[str, Any]) -> dict[str, float | None]:
    """Return the seconds of each column."""

    def seconds(wanted: Callable[[Variant], bool]) -> float | None:
        found = best(row, wanted)
        return None if found is None else float(found["seconds"])

    limit = PEAKS.get(row["peak"], 0.0) if row["unit"] == "TFLOP/s" else float(limits["copy"])
    return {
        "gpu tuned": seconds(lambda v: v["engine"] != "torch" and v.get("kept", False)),
        "gpu default": seconds(lambda v: "gpu" in v.get("roles", ())),
        "triton": seconds(lambda v: v["engine"] == "triton" and v.get("kept", False)),
        "tileiras tuned": seconds(lambda v: v["engine"] == "tileiras" and v.get("kept", False)),
        "tileiras as is": seconds(lambda v: "as is" in v.get("roles", ())),
        "torch": seconds(lambda v: v["engine"] == "torch"),
        "limit": row["work"] / limit,
    }


def geomean(values: Iterable[float]) -> float:
    """Return the geometric mean.

    >>> round(geomean([1.0, 4.0]), 3)
    2.0
    """
    logs = [math.log(v) for v in values]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def ratios(table: list[dict[str, float | None]], above: str, below: str) -> list[float]:
    """Return how many times as fast one column is as another, for the rows that have both."""
    pairs = [(cells[below], cells[above]) for cells in table]
    return [a / b for a, b in pairs if a and b]


def publish(runs: list[dict[str, Any]], folder: Path) -> None:
    """Write the page, its plot and the figures."""
    rows = {(row["name"], row["shape"]): row for run in runs for row in run["rows"]}
    limits = next(run["limits"] for run in runs if "limits" in run)
    table = [columns(row, limits) for row in rows.values()]
    (folder / "gpu.md").write_text(page(list(rows.values()), table, runs, limits), "utf-8")
    (folder / "gpu.svg").write_text(plot(list(rows.values()), table), "utf-8")
    (folder / "gpu.json").write_text(json.dumps(runs), "utf-8")


def page(rows: list[Row], table: list[dict[str, float | None]], runs: list[dict[str, Any]], limits: Any) -> str:
    """Return the page."""
    return "\n".join([f"# Kernels on a GPU, {len(rows)} rows"]) + "\n"


def plot(rows: list[Row], table: list[dict[str, float | None]]) -> str:
    """Return the plot."""
    return ""
