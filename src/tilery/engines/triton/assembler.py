"""Find the ptxas that assembles Triton's code for NVIDIA GPUs."""

from __future__ import annotations

import importlib.util
import os
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ...diag import ErrorKind, TileError
from ...ir import Value, walk
from ...ops import Entry, LoadPtrTko, LoadViewTko, MmaF, MmaFScaled, MmaI, Permute, Reshape
from ..tileiras.compiler import find_tool, tool_version
from .targets import Target

OLDEST = (12, 9)
"""ptxas 12.8 miscompiles products of sm_90 whose left operand is in registers: the results are wrong, or the kernel
accesses other memory. 12.9, 13.0 and 13.4 compile the same kernels correctly, see `scripts/gpu_views.py`."""
HOPPER = 90
VARIABLE = "TRITON_PTXAS_PATH"
"""The variable with which users choose the assembler, and with which Triton is told."""


@dataclass(frozen=True, slots=True)
class Assembler:
    """A ptxas and its release."""

    path: str
    release: str

    @property
    def is_reliable(self) -> bool:
        """Whether products are assembled correctly."""
        numbers = [int(part) for part in self.release.split(".") if part.isdigit()]
        return tuple(numbers[:2]) >= OLDEST


@cache
def find_assembler() -> Assembler:
    """Return the assembler that the user names, or else the first reliable one: Triton's, or one of the CUDA tools."""
    given = os.environ.get(VARIABLE)
    if given:
        return Assembler(given, tool_version(Path(given)))
    found = [Assembler(str(path), tool_version(path)) for path in _candidates()]
    return next((a for a in found if a.is_reliable), found[0] if found else Assembler("", "unknown"))


def _candidates() -> list[Path]:
    """The assemblers in Triton's package, which brings a second one for newer GPUs, and the installed one."""
    spec = importlib.util.find_spec("triton")
    folders = [Path(folder) for folder in (spec.submodule_search_locations or ())] if spec else []
    names = ("ptxas", "ptxas-blackwell")
    found = [folder / "backends" / "nvidia" / "bin" / name for folder in folders for name in names]
    with suppress(TileError):
        found.append(find_tool("ptxas"))
    return [path for path in found if os.access(path, os.X_OK)]


def check_assembler(assembler: Assembler, entry: Entry, target: Target) -> None:
    """Refuse a kernel that an unreliable assembler may miscompile."""
    if target.capability != HOPPER or assembler.is_reliable:
        return
    if any(isinstance(o, (MmaF, MmaI, MmaFScaled)) and not _is_loaded(o.lhs) for o in walk(entry.body)):
        raise TileError(
            f"@{entry.sym_name} multiplies a matrix that it computed, and ptxas {assembler.release} miscompiles that",
            kind=ErrorKind.UNSUPPORTED,
            notes=(f"{'.'.join(map(str, OLDEST))} and newer do not: pip install 'tilery[nvidia]', or set {VARIABLE}",),
        )


def _is_loaded(value: Value) -> bool:
    """Whether an operand is as memory has it."""
    while isinstance(value.owner, (Permute, Reshape)):
        value = value.owner.source
    return isinstance(value.owner, (LoadViewTko, LoadPtrTko))
