"""Where NVRTC and the headers of CUDA Tile C++ are installed."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..diag import ErrorKind, TileError
from ..version import LATEST, READ_ONLY, Version

VARIABLE = "TILERY_CUDA"
"""The environment variable that names a CUDA Toolkit, or the folder that NVIDIA's wheels share."""
INSTALL = "install it with: pip install 'tilery[cpp]'"
SUPPORTED = (
    f"tilery reads bytecode up to {LATEST}, and of {READ_ONLY} what NVRTC {READ_ONLY} writes for ordinary kernels; "
    f"pip install 'nvidia-cuda-nvrtc<{READ_ONLY}' 'nvidia-cuda-crt<{READ_ONLY}' 'nvidia-cuda-runtime<{READ_ONLY}', "
    f"or let {VARIABLE} name a CUDA Toolkit {LATEST}"
)


class Toolkit(NamedTuple):
    """NVRTC and the folders of its headers."""

    library: Path
    headers: tuple[Path, ...]

    @property
    def release(self) -> Version | None:
        """The release of NVRTC, which is the bytecode that it writes; None if the files do not tell."""
        names = (path.name for path in self.library.parent.glob("libnvrtc-builtins.so.*"))
        found = filter(None, (re.fullmatch(r"libnvrtc-builtins\.so\.(\d+)\.(\d+)", name) for name in names))
        return max((Version(int(each[1]), int(each[2])) for each in found), default=None)


def find_toolkit() -> Toolkit:
    """Return the toolkit of TILERY_CUDA; without that variable, of a wheel, or else of CUDA_HOME or CUDA_PATH.

    One whose bytecode is too new for tilery is taken only if there is no other.
    """
    newer: list[Toolkit] = []
    for found in _toolkits():
        if (found.release or LATEST) <= READ_ONLY:
            return found
        newer.append(found)
    if newer:
        return newer[0]
    if given := os.environ.get(VARIABLE):
        raise TileError(f"{VARIABLE} names '{given}', which has no NVRTC 13.3 or newer with its headers")
    raise TileError(
        "NVIDIA's NVRTC 13.3 or newer, with the headers of CUDA Tile C++, is missing",
        kind=ErrorKind.MISSING_TOOL,
        notes=(INSTALL,),
    )


def _toolkits() -> Iterator[Toolkit]:
    for folder in _folders():
        for library in sorted(folder.glob("lib*/libnvrtc.so.1[3-9]"), reverse=True):
            for top in (folder / "include", folder / "targets" / "x86_64-linux" / "include"):
                if (top / "cuda_tile.h").is_file():
                    yield Toolkit(library, (top, top / "cccl"))
                    break


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
