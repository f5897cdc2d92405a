"""The page docs/reports/judge.md, from the numbers of the campaign."""

from __future__ import annotations

import statistics
from collections import Counter
from typing import Any

from checkout import fill

HONEST, EXPLOIT = "honest", "exploit"
INTRODUCTION = """\
# The judge

`tilery judge` was given kernels that are right and kernels that are wrong, on purpose or by mistake.
`scripts/judging/campaign.py` wrote this page. The [guide](../../guides/judge.md) explains the stages.
"""
CATALOGUE = """\
## Catalogue

The candidates are in `scripts/judging/catalogue`: honest kernels for {problems} problems, with different tilings,
orders and precisions, and exploits and faults, each with its source. A third of both was held out: `held_out.txt` was
written before tolerances were chosen, and they were run once, for this page, after tolerances and checks were final.
Only the limit on the processes of a jail changed after that run. Candidates that were added later are not held out.
"""
FORGE = 2.7
"""Kernels a second that goooxu/cuTileForge reports."""
NOT_MEASURED = """\
## Not measured

* 2,000 candidates within ten minutes: other work took most of the machine.
* Times on a GPU: the timing stage ran on engines `reference` and `cpu` only. That it agrees with `bench/gpu.py` on an
  H200 is not shown.
* Kernels of other people: the honest kernels were written for this catalogue by the authors of the judge, so they share
  habits that other people may not have.
* Systems without namespaces, Landlock or seccomp: tests confine candidates with and without namespaces on a kernel that
  has all three. The filter of system calls has not run on Arm.
* Clusters: the example for Ray ran with Ray 2.60 on one machine, that for SLURM as two jobs without SLURM. Dask was not
  installed.
"""


def page(numbers: dict[str, Any]) -> str:
    """Return the page."""
    parts = [INTRODUCTION]
    if "catalogue" in numbers:
        parts.append(catalogue(numbers["catalogue"]["rows"]))
    if "throughput" in numbers:
        parts.append(throughput(numbers["throughput"]))
    if "soak" in numbers:
        parts.append(soak(numbers["soak"]))
    if "earlier_soak" in numbers:
        parts.append(earlier(numbers["earlier_soak"]))
    return "\n".join([*parts, NOT_MEASURED])


def catalogue(rows: list[dict[str, Any]]) -> str:
    problems = len({each["key"].partition("/")[0] for each in rows if each["kind"] == HONEST})
    lines = [CATALOGUE.format(problems=problems), "| | candidates | accepted | rejected |", "|---|--:|--:|--:|"]
    for kind, title in ((HONEST, "honest kernels"), (EXPLOIT, "exploits and faults")):
        for held in (False, True):
            found = [each for each in rows if each["kind"] == kind and each["held_out"] is held]
            count = Counter(each["verdict"] for each in found)
            which = "held out" if held else "others"
            lines.append(f"| {title}, {which} | {len(found)} | {count['accepted']} | {count['rejected']} |")
    worst = sorted(each["worst"] for each in rows if each["kind"] == HONEST and each["worst"] is not None)
    lines += [
        "",
        f"The largest error of an honest kernel is {worst[-1]:.2f} of what is allowed, the median "
        f"{statistics.median(worst):.2f}. A kernel above 1 would be rejected.",
        "",
        "Which stage rejected the exploits and faults:",
        "",
        "| stage | rejected | kinds |",
        "|---|--:|---|",
    ]
    wrong = [each for each in rows if each["kind"] == EXPLOIT]
    for stage in dict.fromkeys(each["stage"] for each in sorted(wrong, key=lambda each: order(each["stage"]))):
        kinds = Counter(each["fault"] for each in wrong if each["stage"] == stage)
        said = ", ".join(f"{name} {count}" for name, count in kinds.most_common())
        lines.append(f"| {stage or 'accepted'} | {sum(kinds.values())} | {said} |")
    lines += ["", "| exploit or fault | held out | rejected by | kind | source |", "|---|---|---|---|---|"]
    for each in wrong:
        mark = "yes" if each["held_out"] else ""
        lines.append(f"| `{each['key']}` | {mark} | {each['stage']} | {each['fault']} | {each['source']} |")
    return "\n".join([*lines, ""])


def order(stage: str) -> int:
    stages = ("compile", "verify", "static", "sanitize", "run", "compare", "metamorphic", "")
    return stages.index(stage)


def throughput(found: dict[str, Any]) -> str:
    rows = found["rows"]
    slowest = min(rows, key=lambda each: float(each["candidates"] / each["processor"]))
    both = 2 * slowest["candidates"] / slowest["processor"]
    reached = min(each["warm_per_second"] for each in rows) > FORGE
    clock = "By the clock, that was reached here too." if reached else "By the clock, that was not reached here."
    lines = [
        "## Throughput",
        "",
        fill(
            f"Honest kernels of the catalogue, each a file, on {found['cores']} cores with two workers: all stages but "
            "timing. Every case runs twice, and every shape once more with all checks of the sanitizer. cuTile and "
            "Triton compile for every shape. Processor seconds include the start of the workers and the import of "
            f"torch; `when warm` leaves out the first quarter. {busy(found)}"
        ),
        "",
        fill(
            f"goooxu/cuTileForge reports {FORGE} kernels a second with four GPUs, for its own checks. {clock} By "
            f"processor time, two cores that have nothing else to do would judge {both:.1f} candidates a second of the "
            "slowest problem, with the start of the workers; that was not measured."
        ),
        "",
        "| problem | candidates | shapes | cases | seconds | processor seconds | per second | when warm | "
        "per processor second |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {each['problem']} | {each['candidates']} | {each['shapes']} | {each['cases']} | {each['seconds']} | "
        f"{each['processor']} | {each['per_second']} | {each['warm_per_second']} | "
        f"{each['candidates'] / each['processor']:.1f} |"
        for each in rows
    ]
    return "\n".join([*lines, ""])


def busy(found: dict[str, Any]) -> str:
    """Say how busy the machine was."""
    return (
        f"Other work ran on the same cores: the load was {found['load']} at the end, and the judge had a niceness of "
        f"{found['nice']}. Processor time says more than the clock."
    )


def soak(found: dict[str, Any]) -> str:
    left = ", ".join(f"{len(what)} {name}" for name, what in found["left"].items())
    lines = [
        "## Soak",
        "",
        fill(
            f"{found['judged']:,} of {found['count']:,} candidates in {found['seconds']:,} seconds with two workers: "
            f"{found['judged'] / found['seconds']:.2f} a second. {busy(found)} One in ten candidates attacks the "
            "judge: it hangs, crashes, forks, leaves processes, fills the disk, memory or the log, or answers with "
            "data made to exhaust the parser."
        ),
        "",
        fill(f"Judged wrongly: {len(found['wrong'])}. Not judged: {found['not_judged']}. Left behind: {left}."),
        "",
        "| candidate: verdict | count |",
        "|---|--:|",
    ]
    lines += [f"| {name} | {count} |" for name, count in found["outcomes"].items()]
    return "\n".join([*lines, ""])


def earlier(found: dict[str, Any]) -> str:
    honest = sum(count for name, count in found["outcomes"].items() if name.startswith("honest"))
    left = sum(map(len, found["left"].values()))
    text = (
        f"An earlier run, of a version whose limit on processes did not hold for root, gave a candidate "
        f"{found['limit_seconds']:g} seconds to compile, on a machine with a load of {found['load']}. "
        f"{found['judged']:,} candidates were judged in {found['seconds']:,} seconds. Of {honest:,} honest ones, "
        f"{len(found['wrong'])} was rejected, because that time was up; left behind: {left}. Choose limits on wall "
        "time for the load that you expect. The default is 30 seconds."
    )
    return fill(text) + "\n"
