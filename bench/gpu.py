"""Measure kernels on a GPU: tuned and default variants of both compilers, torch, and the limits of the card.

    python bench/gpu.py build KERNELS --cutile CHECKOUT --tilegym CHECKOUT     bytecode of the rows, without a GPU
    python bench/gpu.py run KERNELS RESULTS.json [--only REGEX] [--full REGEX] [--minutes 8] [--tool tileiras.tar.xz]
    python bench/gpu.py report RESULTS.json [RESULTS.json ...]                 docs/reports/gpu.md and gpu.svg

CHECKOUT are NVIDIA's cutile-python and TileGym; nothing of them is copied. `run` compiles variants with all cores, then
measures in a child process, which is started again without a variant that hangs or faults. `--full` names kernels for
which every variant is tried, not only those of the model. `--tool` is an archive with NVIDIA's tileiras, for a machine
where it is not installed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import selectors
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpu_parts.export import export, read_rows

HERE = Path(__file__).parent
MORE = 1000
"""The number of the first variant that is added to what an earlier run has built."""
MANY = 1 << 30
"""More tile blocks than any rule asks for."""
SILENCE = 40.0
"""Seconds without a line from the child after which it counts as hanging."""


def build(args: argparse.Namespace) -> int:
    """Export the kernels of all rows."""
    kernels, _ = read_rows()
    failed = export(kernels, args.cutile, args.tilegym, args.kernels, args.target)
    print("\n".join(failed) or f"{len(kernels)} kernels")
    return int(bool(failed))


# ---------------------------------------------------------------- compiling


def compile_kernel(
    builder: Any, path: Path, target: str, full: bool, roles_only: bool, more: str
) -> list[Callable[[], dict[str, Any]]]:
    """Return the jobs of a kernel: functions that compile one variant each; with `more` only what it matches."""
    import tilery
    from tilery.engines.gpu.variants import Variant
    from tilery.engines.work import work_of
    from tilery.tuner.search import AS_IS
    from tilery.tuner.space import full_space, pruned_space

    module = tilery.load(str(path))
    entry = module.entries[0]
    work = work_of(entry)
    engines = ("triton", "tileiras")
    kept = [] if roles_only else pruned_space(work, target, engines)
    roles = {"triton": Variant("triton"), "as is": AS_IS}
    defaults = defaults_of(work)
    chosen = {*roles.values(), *defaults.values(), *candidates_of(work), *kept}
    every = dict.fromkeys(
        [*defaults.values(), *roles.values(), *candidates_of(work), *kept]
        + (full_space(work, target, engines) if full else [])
    )
    jobs: list[Callable[[], dict[str, Any]]] = []
    for number, variant in enumerate(every, MORE if more else 0):
        if more and not re.search(more, variant.label):
            continue
        facts = {
            "label": variant.label,
            "engine": variant.engine,
            "roles": [name for name, each in roles.items() if each == variant],
            "default_up_to": [most for most, each in defaults.items() if each == variant],
            "kept": variant in chosen,
        }

        def job(number: int = number, variant: Variant = variant, facts: dict[str, Any] = facts) -> dict[str, Any]:
            built = builder.one(module, entry, variant, target, number)
            facts["compile_seconds"] = built.seconds
            if built.binary is None:
                return {**facts, "error": built.error}
            (path.parent / "built" / path.stem / f"{number}.cubin").write_bytes(built.binary.image)
            return {**facts, "file": f"{number}.cubin", "contract": built.binary.contract.as_dict()}

        jobs.append(job)
    return jobs


def defaults_of(work: Any) -> dict[int, Any]:
    """Return the default variants by the most tile blocks for which each is: a kernel has several rows."""
    from tilery.engines.gpu.variants import ONE_EACH, TWO_EACH, default_variant

    return {most: default_variant(replace(work, blocks=most)) for most in (ONE_EACH, TWO_EACH, MANY)}


def candidates_of(work: Any) -> list[Any]:
    """Return what a first launch tries, for few tile blocks or for many."""
    from tilery.engines.gpu.variants import ONE_EACH, TWO_EACH, candidate_variants

    return [v for most in (ONE_EACH, TWO_EACH, MANY) for v in candidate_variants(replace(work, blocks=most))]


def compile_all(
    folder: Path, names: list[str], target: str, full: str, workers: int, roles_only: bool = False, more: str = ""
) -> float:
    """Compile the variants of all kernels; return the seconds that it took.

    With `more`, variants that match it are compiled and take the place of those that an earlier run has built.
    """
    from tilery.tuner.builds import Builds

    started = time.monotonic()
    with Builds(workers) as builder, ThreadPoolExecutor(workers) as pool:
        futures = {}
        for name in names:
            (folder / "built" / name).mkdir(parents=True, exist_ok=True)
            whole = bool(full) and re.search(full, name) is not None
            jobs = compile_kernel(builder, folder / f"{name}.tileirbc", target, whole, roles_only, more)
            futures[name] = [pool.submit(job) for job in jobs]
        for name, waiting in futures.items():
            variants = [future.result() for future in waiting]
            if more:
                variants = [*built_before(folder, name, more), *variants]
            (folder / "built" / name / "variants.json").write_text(json.dumps(variants), "utf-8")
            failed = [v for v in variants if "error" in v]
            print(f"{name}: {len(variants)} variants, {len(failed)} not compiled, {time.monotonic() - started:.0f} s")
            for v in failed[:3]:
                print(f"    {v['label']}: {v['error'][:150]}", flush=True)
    return time.monotonic() - started


def built_before(folder: Path, name: str, without: str) -> list[dict[str, Any]]:
    """Return the variants that an earlier run has built, but for those that match; the defaults are those of today."""
    import tilery
    from tilery.engines.work import work_of

    variants = json.loads((folder / "built" / name / "variants.json").read_text("utf-8"))
    defaults = defaults_of(work_of(tilery.load(str(folder / f"{name}.tileirbc")).entries[0]))
    for v in variants:
        v["default_up_to"] = [most for most, each in defaults.items() if each.label == v["label"]]
    return [v for v in variants if not re.search(without, v["label"])]


def unpack(archive: Path, folder: Path) -> None:
    """Unpack NVIDIA's tool and let the engine find it."""
    if not (folder / "bin" / "tileiras").exists():
        with tarfile.open(archive) as file:
            file.extractall(folder, filter="data")
    os.environ["TILEIRAS"] = str(folder.resolve() / "bin" / "tileiras")


# ---------------------------------------------------------------- measuring


def lines(process: subprocess.Popen[bytes]) -> Iterator[dict[str, Any] | None]:
    """Yield what the child says; None once, at the end, if it was silent for too long."""
    assert process.stdout is not None
    rest = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            if not selector.select(SILENCE):
                yield None
                return
            part = os.read(process.stdout.fileno(), 1 << 20)
            if not part:
                return
            *whole, rest = (rest + part).split(b"\n")
            for line in whole:
                if line.startswith(b"{"):
                    yield json.loads(line)


def run(args: argparse.Namespace) -> int:
    """Compile, then measure in children until all rows are done."""
    from tilery.engines.gpu.launch import compiler_versions

    if args.tool:
        unpack(args.tool, args.kernels / "tool")
    _, rows = read_rows()
    if args.only:
        rows = [row for row in rows if re.search(args.only, row["kernel"])]
    deadline = time.monotonic() + 60 * args.minutes
    names = list(dict.fromkeys(row["kernel"] for row in rows))
    facts: dict[str, Any] = {"rows": [], "bad": [], "missing": [], "cores": os.cpu_count()}
    if args.more or not args.built:
        workers = args.workers or os.cpu_count() or 1
        compile_all(args.kernels, names, args.target, args.full, workers, args.roles, args.more)
    facts["versions"] = dict(compiler_versions())
    while rows and time.monotonic() < deadline:
        rows = supervise(rows, args, facts, deadline)
        args.results.write_text(json.dumps(facts), "utf-8")
    facts["missing"] += [f"{row['name']} {row['shape']}" for row in rows]
    args.results.write_text(json.dumps(facts), "utf-8")
    print(f"{len(facts['rows'])} rows, missing: {facts['missing']}, bad: {facts['bad']}")
    return 0


def supervise(
    rows: list[dict[str, Any]], args: argparse.Namespace, facts: dict[str, Any], deadline: float
) -> list[dict[str, Any]]:
    """Run one child until it ends or hangs; return the rows that are left."""
    request = {
        "kernels": str(args.kernels),
        "rows": rows,
        "bad": facts["bad"],
        "rounds": args.rounds,
        "seconds": deadline - time.monotonic() - 15,
        "limits": "limits" not in facts,
    }
    process = subprocess.Popen([sys.executable, __file__, "child"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(json.dumps(request).encode())
    process.stdin.close()
    trying: list[str] | None = None
    done, late = 0, False
    for line in lines(process):
        match (line or {}).get("kind", "silence"):
            case "try":
                assert line is not None
                trying = [line["kernel"], line["label"]]
            case "limits":
                facts["limits"] = line
            case "row":
                assert line is not None
                facts["rows"].append(line["result"])
                print(summary(line["result"]), flush=True)
                done, trying = done + 1, None
            case "failed":
                print(line, flush=True)
                done, trying = done + 1, None
            case "late":
                late = True
                facts["missing"] += [f"{row['name']} {row['shape']}" for row in rows[done:]]
            case "silence" | "lost":
                print(f"lost: {trying} {line}", flush=True)
                break
    process.kill()
    if process.wait() not in (0, -9, 3):
        print(f"the child ended with status {process.returncode}", flush=True)
    left = rows[done:]
    if left and not late:
        if trying is None:  # not the fault of a variant: go on with the next row
            facts["missing"].append(f"{left[0]['name']} {left[0]['shape']}")
            return left[1:]
        facts["bad"].append(trying)
    return [] if late else left


def summary(row: dict[str, Any]) -> str:
    """One line about a row."""
    scale = 1e12 if row["unit"] == "TFLOP/s" else 1e9

    def best(engine: str) -> str:
        good = [v for v in row["variants"] if v["engine"] == engine and v.get("ok") and v.get("final")]
        if not good:
            return f"{engine}: none"
        v = min(good, key=lambda v: v["seconds"])
        return f"{v['label']} {row['work'] / v['seconds'] / scale:.0f}"

    wrong = [f"{v['label']} {v['error_size']:.1e}" for v in row["variants"] if v.get("ok") is False and v["error_size"]]
    parts = [best(engine) for engine in ("triton", "tileiras", "torch")]
    return f"{row['name']} [{row['shape']}]: " + " | ".join(parts) + (f" WRONG {wrong[:3]}" if wrong else "")


def rename_defaults(runs: list[dict[str, Any]], kernels: Path) -> None:
    """Take today's defaults of kernels for which the rules ask nothing about the launch, if they have been timed."""
    import tilery
    from tilery.engines.work import work_of

    for row in (row for run in runs for row in run["rows"]):
        work = work_of(tilery.load(str(kernels / f"{row['kernel']}.tileirbc")).entries[0])
        labels = {variant.label for variant in defaults_of(work).values()}
        timed = [v for v in row["variants"] if v["label"] in labels and v.get("final")]
        if len(labels) == 1 and timed:
            row["renamed"] = "gpu" not in timed[0].get("roles", ())
            for v in row["variants"]:
                v["roles"] = [role for role in v.get("roles", ()) if role != "gpu"]
            timed[0]["roles"].append("gpu")


def report(args: argparse.Namespace) -> int:
    """Write the page."""
    from gpu_parts.page import load, publish

    samples = args.samples.read_text("utf-8") if args.samples else ""
    runs = load(args.results)
    if args.kernels:
        rename_defaults(runs, args.kernels)
    publish(runs, HERE.parent / "docs" / "reports", samples, load(args.programs))
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    builds = verbs.add_parser("build")
    builds.add_argument("kernels", type=Path)
    builds.add_argument("--cutile", type=Path, required=True)
    builds.add_argument("--tilegym", type=Path, required=True)
    builds.add_argument("--target", default="sm_90")
    runs = verbs.add_parser("run")
    runs.add_argument("kernels", type=Path)
    runs.add_argument("results", type=Path)
    runs.add_argument("--only", default="")
    runs.add_argument("--full", default="")
    runs.add_argument("--tool", type=Path)
    runs.add_argument("--rounds", type=int, default=5)
    runs.add_argument("--minutes", type=float, default=8)
    runs.add_argument("--target", default="sm_90")
    runs.add_argument("--roles", action="store_true", help="measure the defaults only, without tuning")
    runs.add_argument("--built", action="store_true", help="measure what an earlier run compiled")
    runs.add_argument("--more", default="", help="compile variants that match this, too, and add them")
    runs.add_argument("--workers", type=int, default=0)
    reports = verbs.add_parser("report")
    reports.add_argument("results", type=Path, nargs="+")
    reports.add_argument("--samples", type=Path, help="what `tilery cutile tune` printed")
    reports.add_argument(
        "--kernels", type=Path, help="the kernels: defaults are those of today, as far as they were timed"
    )
    reports.add_argument("--programs", type=Path, nargs="*", default=[], help="results of gpu_defaults.py run")
    verbs.add_parser("child")
    args = parser.parse_args()
    if args.verb == "child":
        from gpu_parts.measure import child

        child(json.load(sys.stdin))
        return 0
    return {"build": build, "run": run, "report": report}[args.verb](args)


if __name__ == "__main__":
    sys.exit(main())
