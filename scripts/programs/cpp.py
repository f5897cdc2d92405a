"""Run public CUDA Tile C++ unchanged, without a GPU, and write docs/reports/lab/cpp_programs.{json,md}.

    python scripts/programs/cpp.py programs CHECKOUTS [--only TEXT] [--engine cpu] [--limit 120]
    python scripts/programs/cpp.py build CHECKOUTS --to FOLDER [--only TEXT]     # compile programs for another machine
    python scripts/programs/cpp.py built FOLDER [--jobs 4] [--deadline 300]      # run them there: FOLDER/results.json
    python scripts/programs/cpp.py take FOLDER                                   # keep those results
    python scripts/programs/cpp.py headers TILEGYM              # whether each header of TileGym's C++ compiles
    python scripts/programs/cpp.py tests TILEGYM [--only TEXT] [--limit 150]
    python scripts/programs/cpp.py redraw                       # the page again, from cpp_programs.json

CHECKOUTS is a folder with a clone of each repository below, named owner+name. TILEGYM is a clone of NVIDIA/TileGym.
held_out.toml names the third of the programs and of the files of tests that nothing was changed for.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import checkout
from parts.limited import Found, environment, limited, outcomes, parted, revision
from tilery import cpp
from tilery.cpp.program import HostProgram, build_program, run_program
from tilery.diag import TileError

NUMBERS = checkout.LAB / "cpp_programs.json"
REPORT = checkout.LAB / "cpp_programs.md"
HELD_OUT = tomllib.loads(Path(__file__).with_name("held_out.toml").read_text("utf-8"))
ONCE = "--warmup 1 --iters 1"
MBR, BENCHMARK = "baicai-1145/MBR-CUDA-Tile", "thomas-hiddenpeak/cuda-tile-benchmark"
PROGRAMS = [
    (MBR, "bench/cutile_tile_layout_probe.cu", ""),
    (MBR, "bench/bf16_gate_merge_cutile.cu", f"--variant token2 --shape freq --compare-baseline {ONCE}"),
    (MBR, "bench/bf16_mask_hidden_cutile.cu", f"--k 256 --variant t32x64x64 {ONCE}"),
    (MBR, "bench/bf16_mask_final_glu_cutile.cu", f"--variant n24_contig {ONCE}"),
    (MBR, "bench/bf16_qkv_bkn_cutile.cu", f"--variant baseline {ONCE}"),
    (MBR, "bench/bf16_ffn12_residual_cutile.cu", f"--variant old {ONCE}"),
    (MBR, "bench/bf16_ffn12_two_stage_cutile.cu", f"--variant fused_pairh32_lat2 {ONCE}"),
    (MBR, "bench/bf16_ffn12_cutile.cu", "--help"),
    (MBR, "bench/bf16_freq_attention_cutile.cu", f"--variant q8 --validate {ONCE}"),
    (MBR, "bench/bf16_time_attention_cutile.cu", "--help"),
    (MBR, "bench/bf16_cutile_mma_gemm.cu", "--help"),
    (BENCHMARK, "tests/test_bf16.cu", ""),
    (BENCHMARK, "tests/test_fp8.cu", ""),
    (BENCHMARK, "benchmarks/bench_bf16.cu", "--iterations=1 --warmup=0"),
    (BENCHMARK, "legacy/cuda_tile_bench.cu", "--precision bf16 256"),
    (BENCHMARK, "legacy/bench_bf16_min.cu", ""),
    (BENCHMARK, "legacy/bench_fp8.cu", ""),
    (BENCHMARK, "legacy/bench_mtpb.cu", ""),
]
"""Repository, program, and arguments that make it do its work once."""
INTRODUCTION = """\
`scripts/programs/cpp.py` wrote this page. It runs C++ of other people, unchanged: whole programs by `tilery cpp run`,
with host code, SIMT kernels and tile kernels in one file, and the C++ kernels of TileGym by its own tests, with the
stand-ins for `nvcc`, `cuda.core` and torch. [The guide](../../guides/cpp.md) says how."""
NOT_MEASURED = """\
Times and limits are processor time of each process, except where a number of cores is given: there a program was built
here and ran on another machine, and they are wall-clock time. Results are compared only where a program or a test
compares them itself. Programs without a time ran earlier, on a machine with a load of 15 and more, and their limit was
wall-clock time. A program that ends normally with `--help` has shown that it compiles, with all its kernels, and
nothing more. What was stopped has shown nothing about the rest. Tests of TileGym that are not in the table were not
run. No program ran on a GPU for this page."""
PERFORMANCE = "test_perf"
"""The tests of TileGym that time kernels with torch's profiler of CUDA, which needs a GPU."""


def load() -> Found:
    return json.loads(NUMBERS.read_text("utf-8")) if NUMBERS.exists() else {}


def save(found: Found) -> None:
    NUMBERS.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", "utf-8")


def run_programs(args: argparse.Namespace) -> None:
    """Run each program, with a limit on its time."""
    found = load()
    for repository, program, arguments in PROGRAMS:
        key = f"{repository}:{program}"
        folder = Path(args.checkouts, repository.replace("/", "+"))
        if args.only not in key:
            continue
        command = [sys.executable, "-m", "tilery", "cpp", "run", "--engine", args.engine, program, "--"]
        status, text, used = limited([*command, *arguments.split()], args.limit, cwd=folder, env=environment())
        lines = [line for line in text.splitlines() if line.strip(" =-")]
        facts = {"status": status, "last": lines[-1].strip()[:150] if lines else "", "arguments": arguments}
        facts |= {"revision": revision(folder), "limit": args.limit, "engine": args.engine, "seconds": used}
        found.setdefault("programs", {})[key] = facts
        save(found)
        print(key, status, f"{used} s", flush=True)


def build_programs(args: argparse.Namespace) -> None:
    """Compile programs, each into a folder that another machine can run."""
    for number, (repository, program, arguments) in enumerate(PROGRAMS):
        folder = Path(args.checkouts, repository.replace("/", "+"))
        if args.only not in f"{repository}:{program}":
            continue
        target = args.to / str(number)
        target.mkdir(parents=True)
        made = build_program(folder / program, target)
        (target / "kernels.tileirbc").write_bytes(made.bytecode)
        facts = {"key": f"{repository}:{program}", "arguments": arguments, "symbols": dict(made.symbols)}
        (target / "program.json").write_text(json.dumps(facts | {"revision": revision(folder)}), "utf-8")


def run_built(args: argparse.Namespace) -> None:
    """Run what was built, several programs at a time, until a deadline."""
    end = time.monotonic() + args.deadline
    with ThreadPoolExecutor(args.jobs) as pool:
        found = dict(pool.map(lambda path: run_one(path.parent, args, end), sorted(args.folder.glob("*/program.json"))))
    (args.folder / "results.json").write_text(json.dumps(found, indent=1), "utf-8")


def run_one(folder: Path, args: argparse.Namespace, end: float) -> tuple[str, Found]:
    facts = json.loads((folder / "program.json").read_text("utf-8"))
    start = time.monotonic()
    with (folder / "output.txt").open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, __file__, "one", folder], stdout=out, stderr=subprocess.STDOUT, env=environment()
        )
        try:
            status = process.wait(max(1.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()  # the program ends with it
            process.wait()
            status = None
    lines = [line for line in (folder / "output.txt").read_text("utf-8", "replace").splitlines() if line.strip(" =-")]
    seconds = round(time.monotonic() - start)
    row = {"status": status, "last": lines[-1].strip()[:150] if lines else "", "arguments": facts["arguments"]}
    row |= {
        "revision": facts["revision"],
        "limit": seconds if status is None else round(args.deadline),
        "engine": args.engine,
        "seconds": seconds,
    }
    return facts["key"], row | {"machine": f"{os.cpu_count()} cores"}


def run_program_here(args: argparse.Namespace) -> None:
    """Run one program that was built."""
    facts = json.loads((args.folder / "program.json").read_text("utf-8"))
    bytecode = (args.folder / "kernels.tileirbc").read_bytes()
    program = HostProgram(args.folder.resolve() / "program.so", bytecode, facts["symbols"])
    sys.exit(run_program(program, facts["arguments"].split(), engine=args.engine))


def take_results(args: argparse.Namespace) -> None:
    """Keep the results of another machine."""
    found = load()
    found.setdefault("programs", {}).update(json.loads((args.folder / "results.json").read_text("utf-8")))
    save(found)


def check_headers(args: argparse.Namespace) -> None:
    """Compile each header with an empty kernel."""
    found = load()
    top = Path(args.tilegym, "src/tilegym/ops/tilecpp")
    results = {}
    for header in sorted(top.rglob("*.cuh")):
        try:
            cpp.build(f'#include "{header}"\n__tile_global__ void nothing() {{}}\n', include=[top])
            results[str(header.relative_to(top))] = ""
        except TileError as error:
            results[str(header.relative_to(top))] = error.message
    found["headers"] = results
    found["tilegym"] = revision(Path(args.tilegym))
    save(found)


def run_tests(args: argparse.Namespace) -> None:
    """Run TileGym's tests of its C++ kernels, one file after another."""
    found = load()
    folder = Path(args.tilegym)
    files = [path for path in sorted(folder.glob("tests/ops/**/test_*.py")) if "tilecpp" in path.read_text("utf-8")]
    found["test files"] = len(files)
    for file in files:
        name = str(file.relative_to(folder))
        if args.only not in name:
            continue
        chosen = ["-k", f"tilecpp and not {PERFORMANCE}"]
        command = ["-p", "tilery.cutile.pytest", "--tilery-engine", args.engine, *chosen, "-v", name]
        status, text, used = limited(
            [sys.executable, "-m", "pytest", *command], args.limit, cwd=folder, env=environment(path="src")
        )
        facts = outcomes(text) | {"stopped": status is None, "seconds": used}
        found.setdefault("tests", {})[name] = facts
        save(found)
        print(name, found["tests"][name], flush=True)


def page(found: Found) -> str:
    """Write the page."""
    headers = found.get("headers", {})
    wrong = {name: why for name, why in headers.items() if why}
    lines = ["# Public CUDA Tile C++, without a GPU", "", INTRODUCTION, "", *programs_part(found.get("programs", {}))]
    lines += ["", "## TileGym's headers", ""]
    good = f"{len(headers) - len(wrong)} of {len(headers)} headers of TileGym (`{found.get('tilegym', '')}`) compile."
    lines += [good, "", *(f"* {name}: {why}" for name, why in wrong.items())]
    lines += tests_part(found.get("tests", {}), found.get("test files", 0))
    return "\n".join([*lines, "", "## Not measured", "", NOT_MEASURED, ""])


def programs_part(programs: Found) -> list[str]:
    """Write the table of programs, those that nothing was changed for last."""
    lines = ["## Programs", ""]
    for title, keys in parted(programs, HELD_OUT["programs"]):
        good = [key for key in keys if programs[key]["status"] == 0]
        working = [key for key in good if programs[key]["arguments"] != "--help"]
        lines.append(f"* {title}: {len(good)} of {len(keys)} end normally; {len(working)} of them launch kernels.")
    lines += ["", "| program | arguments | result | time | last line |", "|---|---|---|--:|---|"]
    for _, keys in parted(programs, HELD_OUT["programs"]):
        for key in keys:
            facts = programs[key]
            late = f"stopped after {facts['limit']} s"
            result = late if facts["status"] is None else "ends normally" if facts["status"] == 0 else "fails"
            last = facts["last"].replace("|", "¦").replace("`", "'")
            name = key.replace(":", ": ") + (" (held out)" if key in HELD_OUT["programs"] else "")
            seconds = f"{facts['seconds']} s" if "seconds" in facts else ""
            seconds += f", {facts['machine']}" if "machine" in facts else ""
            lines.append(f"| {name} | `{facts['arguments']}` | {result} | {seconds} | `{last}` |")
    return lines


def tests_part(tests: Found, files: int) -> list[str]:
    """Write the table of TileGym's tests."""
    said = checkout.fill(f"{len(tests)} of {files} files were run, {TESTS}")
    lines = ["## TileGym's tests of its C++ kernels", "", said, ""]
    for title, names in parted(tests, HELD_OUT["tests"]):
        total = {word: sum(tests[name][word] for name in names) for word in OUTCOMES}
        whole = sum(not tests[name]["stopped"] for name in names)
        failed = total["failed"] + total["error"]
        lines.append(
            f"* {title}: {total['passed']} of {total['selected']} tests pass, {failed} fail, {total['skipped']} are "
            f"skipped; {whole} of {len(names)} files ran to their end."
        )
    lines += ["", "| file | tests | passed | failed | processor time | |", "|---|--:|--:|--:|--:|---|"]
    for name, facts in tests.items():
        notes = ["held out"] * (name in HELD_OUT["tests"]) + ["stopped by the limit on time"] * facts["stopped"]
        failed = facts["failed"] + facts["error"]
        cells = [name, facts["selected"], facts["passed"], failed, f"{facts['seconds']} s", ", ".join(notes)]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return lines


OUTCOMES = ("passed", "failed", "error", "skipped", "selected")
TESTS = (
    "on engine `cpu`. Tests that time kernels with torch's profiler of CUDA (`test_perf`) need a GPU and are left out."
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    for name, function, folder in (
        ("programs", run_programs, "checkouts"),
        ("build", build_programs, "checkouts"),
        ("built", run_built, "folder"),
        ("one", run_program_here, "folder"),
        ("take", take_results, "folder"),
        ("headers", check_headers, "tilegym"),
        ("tests", run_tests, "tilegym"),
        ("redraw", None, ""),
    ):
        verb = verbs.add_parser(name)
        verb.set_defaults(run=function)
        if folder:
            verb.add_argument(folder, type=Path)
        verb.add_argument("--only", default="", metavar="TEXT")
        verb.add_argument("--engine", default="cpu")
        verb.add_argument("--limit", type=int, default=150, metavar="SECONDS")
        verb.add_argument("--to", type=Path, metavar="FOLDER")
        verb.add_argument("--jobs", type=int, default=4)
        verb.add_argument("--deadline", type=float, default=300, metavar="SECONDS")
    args = parser.parse_args()
    if args.run is not None:
        args.run(args)
    if args.run not in (build_programs, run_built, run_program_here):
        checkout.publish(page(load()), REPORT)


if __name__ == "__main__":
    main()
