"""Write the example notebooks from the cells below: `python scripts/notebooks.py`. They hold no results."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "examples" / "notebooks"

BUILD = [
    "# Build a kernel and look at it\n\nEvery object shows itself. Run the cells from top to bottom.",
    """import numpy as np

import tilery
from tilery.builder import Builder, f32, ptr

b = Builder()
with b.entry("double", data=ptr(f32)) as k:
    tiles, block = b.view(k.data, shape=1024, tile=128), b.block_id()[0]
    b.store(tiles, block, b.load(tiles, block) * 2)
b""",
    "The last expression of a cell is shown: here the builder shows what it has built. A kernel shows its parameters:",
    """kernel = tilery.compile(b.module)
kernel""",
    "A launch writes into the arrays among its arguments, and returns statistics:",
    """data = np.arange(1024, dtype=np.float32)
stats = kernel.launch(8, [data])
assert data[3] == 6
stats""",
    "Operations, values and types:",
    "next(op for op in tilery.walk(b.module) if op.name == 'mulf')",
    "Bytecode, byte by byte:",
    "tilery.dump(tilery.dumps(b.module))",
    "What the optimiser changes:",
    "tilery.diff(b.module, tilery.optimize(b.module))",
]

FAULTS = [
    "# Find a race\n\nEach tile block adds its number to the same element, without an atomic operation.",
    """import numpy as np

import tilery
from tilery.builder import Builder, i32, ptr
from tilery.sanitize import Sanitizer

b = Builder(locs=True)
with b.entry("count", total=ptr(i32)) as k:
    before, token = b.load_ptr_tko("weak", k.total)
    b.store_ptr(k.total, before + b.block_id()[0], token=token)
kernel = tilery.compile(b.module)""",
    "A sanitizer collects reports of all launches that it watches:",
    """sanitizer = Sanitizer("all")
kernel.launch(4, [np.zeros(1, np.int32)], sanitize=sanitizer)
assert sanitizer.reports.faults
sanitizer""",
    "One report, with the line that it is about:",
    "sanitizer.reports.faults[0]",
    "Which tile block accesses which element is a picture:",
    """from tilery.observe import access_maps
from tilery.observe.arrays import array_arguments

total = np.zeros(1, np.int32)
maps, observer = access_maps(array_arguments(kernel.params, [total], ["total"], None), blocks=4)
kernel.launch(4, [total], observe=observer)
maps[0]""",
    "With an atomic operation, nothing is left to report:",
    """b = Builder()
with b.entry("count", total=ptr(i32)) as k:
    b.atomic_rmw_tko("relaxed", "device", k.total, "add", b.block_id()[0])
fixed = Sanitizer("all")
total = np.zeros(1, np.int32)
tilery.compile(b.module).launch(4, [total], sanitize=fixed)
assert total[0] == 6 and not fixed.reports.faults
fixed""",
]

SPEED = [
    "# What a kernel costs\n\nA matrix product with tiles of 64x64, by its text and in a launch.",
    """import numpy as np

import tilery
from tilery.builder import Builder, f16, f32, ptr
from tilery.cost import Roofline, find_gpu, measure, static_cost

b = Builder()
with b.entry("matmul", a=ptr(f16), b=ptr(f16), c=ptr(f32)) as k:
    x, y, _ = b.block_id()
    lhs = b.view(k.a, (256, 256), tile=(64, 32))
    rhs = b.view(k.b, (256, 256), tile=(32, 64))
    out = b.view(k.c, (256, 256), tile=(64, 64))
    with b.for_(0, 8, carry=[b.zeros((64, 64), f32)]) as (i, acc):
        b.continue_(b.mma(b.load(lhs, (x, i)), b.load(rhs, (i, y)), acc))
    b.store(out, (x, y), b.result)
static_cost(b.module.entries[0], blocks=16)""",
    "In a launch, each byte of memory can be counted once:",
    """lhs, rhs = (np.ones((256, 256), np.float16) for _ in range(2))
out = np.zeros((256, 256), np.float32)
cost = measure(b.module, (4, 4), [lhs, rhs, out])
assert (out == 256).all() and cost.flops == 2 * 256**3
cost""",
    "What a GPU can make of that at best:",
    'Roofline(cost, find_gpu("H200"))',
    "The numbers of a tile, as a picture:",
    """from tilery.observe import HeatMap

HeatMap("lhs", np.linspace(-1, 1, 64).reshape(8, 8))""",
]

NOTEBOOKS = {"build_a_kernel": BUILD, "find_a_race": FAULTS, "cost": SPEED}


def notebook(cells: list[str]) -> dict[str, object]:
    """Return a notebook: the first cell and every second one after it are text, the others code."""
    made: list[dict[str, object]] = []
    for number, text in enumerate(cells):
        cell: dict[str, object] = {"id": f"cell{number}", "metadata": {}, "source": text.splitlines(keepends=True)}
        if number % 2:
            made.append({"cell_type": "code", "execution_count": None, "outputs": [], **cell})
        else:
            made.append({"cell_type": "markdown", **cell})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def files() -> dict[Path, str]:
    """Return the content of each notebook by its path."""
    return {FOLDER / f"{name}.ipynb": json.dumps(notebook(cells), indent=1) + "\n" for name, cells in NOTEBOOKS.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.parse_args()
    for path, text in files().items():
        path.write_text(text, "utf-8")
        print(path)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
