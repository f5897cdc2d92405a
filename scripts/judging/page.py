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
written before tolerances were chosen, and they were first run after tolerances and checks were final. The verdicts here
are those of the present version. Candidates that were added later are not held out.
"""
FRESH = """\
## Candidates that the judge had not seen

`fresh_honest.txt` and `fresh_exploit.txt` were committed before the judge was run on any of them: other algorithms,
precisions and problems, and kernels of [TileGym](https://github.com/NVIDIA/TileGym), taken unchanged from a checkout
and launched by host functions of ours. `first look` is what the judge said at once. What it got wrong then was mended
as a class, so the last column is no figure of candidates that it had not seen. `wrong` means other than we meant.
"""
THIRD = """\
## Candidates that attack the judge, and kernels of new kinds

`third_honest.txt` and `third_exploit.txt` were written later, with the guide and the source of the judge
at hand, and committed before it was run on any of them. Honest kernels are of kinds that the sets before do not have:
counters, comparing and swapping, tables from the host, products that share their steps, C++. Exploits aim at what a
verdict does not show, too. So the campaign looks at the text of each result, at the seconds of the clock, and at the
memory of the judge and of the system. `fooled` is a verdict other than we meant, or harm of these kinds. What was found
is mended as a class, so the last column is no figure of candidates that it had not seen.
"""
GPU = """\
## Times on a GPU

`scripts/judging/gpu_timing.py` timed each kernel by the timing stage and by the method of `bench/gpu.py`, {rounds}
rounds of each in turn, on one {name} with Triton {triton}; whether other jobs used it meanwhile is not known. All
series launch the same machine code in one process, on the same memory. The method of `bench/gpu.py` launches a kernel
again and again on the same arrays, so that what fits stays in the cache. The timing stage launches it on several copies
of its memory in turn, so that nothing of a launch's arrays is in the cache, on other numbers in each; what a kernel
reads and writes is restored before each launch, which is then timed alone. On one copy of the memory, the stage
measures what `bench/gpu.py` does. Each method has two series: `itself` is how far their medians differ. Times are
medians.
"""
FORGE = 2.7
"""Kernels a second that goooxu/cuTileForge reports."""
NOT_MEASURED = """\
## Not measured

* Systems without namespaces, Landlock or seccomp: tests confine candidates with and without namespaces on a kernel that
  has all three. The filter of system calls has not run on Arm.
* Clusters: the example for Ray ran with Ray 2.60 on one machine, that for SLURM as two jobs without SLURM. Dask was not
  installed.
* Times of kernels on GPUs other than the one above, and of kernels that take less than about ten microseconds: they are
  as short as the host takes to launch them.
"""
MISSING = {
    "throughput": "* Candidates a second.\n",
    "soak": "* Ten minutes of candidates that attack the judge.\n",
    "gpu": "* Times on a GPU by the timing stage.\n",
}
"""What is said of parts that have no numbers."""


def page(numbers: dict[str, Any]) -> str:
    """Return the page."""
    parts = [INTRODUCTION]
    if "catalogue" in numbers:
        parts.append(catalogue(numbers["catalogue"]["rows"]))
    if "fresh" in numbers:
        parts.append(fresh(numbers.get("fresh_first", numbers["fresh"])["rows"], numbers["fresh"]["rows"]))
    if "third" in numbers:
        parts.append(third(numbers.get("third_first", numbers["third"])["rows"], numbers["third"]["rows"]))
    if "throughput" in numbers:
        parts.append(throughput(numbers["throughput"]))
    if "soak" in numbers:
        parts.append(soak(numbers["soak"]))
    if "gpu" in numbers:
        parts.append(gpu(numbers["gpu"]))
    return "\n".join([*parts, NOT_MEASURED + "".join(said for part, said in MISSING.items() if part not in numbers)])


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


WANTED = {HONEST: "accepted", EXPLOIT: "rejected"}
EXPLAINED = {
    "imax/through_f32.py": (
        "`init` wrote the cases: integers from -100 to 100, or the very ends of their type, all of which f32 keeps. "
        "Kinds `uniform` and `extremes` draw others now."
    ),
    "add/forges_the_table.py": "What does not print is escaped now.",
    "add/many_stores.py": "Static checks looked at all producers of each store; now they look at each operation once.",
    "add/elsewhere.py": (
        "No judge can tell from what it sees: the launches are right. The guide says so, and `--keep` writes the "
        "kernels that were judged, to be used instead of the source."
    ),
    "conv/shifted_gathers.py": (
        "A fault of the judge, mended for all references: functions of NumPy that join arrays returned plain ones, so "
        "what followed counted as exact."
    ),
    "relu/tilegym.py": (
        "The verdict is right, and nothing was changed: the kernel makes zero of NaN, as the fault `relu/loses_nan.py` "
        "of the catalogue does, and the problem has NaN among its values. `torch.relu` keeps NaN. It was taken for "
        "honest without looking."
    ),
}
"""Candidates that were judged wrongly at first look, and why."""
THIRD_NOTES = [
    "Two more faults of the judge came to light while the set was written. A store that waits for a load of a global "
    "was taken for a write to that global. Without namespaces, folders in each other that are deeper than Python's "
    "stack ended the judge, and stayed. Both are mended and have tests.",
    "",
    "`relu/endless_for_nan.py` is not what we meant: it counts no NaN, so it ends, and it is rejected because it loses "
    "them.",
]
"""What else is to be said of the third set."""


def fresh(first: list[dict[str, Any]], now: list[dict[str, Any]]) -> str:
    lines = [FRESH, "| | candidates | wrong at first look | wrong now |", "|---|--:|--:|--:|"]
    for kind, title in ((HONEST, "honest kernels"), (EXPLOIT, "exploits and faults")):
        for part, mine in (("TileGym", True), ("others", False)):
            rows = [
                [each for each in found if each["kind"] == kind and of_tilegym(each) is mine] for found in (first, now)
            ]
            if rows[0]:
                wrong = [sum(each["verdict"] != WANTED[kind] for each in found) for found in rows]
                lines.append(f"| {title}, {part} | {len(rows[0])} | {wrong[0]} | {wrong[1]} |")
    missed = [each for each in first if each["verdict"] != WANTED[each["kind"]]]
    if missed:
        lines += ["", "Wrong at first look:", ""]
        lines += [
            fill(f"* `{each['key']}`: {each['verdict']}: {each['reason']}. {EXPLAINED.get(each['key'], '')}".rstrip())
            for each in missed
        ]
    lines += ["", "| candidate | source | verdict | stage | kind |", "|---|---|---|---|---|"]
    lines += [
        f"| `{each['key']}` | {each['source']} | {each['verdict']} | {each['stage']} | {each['fault']} |"
        for each in now
    ]
    return "\n".join([*lines, ""])


def third(first: list[dict[str, Any]], now: list[dict[str, Any]]) -> str:
    """Return the section about the third set."""
    lines = [THIRD, "| | candidates | fooled at first look | fooled now |", "|---|--:|--:|--:|"]
    for kind, title in ((HONEST, "honest kernels"), (EXPLOIT, "exploits and faults")):
        counts = [[bool(trouble(each)) for each in rows if each["kind"] == kind] for rows in (first, now)]
        lines.append(f"| {title} | {len(counts[0])} | {sum(counts[0])} | {sum(counts[1])} |")
    lines += ["", "At first look:", ""]
    for each in filter(trouble, first):
        lines.append(fill(f"* `{each['key']}`: {trouble(each)}. {EXPLAINED.get(each['key'], '')}".rstrip()))
    lines += ["", *[fill(each) for each in THIRD_NOTES], ""]
    lines += ["| candidate | source | verdict | stage | kind | seconds | harm |", "|---|---|---|---|---|--:|---|"]
    lines += [
        f"| `{each['key']}` | {each['source']} | {each['verdict']} | {each['stage']} | {each['fault']} | "
        f"{each['seconds']} | {', '.join(each['harm'])} |"
        for each in now
    ]
    return "\n".join([*lines, ""])


def trouble(row: dict[str, Any]) -> str:
    """Return what is wrong with a verdict, or with what a candidate did besides."""
    wrong = [] if row["verdict"] == WANTED[row["kind"]] else [f"{row['verdict']} {row['reason']}".rstrip()]
    return ", ".join(wrong + row["harm"])


def of_tilegym(row: dict[str, Any]) -> bool:
    return "TileGym" in row["source"]


def gpu(found: dict[str, Any]) -> str:
    rows = [each for each in found["rows"] if "error" not in each]
    lines = [
        GPU.format(rounds=found["rounds"], **found["device"]),
        "| kernel | shape | MiB | bench/gpu.py (µs) | itself | stage, one copy (µs) | difference | copies | stage (µs) "
        "| itself | difference |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    cold: list[tuple[float, str]] = []
    warm: list[tuple[float, str]] = []
    itself: list[float] = []
    for each in rows:
        found_in = {name: statistics.median(seconds) for name, seconds in each["series"].items()}
        bench, stage, one = found_in["bench"], found_in["stage"], found_in["stage on one copy"]
        own = [found_in[f"{name} again"] / found_in[name] - 1 for name in ("bench", "stage")]
        itself += [abs(x) for x in own]
        warm.append((abs(one / bench - 1), each["name"]))
        cold.append((abs(stage / bench - 1), each["name"]))
        lines.append(
            f"| {each['name']} | {each['shape']} | {each['bytes'] / 2**20:.0f} | {1e6 * bench:.2f} | "
            f"{100 * own[0]:+.2f} % | {1e6 * one:.2f} | {100 * (one / bench - 1):+.2f} % | {each['copies']} | "
            f"{1e6 * stage:.2f} | {100 * own[1]:+.2f} % | {100 * (stage / bench - 1):+.2f} % |"
        )
    cache = rows[0]["cache"] / 2**20 if rows else 0
    lines += [
        "",
        fill(
            f"On the same memory, {_within(warm)}. With nothing in the cache, {_within(cold)}; the cache has "
            f"{cache:.0f} MiB. A method differs from itself by up to {100 * max(itself, default=0):.2f} %. Whether the "
            "stage accepts these kernels was not asked here."
        ),
        "",
    ]
    lines += [f"* {each['name']}: {each['error']}" for each in found["rows"] if "error" in each]
    return "\n".join([*lines, ""])


def _within(differences: list[tuple[float, str]]) -> str:
    largest, name = max(differences, default=(0.0, "none"))
    count = sum(each <= 0.02 for each, _ in differences)
    agree = f"{count} of {len(differences)} kernels agree within 2 %"
    return f"{agree}, and the largest difference is {100 * largest:.2f} % ({name})"


def throughput(found: dict[str, Any]) -> str:
    rows = found["rows"]
    slow = min(rows, key=lambda each: float(each["per_second"]))
    count, seconds, processor = (sum(each[what] for each in rows) for what in ("candidates", "seconds", "processor"))
    heavy = max(rows, key=lambda each: float(each["processor"] / each["candidates"]))
    lines = [
        "## Throughput",
        "",
        fill(
            f"Honest kernels of the catalogue, each a file, with {found['jobs']} workers on {machine(found)}: all "
            "stages but timing. Every case runs twice, and every shape once with all checks of the sanitizer. cuTile "
            "and Triton compile for every shape. Seconds are those of the clock, with the start of the workers and the "
            "import of torch; `when warm` leaves out the first quarter. `by processor time` is what as many cores do "
            "on which nothing else runs: cores by processor seconds of a candidate."
        ),
        "",
        "| problem | candidates | shapes | cases | seconds | processor seconds | per second | when warm | by processor "
        "time |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {each['problem']} | {each['candidates']} | {each['shapes']} | {each['cases']} | {each['seconds']} | "
        f"{each['processor']} | {each['per_second']} | {each['warm_per_second']} | "
        f"{found['jobs'] * each['candidates'] / each['processor']:.2f} |"
        for each in rows
    ]
    text = (
        f"goooxu/cuTileForge reports {FORGE} kernels a second with four GPUs, for its own checks. Here it is "
        f"{count / seconds:.2f} over all four problems ({found['jobs'] * count / processor:.2f} by processor time), "
        f"{slow['per_second']} for the slowest, {slow['problem']}, and by processor time at least "
        f"{found['jobs'] * heavy['candidates'] / heavy['processor']:.2f} ({heavy['problem']}). One in seven candidates "
        "of rowsum sums element by element."
    )
    return "\n".join([*lines, "", fill(text), ""])


def machine(found: dict[str, Any]) -> str:
    """Say what a part ran on."""
    return (
        f"{found['cores']} cores of {found['all_cores']} ({found['processor']}); other work ran beside it, and the "
        f"load of the whole machine was {found['load']} at the end"
    )


def soak(found: dict[str, Any]) -> str:
    left = ", ".join(f"{len(what)} {name}" for name, what in found["left"].items())
    lines = [
        "## Soak",
        "",
        fill(
            f"Rounds of {found['count']:,} candidates until {found['minutes']:g} minutes were over: in "
            f"{found['seconds']:,} seconds, {found['judged']:,} were judged with {found['jobs']} workers: "
            f"{found['judged'] / found['seconds']:.2f} a second, on {machine(found)}. The judge and its jails took "
            f"{found['busy']:,} seconds of processor time, "
            f"{100 * found['busy'] / found['seconds'] / found['cores']:.0f} % of these cores. One in ten candidates "
            "attacks the judge: it hangs, crashes, forks, leaves processes, fills the disk, memory or the log, or "
            f"answers with data made to exhaust the parser. A candidate may take {found['limit_seconds']:g} seconds to "
            "compile."
        ),
        "",
        fill(
            f"Judged wrongly: {len(found['wrong'])}. Not judged: {found['not_judged']}. Left behind: {left}. Temporary "
            "files of the soak went to a folder of its own, so that those of other programs are not counted."
        ),
        "",
        *[f"* {each}" for each in found["wrong"][:20]],
        *([""] if found["wrong"] else []),
        "| candidate: verdict | count |",
        "|---|--:|",
    ]
    lines += [f"| {name} | {count:,} |" for name, count in found["outcomes"].items()]
    return "\n".join([*lines, ""])
