"""Where NVRTC and the headers of CUDA Tile C++ are installed."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..diag import ErrorKind, TileError

VARIABLE = "TILERY_CUDA"
"""The environment variable that names a CUDA Toolkit, or the folder that NVIDIA's wheels share."""
INSTALL = "install it with: pip install 'tilery[cpp]'"


class Toolkit(NamedTuple):
    """NVRTC and the folders of its headers."""

    library: Path
    headers: tuple[Path, ...]


def find_toolkit() -> Toolkit:
    """Return the toolkit of TILERY_CUDA; without that variable, of a wheel, or else of CUDA_HOME or CUDA_PATH."""
    for folder in _folders():
        for library in sorted(folder.glob("lib*/libnvrtc.so.1[3-9]"), reverse=True):
            tops = (folder / "include", folder / "targets" / "x86_64-linux" / "include")
            for top in tops:
                if (top / "cuda_tile.h").is_file():
                    return Toolkit(library, (top, top / "cccl"))
    if given := os.environ.get(VARIABLE):
        raise TileError(f"{VARIABLE} names '{given}', which has no NVRTC 13.3 or newer with its headers")
    raise TileError(
        "NVIDIA's NVRTC 13.3 or newer, with the headers of CUDA Tile C++, is missing",
        kind=ErrorKind.MISSING_TOOL,
        notes=(INSTALL,),
    )


def _folders() -> Iterator[Path]:
    if given := os.environ.get(VARIABLE):
        yield Path(given)
        return
    spec = importlib.util.find_spec("nvidia")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        yield from sorted(Path(folder).glob("cu[0-9]*"), reverse=True)
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if found := os.environ.get(variable):
            yield Path(found)
