"""Random programs whose tile blocks go different ways print what a tiny interpreter says, in batches of any size."""

from __future__ import annotations

import itertools

import pytest

from support.execution import Draw, Run, printed
from support.oracle import FULL

ROWS = [[c, d, n, 7 - n] for n in range(5) for c, d in itertools.product((0, 1), repeat=2)]
PROGRAMS = 300 if FULL else 60


@pytest.mark.parametrize("start", range(0, PROGRAMS, 20))
def test_random_programs_print_what_the_interpreter_does(start: int) -> None:
    compared = 0
    for seed in range(start, start + 20):
        module = Draw(seed).module(size=50)
        runs = [Run(row) for row in ROWS]
        expected = "".join(run.entry(module) for run in runs)
        if all(run.fuel >= 0 for run in runs):
            compared += 1
            for batch in (1, 3, 7, None):
                assert printed(module, ROWS, steps=100_000, batch=batch) == expected, f"seed {seed}, batch {batch}"
    assert compared > 10
