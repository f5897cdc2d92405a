"""Judge a catalogue, measure how many candidates a second that makes, and soak the judge; write a page about it.

    python scripts/judging/campaign.py catalogue             honest kernels, exploits and faults
    python scripts/judging/campaign.py fresh --tilegym CHECKOUT
    python scripts/judging/campaign.py third                 a later set, and what it does to the judge itself
    python scripts/judging/campaign.py throughput            small kernels per second
    python scripts/judging/campaign.py soak --count 2000 --minutes 10
    python scripts/judging/campaign.py page                  the page again, from the numbers
    python scripts/judging/campaign.py page --add FILE       with the parts that another machine measured

`gpu_timing.py` beside it measures the part `gpu`. Each part keeps its numbers in docs/reports/lab/judge.json
(`--json FILE`) and writes the page anew (`--report FILE`).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import checkout
from judging.harm import Watch, harm
from judging.page import page
from judging.parts import EXPLOIT, FRESH, HERE, HONEST, THIRD, Bench, Entry, entries, with_kernels
from tilery.cli.progress import progress
from tilery.judge import Limits, Plan, judge_all
from tilery.judge.results import ACCEPTED, REJECTED, UNJUDGED

REPORTS = checkout.ROOT / "docs" / "reports" / "lab"
WANTED = {HONEST: ACCEPTED, EXPLOIT: REJECTED}
HOSTILE = {
    "hang": "while True: pass",
    "sleep": "import time; time.sleep(1000)",
    "crash": "import ctypes; ctypes.string_at(0)",
    "fork": "import os\n    while True: os.fork()",
    "daemon": "import os, time; os.fork() or (os.setsid(), time.sleep(1000))",
    "disk": "f = open('f', 'wb')\n    while True: f.write(bytes(1 << 20))",
    "memory": "kept = []\n    while True: kept.append(bytearray(1 << 26))",
    "output": "import sys\n    while True: sys.stderr.write('x' * 65536)",
    "shared memory": (
        "import mmap, os, time\n    [os.fork() for n in range(4)]\n    block = mmap.mmap(-1, 1 << 29)\n"
        "    for at in range(0, 1 << 29, 4096): block[at] = 1\n    time.sleep(1000)"
    ),
    "shm files": "for n in range(99): open(f'/dev/shm/{n}', 'wb').write(bytes(1 << 22))",
    "large answer": "import os\n    while True: os.write(3, bytes(1 << 20))",
    "deep answer": "import os; os.write(3, b'[' * (1 << 19)); os._exit(0)",
    "many items": "import os; os.write(3, b'[' + b'[],' * (1 << 22)); os._exit(0)",
}
"""Candidates that attack the judge, by what they do."""
SOAK_LIMITS = Limits(seconds=20.0, cpu_seconds=3)


def is_wanted(entry: Entry, args: argparse.Namespace) -> bool:
    """Tell whether the key of an entry has one of the texts that `--only` names."""
    return any(each in entry.key for each in args.only.split(","))


def run_catalogue(args: argparse.Namespace) -> dict[str, Any]:
    """Judge every entry of the catalogue."""
    every = [entry for kind in (HONEST, EXPLOIT) for entry in entries(kind) if args.held_out or not entry.held_out]
    return judge_entries([entry for entry in every if is_wanted(entry, args)])


def run_fresh(args: argparse.Namespace) -> dict[str, Any]:
    """Judge what was written after the judge was finished, with kernels of TileGym if there is a checkout of it."""
    every = [entry for kind in (HONEST, EXPLOIT) for entry in entries(kind, FRESH) if is_wanted(entry, args)]
    if args.tilegym is not None:
        every = [with_kernels(entry, args.tilegym) if entry.needs else entry for entry in every]
    return judge_entries([entry for entry in every if args.tilegym is not None or not entry.needs])


def run_third(args: argparse.Namespace) -> dict[str, Any]:
    """Judge the third set, and look at what each candidate does to the judge. The first numbers are kept."""
    return judge_entries(
        [entry for kind in (HONEST, EXPLOIT) for entry in entries(kind, THIRD) if is_wanted(entry, args)]
    )


def judge_entries(every: list[Entry]) -> dict[str, Any]:
    """Judge candidates, and return a row about each."""
    rows: list[dict[str, Any]] = []
    bench = Bench()
    started = time.process_time()
    with progress(len(every), "candidates") as step:
        for entry in every:
            watch = Watch()
            with watch.watching():
                found = bench.judge(entry)
            worst = next((each.facts.get("worst") for each in found.stages if each.stage == "compare"), None)
            rows.append({
                "kind": entry.kind, "key": entry.key, "source": entry.source, "held_out": entry.held_out,
                "verdict": found.verdict, "stage": found.failed.stage if found.failed else "", "fault": found.kind,
                "reason": found.reason if found.verdict != WANTED[entry.kind] else "",
                "seconds": watch.seconds, "harm": harm(entry.text, found, watch), "worst": worst,
                "jail": next((s.facts["jail"] for s in found.stages if "jail" in s.facts), ""),
            })  # fmt: skip
            if found.verdict != WANTED[entry.kind] or rows[-1]["harm"]:
                sys.stderr.write(f"{entry.kind} {entry.key}: {found.verdict}, {found.reason} {rows[-1]['harm']}\n")
            step()
    bench.close()
    return {"rows": rows, "judge_seconds": round(time.process_time() - started, 1)}


# ---------------------------------------------------------------- many candidates


def plan_of(problem: str, limits: Limits) -> Plan:
    path = HERE / "problems" / f"{problem}.toml"
    return Plan(path.read_text("utf-8"), str(path.parent), limits=limits, seconds=5.0)


def copies(problem: str, folder: Path, count: int) -> list[str]:
    """Write honest candidates for a problem again and again, each a file of its own, and return their names."""
    honest = [entry for entry in entries(HONEST) if entry.problem == problem]
    names = []
    for number in range(count):
        entry = honest[number % len(honest)]
        mark = "//" if entry.name.endswith(".mlir") else "#"
        path = folder / f"{number:05d}_{entry.name}"
        path.write_text(f"{mark} {number}\n{entry.text}", "utf-8")
        names.append(str(path))
    return names


def run_throughput(args: argparse.Namespace) -> dict[str, Any]:
    """Judge copies of honest kernels."""
    rows = []
    for problem in ("add", "rowsum", "softmax", "matmul"):
        with tempfile.TemporaryDirectory() as folder:
            names = copies(problem, Path(folder), args.count)
            plan = plan_of(problem, Limits())
            moments = [time.monotonic()]
            used = _used()
            with progress(len(names), problem) as step:
                for result in judge_all(names, plan, jobs=args.jobs, step=step):
                    moments.append(time.monotonic())
                    assert result.verdict == ACCEPTED, result.reason
            processor = _used() - used
        warm = moments[len(moments) // 4 :]
        facts = plan.judge().problem
        rows.append({
            "problem": problem, "candidates": len(names), "shapes": len(facts.shapes), "cases": len(facts.cases),
            "seconds": round(moments[-1] - moments[0], 2), "processor": round(processor, 2),
            "per_second": round(len(names) / (moments[-1] - moments[0]), 2),
            "warm_per_second": round((len(warm) - 1) / (warm[-1] - warm[0]), 2),
        })  # fmt: skip
    return {"rows": rows, **machine(args)}


def machine(args: argparse.Namespace) -> dict[str, Any]:
    """Return what a part ran on."""
    lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        "processor": names[0] if names else "", "cores": len(os.sched_getaffinity(0)), "all_cores": os.cpu_count(),
        "jobs": args.jobs, "load": round(os.getloadavg()[0], 1), "nice": os.nice(0),
    }  # fmt: skip


def run_soak(args: argparse.Namespace) -> dict[str, Any]:
    """Judge many candidates of which one in ten attacks the judge, round after round; look at what is left afterwards.

    All temporary files go to a folder of the soak's own, so that what other programs of the machine leave is not
    counted. The last round ends when the time is over, but all candidates are judged once.
    """
    rng = random.Random(args.seed)
    found: dict[str, Any] = {"count": args.count, "minutes": args.minutes, "judged": 0, "rounds": 0, "wrong": []}
    kinds: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as place:
        scratch = Path(place) / "left"
        scratch.mkdir(mode=0o755)
        os.chmod(place, 0o755)
        tempfile.tempdir = os.environ["TMPDIR"] = str(scratch)
        before, started, cpu = left_behind(scratch), time.monotonic(), _used()
        end = started + 60 * args.minutes
        while time.monotonic() < end:
            found["rounds"] += 1
            judged, attacks = _soak_candidates(Path(place) / str(found["rounds"]), args.count, rng)
            soak_round(judged, attacks, found, kinds, end if found["rounds"] > 1 else float("inf"), args.jobs)
        found["seconds"] = round(time.monotonic() - started, 1)
        found["busy"] = round(_used() - cpu, 1)
        time.sleep(1)
        after = left_behind(scratch)
    left = {name: sorted(set(after[name]) - set(before[name])) for name in after}
    not_judged = sum(count for name, count in kinds.items() if f": {UNJUDGED}" in name)
    return {
        **found, **machine(args), "limit_seconds": SOAK_LIMITS.seconds, "not_judged": not_judged, "left": left,
        "outcomes": dict(sorted(kinds.items())),
    }  # fmt: skip


def _used() -> float:
    """Return the seconds of processor time of all children that have ended."""
    done = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.ru_utime + done.ru_stime


def _soak_candidates(folder: Path, count: int, rng: random.Random) -> tuple[list[str], dict[str, str]]:
    """Write candidates, and return their names and what those do that attack."""
    folder.mkdir()
    names, attacks = copies("add", folder, count), {}
    for number in rng.sample(range(count), count // 10):
        kind = rng.choice(sorted(HOSTILE))
        path = folder / f"{number:05d}_{kind}.py"
        path.write_text(f"# {number}\ndef run(x, y, out):\n    {HOSTILE[kind]}\n", "utf-8")
        names[number] = str(path)
        attacks[str(path)] = kind
    return names, attacks


def soak_round(
    names: list[str], attacks: dict[str, str], found: dict[str, Any], kinds: Counter[str], end: float, jobs: int
) -> None:
    """Judge candidates until the time is over, and count verdicts."""
    with progress(len(names), f"round {found['rounds']}") as step:
        for result in judge_all(names, plan_of("add", SOAK_LIMITS), jobs=jobs, step=step):
            kind = attacks.get(result.candidate, "honest")
            found["judged"] += 1
            kinds[f"{kind}: {result.verdict}" + (f", {result.kind}" if result.kind else "")] += 1
            if (result.verdict == ACCEPTED) != (kind == "honest"):
                found["wrong"].append(f"{Path(result.candidate).name}: {result.reason or result.error}")
            if time.monotonic() > end:
                return


def left_behind(scratch: Path) -> dict[str, list[str]]:
    """Return processes of judges, temporary files and folders, shared memory, mounts and control groups."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                surroundings = (entry / "environ").read_text("utf-8", "replace")
            except OSError:
                continue
            if str(scratch) in surroundings:
                found.append(f"{entry.name} {command}")
    return {
        "processes": found,
        "files and folders": [str(path) for path in scratch.rglob("*")],
        "files in /dev/shm": sorted(os.listdir("/dev/shm")),
        "segments of shared memory": Path("/proc/sysvipc/shm").read_text("utf-8").splitlines()[1:],
        "mounts": Path("/proc/mounts").read_text("utf-8").splitlines(),
        "control groups": [str(path) for path in Path("/sys/fs/cgroup").rglob("*") if path.is_dir()],
    }


PARTS = {
    "catalogue": run_catalogue,
    "fresh": run_fresh,
    "third": run_third,
    "throughput": run_throughput,
    "soak": run_soak,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=[*PARTS, "page"])
    parser.add_argument("--count", type=int, help="candidates: 40 per problem for throughput, 2000 for soak")
    parser.add_argument("--only", default="", metavar="TEXT,TEXT", help="candidates whose key has one of these")
    parser.add_argument("--held-out", action="store_true", help="with those of the catalogue that were held out")
    parser.add_argument("--minutes", type=float, default=10.0, help="the least minutes of a soak")
    parser.add_argument("--jobs", type=int, default=2, help="workers")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tilegym", type=Path, metavar="CHECKOUT", help="a checkout of NVIDIA/TileGym")
    parser.add_argument("--add", type=Path, action="append", default=[], help="a file with parts")
    parser.add_argument("--json", type=Path, default=REPORTS / "judge.json")
    parser.add_argument("--report", type=Path, default=REPORTS / "judge.md")
    args = parser.parse_args()
    args.count = args.count or (2000 if args.part == "soak" else 40)
    numbers = json.loads(args.json.read_text("utf-8")) if args.json.exists() else {}
    for each in args.add:
        numbers |= json.loads(each.read_text("utf-8"))
    if args.part != "page" or args.add:
        if args.part != "page":
            numbers[args.part] = PARTS[args.part](args)
            if args.part == "third":
                numbers.setdefault("third_first", numbers["third"])
        args.json.write_text(json.dumps(numbers, indent=1) + "\n", "utf-8")
    args.report.write_text(page(numbers), "utf-8")
    rows = numbers.get("catalogue", {}).get("rows", [])
    worst = [each["worst"] for each in rows if each["kind"] == HONEST and each["worst"] is not None]
    if worst:
        print(f"errors of honest kernels, in units of what is allowed: median {statistics.median(worst):.2f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
