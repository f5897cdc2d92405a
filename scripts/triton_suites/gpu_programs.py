"""Compare the launches of whole programs: Triton on a GPU, and their Tile IR on the reference engine and on engine gpu.

    python scripts/triton_suites/gpu_programs.py plan FOLDER PLAN     # without a GPU: which launches to compare
    python scripts/triton_suites/gpu_programs.py compare FOLDER PLAN RESULTS [--jobs 4] [--seconds 120]  # with a GPU

FOLDER has programs such as those of TritonBench-G. `plan` runs each of them and keeps launches that the reference
engine executes within `LAUNCH_SECONDS`: the first for each kernel and its shapes, at most `MOST` of a program.
`compare` runs each program twice. Triton itself runs it on the GPU first, and the memory before and after each of the
launches is saved. In the second run the same launches find that memory, and both engines execute them.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import runpy
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parents[1] / "src")]

LAUNCH_SECONDS = 1.0
PROGRAM_SECONDS = 45
MOST = 8
BYTES = 64 << 20
PARTS = {"torch.float64": 1e-12, "torch.float32": 1e-5, "torch.float16": 2e-3, "torch.bfloat16": 1.6e-2}
"""How far floats may differ, as a part of the largest result: order of sums, and approximate functions."""

STARTED = time.monotonic()

Key = tuple[str, int]
"""A launch of a program: the name of the kernel, and how many launches of it came before."""
Row = dict[str, Any]
Watch = Callable[[Key, "dict[str, Any]", Callable[[], Any]], Any]
"""Called for each launch with its key, its tensors by name, and the launch itself."""


def tensors_of(function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
    """Return the tensors among the arguments of a launch, by the names of parameters."""
    given = dict(zip(function.arg_names, args)) | {k: v for k, v in options.items() if k in function.arg_names}
    return {name: v for name, v in given.items() if hasattr(v, "untyped_storage") and v.numel()}


def memory_of(tensor: Any) -> Any:
    """Return a copy of the memory from a tensor's first element to its last, on the host."""
    import torch

    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
    return torch.as_strided(tensor.detach(), (last + 1,), (1,)).cpu().clone()


def run_program(path: Path, watch: Watch) -> None:
    """Run a program as `python` would; autotuning takes the first configuration."""
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.jit import JITFunction

    counts: Counter[str] = Counter()
    original = JITFunction.run

    def run(self: Any, *args: Any, grid: Any, warmup: bool = False, **options: Any) -> Any:
        def launch() -> Any:
            return original(self, *args, grid=grid, warmup=warmup, **options)

        if warmup:
            return launch()
        key = self.__name__, counts[self.__name__]
        counts[self.__name__] += 1
        return watch(key, tensors_of(self, args, options), launch)

    def bench(self: Any, *args: Any, config: Any, **options: Any) -> list[float]:
        return [1.0, 1.0, 1.0]

    with ExitStack() as stack:
        stack.enter_context(patch.object(JITFunction, "run", run))
        stack.enter_context(patch.object(Autotuner, "_bench", bench))
        stack.enter_context(patch.object(sys, "argv", [str(path)]))
        runpy.run_path(str(path), run_name="__main__")


def shape_of(key: Key, tensors: dict[str, Any]) -> tuple[Any, ...]:
    """Return what tells launches of a program apart: kernel, shapes, strides and types."""
    return key[0], *((name, tuple(t.shape), t.stride(), str(t.dtype)) for name, t in tensors.items())


# ---------------------------------------------------------------- the plan


def plan(path: Path) -> list[Row]:
    """Run a program on the reference engine; return the launches that take little time, with their time."""
    import tilery.triton
    from tilery.programs.launches import engine_named

    reference = engine_named("reference")
    rows: list[Row] = []
    seen: set[tuple[Any, ...]] = set()
    wanted = False

    def execute(call: Any) -> None:
        if wanted:
            call.seconds = LAUNCH_SECONDS
            reference(call)

    def watch(key: Key, tensors: dict[str, Any], launch: Callable[[], Any]) -> Any:
        nonlocal wanted
        shape = shape_of(key, tensors)
        size = sum(memory_of(t).nbytes for t in tensors.values()) if len(rows) < MOST else 0
        wanted = shape not in seen and len(rows) < MOST and 0 < size <= BYTES
        seen.add(shape)
        start = time.process_time()
        try:
            found = launch()
        except tilery.TileError as error:
            print(path.name, *key, str(error).splitlines()[0][:100], flush=True)
            return None
        if wanted:
            rows.append({"kernel": key[0], "index": key[1], "seconds": round(time.process_time() - start, 3)})
        return found

    with tilery.triton.on(execute):
        run_program(path, watch)
    return rows


# ---------------------------------------------------------------- one program, both ways


def record(path: Path, keys: set[Key], folder: Path) -> None:
    """Run a program with Triton itself; save the memory before and after some of its launches."""
    import torch

    saved: dict[int, Any] = {}

    def watch(key: Key, tensors: dict[str, Any], launch: Callable[[], Any]) -> Any:
        if key not in keys:
            return launch()
        before = {name: memory_of(t) for name, t in tensors.items()}
        found = launch()
        torch.cuda.synchronize()
        after = {name: memory_of(t) for name, t in tensors.items()}
        saved[len(saved)] = key, before, after
        torch.save(list(saved.values()), folder / "launches.new")
        os.replace(folder / "launches.new", folder / "launches")
        return found

    run_program(path, watch)


def replay(path: Path, folder: Path, engines: list[str], tell: Callable[[Row], None]) -> None:
    """Run a program again; each launch that was saved is executed on each engine, and compared with the GPU's."""
    import torch

    import tilery.triton
    from tilery.programs.launches import engine_named

    launches = {tuple(key): (before, after) for key, before, after in torch.load(folder / "launches")}
    ways = {name: engine_named(name) for name in engines}
    current: Key = ("", 0)

    def execute(call: Any) -> None:
        if current not in launches:
            return
        before, after = launches[current]
        memory = {each.name: each for each in call.memory}
        for name, engine in ways.items():
            row = {"program": path.name, "kernel": current[0], "index": current[1], "engine": name}
            for array in before:
                if array in memory:
                    write(memory[array], before[array])
            try:
                engine(call)
            except tilery.TileError as error:
                tell({**row, "outcome": "refused", "reason": str(error).splitlines()[0][:200]})
                continue
            found = {array: read(memory[array], after[array]) for array in after if array in memory}
            tell({**row, **compare(before, after, found)})
        for array in after:  # the program goes on as on the GPU
            if array in memory:
                write(memory[array], after[array])

    def watch(key: Key, tensors: dict[str, Any], launch: Callable[[], Any]) -> Any:
        nonlocal current
        current = key
        return launch()

    with tilery.triton.on(execute):
        run_program(path, watch)


def write(extent: Any, content: Any) -> None:
    if extent.size != content.nbytes:
        raise SystemExit(f"{extent.name} has {extent.size} bytes here and {content.nbytes} on the GPU")
    ctypes.memmove(extent.address, content.data_ptr(), content.nbytes)


def read(extent: Any, like: Any) -> Any:
    found = like.clone()
    ctypes.memmove(found.data_ptr(), extent.address, found.nbytes)
    return found


def compare(before: dict[str, Any], gpu: dict[str, Any], here: dict[str, Any]) -> Row:
    """Return how the arrays that a launch changed compare, and the one that differs most."""
    import torch

    worst: Row = {"outcome": "equal"}
    changed = 0
    for name, mine in here.items():
        theirs, old = gpu[name], before[name]
        same = mine.view(torch.uint8).equal(theirs.view(torch.uint8))
        changed += not (same and mine.view(torch.uint8).equal(old.view(torch.uint8)))
        if same:
            continue
        a, b = theirs.double(), mine.double()
        off = torch.where((a == b) | (a.isnan() & b.isnan()), 0.0, (a - b).abs())
        off = torch.where(off.isnan(), float("inf"), off)
        if not off.any():
            continue
        at = int(off.argmax())
        largest = float(a[a.isfinite()].abs().max()) if a.isfinite().any() else 0.0
        part = float(off[at]) / largest if largest else float("inf")
        limit = PARTS.get(str(theirs.dtype), 0.0)
        outcome = "within the error" if part <= limit else "different"
        if worst["outcome"] == "equal" or part / (limit or 1e-300) > worst["weight"]:
            worst = {"outcome": outcome, "array": name, "type": str(theirs.dtype), "part": part, "element": at}
            worst |= {"weight": part / (limit or 1e-300), "gpu": a[at].item(), "here": b[at].item()}
            worst["elements"], worst["size"] = int((off > 0).sum()), off.numel()
    worst.pop("weight", None)
    return worst | {"arrays": changed}


# ---------------------------------------------------------------- all programs


def in_child(work: Callable[[], None], log: Path, seconds: float) -> str:
    """Run a function in a fork; return how it ended, as text."""
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        with log.open("ab") as out:
            os.dup2(out.fileno(), 1)
            os.dup2(out.fileno(), 2)
        status = 1
        try:
            work()
            status = 0
        except SystemExit as error:
            status = 0 if error.code in (None, 0) else 1
            print(f"SystemExit: {error}")
        except BaseException as error:  # whatever a program raises is a result
            print(f"{type(error).__name__}: {str(error)[:300]}")
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            if os.waitstatus_to_exitcode(status) == 0:
                return "ended"
            lines = log.read_text("utf-8", "replace").strip().splitlines()
            return lines[-1][:200] if lines else f"status {status}"
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "too long"


def warm_up() -> None:
    """Import what all programs need, so that forks have it."""
    import torch
    import triton  # noqa: F401

    import tilery.triton  # noqa: F401
    from tilery.cli import main  # noqa: F401

    torch.set_num_threads(1)


def make_plan(args: argparse.Namespace) -> None:
    found: dict[str, list[Row]] = json.loads(args.plan.read_text("utf-8")) if args.plan.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted(args.folder.glob("*.py")):
            if path.name in found:
                continue
            rows, log = Path(folder) / "rows", Path(folder) / f"{path.stem}.log"
            rows.unlink(missing_ok=True)
            how = in_child(lambda: _write(rows, plan(path)), log, PROGRAM_SECONDS)  # noqa: B023
            found[path.name] = json.loads(rows.read_text("utf-8")) if rows.exists() else []
            print(path.name, len(found[path.name]), how, flush=True)
            args.plan.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


def _write(path: Path, rows: list[Row]) -> None:
    path.write_text(json.dumps(rows), "utf-8")


def compare_program(path: Path, keys: list[Row], engines: list[str], record_on: str, end: float) -> Row:
    """Run a program both ways; return the rows of its launches, and how each run ended."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["TRITON_CACHE_DIR"] = str(folder / "cache")
        wanted = {(row["kernel"], row["index"]) for row in keys}
        left = min(PROGRAM_SECONDS, end - time.monotonic())
        if left < 3:
            return {"program": path.name, "gpu": "no time", "rows": []}

        def first() -> None:
            if record_on != "gpu":  # to try this script without a GPU
                import tilery.triton

                with tilery.triton.on(record_on):
                    record(path, wanted, folder)
            else:
                record(path, wanted, folder)

        gpu = in_child(first, folder / "gpu.log", left)
        if not (folder / "launches").exists():
            return {"program": path.name, "gpu": gpu, "rows": []}
        out = folder / "rows"

        def second() -> None:
            with out.open("a") as lines:
                replay(path, folder, engines, lambda row: print(json.dumps(row), file=lines, flush=True))

        left = min(PROGRAM_SECONDS, end - time.monotonic())
        here = in_child(second, folder / "here.log", left) if left > 0 else "no time"
        rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()] if out.exists() else []
        return {"program": path.name, "gpu": gpu, "here": here, "rows": rows}


def compare_all(args: argparse.Namespace) -> None:
    end = STARTED + args.seconds
    chosen: dict[str, list[Row]] = json.loads(args.plan.read_text("utf-8"))
    names = [name for name, rows in chosen.items() if rows and args.only in name]
    # Programs with many launches for their time come first, in case the time is over before the last one.
    names.sort(key=lambda name: sum(row["seconds"] for row in chosen[name]) / len(chosen[name]))
    results: list[Row] = []

    def work(share: int, out: Path) -> None:
        found: list[Row] = []
        for name in names[share :: args.jobs]:
            path = args.folder / name
            found.append(compare_program(path, chosen[name], args.engines.split(","), args.record_on, end))
            _write(out.with_suffix(".new"), found)
            os.replace(out.with_suffix(".new"), out)

    with tempfile.TemporaryDirectory() as folder:
        outs = [Path(folder) / f"{share}.json" for share in range(args.jobs)]
        children = []
        for share, out in enumerate(outs):
            if (child := os.fork()) == 0:
                try:
                    work(share, out)
                finally:
                    os._exit(0)
            children.append(child)
        for child in children:
            os.waitpid(child, 0)
        for out in outs:
            results += json.loads(out.read_text("utf-8")) if out.exists() else []
    args.results.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    rows = [row for each in results for row in each["rows"]]
    print(Counter((row["engine"], row["outcome"]) for row in rows), flush=True)
    print(Counter(each["gpu"] for each in results), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser()
    verbs = parser.add_subparsers(dest="verb", required=True)
    sub = verbs.add_parser("plan")
    sub.add_argument("folder", type=Path)
    sub.add_argument("plan", type=Path)
    sub = verbs.add_parser("compare")
    sub.add_argument("folder", type=Path)
    sub.add_argument("plan", type=Path)
    sub.add_argument("results", type=Path)
    sub.add_argument("--jobs", type=int, default=4)
    sub.add_argument("--seconds", type=float, default=120.0, help="the time for all programs")
    sub.add_argument("--engines", default="reference,gpu")
    sub.add_argument("--record-on", default="gpu", help="an engine in the place of the GPU, to try the script")
    sub.add_argument("--only", default="")
    args = parser.parse_args()
    warm_up()
    if args.verb == "plan":
        make_plan(args)
    else:
        compare_all(args)
    return 0


if __name__ == "__main__":
    sys.exit(main())
