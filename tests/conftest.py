"""Markers and fixtures shared by all tests."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from support import oracle

WITH_DOCTESTS = {"support/contract.py"}
MARKERS = {
    "corpus": "needs the corpus of real files in ../shared/conformance",
    "oracle": "needs NVIDIA's tileirdisasm (pip install 'tilery[nvidia]')",
    "nvrtc": "needs NVIDIA's NVRTC with CUDA Tile C++ (pip install 'tilery[cpp]')",
}


def pytest_configure(config: pytest.Config) -> None:
    for name, reason in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {reason}")


def pytest_collection_finish() -> None:
    """Keep what was imported out of garbage collection, which would walk through all of it again and again."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    gc.unfreeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    present = {
        "corpus": oracle.CORPUS.is_dir(),
        "oracle": oracle.find_tileirdisasm() is not None,
        "nvrtc": oracle.has_nvrtc(),
    }
    for name, reason in MARKERS.items():
        if item.get_closest_marker(name) and not present[name]:
            pytest.skip(reason)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out modules that tests use: they may import packages that are missing here, and have no doctests."""
    here = Path(__file__).parent
    if collection_path.suffix != ".py" or not collection_path.is_relative_to(here):
        return None
    is_used = not collection_path.name.startswith("test_")
    return True if is_used and collection_path.relative_to(here).as_posix() not in WITH_DOCTESTS else None


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return oracle.ROOT


@pytest.fixture(scope="session")
def corpus() -> list[Path]:
    """A seeded sample of real files (all of them with TILERY_FULL=1)."""
    return oracle.corpus_files()
