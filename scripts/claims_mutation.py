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
import json
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import checkout
from parts.mutations import LostError, file_of, mutate
from parts.test_workers import Batch, Job, Workers, make_copies
from tilery.cli.progress import progress
from tilery.documented.claims import Claim, load_claims

CLAIMS = checkout.ROOT / "docs" / "claims"
MUTATIONS = checkout.ROOT / "scripts" / "claims_mutations.toml"


@dataclass(frozen=True, slots=True)
class Mutation:
    """A change of one place in the code that makes claims untrue."""

    claims: tuple[str, ...]
    breaks: str
    """The behaviour that the change removes."""
    at: str
    change: str
    to: str = ""

    @property
    def key(self) -> str:
        return f"{' '.join(self.claims)}: {self.at}: {self.change} -> {self.to}"


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


def batch_of(tests: Iterable[str]) -> Batch:
    """Return tests by file, as pytest names them."""
    batch: Batch = {}
    for test in tests:
        batch.setdefault(f"tests/{test.partition('::')[0]}", []).append(f"tests/{test}")
    return batch


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


Verdict = tuple[Mutation, set[str]]
"""A mutation, and the claims whose tests noticed it."""


def run_new(todo: list[Mutation], claims: dict[str, Claim], args: argparse.Namespace) -> list[Verdict]:
    """Make the mutations that a file of results does not call noticed, and add them to it."""
    known: dict[str, list[str]] = {}
    if args.results is not None and args.results.exists():
        known = json.loads(args.results.read_text("utf-8"))
    rest = [m for m in todo if set(known.get(m.key, ())) != set(m.claims)]
    known |= {m.key: sorted(noticed) for m, noticed in (run_all(rest, claims, max(args.jobs, 1)) if rest else ())}
    if args.results is not None:
        args.results.write_text(json.dumps(known, indent=1) + "\n", "utf-8")
    return [(m, set(known[m.key])) for m in todo]


def run_all(todo: list[Mutation], claims: dict[str, Claim], jobs: int) -> list[Verdict]:
    """Make all mutations, several at a time, each in a copy of its own."""
    tests = [list(dict.fromkeys(test for claim in m.claims for test in claims[claim].tests)) for m in todo]
    caught: list[set[str]] = [set() for _ in todo]
    with tempfile.TemporaryDirectory() as folder, progress(len(todo), "mutations") as step:
        files = {file_of(m.at, checkout.ROOT) for m in todo}
        workers = Workers(make_copies(checkout.ROOT, Path(folder), jobs, files), checkout.ROOT)
        every = batch_of(dict.fromkeys(test for part in tests for test in part))
        unchanged = (Job(file, None, [{file: names}], stop=False) for file, names in every.items())
        broken = {name for _, answer in workers.run(unchanged, float("inf")) for name in answer.failures}
        if broken:
            sys.stderr.write(f"without a mutation, these fail: {', '.join(sorted(broken))}\n")
        jobs_of = (
            Job(str(number), change_of(m), [batch_of(tests[number])], stop=len(m.claims) == 1 and not broken)
            for number, m in enumerate(todo)
        )
        for job, answer in workers.run(jobs_of, float("inf")):
            number = int(job.name)
            failed = [name.removeprefix("tests/") for name in answer.failures if name not in broken]
            if answer.failed and not answer.failures:  # nothing could be imported, or a test did not end
                failed = tests[number]
            caught[number] = {c for c in todo[number].claims if any(_names(test, failed) for test in claims[c].tests)}
            step()
    return list(zip(todo, caught))


def change_of(mutation: Mutation) -> tuple[str, str]:
    """Return the file that a mutation changes, and its new text."""
    path = file_of(mutation.at, checkout.ROOT)
    text = mutate(path.read_text("utf-8"), mutation.at, mutation.change, mutation.to)
    return path.relative_to(checkout.ROOT).as_posix(), text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="CLAIM", help="only the mutations of this claim")
    parser.add_argument("--check", action="store_true", help="only say whether every mutation can be made")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="mutations at a time; default: 1")
    parser.add_argument("--output", type=Path, help="write the report to this file")
    parser.add_argument("--results", type=Path, help="a file of results: what was noticed is not tried again")
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
    results = run_new(todo, claims, args)
    checkout.publish(page(results, claims, {} if args.only else without), args.output)
    return int(any(set(m.claims) - noticed for m, noticed in results))


if __name__ == "__main__":
    sys.exit(main())
