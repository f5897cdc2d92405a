"""The page of `watch_release.py`: what changed between releases of tileiras and of cuTile."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise
from statistics import median
from typing import Any

from checkout import fill

Row = dict[str, Any]
Key = tuple[str, str]
OUTCOMES = ("compiled", "refused", "failed", "crashed", "late", "inexpressible")
TITLES = {
    "compiled": "compiled",
    "refused": "refused",
    "failed": "failed",
    "crashed": "crashed",
    "late": "too late",
    "inexpressible": "cannot be expressed",
}
GROUPS = {
    "corpus": "files of a corpus that cuTile wrote, a random sample",
    "tests": "legal texts of tests/cases",
    "cuTile": "modules that the newest release of cuTile made of NVIDIA's samples",
    "random": "random modules",
}
LISTED = 30
"""The most modules that a list of the page names."""
SLOWER, NOTICEABLE = 1.5, 200
"""How many times as long, and at least how many milliseconds, a compilation takes that the page counts as slower."""


def page(tileiras: dict[str, list[Row]], cutile: dict[str, list[Row]], again: list[Row], gpu: str) -> str:
    """Write the page from the records of each release, oldest first, and of modules that were compiled again."""
    lines = ["# Releases of tileiras and of cuTile", "", introduction(tileiras, gpu), ""]
    if tileiras:
        lines += [*tileiras_part(tileiras), *again_part(again)]
    if cutile:
        lines += cutile_part(cutile)
    return "\n".join([*lines, "## Not measured", "", NOT_MEASURED, ""])


def introduction(tileiras: dict[str, list[Row]], gpu: str) -> str:
    first = modules(max(tileiras.values(), key=len, default=[]))
    counts = Counter(group for group, _ in first)
    parts = ", ".join(f"{count} {GROUPS[group]}" for group, count in counts.items())
    return fill(
        f"`scripts/watch_release.py` wrote this page. It gave the same modules to {len(tileiras)} releases of "
        f"tileiras, which compiled them for {gpu}: {parts}. A module has its own version of bytecode where the release "
        "reads that, or else the oldest that expresses it, without hints. Machine code is the sections of instructions "
        "in the cubin. Times are processor times of one process; the machine had other work."
    )


def modules(rows: list[Row]) -> dict[Key, Row]:
    """Return the rows of modules by group and name."""
    return {(row["group"], row["name"]): row for row in rows if row["name"]}


def tileiras_part(releases: dict[str, list[Row]]) -> list[str]:
    found = {release: modules(rows) for release, rows in releases.items()}
    lines = ["## Releases of tileiras", ""]
    lines += [f"| release | reads | modules | {' | '.join(TITLES.values())} | median time |", "|---|---|" + "--:|" * 8]
    for release, rows in found.items():
        counts = Counter(row["outcome"] for row in rows.values())
        facts = next(row for row in releases[release] if not row["name"])
        cells = [str(count) for count in (len(rows), *(counts[outcome] for outcome in OUTCOMES))]
        time = median(row["milliseconds"] for row in rows.values() if row["outcome"] == "compiled")
        lines.append(f"| {release} | {', '.join(facts['reads'])} | {' | '.join(cells)} | {time:.0f} ms |")
    lines += ["", OUTCOME_NOTE, ""]
    for release, rows_of in releases.items():
        if next(row for row in rows_of if not row["name"])["completed"]:
            lines += [fill(LIBRARY_NOTE.format(release=release)), ""]
    lines += ["## Changes from release to release", "", CHANGES_NOTE, ""]
    lines += [
        "| from | to | by both | same code | other code | size | time | slower | not any more | newly | crashes |"
    ]
    lines += ["|---|---|" + "--:|" * 9]
    details: list[str] = []
    for (old, before), (new, after) in pairwise(found.items()):
        lines.append(change(old, before, new, after))
        details += lost(old, before, new, after)
    lines += ["", *details, *crashes(found), *reasons(found)]
    return lines


OUTCOME_NOTE = """\
Refused: the reader or the verifier says no. Failed: a later part of the compiler does, most often without a reason.
Cannot be expressed: no version of bytecode that the release reads has what the module uses."""
LIBRARY_NOTE = (
    "Release {release} looks for `nvvm/lib64/libnvvm.so`, where its own wheels do not put it: as pip installs it, it "
    "compiles nothing. For this page the library was linked there."
)
CHANGES_NOTE = fill(
    "By both: modules that both releases compile. Size: bytes of the new code by those of the old, in the geometric "
    "mean over modules whose code differs. Time: all modules that both compile. Slower: at least "
    f"{SLOWER} times as long, and {NOTICEABLE} ms more. Not any more, newly: compiled by one of them alone, although "
    "both could be given the module. Crashes: new, and gone."
)


def change(old: str, before: dict[Key, Row], new: str, after: dict[Key, Row]) -> str:
    """Return the row of two releases."""
    both = [
        (before[key], after[key])
        for key in before
        if key in after and is_compiled(before[key]) and is_compiled(after[key])
    ]
    other = [(a, b) for a, b in both if a["code"] != b["code"]]
    ratios = [math.log(b["size"] / a["size"]) for a, b in other if a["size"] and b["size"]]
    size = f"{math.exp(sum(ratios) / len(ratios)):.3f}" if ratios else "-"
    time = sum(b["milliseconds"] for _, b in both) / max(1, sum(a["milliseconds"] for a, _ in both))
    slow = sum(b["milliseconds"] >= max(SLOWER * a["milliseconds"], a["milliseconds"] + NOTICEABLE) for a, b in both)
    gone, newly = len(only(before, after)), len(only(after, before))
    more = sum(row["outcome"] == "crashed" != before.get(key, row)["outcome"] for key, row in after.items())
    less = sum(row["outcome"] == "crashed" != after.get(key, row)["outcome"] for key, row in before.items())
    cells = [old, new, len(both), len(both) - len(other), len(other), size, f"{time:.2f}", slow, gone, newly]
    return "| " + " | ".join(map(str, cells)) + f" | +{more} -{less} |"


def is_compiled(row: Row) -> bool:
    return bool(row["outcome"] == "compiled")


def only(one: dict[Key, Row], other: dict[Key, Row]) -> list[Key]:
    """Return the modules that one release compiles and another could read and does not compile."""
    return [
        key
        for key, row in one.items()
        if is_compiled(row) and key in other and other[key]["outcome"] not in ("compiled", "inexpressible")
    ]


def lost(old: str, before: dict[Key, Row], new: str, after: dict[Key, Row]) -> list[str]:
    """List what was compiled before and is not now."""
    keys = only(before, after)
    if not keys:
        return []
    lines = [f"### Compiled by {old} and not by {new}", "", "| module | now | said |", "|---|---|---|"]
    lines += [f"| {named(key)} | {TITLES[after[key]['outcome']]} | {quoted(after[key])} |" for key in keys[:LISTED]]
    if len(keys) > LISTED:
        lines.append(f"| {len(keys) - LISTED} more | | |")
    return [*lines, ""]


def named(key: Key) -> str:
    return f"{key[0]}: {key[1]}"


def quoted(row: Row) -> str:
    said = row.get("said", "").replace("|", "¦").replace("`", "'")
    return f"`{said}`" if said else ""


def crashes(found: dict[str, dict[Key, Row]]) -> list[str]:
    """List the modules that crash a release, or take too long, with the releases."""
    bad: dict[Key, dict[str, Row]] = {}
    for release, rows in found.items():
        for key, row in rows.items():
            if row["outcome"] in ("crashed", "late"):
                bad.setdefault(key, {})[release] = row
    lines = ["## Crashes, and compilations that take too long", ""]
    if not bad:
        return [*lines, "None.", ""]
    lines += ["| module | releases | status | said |", "|---|---|--:|---|"]
    for key, by_release in list(bad.items())[:LISTED]:
        last = list(by_release.values())[-1]
        lines.append(f"| {named(key)} | {', '.join(by_release)} | {last.get('status', 'late')} | {quoted(last)} |")
    if len(bad) > LISTED:
        lines.append(f"| {len(bad) - LISTED} more | | | |")
    return [*lines, ""]


def again_part(rows: list[Row]) -> list[str]:
    """List the modules that were compiled several times by the same release."""
    if not rows:
        return []
    lines = ["## Compiled several times by one release", "", AGAIN_NOTE, ""]
    lines += ["| module | release | times | different codes |", "|---|---|--:|--:|"]
    for row in rows:
        count = len(set(row["codes"]))
        lines.append(f"| {row['group']}: {row['name']} | {row['release']} | {len(row['codes'])} | {count} |")
    return [*lines, ""]


AGAIN_NOTE = """\
Modules of which two releases made other code. Where one release makes several codes of one module, the difference
between the releases may be chance."""


def reasons(found: dict[str, dict[Key, Row]]) -> list[str]:
    """Count what the releases say about modules that they refuse."""
    counts: dict[str, Counter[str]] = {}
    for release, rows in found.items():
        for row in rows.values():
            if row["outcome"] in ("refused", "failed"):
                said = re.sub(r"\d+", "N", row["said"])[:120].replace("|", "¦").replace("`", "'")
                counts.setdefault(said, Counter())[release] += 1
    lines = ["## Reasons why modules are refused or fail", ""]
    lines += [f"| said, with N for numbers | {' | '.join(found)} |", "|---|" + "--:|" * len(found)]
    ordered = sorted(counts.items(), key=lambda item: -item[1].total())
    for said, by in ordered[:LISTED]:
        lines.append(f"| `{said}` | " + " | ".join(str(by[release] or "") for release in found) + " |")
    if len(ordered) > LISTED:
        rest = [sum(by[release] for _, by in ordered[LISTED:]) for release in found]
        lines.append(f"| {len(ordered) - LISTED} other texts | " + " | ".join(map(str, rest)) + " |")
    return [*lines, ""]


# ---------------------------------------------------------------- cuTile


CUTILE_NOTE = """\
NVIDIA's samples of the newest release ran with each release, by `tilery cutile run`; each compares its kernels with
torch. A sample may use what an older release does not have. Same: modules whose text, without locations, is the same as
that of the release before; other: the other modules. MatMul fails on engine `cpu` for a tolerance that is too small for
results near zero, see [cuTile](../cutile.md)."""


def cutile_part(releases: dict[str, list[Row]]) -> list[str]:
    lines = ["## Releases of cuTile", "", CUTILE_NOTE, ""]
    lines += [
        "| release | samples pass | fail | too late | modules | same | other | processor time |",
        "|---|" + "--:|" * 7,
    ]
    before: dict[str, str] = {}
    for release, rows in releases.items():
        counts = Counter(row["outcome"] for row in rows)
        made = {name: text for row in rows for name, text in row["modules"].items()}
        same = sum(before.get(name) == text for name, text in made.items())
        cells = [counts["passed"], counts["failed"], counts["late"], len(made), same if before else "-"]
        cells += [len(made) - same if before else "-", f"{sum(row['seconds'] for row in rows):.0f} s"]
        lines.append(f"| {release} | {' | '.join(map(str, cells))} |")
        before = made or before
    lines += ["", "| release | sample | result | said |", "|---|---|---|---|"]
    for release, rows in releases.items():
        bad: dict[tuple[str, str], list[str]] = {}
        for row in rows:
            if row["outcome"] != "passed":
                bad.setdefault((row["outcome"], quoted(row)), []).append(row["name"])
        lines += [f"| {release} | {', '.join(names)} | {how} | {said} |" for (how, said), names in bad.items()]
    return [*lines, ""]


NOT_MEASURED = """\
Nothing was executed on a GPU, so other machine code may be faster, slower or wrong. Other architectures and levels of
optimisation were not tried. A release that compiles a module may compile it wrongly. Each module was compiled once,
except those that the page lists as compiled several times; the other differences may be chance, too. A release with
fewer modules or samples than the others was stopped before it had seen them all; one that is missing was not run."""
