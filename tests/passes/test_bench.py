"""Comparing commits: the process that is counted, and the table."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import tilery
from counting.against import CASES, ROWS, STEP, STEPS, rows_of
from counting.instructions import available, count_instructions
from modules import chain, expressions, loops
from tilery.bytecode.writer import write
from tilery.passes import HOMES, parse_pipeline, run_pipeline

SOURCE = str(Path(tilery.__file__).parents[1])


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    file = tmp_path / "chain.tileirbc"
    file.write_bytes(write(chain(40, 5)))
    return [sys.executable, str(STEP), str(file)]


@pytest.mark.parametrize("step", ["parse", "canonicalize"])
def test_a_step_runs_in_a_process_of_its_own(command: list[str], step: str) -> None:
    done = subprocess.run([*command, step, "2"], env={"PYTHONPATH": SOURCE}, check=True, capture_output=True, text=True)
    assert 0 < float(done.stdout) < 60


@pytest.mark.skipif(not available(), reason="valgrind is not installed")
def test_instructions_are_the_same_when_counted_again(command: list[str]) -> None:
    once, again = (count_instructions([sys.executable, "-S", "-c", "pass"], {}) for _ in range(2))
    assert abs(once - again) < once / 100


def test_every_row_has_a_module_and_a_step() -> None:
    assert {case for _, case in ROWS} <= set(CASES)
    assert {step for step, _ in ROWS} <= {*STEPS, *HOMES}


def test_the_modules_are_legal_and_their_passes_fire() -> None:
    for module, name in ((expressions(160), "simplify"), (loops(80), "loop-split"), (chain(40, 5), "canonicalize")):
        assert tilery.verify(module) == []
        assert run_pipeline(module, parse_pipeline(name)).changed


def test_ratios_are_of_now_to_before() -> None:
    rows = [
        {"step": "cse", "case": "mixed", "instructions": [3_000_000, 4_000_000], "seconds": [0.5, 0.25]},
        {"step": "dce", "case": "mixed", "instructions": [0, 0], "seconds": [0.5, 0.25]},  # there was no valgrind
    ]
    assert rows_of({"rounds": 3, "rows": rows}) == [
        ["`cse`", "mixed", "3.0", "0.750", "2.00"],
        ["`dce`", "mixed", "", "", "2.00"],
    ]
    assert rows_of({"rounds": 0, "rows": rows[:1]}) == [["`cse`", "mixed", "3.0", "0.750", ""]]
