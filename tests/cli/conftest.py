"""Files that the tests of several verbs use."""

from __future__ import annotations

from pathlib import Path

import pytest

import tilery
from make_kernel import vector_add


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    """A file of bytecode 13.1."""
    path = tmp_path / "kernel.tileirbc"
    path.write_bytes(tilery.dumps(vector_add(), "13.1"))
    return path


@pytest.fixture
def broken(kernel: Path) -> Path:
    """The same, cut off in the middle."""
    path = kernel.with_name("broken.tileirbc")
    path.write_bytes(kernel.read_bytes()[:-40])
    return path
