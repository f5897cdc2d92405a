"""The engines by name. `tilery.compile`, `tilery.cutile.on` and the command line all look here.

To add an engine, write a module that implements `common.kernel.Engine` and add its row to `ENGINES`. It is imported
when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ..diag import ErrorKind, TileError

if TYPE_CHECKING:
    from ..ops import Module
    from .common.kernel import Engine, Kernel

DEFAULT = "reference"
AUTO = "auto"
"""Used as an engine name: the first of `AUTOMATIC` that is installed."""
AUTOMATIC = ("cpu", DEFAULT)


class EngineRow(NamedTuple):
    """An engine: its name, the module that implements it, what it is for, the pip extra and package it needs."""

    name: str
    module: str
    summary: str
    extra: str = ""
    package: str = ""

    @property
    def installed(self) -> bool:
        """Whether the package that it needs can be imported."""
        from importlib.util import find_spec

        try:
            return not self.package or find_spec(self.package) is not None
        except (ImportError, ValueError):  # an import hook refuses, or None is in its place
            return False

    def missing(self, package: str) -> TileError:
        """Return the error that says what to install."""
        note = f"install it with: pip install 'tilery[{self.extra}]'"
        return TileError(
            f"engine '{self.name}' needs the package '{package}'", kind=ErrorKind.MISSING_TOOL, notes=(note,)
        )


ENGINES = {
    row.name: row
    for row in (
        EngineRow("reference", "tilery.engines.reference.launch", "exact results on the CPU, by NumPy"),
        EngineRow("tileiras", "tilery.engines.tileiras.launch", "NVIDIA GPUs, compiled by NVIDIA's tileiras", "nvidia"),
        EngineRow("triton", "tilery.engines.triton.launch", "NVIDIA GPUs, compiled by Triton", "gpu", "triton"),
        EngineRow("gpu", "tilery.engines.gpu.launch", "NVIDIA GPUs, by the compiler that is best for a kernel"),
        EngineRow("cpu", "tilery.engines.cpu.launch", "fast on any CPU, by LLVM", "cpu", "llvmlite"),
    )
}  # fmt: skip


def find(name: str, *more: str) -> EngineRow:
    """Return the row of an engine; `more` are names that the caller knows besides, for the error."""
    if name == AUTO:
        return next(ENGINES[each] for each in AUTOMATIC if ENGINES[each].installed)
    row = ENGINES.get(name)
    if row is None:
        from difflib import get_close_matches

        known = [*ENGINES, AUTO, *more]
        near = get_close_matches(name, known, 1)
        notes = (f"did you mean '{near[0]}'?",) if near else ()
        raise TileError(f"unknown engine '{name}', expected {_listed(known)}", notes=notes)
    return row


def _listed(names: list[str]) -> str:
    return " or ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def load_engine(name: str) -> Engine:
    """Import an engine; a TileError says what to install if a package that it needs is missing."""
    row = find(name)
    try:
        return cast("Engine", import_module(row.module))
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if not row.extra or missing.split(".")[0] == "tilery":
            raise
        raise row.missing(missing) from None


def exactly(engine: str, exact: bool) -> dict[str, bool]:
    """Return the option that asks an engine for the reference engine's bits, if that is wanted and not given anyway."""
    return {"exact": True} if exact and find(engine).name != DEFAULT else {}


def compile_kernel(module: Module, entry: str | None = None, *, engine: str = DEFAULT, **options: Any) -> Kernel:
    """Load a verified module on an engine and return one of its kernels; without `entry`, the only one."""
    return load_engine(engine).load(module, **options).kernel(entry)
