"""The fuzzer: a short campaign, past findings, and that failures are found, reduced and kept."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import fuzz
from support import fuzzing, oracle
from support.hostile import recipes

FOUND = sorted((Path(__file__).parent / "corpus" / "fuzz").glob("*"))
COUNTS = {"bytes": 1000, "texts": 400, "smith": 40, "amplification": 8, "growth": 30, "copies": 60}


def test_past_findings_are_fixed() -> None:
    for path in FOUND:
        raw = path.read_bytes()
        given = raw.decode("utf-8", "surrogatepass") if path.suffix == ".mlir" else bytes.fromhex(raw.decode())
        for seed in range(8):
            fuzzing.exercise(given, random.Random(seed))


@pytest.mark.parametrize("kind", COUNTS)
def test_short_campaign(kind: str) -> None:
    for number in range(COUNTS[kind] * (20 if oracle.FULL else 1)):
        fuzzing.exercise(*fuzzing.input_of(kind, oracle.SEED, number))


def test_inputs_depend_on_seed_and_number_alone() -> None:
    assert fuzzing.input_of("bytes", 3, 14)[0] == fuzzing.input_of("bytes", 3, 14)[0]
    assert fuzzing.input_of("texts", 3, 14)[0] != fuzzing.input_of("texts", 3, 15)[0]


def test_failures_are_found_reduced_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def exercise(given: bytes, rng: random.Random) -> fuzzing.Trace:
        if b"\xff" in given:
            raise ZeroDivisionError
        return fuzzing.Trace(rng)

    monkeypatch.setattr(fuzzing, "exercise", exercise)
    result = fuzz.run_batch("bytes", 1, 0, 300)
    assert result.inputs == 300 and result.findings
    (finding,) = fuzz.keep_all(result.findings, tmp_path)
    assert finding.what == "ZeroDivisionError"
    assert (tmp_path / finding.file).read_text() == "ff\n"


def test_an_endless_input_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz, "SECONDS", 0.05)
    signal.signal(signal.SIGVTALRM, fuzz._alarm)

    def exercise(given: object, rng: random.Random) -> fuzzing.Trace:
        while True:
            pass

    monkeypatch.setattr(fuzzing, "exercise", exercise)
    assert isinstance(fuzz.run_one(b"", random.Random())[1], fuzz.TooSlow)


def test_recipes_find_what_they_look_for(monkeypatch: pytest.MonkeyPatch) -> None:
    signal.signal(signal.SIGVTALRM, fuzz._alarm)
    monkeypatch.setattr(recipes, "FACTOR", 0)
    monkeypatch.setattr(recipes, "BASE", 1 << 14)
    monkeypatch.setattr(recipes, "RATIO", 1.2)
    for kind, what in (("amplification", "bytes take"), ("growth", "times the steps for twice the size")):
        findings = fuzz.run_batch(kind, 0, 0, 8).findings
        assert findings and all(what in finding.what for finding in findings), findings


def test_campaign_reports(root: Path, tmp_path: Path) -> None:
    options = ["--count", "10", "--jobs", "1", "--kind", "bytes", "--keep", str(tmp_path / "found")]
    options += ["--report", str(tmp_path / "report.md"), "--json", str(tmp_path / "numbers.json")]
    command = [sys.executable, str(root / "scripts" / "fuzz.py"), *options]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "| bytes | 10 |" in ran.stdout
    assert (tmp_path / "report.md").read_text("utf-8").strip() == ran.stdout.strip()
    assert not (tmp_path / "found").exists()
