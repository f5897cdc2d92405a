"""Every faulty kernel of the catalogue is reported at the right operations, and its corrected twin not at all."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from support.catalogue import FOLDER, names_of, read_cases, reports_of
from tilery.sanitize import CHECKS

FILES = sorted(FOLDER.glob("*.mlir"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_faults_are_reported_where_they_are(path: Path) -> None:
    faulty, twin = read_cases(path)
    checks = names_of(faulty)
    found = reports_of(faulty, checks)
    assert {(line, r.check) for line, r, _ in found} == {(line, check) for line, check, _ in faulty.faults}
    for line, check, part in faulty.faults:
        assert any((at, r.check) == (line, check) and part in r.message for at, r, _ in found), [
            r.message for _, r, _ in found
        ]
    for line, check in faulty.others:
        assert any(r.check == check and line in others for _, r, others in found)
    assert [(line, r.message) for line, r, _ in reports_of(twin, checks)] == []


def test_the_catalogue_has_every_check() -> None:
    """Several kernels for each check, and many in all."""
    counts = Counter(
        check
        for path in FOLDER.rglob("*.*")
        if path.suffix in (".mlir", ".py")
        for _, check, _ in read_cases(path)[0].faults
    )
    assert {name for name in CHECKS if counts[name] < 3} == set()
