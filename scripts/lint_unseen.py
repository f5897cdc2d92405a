"""Write docs/reports/lab/lint_unseen.{json,md}: what is found on the sets of unseen faulty kernels, at first look.

    python scripts/lint_unseen.py [--results FILE] [--sanitize]

FILE is what `scripts/lint_report.py --results FILE` keeps, for the linter. With --sanitize, the sanitizer runs on the
seventh set. Without either, the page is written from the committed numbers.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import checkout
from support.catalogue import Case, cutile_reports_of, read_cases, reports_of, triton_reports_of
from tilery.sanitize import CHECKS

PAGE = checkout.LAB / "lint_unseen.md"
NUMBERS = checkout.LAB / "lint_unseen.json"
SETS = checkout.ROOT / "tests" / "lint"
LAST = "eighth"
"""The set that options are about."""
RIGHT, NONE, NO_CHECK = "right", "nothing", "no check"
FOURTH_SET = (
    "The [fourth set](../../../tests/lint/fourth/README.md) was written by somebody who did not know the rules of "
    "`tilery lint` or its [trial launches](../../guides/lint.md#trial-launches). Both were finished and on the main "
    "branch before the set was read or run; nothing was changed before this run."
)
FIFTH_SET = (
    "The [fifth set](../../../tests/lint/fifth/README.md) has kinds that the sets before it do not have. Its author "
    "had read the guide of the linter and the names of its rules. It was committed before the linter or the sanitizer "
    "was run on any of it, and neither was changed before this run."
)
RESULT = (
    "The linter finds {found} of {of} faults, {percent:.0f} %; trial launches alone find {launched}. {twins} of the "
    "corrected twins have a finding that is not a note."
)
SANITIZED = (
    "The sanitizer, on one launch of each in the engine's own schedule, reports {right} of {of} at the right "
    "operations and nowhere else, and {twins} of the twins. {others} faults are none of its checks: {which}. {more}"
)
FIFTH_REST = {
    "which": "two locks in opposite order and an assertion, with which the engine stops the launch by itself, and "
    "padding of minus infinity",
    "more": "`barrier_one_short` races in schedules in which a tile block runs ahead of the others; `--schedules 3` "
    "finds it.",
}
SIXTH_SET = (
    "The [sixth set](../../../tests/lint/sixth/README.md) is about waiting, flags, locks and loops that never end. Its "
    "author knew the linter and its launches, had just added a note about tile blocks that all wait, and chose kinds "
    "without regard to what can be found. It was committed before the linter or the sanitizer was run on any of it, "
    "and neither was changed before this run."
)
SIXTH_REST = {
    "which": "six deadlocks and two endless loops, with which the engine stops the launch, a running maximum, and a "
    "NaN, which is a hint",
    "more": "`flag_polled_as_a_word` is reported, at the load that reads the data too. `version_read_only_before` and "
    "`flag_reused_in_the_second_round` race in other schedules; `--schedules 5` finds them. `nobody_is_last` takes "
    "`--arg out=output:...`, which says that the array must be written.",
}
SIXTH_SINCE = (
    "The findings and misses were read then. Rules objected to four twins, wrongly, because two branches that exclude "
    "each other counted as one execution, and because an earlier release did not count; both were corrected. Launches "
    "now also run tile blocks from the last to the first, which finds `version_read_only_before` and "
    "`odd_blocks_keep_the_lock`. 15 were found since then, six of them by notes alone, and no twin had a finding that "
    "is not a note. Since launches look for NaN, for a last tile block that does not come and in more schedules, and a "
    "rule at what loops accumulate from, 19 are found."
)
SEVENTH_SET = (
    "The [seventh set](../../../tests/lint/seventh/README.md) has the kinds of bug reports in public issue trackers of "
    "GPU kernels. Its author had seen the names of the rules and some kernels of the earlier sets. It was committed "
    "before the linter or the sanitizer was run on any of it, and neither was changed before this run."
)
SEVENTH_REST = {
    "which": "a barrier that never opens, with which the engine stops the launch, two in which padding takes part, and "
    "a NaN and a tile outside its tensor, which are hints",
    "more": "`first_slice_clears_while_others_add` is reported at the addition, with the store that the file names as "
    "the other side, and `turn_passed_on_without_release` at the store after the load, too. "
    "`owner_waits_for_the_first_part` races in other schedules; `--schedules 5` finds it.",
}
SEVENTH_SINCE = (
    "The misses were read then. The NaN of `first_chunk_is_masked_whole` is found since trial launches look for NaN "
    "that is stored. The twin of `look_back_beside_its_flag` had false findings: `out-of-bounds` took the first tile "
    "block to read before the start of an array in a branch that this tile block does not take. It knows such branches "
    "since then, and so does `false-promise`."
)
EIGHTH_SET = (
    "The [eighth set](../../../tests/lint/eighth/README.md) has more kinds of bug reports in public issue trackers. "
    "Its author knew the rules and the launches, had just added three rules, and chose kinds without regard to what "
    "can be found. It was committed before the linter or the sanitizer was run on any of it, and neither was changed "
    "before this run."
)
EIGHTH_REST = {
    "which": "a deadlock, with which the engine stops the launch, a minimum, and three NaN and a tile outside its "
    "tensor, which are hints",
    "more": "`carry_of_the_previous_block` and `partner_of_the_other_block` are reported at the store, with a load as "
    "the other side, `prefetch_into_the_stage_in_use` also where the number of a stage that was never filled is "
    "stored. `flag_is_looked_at_once` races in schedules in which the second tile block is first; `--schedules 5` "
    "finds it.",
}
EIGHTH_SINCE = (
    "The misses were read then. Two twins had the finding of the faulty kernel: `neighbour-race` took all lanes of a "
    "mask that is known in part for active, and `alloca-unwritten` took a branch that is always executed for one that "
    "may not be. Both know better since then, and `out-of-bounds` objects to `elements_instead_of_tiles`. `makes-nan`, "
    "which was new, found three of the 17."
)
BIAS = (
    "The set favours launches: its author ran the sanitizer on the pairs of Tile IR, and kept those that it reports. "
    "The [third set](../../../tests/lint/third/README.md), without that, was 70 % at first look by rules alone."
)
SINCE = (
    "The misses were read then. Trial launches now also run tile blocks one after the other, each as far as it can: "
    "this finds `barrier_one_short` and, as another schedule does not end, `locks_in_opposite_order`. "
    "`asserts_to_be_the_first` stays: an assertion may say how a kernel is meant to be launched."
)
NOT_MEASURED = "Kernels that somebody wrote without looking for faults: [public programs](sanitizer_programs.md) are."


def read(file: Path, name: str) -> dict[str, Any]:
    """Return the findings of each pair of a set."""
    rows = dict(json.loads(line) for line in file.read_text("utf-8").splitlines())
    pairs = sorted(
        key[len(name) + 1 :].removesuffix(" bad") for key in rows if key.startswith(f"{name}/") and key.endswith(" bad")
    )
    return {
        pair: {what: rows[f"{name}/{pair} {what}"] for what in ("bad", "good", "bad launched", "good launched")}
        for pair in pairs
    }


def sanitize(name: str) -> tuple[str, int]:
    """Return what the sanitizer says about a faulty kernel of the last set, and its number of reports on the twin."""
    faulty, twin = read_cases(SETS / LAST / name)
    wanted = {(line, check) for line, check, _ in faulty.faults}
    if not {check for _, check in wanted} <= {name for name, row in CHECKS.items() if not row.hint}:
        return NO_CHECK, len(reports(name, twin))
    found = reports(name, faulty)
    at, named = (
        {(line, check) for line, check, _ in found},
        {(line, check) for _, check, lines in found for line in lines},
    )
    is_right = at and at <= wanted <= at | named  # one report has both sides of a race
    return (RIGHT if is_right else "other operations" if found else NONE), len(reports(name, twin))


def reports(name: str, case: Case) -> list[tuple[int, str, list[int]]]:
    """Return the lines of the reports of a launch, their checks, and the lines of the other operations."""
    if name.endswith(".mlir"):
        found = reports_of(case, "all")
    else:
        run = cutile_reports_of if name.startswith("cutile") else triton_reports_of
        with tempfile.TemporaryDirectory() as folder:
            found = run(case, "all", Path(folder) / Path(name).name)
    return [(line, report.check, others) for line, report, others in found]


def found(pair: dict[str, Any], suffix: str = "") -> list[str]:
    """Return the rules that object to the faulty kernel and not to its twin."""
    bad, good = ({row[0] for row in pair[which + suffix]} for which in ("bad", "good"))
    return sorted(bad - good)


def section(title: str, introduction: str, pairs: dict[str, Any], more: list[str]) -> list[str]:
    """Return the paragraphs and the table of a set."""
    launched = sum(bool(found(pair, " launched")) for pair in pairs.values())
    hits = sum(bool(found(pair)) for pair in pairs.values())
    twins = sum(any(row[2] != "note" for row in pair["good"]) for pair in pairs.values())
    numbers = {"found": hits, "of": len(pairs), "percent": 100 * hits / max(1, len(pairs)), "launched": launched}
    result = RESULT.format(**numbers, twins=twins or "None")
    lines = [f"## {title}", ""]
    for text in (introduction, result, *more):
        lines += [checkout.fill(text), ""]
    is_sanitized = any("sanitizer" in pair for pair in pairs.values())
    last = " Sanitizer |" if is_sanitized else ""
    lines += [
        f"| Faulty kernel | Rules that object | Launches alone | Rules on its twin |{last}",
        "|---|---|---|---|" + "---|" * is_sanitized,
    ]
    for name, pair in pairs.items():
        rules = ", ".join(f"`{rule}`" for rule in found(pair)) or "none"
        notes = ", ".join(sorted({f"`{row[0]}`" for row in pair["good"]})) or "none"
        alone = "yes" if found(pair, " launched") else "no"
        said = f" {pair['sanitizer'][0]} |" if is_sanitized else ""
        lines.append(f"| {name} | {rules} | {alone} | {notes} |{said}")
    return [*lines, ""]


def sanitized(pairs: dict[str, Any], rest: dict[str, str]) -> str:
    """Return what the sanitizer says about a set."""
    said = [pair["sanitizer"] for pair in pairs.values()]
    of = [what for what, _ in said if what != NO_CHECK]
    twins = sum(bool(count) for _, count in said) or "none"
    return SANITIZED.format(right=of.count(RIGHT), of=len(of), others=len(said) - len(of), twins=twins, **rest)


def page(sets: dict[str, Any]) -> str:
    lines = ["# Unseen faulty kernels", "", checkout.fill(INTRODUCTION), ""]
    lines += section("The fourth set", FOURTH_SET, sets["fourth"], [BIAS])
    lines += section("The fifth set", FIFTH_SET, sets["fifth"], [sanitized(sets["fifth"], FIFTH_REST), SINCE])
    lines += section("The sixth set", SIXTH_SET, sets["sixth"], [sanitized(sets["sixth"], SIXTH_REST), SIXTH_SINCE])
    more = [sanitized(sets["seventh"], SEVENTH_REST), SEVENTH_SINCE]
    lines += section("The seventh set", SEVENTH_SET, sets["seventh"], more)
    more = [sanitized(sets["eighth"], EIGHTH_REST), EIGHTH_SINCE]
    lines += section("The eighth set", EIGHTH_SET, sets["eighth"], more)
    return "\n".join([*lines, "## Not measured", "", checkout.fill(NOT_MEASURED), ""])


INTRODUCTION = (
    "`scripts/lint_unseen.py` wrote this page: what `tilery lint` and the sanitizer say about faulty kernels when they "
    "first see them. A fault is found by the linter if a rule objects to the faulty kernel and not to its corrected "
    "twin."
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, help="findings on the last set, of a run of scripts/lint_report.py")
    parser.add_argument("--sanitize", action="store_true", help="run the sanitizer on the last set")
    args = parser.parse_args()
    sets = json.loads(NUMBERS.read_text("utf-8"))
    if args.results is not None:
        sets[LAST] = read(args.results, LAST)
    if args.sanitize:
        for name, pair in sets[LAST].items():
            pair["sanitizer"] = sanitize(name)
    NUMBERS.write_text(json.dumps(sets, indent=1) + "\n", "utf-8")
    PAGE.write_text(page(sets), "utf-8")


if __name__ == "__main__":
    main()
