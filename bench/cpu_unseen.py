"""Time kernels that were not used while engine cpu was tuned against torch, and write a page.

    python bench/cpu_unseen.py TILEGYM LIGER [--only NAME] [--rounds 6] [--list FILE.toml] [--results FILE.json]
                                   [--report docs/reports/lab/cpu_unseen.md]

TILEGYM and LIGER are clones of NVIDIA/TileGym and linkedin/Liger-Kernel. `cpu_unseen.toml` lists their kernels.
Contenders take turns, on one core; times are of the processor, so that other work on the machine matters less. Calls
contain the host code of each library. The result is compared with torch's. FILE keeps results, so that kernels can be
run in parts: what is there is not run again.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import subprocess
import sys
import textwrap
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from peers import MALLOC
from run import versions
from run_page import geomean

HERE = Path(__file__).resolve().parent
WHOLE, KERNELS, EAGER, COMPILED = "whole call", "in kernels", "torch eager", "torch.compile"
CALLS = 3
"""Calls of a contender in a round."""
TOLERANCES = {"torch.float32": 1e-4, "torch.float16": 1e-2, "torch.bfloat16": 4e-2}
"""The largest difference, by the largest number of the result, for the narrowest type of the arguments."""


def values(torch: Any, makes: str) -> dict[str, Any]:
    """Return the arguments of a kernel."""
    torch.manual_seed(1)

    def floats(dtype: Any) -> Callable[..., Any]:
        return lambda *shape: (0.5 * torch.randn(*shape)).to(dtype)

    kinds = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
    names: dict[str, Any] = {name: floats(dtype) for name, dtype in kinds.items()}
    found: dict[str, Any] = {}
    exec(makes, {"torch": torch, **names}, found)
    return found


def peer_of(torch: Any, kernel: dict[str, str], arguments: dict[str, Any]) -> Callable[..., Any]:
    """Return what torch computes, as a function of the arguments."""
    names: dict[str, Any] = {"torch": torch, "F": torch.nn.functional}
    exec(f"def peer({', '.join(arguments)}):\n    return {kernel['peer']}", names)
    peer: Callable[..., Any] = names["peer"]
    return peer


def difference(found: Any, wanted: Any) -> float:
    """Return the largest difference of results, by the largest number."""
    pairs = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
    return max(float((a.double() - b.double()).abs().max() / b.double().abs().max().clamp(min=1e-30)) for a, b in pairs)


def milliseconds(call: Callable[[], object]) -> float:
    """Return the time of the processor that a call takes."""
    start = time.process_time()
    call()
    return (time.process_time() - start) * 1e3


def program_of(kernel: dict[str, str], folders: dict[str, Path], arguments: dict[str, Any]) -> Callable[[], Any]:
    """Return the call of a library's function."""
    place, _, call = kernel["run"].partition(":")
    if place.endswith(".py"):
        root, _, rest = place.partition("/")
        specification = importlib.util.spec_from_file_location(Path(rest).stem, folders[root] / rest)
        assert specification is not None and specification.loader is not None
        module = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(module)
    else:
        module = importlib.import_module(place)
    names = {**vars(module), **arguments}
    return lambda: eval(call, names)


def measure(kernel: dict[str, str], folders: dict[str, Path], args: argparse.Namespace) -> dict[str, float]:
    """Return the milliseconds of each contender. Raises ValueError if the result is not that of torch."""
    import torch

    import tilery.cutile
    from tilery.engines.cpu.native import pool

    torch.set_num_threads(1)
    arguments = values(torch, kernel["with"])
    peer = peer_of(torch, kernel, arguments)
    wanted = peer(*arguments.values())
    compiled = torch.compile(peer, dynamic=False)
    compiled(*arguments.values())
    types = {str(v.dtype) for v in arguments.values()}
    tolerance = max(TOLERANCES.get(name, 0) for name in types)
    inside = [0.0]
    run = pool.Pool.run

    def timed(*values: Any) -> int:
        start = time.process_time()
        result = run(*values)
        inside[0] += (time.process_time() - start) * 1e3
        return result

    best = dict.fromkeys((WHOLE, KERNELS, EAGER, COMPILED), float("inf"))
    for _ in range(args.rounds):
        with tilery.cutile.on("cpu") as session, patch.object(pool.Pool, "run", timed):
            call = program_of(kernel, folders, arguments)
            worst = difference(call(), wanted)
            if not worst <= tolerance:
                raise ValueError(f"the result differs by {worst:.1e} of the largest number")
            assert session.calls, "no kernel was launched"
            for _ in range(CALLS):
                inside[0] = 0.0
                best[WHOLE] = min(best[WHOLE], milliseconds(call))
                best[KERNELS] = min(best[KERNELS], inside[0])
        for name, function in ((EAGER, peer), (COMPILED, compiled)):  # here torch is what it is without tilery
            for _ in range(CALLS):
                best[name] = min(best[name], milliseconds(lambda: function(*arguments.values())))  # noqa: B023
    return best


def page(found: dict[str, dict[str, float] | str], args: argparse.Namespace) -> str:
    """Render the results."""
    from tilery.engines.cpu.native.compiler import host

    made = ", ".join(f"{name} {version}" for name, version in versions().items() if name in ("python", "torch"))
    commits = " and ".join(
        f"{name} {_commit(folder)}" for name, folder in (("TileGym", args.tilegym), ("Liger", args.liger))
    )
    lines = [
        "# Kernels that engine cpu was not tuned on",
        "",
        textwrap.fill(
            "`bench/cpu_unseen.py` wrote this page. It runs kernels of TileGym and Liger that were not run on engine "
            "cpu while it was tuned; `bench/cpu_unseen.toml` lists them, and was committed before the first of them "
            f"ran. Milliseconds of the processor on one core ({host().cpu}; {made}; {commits}), the best of rounds in "
            "which contenders take turns; other programs ran on the machine. A whole call contains the host code of "
            "the library, and the checks and decoding of launches, which are part of tilery. The ratios say how many "
            "times as long torch.compile takes as a whole call, and as what is spent in compiled kernels.",
            120,
        ),
        "",
        f"| kernel | {WHOLE} | {KERNELS} | {EAGER} | {COMPILED} | by whole call | by kernels |",
        "|---|" + "--:|" * 6,
    ]
    rows = {name: row for name, row in found.items() if not isinstance(row, str)}
    ratios = {name: (row[COMPILED] / row[WHOLE], row[COMPILED] / row[KERNELS]) for name, row in rows.items()}
    for name, row in rows.items():
        cells = [f"{row[key]:.2f}" for key in (WHOLE, KERNELS, EAGER, COMPILED)]
        lines.append(f"| {name} | {' | '.join(cells)} | {' | '.join(f'{ratio:.2f}' for ratio in ratios[name])} |")
    lines.append("")
    for which, title in enumerate(("Whole calls", "Kernels")):
        worst = min(ratios, key=lambda name: ratios[name][which])
        mean = geomean([pair[which] for pair in ratios.values()])
        lines.append(
            f"* {title}: torch.compile takes {mean:.2f} times as long (geometric mean of {len(ratios)}); the worst row "
            f"is {worst} with {ratios[worst][which]:.2f}."
        )
    lines.append(FIRST_LOOK)
    lines += [f"* {name}: {why}." for name, why in found.items() if isinstance(why, str)]
    return "\n".join([*lines, "", "## Not measured", "", NOT_MEASURED])


FIRST_LOOK = """\
* When these kernels ran for the first time, torch.compile took 0.90 times as long as whole calls and 1.10 times as long
as kernels, in the worst row 0.22 and 0.25 times. Since then passes were written for [classes](cpu_classes.md) of
kernels of our own, which resemble some of them; the code of those on this page was not looked at."""
NOT_MEASURED = """\
Several threads, compilation, backward passes, other sizes and other processors. Kernels that resemble these were used
for tuning: a softmax, norms, products and attention of our own. Sizes of tiles are those that the libraries choose for
a GPU."""


def _commit(folder: Path) -> str:
    command = ["git", "-C", str(folder), "rev-parse", "--short=8", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tilegym", type=Path)
    parser.add_argument("liger", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--list", type=Path, default=HERE / "cpu_unseen.toml")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--results", type=Path)
    parser.add_argument("--report", type=Path)
    args = parser.parse_args()
    if os.environ.get("MALLOC_TOP_PAD_") != MALLOC["MALLOC_TOP_PAD_"]:
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **MALLOC})
    folders = {"tilegym": args.tilegym, "liger": args.liger}
    sys.path[:0] = [str(folder / "src") for folder in folders.values()]
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    found: dict[str, dict[str, float] | str] = {}
    if args.results and args.results.exists():
        found = json.loads(args.results.read_text("utf-8"))
    for kernel in tomllib.loads(args.list.read_text("utf-8"))["kernels"]:
        if args.only in kernel["name"] and kernel["name"] not in found:
            try:
                found[kernel["name"]] = measure(kernel, folders, args)
            except Exception as error:  # a library raises what it likes
                found[kernel["name"]] = f"{type(error).__name__}: {str(error).splitlines()[0]}"
            print(kernel["name"], found[kernel["name"]], file=sys.stderr, flush=True)
            if args.results:
                args.results.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    text = page(found, args) + "\n"
    if args.report:
        args.report.write_text(text, "utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
