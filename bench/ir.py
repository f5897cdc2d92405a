"""How long `canonicalize` takes, as a multiple of the time that reading the same module's bytecode takes.

    python bench/ir.py [--sizes 10000 100000 1000000] [--json] > docs/reports/speed.md

Times are the best of a few runs in this process, so that ratios of one run can be compared.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

from tilery.bytecode.reader import read
from tilery.bytecode.writer import write
from tilery.ir import Block, Op, Value, walk
from tilery.ops import AddI, Entry, If, Module, PrintTko, Return, Select, Yield
from tilery.passes import parse_pipeline, run_pipeline
from tilery.types import I1, I32, Function, Tile

Made = TypeVar("Made")
INT, BOOL = Tile((), I32), Tile((), I1)
NESTED = 10_000
HEAD = """# Speed of the optimiser

`python bench/ir.py`: `canonicalize` on made-up modules, against reading the same module's bytecode in the same process.

| case | ops | rules fired | reading, us/op | canonicalize, us/op | ratio |
|---|---|---|---|---|---|"""


def module_of(body: Callable[[Value, Value, Value], list[Op]]) -> Module:
    """A module with one entry of an integer and two conditions."""
    values = [Value(INT), Value(BOOL), Value(BOOL)]
    block = Block(values, [*body(*values), Return(operands_=())])
    entry = Entry(sym_name="k", function_type=Function([v.type for v in values]), body=block)
    return Module(sym_name="kernels", body=Block([], [entry]))


def keep(value: Value) -> Op:
    """A use of a value that is not dead."""
    return PrintTko(str_="%d", args=(value,))


def straight(count: int, every: int = 0) -> Module:
    """A chain of additions; each op whose number `every` divides is a select that canonicalize replaces."""

    def body(x: Value, c: Value, _: Value) -> list[Op]:
        ops: list[Op] = []
        last = x
        for number in range(count):
            made: Op = AddI(lhs=last, rhs=x)
            if every and number % every == 0:
                made = Select(cond=c, val_if_true=last, val_if_false=last)
            ops.append(made)
            last = made.results[0]
        return [*ops, keep(last)]

    return module_of(body)


def chained(count: int) -> Module:
    """Neighbouring ifs with the same condition, which become one."""

    def body(x: Value, c: Value, _: Value) -> list[Op]:
        return [
            If(condition=c, results_=(), thenRegion=Block([], [keep(x), Yield(operands_=())])) for _ in range(count)
        ]

    return module_of(body)


def nested(count: int) -> Module:
    """Ifs within ifs, which become one."""

    def body(x: Value, c: Value, d: Value) -> list[Op]:
        inner: list[Op] = [keep(x)]
        for number in range(count):
            inner = [If(condition=(c, d)[number % 2], results_=(), thenRegion=Block([], [*inner, Yield(operands_=())]))]
        return inner

    return module_of(body)


def best(prepare: Callable[[], Made], run: Callable[[Made], object], times: int) -> float:
    """The shortest of some runs in seconds, without what prepares each."""
    found = float("inf")
    for _ in range(times):
        given = prepare()
        gc.collect()
        start = time.perf_counter()
        run(given)
        found = min(found, time.perf_counter() - start)
        del given
    return found


def measure(name: str, module: Module, pipeline: str = "canonicalize") -> dict[str, Any]:
    data = write(module)
    count = sum(1 for _ in walk(module))
    del module
    passes = parse_pipeline(pipeline)
    times = 3 if count <= 200_000 else 1
    reading = best(lambda: data, read, times)
    optimising = best(lambda: read(data), lambda m: run_pipeline(m, passes), times)
    again = read(data)
    fired = run_pipeline(again, passes).counts.total()
    return {
        "case": name,
        "ops": count,
        "fired": fired,
        "read_us_per_op": reading / count * 1e6,
        "opt_us_per_op": optimising / count * 1e6,
        "ratio": optimising / reading,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    cases: list[tuple[str, Callable[[], Module]]] = []
    for size in args.sizes:
        cases.append(("nothing fires", lambda size=size: straight(size)))
        cases.append(("a fifth fires", lambda size=size: straight(size, 5)))
    for size in (NESTED // 4, NESTED):
        cases.append(("chained ifs", lambda size=size: chained(size)))
        cases.append(("nested ifs", lambda size=size: nested(size)))
    rows = []
    if not args.json:
        print(HEAD)
    for name, make in cases:
        row = measure(name, make())
        rows.append(row)
        if not args.json:
            print(
                f"| {row['case']} | {row['ops']:,} | {row['fired']:,} | {row['read_us_per_op']:.2f} "
                f"| {row['opt_us_per_op']:.2f} | {row['ratio']:.2f} |",
                flush=True,
            )
    if args.json:
        json.dump(rows, sys.stdout, indent=2)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
