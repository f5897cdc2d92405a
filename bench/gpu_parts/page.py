"""The page about kernels on a GPU, from the results of `bench/gpu.py run`."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from .export import read_rows

PROGRAMS = Path(__file__).parents[1] / "gpu_kernels.toml"
GLUON = Path(__file__).parents[1] / "gpu_gluon.toml"
PEAKS = {"bf16": 989e12, "f16": 989e12, "f8": 1979e12, "tf32": 494e12}
"""The peak of an H200 that NVIDIA states, in operations per second without sparsity."""
COLUMNS = ("gpu tuned", "first launch", "gpu default", "triton", "tileiras tuned", "tileiras as is", "torch", "limit")
GOALS = (
    ("gpu tuned", "tileiras as is", 2.3),
    ("gpu tuned", "tileiras tuned", 1.12),
    ("gpu tuned", "torch", 0.93),
    ("first launch", "gpu tuned", 0.95),
    ("gpu default", "gpu tuned", 0.8),
    ("triton default", "triton", 0.8),
)
"""Ratios of columns that have a goal for their geometric mean, and the goal."""
WORST = 0.92
"""The goal for the slowest row, against the better compiler."""
Row = dict[str, Any]
Variant = dict[str, Any]
Cells = dict[str, float | None]


def best(row: Row, wanted: Callable[[Variant], bool]) -> Variant | None:
    """Return the fastest correct variant that was timed in turn."""
    good = [v for v in row["variants"] if v.get("ok") and v.get("final") and wanted(v)]
    return min(good, key=lambda v: float(v["seconds"])) if good else None


def columns(row: Row, limits: dict[str, Any]) -> Cells:
    """Return the seconds of each column."""

    def seconds(wanted: Callable[[Variant], bool]) -> float | None:
        found = best(row, wanted)
        return None if found is None else float(found["seconds"])

    def has(role: str) -> Callable[[Variant], bool]:
        return lambda v: role in v.get("roles", ())

    limit = PEAKS.get(row["peak"], 0.0) if row["unit"] == "TFLOP/s" else float(limits["copy"])
    return {
        "gpu tuned": seconds(lambda v: v["engine"] != "torch" and v["kept"]),
        "first launch": seconds(has("first")),
        "gpu default": seconds(has("gpu")),
        "triton": seconds(lambda v: v["engine"] == "triton" and v["kept"]),
        "triton default": seconds(has("triton")),
        "tileiras tuned": seconds(lambda v: v["engine"] == "tileiras" and v["kept"] and not _is_changed(v)),
        "tileiras as is": seconds(has("as is")),
        "torch": seconds(lambda v: v["engine"] == "torch"),
        "limit": row["work"] / limit,
        "full": seconds(lambda v: v["engine"] != "torch"),
    }


def _is_changed(v: Variant) -> bool:
    """Whether tilery changes the kernel, which hints cannot do."""
    return any(word in v["label"] for word in ("transpose", "split"))


def is_added(row: Row) -> bool:
    """Whether a row is one of those that were added later: products of 8-bit floats that add up fast."""
    return "fp8 fast" in row["name"]


def geomean(values: Iterable[float]) -> float:
    """Return the geometric mean.

    >>> round(geomean([1.0, 4.0]), 3)
    2.0
    """
    logs = [math.log(v) for v in values]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def ratios(table: list[Cells], above: str, below: str) -> list[float]:
    """Return how many times as fast one column is as another, for the rows that have both."""
    pairs = [(cells[below], cells[above]) for cells in table]
    return [a / b for a, b in pairs if a and b]


def publish(
    runs: list[dict[str, Any]], folder: Path, samples: str = "", programs: Sequence[dict[str, Any]] = ()
) -> None:
    """Write the page, its plot and the figures."""
    rows = {(row["name"], row["shape"]): row for run in runs for row in run["rows"]}
    limits = next(run["limits"] for run in runs if "limits" in run)
    table = [columns(row, limits) for row in rows.values()]
    (folder / "gpu.md").write_text(page(list(rows.values()), table, runs, limits, samples, programs), "utf-8")
    (folder / "gpu.svg").write_text(plot(list(rows.values()), table), "utf-8")


def page(
    rows: list[Row],
    table: list[Cells],
    runs: list[dict[str, Any]],
    limits: Any,
    samples: str,
    programs: Sequence[dict[str, Any]] = (),
) -> str:
    """Return the page."""
    versions = {name: version for run in runs for name, version in run["versions"].items()}
    lines = [
        "# Kernels on a GPU",
        "",
        "`python bench/gpu.py` wrote this page. The same Tile IR, compiled in different ways, on one",
        f"{limits['device']}: Triton {versions.get('triton')}, tileiras {versions.get('tileiras')}, torch",
        f"{limits['torch']}. Most kernels are NVIDIA's, from cutile-python and TileGym; `bench/gpu_rows.toml` has the",
        "rows; means are those of the first 55, without the products that add up fast.",
        "",
        "Each variant was checked against torch on poisoned outputs. The best of each compiler, the defaults and",
        "torch were then timed in turn, five rounds with 20 ms of warm-up and 20 ms of timed launches each; the median",
        "counts.",
        f"{_spread(rows)}",
        "",
        "![How fast kernels are, compared with tileiras as is](gpu.svg)",
        "",
        "## Geometric means",
        "",
        "| | times as fast | goal | rows |",
        "|---|--:|--:|--:|",
        *_goals([cells for row, cells in zip(rows, table) if not is_added(row)]),
        "",
        f"Slowest row against the better compiler: {_slowest(rows, table)} (goal: {WORST}).",
        "",
        "## Rows",
        "",
        "GB/s, or TFLOP/s where it says T. `gpu tuned` is what the tuner finds, `first launch` what engine `gpu` takes",
        "unless told otherwise, after it has timed three or four candidates, `gpu default` what its rules take without",
        "measuring, `triton` the best through Triton, `tileiras tuned` the best that hints and levels make of",
        "NVIDIA's compiler, `tileiras as is` the module as it is. `transpose` and `split` are changes of the kernel by",
        "tilery, see [the guide](../guides/tune.md). The limit is a copy on the device",
        f"({limits['copy'] / 1e9:,.0f} GB/s), or what NVIDIA states for tensor cores.",
        "",
        *_renamed(rows),
        "| kernel | shape | " + " | ".join(COLUMNS) + " | tuned variant |",
        "|---|---|" + "--:|" * len(COLUMNS) + "---|",
        *(_line(row, cells) for row, cells in zip(rows, table)),
        *_first(rows),
        *_eight_bits(rows),
        *_fed(rows),
        *(_programs(programs) if programs else []),
        *_full(rows, table),
        *_cost(rows),
        *(_samples(samples) if samples else []),
        *_failures(rows, runs),
        "",
        "## Not measured",
        "",
        "One GPU of one kind, and one run of each row. The best variants were chosen on the machine that measured",
        "them. Shapes are multiples of the tiles, except for SwiGLU with 11008 columns. Launch times are not part of",
        "this page.",
    ]
    return "\n".join(lines) + "\n"


def _spread(rows: list[Row]) -> str:
    """Say by how much the rounds of a variant differ."""
    parts = []
    for unit, name in (("GB/s", "memory"), ("TFLOP/s", "matrix")):
        final = [v for row in rows if row["unit"] == unit for v in row["variants"] if v.get("final")]
        spreads = sorted((v["most"] - v["least"]) / v["seconds"] for v in final)
        if spreads:
            parts.append(f"{100 * spreads[len(spreads) // 2]:.1f} % in {name} rows")
    return f"Rounds of one variant differ by {' and '.join(parts)} (median)."


def _goals(table: list[Cells]) -> list[str]:
    lines = []
    for above, below, wanted in GOALS:
        found = ratios(table, above, below)
        lines.append(f"| {above} / {below} | {geomean(found):.2f} | {wanted} | {len(found)} |")
    found = ratios(table, "gpu tuned", "limit")
    lines.append(f"| gpu tuned / limit | {geomean(found):.2f} | | {len(found)} |")
    return lines


def _slowest(rows: list[Row], table: list[Cells]) -> str:
    worst, name = math.inf, ""
    for row, cells in zip(rows, table):
        others = [c for c in (cells["triton"], cells["tileiras tuned"]) if c]
        if cells["gpu tuned"] and others and min(others) / cells["gpu tuned"] < worst:
            worst, name = min(others) / cells["gpu tuned"], f"{row['name']}, {row['shape']}"
    return f"{worst:.2f} ({name})"


def _line(row: Row, cells: Cells) -> str:
    tera = row["unit"] == "TFLOP/s"
    shown = []
    for name in COLUMNS:
        seconds = cells[name]
        figure = "-" if not seconds else f"{row['work'] / seconds / (1e12 if tera else 1e9):,.0f}"
        shown.append(f"{figure}{' T' if tera and seconds else ''}")
    found = best(row, lambda v: v["engine"] != "torch" and v["kept"])
    return f"| {row['name']} | {row['shape']} | {' | '.join(shown)} | {found['label'] if found else '-'} |"


def _renamed(rows: list[Row]) -> list[str]:
    """Say which defaults were not yet those of the rules when they were timed."""
    kernels = sorted({row["kernel"] for row in rows if row.get("renamed")})
    if not kernels:
        return []
    return [
        f"The rules changed after this run: it timed today's default of {', '.join(kernels)} as another variant.",
        "",
    ]


def _first(rows: list[Row]) -> list[str]:
    """Say what the choice of the first launch costs, and where it could not be made."""
    found = [row["first"] for row in rows if "first" in row]
    timed = [first for first in found if first["times"]]
    if not timed:
        return []
    spent = sorted(first["spent"] for first in timed)
    average = sum(len(first["times"]) for first in timed) / len(timed)
    why = Counter(first["why"] for first in found if first["why"])
    lines = [
        "",
        "## The first launch",
        "",
        f"In {len(timed)} of {len(found)} rows, {average:.1f} candidates on average were timed on copies of what the",
        f"kernel writes, in {1e3 * spent[len(spent) // 2]:.0f} ms (median; at most {1e3 * spent[-1]:.0f}), besides"
        " compiling them.",
    ]
    return [*lines, *(f"In {count} rows the rules chose, because {reason}." for reason, count in why.items())]


def _eight_bits(rows: list[Row]) -> list[str]:
    """Compare products of 8-bit floats with those of torch that add up alike."""
    found = []
    for row in rows:
        ours = best(row, lambda v: v["engine"] != "torch" and v["kept"])
        peers = {v["label"]: v for v in row["variants"] if v["label"].startswith("torch _scaled_mm") and v.get("final")}
        if ours and peers:
            fast = is_added(row)
            same = peers.get("torch _scaled_mm fast" if fast else "torch _scaled_mm")
            found.append((row, fast, ours, same, peers.get("torch _scaled_mm fast")))
    if not found:
        return []
    lines = [
        "",
        "## Products of 8-bit floats",
        "",
        "Tensor cores of Hopper round sums of products of 8-bit floats early. Torch uses them as they are with",
        "`use_fast_accum=True`; without it, and in Tile IR without `fast_acc`, partial sums are added in f32. `torch`",
        "in the table above is the faster of both; here each kernel is compared with the one that adds up as it does.",
        "TileGym's kernel does not ask for `fast_acc`, as cuTile's `use_fast_acc` does: it was set afterwards.",
        "",
        "| kernel | shape | sums | gpu tuned | torch, the same sums | ratio | torch, fast sums | error |",
        "|---|---|---|--:|--:|--:|--:|--:|",
    ]
    means: dict[bool, list[float]] = {}
    for row, fast, ours, same, quick in found:
        speeds = [row["work"] / float(v["seconds"]) / 1e12 if v else None for v in (ours, same, quick)]
        shown = ["-" if n is None else f"{n:,.0f} T" for n in speeds]
        ratio = speeds[0] / speeds[1] if speeds[0] and speeds[1] else math.nan
        means.setdefault(fast, []).append(ratio)
        sums = "fast" if fast else "in f32"
        lines.append(
            f"| {row['name']} | {row['shape']} | {sums} | {shown[0]} | {shown[1]} | {ratio:.2f} | {shown[2]} |"
            f" {ours['error_size']:.1e} |"
        )
    parts = (f"{geomean(n for n in of if n == n):.2f} {'fast' if fast else 'in f32'}" for fast, of in means.items())
    return [*lines, "", f"Geometric means of the ratio: {', '.join(parts)}."]


def _fed(rows: list[Row]) -> list[str]:
    """Describe the gain of a warp that copies, for rows from which its rules were chosen and for held-out ones."""
    held = set(tomllib.loads(GLUON.read_text("utf-8"))["held_out"])
    found = []
    for row in rows:
        ours = best(row, lambda v: "gluon" in v["label"])
        others = best(row, lambda v: v["engine"] != "torch" and "gluon" not in v["label"] and v["kept"])
        peer = best(row, lambda v: v["engine"] == "torch")
        if ours and others and peer:
            times = [row["work"] / float(v["seconds"]) for v in (ours, others, peer)]
            found.append((row["kernel"] in held, row, ours["label"], times))
    if not found:
        return []
    lines = [
        "",
        "## A warp that copies",
        "",
        "`gluon` variants against the best of all others, see [the guide](../guides/tune.md#a-warp-that-copies). Which",
        "of them the tuner tries was chosen on the open rows; the held-out ones (`bench/gpu_gluon.toml`) were only",
        "measured.",
        "",
        "| kernel | shape | | gluon | others | torch | best gluon variant |",
        "|---|---|---|--:|--:|--:|---|",
    ]
    for is_held, row, label, times in found:
        scale, unit = (1e12, " T") if row["unit"] == "TFLOP/s" else (1e9, "")
        cells = " | ".join(f"{t / scale:,.0f}{unit}" for t in times)
        kind = "held out" if is_held else "open"
        lines.append(f"| {row['name']} | {row['shape']} | {kind} | {cells} | {label} |")
    lines += ["", "| | rows | gluon / others | best of both / others | best of both / torch |", "|---|--:|--:|--:|--:|"]
    for wanted, name in ((False, "open"), (True, "held out")):
        some = [times for is_held, _, _, times in found if is_held is wanted]
        if some:
            means = (
                geomean(ours / others for ours, others, _ in some),
                geomean(max(ours, others) / others for ours, others, _ in some),
                geomean(max(ours, others) / peer for ours, others, peer in some),
            )
            lines.append(f"| {name} | {len(some)} | {' | '.join(f'{mean:.3f}' for mean in means)} |")
    return lines


def _programs(results: Sequence[dict[str, Any]]) -> list[str]:
    """Describe the gain of a warp that copies on others' programs, from the results of `bench/gpu_defaults.py run`."""
    listed = tomllib.loads(PROGRAMS.read_text("utf-8"))["kernels"]
    held = {each["name"] for each in listed if each["held_out"]}
    found, compared, differ = [], 0, []
    for kernel in (each for run in results for each in run["kernels"]):
        ours = [v for v in kernel["variants"] if "gluon" in v["label"] and "ok" in v]
        compared += len(ours)
        differ += [f"{kernel['name']}, {v['label']}" for v in ours if not v["ok"]]
        good = [v for v in ours if v["ok"] and v.get("final")]
        plain = next((v for v in kernel["variants"] if "triton" in v["roles"] and v.get("ok") and v.get("final")), None)
        if good and plain:
            top = min(good, key=lambda v: float(v["seconds"]))
            ratio = plain["seconds"] / top["seconds"]
            found.append((kernel["name"], kernel["name"] in held, ratio, top["label"], kernel["reference"]))
    lines = [
        "",
        "Kernels of others (`bench/gpu_kernels.toml`), compared with the default of engine `triton` only:",
        "tileiras was not on the machine. Results were compared with those of the first variant, and on a small grid",
        "with the reference engine where it says so.",
        "",
        "| kernel | | gluon / triton | reference engine | best gluon variant |",
        "|---|---|--:|---|---|",
    ]
    for name, is_held, ratio, label, reference in found:
        kind = "held out" if is_held else "open"
        lines.append(f"| {name} | {kind} | {ratio:.2f} | {'yes' if reference else 'too slow'} | {label} |")
    means = []
    for wanted, kind in ((False, "open"), (True, "held out")):
        some = [ratio for _, is_held, ratio, _, _ in found if is_held is wanted]
        if some:
            means.append(f"{geomean(some):.2f} ({len(some)} {kind})")
    wrong = f"{len(differ)} differ: {'; '.join(differ)}" if differ else "none differs"
    return [*lines, "", f"Geometric means: {', '.join(means)}. Of {compared} variants, {wrong}."]


def _full(rows: list[Row], table: list[Cells]) -> list[str]:
    """Describe the loss of the model, for the rows for which everything was tried."""
    whole = [(row, cells) for row, cells in zip(rows, table) if any(not v.get("kept", True) for v in row["variants"])]
    if not whole:
        return []
    lines = [
        "",
        "## The model against trying everything",
        "",
        "| kernel | shape | variants of the model | all | speed of the model's best | best of all |",
        "|---|---|--:|--:|--:|---|",
    ]
    losses = []
    for row, cells in whole:
        ours = [v for v in row["variants"] if v["engine"] != "torch"]
        kept = sum(v["kept"] for v in ours)
        top = best(row, lambda v: v["engine"] != "torch")
        assert cells["full"] and cells["gpu tuned"] and top is not None
        losses.append(cells["full"] / cells["gpu tuned"])
        lines.append(
            f"| {row['name']} | {row['shape']} | {kept} | {len(ours)} | {losses[-1]:.3f} | {top['label']} |",
        )
    return [*lines, "", f"Geometric mean: {geomean(losses):.3f}."]


def _cost(rows: list[Row]) -> list[str]:
    """How long tuning takes."""
    counts = [sum(v["engine"] != "torch" for v in row["variants"]) for row in rows]
    spent = [row["check_seconds"] + row["final_seconds"] for row in rows]
    compiled = sum(v.get("compile_seconds", 0.0) for row in rows for v in row["variants"])
    return [
        "",
        "## What tuning costs",
        "",
        f"A row had {sum(counts) / len(counts):.0f} variants on average. Checking and timing them took"
        f" {sum(spent) / len(spent):.1f} seconds a row (at most {max(spent):.1f}). Compiling took"
        f" {compiled / max(1, sum(counts)):.1f} processor seconds a variant.",
    ]


def _failures(rows: list[Row], runs: list[dict[str, Any]]) -> list[str]:
    """Variants that did not compile, did not run or were wrong."""
    lines = ["", "## What did not work", ""]
    bad = [
        f"* {kernel}, {label}: it hung, or ended the process that ran it"
        for run in runs
        for kernel, label in run["bad"]
    ]
    measured = {f"{row['name']} {row['shape']}" for row in rows}
    listed = [
        *(f"{row['name']} {row['shape']}" for row in read_rows()[1]),
        *(n for run in runs for n in run["missing"]),
    ]
    missing = [f"* {name}: not measured" for name in dict.fromkeys(listed) if name not in measured]
    wrong: dict[str, int] = {}
    for row in rows:
        for v in row["variants"]:
            if v.get("ok") is False:
                what = f"{row['kernel']}, {v['label']}: wrong results"
            elif "error" in v and v["engine"] != "torch":
                what = f"{row['kernel']}, {v['label']}: {v['error'][:120]}"
            else:
                continue
            wrong[what] = wrong.get(what, 0) + 1
    found = [*bad, *missing, *(f"* {what}" for what in wrong)]
    return [*lines, *(found or ["Every variant compiled, ran, and was right."])]


SAMPLE = re.compile(
    r"^== (?P<sample>\w+)$|^(?P<kernel>\w+), (?P<shapes>grid [-\d ,]+)$|^best: (?P<best>.+), (?P<time>[\d.]+ \w+) on"
    r"|^that is (?P<ratio>[\d.]+) times|^(?P<hints>@ct\.kernel.*)$|^(?P<not>\w+): not tuned: (?P<why>.+)$",
    re.MULTILINE,
)
"""The output of `tilery cutile tune`, after lines `== NAME` for each script."""


def _samples(log: str) -> list[str]:
    """NVIDIA's samples, tuned from their Python source."""
    lines = [
        "",
        "## NVIDIA's samples, from their Python source",
        "",
        "`tilery cutile tune` ran these scripts of cutile-python, unchanged, on the same GPU. Their shapes are small.",
        "",
        "| sample | kernel | shapes | best variant | time | times as fast as tileiras as is | hints for the source |",
        "|---|---|---|---|--:|--:|---|",
    ]
    sample, row = "", dict[str, str]()
    for found in SAMPLE.finditer(log):
        facts = {name: text for name, text in found.groupdict().items() if text}
        sample = facts.pop("sample", sample)
        if "why" in facts:
            lines.append(f"| {sample} | {facts['not']} | | not tuned: {facts['why']} | | | |")
        row = facts if "kernel" in facts else {**row, **facts}
        if "hints" in facts:
            shown = (row.get(name, "") for name in ("kernel", "shapes", "best", "time", "ratio"))
            lines.append(f"| {sample} | {' | '.join(shown)} | `{row['hints']}` |")
    return lines


def plot(rows: list[Row], table: list[Cells]) -> str:
    """Return a plot: for each row, how many times as fast as tileiras as is."""
    shown = (("gpu tuned", "#1b6ca8"), ("tileiras tuned", "#3a7d44"), ("torch", "#c77700"))
    pairs = [(row, cells) for row, cells in zip(rows, table) if cells["tileiras as is"] and cells["gpu tuned"]]
    pairs.sort(key=lambda pair: -(pair[1]["tileiras as is"] or 0) / (pair[1]["gpu tuned"] or 1))
    step, left, width, top = 15, 330, 860, 50
    height = top + step * len(pairs) + 30
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        '<text x="10" y="20" font-size="15">Times as fast as tileiras as is</text>',
    ]

    def x(ratio: float) -> float:
        return left + (width - left - 30) * (math.log2(max(ratio, 0.25)) + 2) / 7

    for at, (name, color) in enumerate(shown):
        out.append(f'<circle cx="{left + 150 * at}" cy="36" r="4" fill="{color}"/>')
        out.append(f'<text x="{left + 8 + 150 * at}" y="40">{name}</text>')
    for power in range(-2, 6):
        place = x(2.0**power)
        out.append(f'<line x1="{place:.0f}" y1="{top}" x2="{place:.0f}" y2="{height - 25}" stroke="#ddd"/>')
        out.append(f'<text x="{place:.0f}" y="{height - 10}" text-anchor="middle">{2.0**power:g}</text>')
    for number, (row, cells) in enumerate(pairs):
        y = top + step * number + 10
        label = escape(f"{row['name']}, {row['shape']}")
        out.append(f'<text x="{left - 8}" y="{y + 4}" text-anchor="end" font-size="9">{label}</text>')
        for name, color in shown[::-1]:
            if cells[name]:
                ratio = (cells["tileiras as is"] or 0) / (cells[name] or 1)
                out.append(f'<circle cx="{x(ratio):.1f}" cy="{y}" r="3.5" fill="{color}"/>')
    return "\n".join([*out, "</svg>"]) + "\n"


def load(paths: list[Path]) -> list[dict[str, Any]]:
    """Read results."""
    return [json.loads(path.read_text("utf-8")) for path in paths]
