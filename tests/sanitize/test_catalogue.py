"""Every faulty kernel of the catalogue is reported at the right operations, and its corrected twin not at all."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from support.catalogue import FOLDER, cutile_reports_of, names_of, read_cases, reports_of, shown
from support.oracle import ROOT
from tilery.sanitize import CHECKS

FILES = sorted(FOLDER.glob("*.mlir"))


CUTILE = sorted((FOLDER / "cutile").rglob("*.py"))
GUIDE = (ROOT / "docs" / "guides" / "sanitizer.md").read_text("utf-8")
QUOTED = dict(re.findall(r"`(\S+)`\n\n```text\n(.*?)\n```", GUIDE.partition("<!-- reports: begin -->")[2], re.DOTALL))
"""The reports that the guide quotes, by file."""


@pytest.mark.parametrize("path", [*FILES, *CUTILE], ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_faults_are_reported_where_they_are(path: Path, tmp_path: Path) -> None:
    faulty, twin = read_cases(path)
    checks = names_of(faulty)
    if path.suffix == ".py":
        pytest.importorskip("cuda.tile")
        if "import torch" in faulty.text:
            pytest.importorskip("torch")
        found = cutile_reports_of(faulty, checks, tmp_path / path.name)
        left = cutile_reports_of(twin, checks, tmp_path / "fixed.py")
    else:
        found, left = reports_of(faulty, checks), reports_of(twin, checks)
    assert {(line, r.check) for line, r, _ in found} == {(line, check) for line, check, _ in faulty.faults}
    for line, check, part in faulty.faults:
        messages = [r.message for at, r, _ in found if (at, r.check) == (line, check)]
        assert any(part in message for message in messages), messages
    for line, check in faulty.others:
        assert any(r.check == check and line in others for _, r, others in found)
    for line, part in faulty.causes:
        details = [text for at, r, _ in found if at == line for text in map(str, r.details)]
        assert any(part in text for text in details), details
    assert [(line, r.message) for line, r, _ in left] == []
    name = str(path.relative_to(FOLDER))
    assert shown(found[0][1]) == QUOTED.get(name, shown(found[0][1]))


def test_every_case_names_the_cause() -> None:
    """A part of the message, a note, or the other operation."""
    cases = {path.stem: read_cases(path)[0] for path in [*FILES, *CUTILE]}
    named = {name for name, case in cases.items() if case.causes or case.others or any(f[2] for f in case.faults)}
    assert cases.keys() - named == set()


def test_the_catalogue_has_every_check() -> None:
    """Several kernels for each check, and many in all."""
    files = [*FILES, *CUTILE]
    counts = Counter(check for path in files for _, check, _ in read_cases(path)[0].faults)
    assert {name for name in CHECKS if counts[name] < 3} == set()
    assert len(files) >= 160 and len(CUTILE) >= 30


def test_the_guide_quotes_reports_and_says_what_to_change() -> None:
    files = {str(path.relative_to(FOLDER)) for path in [*FILES, *CUTILE]}
    assert len(QUOTED) == 15 and QUOTED.keys() <= files
    assert GUIDE.count("\nChange: ") == 15 and "has not been read yet" not in GUIDE
