"""Each point of `trials.toml` is held by tests that exist."""

from __future__ import annotations

import ast
import tomllib

import pytest

from support.oracle import ROOT

TESTS = ROOT / "tests"
TRIALS = tomllib.loads((TESTS / "trials.toml").read_text("utf-8"))["trial"]


@pytest.mark.parametrize("trial", TRIALS, ids=lambda trial: str(trial["said"])[:40])
def test_a_point_is_held_by_tests(trial: dict[str, list[str]]) -> None:
    assert bool(trial["tests"]) != ("open" in trial)  # what is left open says why
    for name in trial["tests"]:
        file, _, function = name.partition("::")
        tree = ast.parse((TESTS / file).read_text("utf-8"))
        assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, name
