"""Bytecode of other people's writers: the files in the folder that TILERY_BYTECODE names."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bytecode.other_writers import REFUSED, SAME, verdict

FOLDER = os.environ.get("TILERY_BYTECODE")
FILES = sorted(Path(FOLDER).glob("*.tileirbc")) if FOLDER else []


@pytest.mark.oracle
def test_files_of_other_writers() -> None:
    if FOLDER is None:
        pytest.skip("TILERY_BYTECODE names no folder of .tileirbc files")
    assert FILES, f"{FOLDER} has no .tileirbc files"
    found = {path.name: verdict(path.read_bytes()) for path in FILES}
    assert {name: said for name, said in found.items() if said not in (SAME, REFUSED)} == {}
    assert SAME in found.values()


@pytest.mark.oracle
def test_a_verdict_names_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    import tilery

    legal = tilery.dumps(tilery.parse("cuda_tile.module @m { entry @k() { return } }"))
    assert verdict(legal) == SAME and verdict(legal[:-1]) == REFUSED
    monkeypatch.setattr(tilery, "show", lambda *values, **options: "")
    assert verdict(legal) == "the texts differ"
