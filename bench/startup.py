"""Processor time of `tilery dis` on small files, of this checkout against another one, alternating.

python bench/startup.py ../other/src --label 0290d13 --runs 40 --report docs/reports/lab/startup.md
"""

from __future__ import annotations

import argparse
import compileall
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from counting.instructions import available, count_instructions

ROOT = Path(__file__).parent.parent
KERNELS = {"vadd": "no float constants", "gelu": "float constants"}
GOAL = 45
"""Milliseconds of processor time."""


def environment(source: Path) -> dict[str, str]:
    """The environment of a process that uses a copy of the package and nothing of Python's own options."""
    return {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")} | {"PYTHONPATH": str(source)}


def seconds(source: Path, file: Path) -> float:
    """Return the processor time, user and system, of one process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "tilery", "dis", str(file)]
    subprocess.run(command, env=environment(source), stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def instructions(source: Path, file: Path) -> int | None:
    """Return the instructions that a process executes in user mode, counted by valgrind; None without valgrind."""
    if not available():
        return None
    return count_instructions([sys.executable, "-m", "tilery", "dis", str(file)], environment(source))


def measure(sources: dict[str, Path], file: Path, runs: int) -> dict[str, dict[str, float]]:
    """Return milliseconds and instructions of each copy."""
    times: dict[str, list[float]] = {name: [] for name in sources}
    for _ in range(runs):
        for name, source in sources.items():
            times[name].append(1000 * seconds(source, file))
    return {
        name: {
            "median": statistics.median(found),
            "least": min(found),
            "instructions": (instructions(sources[name], file) or 0) / 1e6,
        }
        for name, found in times.items()
    }


def page(found: dict[str, dict[str, dict[str, float]]], label: str, runs: int) -> str:
    """Return the report."""
    optimised = "--enable-optimizations" in (sysconfig.get_config_var("CONFIG_ARGS") or "")
    lines = [
        "# Start-up",
        "",
        "`bench/startup.py` wrote this page. It measures what `tilery dis` of a small file costs, against commit "
        f"{label}.",
        "Each number is of one process, `python -m tilery`, with compiled bytecode of the package on disk;",
        f"{runs} processes of each alternate. The goal is at most {GOAL} ms of processor time.",
        "",
        "| Kernel | Measure | Now | Before | Ratio |",
        "|---|---|---|---|---|",
    ]
    units = {"median": "processor time, median", "least": "processor time, least", "instructions": "instructions"}
    for kernel, facts in found.items():
        for key, what in units.items():
            now, before = facts["this"][key], facts["other"][key]
            if before:
                unit = "million" if key == "instructions" else "ms"
                row = f"{now:.1f} {unit} | {before:.1f} {unit} | {now / before:.2f}"
                lines.append(f"| {kernel} ({KERNELS[kernel]}) | {what} | {row} |")
    built = "with" if optimised else "without"
    lines += [
        "",
        f"CPython {platform.python_version()}, built {built} `--enable-optimizations`, on {platform.system()}"
        f" {platform.machine()} with {os.cpu_count()} processors and a load of {os.getloadavg()[0]:.0f}.",
        "",
        "Processor time is user and system time of the child process. Instructions are those in user mode, as valgrind"
        " counts them: they do not depend on what else the machine does.",
        "",
        "## Not measured",
        "",
        "Wall time; the first start after an installation, which compiles the package; other verbs; large files (see"
        " [speed](../speed.md)); and other versions of CPython.",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other", type=Path, help="the folder `src` of another checkout")
    parser.add_argument("--label", default="of the other checkout", help="the commit of the other checkout")
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--report", type=Path, help="write a page here as well")
    args = parser.parse_args()
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        sources = {"this": Path(folder, "this"), "other": Path(folder, "other")}
        for name, source in (("this", ROOT / "src"), ("other", args.other)):
            shutil.copytree(source, sources[name], ignore=shutil.ignore_patterns("__pycache__"))
            compileall.compile_dir(sources[name], quiet=2)
        for kernel in KERNELS:
            file = Path(folder, f"{kernel}.tileirbc")
            text = ROOT / "bench" / "kernels" / f"{kernel}.mlir"
            command = [sys.executable, "-m", "tilery", "asm", str(text), "-o", str(file)]
            subprocess.run(command, env=environment(sources["this"]), check=True)
            found[kernel] = measure(sources, file, args.runs)
    report = page(found, args.label.removeprefix("commit "), args.runs)
    if args.report:
        args.report.write_text(report, "utf-8")
    print(report)


if __name__ == "__main__":
    main()
