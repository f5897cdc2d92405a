"""Measure kernels: engine cpu against torch, JAX, Numba, NumPy, the reference engine and the limits of the machine.

    python bench/run.py --report [--triton PYTHON]        writes docs/reports/run.json and run.md
    python bench/run.py [--quick] [--only gemm] [--threads 2] [--scaling] [--out DIR] [--name NAME]
    python bench/run.py --redraw [--out DIR] [--name NAME]    the page from an existing NAME.json

`--scaling` also times every kernel on 1, 2, 4 and more threads.

Contenders take turns, and each time is the best of many rounds, so that other load on the machine hits all of them.
Libraries that are not installed are left out. PYTHON is an interpreter with torch and Triton, for Triton's interpreter,
which takes minutes. The process starts itself again with a malloc that keeps memory (see `peers.MALLOC`), for torch.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tilery
from cases import HERE, QUICK, Case, Sizes, cases
from cold import measure_calls
from limits import Limits
from peers import MALLOC, PEERS, installed
from run_page import page

REPORTS = HERE.parent / "docs" / "reports"
REST = 0.004
"""Seconds of rest before each measurement: threads of torch spin for a while after each call."""


def aligned(x: Any, offset: int = 0) -> Any:
    """Return a copy whose first element is `offset` bytes after a cache line: torch allocates at 0, NumPy at 16."""
    raw = np.empty(x.nbytes + 128, np.uint8)
    at = -raw.ctypes.data % 64 + offset
    made = raw[at : at + x.nbytes].view(x.dtype).reshape(x.shape)
    made[...] = x
    return made


def once(run: Callable[[], object]) -> float:
    """Return the milliseconds that a call takes."""
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) * 1e3


def take_turns(calls: dict[str, Callable[[], object]], rounds: int, seconds: float = 0.5) -> dict[str, float]:
    """Return the milliseconds of the fastest round of each; one that takes long gets fewer rounds."""
    best: dict[str, float] = {}
    spent = dict.fromkeys(calls, 0.0)
    for turn in range(rounds):
        for name, call in calls.items():
            if turn and spent[name] > seconds * 1e3:
                continue
            time.sleep(REST)
            taken = [once(call), once(call)] if best.get(name, 0) < 200 else [once(call)]
            spent[name] += sum(taken)
            best[name] = min(best.get(name, taken[0]), *taken)
    return best


def kernel_of(name: str, **options: Any) -> Any:
    return tilery.compile(tilery.parse((HERE / "kernels" / f"{name}.mlir").read_text()), **options)


def measure(case: Case, args: argparse.Namespace, limits: Limits) -> dict[str, float]:
    """Time one of the six kernels in every way."""
    case.args[:] = [aligned(x) for x in case.args]
    fast, exact = kernel_of(case.name, engine="cpu"), kernel_of(case.name, engine="cpu", exact=True)
    slow = kernel_of(case.name)

    def on(kernel: Any, threads: int) -> Callable[[], object]:
        return lambda: kernel.launch(case.grid, case.args, convention="cutile", threads=threads)

    for kernel in (fast, exact):
        case.args[-1][...] = 0
        on(kernel, args.threads)()
        case.check()
    calls = {"cpu": on(fast, args.threads), "cpu, exact": on(exact, args.threads), "cpu, one thread": on(fast, 1)}
    for name, (package, make) in PEERS.items():
        try:
            call = make(case.name, case.args[:-1], args.threads) if installed(package) else None
            if call is not None:
                case.check(call())
                calls[name] = call
        except Exception as error:  # a peer that does not work here must not stop the others
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
    calls["reference"] = on(slow, args.threads)
    flop = {"gemm": 2 * case.args[0].size * case.args[0].shape[-1]}
    flop["attention"] = 4 * case.args[0].size * case.args[0].shape[1] if case.name == "attention" else 0
    if case.name in ("gemm", "attention"):
        calls["limit of the machine"], most = limits.peak()
        found = take_turns(calls, args.rounds)
        found["limit of the machine"] *= flop[case.name] / most
    else:
        name = "triad" if case.name == "vadd" else "copy"
        arrays = [case.args[0], case.args[1]] if name == "triad" else [case.args[0]]
        calls["limit of the machine"] = limits.move(name, *arrays, aligned(case.args[-1]))
        found = take_turns(calls, args.rounds)
    return found


class Pair:
    """A kernel, and nothing but moving the memory that it moves, which takes place before and after it in each round.

    Other guests of a machine take part of its bandwidth, more in one second and less in the next.
    """

    def __init__(self, run: Callable[[], object], limit: Callable[[], object]) -> None:
        self.run, self.limit = run, limit
        self.times: list[float] = []
        self.limits: list[float] = []
        self.parts: list[float] = []

    def measure(self) -> None:
        time.sleep(REST)
        before, taken, after = (once(call) for call in (self.limit, self.run, self.limit))
        self.times.append(taken)
        self.limits += [before, after]
        self.parts.append((before + after) / 2 / taken)

    def found(self) -> dict[str, float]:
        low, median, high = np.percentile(self.parts, [10, 50, 90]).tolist()
        best = {"best, ms": min(self.times), "best limit, ms": min(self.limits)}
        return {"median": median, "low": low, "high": high, **best}


def bandwidth(args: argparse.Namespace, limits: Limits) -> dict[str, dict[str, dict[str, float]]]:
    """Time the kernels that memory limits on arrays of four times the L3, on two alignments, taking turns."""
    large = Sizes(flat=1 << 25, rows=1 << 15, edge=128, heads=1, length=128) if not args.quick else QUICK
    pairs: dict[str, dict[str, Pair]] = {}
    for case in cases(large):
        if case.name not in ("vadd", "softmax", "layernorm") or (args.only and case.name not in args.only):
            continue
        kernel = kernel_of(case.name, engine="cpu")
        for offset in (0, 16):
            values = [aligned(x, offset) for x in case.args]
            moved = values[:2] if case.name == "vadd" else values[:1]
            limit = limits.move("triad" if case.name == "vadd" else "copy", *moved, aligned(case.args[-1]))
            launch = kernel.bind(case.grid, values, convention="cutile")
            pairs.setdefault(case.name, {})[f"{offset} mod 64"] = Pair(launch, limit)
    for _ in range(4 * args.rounds):
        for row in pairs.values():
            for pair in row.values():
                pair.measure()
    return {name: {label: pair.found() for label, pair in row.items()} for name, row in pairs.items()}


def scaling(args: argparse.Namespace) -> dict[str, float]:
    """Return how many times longer 16 times as much work takes."""
    found = {}
    for name, small, big in (
        ("vadd", Sizes(flat=1 << 21), Sizes(flat=1 << 25)),
        ("softmax", Sizes(rows=2048), Sizes(rows=32768)),
        ("layernorm", Sizes(rows=2048), Sizes(rows=32768)),
    ):
        calls = {}
        for label, sizes in (("small", small), ("big", big)):
            case = next(c for c in cases(sizes) if c.name == name)
            calls[label] = kernel_of(name, engine="cpu").bind(case.grid, case.args, convention="cutile")
        times = take_turns(calls, args.rounds)
        found[name] = times["big"] / times["small"]
    return found


def counts_of(threads: int) -> list[int]:
    """Return the powers of two up to a number of threads, and the number."""
    return sorted({*(1 << k for k in range(threads.bit_length()) if 1 << k <= threads), threads})


def by_threads(args: argparse.Namespace) -> dict[str, dict[str, dict[int, float]]]:
    """Return milliseconds by kernel, contender and number of threads."""
    from more import large_products, module_of, products

    found: dict[str, dict[str, dict[int, float]]] = {}
    launches: dict[str, tuple[Any, Any, list[Any], Callable[[int], Callable[[], object] | None]]] = {}
    for case in cases(QUICK if args.quick else Sizes()):
        values = [aligned(x) for x in case.args]

        def peer(threads: int, name: str = case.name, values: list[Any] = values) -> Callable[[], object] | None:
            package, make = PEERS["torch eager"]
            return make(name, values[:-1], threads) if installed(package) else None

        launches[case.name] = kernel_of(case.name, engine="cpu"), case.grid, values, peer
    for name, more in {**products(args.quick), **large_products(args.quick)}.items():
        kernel = tilery.compile(module_of(args.kernels, more), engine="cpu")
        launches[name] = kernel, more.grid, more.arrays, more.peer
    for name, (kernel, grid, values, peer_of) in launches.items():
        row: dict[str, dict[int, float]] = found.setdefault(name, {})
        for threads in counts_of(args.threads):
            calls: dict[str, Callable[[], object]] = {
                "cpu": lambda: kernel.launch(grid, values, convention="cutile", threads=threads)  # noqa: B023
            }
            if (peer_call := peer_of(threads)) is not None:
                calls["torch eager"] = peer_call
            for contender, ms in take_turns(calls, args.rounds, 0.25).items():
                row.setdefault(contender, {})[threads] = ms
        print(name, row, file=sys.stderr, flush=True)
    return found


def slow_ways(args: argparse.Namespace, sizes: Sizes) -> dict[str, dict[str, float]]:
    """Time what takes minutes, once each: tile blocks one by one, and Triton's interpreter."""
    found = {}
    for case in cases(sizes):
        if args.only and case.name not in args.only:
            continue
        kernel = kernel_of(case.name)
        run_one = once(lambda: kernel.launch(case.grid, case.args, convention="cutile", batch=1))  # noqa: B023
        found[case.name] = {"reference, tile blocks one by one": run_one}
    for name, ms in triton_times(args.triton, sizes, list(found))["ms"].items():
        found[name]["Triton's interpreter"] = ms
    return found


def triton_times(python: str, sizes: Sizes, names: list[str]) -> dict[str, Any]:
    """Run the same kernels in Triton's interpreter, in a Python that has it."""
    environment = {**os.environ, "SIZES": json.dumps(sizes.as_list())}
    command = [python, str(HERE / "triton_peer.py"), *names]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in ("numpy", "llvmlite", "torch", "jax", "numba", "triton"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def run(args: argparse.Namespace, keep: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Measure everything; return plain data for run.json. `keep` gets what there is, in case that the run is ended."""
    from more import measure_more
    from tilery.engines.cpu.native.compiler import host

    cores = os.cpu_count() or 1
    load = os.getloadavg()[0] / cores
    sizes = QUICK if args.quick else Sizes()
    limits = Limits(args.threads)
    found: dict[str, Any] = {"versions": versions(), "cpu": host().cpu, "cores": cores, "threads": args.threads}
    found |= {"load": load, "quick": args.quick}
    chosen = [c for c in cases(sizes) if not args.only or c.name in args.only]
    found["ms"], found["cut short"] = {}, True
    for case in chosen:
        found["ms"][case.name] = measure(case, args, limits)
        print(case.name, {k: round(v, 2) for k, v in found["ms"][case.name].items()}, file=sys.stderr, flush=True)
    keep(found)
    found["by threads"] = by_threads(args) if args.scaling else {}
    keep(found)
    found["bandwidth"] = bandwidth(args, limits)
    found["scaling"] = scaling(args) if not args.quick and not args.only else {}
    found["more"] = measure_more(args, take_turns)
    keep(found)
    found["calls"] = measure_calls(HERE / "kernels", args.only)
    del found["cut short"]
    found["load at the end"] = os.getloadavg()[0] / cores
    if args.triton:
        for name, row in slow_ways(args, sizes).items():
            found["ms"][name] |= row
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--triton", metavar="PYTHON")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--quick", action="store_true", help="small arrays, to see that it works")
    parser.add_argument("--only", action="append")
    parser.add_argument("--report", action="store_true", help="write docs/reports/run.json and run.md")
    parser.add_argument("--out", type=Path, help="the folder for run.json and run.md, in place of docs/reports")
    parser.add_argument("--name", default="run", help="the name of both files")
    parser.add_argument("--scaling", action="store_true", help="also time every kernel on 1, 2, 4 and more threads")
    parser.add_argument("--redraw", action="store_true", help="rewrite the page from run.json, without measuring")
    args = parser.parse_args()
    args.kernels = HERE / "kernels"
    folder: Path | None = args.out or (REPORTS if args.report or args.redraw else None)
    if args.redraw and folder:
        found = json.loads((folder / f"{args.name}.json").read_text("utf-8"))
    else:
        if os.environ.get("MALLOC_TOP_PAD_") != MALLOC["MALLOC_TOP_PAD_"]:
            os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **MALLOC, "JAX_PLATFORMS": "cpu"})
        found = run(args, lambda part: write(folder, args.name, part))
    text = page(found)
    print(text)
    write(folder, args.name, found)
    return 0


def write(folder: Path | None, name: str, found: dict[str, Any]) -> None:
    """Write the numbers and the page."""
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.json").write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
        (folder / f"{name}.md").write_text(page(found) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
