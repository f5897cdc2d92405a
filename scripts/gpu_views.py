"""Run kernels that access tiles of every shape on a GPU, in every variant of engine triton, and compare bit for bit.

    python scripts/gpu_views.py [--count 200] [--seed 0] [--workers 12] [--reproduce SEED] [--report PAGE]

A variant of engine triton accesses views through pointers or through tensor maps, with some number of warps and stages.
A kernel copies tiles, multiplies them, or multiplies products, as attention does. Its tiles have one to five
dimensions, of which some have one element, in any order of the tensor's dimensions, and are reshaped to the operands.
Numbers are small integers, so that every sum is exact.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
from collections import Counter
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import checkout
import tilery
from tilery.engines.triton import launch as triton
from tilery.engines.triton.assembler import find_assembler

VARIANTS = [
    {"num_warps": warps, "num_stages": stages, "views": views}
    for views, (warps, stages) in product(
        ("host", "device", "pointers"), ((1, 2), (2, 1), (4, 1), (4, 2), (4, 3), (4, 5), (8, 1), (8, 3))
    )
]
KINDS = ("copy", "product", "attention", "paged", "straight")
"""Copies, products, products of products, the same with tiles found through a table, and the same without a loop."""
TYPES = {"i8": np.int8, "i16": np.int16, "f16": np.float16, "i32": np.int32, "f32": np.float32}


@dataclass(frozen=True)
class Case:
    """A kernel and how to launch it; the last array is written."""

    kind: str
    text: str
    grid: int
    arrays: tuple[Any, ...]


class Tensor:
    """A tensor whose tiles hold a matrix: its dimensions are factors of the matrix's, and units, in any order."""

    def __init__(self, rng: Any, name: str, element: str, rows: int, columns: int, tiles: tuple[int, int]) -> None:
        self.name, self.element = name, element
        parts = [(n, 0) for n in _factors(rng, rows)] + [(n, 1) for n in _factors(rng, columns)]
        inner = max(k for k, (_, axis) in enumerate(parts) if axis == 1)
        if parts[inner][0] * np.dtype(TYPES[element]).itemsize < 16:  # keep it mappable
            parts = [part for part in parts if part[1] == 0] + [(columns, 1)]
        for _ in range(int(rng.integers(0, 6 - len(parts)))):
            parts.insert(int(rng.integers(0, len(parts))), (1, 2))
        self.tile = tuple(n for n, _ in parts)
        # Each side of the matrix is cut along its first factor; unit dimensions have several elements.
        firsts = {axis: next(k for k, part in enumerate(parts) if part[1] == axis) for axis in (0, 1)}
        self.at = ["%zero"] * len(parts)
        self.shape = list(self.tile)
        for axis, count in enumerate(tiles):
            self.shape[firsts[axis]] *= count
        self.units = [k for k, part in enumerate(parts) if part[1] == 2]
        for k in self.units:
            self.shape[k] = int(rng.integers(1, 4))
            self.at[k] = f"%u{self.shape[k] - 1}"
        self.firsts = firsts
        # The order of the tensor's dimensions; the tile's last one stays innermost.
        self.order = [*(int(k) for k in rng.permutation(len(parts) - 1)), len(parts) - 1]

    @property
    def sizes(self) -> list[int]:
        """The tensor's shape."""
        return [self.shape[k] for k in self.order]

    @property
    def types(self) -> tuple[str, str]:
        """The types of the tensor and of its view."""
        strides = [int(np.prod(self.sizes[d + 1 :], dtype=int)) for d in range(len(self.sizes))]
        tensor = f"tensor_view<{'x'.join(map(str, self.sizes))}x{self.element}, strides={strides}>".replace(" ", "")
        dims = [self.order.index(k) for k in range(len(self.tile))]
        tile = "x".join(map(str, self.tile))
        return tensor, f"partition_view<tile=({tile}), {tensor}, dim_map={dims}>".replace(" ", "").replace(
            ",dim", ", dim"
        )

    def make(self) -> str:
        tensor, view = self.types
        strides = tensor[tensor.index("strides=") + 8 : -1]
        return (
            f"%p{self.name} = assume div_by<16>, %{self.name} : tile<ptr<{self.element}>>\n"
            f"%t{self.name} = make_tensor_view %p{self.name}, shape = {self.sizes}, strides = {strides} : {tensor}\n"
            f"%v{self.name} = make_partition_view %t{self.name} : {view}\n"
        )

    def index(self, row: str, column: str) -> str:
        at = list(self.at)
        at[self.firsts[0]], at[self.firsts[1]] = row, column
        return ", ".join(at)

    def matrix(self, rows: int, columns: int) -> str:
        return f"tile<{rows}x{columns}x{self.element}>"

    def tile_type(self) -> str:
        return f"tile<{'x'.join(map(str, self.tile))}x{self.element}>"

    def load(self, to: str, row: str, column: str, rows: int, columns: int) -> str:
        own = self.tile_type()
        return (
            f"%{to}_box, %{to}_token = load_view_tko weak %v{self.name}[{self.index(row, column)}] : "
            f"{self.types[1]}, tile<i32> -> {own}, token\n"
            f"%{to} = reshape %{to}_box : {own} -> {self.matrix(rows, columns)}\n"
        )

    def store(self, value: str, row: str, column: str, rows: int, columns: int) -> str:
        own = self.tile_type()
        return (
            f"%{value}_out = reshape %{value} : {self.matrix(rows, columns)} -> {own}\n"
            f"%{value}_done = store_view_tko weak %{value}_out, %v{self.name}[{self.index(row, column)}] : "
            f"{own}, {self.types[1]}, tile<i32> -> token\n"
        )

    def content(self, rng: Any) -> Any:
        return rng.integers(-2, 3, self.sizes).astype(TYPES[self.element])


def _factors(rng: Any, n: int) -> list[int]:
    """Write a power of two as one or two factors."""
    if n >= 4 and rng.random() < 0.4:
        first = 1 << int(rng.integers(1, n.bit_length() - 1))
        return [first, n // first]
    return [n]


def make(seed: int) -> Case:
    """Return the kernel of a seed."""
    rng = np.random.default_rng([seed, 7])
    kind = KINDS[seed % len(KINDS)]
    m, n, k = (int(1 << rng.integers(low, high)) for low, high in ((4, 8), (4, 8), (4, 7)))
    blocks, steps = int(rng.integers(1, 4)), int(rng.integers(1, 5))
    if kind == "copy":
        element = str(rng.choice(list(TYPES)))
        source = Tensor(rng, "a", element, m, n, (blocks, steps))
        target = Tensor(rng, "o", element, m, n, (blocks, steps))
        body = source.load("x", "%row", "%i", m, n) + target.store("x", "%row", "%i", m, n)
        return _case(rng, kind, [source, target], "", body, "", steps, blocks)
    total = f"tile<{m}x{n}xf32>"
    left = Tensor(rng, "a", "f16", m, k, (blocks, steps if kind == "product" else 1))
    if kind == "product":
        right, out = Tensor(rng, "b", "f16", k, n, (steps, 1)), Tensor(rng, "o", "f32", m, n, (blocks, 1))
        body = left.load("x", "%row", "%i", m, k) + right.load("y", "%i", "%zero", k, n)
        body += f"%next = mmaf %x, %y, %sum : {left.matrix(m, k)}, {right.matrix(k, n)}, {total}\n"
        tensors = [left, right, out]
    else:
        rows = int(1 << rng.integers(4, 7))
        keys, values = Tensor(rng, "k", "f16", rows, k, (steps, 1)), Tensor(rng, "v", "f16", rows, n, (steps, 1))
        out = Tensor(rng, "o", "f32", m, n, (blocks, 1))
        turned, score = f"tile<{k}x{rows}xf16>", f"tile<{m}x{rows}x"
        body = _page() if kind == "paged" else "%at = addi %i, %zero : tile<i32>\n"
        body += left.load("x", "%row", "%zero", m, k) + keys.load("y", "%at", "%zero", rows, k)
        body += f"%turned = permute %y [1, 0] : {keys.matrix(rows, k)} -> {turned}\n"
        body += f"%none = constant <f32: 0.0> : {score}f32>\n"
        body += f"%score = mmaf %x, %turned, %none : {left.matrix(m, k)}, {turned}, {score}f32>\n"
        body += f"%half = ftof %score : {score}f32> -> {score}f16>\n"
        body += values.load("z", "%at", "%zero", rows, n)
        body += f"%next = mmaf %half, %z, %sum : {score}f16>, {values.matrix(rows, n)}, {total}\n"
        tensors = [left, keys, values, out]
    before = f"%start = constant <f32: 0.0> : {total}\n"
    return _case(rng, kind, tensors, before, body, out.store("total", "%row", "%zero", m, n), steps, blocks, total)


def _page() -> str:
    """Look up the number of a tile in a table."""
    return (
        "%entry = offset %table, %i : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>\n"
        "%at, %looked = load_ptr_tko weak %entry : tile<ptr<i32>> -> tile<i32>, token\n"
    )


def _case(
    rng: Any,
    kind: str,
    tensors: list[Tensor],
    before: str,
    body: str,
    after: str,
    steps: int,
    blocks: int,
    carried: str = "",
) -> Case:
    params = ", ".join(["%table: tile<ptr<i32>>", *(f"%{t.name}: tile<ptr<{t.element}>>" for t in tensors)])
    result = (
        f"%total = for %i in (%zero to %steps, step %one) : tile<i32> iter_values(%sum = %start) -> ({carried}) {{\n"
    )
    loop = result if carried else "for %i in (%zero to %steps, step %one) : tile<i32> {\n"
    end = f"continue{' %next : ' + carried if carried else ''}\n}}\n"
    if kind == "straight":
        loop, body, end = (
            "%i = addi %zero, %zero : tile<i32>\n",
            body.replace("%sum", "%start").replace("%next", "%total"),
            "",
        )
    text = (
        f"cuda_tile.module @m {{ entry @k({params}) {{\n"
        + "".join(f"%u{n} = constant <i32: {n}> : tile<i32>\n" for n in range(3))
        + "%zero = constant <i32: 0> : tile<i32>\n%one = constant <i32: 1> : tile<i32>\n"
        + f"%steps = constant <i32: {steps}> : tile<i32>\n%row, %gy, %gz = get_tile_block_id : tile<i32>\n"
        + "".join(t.make() for t in tensors)
        + f"{before}{loop}{body}{end}{after}return }} }}"
    )
    arrays = [rng.permutation(steps).astype(np.int32), *(t.content(rng) for t in tensors[:-1])]
    out = tensors[-1]
    arrays.append(np.full(out.sizes, 77, TYPES[out.element]))
    return Case(kind, text, blocks, tuple(arrays))


def run(seed: int) -> dict[str, str]:
    """Run a kernel in every variant; return what is wrong by variant, nothing for those that agree."""
    case = make(seed)
    module = tilery.parse(case.text)
    wanted = [a.copy() for a in case.arrays]
    tilery.compile(module).launch(case.grid, wanted)
    found: dict[str, str] = {}
    for variant in VARIANTS:
        label = f"{variant['views']} w{variant['num_warps']} s{variant['num_stages']}"
        got = [a.copy() for a in case.arrays]
        try:
            kernel = triton.load(module, **variant).kernel()
            kernel.launch(case.grid, got)
        except tilery.TileError as error:
            found[label] = f"refused: {error.message}"
            continue
        wrong = [int((a != b).sum()) for a, b in zip(got, wanted)]
        found[label] = f"wrong: {wrong}" if any(wrong) else ""
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200, help="kernels")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--workers", type=int, default=12, help="processes")
    parser.add_argument("--reproduce", type=int, metavar="SEED", help="print a kernel")
    parser.add_argument("--report", type=Path, help="the page to write")
    args = parser.parse_args()
    if args.reproduce is not None:
        print(make(args.reproduce).text)
        return 0
    seeds = range(args.seed, args.seed + args.count)
    tally: dict[tuple[str, str], Counter[str]] = {}
    bad: dict[int, dict[str, str]] = {}
    with multiprocessing.get_context("spawn").Pool(args.workers) as pool:
        for seed, result in zip(seeds, pool.imap(run, seeds)):
            wrong = {label: text for label, text in result.items() if text.startswith("wrong")}
            if wrong:
                bad[seed] = wrong
            for label, text in result.items():
                counts = tally.setdefault((make(seed).kind, label.split()[0]), Counter())
                counts[text.partition(":")[0] or "same"] += 1
    lines = page(tally, bad, seeds, find_assembler().release)
    if args.report:
        args.report.write_text("\n".join(lines) + "\n", "utf-8")
    print("\n".join(lines))
    print(json.dumps({str(seed): wrong for seed, wrong in bad.items()}))
    return 1 if bad else 0


def page(tally: dict[tuple[str, str], Counter[str]], bad: dict[int, Any], seeds: range, release: str) -> list[str]:
    """Return the lines of the report."""
    lines = [
        "# Tiles of every shape through Triton",
        "",
        *checkout.fill(
            f"`python scripts/gpu_views.py --count {len(seeds)} --seed {seeds.start}` wrote this page. It ran each "
            f"kernel in {len(VARIANTS)} variants of engine triton on a GPU (ptxas {release}) and compared arrays with "
            "the reference engine, bit for bit. Kernels copy tiles, multiply them, or multiply products: in a loop, "
            "with tiles found through a table, and without a loop."
        ).splitlines(),
        "",
        "| kernels | views | same | refused | wrong |",
        "|---|---|--:|--:|--:|",
    ]
    for (kind, views), counts in sorted(tally.items()):
        lines.append(f"| {kind} | {views} | {counts['same']} | {counts['refused']} | {counts['wrong']} |")
    if bad:
        lines += ["", "Wrong: " + ", ".join(f"{seed} ({', '.join(wrong)})" for seed, wrong in bad.items()) + "."]
    return [
        *lines,
        "",
        "## Not measured",
        "",
        "Element types other than f16 in products, padding, and engine tileiras.",
    ]


if __name__ == "__main__":
    sys.exit(main())
