"""Break the code behind claims of the documents, and see that the tests that a claim names fail.

    python scripts/claims_mutation.py [--only F51 --only T98] [--jobs 4] [--output docs/reports/claims.md]

`docs/claims/mutations.toml` has the mutations: claims, a file, a text in it, and what is written instead. Each is made
in a copy of the checkout, where the claims' tests run. The exit status is 1 if a claim's tests do not notice.
"""

from __future__ import annotations

import argparse
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
from tilery.cli.progress import progress
from tilery.documented.claims import Claim, load_claims

CLAIMS = checkout.ROOT / "docs" / "claims"
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "*cache*", "build", "dist", "*.egg-info", "shared")
PASSED, FAILED = 0, 1
"""The statuses of pytest that are answers; others mean that it could not run."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """A change of one place in the code that makes claims untrue."""

    claims: tuple[str, ...]
    breaks: str
    """What no longer happens."""
    file: str
    old: str
    new: str


def load_mutations() -> tuple[list[Mutation], dict[str, str]]:
    """Load all mutations, in the order of the file, and the reasons why claims have none."""
    data = tomllib.loads((CLAIMS / "mutations.toml").read_text("utf-8"))
    mutations = [Mutation(**{**entry, "claims": tuple(entry["claims"])}) for entry in data["mutation"]]
    return mutations, {claim: entry["reason"] for entry in data.get("none", ()) for claim in entry["claims"]}


def holding() -> dict[str, Claim]:
    """Return the claims that hold, by number."""
    return {c.id: c for document in load_claims(CLAIMS) for c in document.claims if c.status == "holds"}


def make_copy(target: Path) -> None:
    """Copy the checkout, with compiled files that are valid exactly for the text they were compiled from."""
    shutil.copytree(checkout.ROOT, target, ignore=LEFT_OUT)
    for path in [*(target / "src").rglob("*.py"), *(target / "tests").rglob("*.py")]:
        py_compile.compile(str(path), invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)


@contextmanager
def changed(mutation: Mutation, copy: Path) -> Iterator[None]:
    """Make a change in a copy of the checkout, and undo it."""
    path = copy / mutation.file
    text = path.read_text("utf-8")
    if text.count(mutation.old) != 1:
        raise SystemExit(f"{mutation.claims}: {mutation.file} has {text.count(mutation.old)} of {mutation.old!r}")
    path.write_text(text.replace(mutation.old, mutation.new), "utf-8")
    try:
        yield
    finally:
        path.write_text(text, "utf-8")


def caught(mutation: Mutation, claims: dict[str, Claim], copy: Path) -> set[str]:
    """Return the claims of a mutation whose tests failed when it was made."""
    tests = dict.fromkeys(test for claim in mutation.claims for test in claims[claim].tests)
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-rfE", "--assert=plain", "-p", "no:cacheprovider"]
    command += ["-x"] * (len(mutation.claims) == 1)
    # Plugins are not needed, and loading them takes longer than most tests.
    settings = {"PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    with changed(mutation, copy):
        done = subprocess.run(
            [*command, *(f"tests/{test}" for test in tests)],
            cwd=copy, env={**os.environ, **settings}, capture_output=True, text=True, timeout=600,
        )  # fmt: skip
    if done.returncode not in (PASSED, FAILED):
        shown = f"{done.stdout[-2000:]}{done.stderr[-2000:]}"
        raise SystemExit(f"{mutation.claims}, {mutation.breaks}: pytest could not run\n{shown}")
    failed = re.findall(r"^(?:FAILED|ERROR) tests/(\S+?\.py::\w+(?:\[.*?\](?= - |$))?)", done.stdout, re.M)
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
            row = f"| {claim} | {claims[claim].says} | {m.breaks} | `{m.file}` | {verdict} |"
            rows.setdefault(claim, []).append(row)
    missed = sum(len(set(m.claims) - noticed) for m, noticed in results)
    tried = sum(len(m.claims) for m, _ in results)
    intro = (
        "`scripts/claims_mutation.py` wrote this page. It breaks the code behind a claim of "
        "[the documents](../appendix/documents.md) in one place, and runs the tests that the claim names. "
        f"{len(claims)} claims hold. {len(rows)} of them have a mutation, {len(set(without) & set(claims))} have none, "
        f"for the reasons below. A test of the claim noticed {tried - missed} of {tried} times."
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
            make_copy(Path(folder) / str(number))
            copies.put(Path(folder) / str(number))

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
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="mutations at a time; default: 1")
    parser.add_argument("--output", type=Path, help="write the report to this file")
    args = parser.parse_args()
    claims = holding()
    mutations, without = load_mutations()
    todo = [m for m in mutations if not args.only or set(args.only) & set(m.claims)]
    if not todo:
        raise SystemExit(f"no mutation of {', '.join(args.only)}")
    results = run_all(todo, claims, max(args.jobs, 1))
    checkout.publish(page(results, claims, {} if args.only else without), args.output)
    return int(any(set(m.claims) - noticed for m, noticed in results))


if __name__ == "__main__":
    sys.exit(main())
