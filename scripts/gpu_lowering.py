"""Run kernels that engine triton lowers in a special way on a GPU, and compare with the reference engine, bit for bit.

    python scripts/gpu_lowering.py [--count 400] [--seed 0] [--workers 12] [--seconds 0] [--reproduce SEED]
                                   [--report PAGE]

The kernels reduce several values at once (the largest element and its position, with NaN, equal elements and zeros of
both signs), multiply matrices with few rows or columns, or count. Seeds from 1,000,000,000 on are held out: they are
run for the report only.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections import Counter
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

import checkout
import tilery
from tilery.engines.triton import launch as triton

HELD_OUT = 1_000_000_000
WARPS = (1, 2, 4, 8)
FLOATS = {"f16": (np.uint16, np.float16), "f32": (np.uint32, np.float32), "f64": (np.uint64, np.float64)}
INTEGERS = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64}
F8 = np.array([0xC0, 0xB8, 0x00, 0x38, 0x40], np.uint8)
"""The numbers from -2 to 2 as f8E4M3FN."""


@dataclass(frozen=True)
class Case:
    """A kernel, and the arrays that it is launched on."""

    kind: str
    text: str
    grid: int
    arrays: tuple[Any, ...]


class Kernel:
    """The text of a kernel whose arrays are dense and whole tiles."""

    def __init__(self, rng: Any) -> None:
        self.rng = rng
        self.params: list[str] = []
        self.arrays: list[Any] = []
        self.lines = ["%zero = constant <i32: 0> : tile<i32>", "%block, %by, %bz = get_tile_block_id : tile<i32>"]

    def case(self, kind: str, grid: int = 1) -> Case:
        body = "\n".join(self.lines)
        return Case(kind, f"entry @k({', '.join(self.params)}) {{\n{body}\nreturn\n}}", grid, tuple(self.arrays))

    def add(self, *lines: str) -> None:
        self.lines += lines

    def view(self, name: str, element: str, shape: tuple[int, ...], content: Any, blocks: int = 1) -> str:
        """Add an array, and a view that cuts it into tiles along the first dimension; return the view's type."""
        whole = (shape[0] * blocks, *shape[1:])
        strides = [prod(shape[d + 1 :]) for d in range(len(shape))]
        tensor = f"tensor_view<{x(whole)}x{element}, strides=[{','.join(map(str, strides))}]>"
        kind = f"partition_view<tile=({x(shape)}), {tensor}>"
        self.params.append(f"%{name}_p: tile<ptr<{element}>>")
        self.arrays.append(content)
        self.add(
            f"%{name}_a = assume div_by<16>, %{name}_p : tile<ptr<{element}>>",
            f"%{name}_t = make_tensor_view %{name}_a, shape = {list(whole)}, strides = {strides} : {tensor}",
            f"%{name}_v = make_partition_view %{name}_t : {kind}",
        )
        return kind

    def load(self, name: str, element: str, shape: tuple[int, ...], content: Any, blocks: int = 1) -> None:
        kind = self.view(name, element, shape, content, blocks)
        at = ", ".join(["%block" if blocks > 1 else "%zero"] + ["%zero"] * (len(shape) - 1))
        to = f"tile<{x(shape)}x{element}>"
        self.add(f"%{name}, %{name}_d = load_view_tko weak %{name}_v[{at}] : {kind}, tile<i32> -> {to}, token")

    def save(self, name: str, value: str, element: str, shape: tuple[int, ...]) -> None:
        flat = shape or (1,)
        size = 1 if element == "i1" else np.dtype(bits_of(element)).itemsize
        kind = self.view(name, element, flat, np.full(prod(flat) * size, 77, np.uint8).view(bits_of(element)))
        own, to = (f"tile<{x(s)}{'x' if s else ''}{element}>" for s in (shape, flat))
        at = ", ".join(["%zero"] * len(flat))
        if not shape:
            self.add(f"%{name}_s = reshape {value} : {own} -> {to}")
            value = f"%{name}_s"
        self.add(f"%{name}_d = store_view_tko weak {value}, %{name}_v[{at}] : {to}, {kind}, tile<i32> -> token")


def x(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))


def bits_of(element: str) -> Any:
    if element in FLOATS:
        return FLOATS[element][0]
    return INTEGERS.get(element, np.uint16 if element == "bf16" else np.uint8)


def pick(rng: Any, options: Any) -> Any:
    return options[int(rng.integers(len(options)))]


# ---------------------------------------------------------------- reductions


def special(rng: Any, element: str, count: int) -> Any:
    """A few different elements: NaN, infinities, zeros of both signs and small numbers."""
    if element in INTEGERS:
        return rng.integers(-3, 4, count).astype(INTEGERS[element])
    bits, number = FLOATS[element]
    few = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.5], number)
    chosen = few if rng.random() < 0.5 else few[3:]
    return chosen[rng.integers(0, len(chosen), count)].view(bits)


def choice(rng: Any) -> Case:
    """The largest or smallest element and its position, as cuTile finds it; perhaps with a third value."""
    k = Kernel(rng)
    shape = tuple(int(1 << rng.integers(0, 6)) for _ in range(int(rng.integers(1, 4))))
    shape = (*shape[:-1], int(1 << rng.integers(1, 11 if len(shape) < 3 else 7)))
    dim = int(rng.integers(len(shape)))
    element = pick(rng, ("f16", "f32", "f64", "i8", "i32", "i64"))
    kind, place = f"tile<{x(shape)}x{element}>", f"tile<{x(shape)}xi32>"
    line = tuple(n if d == dim else 1 for d, n in enumerate(shape))
    k.load("e", element, shape, special(rng, element, prod(shape)))
    k.add(
        f"%iota = iota : tile<{shape[dim]}xi32>",
        f"%line = reshape %iota : tile<{shape[dim]}xi32> -> tile<{x(line)}xi32>",
        f"%place = broadcast %line : tile<{x(line)}xi32> -> {place}",
    )
    three = rng.random() < 0.4
    extra = pick(rng, ("addi %c, %d", "maxi %c, %d signed", "select %take, %c, %d")) if three else ""
    operands, types, identity = ["%e", "%place"], [kind, place], [number(element), "0 : i32"]
    arguments = [f"%a: tile<{element}>, %b: tile<{element}>, %i: tile<i32>, %j: tile<i32>"]
    if three:
        k.load("w", "i32", shape, rng.integers(-9, 9, prod(shape)).astype(np.int32))
        operands, types, identity = [*operands, "%w"], [*types, place], [*identity, "0 : i32"]
        arguments.append("%c: tile<i32>, %d: tile<i32>")
    rest = shape[:dim] + shape[dim + 1 :]
    joint = "x" if rest else ""
    results = [f"tile<{x(rest)}{joint}{e}>" for e in (element, "i32", "i32")[: len(operands)]]
    names = ["%r", "%s", "%t"][: len(operands)]
    k.add(
        f"{', '.join(names)} = reduce {', '.join(operands)} dim={dim} identities=[{', '.join(identity)}] : "
        f"{', '.join(types)} -> {', '.join(results)}",
        f"({', '.join(arguments)}) {{",
        *comparison(element, pick(rng, ("greater_than", "less_than"))),
        f"%x = select %take, %a, %b : tile<i1>, tile<{element}>",
        "%y = select %take, %i, %j : tile<i1>, tile<i32>",
    )
    yielded, kinds = ["%x", "%y"], [f"tile<{element}>", "tile<i32>"]
    if three:
        k.add(f"%z = {extra} : {'tile<i1>, ' if 'select' in extra else ''}tile<i32>")
        yielded, kinds = [*yielded, "%z"], [*kinds, "tile<i32>"]
    k.add(f"yield {', '.join(yielded)} : {', '.join(kinds)}", "}")
    for name, e in zip(names, (element, "i32", "i32")):
        k.save(f"o{name[1:]}", name, e, rest)
    return k.case("choice")


def number(element: str) -> str:
    return f"0 : {element}" if element in INTEGERS else f"0.0 : {element}"


def comparison(element: str, better: str) -> list[str]:
    """Whether the first of two elements is taken: the better one, a number before NaN, of equal ones the first."""
    before = "%first = cmpi less_than %i, %j, signed : tile<i32> -> tile<i1>"
    both = "%tie = andi %equal, %first : tile<i1>"
    if element in INTEGERS:
        return [
            f"%better = cmpi {better} %a, %b, signed : tile<{element}> -> tile<i1>",
            f"%equal = cmpi equal %a, %b, signed : tile<{element}> -> tile<i1>",
            before,
            both,
            "%take = ori %better, %tie : tile<i1>",
        ]
    return [
        f"%larger = cmpf {better} ordered %a, %b : tile<{element}> -> tile<i1>",
        f"%same = cmpf equal ordered %a, %b : tile<{element}> -> tile<i1>",
        f"%na = cmpf not_equal unordered %a, %a : tile<{element}> -> tile<i1>",
        f"%nb = cmpf not_equal unordered %b, %b : tile<{element}> -> tile<i1>",
        f"%number = cmpf equal ordered %a, %a : tile<{element}> -> tile<i1>",
        "%only = andi %number, %nb : tile<i1>",
        "%better = ori %larger, %only : tile<i1>",
        "%nans = andi %na, %nb : tile<i1>",
        "%equal = ori %same, %nans : tile<i1>",
        before,
        both,
        "%take = ori %better, %tie : tile<i1>",
    ]


# ---------------------------------------------------------------- products


def product(rng: Any) -> Case:
    """A product with few rows or columns, of small integers."""
    k = Kernel(rng)
    element, result = pick(rng, (
        ("f16", "f32"), ("f16", "f16"), ("bf16", "f32"), ("f32", "f32"), ("f64", "f64"), ("f8E4M3FN", "f32"),
        ("i8", "i32"), ("i8", "i32"),
    ))  # fmt: skip
    few, many = int(1 << rng.integers(0, 5)), int(1 << rng.integers(4, 10))
    m, n = (few, many) if rng.random() < 0.7 else (many, few)
    steps = int(1 << rng.integers(4, 10))
    steps = min(steps, (1 << 15) // many)  # larger tiles take Triton minutes with one warp
    lead = (2,) if rng.random() < 0.15 else ()
    shapes = ((*lead, m, steps), (*lead, steps, n), (*lead, m, n))
    for name, shape, e in zip("lrc", shapes, (element, element, result)):
        turned = name != "c" and rng.random() < 0.5
        stored = (*shape[:-2], shape[-1], shape[-2]) if turned else shape
        k.load(f"{name}0" if turned else name, e, stored, small(rng, e, prod(shape)))
        if turned:
            order = [*range(len(lead)), len(lead) + 1, len(lead)]
            k.add(f"%{name} = permute %{name}0 {order} : tile<{x(stored)}x{e}> -> tile<{x(shape)}x{e}>")
    signs = f" {pick(rng, ('signed', 'unsigned'))} {pick(rng, ('signed', 'unsigned'))}" if element == "i8" else ""
    types = ", ".join(f"tile<{x(shape)}x{e}>" for shape, e in zip(shapes, (element, element, result)))
    k.add(f"%p = {'mmai' if element == 'i8' else 'mmaf'} %l, %r, %c{signs} : {types}")
    k.save("o", "%p", result, shapes[2])
    return k.case("product")


def small(rng: Any, element: str, count: int) -> Any:
    """Small integers, in the bits of a type: sums of their products are exact."""
    values = rng.integers(-1, 2, count) if element == "f16" else rng.integers(-2, 3, count)
    if element == "i8":
        return rng.integers(-128, 128, count).astype(np.int8)
    if element in INTEGERS:
        return rng.integers(-9, 9, count).astype(INTEGERS[element])
    if element == "f8E4M3FN":
        return F8[values + 2]
    if element == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return values.astype(FLOATS[element][1]).view(FLOATS[element][0])


# ---------------------------------------------------------------- counts


def count(rng: Any) -> Case:
    """A histogram: keys may be negative or too large, the amount may be anything, and the array of any length."""
    k = Kernel(rng)
    size, blocks = int(1 << rng.integers(4, 12)), int(rng.integers(2, 40))
    length = int(rng.integers(1, 300) if rng.random() < 0.4 else rng.integers(200, 3000))
    key, word = pick(rng, ("i8", "i32", "i64")), pick(rng, ("i32", "i32", "i64"))
    keys = rng.integers(-2, length + 3, size * blocks) if rng.random() < 0.7 else rng.integers(0, 3, size * blocks)
    keys = np.clip(keys, -128, 127) if key == "i8" else keys
    k.load("keys", key, (size,), keys.astype(INTEGERS[key]), blocks)
    k.params += [f"%counts: tile<ptr<{word}>>", "%length: tile<i32>"]
    k.arrays += [rng.integers(-5, 5, length).astype(INTEGERS[word]), length]
    index, wide, words = f"tile<{size}xi64>", f"tile<{size}x{key}>", f"tile<{size}xptr<{word}>>"
    signed = pick(rng, ("signed", "unsigned"))
    if key == "i64":
        k.add(f"%keys0 = constant <i64: 0> : {index}")
    k.add(
        f"%index = exti %keys {signed} : {wide} -> {index}"
        if key != "i64"
        else f"%index = addi %keys, %keys0 : {index}",
        "%length64 = exti %length signed : tile<i32> -> tile<i64>",
        "%length1 = reshape %length64 : tile<i64> -> tile<1xi64>",
        f"%limit = broadcast %length1 : tile<1xi64> -> {index}",
        f"%inside = cmpi less_than %index, %limit, unsigned : {index} -> tile<{size}xi1>",
    )
    mask = "%inside"
    if rng.random() < 0.3:
        k.add(
            f"%three = constant <{key}: 3> : {wide}",
            f"%other = cmpi not_equal %keys, %three, signed : {wide} -> tile<{size}xi1>",
            f"%mask = andi %inside, %other : tile<{size}xi1>",
        )
        mask = "%mask"
    k.add(
        f"%counts1 = reshape %counts : tile<ptr<{word}>> -> tile<1xptr<{word}>>",
        f"%counts2 = broadcast %counts1 : tile<1xptr<{word}>> -> {words}",
        f"%at = offset %counts2, %index : {words}, {index} -> {words}",
        f"%amount = constant <{word}: {int(rng.integers(-3, 4))}> : tile<{size}x{word}>",
        f"%old, %done = atomic_rmw_tko relaxed device %at, add, %amount, {mask} : "
        f"{words}, tile<{size}x{word}>, tile<{size}xi1> -> tile<{size}x{word}>, token",
    )
    return k.case("count", blocks)


KINDS = {"choice": choice, "product": product, "count": count}


def make(seed: int) -> Case:
    """Return the kernel of a seed."""
    return list(KINDS.values())[seed % len(KINDS)](np.random.default_rng([seed, 11]))


def run(seed: int) -> tuple[int, dict[int, str]]:
    """Run a kernel with two numbers of warps; return its seed, and what is wrong for each, nothing where it agrees."""
    case = make(seed)
    module = tilery.parse(case.text)

    def copies() -> list[Any]:
        return [a.copy() if isinstance(a, np.ndarray) else a for a in case.arrays]

    wanted = copies()
    tilery.compile(module).launch(case.grid, wanted)
    found: dict[int, str] = {}
    for warps in (WARPS[seed // 3 % 4], WARPS[(seed // 3 + 1) % 4]):
        got = copies()
        try:
            triton.load(module, num_warps=warps).kernel().launch(case.grid, got)
        except tilery.TileError as error:
            found[warps] = f"refused: {error.message}"
            continue
        wrong = [int((a != b).sum()) for a, b in zip(got, wanted) if isinstance(a, np.ndarray)]
        found[warps] = f"wrong: {wrong}" if any(wrong) else ""
    return seed, found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=400, help="kernels")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--workers", type=int, default=12, help="processes")
    parser.add_argument("--seconds", type=float, default=0, help="stop after this time")
    parser.add_argument("--reproduce", type=int, metavar="SEED", help="print a kernel")
    parser.add_argument("--report", type=Path, help="the page to write")
    args = parser.parse_args()
    if args.reproduce is not None:
        print(make(args.reproduce).text)
        return 0
    seeds = range(args.seed, args.seed + args.count)
    tally = {kind: Counter[str]() for kind in KINDS}
    bad: list[str] = []
    deadline = time.monotonic() + (args.seconds or 1e9)
    done = 0
    with multiprocessing.get_context("spawn").Pool(args.workers) as pool:
        waiting = pool.imap_unordered(run, seeds)
        for _ in seeds:
            try:
                seed, result = waiting.next(max(0.0, deadline - time.monotonic()))
            except multiprocessing.TimeoutError:
                break
            done += 1
            for warps, text in result.items():
                tally[make(seed).kind][text.partition(":")[0] or "same"] += 1
                if text:
                    bad.append(f"{make(seed).kind} {seed}, {warps} warps: {text[:200]}")
                    print(bad[-1], file=sys.stderr, flush=True)
    checkout.publish(page(tally, bad, seeds, done), args.report)
    return 1 if any(counts["wrong"] for counts in tally.values()) else 0


DESCRIPTION = (
    "`choice` reduces two or three values at once: the largest or smallest element, its position, and perhaps a third "
    "value; elements are NaN, infinities, zeros of both signs, and equal numbers. `product` multiplies matrices of "
    "small integers with few rows or columns. `count` adds to words of an array through atomic operations, as a "
    "histogram does."
)


def page(tally: dict[str, Counter[str]], bad: list[str], seeds: range, done: int) -> str:
    """Return the text of the report."""
    held = "are held out" if seeds.start >= HELD_OUT else "are not held out"
    lines = [
        "# Reductions, small products and counts through Triton",
        "",
        checkout.fill(
            f"`python scripts/gpu_lowering.py --count {len(seeds)} --seed {seeds.start}` wrote this page. It ran "
            f"{done} of {len(seeds)} kernels on a GPU through engine triton, each with two of "
            f"{', '.join(map(str, WARPS[:-1]))} and {WARPS[-1]} warps, and compared arrays with the reference "
            f"engine, bit for bit. {DESCRIPTION} The seeds {held}."
        ),
        "",
        "| kernels | runs | same | refused | wrong |",
        "|---|--:|--:|--:|--:|",
    ]
    for kind, counts in tally.items():
        lines.append(
            f"| {kind} | {sum(counts.values())} | {counts['same']} | {counts['refused']} | {counts['wrong']} |"
        )
    lines += ["", "## Findings", "", *([f"* {line}" for line in bad] or ["None."]), "", "## Not measured", ""]
    return "\n".join([*lines, "Large arrays, sums that are rounded, and engine tileiras."])


if __name__ == "__main__":
    sys.exit(main())
