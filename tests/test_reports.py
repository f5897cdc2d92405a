"""Pages that scripts and tables determine: reports match the numbers beside them, reduced kernels run."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import cpu_campaign
import ir
import run_page
import sanitizer
import tilery
import triton_gpu
import triton_report
from judging import page as judging_page
from parts import cutile_page, gpu_bugs
from programs import run as programs
from proving import page as proving_page
from proving import published
from reducing import planted
from test_imports import ROWS
from triton_suites import releases, suites


def test_pages_follow_from_the_numbers(root: Path) -> None:
    reports = root / "docs" / "reports"
    speed = json.loads((reports / "speed.json").read_text("utf-8"))
    assert (reports / "speed.md").read_text("utf-8").strip() == ir.report(speed).strip()
    assert (reports / "speed.svg").read_text("utf-8") == ir.drawing(speed)
    kernels = json.loads((reports / "run.json").read_text("utf-8"))
    assert (reports / "run.md").read_text("utf-8").strip() == run_page.page(kernels).strip()
    intel = json.loads((reports / "lab" / "run_intel.json").read_text("utf-8"))
    assert (reports / "lab" / "run_intel.md").read_text("utf-8").strip() == run_page.page(intel).strip()
    suite = json.loads((reports / "cutile.json").read_text("utf-8"))
    assert (reports / "cutile.md").read_text("utf-8") == cutile_page.page(suite)
    cpu = json.loads((reports / "lab" / "cpu.json").read_text("utf-8"))
    assert (reports / "lab" / "cpu.md").read_text("utf-8") == cpu_campaign.page(cpu)


def test_more_pages_follow_from_the_numbers(root: Path) -> None:
    reports = root / "docs" / "reports"
    for name, page in (
        ("lab/reducer", planted.page),
        ("lab/triton", triton_report.page),
        ("lab/judge", judging_page.page),
        ("sanitizer", sanitizer.page),
        ("prove", proving_page.page),
        ("lab/prove_published", published.page),
    ):
        numbers = json.loads((reports / f"{name}.json").read_text("utf-8"))
        assert (reports / f"{name}.md").read_text("utf-8").strip() == page(numbers).strip()


def test_pages_about_triton_programs_follow_from_the_numbers(root: Path) -> None:
    lab = root / "docs" / "reports" / "lab"
    numbers = json.loads((lab / "triton_gpu.json").read_text("utf-8"))
    assert (lab / "triton_gpu.md").read_text("utf-8") == triton_gpu.page(numbers)
    assert (lab / "triton_releases.md").read_text("utf-8") == releases.page(releases.saved())
    assert (lab / "triton_suites.md").read_text("utf-8") == suites.page()


def test_every_page_is_listed_with_its_script(root: Path) -> None:
    """It names the script too, and what it did not measure."""
    table = re.findall(r"^\| \[\w+\]\((.*?)\) \| (.*?) \|", (root / "CONTRIBUTING.md").read_text("utf-8"), re.MULTILINE)
    scripts = {root / page: re.findall(r"`(.*?)`", cell) for page, cell in table}
    assert sorted(scripts) == sorted([root / "docs" / "conformance.md", *(root / "docs" / "reports").rglob("*.md")])
    for page, names in scripts.items():
        text = page.read_text("utf-8")
        assert all((root / name).exists() for name in names)
        assert f"{names[0]}" in text and "wrote this page" in text, page
        assert re.search(r"^## (Not|What was not) measured$", text, re.MULTILINE), page


def test_the_page_of_programs_follows_from_the_numbers(root: Path) -> None:
    reports = root / "docs" / "reports" / "lab"
    found = json.loads((reports / "programs.json").read_text("utf-8"))
    assert (reports / "programs.md").read_text("utf-8") == programs.page(found)
    assert {program.key for program in programs.programs()} >= set(found)


@pytest.mark.parametrize("bug", gpu_bugs.BUGS, ids=lambda bug: bug.name)
def test_reduced_kernel(bug: gpu_bugs.Bug) -> None:
    """The reference engine runs the kernel to its end and leaves the value that its comment names."""
    out = np.zeros(1, np.int32)
    tilery.compile(bug.module()).launch(1, [out, 0], output=lambda _: None)
    assert out[0] == 1
    assert bug.contract().launches[0].entry == bug.module().entries[0].sym_name


def test_contributing_shows_the_order_of_imports(root: Path) -> None:
    table = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \| ", (root / "CONTRIBUTING.md").read_text("utf-8"), re.MULTILINE)
    shown = [re.findall(r"`(\w+)`", row) for row in table]
    exists = {path.stem for path in (root / "src" / "tilery").iterdir()}
    assert shown == [kept for row in ROWS if (kept := [name for name in row if name in exists])]


def test_only_listed_modules_are_attributed_to_a_bug() -> None:
    data = tilery.dumps(gpu_bugs.BUGS[0].module())
    assert gpu_bugs.known_bug(gpu_bugs.BUGS[0].name, data) is gpu_bugs.BUGS[0]
    assert gpu_bugs.known_bug(f"{gpu_bugs.BUGS[0].first_seed:06d}", data) is None
