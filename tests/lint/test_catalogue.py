"""The pairs of the sanitizer's catalogue that are decidable, on the open half; the report has the other one."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from support.catalogue import FOLDER, read_cases
from tilery.lint import lint_input
from tilery.source.input import Input

NAMES = tomllib.loads((Path(__file__).parent / "catalogue.toml").read_text("utf-8"))
MISSED = {"uninit_alloca_bytes.mlir"}
"""A load of an element that was written in part: its lower bits may be all that is used."""
NOTES = ["unused-argument", "unused-value"]


def rules_of(text: str) -> list[str]:
    """Return the findings of rules in the text alone."""
    return [error.rule for error in lint_input(Input(text=text), ignore=NOTES, trial=False)]


@pytest.mark.parametrize("name", [name for name in NAMES["open"] if name.endswith(".mlir")])
def test_the_faulty_kernel_has_findings_and_its_twin_none(name: str) -> None:
    faulty, twin = read_cases(FOLDER / name)
    assert bool(rules_of(faulty.text)) == (name not in MISSED)
    assert rules_of(twin.text) == []


SECOND = Path(__file__).parent / "second"


@pytest.mark.parametrize("name", sorted(path.name for path in SECOND.glob("*.mlir")))
def test_the_second_set(name: str) -> None:
    faulty, twin = read_cases(SECOND / name)
    assert bool(rules_of(faulty.text)) == (name != "counter_by_load_and_store.mlir")
    assert rules_of(twin.text) == []


def test_the_list_names_files_of_the_catalogue_once() -> None:
    listed = [*NAMES["open"], *NAMES["held_out"], *NAMES["later"], *NAMES["undecidable"]]
    assert len(listed) == len(set(listed))
    assert all((FOLDER / name).exists() for name in listed)


COUNTERS = {
    "counter_as_divisor": "divide-by-zero",
    "counter_promised_to_be_small": "false-promise",
    "counter_shifts_too_far": "shift-too-far",
    "parts_in_a_loop": "index-out-of-range",
}


@pytest.mark.parametrize("name", COUNTERS)
def test_a_counter_takes_every_value_of_its_loop(name: str) -> None:
    faulty, twin = read_cases(Path(__file__).parent / "third" / f"{name}.mlir")
    assert rules_of(faulty.text) == [COUNTERS[name]]
    assert rules_of(twin.text) == []


@pytest.mark.parametrize("name", sorted(path.name for path in (Path(__file__).parent / "sixth").glob("*.mlir")))
def test_a_kernel_without_a_fault_has_no_finding_but_notes(name: str) -> None:
    _, twin = read_cases(Path(__file__).parent / "sixth" / name)
    assert [rule for rule in rules_of(twin.text) if rule != "constant-comparison"] == []
