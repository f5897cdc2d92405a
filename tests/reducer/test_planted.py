"""Planted faults of each kind are reduced; the script reduces all sixty and writes the report."""

from __future__ import annotations

from itertools import islice

import pytest

from reducing import faults, planted

SAMPLE = {"crash": (faults.crashes, 10), "wrong fold": (faults.wrong_folds, 5), "race": (faults.races, 0)}


@pytest.mark.parametrize("kind", SAMPLE)
def test_sample(kind: str) -> None:
    make, number = SAMPLE[kind]
    row = planted.reduce_fault(next(islice(make(), number, None)), 60)
    assert row["shows"] and row["complete"] and row["after"] <= 10 < row["before"]
