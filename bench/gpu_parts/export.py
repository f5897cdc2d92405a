"""Export the kernels of `gpu_rows.toml` to bytecode, from checkouts, with cuTile and without a GPU."""

from __future__ import annotations

import sys
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import tilery
from tilery.ir import walk
from tilery.ops import MmaF

ROWS = Path(__file__).parents[1] / "gpu_rows.toml"
FAST = "fast:"
"""Before a place: products of 8-bit floats are told to add up fast."""


def read_rows() -> tuple[dict[str, list[str]], list[dict[str, Any]]]:
    """Return the kernels and the rows."""
    facts = tomllib.loads(ROWS.read_text("utf-8"))
    return facts["kernels"], facts["rows"]


def export(kernels: dict[str, list[str]], cutile: Path, tilegym: Path, folder: Path, gpu: str) -> list[str]:
    """Write one file of bytecode per kernel; return those that failed, with the reason."""
    from tilery.cutile import on
    from tilery.cutile.modules import bytecode

    folder.mkdir(parents=True, exist_ok=True)
    failed = []
    with on("none"):
        for name, (place, signature) in kernels.items():
            try:
                found = _find(place.removeprefix(FAST), cutile, tilegym)
                made = bytecode(found, signature, gpu=gpu)
                (folder / f"{name}.tileirbc").write_bytes(_with_fast_sums(made) if place.startswith(FAST) else made)
            except Exception as error:  # of the checkout or of cuTile, which raise what they like
                failed.append(f"{name}: {type(error).__name__}: {error}")
    return failed


def _with_fast_sums(bytecode: bytes) -> bytes:
    """Set `fast_acc` in all products of a module."""
    module = tilery.load(bytecode)
    for entry in module.entries:
        for o in walk(entry.body):
            if isinstance(o, MmaF):
                o.fast_acc = True
    return tilery.dumps(module)


def _find(place: str, cutile: Path, tilegym: Path) -> Any:
    """Return the kernel at a place such as `cutile:samples/MatMul.py::matmul_kernel`."""
    from tilery.cutile.modules import find_kernel

    source, _, rest = place.partition(":")
    if source == "cutile":
        return find_kernel(str(cutile / rest))
    if source == "own":
        return find_kernel(f"{Path(__file__).with_name('own.py')}::{rest}")
    module, _, name = rest.partition("::")
    path = str((tilegym / "src").resolve())
    if path not in sys.path:
        sys.path.insert(0, path)
    return getattr(import_module(module), name)
