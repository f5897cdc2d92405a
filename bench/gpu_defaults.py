"""Measure how good engine gpu is on kernels that no rule was written for.

python bench/gpu_defaults.py export FOLDER --cutile DIR --tilegym DIR --liger DIR    launches, without a GPU
python bench/gpu_defaults.py draw FOLDER                                             once: choose what is held out
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import time
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from gpu import lines
from gpu_parts.programs import LIST, read_list

SEED = 33
"""Of the draw."""


def export(args: argparse.Namespace) -> int:
    """Write the launches of all programs."""
    from gpu_parts.programs import export

    checkouts = {"cutile": args.cutile, "tilegym": args.tilegym, "liger": args.liger}
    found, failed = export(args.folder, checkouts, args.only)
    print("\n".join(failed))
    print(f"{len(found)} kernels, {len(failed)} programs failed")
    return 0


def draw(args: argparse.Namespace) -> int:
    """Write the kernels that were exported into the list, with a third of them held out: whole families, drawn."""
    found = [json.loads(path.read_text("utf-8")) for path in sorted(args.folder.glob("*.json"))]
    if "kernels" in read_list():
        print("the list has its kernels, and is frozen")
        return 1
    families = sorted({facts["family"] for facts in found})
    random.Random(SEED).shuffle(families)
    held: list[str] = []
    while 3 * sum(facts["family"] in held for facts in found) < len(found):
        held.append(families.pop())
    lines = [f"  {{ name = {json.dumps(f['name'])}, held_out = {json.dumps(f['family'] in held)} }}," for f in found]
    with open(LIST, "a", encoding="utf-8") as file:
        file.write(f"\nheld_out = {json.dumps(sorted(held))}\n\nkernels = [\n" + "\n".join(lines) + "\n]\n")
    return 0


def run(args: argparse.Namespace) -> int:
    """Compile with all cores but two, and measure meanwhile."""
    from gpu_parts.collect import build

    deadline = time.monotonic() + 60 * args.minutes
    names = [k["name"] for k in read_list()["kernels"] if (args.folder / f"{k['name']}.json").exists()]
    names = [name for name in names if re.search(args.only, name)]
    if args.open:
        names = [k["name"] for k in read_list()["kernels"] if k["name"] in names and not k["held_out"]]
    if args.without:
        known = {k["name"] for k in json.loads(args.without.read_text("utf-8"))["kernels"]}
        names = [name for name in names if name not in known]
    # what takes longest to compile comes first
    names.sort(key=lambda name: -(args.folder / f"{name}.tileirbc").stat().st_size)
    facts: dict[str, Any] = {"kernels": [], "bad": [], "failed": []}
    workers = args.workers or max(1, (os.cpu_count() or 1) - 2)
    with get_context("spawn").Pool(workers) as pool:
        pending = [pool.apply_async(build, ((str(args.folder), name),)) for name in names]
        left = list(names)
        while left and time.monotonic() < deadline:
            left = supervise(left, args, facts, deadline)
            broken = [n for n, p in zip(names, pending) if n in left and p.ready() and not p.successful()]
            facts["failed"] += [[name, "it could not be compiled"] for name in broken]
            left = [name for name in left if name not in broken]
            args.results.write_text(json.dumps(facts), "utf-8")
        pool.terminate()
    facts["missing"] = left
    args.results.write_text(json.dumps(facts), "utf-8")
    print(f"{len(facts['kernels'])} kernels, missing {left}, bad {facts['bad']}, failed {facts['failed']}")
    return 0


def supervise(names: list[str], args: argparse.Namespace, facts: dict[str, Any], deadline: float) -> list[str]:
    """Run one measuring process until it ends or hangs; return the kernels that are left."""
    request = {
        "folder": str(args.folder),
        "names": names,
        "bad": facts["bad"],
        "rounds": args.rounds,
        "seconds": deadline - time.monotonic(),
    }
    process = subprocess.Popen([sys.executable, __file__, "child"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(json.dumps(request).encode())
    process.stdin.close()
    left, trying = list(names), None
    for line in lines(process):
        match (line or {}).get("kind", "silence"):
            case "try":
                assert line is not None
                trying = [line["name"], line["label"]]
            case "kernel":
                assert line is not None
                facts["kernels"].append(line["result"])
                left.remove(line["result"]["name"])
                trying = None
                print(summary(line["result"]), flush=True)
            case "failed":
                assert line is not None
                facts["failed"].append([line["name"], line["error"]])
                left.remove(line["name"])
                trying = None
            case "silence" | "lost":
                print(f"lost: {trying} {line}", flush=True)
                break
    process.kill()
    process.wait()
    if trying is not None and time.monotonic() < deadline:
        facts["bad"].append(trying)
        if not trying[1] or sum(name == trying[0] for name, _ in facts["bad"]) > 3:  # not the fault of a variant
            facts["failed"].append([trying[0], "it ended the process that ran it"])
            left.remove(trying[0])
    return left


def summary(result: dict[str, Any]) -> str:
    """One line about a kernel."""
    good = sorted((v for v in result["variants"] if v.get("ok")), key=lambda v: v["seconds"])
    wrong = [
        f"WRONG {v['label']}: {v.get('reference')} {v['first']}" for v in result["variants"] if v.get("ok") is False
    ]
    default = next((v for v in good if "gpu" in v["roles"]), None)
    best = f"{good[0]['label']} {good[0]['seconds'] * 1e6:.1f} us" if good else "none"
    ratio = good[0]["seconds"] / default["seconds"] if good and default else 0.0
    spent = " ".join(f"{s:.2f}" for s in result["spent"])
    return f"{result['name']}: {best}, default {ratio:.2f} ({spent}) {'; '.join(wrong)}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    exports = verbs.add_parser("export")
    exports.add_argument("folder", type=Path)
    for name in ("cutile", "tilegym", "liger"):
        exports.add_argument(f"--{name}", type=Path, required=True)
    exports.add_argument("--only", default="")
    draws = verbs.add_parser("draw")
    draws.add_argument("folder", type=Path)
    runs = verbs.add_parser("run")
    runs.add_argument("folder", type=Path)
    runs.add_argument("results", type=Path)
    runs.add_argument("--only", default="", help="a pattern of the names of kernels")
    runs.add_argument("--open", action="store_true", help="leave out what is held out")
    runs.add_argument("--without", type=Path, help="results of an earlier run, whose kernels are left out")
    runs.add_argument("--minutes", type=float, default=5)
    runs.add_argument("--rounds", type=int, default=3)
    runs.add_argument("--workers", type=int, default=0)
    verbs.add_parser("child")
    args = parser.parse_args()
    if args.verb == "child":
        from gpu_parts.collect import child

        child(json.load(sys.stdin))
        return 0
    return {"export": export, "draw": draw, "run": run}[args.verb](args)


if __name__ == "__main__":
    sys.exit(main())
