"""Every claim of the documents has a status, every test that is named exists, and the page is fresh."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from support.oracle import ROOT
from tilery.documented.claims import PAGE, STATUSES, Claim, load_claims, main, page, problems

CLAIMS = ROOT / "docs" / "claims"
DOCUMENTS = load_claims(CLAIMS)
EVERY = [claim for document in DOCUMENTS for claim in document.claims]


def missing(test: str) -> str:
    """Return the part of a test's name that does not exist: file, function or case; empty if all exist."""
    file, _, name = test.partition("::")
    if not (ROOT / "tests" / file).is_file():
        return file
    function, _, case = name.partition("[")
    found = getattr(importlib.import_module(file.removesuffix(".py").replace("/", ".")), function, None)
    if not callable(found) or not function.startswith("test_"):
        return function
    named = [mark.kwargs.get("ids") for mark in getattr(found, "pytestmark", ())]
    cases = [case for ids in named if isinstance(ids, list) for case in ids]
    return case if case and case.removesuffix("]") not in cases else ""


def test_every_claim_has_a_status() -> None:
    assert [problem for claim in EVERY for problem in problems(claim)] == []


def test_tests_that_are_named_exist() -> None:
    assert [f"{claim.id}: {test}" for claim in EVERY for test in claim.tests if missing(test)] == []


def test_numbers_are_unique_and_in_order() -> None:
    for document in DOCUMENTS:
        letter = document.claims[0].id[0]
        assert [claim.id for claim in document.claims] == [f"{letter}{n + 1}" for n in range(len(document.claims))]


def test_no_claim_is_made_twice() -> None:
    for document in DOCUMENTS:
        said = [(claim.section, claim.says) for claim in document.claims]
        assert len(set(said)) == len(said)


def test_the_page_is_fresh() -> None:
    assert (ROOT / "docs" / PAGE).read_text("utf-8") == page(CLAIMS), "run `make docs`"


def test_a_claim_without_a_status_is_found() -> None:
    assert problems(Claim("X1", "", "", "")) == ["X1 has no status", "X1 has no answer"]
    assert problems(Claim("X1", "", "", "holds")) == ["X1 holds without a test"]
    assert problems(Claim("X1", "", "", "differs")) == ["X1 has no answer"]
    assert set(STATUSES) == {"holds", "differs", "unobservable"}


def test_a_test_that_is_gone_is_found() -> None:
    assert missing("test_nowhere.py::test_x") == "test_nowhere.py"
    assert missing("documented/test_documents.py::test_nothing") == "test_nothing"
    assert missing("test_cases.py::test_case[opt/nothing]") == "opt/nothing]"
    assert missing("test_cases.py::test_case[opt/if_inverted]") == ""


def test_the_module_rewrites_and_checks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "claims").symlink_to(CLAIMS)
    assert main([str(tmp_path), "--check"]) == 1
    assert "stale: " in capsys.readouterr().err
    assert main([str(tmp_path)]) == 0
    assert main([str(tmp_path), "--check"]) == 0
