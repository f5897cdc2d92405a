"""Compare engine cpu with the reference engine on random modules, try to crash it, and write docs/reports/lab/cpu.md.

    python scripts/cpu_campaign.py --modules 10000 --mutants 20000 --hostile 1000 [--hardware FOLDER] [--report]

Every case runs in a child process, in buffers that end (or begin) at an inaccessible page, so that an access
outside them ends the child and is found. Modules are those of `support.contract.random_case`, which store every value
that they compute and do not use. A mutant is a random module with one or two changes that is still legal. `--hostile`
counts kernels of `support.hostile.guarded`, ten launches each. `--hardware` is a folder with the cases of
docs/reports/lab/hardware.md.

Results are kept in FILE, a line per batch, and a batch that is there is not run again: a campaign can be stopped and
continued. To start anew, name another file. `--report` writes docs/reports/lab/cpu.md and cpu.json from FILE.
"""

from __future__ import annotations

import argparse
import json
import lzma
import platform
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import checkout
from parts import children
from parts.cpu_cases import DIFFERS, FAMILY, OWN_CHILD, RACES, REFUSED, SAME, SECONDS, SLOW, WORDS, run_cases, totals_of
from parts.forked_compiler import KERNELS
from tilery.cli.progress import progress

BATCH = {"modules": 100, "mutants": 100, "hostile": 100, "hardware": 575}
"""Cases per child process, by kind. Loading the hardware cases takes long."""
TITLES = {
    "modules": "random modules",
    "mutants": "mutants",
    "hardware": "kernels that a GPU has run",
    "hostile": "hostile kernels",
}
FINE = (SAME, RACES, SLOW)
PATIENCE = 600.0
"""Seconds after which a case counts as hanging."""
Batch = dict[str, Any]


def run_batch(kind: str, first: int, end: int, *options: str) -> Batch:
    """Run a batch in children; where one dies, note the case and go on after it."""

    def command(start: int) -> list[str]:
        return [sys.executable, __file__, "--child", kind, str(start), str(end), *options]

    said = children.run_range(command, first, end, PATIENCE)
    lines = [line for line in said if "number" in line]
    seconds = sum(line.get("seconds", 0) for line in said if "number" not in line)
    kept = sum(line.get("kept", 0) for line in said)
    findings = [
        {name: line[name] for name in ("number", "outcome", "detail") if name in line}
        for line in lines
        if line["outcome"] not in FINE
    ]
    counted = {"totals": totals_of(lines) | ({"kept": kept} if kept else {}), "findings": findings}
    return {"kind": kind, "first": first, "end": end, "seconds": round(seconds, 1)} | counted


def campaign(kind: str, count: int, args: argparse.Namespace, done: dict[tuple[str, int], Batch]) -> None:
    """Run the batches of a kind that are not done, for so many seconds at most, and keep their results."""
    end = time.monotonic() + args.seconds
    last = args.first + count
    parts = [(start, min(start + BATCH[kind], last)) for start in range(args.first, last, BATCH[kind])]
    missing = [part for part in parts if part[1] > done.get((kind, part[0]), {"end": 0})["end"]]
    ran = {"code": code_version(), "machine": machine()}

    def work(part: tuple[int, int]) -> Batch | None:
        return run_batch(kind, *part, str(args.hardware or ""), args.objects) if time.monotonic() < end else None

    with progress(len(missing), f"batches of {kind}") as step, ThreadPoolExecutor(args.jobs) as pool:
        for batch in pool.map(work, missing):
            step()
            if batch is None:
                continue
            batch |= ran
            done[kind, batch["first"]] = batch
            with args.results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(batch) + "\n")


def code_version() -> str:
    """Return git's name for the content of the engine's folder, marked if something there is not committed."""
    folder = "src/tilery/engines/cpu"

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=checkout.ROOT, capture_output=True, text=True)
        return done.stdout.strip()

    name = git("rev-parse", "--short=12", f"HEAD:{folder}") or "unknown"
    return name + (" with changes" if git("status", "--porcelain", "--", folder) else "")


def machine() -> str:
    """Return what runs the batches: the version of Python, and the processor."""
    from tilery.engines.cpu.native.compiler import host

    return f"CPython {platform.python_version()}, {host().cpu}"


# ---------------------------------------------------------------- the page


def summary(done: list[Batch]) -> dict[str, Any]:
    """Add up batches by kind, and by the code and the machine that they ran on."""
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    for batch in sorted(done, key=lambda b: (list(TITLES).index(b["kind"]), b["code"], b["machine"], b["first"])):
        ran = {name: batch[name] for name in ("kind", "code", "machine")}
        empty: dict[str, Any] = {**ran, "numbers": [], "count": 0, "seconds": 0, "totals": {}, "findings": []}
        row = rows.setdefault(tuple(ran.values()), empty)
        row["numbers"] = join(row["numbers"], [batch["first"], batch["end"] - 1])
        row["count"] += batch["end"] - batch["first"]
        row["seconds"] = round(row["seconds"] + batch["seconds"], 1)
        row["totals"] = dict(Counter(row["totals"]) + Counter(batch["totals"]))
        row["findings"] += batch["findings"]
    return {"rows": list(rows.values())}


def join(ranges: list[list[int]], more: list[int]) -> list[list[int]]:
    """Append a range, to the last one if it follows it.

    >>> join([[0, 9]], [10, 19]), join([[0, 9]], [20, 29])
    ([[0, 19]], [[0, 9], [20, 29]])
    """
    if ranges and ranges[-1][1] + 1 == more[0]:
        return [*ranges[:-1], [ranges[-1][0], more[1]]]
    return [*ranges, more]


def page(found: dict[str, Any]) -> str:
    """Render the numbers as a page."""
    rows = found["rows"]
    lines = ["# The fast CPU engine against the reference engine", "", checkout.fill(INTRODUCTION), ""]
    lines += ["| | numbers | same | differ | other operation in the error | died | races | too slow | refused |"]
    lines.append("|---|---|--:|--:|--:|--:|--:|--:|--:|")
    for row in rows:
        totals = Counter(row["totals"])
        died = sum(totals[outcome] for outcome in (children.DIED, children.HANGS, "crashed"))
        counts = [totals[SAME], totals[DIFFERS], totals[WORDS], died, totals[RACES], totals[SLOW], totals[REFUSED]]
        numbers = ", ".join(f"{first:,} to {last:,}" for first, last in row["numbers"])
        lines.append(f"| {TITLES[row['kind']]} | {numbers} | " + " | ".join(f"{n:,}" for n in counts) + " |")
    lines += ["", *(checkout.fill(f"* {sentence}") for sentence in details(rows)), ""]
    codes = sorted({row["code"] for row in rows})
    one = f"The engine was `{codes[0]}`" if len(codes) == 1 else "The engine differs"
    machines = sorted({row["machine"] for row in rows})
    text = f"{one} (`git rev-parse HEAD:src/tilery/engines/cpu`)" + (f"; {machines[0]}." if len(machines) == 1 else ".")
    for row in rows if len(codes) + len(machines) > 2 else ():
        code = f"`{row['code']}`, " if len(codes) > 1 else ""
        text += f" {row['count']:,} {TITLES[row['kind']]}: {code}{row['machine']}."
    lines += [checkout.fill(text), "", "## Findings", "", *findings(rows), "", "## Not measured", ""]
    return "\n".join([*lines, checkout.fill(NOT_MEASURED)]) + "\n"


def details(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Say of each row how much was compiled, and how."""
    for row in rows:
        totals = Counter(row["totals"])
        title = f"{row['count']:,} {TITLES[row['kind']]}"
        if row["kind"] == "hostile":
            ways = [f"{totals[f'launches {how}']:,} {how}" for how in ("ended", "faulted", "refused")]
            launches = sum(totals[f"launches {how}"] for how in ("ended", "faulted", "refused"))
            text = f"{title}, {launches:,} launches: {', '.join(ways)}"
        else:
            launches = totals["compiled"] + totals["handed over"]
            text = f"{title}: {totals['compiled']:,} of {launches:,} launches were compiled"
        if totals["tries"]:
            text += f"; {totals['tries']:,} changes were tried to find the legal ones"
        text += f". {totals['level 0']:,} were compiled at level 0, {totals['own child']:,} as the engine does"
        if totals["kept"]:
            text += f"; {totals['kept']:,} reused the object of the same LLVM IR"
        yield f"{text}. {row['seconds']:,.0f} seconds of CPU time."


def findings(rows: list[dict[str, Any]]) -> list[str]:
    """List the first findings of each row."""
    lines = []
    for row in rows:
        for each in row["findings"][:20]:
            detail = " ".join(each.get("detail", "").split())
            lines.append(f"* {row['kind']}, {each['number']}: {each['outcome']} {detail}".rstrip())
    return lines or ["None."]


INTRODUCTION = (
    "`scripts/cpu_campaign.py` wrote this page. Cases ran on both engines in child processes, in buffers that end or "
    "begin at a page that may not be accessed. Memory, globals and printed text are compared bit for bit, with "
    "`exact=True`. After an error only the operation is compared, because the engines execute tile blocks in different "
    "orders. The tile blocks of a mutant may race; this is known because the reference engine leaves different bytes "
    f"if it runs them one by one. A case is too slow if an engine did not finish it within {SECONDS:g} seconds. "
    "Hostile kernels access memory at the edges of arrays and far outside; every byte beside the arrays must stay the "
    "same."
)
NOT_MEASURED = (
    "Results without `exact=True`, whose transcendental functions may differ by an ULP, and processors other than the "
    "one that the script ran on. Launches that are handed to the reference engine are equal by construction. To save "
    f"time, LLVM runs in forked processes with the engine's limits, {KERNELS} kernels each, except for one case in "
    f"{OWN_CHILD}; about half of the cases are compiled at level 0 instead of 2; and {FAMILY} mutants share a module."
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for kind in ("modules", "mutants", "hostile"):
        parser.add_argument(f"--{kind}", type=int, default=0, metavar="COUNT")
    parser.add_argument("--hardware", type=Path, metavar="FOLDER")
    parser.add_argument("--first", type=int, default=0, help="the first number")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1e9, help="start nothing more of a kind after this time")
    parser.add_argument("--results", type=Path, default=Path("cpu_campaign.jsonl"), metavar="FILE")
    parser.add_argument("--objects", default="", metavar="FILE", help="keep what LLVM made, for another campaign")
    parser.add_argument("--again", action="store_true", help="run the batches with findings again")
    parser.add_argument("--report", action="store_true", help="write docs/reports/lab/cpu.md and cpu.json")
    parser.add_argument("--redraw", action="store_true", help="write cpu.md again from cpu.json, and nothing else")
    parser.add_argument("--child", nargs=5, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        kind, first, end, folder, objects = args.child
        run_cases(kind, int(first), int(end), folder, objects)
        return 0
    if args.redraw:
        numbers = json.loads((checkout.LAB / "cpu.json").read_text("utf-8"))
        (checkout.LAB / "cpu.md").write_text(page(numbers), encoding="utf-8")
        return 0
    lines = args.results.read_text("utf-8").splitlines() if args.results.exists() else []
    done = {(batch["kind"], batch["first"]): batch for batch in map(json.loads, lines)}
    if args.again:
        done = {key: batch for key, batch in done.items() if not batch["findings"]}
    for kind in ("modules", "mutants", "hostile"):
        campaign(kind, getattr(args, kind), args, done)
    if args.hardware:
        campaign(
            "hardware", len(json.loads(lzma.decompress((args.hardware / "cases.json.xz").read_bytes()))), args, done
        )
    found = summary(list(done.values()))
    print(page(found))
    if args.report:
        (checkout.LAB / "cpu.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        (checkout.LAB / "cpu.md").write_text(page(found), encoding="utf-8")
    return 1 if any(row["findings"] for row in found["rows"]) else 0


if __name__ == "__main__":
    sys.exit(main())
