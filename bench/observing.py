"""Measure what `launch(observe=...)` costs, and write docs/reports/lab/observe.md.

    python bench/observing.py --before SRC [--resume] [--only KERNELS] [--out docs/reports/lab]

SRC is the `src` folder of a checkout from before the hook. Instructions are those of two more launches in a process,
which valgrind counts, so that nothing else on the machine matters.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tilery
from cases import HERE, Sizes, cases
from counting.instructions import count_instructions

TINY = Sizes(flat=1 << 18, rows=64, edge=256, heads=16, length=128)
HOT = """
cuda_tile.module @m { entry @hot(%p: tile<ptr<f32>>) {
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %count = constant <i32: 2000> : tile<i32>
  %half = constant <f32: 0.5> : tile<64x64xf32>
  %start = constant <f32: 1.0> : tile<64x64xf32>
  %sum = for %i in (%zero to %count, step %one) : tile<i32> iter_values(%acc = %start) -> (tile<64x64xf32>) {
    %a = mulf %acc, %half : tile<64x64xf32>
    %b = addf %a, %half : tile<64x64xf32>
    %c = subf %b, %a : tile<64x64xf32>
    %d = addf %c, %a : tile<64x64xf32>
    continue %d : tile<64x64xf32>
  }
} }
"""
"""A loop of four operations; one of them is observed."""


def child(what: str, launches: int) -> None:
    """Launch a kernel several times: `case:CHECKS` for a kernel of the benchmarks, `hot` or `hot:addf` for the loop."""
    name, _, option = what.partition(":")
    options: dict[str, Any] = {}
    grid: Any
    if name == "hot":
        kernel, grid, args = tilery.compile(tilery.parse(HOT)), 1, [np.zeros(1, np.float32)]
        if option:
            from tilery.engines.reference.observe import Observe  # an earlier source has none

            options["observe"] = Observe(lambda event: None, ops=[option])
    else:
        case = next(each for each in cases(TINY) if each.name == name)
        kernel = tilery.compile(tilery.parse((HERE / "kernels" / f"{case.name}.mlir").read_text()))
        grid, args, options["convention"] = case.grid, case.args, "cutile"
        if option:
            options["sanitize"] = option
    for _ in range(launches):
        kernel.launch(grid, args, **options)


def count(source: Path, what: str) -> int:
    """Return the instructions of two launches."""
    environment = {**os.environ, "PYTHONPATH": str(source)}
    taken = [count_instructions([sys.executable, __file__, "--child", what, str(n)], environment) for n in (3, 1)]
    return taken[0] - taken[1]


def measure(before: Path, found: dict[str, Any], save: Callable[[dict[str, Any]], None], only: list[str]) -> None:
    """Measure what `found` lacks, of some kernels, and save after each number: a run may be stopped and resumed."""
    here = Path(tilery.__file__).parents[1]
    commit = subprocess.run(["git", "-C", str(before), "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    found["before"] = found.get("before") or commit.stdout.strip()
    found["versions"] = {"Python": platform.python_version(), "NumPy": np.__version__}
    names = [case.name for case in cases(TINY) if not only or case.name in only]
    for part, kernels, suffix in (("absent", [*names, "hot"], ""), ("checks", names, ":all")):
        for name in kernels:
            if name not in found.setdefault(part, {}):
                found[part][name] = count(here, name + suffix) / count(before, name + suffix)
                save(found)
    hot = found.setdefault("hot", {})
    if missing := [name for name in ("addf", "mulf", "for") if name not in hot]:
        plain = count(here, "hot")
        for name in missing:
            hot[name] = count(here, f"hot:{name}") / plain
            save(found)


def page(found: dict[str, Any]) -> str:
    """Render the numbers of a run as a page."""
    facts = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    lines = [
        "# What observing a launch costs",
        "",
        f"`python bench/observing.py` wrote this page ({facts}). The numbers are ratios of instructions in user mode,",
        "which valgrind counts for two launches.",
        "",
        f"The first column compares a launch that is not observed with one at commit {found['before']}, which had no",
        'hook. The second compares `sanitize="all"`, which sits on the hook, with the same commit, where the sanitizer',
        "had a machine of its own.",
        "",
        '| kernel | not observed | `sanitize="all"` |',
        "|---|--:|--:|",
    ]
    for name, ratio in found["absent"].items():
        checked = f"{found['checks'][name]:.3f}" if name in found["checks"] else "not measured"
        lines.append(f"| {name} | {ratio:.4f} | {checked} |")
    lines += [
        "",
        "`hot` is a loop of 2,000 iterations with four operations on tiles of 64x64. Observing one operation of it",
        "with a function that does nothing takes this many times the instructions of the launch without an observer:",
        "",
        "| observed | ratio |",
        "|---|--:|",
        *(f"| `{name}` | {ratio:.2f} |" for name, ratio in found["hot"].items()),
        "",
        "## Not measured",
        "",
        "Times, and functions that do something with an event. The kernels are small, so planning what to observe,",
        "which happens once per launch, weighs more than in a long one.",
        "",
    ]
    return "\n".join(lines)


def write(file: Path, found: dict[str, Any]) -> None:
    file.write_text(json.dumps(found, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--before", type=Path, metavar="SRC")
    parser.add_argument("--out", type=Path, default=Path("docs/reports/lab"))
    parser.add_argument("--redraw", action="store_true", help="write the page from observe.json")
    parser.add_argument("--resume", action="store_true", help="keep the numbers of observe.json; measure the others")
    parser.add_argument("--only", metavar="KERNELS", help="measure these kernels only, such as vadd,gemm")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(args.child[0], int(args.child[1]))
        return
    data = args.out / "observe.json"
    if not args.redraw:
        if args.before is None:
            parser.error("--before is needed, unless with --redraw")
        found = json.loads(data.read_text()) if args.resume and data.exists() else {}
        only = args.only.split(",") if args.only else []
        measure(args.before, found, lambda facts: write(data, facts), only)
    (args.out / "observe.md").write_text(page(json.loads(data.read_text())))


if __name__ == "__main__":
    main()
