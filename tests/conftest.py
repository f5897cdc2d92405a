"""Markers and fixtures shared by all tests."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from support import oracle

# Modules of kernels, not of tests.
collect_ignore = ["triton_frontend/kernels.py"]
if not importlib.util.find_spec("cuda"):
    collect_ignore.append("support/cutile_kernels.py")
MARKERS = {
    "corpus": "needs the corpus of real files in ../shared/conformance",
    "oracle": "needs NVIDIA's tileirdisasm (pip install 'tilery[nvidia]')",
    "nvrtc": "needs NVIDIA's NVRTC with CUDA Tile C++ (pip install 'tilery[cpp]')",
}


def pytest_configure(config: pytest.Config) -> None:
    for name, reason in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {reason}")


def pytest_runtest_setup(item: pytest.Item) -> None:
    present = {
        "corpus": oracle.CORPUS.is_dir(),
        "oracle": oracle.find_tileirdisasm() is not None,
        "nvrtc": oracle.has_nvrtc(),
    }
    for name, reason in MARKERS.items():
        if item.get_closest_marker(name) and not present[name]:
            pytest.skip(reason)


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return oracle.ROOT


@pytest.fixture(scope="session")
def corpus() -> list[Path]:
    """A seeded sample of real files (all of them with TILERY_FULL=1)."""
    return oracle.corpus_files()
