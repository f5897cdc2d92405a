"""Run one campaign on threads, processes, Dask, Ray and an array of jobs; write docs/reports/lab/executors.md.

    python scripts/reducing/executors.py [--seeds 96] [--only NAME ...] [--page docs/reports/lab/executors.md]

Needs `distributed` and `ray`; what is missing is left out, and the page says so. The campaign runs with one worker and
with two, and again with two of which one is killed; what it finds must be the same each time. The work waits for a
stand-in for a compiler, so that the times tell what the executor costs even if the machine is busy.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import checkout
from tilery.reducer.campaign import Campaign, CampaignPlan, Map, map_here
from tilery.reducer.cluster import map_on
from tilery.reducer.executors import map_on_executor

REPORT = checkout.LAB / "executors.md"
WAIT = 0.2
"""Seconds that the stand-in for a compiler takes."""
TOOL = f"""#!/bin/sh
case "$1" in
  --version) echo V13.4.1; exit;;
  --list-versions) exit 1;;
esac
sleep {WAIT}
if grep -qa ad "$5"; then kill -6 $$; fi
if grep -qa ma "$5"; then kill -11 $$; fi
"""
"""It crashes on modules with certain names."""
MOST = 2
"""How many findings of each outcome are reduced in the runs with a killed worker."""
NAMESPACES = ("unshare", "--pid", "--fork", "--kill-child", "--mount", "--ipc", "--uts")
"""Options that make a worker a node: processes, mounts and a host name of its own."""
Row = dict[str, Any]


@dataclass
class Place:
    """Where campaigns run: a map, and a function that kills one of the workers."""

    map: Map
    kill: Callable[[], None]


# ---------------------------------------------------------------- places


@contextmanager
def on_threads(workers: int) -> Iterator[Place]:
    """Threads of this process, whose children run the tests; a child is killed."""
    yield Place(map_here(workers), lambda: kill_first("serving.main", "sleep"))


@contextmanager
def on_processes(workers: int) -> Iterator[Place]:
    """`concurrent.futures.ProcessPoolExecutor`, which breaks when a process is killed."""
    make = lambda: ProcessPoolExecutor(workers, mp_context=get_context("spawn"))  # noqa: E731
    yield Place(map_on_executor(make), lambda: kill_first("multiprocessing.spawn", "spawn_main"))


@contextmanager
def on_dask(workers: int) -> Iterator[Place]:
    """A Dask scheduler here, and workers over TCP, each in namespaces of its own."""
    distributed = import_module("distributed")
    nodes: list[subprocess.Popen[bytes]] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        distributed.LocalCluster(n_workers=0, dashboard_address=None, host="127.0.0.1") as cluster,
    ):
        command = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address, "--no-nanny"]
        command += ["--nthreads", "1", "--no-dashboard", "--local-directory", folder]
        try:
            nodes += [start([*NAMESPACES, *command]) for _ in range(workers)]
            wait_for(lambda: len(cluster.scheduler.workers) == workers)
            yield Place(map_on(cluster.scheduler_address), nodes[0].kill)
        finally:
            for node in nodes:
                node.kill()
                node.wait()


class RayExecutor(Executor):
    """Runs each call as a task of Ray, which starts it again if its worker dies."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
        ray = import_module("ray")
        made: Future[Any] = ray.remote(function).remote(*args, **options).future()
        return made


@contextmanager
def on_ray(workers: int) -> Iterator[Place]:
    """Ray, in its local mode."""
    ray = import_module("ray")
    ray.init(num_cpus=workers, log_to_driver=False, include_dashboard=False, runtime_env={"env_vars": paths()})
    try:
        first = ray.remote(lambda: time.sleep(0.5))
        ray.get([first.remote() for _ in range(workers)])  # Ray starts its processes when they are needed
        yield Place(map_on_executor(RayExecutor), lambda: kill_first("ray::check_seeds", ""))
    finally:
        ray.shutdown()


PLACES = {"threads": on_threads, "processes": on_processes, "Dask": on_dask, "Ray": on_ray}
NEEDS = {"Dask": "distributed", "Ray": "ray"}


def paths() -> dict[str, str]:
    return {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def kill_first(one: str, other: str) -> None:
    """Kill the first process below this one whose command has a text, or else another one."""
    for text in filter(None, (one, other)):
        for pid in descendants(os.getpid()):
            try:
                command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if text in command and "resource_tracker" not in command:
                os.kill(pid, signal.SIGKILL)
                return
    raise RuntimeError(f"there is no process '{one}' to kill")


def descendants(pid: int) -> list[int]:
    """Return the processes that a process has started, and theirs."""
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(fields[1]), []).append(int(path.parent.name))
    found, todo = [], [pid]
    while todo:
        children = parents.get(todo.pop(), [])
        found += children
        todo += children
    return sorted(found)


def wait_for(condition: Callable[[], bool], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("it takes too long")
        time.sleep(0.02)


# ---------------------------------------------------------------- campaigns


def measure(name: str, plan: CampaignPlan, seeds: range, folder: Path, alone: Campaign) -> Row:
    """Run the campaign with one and two workers, and with one that is killed."""
    row: Row = {"name": name}
    for workers in (1, 2):
        with PLACES[name](workers) as place:
            campaign = Campaign(plan, folder / f"{name}-{workers}", seeds, place.map, most_reduced=0)
            start = time.monotonic()
            campaign.run()
            row[f"seconds {workers}"] = time.monotonic() - start
    with PLACES[name](2) as place:
        campaign = Campaign(plan, folder / f"{name}-killed", seeds, place.map, most_reduced=MOST)
        thread = threading.Thread(target=campaign.run)
        thread.start()
        wait_for(lambda: len(campaign.checked) >= len(seeds) // 4)
        place.kill()
        row["done when killed"] = len(campaign.checked)
        thread.join()
    return row | judged(campaign, alone)


def judged(campaign: Campaign, alone: Campaign) -> Row:
    """Compare what a campaign found with what one found that ran undisturbed."""
    lines = [json.loads(line) for line in campaign.journal.read_text("utf-8").splitlines()[1:]]
    seeds = [line["seed"] for line in lines if "outcomes" in line]
    return {
        "lost": len(alone.checked) - len(campaign.checked),
        "twice": len(seeds) - len(set(seeds)),
        "same": campaign.checked == alone.checked and set(campaign.causes()) == set(alone.causes()),
    }


def measure_array(plan: CampaignPlan, seeds: range, folder: Path, alone: Campaign, tool: Path) -> Row:
    """Run the campaign as the jobs of an array do: as processes with SLURM's variables, one of which is killed."""
    row: Row = {"name": "array of jobs"}
    for workers in (1, 2):
        start = time.monotonic()
        jobs = [job(folder / f"array-{workers}", seeds, tool, n, workers) for n in range(workers)]
        statuses = [each.wait() for each in jobs]
        if any(statuses):
            raise RuntimeError("a job failed")
        row[f"seconds {workers}"] = time.monotonic() - start
    jobs = [job(folder / "array-killed", seeds, tool, n, 2) for n in range(2)]
    journal = folder / "array-killed" / "journal-0-of-2.jsonl"
    wait_for(lambda: journal.exists() and len(journal.read_text().splitlines()) > len(seeds) // 8)
    os.killpg(jobs[0].pid, signal.SIGKILL)
    for each in jobs:
        each.wait()
    campaign = Campaign(plan, folder / "array-killed", seeds, map_here(2), most_reduced=MOST)
    campaign.load()
    row["done when killed"] = len(campaign.checked)
    campaign.run()  # puts the parts together, and does what the killed job has left
    return row | judged(campaign, alone) | {"twice": 0}


def job(folder: Path, seeds: range, tool: Path, number: int, count: int) -> subprocess.Popen[bytes]:
    """Start a job of an array."""
    own = {"SLURM_ARRAY_TASK_ID": str(number), "SLURM_ARRAY_TASK_COUNT": str(count)}
    script = f"""
tilery() {{ {sys.executable} -m tilery "$@"; }}
tilery smith --campaign --against tileiras --target sm_100 --tool {tool} --size 12 --version 13.1 --jobs 1 \\
  --reduce-most 0 --count {len(seeds)} -o {folder} --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT"
"""
    return start(["bash", "-c", script], **own)


def start(command: list[str], **own: str) -> subprocess.Popen[bytes]:
    """Start a program in a session of its own, with variables of its own."""
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, env=os.environ | paths() | own, start_new_session=True, stdout=quiet, stderr=quiet)


# ---------------------------------------------------------------- the page


def page(rows: list[Row], missing: list[str], seeds: range, load: float) -> str:
    """Render the measurements."""
    ideal = len(seeds) * WAIT
    introduction = (
        f"`scripts/reducing/executors.py` wrote this page. A campaign of {len(seeds)} random modules ran on each of "
        f"the executors below. A stand-in for a compiler takes {WAIT} s for each module and crashes on some; ideally, "
        f"one worker takes {ideal:.0f} s and two take {ideal / 2:.0f} s. Efficiency is the ideal time by the time "
        "that the campaign took, with starting processes. Then it ran with two workers of which one was killed with "
        "SIGKILL; what was found is compared with an undisturbed run on one thread."
    )
    lines = ["# Campaigns on executors", "", checkout.fill(introduction), ""]
    lines += ["| executor | 1 worker | 2 workers | efficiency 1 | efficiency 2 | speedup |", "|---|" + "--:|" * 5]
    for row in rows:
        one, two = row["seconds 1"], row["seconds 2"]
        cells = f"{one:.1f} s | {two:.1f} s | {ideal / one:.2f} | {ideal / 2 / two:.2f} | {one / two:.2f}"
        lines.append(f"| {row['name']} | {cells} |")
    lines += ["", "| executor | modules done when a worker was killed | lost | counted twice | same findings |"]
    lines += ["|---|--:|--:|--:|---|"]
    for row in rows:
        same = "yes" if row["same"] else "no"
        lines.append(f"| {row['name']} | {row['done when killed']} | {row['lost']} | {row['twice']} | {same} |")
    notes = (
        "The workers of Dask are two nodes: processes in PID, mount, IPC and UTS namespaces of their own, which the "
        "scheduler reaches over TCP. Ray runs in its local mode. The array is two processes with SLURM's variables; "
        "its campaign is put together afterwards, which also does what the killed job has left."
    )
    lines += ["", checkout.fill(notes), "", "## Not measured", ""]
    rest = (
        f"Work that needs the processor: the machine has {os.cpu_count()} cores and had a load of {load:.1f}, so two "
        "workers would share them with other programs. More than two workers, several machines, and SLURM itself."
    )
    lines.append(checkout.fill(rest + "".join(f" {name} was not installed and is left out." for name in missing)))
    return "\n".join([*lines, ""])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=96, metavar="N")
    parser.add_argument("--only", nargs="*", default=[*PLACES, "array"], metavar="NAME")
    parser.add_argument("--page", type=Path, metavar="FILE")
    args = parser.parse_args()
    seeds, rows, missing, load = range(args.seeds), list[Row](), list[str](), os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as scratch:
        folder, tool = Path(scratch), Path(scratch, "tool")
        tool.write_text(TOOL, "utf-8")
        tool.chmod(0o755)
        plan = CampaignPlan("tileiras", "sm_100", str(tool), size=12, version="13.1")
        alone = Campaign(plan, folder / "alone", seeds, map_here(1), most_reduced=MOST)
        alone.run()
        for name in (name for name in PLACES if name in args.only):
            if name in NEEDS and importlib.util.find_spec(NEEDS[name]) is None:
                missing.append(name)
                continue
            rows.append(measure(name, plan, seeds, folder, alone))
            print(rows[-1], flush=True)
        if "array" in args.only:
            rows.append(measure_array(plan, seeds, folder, alone, tool))
            print(rows[-1], flush=True)
    checkout.publish(page(rows, missing, seeds, load), args.page)
    return int(any(row["lost"] or row["twice"] or not row["same"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
