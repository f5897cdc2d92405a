"""Modules that programs import beside cuTile and torch: stand-ins for them while `on` is active.

CuPy, `numba.cuda` and NVIDIA's `cuda.core` and `cuda.bindings` need a GPU, so the stand-ins take their names, even
where they are installed. Triton is needed by an engine: where it is installed, only its benchmark is replaced.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec, spec_from_loader
from types import ModuleType
from typing import Any
from unittest.mock import patch

from ..imports import AfterImport

HERE = __package__
HOMES = {
    "cupy": "cupy_on_numpy",
    "cupy.cuda": "cupy_on_numpy:cuda",
    "cupy.random": "cupy_on_numpy:random",
    "cupy.linalg": "cupy_on_numpy:linalg",
    "cupy.fft": "cupy_on_numpy:fft",
    "cupy.testing": "cupy_on_numpy:testing",
    "cupyx": "cupyx_profiler",
    "cupyx.profiler": "cupyx_profiler:profiler",
    "numba.cuda": "numba_cuda:cuda",
    "cuda.core": "cuda_core",
    "cuda.core.experimental": "cuda_core",
    "cuda.core.graph": "cuda_graphs",
    "cuda.bindings": "cuda_bindings",
    "cuda.bindings.driver": "cuda_bindings:driver",
    "cuda.bindings.runtime": "cuda_bindings:runtime",
}
"""Where each stand-in is: a module here, and what of it."""
OPEN = {"cuda.bindings"}
"""Packages whose other modules are those that are installed: NVRTC and nvJitLink compile without a GPU."""
TRITON = {"triton": "triton_testing", "triton.testing": "triton_testing:testing"}


class Finder:
    """A module finder for the stand-ins; it is its own loader."""

    def __init__(self) -> None:
        self.homes = dict(HOMES) if find_spec("triton") else HOMES | TRITON
        if not find_spec("numba"):
            self.homes["numba"] = "numba_cuda"

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        if name not in self.homes:
            return None
        spec = spec_from_loader(name, self, is_package=True)  # type: ignore[arg-type]  # as much as is needed
        installed = PathFinder.find_spec(name, path) if name in OPEN else None
        if spec and installed and installed.submodule_search_locations:
            spec.submodule_search_locations = installed.submodule_search_locations
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        home, _, part = self.homes[spec.name].partition(":")
        found: Any = import_module(f".{home}", HERE)
        return copy_of(getattr(found, part) if part else found, spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: the module is complete."""


def stands_in(name: str) -> bool:
    """Whether a module has a stand-in now."""
    return any(isinstance(finder, Finder) and name in finder.homes for finder in sys.meta_path)


def copy_of(source: Any, name: str) -> ModuleType:
    """Make a module with the attributes of another object, of which those are found when they are asked for."""
    made = ModuleType(name, source.__doc__)
    made.__dict__["__getattr__"] = lambda attribute: attribute_of(source, name, attribute)
    return made


VERSIONS = {"cupy": "13.6.0", "triton": "3.5.0", "numba": "0.62.0"}
"""The releases that stand-ins say they are, for programs that print or compare them."""


def attribute_of(source: Any, name: str, attribute: str) -> Any:
    if attribute == "__version__" and name in VERSIONS:
        return VERSIONS[name]
    if attribute.startswith("__"):
        raise AttributeError(attribute)
    try:
        return getattr(source, attribute)
    except AttributeError:
        why = f"'{name}' here is tilery's stand-in, which runs on the host and has no '{attribute}'"
        raise AttributeError(why, name=attribute) from None


@contextlib.contextmanager
def stand_ins() -> Iterator[None]:
    """Let programs import the stand-ins. A module that is imported already stays what it is."""
    finder = Finder()
    with contextlib.ExitStack() as stack:
        sys.meta_path.insert(0, finder)
        stack.callback(forget, finder)
        if "triton" not in finder.homes:
            patch_triton(stack)
        yield


def forget(finder: Finder) -> None:
    """Remove the finder, and the modules that it made."""
    sys.meta_path.remove(finder)
    for name in finder.homes:
        if getattr(getattr(sys.modules.get(name), "__spec__", None), "loader", None) is finder:
            del sys.modules[name]
            parent, _, child = name.rpartition(".")
            vars(sys.modules.get(parent, finder)).pop(child, None)


def patch_triton(stack: contextlib.ExitStack) -> None:
    """Replace the benchmark of an installed Triton when it is imported."""

    def enter() -> None:
        from .triton_testing import testing

        real = sys.modules["triton.testing"]
        for name in ("do_bench", "do_bench_cudagraph"):
            stack.enter_context(patch.object(real, name, getattr(testing, name)))

    if "triton.testing" in sys.modules:
        enter()
    else:
        stack.callback(AfterImport("triton.testing", enter).stop)
