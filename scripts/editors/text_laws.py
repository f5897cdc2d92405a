"""Check the laws of the lossless reading on the corpus, random modules and broken texts, and write a report.

    python scripts/editors/text_laws.py [--modules 10000] [--broken 20000] [--planted 2000] [--seed 1]
                                        [--state FILE] [--report PAGE]

Each text depends on the seed and its number alone. With --state the counts are kept in a file, and a run that was
interrupted continues there. Without --report the page is printed. Without the corpus its rows are left out, and the
page says so.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import sys
import time
from collections.abc import Callable, Iterable
from itertools import zip_longest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path += [str(ROOT / "src"), str(ROOT / "tests")]

from support.broken import mutate_text  # noqa: E402  # found only now
from support.oracle import CORPUS  # noqa: E402
from text import laws  # noqa: E402
from tilery.api import load  # noqa: E402
from tilery.cli.progress import progress  # noqa: E402
from tilery.ops import Module  # noqa: E402
from tilery.smith import smith  # noqa: E402

Row = tuple[str, str, int, int]
SIZES = {"modules": 10_000, "broken": 20_000, "planted": 2_000}


class State:
    """The counts of each part so far, kept in a file if there is one, and the seconds of all runs together."""

    def __init__(self, path: Path | None, sizes: dict[str, int]) -> None:
        self.path, self.sizes = path, sizes
        self.start = time.perf_counter()
        self.parts: dict[str, list[int]] = {}
        self.earlier = 0.0
        if path is not None and path.exists():
            kept = json.loads(path.read_text("utf-8"))
            if kept["sizes"] != sizes:
                raise SystemExit(f"{path} is of a run with other sizes: {kept['sizes']}")
            self.parts, self.earlier = kept["parts"], kept["seconds"]

    @property
    def seconds(self) -> float:
        return self.earlier + time.perf_counter() - self.start

    def keep(self) -> None:
        """Write the counts, and collect the garbage since the last time."""
        gc.collect()
        if self.path is not None:
            kept = {"sizes": self.sizes, "parts": self.parts, "seconds": self.seconds}
            new = self.path.with_suffix(".new")
            new.write_text(json.dumps(kept), "utf-8")
            new.replace(self.path)

    def run(self, name: str, total: int, case: Callable[[int], Iterable[int]], enough: int = sys.maxsize) -> list[int]:
        """Add up the counts of all cases, from 0 to `total`, or until the second count is enough.

        The first count is the number of cases.
        """
        counts = self.parts.setdefault(name, [0])
        with progress(min(total, enough), name) as step:
            while counts[0] < total and counts[1:2] < [enough]:
                counts[:] = map(sum, zip_longest(counts, (1, *case(counts[0])), fillvalue=0))
                step()
                if counts[0] % 200 == 0:
                    self.keep()
        self.keep()
        return counts


def random_module(seed: int, number: int) -> tuple[Module, random.Random]:
    """A random module, and a source of randomness of its own."""
    return smith(seed * 1_000_003 + number), random.Random(f"{seed} {number}")


def failures(name: str, text: str, *checks: Callable[[str], str]) -> list[int]:
    """Whether each check finds a problem in a text; these are printed."""
    found = [problem_of(check, text) for check in checks]
    for check, problem in zip(checks, found):
        if problem:
            print(f"{name}: {check.__name__}: {problem[:300]}", file=sys.stderr)
    return [bool(problem) for problem in found]


def problem_of(check: Callable[[str], str], text: str) -> str:
    try:
        return check(text)
    except Exception as error:  # a law that raises is broken
        return f"{type(error).__name__}: {error}"


def law_rows(args: argparse.Namespace, state: State, files: list[Path]) -> list[Row]:
    def untidy(name: str, module: Module, rng: random.Random) -> list[int]:
        text = laws.untidy(laws.printed(module, rng), rng)
        return failures(name, text, laws.lossless_problem, laws.format_problem)

    def corpus(number: int) -> list[int]:
        path = files[number]
        return untidy(path.name, load(path, verify=False), random.Random(path.name))

    def made(number: int) -> list[int]:
        return untidy(f"random {number}", *random_module(args.seed, number))

    def broken(number: int) -> list[int]:
        module, rng = random_module(args.seed + 1, number)
        return failures(f"broken {number}", mutate_text(laws.printed(module, rng), rng), laws.broken_problem)

    rows: list[Row] = []
    for name, case, total in (("corpus", corpus, len(files)), ("random", made, args.modules)):
        if total:
            count, lossless, layout = state.run(name, total, case)
            rows += [(name, "read without loss", count, lossless), (name, "format", count, layout)]
    count, lost = state.run("broken", args.broken, broken)
    return [*rows, ("broken", "recover", count, lost)]


def planted_counts(args: argparse.Namespace, state: State, files: list[Path]) -> list[int]:
    """The number of texts, and the sums of `laws.planted`."""

    def case(number: int) -> Iterable[int]:
        rng = random.Random(f"{args.seed} planted {number}")
        real = files and number % 2
        module = load(rng.choice(files), verify=False) if real else smith(args.seed * 7_000_003 + number)
        result = laws.planted(module, rng)
        return () if result is None else (1, *result)

    return state.run("planted", sys.maxsize, case, args.planted)[1:]


def page(rows: list[Row], planted: list[int], args: argparse.Namespace, seconds: float) -> str:
    texts, wanted, exact, near, others = planted
    where = "" if CORPUS.is_dir() else " The corpus was not there, so only random modules were read."
    sizes = " ".join(f"--{name} {getattr(args, name)}" for name in (*SIZES, "seed"))
    table = "\n".join(f"| {name} | {law} | {count:,} | {bad:,} |" for name, law, count, bad in rows)
    return f"""# Reading text without loss

`python scripts/editors/text_laws.py {sizes}`
wrote this page. Its runs took {seconds / 60:.0f} minutes, on a machine that did other things too.{where}

## Laws

The texts are modules in one of the three styles, with or without locations, to which comments, blank lines and line
breaks were added. Broken texts have one to three random changes.

* **Read without loss**: tokens and the gaps between them are the text, byte for byte; a legal text has no errors and
  yields the parser's module; an illegal one has an error.
* **Format**: formatting again changes nothing; the module and all comments are the same.
* **Recover**: a broken text is read to its end without an exception, its partial module can be printed, every error is
  inside the text, and a text that the parser refuses has an error.

| texts | law | number | failures |
| --- | --- | --- | --- |
{table}

## Errors found at once

{texts:,} texts got two to five faults each: misspelled words, missing and stray characters, names that nothing defines,
wrong types, missing statements, missing braces and braces too many. Fixing the faults in the order in which the parser
and the verifier name them finds {wanted:,} errors.

| found in one reading | number | of {wanted:,} |
| --- | --- | --- |
| in the same line, with the same message | {exact:,} | {exact / wanted:.1%} |
| in the same line, or in that of the fault | {near:,} | {near / wanted:.1%} |

{others:,} further errors were reported in other lines, for instance at uses of a value whose statement is missing.

## Not measured

Texts that people broke while typing: the faults are random. Texts of more than {laws.LONG:,} characters got no faults.
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, size in SIZES.items():
        parser.add_argument(f"--{name}", type=int, default=size)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--state", type=Path)
    parser.add_argument("--report", type=Path)
    args = parser.parse_args()
    gc.disable()  # modules live as long as their case: `State.keep` collects
    state = State(args.state, {name: getattr(args, name) for name in (*SIZES, "seed")})
    files = sorted(CORPUS.glob("*.tileirbc"))
    planted = planted_counts(args, state, files)
    rows = law_rows(args, state, files)
    text = page(rows, planted, args, state.seconds)
    if args.report:
        args.report.write_text(text, encoding="utf-8")
    else:
        print(text)
    return int(any(bad for *_, bad in rows))


if __name__ == "__main__":
    raise SystemExit(main())
