"""Write docs/reports/gpu_defaults.md from what `gpu_defaults.py run` measured."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from .programs import read_list, stem

Facts = dict[str, Any]


@dataclass
class Row:
    """A kernel of the page."""

    name: str
    held_out: bool
    variants: list[Facts]
    choice: Facts
    reference: bool
    good: list[Facts] = field(init=False)

    def __post_init__(self) -> None:
        self.good = sorted((v for v in self.variants if v.get("ok")), key=lambda v: v["seconds"])

    def of(self, role: str) -> Facts | None:
        """The variant with a role, if it ran and was right."""
        return next((v for v in self.good if role in v["roles"]), None)

    @property
    def best(self) -> Facts:
        """The fastest variant."""
        return self.good[0]

    def ratio(self, role: str) -> float:
        """How fast the variant with a role is, compared with the best; 0 if it did not run."""
        found = self.of(role)
        return self.best["seconds"] / found["seconds"] if found else 0.0

    @property
    def chosen(self) -> float:
        """How fast what the first launch chose is, compared with the best; the rules if it could not choose."""
        return self.ratio("gpu" if "why" in self.choice else "chosen")


def geomean(values: Iterable[float]) -> float:
    """Return the geometric mean of some numbers; 0 of none."""
    logs = [math.log(value) for value in values if value > 0]
    return math.exp(sum(logs) / len(logs)) if logs else 0.0


def mean(values: list[float] | list[int]) -> float:
    """Return the arithmetic mean of some numbers; 0 of none."""
    return sum(values) / max(1, len(values))


def page(facts: Facts) -> str:
    """Return the page."""
    listed = read_list()
    held = {k["name"]: k["held_out"] for k in listed["kernels"]}
    rows = [Row(k["name"], held[k["name"]], k["variants"], k["choice"], k["reference"]) for k in facts["kernels"]]
    ran = sorted((r for r in rows if r.good), key=lambda r: r.name)
    parts = [
        _head(facts, rows, listed),
        _means(ran, facts, listed),
        _first(facts, ran),
        _right(rows, facts.get("explained", {})),
        _table(ran, facts, listed),
        _failures(facts, rows, listed),
        _not_measured(),
    ]
    return "\n".join(line for part in parts for line in part) + "\n"


def _head(facts: Facts, rows: list[Row], listed: Facts) -> list[str]:
    tried = [sum("file" in v for v in r.variants) for r in rows]
    return [
        "# The defaults of engine gpu on kernels of others",
        "",
        "`python bench/gpu_defaults.py` wrote this page. It answers how good engine `gpu` is on kernels "
        "that no rule was",
        f"written for, on one {facts['device']} with "
        + ", ".join(f"{n} {v}" for n, v in facts["versions"].items())
        + ".",
        "",
        f"`bench/gpu_kernels.toml` lists {len(listed['kernels'])} kernels that programs of cutile-python, "
        "TileGym and Liger",
        "launch, and some of ours in their style, with sizes that matter on a GPU. Before anything was "
        "measured, families of",
        "kernels were drawn by a seed and held out: "
        f"{', '.join(listed['held_out'])}. The rules were fitted to the open kernels only.",
        "",
        f"`tuned` is the fastest of {min(tried)} to {max(tried)} variants of both compilers"
        f" ({sum(tried) / len(tried):.1f} on average), `default` is what the rules choose, and `first launch` what the",
        "engine chooses by timing candidates. The best three variants and the defaults were timed in turn, "
        "three rounds of",
        "10 ms after 10 ms of warm-up, and the median counts; the others have an estimate.",
    ]


def _means(rows: list[Row], facts: Facts, listed: Facts) -> list[str]:
    lines = [
        "",
        "## Means",
        "",
        "| | open | held out |",
        "|---|--:|--:|",
    ]
    groups = [[r for r in rows if r.held_out is held] for held in (False, True)]

    def line(name: str, value: Callable[[list[Row]], str]) -> None:
        lines.append(f"| {name} | {' | '.join(value(group) if group else '' for group in groups)} |")

    def lowest(ratio: Callable[[Row], float]) -> Callable[[list[Row]], str]:
        def text(group: list[Row]) -> str:
            worst = min(group, key=ratio)
            return f"{ratio(worst):.2f} ({worst.name})"

        return text

    line("kernels", lambda group: str(len(group)))
    line("default / tuned, rules alone", lambda group: f"{geomean(r.ratio('gpu') for r in group):.3f}")
    line("the lowest", lowest(lambda r: r.ratio("gpu")))
    line("kernels below 0.5", lambda group: str(sum(r.ratio("gpu") < 0.5 for r in group)))
    line("first launch / tuned", lambda group: f"{geomean(r.chosen for r in group):.3f}")
    line("the lowest", lowest(lambda r: r.chosen))
    line("kernels below 0.5", lambda group: str(sum(r.chosen < 0.5 for r in group)))
    line("triton's default / tuned", lambda group: f"{geomean(r.ratio('triton') for r in group):.3f}")
    line("tileiras as is / tuned", lambda group: f"{geomean(r.ratio('as is') for r in group):.3f}")
    for kind, name in (("compiled", "torch.compile"), ("eager", "torch as it is")):
        compared = [_peers(rows, facts, listed, held, kind) for held in (False, True)]
        lines.append(
            f"| tuned / {name}, programs with a peer | "
            + " | ".join(f"{geomean(c.values()):.3f} ({len(c)})" if c else "" for c in compared)
            + " |"
        )
    timed = [p for p in facts.get("peers", {}).values() if "eager" in p]
    compiled = sum("compiled" in p for p in timed)
    lines += ["", f"Torch was timed for {len(timed)} programs, and compiled {compiled} of them."]
    return lines


def _peers(rows: list[Row], facts: Facts, listed: Facts, held: bool, kind: str) -> dict[str, float]:
    """How many times as fast as torch's way the forward kernels of programs are together."""
    found = {}
    for program in listed["programs"]:
        time = facts.get("peers", {}).get(program["name"], {}).get(kind)
        ours = [r for r in rows if r.name.startswith(stem(program) + "--") and not _is_backward(r.name)]
        if time and ours and ours[0].held_out is held:
            found[program["name"]] = time / sum(r.best["seconds"] for r in ours)
    return found


def _is_backward(name: str) -> bool:
    kernel = name.split("--")[1]
    return "bwd" in kernel or "backward" in kernel


def _first(facts: Facts, rows: list[Row]) -> list[str]:
    timed = [r.choice["spent"] for r in rows if "spent" in r.choice]
    candidates = [len(r.choice["times"]) for r in rows if "times" in r.choice]
    by_rules: dict[str, int] = {}
    for r in rows:
        if "why" in r.choice:
            by_rules[r.choice["why"]] = by_rules.get(r.choice["why"], 0) + 1
    lines = [
        "",
        "## The first launch",
        "",
        f"{len(timed)} kernels could be timed on copies of their memory: {mean(candidates):.1f} candidates on average,"
        f" in {1e3 * mean(timed):.0f} ms (at most {1e3 * max(timed, default=0):.0f}), besides compiling.",
        f"Memory was as before the choice in {sum(bool(r.choice.get('untouched')) for r in rows)} of {len(timed)}.",
    ]
    lines += [f"Rules chose for {count} others: {why}." for why, count in by_rules.items()]
    lines += _compiling(rows)
    if not facts.get("first"):
        lines += ["", "A whole first launch, with nothing in any cache, was not timed in this run."]
    if first := facts.get("first"):
        lines += [
            "",
            "The time from loading a module to the result of its first launch, in seconds, with nothing in any cache:",
            "",
            "| kernel | rules | measured | chosen |",
            "|---|--:|--:|---|",
            *(f"| {f['name']} | {f['rules']:.2f} | {f['measured']:.2f} | {f['label']} |" for f in first),
            "",
            f"Geometric mean: {geomean(f['rules'] for f in first):.2f} and {geomean(f['measured'] for f in first):.2f}."
            f"Results after the choice were those of one launch in {sum(not f['differs'] for f in first)} of "
            f"{len(first)}.",
        ]
    return lines


def _compiling(rows: list[Row]) -> list[str]:
    """Describe the time of compiling, from variants that were compiled on one core each."""
    alone, together = [], []
    for r in rows:
        seconds = {v["label"]: v["compile_seconds"] for v in r.variants}
        tried = [seconds[label] for label in r.choice.get("times", ()) if label in seconds]
        if (default := next((v for v in r.variants if "gpu" in v["roles"]), None)) is not None and tried:
            alone.append(default["compile_seconds"])
            together.append(max(tried) + r.choice["spent"])
    if not alone:
        return []
    return [
        "",
        f"Compiling the variant of the rules took {median(alone):.2f} s (median; {mean(alone):.2f} on average); the"
        f" slowest of a kernel's candidates and timing them took {median(together):.2f} s ({mean(together):.2f}), each"
        " on one core among busy ones: about what a first launch takes without and with the choice.",
    ]


def _right(rows: list[Row], explained: dict[str, str]) -> list[str]:
    ran = [(r, v) for r in rows for v in r.variants if "ok" in v]
    small = sum("reference" in v for _, v in ran)
    wrong = [(r, v) for r, v in ran if not v["ok"]]
    lines = [
        "",
        "## Right or wrong",
        "",
        f"{len(ran)} variants of {len(rows)} kernels ran. Of {small}, what they left on a grid of at most two tile"
        " blocks along each dimension was compared with the reference engine; for the others that took too long."
        " All were compared with the first variant on the whole grid. Memory that a kernel only writes was poisoned"
        " before.",
        "",
    ]
    if not wrong:
        return [*lines, "None was wrong."]
    return [
        *lines,
        f"{len(wrong)} differ:",
        "",
        *(f"* {r.name}, {v['label']}: {v.get('reference') or v['first']}" for r, v in wrong),
        *(f"\n{name}: {why}" for name, why in explained.items()),
    ]


def _table(rows: list[Row], facts: Facts, listed: Facts) -> list[str]:
    peers = {k: v for held in (False, True) for k, v in _peers(rows, facts, listed, held, "compiled").items()}
    programs = {stem(p): p["name"] for p in listed["programs"]}
    lines = [
        "",
        "## Kernels",
        "",
        "Times of the best variant; the rest are ratios. H marks what is held out.",
        "",
        "| kernel | | tuned | variant | default | variant | first launch | torch.compile |",
        "|---|---|--:|---|--:|---|--:|--:|",
    ]
    for r in rows:
        default = r.of("gpu")
        peer = (
            ""
            if _is_backward(r.name)
            else f"{peers[programs[s]]:.2f}"
            if programs[s := r.name.split("--")[0]] in peers
            else ""
        )
        lines.append(
            f"| {r.name} | {'H' if r.held_out else ''} | {r.best['seconds'] * 1e6:.1f} us | {r.best['label']}"
            f" | {r.ratio('gpu'):.2f} | {default['label'] if default else 'did not run'} | {r.chosen:.2f} | {peer} |"
        )
    return lines


def _failures(facts: Facts, rows: list[Row], listed: Facts) -> list[str]:
    lines = ["", "## What did not work", ""]
    found = [f"* {name}: {why}" for name, why in facts["failed"]]
    found += [
        f"* {name}, {label or 'before any variant'}: it hung, or ended the process" for name, label in facts["bad"]
    ]
    found += [f"* {name}: not measured, the time was up" for name in facts["missing"]]
    refused: dict[str, int] = {}
    for r in rows:
        for v in r.variants:
            if "error" in v:
                why = re.sub(r"@\S+ ", "", v["error"])[:100]
                key = f"{v['engine']}: {why}"
                refused[key] = refused.get(key, 0) + 1
    found += [f"* {count} variants of {key}" for key, count in sorted(refused.items(), key=lambda item: -item[1])]
    return [*lines, *(found or ["Every variant compiled and ran."])]


def _not_measured() -> list[str]:
    return [
        "",
        "## Not measured",
        "",
        "One GPU of one kind, one run, one size of each program. cuTile's own tuner took the first "
        "configuration of each",
        "program, so tile sizes are not the best. Variants compiled on all other cores while kernels were "
        "timed. Floats are",
        "drawn from a normal distribution and repeat after a million elements. Torch was timed after the "
        "kernels, not in turn.",
    ]
