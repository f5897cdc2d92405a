"""Measure what it costs that the Triton engine spells out the order of a reduction with several operations.

    python bench/engines/reduction_order.py run RESULTS.json                                               (with a GPU)
    python bench/engines/reduction_order.py report RESULTS.json [--output docs/reports/lab/reduction_order.md]

The position of the largest element of each row, with two lowerings in turn: Triton's own reduction, and halves of the
tile that are combined in the order of NVIDIA's compiler.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import textwrap
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import tilery
from tilery.engines.triton import launch as triton
from tilery.engines.triton.ops import reduce

ROWS = 16384
WIDTHS = (64, 256, 1024, 4096, 8192)
WAYS = ("triton", "ordered")
KERNEL = """entry @k(%x: tile<ptr<f32>>, %out: tile<ptr<i32>>) {{
  %r, %y, %z = get_tile_block_id : tile<i32>
  %n = constant <i32: {n}> : tile<i32>
  %s = muli %r, %n : tile<i32>
  %p0 = offset %x, %s : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %p1 = reshape %p0 : tile<ptr<f32>> -> tile<1xptr<f32>>
  %p2 = broadcast %p1 : tile<1xptr<f32>> -> tile<{n}xptr<f32>>
  %i = iota : tile<{n}xi32>
  %p = offset %p2, %i : tile<{n}xptr<f32>>, tile<{n}xi32> -> tile<{n}xptr<f32>>
  %v, %t = load_ptr_tko weak %p : tile<{n}xptr<f32>> -> tile<{n}xf32>, token
  %m, %at = reduce %v, %i dim=0 identities=[0xFF800000 : f32, 0 : i32] : tile<{n}xf32>, tile<{n}xi32> -> tile<f32>, tile<i32>
  (%a: tile<f32>, %b: tile<f32>, %ia: tile<i32>, %ib: tile<i32>) {{
    %c = cmpf greater_than ordered %a, %b : tile<f32> -> tile<i1>
    %d = select %c, %a, %b : tile<i1>, tile<f32>
    %e = select %c, %ia, %ib : tile<i1>, tile<i32>
    yield %d, %e : tile<f32>, tile<i32>
  }}
  %q = offset %out, %r : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %w = store_ptr_tko weak %q, %at : tile<ptr<i32>>, tile<i32> -> token
  return
}}"""  # noqa: E501


def lowered(way: str) -> contextlib.AbstractContextManager[Any]:
    """Lower reductions in one of the ways."""
    if way == "ordered":
        return contextlib.nullcontext()
    return patch.object(reduce, "is_elementwise", lambda body: False)


def measure(rounds: int) -> list[dict[str, Any]]:
    """Return for each width the best time of each way, and how many results are those of the reference engine."""
    rng = np.random.default_rng(5)
    rows = []
    for n in WIDTHS:
        module = tilery.parse(KERNEL.format(n=n))
        x = rng.integers(0, n, (ROWS, n)).astype(np.float32)  # most rows have their largest element more than once
        wanted = np.zeros(256, np.int32)
        tilery.compile(module).launch(256, [x[:256], wanted])
        row: dict[str, Any] = {"width": n, "microseconds": {}, "same": {}}
        for way in WAYS:
            found = np.zeros(ROWS, np.int32)
            with lowered(way):
                kernel = triton.load(module).kernel()
            with kernel.bind(ROWS, [x, found]) as bound:
                bound.copy_in()
                times = [bound.run(30.0) for _ in range(rounds)]
                bound.copy_out()
            row["microseconds"][way] = min(times) * 1e6
            row["same"][way] = int((found[:256] == wanted).sum())
        print(row, flush=True)
        rows.append(row)
    return rows


def page(rows: list[dict[str, Any]]) -> str:
    lines = [
        "# The order of a reduction through Triton",
        "",
        *textwrap.wrap(
            "`bench/engines/reduction_order.py` wrote this page. A kernel finds the position of the largest element "
            f"in each of {ROWS:,} rows of f32, on an H200. It was compiled with Triton's own reduction, and with the "
            "order of NVIDIA's compiler, which the engine uses for every body of several operations. Times are the "
            "best "
            "of several launches in one process. `same` counts in how many of 256 rows the position is that of the "
            "reference engine; in most of these rows the largest element occurs more than once.",
            120,
        ),
        "",
        "| row | Triton's order, µs | NVIDIA's order, µs | ratio | Triton's order, same | NVIDIA's order, same |",
        "|--:|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        (first, second), same = (row["microseconds"][way] for way in WAYS), row["same"]
        cells = " | ".join(str(same[way]) for way in WAYS)
        lines.append(f"| {row['width']:,} | {first:.0f} | {second:.0f} | {second / first:.2f} | {cells} |")
    lines += ["", "## Not measured", "", "Other bodies, other dimensions, other GPUs."]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=["run", "report"])
    parser.add_argument("results", type=Path)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()
    if args.verb == "run":
        args.results.write_text(json.dumps(measure(args.rounds)), "utf-8")
        return 0
    text = page(json.loads(args.results.read_text("utf-8")))
    if args.output:
        args.output.write_text(text, "utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
