"""Break the code behind claims of the documents, and see that the tests that a claim names fail.

    python scripts/claims_mutation.py [--only F51 --only T98] [--jobs 4] [--output docs/reports/lab/claims.md]
    python scripts/claims_mutation.py --check

`scripts/claims_mutations.toml` has the mutations: claims, a function, a piece of it, and what replaces the piece (see
`scripts/parts/mutations.py`). Each is made in a copy of the checkout, where the claims' tests run. The exit status is 1
if a claim's tests do not notice, if the code no longer has the piece, or if a claim has neither a mutation nor a
reason. `--check` runs no tests.
"""

from __future__ import annotations

import argparse
import ast
import os
import py_compile
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

import checkout
from parts.mutations import LostError, file_of, mutate
from tilery.cli.progress import progress
from tilery.documented.claims import Claim, load_claims

CLAIMS = checkout.ROOT / "docs" / "claims"
MUTATIONS = checkout.ROOT / "scripts" / "claims_mutations.toml"
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "*cache*", "build", "dist", "*.egg-info", "shared")
PASSED, FAILED = 0, 1
"""The statuses of pytest that are answers; others mean that it could not run."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """A change of one place in the code that makes claims untrue."""

    claims: tuple[str, ...]
    breaks: str
    """What no longer happens."""
    at: str
    change: str
    to: str = ""


def load_mutations() -> tuple[list[Mutation], dict[str, str]]:
    """Load all mutations, in the order of the file, and the reasons why claims have none."""
    data = tomllib.loads(MUTATIONS.read_text("utf-8"))
    mutations = [Mutation(**{**entry, "claims": tuple(entry["claims"])}) for entry in data["mutation"]]
    return mutations, {claim: entry["reason"] for entry in data.get("none", ()) for claim in entry["claims"]}


def tested() -> dict[str, Claim]:
    """Return the claims that tests show, by number: those that hold, and those that differ from the tools."""
    return {c.id: c for document in load_claims(CLAIMS) for c in document.claims if c.status != "unobservable"}


def unexplained(mutations: list[Mutation], without: dict[str, str], claims: dict[str, Claim]) -> list[str]:
    """List the claims that hold and have neither a mutation nor a reason, those with both, and those without tests."""
    mutated = {claim for m in mutations for claim in m.claims}
    holding = [claim for claim, c in claims.items() if c.status == "holds"]
    out = [f"{claim}: neither a mutation nor a reason" for claim in holding if claim not in mutated | set(without)]
    out += [f"{claim}: a mutation, and a reason why it has none" for claim in sorted(mutated & set(without))]
    return out + [f"{claim}: no claim that is tested" for claim in sorted((mutated | set(without)) - set(claims))]


def lost(mutations: list[Mutation]) -> list[str]:
    """List the mutations that cannot be made, because the code has changed."""
    out = []
    for m in mutations:
        try:
            mutate(file_of(m.at, checkout.ROOT).read_text("utf-8"), m.at, m.change, m.to)
        except (LostError, OSError) as error:
            out.append(f"{', '.join(m.claims)}: {error}")
    return out


def make_copy(target: Path, mutations: list[Mutation]) -> None:
    """Copy the checkout, with compiled files that are valid exactly for the text they were compiled from.

    Files to be mutated are written from their syntax tree, as mutated ones are: a mutation is then the only difference.
    """
    shutil.copytree(checkout.ROOT, target, ignore=LEFT_OUT)
    for path in {file_of(m.at, target) for m in mutations}:
        path.write_text(ast.unparse(ast.parse(path.read_text("utf-8"))) + "\n", "utf-8")
    for path in [*(target / "src").rglob("*.py"), *(target / "tests").rglob("*.py")]:
        py_compile.compile(str(path), invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)


@contextmanager
def changed(mutation: Mutation, copy: Path) -> Iterator[None]:
    """Make a change in a copy of the checkout, and undo it."""
    path = file_of(mutation.at, copy)
    text = path.read_text("utf-8")
    path.write_text(mutate(text, mutation.at, mutation.change, mutation.to), "utf-8")
    try:
        yield
    finally:
        path.write_text(text, "utf-8")


def failing(tests: list[str], copy: Path, *options: str) -> list[str]:
    """Return the tests that fail in a copy of the checkout."""
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-rfE", "--assert=plain", "-p", "no:cacheprovider"]
    # Plugins are not needed, and loading them takes longer than most tests.
    settings = {"PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [*command, *options, *(f"tests/{test}" for test in tests)],
        cwd=copy, env={**os.environ, **settings}, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    if done.returncode not in (PASSED, FAILED):
        raise SystemExit(f"pytest could not run\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return re.findall(r"^(?:FAILED|ERROR) tests/(\S+?\.py::\w+(?:\[.*?\](?= - |$))?)", done.stdout, re.M)


def caught(mutation: Mutation, claims: dict[str, Claim], copy: Path) -> set[str]:
    """Return the claims of a mutation whose tests failed when it was made."""
    tests = list(dict.fromkeys(test for claim in mutation.claims for test in claims[claim].tests))
    with changed(mutation, copy):
        failed = failing(tests, copy, *["-x"] * (len(mutation.claims) == 1))
    return {claim for claim in mutation.claims if any(_names(test, failed) for test in claims[claim].tests)}


def _names(test: str, failed: list[str]) -> bool:
    """Whether a test that a claim names, with or without a case, is among those that failed."""
    return any(name == test or name.startswith(f"{test}[") for name in failed)


def page(results: list[tuple[Mutation, set[str]]], claims: dict[str, Claim], without: dict[str, str]) -> str:
    """Return the report."""
    rows: dict[str, list[str]] = {}
    for m, noticed in results:
        for claim in m.claims:
            verdict = "caught" if claim in noticed else "**not caught**"
            row = f"| {claim} | {claims[claim].says} | {m.breaks} | `{m.at}` | {verdict} |"
            rows.setdefault(claim, []).append(row)
    missed = sum(len(set(m.claims) - noticed) for m, noticed in results)
    tried = sum(len(m.claims) for m, _ in results)
    intro = (
        "`scripts/claims_mutation.py` wrote this page. It breaks the code behind a claim of "
        "[the documents](../../appendix/documents.md) in one place, and runs the tests that the claim names. "
        f"{sum(c.status == 'holds' for c in claims.values())} claims hold. {len(rows)} claims have a mutation, among "
        f"them some that differ from the tools; {len(set(without) & set(claims))} have none, for the reasons below. "
        f"A test of the claim noticed {tried - missed} of {tried} times."
    )
    head = ["| Claim | The document says | Mutation | In | |", "|---|---|---|---|---|"]
    made = [row for claim in claims for row in rows.get(claim, ())]
    out = ["# Claims and mutations", "", checkout.fill(intro), "", *head, *made]
    if without:
        out += ["", "## Without a mutation", "", "| Claim | The document says | Why |", "|---|---|---|"]
        out += [f"| {c} | {claims[c].says} | {without[c]} |" for c in claims if c in without]
    limits = (
        "A claim is broken in one or two ways; its tests may miss others. Claims without a mutation were not tested."
    )
    return "\n".join([*out, "", "## Not measured", "", limits])


def run_all(todo: list[Mutation], claims: dict[str, Claim], jobs: int) -> list[tuple[Mutation, set[str]]]:
    """Make all mutations, several at a time, each in a copy of its own."""
    with tempfile.TemporaryDirectory() as folder, progress(len(todo), "mutations") as step:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(min(jobs, len(todo))):
            make_copy(Path(folder) / str(number), todo)
            copies.put(Path(folder) / str(number))
        tests = dict.fromkeys(test for m in todo for claim in m.claims for test in claims[claim].tests)
        if failed := failing(list(tests), Path(folder) / "0"):
            raise SystemExit(f"without a mutation, these fail: {', '.join(failed)}")

        def try_one(mutation: Mutation) -> tuple[Mutation, set[str]]:
            copy = copies.get()
            try:
                return mutation, caught(mutation, claims, copy)
            finally:
                copies.put(copy)
                step()

        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(try_one, todo))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="CLAIM", help="only the mutations of this claim")
    parser.add_argument("--check", action="store_true", help="only say whether every mutation can be made")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="mutations at a time; default: 1")
    parser.add_argument("--output", type=Path, help="write the report to this file")
    args = parser.parse_args()
    claims = tested()
    mutations, without = load_mutations()
    todo = [m for m in mutations if not args.only or set(args.only) & set(m.claims)]
    if not todo:
        raise SystemExit(f"no mutation of {', '.join(args.only)}")
    if found := [*([] if args.only else unexplained(mutations, without, claims)), *lost(todo)]:
        sys.stderr.write("\n".join(found) + "\n")
    if found or args.check:
        return int(bool(found))
    results = run_all(todo, claims, max(args.jobs, 1))
    checkout.publish(page(results, claims, {} if args.only else without), args.output)
    return int(any(set(m.claims) - noticed for m, noticed in results))


if __name__ == "__main__":
    sys.exit(main())
