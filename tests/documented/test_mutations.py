"""Mutations of the code behind claims: each can be made, and a sample of them is caught."""

from __future__ import annotations

import subprocess
import sys
import tomllib

import pytest

from support.oracle import ROOT
from tilery.documented.claims import load_claims

CLAIMS = ROOT / "docs" / "claims"
DATA = tomllib.loads((CLAIMS / "mutations.toml").read_text("utf-8"))
MUTATIONS = DATA["mutation"]
HOLDS = {c.id for document in load_claims(CLAIMS) for c in document.claims if c.status == "holds"}
REPORT = (ROOT / "docs" / "reports" / "claims.md").read_text("utf-8")


@pytest.mark.parametrize("mutation", MUTATIONS, ids=[f"{' '.join(m['claims'])} {m['breaks']}" for m in MUTATIONS])
def test_a_mutation_changes_one_place(mutation: dict[str, str]) -> None:
    assert set(mutation["claims"]) <= HOLDS and mutation["old"] != mutation["new"]
    assert (ROOT / mutation["file"]).read_text("utf-8").count(mutation["old"]) == 1


def test_every_claim_has_a_mutation_or_a_reason() -> None:
    mutated = {claim for m in MUTATIONS for claim in m["claims"]}
    explained = {claim for entry in DATA["none"] for claim in entry["claims"]}
    assert mutated | explained == HOLDS and not mutated & explained
    assert all(entry["reason"] for entry in DATA["none"])


def test_the_report_has_every_claim() -> None:
    rows = [line for line in REPORT.splitlines() if line.startswith("| ")]
    assert {claim for claim in HOLDS if any(row.startswith(f"| {claim} |") for row in rows)} == HOLDS
    assert all(any(m["breaks"] in row and row.endswith("| caught |") for row in rows) for m in MUTATIONS)
    assert "not caught" not in REPORT


def test_a_sample_is_caught() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "claims_mutation.py"), "--only", "F52", "--only", "O195"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "noticed 3 of 3 times" in done.stdout.replace("\n", " "), done.stdout
