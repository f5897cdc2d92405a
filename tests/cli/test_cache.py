"""`tilery cache`: what engines keep on disk is shown and removed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tilery.cli.main import main
from tilery.engines.cache import VARIABLE, DiskCache


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DiskCache:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    return DiskCache("cpu")


def test_entries_are_counted_and_removed(cache: DiskCache, capsys: pytest.CaptureFixture[str]) -> None:
    cache.put("a", bytes(100))
    cache.put("b", bytes(100))
    assert main(["cache"]) == 0
    assert "cpu: 2 entries, 280 bytes, in " in capsys.readouterr().out
    assert main(["cache", "--clear", "--json"]) == 0
    (found, *_) = json.loads(capsys.readouterr().out)["caches"]
    assert (found["engine"], found["entries"], found["bytes"], found["removed"]) == ("cpu", 0, 0, 2)


def test_an_unsafe_place_is_explained(
    cache: DiskCache, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.put("a", b"x")
    (tmp_path / "cache").chmod(0o777)
    assert main(["cache"]) == 0
    assert "not used: its mode is 0777, not 0700" in capsys.readouterr().out
    monkeypatch.setenv(VARIABLE, "")
    assert main(["cache"]) == 0
    assert "nothing is cached" in capsys.readouterr().out
