"""Comparing commits: the process that is counted, and the table."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import tilery
from counting.against import CASES, ROWS, STEP, STEPS, rows_of
from counting.instructions import available, count_copies
from modules import chain, expressions, loops
from tilery.bytecode.writer import write
from tilery.passes import HOMES, parse_pipeline, run_pipeline

SOURCE = str(Path(tilery.__file__).parents[1])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "chain.tileirbc"
    made.write_bytes(write(chain(40, 5)))
    return made


def test_steps_are_timed_in_a_process_of_their_own(file: Path) -> None:
    command = [sys.executable, str(STEP), "time", f"{file}:parse", f"{file}:canonicalize"]
    done = subprocess.run(command, env={"PYTHONPATH": SOURCE}, check=True, capture_output=True, text=True)
    assert all(0 < found < 60 for found in json.loads(done.stdout)) and len(json.loads(done.stdout)) == 2


@pytest.mark.skipif(not available(), reason="valgrind is not installed")
def test_copies_of_a_process_are_counted() -> None:
    """The copy that does more executes more; counting again gives the same."""
    text = """if True:
        import os
        for n in (1, 2):
            if not (pid := os.fork()):
                sum(range(n * 10**5)), os._exit(0)
            os.waitpid(pid, 0), print(pid)
    """
    work = []
    for _ in range(2):
        printed, counts = count_copies([sys.executable, "-S", "-c", text], {})
        once, twice = (counts[int(pid)] for pid in printed.split())
        work.append(twice - once)
    assert work[0] > 10**5 and abs(work[0] - work[1]) < work[0] / 100


def test_every_row_has_a_module_and_a_step() -> None:
    assert {case for _, case in ROWS} <= set(CASES)
    assert {step for step, _ in ROWS} <= {*STEPS, *HOMES}


def test_the_modules_are_legal_and_their_passes_fire() -> None:
    for module, name in ((expressions(160), "simplify"), (loops(80), "loop-split"), (chain(40, 5), "canonicalize")):
        assert tilery.verify(module) == []
        assert run_pipeline(module, parse_pipeline(name)).changed


def test_ratios_are_of_now_to_before() -> None:
    rows = [
        {"step": "cse", "case": "mixed", "instructions": [3_000_000, 4_000_000], "seconds": []},
        {"step": "dce", "case": "mixed", "instructions": [0, 0], "seconds": [0.5, 0.25]},  # there was no valgrind
    ]
    assert rows_of({"rows": rows}) == [["`cse`", "mixed", "3.0", "0.750", ""], ["`dce`", "mixed", "", "", "2.00"]]
