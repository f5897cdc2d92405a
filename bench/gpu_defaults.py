"""Measure how good engine gpu is on kernels that no rule was written for.

    python bench/gpu_defaults.py export FOLDER --cutile DIR --tilegym DIR --liger DIR
    python bench/gpu_defaults.py draw FOLDER
    python bench/gpu_defaults.py run FOLDER RESULTS.json [--minutes 5]
    python bench/gpu_defaults.py more FOLDER RESULTS.json [--again REGEX]
    python bench/gpu_defaults.py report RESULTS.json [--explain KERNEL=WHY]

`export` writes the launches of the listed programs, from checkouts and without a GPU. `draw` chose, once, what is held
out. `run` compiles, checks and times variants on a GPU; `more` adds first launches and torch to its results, or repeats
some kernels. `report` writes docs/reports/gpu_defaults.md.
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
from gpu_parts.programs import LIST, read_list, stem
from gpu_parts.torch_peers import warm

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
    from tilery.engines.gpu.launch import compiler_versions

    deadline = time.monotonic() + 60 * args.minutes
    names = [k["name"] for k in read_list()["kernels"] if (args.folder / f"{k['name']}.json").exists()]
    names = [name for name in names if re.search(args.only, name)]
    if args.open:
        names = [k["name"] for k in read_list()["kernels"] if k["name"] in names and not k["held_out"]]
    if args.without:
        known = {k["name"] for k in json.loads(args.without.read_text("utf-8"))["kernels"]}
        names = [name for name in names if name not in known]
    # what is held out comes first, in case that the time is up, and what takes longest to compile
    held = {k["name"]: k["held_out"] for k in read_list()["kernels"]}
    names.sort(key=lambda name: (not held[name], -(args.folder / f"{name}.tileirbc").stat().st_size))
    facts: dict[str, Any] = {"kernels": [], "bad": [], "failed": [], "versions": dict(compiler_versions())}
    firsts = sorted(names)[:: max(1, len(names) // args.first)][: args.first] if args.first else []
    workers = args.workers or max(1, (os.cpu_count() or 1) - 2)
    with get_context("spawn").Pool(workers) as pool:
        pending = [pool.apply_async(build, ((str(args.folder), name, args.most),)) for name in names]
        left = list(names)
        while left and time.monotonic() < deadline:
            left = supervise(left, firsts, args, facts, deadline)
            broken = [n for n, p in zip(names, pending) if n in left and p.ready() and not p.successful()]
            facts["failed"] += [[name, "it could not be compiled"] for name in broken]
            left = [name for name in left if name not in broken]
            args.results.write_text(json.dumps(facts), "utf-8")
        pool.terminate()
    facts["missing"] = left
    facts["peers"] = time_peers(names, args.peer_minutes)
    args.results.write_text(json.dumps(facts), "utf-8")
    print(f"{len(facts['kernels'])} kernels, missing {left}, bad {facts['bad']}, failed {facts['failed']}")
    return 0


def more(args: argparse.Namespace) -> int:
    """Measure some kernels of earlier results again, first launches, and torch."""
    from gpu_parts.collect import build

    facts = json.loads(args.results.read_text("utf-8"))
    names = [k["name"] for k in facts["kernels"]]
    again = [name for name in names if args.again and re.search(args.again, name)]
    facts["kernels"] = [k for k in facts["kernels"] if k["name"] not in again]
    with get_context("spawn").Pool(max(1, len(again))) as pool:
        pool.map(build, [(str(args.folder), name, args.most) for name in again])
    firsts = sorted(names)[:: max(1, len(names) // args.first)][: args.first]
    facts.pop("first", None)
    supervise(again, firsts, args, facts, time.monotonic() + 60 * args.minutes)
    args.results.write_text(json.dumps(facts), "utf-8")
    facts["peers"] = time_peers(names, args.peer_minutes)
    args.results.write_text(json.dumps(facts), "utf-8")
    return 0


def time_peers(kernels: list[str], minutes: float) -> dict[str, Any]:
    """Compile what torch does instead with all cores, then time it; what is held out comes first."""
    deadline = time.monotonic() + 60 * minutes
    facts = read_list()
    programs = [p for p in facts["programs"] if "peer" in p and any(k.startswith(stem(p) + "--") for k in kernels)]
    programs.sort(key=lambda p: p["family"] not in facts["held_out"])
    found: dict[str, Any] = {}
    if not programs or minutes <= 0:
        return found
    with get_context("spawn").Pool(12) as pool:
        waiting = [pool.apply_async(warm, (program,)) for program in programs]
        while time.monotonic() < deadline - 30 * minutes and not all(each.ready() for each in waiting):
            time.sleep(0.2)
        pool.terminate()
    request = {"programs": programs, "seconds": deadline - time.monotonic()}
    process = subprocess.Popen([sys.executable, __file__, "peers"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(json.dumps(request).encode())
    process.stdin.close()
    for line in lines(process):
        if line is None or time.monotonic() > deadline + 10:
            break
        found[line["program"]] = line["result"]
        print(line["program"], line["result"], flush=True)
    process.kill()
    process.wait()
    return found


def supervise(
    names: list[str], firsts: list[str], args: argparse.Namespace, facts: dict[str, Any], deadline: float
) -> list[str]:
    """Run one measuring process until it ends or hangs; return the kernels that are left."""
    request = {
        "folder": str(args.folder),
        "names": names,
        "bad": facts["bad"],
        "rounds": args.rounds,
        "first": [] if "first" in facts else firsts,
        "seconds": deadline - time.monotonic(),
    }
    process = subprocess.Popen([sys.executable, __file__, "child"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(json.dumps(request).encode())
    process.stdin.close()
    left, trying = list(names), None
    for line in lines(process):
        match (line or {}).get("kind", "silence"):
            case "device":
                assert line is not None
                facts["device"] = line["name"]
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
            case "first":
                assert line is not None
                facts.setdefault("first", []).append(line["result"])
                print(line["result"], flush=True)
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


def report(args: argparse.Namespace) -> int:
    """Write the page."""
    from gpu_parts.defaults_page import page

    facts = json.loads(args.results.read_text("utf-8"))
    facts["explained"] = dict(each.split("=", 1) for each in args.explain)
    (LIST.parents[1] / "docs" / "reports" / "gpu_defaults.md").write_text(page(facts), "utf-8")
    return 0


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
    runs.add_argument("--most", type=int, default=6, help="variants of each compiler, beside those of a first launch")
    runs.add_argument("--workers", type=int, default=0)
    runs.add_argument("--first", type=int, default=0, help="kernels whose first launch is timed whole")
    runs.add_argument("--peer-minutes", type=float, default=0, help="time for what torch does instead")
    later = verbs.add_parser("more")
    later.add_argument("folder", type=Path)
    later.add_argument("results", type=Path)
    later.add_argument("--again", default="", help="a pattern of the names of kernels to measure again")
    later.add_argument("--first", type=int, default=8)
    later.add_argument("--minutes", type=float, default=1)
    later.add_argument("--peer-minutes", type=float, default=1.5)
    later.add_argument("--rounds", type=int, default=3)
    later.add_argument("--most", type=int, default=3)
    reports = verbs.add_parser("report")
    reports.add_argument("results", type=Path)
    reports.add_argument("--explain", action="append", default=[], metavar="KERNEL=WHY", help="why results differ")
    verbs.add_parser("child")
    verbs.add_parser("peers")
    args = parser.parse_args()
    if args.verb in ("child", "peers"):
        from gpu_parts import collect, torch_peers

        {"child": collect, "peers": torch_peers}[args.verb].child(json.load(sys.stdin))
        return 0
    return {"export": export, "draw": draw, "run": run, "more": more, "report": report}[args.verb](args)


if __name__ == "__main__":
    sys.exit(main())
