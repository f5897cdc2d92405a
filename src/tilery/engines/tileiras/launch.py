"""`engine="tileiras"`: modules compiled by NVIDIA's tileiras and launched through the CUDA driver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...diag import TileError
from ...ops import Entry, Global, Module
from ...rewrite.hints import with_hints
from ...types import Ptr, Tile
from ..common.kernel import check_parameters, find_entry, refuse_options
from ..common.tiles import pointee_bytes
from ..cuda.contract import PARAMETER, LaunchContract, Passed
from ..cuda.driver import open_driver
from ..cuda.launch import Binary, CudaLoaded
from .compiler import architectures, assemble, disassemble, find_tool

HINTS = ("num_cta_in_cga", "occupancy", "allow_tma")
"""Options that become hints of the module, for the target that it is compiled for."""
OPTIONS = ("level", *HINTS)
EMITS = {"cubin": "machine code, as the driver loads it", "sass": "machine code as text; needs NVIDIA's nvdisasm"}
"""The forms that `tilery compile --emit` can write."""


def emit(module: Module, entry: str | None, kind: str, *, target: str = "", **options: Any) -> str | bytes:
    """Return machine code for an architecture, by default this machine's GPU; it has all entries of the module."""
    refuse_options("tileiras", options, ("target", *OPTIONS))
    compiler = compiler_for(options)
    image = compiler.compile(module, find_entry(module, entry), target or open_driver().target).image
    return image if kind == "cubin" else disassemble(image)


def targets() -> dict[str, str]:
    """Return the architectures that the installed tileiras compiles for."""
    return dict.fromkeys(architectures(find_tool()), "NVIDIA GPU")


def load(module: Module, **options: Any) -> CudaLoaded:
    """Load a module on the first GPU.

    `level` is the optimization level of tileiras, by default 3. `num_cta_in_cga`, `occupancy` and `allow_tma` replace
    the hints of that name in the module.
    """
    refuse_options("tileiras", options, OPTIONS)
    return CudaLoaded(module, compiler_for(options))


def compiler_for(options: Mapping[str, Any]) -> TileirasCompiler:
    """Return the compiler with these options, which are checked."""
    hints = tuple((name, options[name]) for name in HINTS if name in options)
    for name, value in hints:
        if (name == "allow_tma") != isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 32:
            kind = "true or false" if name == "allow_tma" else "a number from 1 to 32"
            raise TileError(f"{name} must be {kind}, got {value!r}")
    return TileirasCompiler(options.get("level", 3), hints)


@dataclass
class TileirasCompiler:
    """Compiles a module once for each target; the machine code has all its entries and globals."""

    engine = "tileiras"
    level: int = 3
    hints: tuple[tuple[str, int | bool], ...] = ()
    _images: dict[str, bytes] = field(default_factory=dict, repr=False)

    def compile(self, module: Module, entry: Entry, target: str) -> Binary:
        """Compile an entry for an architecture such as sm_90."""
        if target not in self._images:
            hinted = with_hints(module, target, dict(self.hints)) if self.hints else module
            self._images[target] = assemble(hinted, target, level=self.level)
        return Binary(self._images[target], launch_contract(entry))

    def initial(self, o: Global) -> None:
        """The machine code holds the globals."""


def launch_contract(entry: Entry) -> LaunchContract:
    """Return how to launch an entry: with its own parameters and one thread, of which the driver makes more."""
    arguments = []
    for index, param in enumerate(check_parameters(entry)):
        assert isinstance(param, Tile)
        size = 8 if isinstance(param.element, Ptr) else pointee_bytes(param.element)
        arguments.append(Passed(PARAMETER, index, size))
    return LaunchContract(entry.sym_name, tuple(arguments), 1)
