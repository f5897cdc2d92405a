"""`engine="tileiras"`: modules compiled by NVIDIA's tileiras and launched through the CUDA driver."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...ops import Entry, Global, Module
from ...types import Ptr, Tile
from ..arrays import element_bytes
from ..cuda.contract import PARAMETER, Argument, LaunchContract
from ..cuda.driver import open_driver
from ..cuda.launch import Binary, Loaded
from ..kernel import check_parameters, find_entry, refuse_options
from .compiler import architectures, assemble, disassemble, find_tool

OPTIONS = ("level",)
EMITS = {"cubin": "machine code, as the driver loads it", "sass": "machine code as text; needs NVIDIA's nvdisasm"}
"""What `tilery compile --emit` can write."""


def emit(
    module: Module, entry: str | None, kind: str, *, target: str = "", level: int = 3, **options: Any
) -> str | bytes:
    """Return machine code for an architecture, by default this machine's GPU; it has all entries of the module."""
    refuse_options("tileiras", options, ("target", "level"))
    find_entry(module, entry)
    image = assemble(module, target or open_driver().target, level=level)
    return image if kind == "cubin" else disassemble(image)


def targets() -> dict[str, str]:
    """Return the architectures that the installed tileiras compiles for."""
    return dict.fromkeys(architectures(find_tool()), "NVIDIA GPU")


def load(module: Module, **options: Any) -> Loaded:
    """Load a module on the first GPU. The option `level` is the optimization level of tileiras, by default 3."""
    refuse_options("tileiras", options, OPTIONS)
    return Loaded(module, TileirasCompiler(options.get("level", 3)))


@dataclass
class TileirasCompiler:
    """Compiles a module once for each target; the machine code has all its entries and globals."""

    level: int = 3
    _images: dict[str, bytes] = field(default_factory=dict, repr=False)

    def compile(self, module: Module, entry: Entry, target: str) -> Binary:
        """Compile an entry for an architecture such as sm_90."""
        if target not in self._images:
            self._images[target] = assemble(module, target, level=self.level)
        return Binary(self._images[target], launch_contract(entry))

    def initial(self, o: Global) -> None:
        """The machine code holds the globals."""


def launch_contract(entry: Entry) -> LaunchContract:
    """Return how to launch an entry: with its own parameters and one thread, of which the driver makes more."""
    arguments = []
    for index, param in enumerate(check_parameters(entry)):
        assert isinstance(param, Tile)
        size = 8 if isinstance(param.element, Ptr) else element_bytes(param.element)
        arguments.append(Argument(PARAMETER, index, size))
    return LaunchContract(entry.sym_name, tuple(arguments), 1)
