"""Break the code behind claims of the documents, and see that the tests that a claim names fail.

    python scripts/claims_mutation.py [--only F51 --only T98] [--output docs/reports/claims.md]

`docs/claims/mutations.toml` has the mutations: a claim, a file, a text in it, and what is written instead. Each is made
in a copy of the checkout, where the claim's tests run. The exit status is 1 if one of them does not notice.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

import checkout
from tilery.cli.progress import progress
from tilery.documented.claims import Claim, load_claims

CLAIMS = checkout.ROOT / "docs" / "claims"
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "*cache*", "build", "dist", "*.egg-info", "shared")
PASSED, FAILED = 0, 1
"""The statuses of pytest that are answers; others mean that it could not run."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """A change of one place in the code that makes a claim untrue."""

    claim: str
    breaks: str
    """What no longer happens."""
    file: str
    old: str
    new: str


def load_mutations() -> list[Mutation]:
    """Load all mutations, in the order of the file."""
    data = tomllib.loads((CLAIMS / "mutations.toml").read_text("utf-8"))
    return [Mutation(**entry) for entry in data["mutation"]]


def holding() -> dict[str, Claim]:
    """Return the claims that hold, by number."""
    return {c.id: c for document in load_claims(CLAIMS) for c in document.claims if c.status == "holds"}


def caught(mutation: Mutation, claim: Claim, copy: Path) -> bool:
    """Make a change in a copy of the checkout, run the claim's tests there, and undo it; return whether one failed."""
    path = copy / mutation.file
    text = path.read_text("utf-8")
    if text.count(mutation.old) != 1:
        raise SystemExit(f"{mutation.claim}: {mutation.file} has {text.count(mutation.old)} of {mutation.old!r}")
    path.write_text(text.replace(mutation.old, mutation.new), "utf-8")
    try:
        tests = [f"tests/{test}" for test in claim.tests]
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
        env = {**os.environ, "PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(command, cwd=copy, env=env, capture_output=True, text=True, timeout=600)
    finally:
        path.write_text(text, "utf-8")
    if done.returncode not in (PASSED, FAILED):
        raise SystemExit(f"{mutation.claim}: pytest could not run\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.returncode == FAILED


def page(results: list[tuple[Mutation, bool]], claims: dict[str, Claim]) -> str:
    """Return the report."""
    found = sum(noticed for _, noticed in results)
    tried = len({mutation.claim for mutation, _ in results})
    intro = (
        "`scripts/claims_mutation.py` wrote this page. It breaks the code behind a claim of "
        "[the documents](../appendix/documents.md) in one place, and runs the tests that the claim names. "
        f"{found} of {len(results)} mutations made a test fail. They belong to {tried} of the {len(claims)} claims "
        f"that hold; the other {len(claims) - tried} have no mutation yet, so this page says nothing about their tests."
    )
    rows = [
        f"| {m.claim} | {claims[m.claim].says} | {m.breaks} | `{m.file}` | {'caught' if ok else '**not caught**'} |"
        for m, ok in results
    ]
    head = ["| Claim | The document says | Mutation | In | |", "|---|---|---|---|---|"]
    return "\n".join(["# Claims and mutations", "", checkout.fill(intro), "", *head, *rows])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="CLAIM", help="only the mutations of this claim")
    parser.add_argument("--output", type=Path, help="write the report to this file")
    args = parser.parse_args()
    claims = holding()
    todo = [m for m in load_mutations() if not args.only or m.claim in args.only]
    if not todo:
        raise SystemExit(f"no mutation of {', '.join(args.only)}")
    with tempfile.TemporaryDirectory() as folder, progress(len(todo), "mutations") as step:
        copy = Path(folder) / "copy"
        shutil.copytree(checkout.ROOT, copy, ignore=LEFT_OUT)
        results = []
        for mutation in todo:
            results.append((mutation, caught(mutation, claims[mutation.claim], copy)))
            step()
    checkout.publish(page(results, claims), args.output)
    return int(not all(noticed for _, noticed in results))


if __name__ == "__main__":
    sys.exit(main())
