"""Mutations of the code behind claims: each can be made, and a sample of them is caught."""

from __future__ import annotations

import subprocess
import sys
import tomllib

import pytest

from support.oracle import ROOT
from tilery.documented.claims import load_claims

CLAIMS = ROOT / "docs" / "claims"
MUTATIONS = tomllib.loads((CLAIMS / "mutations.toml").read_text("utf-8"))["mutation"]
HOLDS = {c.id for document in load_claims(CLAIMS) for c in document.claims if c.status == "holds"}


@pytest.mark.parametrize("mutation", MUTATIONS, ids=[f"{m['claim']} {m['breaks']}" for m in MUTATIONS])
def test_a_mutation_changes_one_place(mutation: dict[str, str]) -> None:
    assert mutation["claim"] in HOLDS and mutation["old"] != mutation["new"]
    assert (ROOT / mutation["file"]).read_text("utf-8").count(mutation["old"]) == 1


def test_every_mutation_is_in_the_report() -> None:
    text = (ROOT / "docs" / "reports" / "claims.md").read_text("utf-8")
    assert all(f"| {m['claim']} |" in text and m["breaks"] in text for m in MUTATIONS)
    assert "not caught" not in text


def test_a_sample_is_caught() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "claims_mutation.py"), "--only", "F52", "--only", "O195"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "3 of 3 mutations made a test fail" in done.stdout.replace("\n", " "), done.stdout
