"""Run public CUDA Tile C++ unchanged, without a GPU, and write docs/reports/lab/cpp_programs.{json,md}.

    python scripts/programs/cpp.py programs CHECKOUTS [--only TEXT] [--engine cpu] [--limit 120]
    python scripts/programs/cpp.py headers TILEGYM              # whether each header of TileGym's C++ compiles
    python scripts/programs/cpp.py tests TILEGYM [--only TEXT] [--limit 150]
    python scripts/programs/cpp.py redraw                       # the page again, from cpp_programs.json

CHECKOUTS is a folder with a clone of each repository below, named owner+name. TILEGYM is a clone of NVIDIA/TileGym.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import checkout
from tilery import cpp
from tilery.diag import TileError

NUMBERS = checkout.LAB / "cpp_programs.json"
REPORT = checkout.LAB / "cpp_programs.md"
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
Results are compared only where a program or a test compares them itself. A program that ends normally with `--help` has
shown that it compiles, with all its kernels, and nothing more. What was stopped has shown nothing about the rest. Tests
of TileGym that are not in the table were not run. No program ran on a GPU for this page."""
PERFORMANCE = "::test_perf"
"""The tests of TileGym that time kernels with torch's profiler of CUDA, which needs a GPU."""
Found = dict[str, Any]


def load() -> Found:
    return json.loads(NUMBERS.read_text("utf-8")) if NUMBERS.exists() else {}


def save(found: Found) -> None:
    NUMBERS.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", "utf-8")


def environment(**more: str) -> dict[str, str]:
    path = os.pathsep.join(
        filter(None, (str(checkout.ROOT / "src"), more.pop("path", ""), os.environ.get("PYTHONPATH")))
    )
    return os.environ | {"PYTHONPATH": path, "NO_COLOR": "1"} | more


def revision(folder: Path) -> str:
    done = subprocess.run(["git", "-C", folder, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return done.stdout.strip()


def run_programs(args: argparse.Namespace) -> None:
    """Run each program, with a limit on its time."""
    found = load()
    for repository, program, arguments in PROGRAMS:
        key = f"{repository}:{program}"
        folder = Path(args.checkouts, repository.replace("/", "+"))
        if args.only not in key:
            continue
        command = [sys.executable, "-m", "tilery", "cpp", "run", "--engine", args.engine, program, "--"]
        start = time.time()
        try:
            done = subprocess.run(
                [*command, *arguments.split()],
                cwd=folder,
                env=environment(),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=args.limit,
            )
            status, text = done.returncode, done.stdout
        except subprocess.TimeoutExpired as late:
            status, text = None, late.stdout or b""
        lines = [line for line in text.decode(errors="replace").splitlines() if line.strip(" =-")]
        facts = {"status": status, "last": lines[-1].strip()[:150] if lines else "", "arguments": arguments}
        facts |= {"revision": revision(folder), "limit": args.limit, "engine": args.engine}
        found.setdefault("programs", {})[key] = facts
        save(found)
        print(key, status, f"{time.time() - start:.0f} s", flush=True)


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
    for file in sorted(folder.glob("tests/ops/**/test_*.py")):
        name = str(file.relative_to(folder))
        if args.only not in name or "tilecpp" not in file.read_text("utf-8"):
            continue
        command = ["-p", "tilery.cutile.pytest", "--tilery-engine", args.engine, "-k", "tilecpp", "-v", name]
        try:
            done = subprocess.run(
                [sys.executable, "-m", "pytest", *command],
                cwd=folder,
                env=environment(path="src"),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=args.limit,
            )
            text, stopped = done.stdout, False
        except subprocess.TimeoutExpired as late:
            text, stopped = late.stdout or b"", True
        found.setdefault("tests", {})[name] = outcomes(text.decode(errors="replace")) | {"stopped": stopped}
        save(found)
        print(name, found["tests"][name], flush=True)


def outcomes(text: str) -> dict[str, int]:
    """Count the outcomes that pytest prints for each test."""
    found = re.findall(r"^(\S+::.*) (PASSED|FAILED|SKIPPED|ERROR)", text, re.M)
    words = [word for name, word in found if PERFORMANCE not in name]
    counts = {word.lower(): words.count(word) for word in ("PASSED", "FAILED", "SKIPPED", "ERROR")}
    return counts | {"timing": len(found) - len(words)}


def page(found: Found) -> str:
    """Write the page."""
    programs, headers, tests = found.get("programs", {}), found.get("headers", {}), found.get("tests", {})
    good = [key for key, facts in programs.items() if facts["status"] == 0]
    working = [key for key in good if programs[key]["arguments"] != "--help"]
    lines = ["# Public CUDA Tile C++, without a GPU", "", INTRODUCTION, "", "## Programs", ""]
    said = f"{len(good)} of {len(programs)} programs end normally; {len(working)} of them launch kernels."
    lines += [said, "", "| program | arguments | result | last line |", "|---|---|---|---|"]
    for key, facts in programs.items():
        late = f"stopped after {facts['limit']} s"
        result = late if facts["status"] is None else "ends normally" if facts["status"] == 0 else "fails"
        last = facts["last"].replace("|", "¦").replace("`", "'")
        lines.append(f"| {key.replace(':', ': ')} | `{facts['arguments']}` | {result} | `{last}` |")
    wrong = {name: why for name, why in headers.items() if why}
    lines += ["", "## TileGym's headers", ""]
    lines += [
        f"{len(headers) - len(wrong)} of {len(headers)} headers of TileGym (`{found.get('tilegym', '')}`) compile.",
        "",
    ]
    lines += [f"* {name}: {why}" for name, why in wrong.items()]
    total = {word: sum(facts[word] for facts in tests.values()) for word in ("passed", "failed", "error", "skipped")}
    lines += ["## TileGym's tests of its C++ kernels", ""]
    timing = sum(facts["timing"] for facts in tests.values())
    lines += [
        f"{total['passed']} tests pass, {total['failed'] + total['error']} fail, on engine `cpu`. {timing} that time"
    ]
    lines += ["kernels with torch's profiler of CUDA (`test_perf`) need a GPU and are left out.", ""]
    lines += ["| file | passed | failed | |", "|---|--:|--:|---|"]
    for name, facts in tests.items():
        note = "stopped by the limit on time" if facts["stopped"] else ""
        lines.append(f"| {name} | {facts['passed']} | {facts['failed'] + facts['error']} | {note} |")
    return "\n".join([*lines, "", "## Not measured", "", NOT_MEASURED, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    for name, function, folder in (
        ("programs", run_programs, "checkouts"),
        ("headers", check_headers, "tilegym"),
        ("tests", run_tests, "tilegym"),
        ("redraw", None, ""),
    ):
        verb = verbs.add_parser(name)
        verb.set_defaults(run=function)
        if folder:
            verb.add_argument(folder)
        verb.add_argument("--only", default="", metavar="TEXT")
        verb.add_argument("--engine", default="cpu")
        verb.add_argument("--limit", type=int, default=150, metavar="SECONDS")
    args = parser.parse_args()
    if args.run is not None:
        args.run(args)
    checkout.publish(page(load()), REPORT)


if __name__ == "__main__":
    main()
