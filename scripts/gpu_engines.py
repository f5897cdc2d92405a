"""Run kernels on a GPU through its engines and compare with the reference engine, bit for bit.

    python scripts/gpu_engines.py run RESULTS.json [--engine tileiras] [--engine triton[/num_warps=4]] [--random 1000]
                                      [--battery 3]
                                      [--ragged 6] [--hardware FOLDER] [--case random:9000422 ...] [--workers 12]
                                      [--seconds 30] [--minutes 8]                                       (with a GPU)
    python scripts/gpu_engines.py report RESULTS.json [RESULTS.json ...] [--hardware FOLDER]
                                      [--output docs/reports/lab/gpu_engines.md]
    python scripts/gpu_engines.py slim FOLDER TARGET

Cases run in worker processes: one that crashes or hangs is remembered, and the others go on. FOLDER holds the kernels
that a GPU has run and what it answered, see `hardware_report.py`; `slim` writes a smaller one for a machine that takes
little data, whose results are judged by `report`.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import checkout
import gpu_modules
import hardware_report
import tilery
from parts import gpu_battery, gpu_bugs, gpu_compare, gpu_hardware, gpu_page, gpu_ragged
from parts.gpu_battery import TARGET
from parts.gpu_compare import NAN_SIGNS
from parts.gpu_page import BUG, DIFFERENT, FAILED, NANS, PRINTS, REFUSED, SAME, Result
from support.contract import arguments, canonical_nans, run_contract, store_all_values
from tilery.declare.relations import TOP_LEVEL
from tilery.engines.common.limits import Limits
from tilery.engines.cuda.driver import open_driver
from tilery.engines.registry import load_engine
from tilery.engines.semantics import same_bits
from tilery.floats.formats import is_nan
from tilery.ir import walk
from tilery.ops import registered
from tilery.smith import Buffer

# ---------------------------------------------------------------- cases


def run_case(case: str, engine: str, folder: str) -> Result:
    """Run a case: `random:SEED`, `battery:OP:SEED`, `hardware:NAME`, `ragged:KERNEL:LAYOUT:SEED` or `bug:NAME`."""
    kind, _, rest = case.partition(":")
    started = time.monotonic()
    try:
        result = KINDS[kind](rest, engine, folder)
    except tilery.TileError as error:
        o = getattr(error, "op", None)
        lost = "context of the GPU is lost" in str(error) or "CUDA_ERROR" in str(error)
        result = Result("", "", FAILED if lost else REFUSED, text=str(error).splitlines()[0], op=o.name if o else "")
    except Exception as error:  # a bug of ours, which the report must show
        result = Result("", "", FAILED, text=f"{type(error).__name__}: {error}")
    result.case, result.engine, result.seconds = case, engine, time.monotonic() - started
    return result


def loader(engine: str) -> Callable[[Any], Any]:
    """Return what loads a module: an engine, perhaps with an option as in `triton/num_warps=4`."""
    name, _, option = engine.partition("/")
    key, _, value = option.partition("=")
    options: dict[str, Any] = {key: int(value)} if option else {}
    return partial(load_engine(name).load, **options)


def _random(seed: str, engine: str, folder: str) -> Result:
    made = gpu_modules.make(int(seed), TARGET)
    result = _compare(made.module, made.contract, made.args, engine)
    bug = gpu_bugs.known_bug(made.name, tilery.dumps(made.module, made.version))
    if result.outcome == DIFFERENT and engine == "tileiras" and bug is not None:
        result.outcome, result.op = BUG, bug.name
    return result


def _bug(name: str, engine: str, folder: str) -> Result:
    """The reduced kernel of a bug of NVIDIA's compiler: 1 is left where there is no bug."""
    bug = gpu_bugs.REDUCED[name]
    contract = bug.contract()
    args = [arguments(launch, number) for number, launch in enumerate(contract.launches)]
    result = _compare(bug.module(), contract, args, engine)
    result.op = name
    return result


def _ragged(rest: str, engine: str, folder: str) -> Result:
    """A kernel of the benchmarks on a shape that fills no tile, with guard values around its arrays."""
    wrong = gpu_ragged.run(rest, loader(engine), open_driver())
    kernel = rest.split(":")[0]
    loose = gpu_ragged.KERNELS[kernel].tolerance is not None
    return Result("", "", DIFFERENT if wrong else SAME, loose, wrong, kernel)


def _battery(rest: str, engine: str, folder: str) -> Result:
    """A random module in which one operation is frequent; hardware may compute it differently."""
    name, _, seed = rest.partition(":")
    made = gpu_battery.make(name, int(seed))
    module, contract = store_all_values(made.module, made.contract, every=True)
    result = _compare(module, contract, made.arguments(contract), engine)
    if result.outcome == DIFFERENT:
        made = made.with_loaded_constants()
        module, contract = store_all_values(made.module, made.contract, every=True)
        result.again = asdict(_compare(module, contract, made.arguments(contract), engine))
    result.op = result.op or name
    return result


def _compare(module: Any, contract: Any, args: list[list[Any]], engine: str, hidden: bool = False) -> Result:
    """Run a module on both engines; `hidden` if it does not show the bits of NaNs."""

    def copies() -> list[list[Any]]:
        return [[a.copy() if hasattr(a, "copy") else a for a in given] for given in args]

    wanted = run_contract(module, contract, given=copies())
    found = run_contract(module, contract, given=copies(), limits=Limits(seconds=20.0), load=loader(engine))
    loose = not all(same_bits(o) for o in walk(module))
    elements = [
        kind
        for launch in contract.launches
        for kind in [
            *(a.element for a in launch.args if isinstance(a, Buffer)),
            *(o.value.element for o in module.globals),
            None,
        ]
    ]
    differing = [n for n, (a, b) in enumerate(zip(wanted, found)) if a != b]
    memory = [n for n in differing if elements[n] is not None]
    if not differing:
        return Result("", "", SAME, loose)
    if not memory:
        signs = all(NAN_SIGNS.sub(b"", wanted[n]) == NAN_SIGNS.sub(b"", found[n]) for n in differing)
        at = next(
            i for i, (a, b) in enumerate(zip(wanted[differing[0]] + b"\0", found[differing[0]] + b"\0")) if a != b
        )
        both = " and ".join(repr(texts[differing[0]][max(0, at - 40) : at + 40]) for texts in (wanted, found))
        return Result("", "", NANS if signs else PRINTS, loose, both)
    text = f"{len(memory)} of {len(wanted)} buffers: " + "; ".join(
        f"{n} of {elements[n]}, {gpu_compare.difference(wanted[n], found[n], elements[n])[0]}" for n in memory[:4]
    )
    if all(_nans_differ(elements[n], wanted[n], found[n]) for n in memory):
        return Result("", "", NANS, loose, text)
    if not hidden and not loose:
        # Bits of NaNs may have become integers. Without them, everything must be the same.
        again = _compare(canonical_nans(module), contract, args, engine, hidden=True)
        if again.outcome in (SAME, PRINTS):
            return Result("", "", NANS, loose, f"{text}; the same if NaNs have one bit pattern")
        text += f"; if NaNs have one bit pattern: {again.text or again.outcome}"
    return Result("", "", DIFFERENT, loose, text, data=gpu_battery.packed(found) if loose else "")


def _nans_differ(element: Any, a: bytes, b: bytes) -> bool:
    """Tell whether all elements that differ are NaN on both sides."""
    import numpy as np

    if not element.is_float or len(a) != len(b) or element.bits < 8:
        return False
    dtype = f"u{max(1, element.row.memory_bits // 8)}"
    x, y = np.frombuffer(a, dtype), np.frombuffer(b, dtype)
    where = np.flatnonzero(x != y)
    bits = hardware_report.bits_of
    return all(is_nan(element, bits(element, x[i])) and is_nan(element, bits(element, y[i])) for i in where)


def _hardware(name: str, engine: str, folder: str) -> Result:
    """A kernel that a GPU has run before, compiled by tileiras: its answer is compared with that of the engine."""
    return gpu_hardware.run(name, loader(engine), folder)


KINDS = {"random": _random, "battery": _battery, "hardware": _hardware, "ragged": _ragged, "bug": _bug}


def all_cases(args: argparse.Namespace) -> list[str]:
    """Return the cases that the command line asks for."""
    if args.case:
        return list(args.case)
    cases = [f"bug:{bug.name}" for bug in gpu_bugs.BUGS if bug.name != "print_in_a_loop"]  # which hangs
    cases += [f"ragged:{name}" for name in gpu_ragged.case_names(args.ragged)]
    cases += [
        f"battery:{d.mnemonic}:{seed}"
        for d in registered()
        for seed in range(args.battery)
        if TOP_LEVEL not in d.traits and not d.regions
    ]
    cases += [f"random:{args.seed + n}" for n in range(args.random)]
    if args.hardware:
        cases += [f"hardware:{name}" for name in gpu_hardware.answers(str(args.hardware.resolve())).cases]
    return cases


# ---------------------------------------------------------------- workers


def work(jobs: list[tuple[str, str]], folder: str, pipe: Any) -> None:
    """Run cases one by one; end after one that failed, since the GPU may refuse everything after it."""
    for case, engine in jobs:
        result = run_case(case, engine, folder)
        pipe.send(asdict(result))
        if result.outcome == FAILED:
            break
    pipe.close()


def oversee(
    jobs: list[tuple[str, str]], folder: str, seconds: float, deadline: float, keep: Callable[[dict[str, Any]], None]
) -> None:
    """Start workers until every case has run or failed, or the time is up."""
    context = multiprocessing.get_context("spawn")
    while jobs and time.monotonic() < deadline:
        ours, theirs = context.Pipe(duplex=False)
        worker = context.Process(target=work, args=(jobs, folder, theirs), daemon=True)
        worker.start()
        theirs.close()
        started = False
        try:
            while jobs and time.monotonic() < deadline:
                wait = seconds if started else seconds + 30
                if not ours.poll(max(0.0, min(wait, deadline - time.monotonic()))):
                    if time.monotonic() >= deadline:
                        break
                    keep(asdict(Result(*jobs[0], FAILED, text="hangs")))
                    jobs = jobs[1:]
                    break
                keep(ours.recv())
                started = True
                jobs = jobs[1:]
        except EOFError:
            if started is False or worker.exitcode not in (0, None):
                keep(asdict(Result(*jobs[0], FAILED, text="the process died")))
                jobs = jobs[1:]
        worker.kill()
        worker.join()


def run(args: argparse.Namespace) -> int:
    """Run the cases on every engine, and write the results as they come."""
    cases, engines = all_cases(args), args.engine or ["tileiras", "triton"]
    jobs = [(case, engine) for case in cases for engine in engines]
    folder = str(args.hardware.resolve()) if args.hardware else ""
    deadline = time.monotonic() + 60 * args.minutes
    results: list[dict[str, Any]] = []
    lock = threading.Lock()

    def keep(result: dict[str, Any]) -> None:
        with lock:
            results.append(result)
            if len(results) % 200 == 0:
                print(len(results), Counter((r["engine"], r["outcome"]) for r in results), flush=True)

    threads = [
        threading.Thread(target=oversee, args=(jobs[n :: args.workers], folder, args.seconds, deadline, keep))
        for n in range(args.workers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    facts = {"machine": _machine(), "asked": len(jobs), "results": results}
    args.results.write_text(json.dumps(facts), "utf-8")
    print(Counter((r["engine"], r["case"].split(":")[0], r["outcome"]) for r in results))
    return 0


def _machine() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    from tilery.engines.tileiras.compiler import find_tool, tool_version

    driver = open_driver()
    try:
        triton = version("triton")
    except PackageNotFoundError:
        triton = ""
    try:
        tileiras = tool_version(find_tool())
    except tilery.TileError:
        tileiras = ""
    cuda = ".".join(map(str, driver.version))
    return {"device": driver.name, "target": driver.target, "driver": cuda, "triton": triton, "tileiras": tileiras}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    runs = verbs.add_parser("run")
    runs.add_argument("results", type=Path)
    runs.add_argument("--engine", action="append")
    runs.add_argument("--random", type=int, default=1000)
    runs.add_argument("--seed", type=int, default=9_000_000)
    runs.add_argument("--battery", type=int, default=3, help="modules for each operation")
    runs.add_argument("--ragged", type=int, default=6, help="shapes for each kernel and layout")
    runs.add_argument("--case", action="append", help="run this case instead of all")
    runs.add_argument("--hardware", type=Path)
    runs.add_argument("--workers", type=int, default=12)
    runs.add_argument("--seconds", type=float, default=60, help="after this time a case counts as hanging")
    runs.add_argument("--minutes", type=float, default=8)
    reports = verbs.add_parser("report")
    reports.add_argument("results", type=Path, nargs="+")
    reports.add_argument("--hardware", type=Path)
    reports.add_argument("--note", default="", help="a sentence for the report about the ragged shapes")
    reports.add_argument("--output", type=Path)
    slims = verbs.add_parser("slim")
    slims.add_argument("folder", type=Path)
    slims.add_argument("target", type=Path)
    args = parser.parse_args()
    if args.verb == "run":
        return run(args)
    if args.verb == "slim":
        gpu_hardware.slim(args.folder, args.target)
        return 0
    folder = str(args.hardware.resolve()) if args.hardware else ""
    runs_made = [json.loads(path.read_text("utf-8")) for path in args.results]
    # A case that ran again has its last result.
    last = {(r["case"], r["engine"]): r for each in runs_made for r in each["results"]}
    missing = sum(each["asked"] - len(each["results"]) for each in runs_made)
    facts = {
        "machine": runs_made[0]["machine"],
        "asked": len(last) + missing,
        "note": args.note,
        "results": [gpu_battery.judge_later(gpu_hardware.judge_later(r, folder)) for r in last.values()],
    }
    checkout.publish(gpu_page.page(facts), args.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
