"""The page that bench/run.py writes, from its numbers alone."""

from __future__ import annotations

from math import exp, log
from typing import Any

FAST, PEER = "cpu", "torch eager"
PEERS = (PEER, "torch.compile")
MANY_CORES = 8
"""Cores of a machine that has goals of its own."""


def geomean(values: list[float]) -> float:
    return exp(sum(map(log, values)) / len(values))


def table(rows: dict[str, dict[str, float]], corner: str, form: str = "{:,.2f}") -> list[str]:
    """Return a table with a column for each row of `rows`, so that contenders are lines."""
    names = list(dict.fromkeys(key for row in rows.values() for key in row))
    lines = [f"| {corner} | " + " | ".join(rows) + " |", "|---|" + "--:|" * len(rows)]
    for name in names:
        cells = (form.format(row[name]) if name in row else "" for row in rows.values())
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def page(found: dict[str, Any]) -> str:
    """Render the numbers of a run."""
    lines = ["# How fast kernels run", "", *introduction(found), "", *table(found["ms"], "milliseconds")]
    lines += ["", *ratios(found["ms"]), "", *gates(found)]
    for part in (memory, more, threads, calls):
        if made := part(found):
            lines += ["", *made]
    return "\n".join([*lines, "", *NOT_MEASURED])


def introduction(found: dict[str, Any]) -> list[str]:
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    load = max(found["load"], found.get("load at the end", 0))
    busy = f"The load average was at most {load:.1f} per core."
    if load > 1.3:
        busy = f"**The machine was busy with other work** (load average {load:.1f} per core with this run): times are"
    lines = ["`python bench/run.py --report` wrote this page.", ""]
    lines += [f"Processor {found['cpu']}, {found['cores']} cores, {found['threads']} threads; {versions}.", busy]
    if load > 1.3:
        lines.append("too long and ratios less certain than usual. Run the script again on an idle machine.")
    if found.get("quick"):
        lines.append("The arrays were small (`--quick`): the numbers only show that everything works.")
    lines += [
        "",
        "All contenders ran the same kernels on the same arrays, in turn, on all threads. Each time is the best of "
        "many rounds.",
    ]
    if found.get("cut short"):
        lines += ["", CUT_SHORT]
    return lines


CUT_SHORT = """\
The run was ended by a limit on its time: numbers are those that it had printed. Large arrays, the kernels that are only
timed on all threads, and the cost of calls are missing."""


def ratios(ms: dict[str, dict[str, float]]) -> list[str]:
    """Return how many times longer each contender takes than engine cpu."""
    names = list(dict.fromkeys(key for row in ms.values() for key in row))
    lines = ["How many times as long as engine `cpu` each takes:", ""]
    lines += ["| | " + " | ".join(ms) + " | geometric mean |", "|---|" + "--:|" * (len(ms) + 1)]
    for name in names:
        if name == FAST:
            continue
        cells = [row[name] / row[FAST] if name in row else None for row in ms.values()]
        known = [cell for cell in cells if cell is not None]
        mean = f"{geomean(known):,.2f}" if len(known) == len(cells) else ""
        lines.append(f"| {name} | " + " | ".join("" if c is None else f"{c:,.2f}" for c in cells) + f" | {mean} |")
    return lines


def gates(found: dict[str, Any]) -> list[str]:
    """Return the goals, and whether they are met."""
    ms = found["ms"]
    rows: list[tuple[str, float, float, str]] = []
    against = {name: row[PEER] / row[FAST] for name, row in ms.items() if PEER in row}
    many = found["cores"] >= MANY_CORES
    if many:
        against = {name: min(row[p] for p in PEERS if p in row) / row[FAST] for name, row in ms.items() if PEER in row}
    if len(against) > 1:
        without = [ratio for name, ratio in against.items() if name != "gelu"]
        worst = min(against, key=lambda name: against[name])
    if many and len(against) > 1:
        rows.append(("the better of torch's two / cpu, geometric mean without gelu", geomean(without), 1.2, "{:.2f}"))
        rows.append((f"the same, worst kernel ({worst})", against[worst], 1.0, "{:.2f}"))
    elif len(against) > 1:
        rows.append(("torch eager / cpu, geometric mean", geomean(list(against.values())), 1.5, "{:.2f}"))
        rows.append(("the same without gelu", geomean(without), 1.1, "{:.2f}"))
        rows.append((f"the same, worst kernel ({worst})", against[worst], 1 / 1.15, "{:.2f}"))
    unknown = []
    for name, goal in (("gemm", 0.9 if many else 0.8), ("attention", 0.7)):
        if name in ms and ms[name]["limit of the machine"] > 1.1 * ms[name][FAST]:
            unknown.append(name)
        elif name in ms:
            rows.append((f"{name}, of peak FLOP/s", ms[name]["limit of the machine"] / ms[name][FAST], goal, "{:.0%}"))
    for name, goals in (("vadd", (0.9, 0.8)), ("layernorm", (0.9, 0.8)), ("softmax", (0.75, 0.75))):
        row = found.get("bandwidth", {}).get(name, {})
        for (label, measured), goal in zip(row.items(), goals):
            rows.append((f"{name} on large arrays at {label}, of the bandwidth", measured["median"], goal, "{:.0%}"))
    few_cores = [("bf16 GEMM", 1.0), ("FFT", 1 / 1.5), ("histogram", 1 / 1.5)]
    for name, goal in [("bf16 GEMM", 0.95), ("int8 GEMM", 0.95)] if many else few_cores:
        row = next((row for title, row in more_rows(found).items() if title.startswith(name)), dict[str, float]())
        if PEER in row:
            rows.append((f"{name}, torch eager / cpu", row[PEER] / row[FAST], goal, "{:.2f}"))
    lines = ["## Goals", "", "| | measured | goal | met |", "|---|--:|--:|---|"]
    for what, value, goal, form in rows:
        met = "yes" if value >= goal else "**no**"
        lines.append(f"| {what} | {form.format(value)} | at least {form.format(goal)} | {met} |")
    for what, value, most, form in costs(found["calls"]) if "calls" in found else []:
        met = "yes" if value <= most else "**no**"
        lines.append(f"| {what} | {form.format(value)} | at most {form.format(most)} | {met} |")
    if unknown:
        lines += ["", f"The limit of the machine was measured too low to compare {' and '.join(unknown)} with it."]
    return lines


def more_rows(found: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Return the times of further kernels on all threads."""
    if "more" in found:
        made: dict[str, dict[str, float]] = found["more"]
        return made
    rows = found.get("by threads", {})
    return {kernel: {name: list(times.values())[-1] for name, times in row.items()} for kernel, row in rows.items()}


def costs(calls: dict[str, dict[str, float]]) -> list[tuple[str, float, float, str]]:
    """Return what calls and launches cost: the worst kernel, and the goal."""
    first, llvm, cached, launch = (
        calls.get(name, {}) for name in ("first call, ms", "LLVM itself, ms", "cached call, ms", "launch, us")
    )
    rows = []
    if llvm:
        rows.append(("first call, ms more than LLVM itself", max(first[k] - llvm[k] for k in llvm), 100.0, "{:.0f}"))
    rows.append(("cached call, ms", max(cached.values()), 6.0, "{:.1f}"))
    rows.append(("launch with bound arguments, microseconds", launch["bound arguments"], 6.0, "{:.1f}"))
    return rows


def memory(found: dict[str, Any]) -> list[str]:
    if not found.get("bandwidth"):
        return []
    lines = ["## Large arrays", ""]
    lines += ["Part of the bandwidth that stores past the caches reach, for arrays that no cache holds (128 MB each),"]
    lines += ["by the position of the arrays relative to a cache line. The bandwidth of a machine with other guests"]
    lines += ["changes from second to second, so each round is compared with moving the same memory right before and"]
    lines += ["right after it. The goals are about the median of the rounds. The last column compares the best rounds,"]
    lines += ["which may be of different seconds. In seconds in which memory is faster, softmax is not, because it"]
    lines += ["computes much: its part of the bandwidth is then smaller.", ""]
    lines += ["| | median of rounds | 10th to 90th percentile | best, ms | best of the limit, ms | best against best |"]
    lines += ["|---|--:|--:|--:|--:|--:|"]
    for name, row in found["bandwidth"].items():
        for label, m in row.items():
            best, limit = m["best, ms"], m["best limit, ms"]
            cells = (
                f"{m['median']:.0%} | {m['low']:.0%} to {m['high']:.0%} | {best:.2f} | {limit:.2f} | {limit / best:.0%}"
            )
            lines.append(f"| {name}, {label} | {cells} |")
    if found["scaling"]:
        times = ", ".join(f"{name} {ratio:.1f}" for name, ratio in found["scaling"].items())
        lines += ["", f"Sixteen times as much work takes this many times as long: {times}."]
    return lines


def more(found: dict[str, Any]) -> list[str]:
    if not found.get("more"):
        return []
    lines = ["## More kernels", "", "Milliseconds.", ""]
    names = list(dict.fromkeys(key for row in found["more"].values() for key in row))
    lines += ["| | " + " | ".join(names) + " |", "|---|" + "--:|" * len(names)]
    for kernel, row in found["more"].items():
        cells = (f"{row[name]:,.2f}" if name in row else "" for name in names)
        lines.append(f"| {kernel} | " + " | ".join(cells) + " |")
    limit = found["ms"].get("gemm", {}).get("limit of the machine")
    fft = next((row[FAST] for kernel, row in found["more"].items() if kernel.startswith("FFT")), None)
    if limit and fft and not found.get("quick"):
        lines += [
            "",
            "The kernel of the FFT multiplies with matrices, half as many operations as the GEMM of 1024 x 1024:",
        ]
        lines += [f"{FFT_PART * limit / fft:.0%} of peak FLOP/s. An FFT as torch has it needs far fewer operations."]
    return lines


def threads(found: dict[str, Any]) -> list[str]:
    """Return the times by the number of threads."""
    rows = found.get("by threads")
    if not rows:
        return []
    counts = list(next(iter(rows.values()))[FAST])
    lines = [
        "## Threads",
        "",
        "Milliseconds by the number of threads, and how many times as fast the most are.",
        "",
    ]
    lines += ["| | | " + " | ".join(map(str, counts)) + " | faster |", "|---|---|" + "--:|" * (len(counts) + 1)]
    for kernel, row in rows.items():
        for name, times in row.items():
            values = list(times.values())
            cells = " | ".join(f"{ms:,.2f}" for ms in values)
            lines.append(f"| {kernel} | {name} | {cells} | {values[0] / values[-1]:.1f} |")
    return lines


FFT_PART = 256 * 8 * 64**3 / 1024**3
"""Multiplications of the FFT, eight products of real matrices for each transform, by those of the GEMM."""


def calls(found: dict[str, Any]) -> list[str]:
    measured = found.get("calls")
    if not measured:
        return []
    lines = [
        "## The cost of a call",
        "",
        "Compiling happens in another process, which stays; the object is kept on disk.",
        "",
    ]
    rows = {
        "first call": measured["first call, ms"],
        "another kernel in the same process": measured.get("another kernel, ms", {}),
        "LLVM itself": measured.get("LLVM itself, ms", {}),
        "cached call": measured["cached call, ms"],
    }
    kernels = list(measured["first call, ms"])
    lines += [
        "| milliseconds, after imports and parsing | " + " | ".join(kernels) + " |",
        "|---|" + "--:|" * len(kernels),
    ]
    for label, row in rows.items():
        if row:
            lines.append(f"| {label} | " + " | ".join(f"{row[name]:.0f}" for name in kernels) + " |")
    launch = measured["launch, us"]
    lines += ["", "A launch of vector addition on one tile block, microseconds:", ""]
    lines += ["| " + " | ".join(launch) + " |", "|" + "--:|" * len(launch)]
    lines.append("| " + " | ".join(f"{value:.1f}" for value in launch.values()) + " |")
    return lines


NOT_MEASURED = """\
## Not measured

A GPU, which is far faster than any of these; processors other than this one; kernels whose tile blocks wait for one
another, which the reference engine runs. A contender without a number is not installed, has no such kernel (Numba has
no 16-bit floats on a CPU), or computed something else. Tile blocks one by one and Triton's interpreter ran once; the
other rows are the best of several rounds.""".splitlines()
