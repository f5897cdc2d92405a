"""Check the laws of the lossless reading on the corpus, random modules and broken texts, and write a report.

    python scripts/editors/text_laws.py [--modules 10000] [--broken 20000] [--planted 2000] [--seed 1] [--seconds N]
                                        [--report PAGE]

With --seconds each part ends after that time, and the page has the numbers that were reached. Without --report the page
is printed. Without the corpus its rows are left out, and the page says so.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterator
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


def modules(count: int, seed: int) -> Iterator[tuple[Module, random.Random]]:
    """Random modules, and for each a source of randomness of its own."""
    for number in range(count):
        yield smith(seed * 1_000_003 + number), random.Random(f"{seed} {number}")


def corpus() -> Iterator[tuple[Module, random.Random]]:
    for path in sorted(CORPUS.glob("*.tileirbc")) if CORPUS.is_dir() else ():
        yield load(path, verify=False), random.Random(path.name)


def broken_of(module: Module, rng: random.Random) -> str:
    return mutate_text(laws.printed(module, rng), rng)


def untidy_of(module: Module, rng: random.Random) -> str:
    return laws.untidy(laws.printed(module, rng), rng)


def failures(
    cases: Iterator[tuple[Module, random.Random]],
    total: int,
    name: str,
    make: Callable[[Module, random.Random], str],
    *checks: Callable[[str], str],
    seconds: float,
) -> list[int]:
    """Count the texts, and those for which each check finds a problem; print the first of these."""
    counts = [0] * (len(checks) + 1)
    stop = time.perf_counter() + seconds
    with progress(total, name) as step:
        for module, rng in cases:
            text = make(module, rng)
            counts[0] += 1
            for index, check in enumerate(checks, 1):
                if problem := problem_of(check, text):
                    counts[index] += 1
                    if counts[index] <= 3:
                        print(f"{name}: {check.__name__}: {problem[:300]}", file=sys.stderr)
            step()
            if time.perf_counter() > stop:
                break
    return counts


def problem_of(check: Callable[[str], str], text: str) -> str:
    try:
        return check(text)
    except Exception as error:  # a law that raises is broken
        return f"{type(error).__name__}: {error}"


def law_rows(args: argparse.Namespace) -> list[Row]:
    rows: list[Row] = []
    both = (laws.lossless_problem, laws.format_problem)
    real = sum(1 for _ in CORPUS.glob("*.tileirbc")) if CORPUS.is_dir() else 0
    for name, cases, total in (("corpus", corpus(), real), ("random", modules(args.modules, args.seed), args.modules)):
        if total:
            count, lossless, layout = failures(cases, total, name, untidy_of, *both, seconds=args.seconds)
            rows += [(name, "read without loss", count, lossless), (name, "format", count, layout)]
    cases = modules(args.broken, args.seed + 1)
    count, lost = failures(cases, args.broken, "broken", broken_of, laws.broken_problem, seconds=args.seconds)
    return [*rows, ("broken", "recover", count, lost)]


def planted_counts(args: argparse.Namespace) -> list[int]:
    """The number of texts, and the sums of `laws.planted`."""
    real = [module for module, _ in corpus()]
    counts = [0] * 5
    rng = random.Random(args.seed)
    number, stop = 0, time.perf_counter() + args.seconds
    with progress(args.planted, "planted") as step:
        while counts[0] < args.planted and time.perf_counter() < stop:
            number += 1
            module = rng.choice(real) if real and number % 2 else smith(args.seed * 7_000_003 + number)
            result = laws.planted(module, random.Random(f"{args.seed} planted {number}"))
            if result is not None:
                counts = [a + b for a, b in zip(counts, (1, *result))]
                step()
    return counts


def page(rows: list[Row], planted: list[int], args: argparse.Namespace, seconds: float) -> str:
    texts, wanted, exact, near, others = planted
    where = "" if CORPUS.is_dir() else " The corpus was not there, so only random modules were read."
    sizes = " ".join(f"--{name} {getattr(args, name)}" for name in (*SIZES, "seed"))
    if args.seconds < float("inf"):
        where += f" Each part ended after {args.seconds:.0f} seconds, so that some numbers are smaller."
    table = "\n".join(f"| {name} | {law} | {count:,} | {bad:,} |" for name, law, count, bad in rows)
    return f"""# Reading text without loss

`python scripts/editors/text_laws.py {sizes}`
wrote this page in {seconds / 60:.0f} minutes.{where}

## Laws

The texts are modules in one of the three styles, with or without locations, to which comments, blank lines and line
breaks were added. Broken texts have one to three random changes.

* **Read without loss**: tokens and the gaps between them are the text, byte for byte; a legal text has no errors and
  gives the module that the parser gives; an illegal one has an error.
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
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--report", type=Path)
    args = parser.parse_args()
    start = time.perf_counter()
    planted = planted_counts(args)
    rows = law_rows(args)
    text = page(rows, planted, args, time.perf_counter() - start)
    if args.report:
        args.report.write_text(text, encoding="utf-8")
    else:
        print(text)
    return int(any(bad for *_, bad in rows))


if __name__ == "__main__":
    raise SystemExit(main())
