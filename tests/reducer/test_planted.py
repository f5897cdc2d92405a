"""Planted faults of each kind are reduced; the script reduces all sixty and writes the report."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import pytest

from reducing import faults, planted

SAMPLE = {"crash": (faults.crashes, 10), "wrong fold": (faults.wrong_folds, 5), "race": (faults.races, 0)}


@pytest.mark.parametrize("kind", SAMPLE)
def test_sample(kind: str) -> None:
    make, number = SAMPLE[kind]
    row = planted.reduce_fault(next(islice(make(), number, None)), 60)
    assert row["shows"] and row["complete"] and row["after"] <= 10 < row["before"]


def test_the_page_follows_from_the_numbers(root: Path) -> None:
    reports = root / "docs" / "reports" / "lab"
    rows = json.loads((reports / "reducer.json").read_text("utf-8"))
    assert (reports / "reducer.md").read_text("utf-8").strip() == planted.page(rows).strip()
