"""Kernels by their place, `FILE.py::name`."""

from __future__ import annotations

import ast
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

from ..diag import TileError
from .frames import compile_error, import_error

PACKAGES = {"triton": "triton", "cuda.tile": "cutile"}
"""The languages of kernels by the package that defines them."""


def find(place: str, kinds: Any) -> Any:
    """Import the file of `FILE.py::name`, with its directory on the path, and return that kernel.

    `kinds` are the classes of kernels. The name may be left out where the file has only one kernel.
    """
    from unittest.mock import patch

    file, _, name = place.partition("::")
    path = existing(file)
    loader = SourceFileLoader(path.stem, str(path.absolute()))  # the file may have any extension
    spec = spec_from_loader(path.stem, loader)
    assert spec is not None, "a loader has a spec"
    loaded = module_from_spec(spec)
    sys.modules[path.stem] = loaded
    with (  # as for a script
        patch.object(sys, "path", [str(path.parent.resolve()), *sys.path]),
        patch.object(sys, "argv", [file]),
    ):
        try:
            loader.exec_module(loaded)
        except Exception as error:
            if isinstance(error, TileError) or isinstance(error.__cause__, TileError):
                raise
            raise compile_error(error) or import_error(error) from None
    kernels = {key: value for key, value in vars(loaded).items() if isinstance(value, kinds)}
    if not name and len(kernels) == 1:
        return next(iter(kernels.values()))
    if name not in kernels:
        have = ", ".join(kernels) or "none"
        raise TileError(f"'{file}' has no kernel '{name}'", notes=(f"its kernels: {have}",))
    return kernels[name]


def existing(file: str) -> Path:
    path = Path(file)
    if not path.is_file():
        raise TileError(f"there is no file '{file}'", notes=("write a kernel as FILE.py::kernel",))
    return path


def language_of(place: str) -> str:
    """Return the language of the kernels in a file, `FILE.py` or `FILE.py::kernel`; see `language_of_source`."""
    return language_of_source(existing(place.partition("::")[0]).read_bytes())


def language_of_source(text: str | bytes) -> str:
    """Return the language of the kernels in a Python source, by what it imports: "triton", or "cutile" if in doubt.

    >>> language_of_source("import triton.language as tl")
    'triton'
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "cutile"
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for package, language in PACKAGES.items():
            if any(name == package or name.startswith(f"{package}.") for name in names):
                return language
    return "cutile"
