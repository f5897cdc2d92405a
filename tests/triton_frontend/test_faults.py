"""Every faulty Triton kernel is reported at the right line, and its corrected twin not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.catalogue import names_of, read_cases, triton_reports_of

FILES = sorted((Path(__file__).parent / "faults").glob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_faults_are_reported_where_they_are(path: Path, tmp_path: Path) -> None:
    language = pytest.importorskip("triton.language", reason="Triton is not installed")
    pytest.importorskip("torch", reason="torch is not installed")
    if "make_tensor_descriptor" in path.read_text("utf-8") and not hasattr(language, "make_tensor_descriptor"):
        pytest.skip("this Triton has no descriptors")
    faulty, twin = read_cases(path)
    checks = names_of(faulty)
    found = triton_reports_of(faulty, checks, tmp_path / "faulty.py")
    left = triton_reports_of(twin, checks, tmp_path / "fixed.py")
    assert {(line, r.check) for line, r, _ in found} == {(line, check) for line, check, _ in faulty.faults}
    for line, check, part in faulty.faults:
        messages = [r.message for at, r, _ in found if (at, r.check) == (line, check)]
        assert any(part in message for message in messages), messages
    assert [(line, r.message) for line, r, _ in left] == []


def test_the_catalogue_is_complete() -> None:
    assert len(FILES) == 40
