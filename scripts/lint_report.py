"""Lint the sanitizer's catalogue of faulty kernels and the corpus of real files, and write docs/reports/lint.md.

    python scripts/lint_report.py --report docs/reports/lint.md

`tests/lint/catalogue.toml` lists the faults that the text of a kernel decides, and which half of them was held out
while the rules were written. `scripts/parts/lint_judgements.toml` has a verdict on every finding in the corpus. Pairs
of cuTile and Triton need these, and the corpus is beside the checkout; without them, the page says so.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from runpy import run_path
from typing import Any, NamedTuple
from unittest.mock import patch

import checkout
import tilery
from support import oracle
from support.catalogue import FOLDER, Case, read_cases
from tilery.cli.progress import progress
from tilery.lint import RULES, Finding, lint
from tilery.lint.facts import Facts
from tilery.lint.trial import TrialRules
from tilery.smith import smith
from tilery.source.lines import innermost

LISTED = tomllib.loads((checkout.ROOT / "tests" / "lint" / "catalogue.toml").read_text("utf-8"))
JUDGED = checkout.ROOT / "scripts" / "parts" / "lint_judgements.toml"
SETS = {
    name: checkout.ROOT / "tests" / "lint" / name
    for name in ("second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
}
QUIET = ("unused-argument", "unused-value")
"""Kernels of the catalogue are short, and some have arguments for their corrected twins only."""
INTRO = (
    "`python scripts/lint_report.py` wrote this page. It runs the {rules} [rules](../reference/lint/index.md) of "
    "`tilery lint`, with its [trial launches](../guides/lint.md#trial-launches), on the sanitizer's catalogue of "
    "faulty kernels and their corrected twins, on a corpus of real files, and on random modules. `unused-argument` and "
    "`unused-value` are left out on the catalogue."
)
DECIDABLE = (
    "A fault counts as decidable if it follows from the text of the kernel alone, whatever the arguments are, and for "
    "every grid with at least two tile blocks along each dimension that the kernel asks for. The list was made before "
    "the rules, from the first sentence of each file, and half of it was held out: the rules were written against "
    "the other half. A fault is found if a rule objects to the kernel and not to its corrected twin. The column of "
    "launches counts the faults that trial launches find without any rule that looks at the text: nothing in them was "
    "written for a kind of fault."
)
LOOKS = {
    "second": (
        "A [second set](../../tests/lint/second/README.md) of {of} kernels was written when the rules were done, from "
        "public issues and the specification, and committed before any rule was run on it. {found} faults were found "
        "then. Those that were missed were read, and rules were added for seven kinds. `counter_by_load_and_store` is "
        "not decidable after all: it is right on a grid of one tile block. Faults that were "
        "[planted](lab/lint_planted.md) in real kernels after that are a third set."
    ),
    "third": (
        "A [third set](../../tests/lint/third/README.md) of {of} kernels of Tile IR, cuTile and Triton was written and "
        "committed before any rule was run on it. {found} faults were found then, {percent:.0f} %. After that, four "
        "rules learned which values the counter of a loop takes. Trial launches were added then, and find four of the "
        "five that were still open."
    ),
    "fourth": (
        "A [fourth set](../../tests/lint/fourth/README.md) of {of} kernels of Tile IR, cuTile and Triton was written "
        "by somebody who did not know the rules or the launches, and they were not changed between its commit and the "
        "first run. {found} faults were found then, {percent:.0f} %. Launches alone found {launched}."
    ),
    "fifth": (
        "A [fifth set](../../tests/lint/fifth/README.md) of {of} kernels has kinds that the others do not have, and "
        "was committed before anything was run on it. {found} faults were found then, {percent:.0f} %, all of them by "
        "launches alone. After that, launches learned to run tile blocks one after the other, which finds two of the "
        "three that were missed. The third asserts that there is one tile block, which its author may mean. [More "
        "about both](lab/lint_unseen.md)."
    ),
    "sixth": (
        "A [sixth set](../../tests/lint/sixth/README.md) of {of} kernels is about waiting, flags, locks and loops that "
        "never end, and was committed before anything was run on it. {found} faults were found then, {percent:.0f} %, "
        "{launched} by launches alone, and rules objected to {twins} of the corrected twins, each time "
        "wrongly: in three of them they took accesses in branches that exclude each other for accesses of one "
        "execution. This was corrected, another rule learned that an earlier release may have published a store, and "
        "launches also run tile blocks from the last to the first. Four of the five that were still open are found "
        "since launches look for NaN that is stored, for a last tile block that does not come and in more schedules, "
        "and a rule looks at what loops accumulate from. Slots of two tickets are open: they differ for two tile "
        "blocks if the counter starts from one."
    ),
    "seventh": (
        "A [seventh set](../../tests/lint/seventh/README.md) of {of} kernels has the kinds of bug reports in public "
        "issue trackers of GPU kernels, and was committed before anything was run on it. {found} faults were found "
        "then, {percent:.0f} %, {launched} by launches alone, and a rule objected to {twins} of the corrected twins, "
        "wrongly: it did not know that the first tile block skips a branch. This was corrected. The one that was "
        "missed, the NaN of a softmax whose columns are all masked, is found since launches look for NaN that is "
        "stored."
    ),
    "eighth": (
        "An [eighth set](../../tests/lint/eighth/README.md) of {of} kernels has more kinds of bug reports in public "
        "issue trackers, and was committed before anything was run on it. {found} faults were found then, "
        "{percent:.0f} %, {launched} by launches alone, and rules objected to {twins} of the corrected twins as they "
        "did to the faulty kernels, wrongly: one did not look at the part of a mask that is known, another took a "
        "branch whose condition is always true for one that may be skipped. Both were corrected, and a rule learned "
        "the third fault, an index that counts elements instead of tiles."
    ),
}
"""What the first look at each set found."""
FIRST = (
    "When the other half was first looked at, {found} of its {of} faults were found. The kernels that were missed were "
    "read then, and rules improved, so its number in the table is no longer that of unseen kernels. Pairs that were "
    "added to the catalogue later are a group of their own."
)
SEED = 500_000
"""The seed of the first random module: none was linted before the launches were finished."""
RANDOM = (
    "{count} random modules, from seed {seed:,} on, which can be executed without a fault, were linted. Rules reported "
    "{errors} errors. An error is false here, but for a tile that is wholly outside its tensor, which ends no launch. "
    "Findings: {shown}."
)
REST = (
    "Of the {count} pairs that are not decidable, rules object to {found} faulty kernels all the same, because numbers "
    "of the test are in the text, or because the rule asks for a habit that prevents the fault."
)
VERDICTS = {
    "true": "what the finding says is so",
    "launch": "it is so in launches of more than one tile block, and the test launches one",
    "false": "what the finding says is not so, or is harmless",
}


class Row(NamedTuple):
    """A finding: its rule, the line of source, and how bad it is."""

    rule: str
    where: str
    severity: str


class Results:
    """The findings so far, by item, in a file: a run continues where an earlier one was stopped."""

    def __init__(self, file: Path | None, share: tuple[int, int]) -> None:
        self._file, self._share, self._count = file, share, 0
        self._known: dict[str, list[Row]] = {}
        for line in file.read_text("utf-8").splitlines() if file is not None and file.exists() else ():
            item, rows = json.loads(line)
            self._known[item] = [Row(*row) for row in rows]

    def get(self, item: str, find: Callable[[], list[Finding]]) -> list[Row]:
        """Return the findings of an item; none if it is not in the share of this run."""
        if item not in self._known:
            self._count += 1
            if self._count % self._share[1] != self._share[0]:
                return []
            rows = self._known[item] = [row_of(finding) for finding in find()]
            if self._file is not None:
                with self._file.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([item, rows]) + "\n")
        return self._known[item]


def row_of(finding: Finding) -> Row:
    place = innermost(finding.op.loc)
    where = "" if place is None else f"{Path(place.file).name}:{place.line}"
    return Row(finding.rule, where, finding.severity.value)


@dataclass
class Pair:
    """The findings in a faulty kernel and in its corrected twin; None if it could not be compiled."""

    name: str
    bad: list[Row] | None = None
    good: list[Row] | None = None
    is_launched: bool = False
    """Whether trial launches alone find the fault."""

    @property
    def found(self) -> set[str]:
        """The rules that object to the faulty kernel and not to its twin."""
        return {f.rule for f in self.bad or ()} - {f.rule for f in self.good or ()}


@dataclass
class Corpus:
    """The findings in real kernels."""

    files: int = 0
    with_findings: int = 0
    lines: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often each rule objects to each line of source."""


def modules_of(case: Case, name: str, folder: Path) -> list[tilery.Module]:
    """Return the module of a kernel, or those that a cuTile program launches."""
    if not name.endswith(".py"):
        return [tilery.parse(case.text)]
    script = folder / Path(name).name
    script.write_text(case.text, "utf-8")
    if Path(name).parent.name == "triton":
        return triton_modules(script)
    from tilery.cutile import on
    from tilery.cutile.modules import module

    made: list[tilery.Module] = []

    def launch(stream: Any, grid: Any, kernel: Any, args: Any, **_: Any) -> None:
        made.append(module(kernel, args))

    with on("none"), patch("cuda.tile.launch", launch):
        run_path(str(script))["main"](lambda array: array)
    return made


def triton_modules(script: Path) -> list[tilery.Module]:
    """Return the modules that a Triton program launches."""
    from triton.runtime.jit import JITFunction

    from tilery.triton import on
    from tilery.triton.modules import module

    made: list[tuple[Any, tuple[Any, ...]]] = []

    def run(kernel: Any, *args: Any, **_: Any) -> None:
        made.append((kernel, args))

    with on("none"):
        with patch.object(JITFunction, "run", run):
            run_path(str(script))["main"](lambda array: array)
        return [module(kernel, args) for kernel, args in made]


def can_compile(name: str) -> bool:
    """Return whether the front end of a kernel is installed."""
    needed = "triton" if Path(name).parent.name == "triton" else "cuda.tile"
    return not name.endswith(".py") or find_spec(needed) is not None


def judge_pair(name: str, folder: Path, results: Results, home: Path = FOLDER) -> Pair:
    pair = Pair(name)
    if not can_compile(name):
        return pair
    made: dict[str, list[tilery.Module]] = {}

    def modules(which: str) -> list[tilery.Module]:
        if not made:
            made.update(zip(("bad", "good"), (modules_of(case, name, folder) for case in read_cases(home / name))))
        return made[which]

    item = f"{home.name}/{name}"
    pair.bad, pair.good = (
        results.get(f"{item} {which}", lambda: [f for m in modules(which) for f in lint(m, ignore=QUIET)])  # noqa: B023
        for which in ("bad", "good")
    )
    bad, good = (
        {row.rule for row in results.get(f"{item} {which} launched", lambda: launched(modules(which)))}  # noqa: B023
        for which in ("bad", "good")
    )
    pair.is_launched = bool(bad - good)
    return pair


def launched(modules: list[tilery.Module]) -> list[Finding]:
    """Return what trial launches find in modules by themselves."""
    found: list[Finding] = []
    for module in modules:
        launches = TrialRules(module)
        found += [each for entry in module.entries for each in launches.findings(Facts(module, entry), ())]
    return found


def read_corpus(results: Results) -> Corpus:
    found = Corpus()
    files = sorted(oracle.CORPUS.glob("*.tileirbc")) if oracle.CORPUS.is_dir() else []
    with progress(len(files), "files") as step:
        for path in files:
            rows = results.get(f"corpus/{path.name}", lambda: lint(tilery.load(path)))  # noqa: B023
            found.files += 1
            found.with_findings += bool(rows)
            for row in rows:
                found.lines[row.rule, row.where] += 1
            step(1)
    return found


def random_modules(count: int, results: Results) -> tuple[Counter[str], int]:
    """Lint random modules; return how many findings each rule has, and the number of errors."""
    found: Counter[str] = Counter()
    errors = 0
    with progress(count, "random modules") as step:
        for seed in range(SEED, SEED + count):
            rows = results.get(f"random/{seed}", lambda: lint(smith(seed)))  # noqa: B023
            found.update(row.rule for row in rows)
            errors += sum(row.severity == "error" for row in rows)
            step(1)
    return found, errors


# ---------------------------------------------------------------- the page


NOT_JUDGED = ["not judged", ""]


def judgements() -> dict[str, list[str]]:
    """Return the verdict and its reason by rule and line, or by twin."""
    return tomllib.loads(JUDGED.read_text("utf-8"))


def rules_of(findings: list[Row] | None) -> str:
    return ", ".join(f"`{rule}`" for rule in dict.fromkeys(f.rule for f in findings or ())) or "none"


def half(title: str, pairs: list[Pair]) -> list[str]:
    """Return the table of one half."""
    done = [pair for pair in pairs if pair.bad is not None]
    lines = [f"### {title}", "", "| Faulty kernel | Rules that object | Launches alone |", "|---|---|---|"]
    lines += [f"| {pair.name} | {rules_of(pair.bad)} | {'yes' if pair.is_launched else 'no'} |" for pair in done]
    return [*lines, ""]


def summary(halves: dict[str, list[Pair]]) -> list[str]:
    lines = [
        "| | decidable | found at first look | | found | | by launches alone | |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    total, first = Counter[str](), Counter[str]()
    for title, pairs in halves.items():
        done = [pair for pair in pairs if pair.bad is not None]
        counts = {
            "of": len(done),
            "found": sum(bool(pair.found) for pair in done),
            "alone": sum(pair.is_launched for pair in done),
        }
        total.update(counts)
        look = LISTED.get("first_look" if title == "held out" else f"{title.removesuffix(' set')}_first_look")
        first.update({key: look[key] for key in ("found", "of")} if look else {})
        lines.append(_summary_row(title, counts, look))
    return [*lines, _summary_row("all", total, first), ""]


def _summary_row(title: str, counts: Mapping[str, int], look: Mapping[str, int] | None) -> str:
    def share(number: int, of: int) -> str:
        return f"{number} of {of} | {100 * number / max(1, of):.0f} %"

    seen = "| " if look is None else share(look["found"], look["of"])
    cells = [title, counts["of"], seen, share(counts["found"], counts["of"]), share(counts["alone"], counts["of"])]
    return f"| {' | '.join(map(str, cells))} |"


def twins(pairs: list[Pair]) -> list[str]:
    done = [pair for pair in pairs if pair.good is not None]
    noisy = [pair for pair in done if pair.good]
    lines = [
        checkout.fill(f"Of the {len(done)} corrected twins of the whole catalogue, {len(noisy)} have findings:"),
        "",
        "| Corrected kernel | Rules that object | Verdict | Why |",
        "|---|---|---|---|",
    ]
    judged = judgements()
    for pair in noisy:
        verdict, why = judged.get(f"twin {pair.name}", NOT_JUDGED)
        lines.append(f"| {pair.name} | {rules_of(pair.good)} | {verdict} | {why} |")
    return [*lines, ""]


def corpus_part(found: Corpus) -> list[str]:
    if not found.files:
        return ["The corpus was not there.", ""]
    judged = judgements()
    verdicts: Counter[str] = Counter()
    rows = []
    for (rule, where), count in sorted(found.lines.items()):
        verdict, why = judged.get(f"{rule} {where}", NOT_JUDGED)
        verdicts[verdict] += count
        rows.append(f"| `{rule}` | {where} | {count} | {verdict} | {why} |")
    total = sum(found.lines.values())
    counts = ", ".join(f"{n} {verdict}" for verdict, n in verdicts.most_common())
    false = 100 * verdicts["false"] / max(1, total)
    text = (
        f"{found.files:,} bytecode files of cuTile Python's tests and samples have {total} findings, in "
        f"{found.with_findings} files and at {len(found.lines)} lines of source. Each line was looked at: {counts}. "
        f"{false:.1f} % are false."
    )
    meaning = [f"| {verdict} | {what} |" for verdict, what in VERDICTS.items()]
    return [
        checkout.fill(text), "", "| Verdict | Meaning |", "|---|---|", *meaning, "",
        "| Rule | Line | Findings | Verdict | Why |", "|---|---|---|---|---|", *rows, "",
    ]  # fmt: skip


def page(
    halves: dict[str, list[Pair]],
    others: list[Pair],
    corpus: Corpus,
    random: Counter[str],
    errors: int,
    count: int,
) -> str:
    every = [pair for pairs in halves.values() for pair in pairs] + others
    skipped = sum(pair.bad is None for pair in every)
    fired = Counter(f.rule for pair in every for f in pair.bad or ())
    silent = [name for name in RULES if not fired[name] and not any(rule == name for rule, _ in corpus.lines)]
    undecidable = sum(bool(pair.found) for pair in others)
    rest = REST.format(count=len(others), found=undecidable)
    lines = [
        "# The linter",
        "",
        checkout.fill(INTRO.format(rules=len(RULES))),
        "",
        "## Faults of the catalogue",
        "",
        checkout.fill(DECIDABLE),
        "",
    ]
    lines += [*summary(halves), checkout.fill(FIRST.format(**LISTED["first_look"])), ""]
    for title, look in LOOKS.items():
        first = LISTED[f"{title}_first_look"]
        lines += [checkout.fill(look.format(**first, percent=100 * first["found"] / first["of"])), ""]
    for title, pairs in halves.items():
        lines += half(title, pairs)
    lines += [
        checkout.fill(rest),
        "",
        "## Good kernels",
        "",
        *twins(every),
        "## Real kernels",
        "",
        *corpus_part(corpus),
    ]
    shown = ", ".join(f"`{rule}` {n:,}" for rule, n in random.most_common())
    lines += [
        "## Random modules",
        "",
        checkout.fill(RANDOM.format(count=f"{count:,}", seed=SEED, errors=errors, shown=shown)),
        "",
    ]
    missing = [
        f"{skipped} pairs of cuTile or Triton, which are not installed." if skipped else "",
        "Kernels of other front ends, and hand-written kernels other than those of the sets.",
        f"Rules that objected to nothing in the catalogue or the corpus: {', '.join(f'`{name}`' for name in silent)}. "
        "Only their own examples show that they work.",
    ]
    lines += ["## Not measured", "", *(checkout.fill(f"* {line}") for line in missing if line)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--report", type=Path, help="also write the page to this file")
    parser.add_argument("--random", type=int, default=2000, metavar="N", help="random modules; default: 2000")
    parser.add_argument("--results", type=Path, metavar="FILE", help="keep results here, and go on with those there")
    parser.add_argument("--share", default="0/1", metavar="I/N", help="find only each N-th result; do not write a page")
    args = parser.parse_args()
    number, of = map(int, args.share.split("/"))
    results = Results(args.results, (number, of))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        halves = {
            title: [judge_pair(each, folder, results) for each in LISTED[key]]
            for title, key in (("open", "open"), ("held out", "held_out"))
        }
        for title, home in SETS.items():
            files = [path for path in home.rglob("*.*") if path.suffix in (".mlir", ".py")]
            names = sorted(str(path.relative_to(home)) for path in files)
            halves[f"{title} set"] = [judge_pair(each, folder, results, home) for each in names]
        halves["added later"] = [judge_pair(each, folder, results) for each in LISTED["later"]]
        others = [judge_pair(each, folder, results) for each in LISTED["undecidable"]]
    corpus = read_corpus(results)
    random, errors = random_modules(args.random, results)
    if of == 1:
        checkout.publish(page(halves, others, corpus, random, errors, args.random), args.report)


if __name__ == "__main__":
    main()
