"""`on` runs Triton programs on an engine: Triton's frontend compiles the kernels, our backend makes Tile IR of them."""

from __future__ import annotations

import functools
import os
import weakref
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from ..programs.launches import Engine, LaunchSession, open_session
from ..programs.standins import without_gpu
from . import versions
from .settings import SETTINGS

if TYPE_CHECKING:
    from ..sanitize import Sanitizer


FUSION = "TRITON_DEFAULT_FP_FUSION"


@contextmanager
def on(
    engine: str | Engine = "reference",
    *,
    strict: bool = False,
    exact: bool = False,
    record: str | Path | None = None,
    seconds: float | None = None,
    capability: tuple[int, int] = (9, 0),
    sanitize: str | Sanitizer | None = None,
    tune: bool | dict[str, Any] = False,
    time_configurations: bool = False,
) -> Iterator[LaunchSession]:
    """Run Triton programs on an engine: `kernel[grid](...)` executes on the CPU, synchronously, and raises any error.

    Arguments are torch tensors; those that a program creates on `cuda` are created on the CPU. `strict` orders the
    accesses of one program only as a GPU does, so that `sanitize` finds those that luck orders. `capability` is the
    compute capability that the device reports. Autotuning takes the first configuration that compiles, unless
    `time_configurations`. The other options are those of `tilery.cutile.on`.
    """
    versions.require()
    session = open_session(engine, exact=exact, record=record, seconds=seconds, sanitize=sanitize, tune=tune)
    settings = {
        "session": session,
        "strict": strict,
        "capability": (capability[0], capability[1]),
        "time_configurations": time_configurations,
    }
    with ExitStack() as stack:
        for name, value in settings.items():
            stack.enter_context(patch.object(SETTINGS, name, value))
        # Nothing is fused here, and Triton 3.9 warns if this is not set.
        fusion = {FUSION: os.environ.get(FUSION, "0")}
        stack.enter_context(patch.dict(os.environ, fusion))
        stack.enter_context(without_gpu((capability[0], capability[1]), session.sanitizer))
        for each in replacements():
            stack.enter_context(each)
        yield session


def replacements() -> Iterator[Any]:
    """Yield the patches of Triton: the backend, the active driver, and what keys its cache."""
    registry = import_module("triton.backends")
    runtime = import_module("triton.runtime.driver")
    compiler = import_module("triton.compiler.compiler")
    from .backend import TileBackend
    from .cublas import CublasLt
    from .driver import TileDriver

    made = registry.Backend(compiler=TileBackend, driver=TileDriver)
    yield patch.dict(registry.backends, {"nvidia": made})
    config = runtime.driver
    yield patch.object(config, "_active" if hasattr(config, "_active") else "active", TileDriver())
    if (cublas := getattr(compiler_library("nvidia"), "cublas", None)) is not None:
        yield patch.object(cublas, "CublasLt", CublasLt)
    yield without_unloading(compiler.CompiledKernel)
    tuner = import_module("triton.runtime.autotuner").Autotuner
    yield patch.object(tuner, "run", choosing(tuner.run))
    yield patch.object(compiler.ASTSource, "hash", hash_with_file(compiler.ASTSource.hash))


def choosing(original: Any) -> Any:
    """Wrap the method that launches an autotuned kernel: of its configurations, those after the first good one wait."""

    @functools.wraps(original)
    def run(self: Any, *values: Any, **options: Any) -> Any:
        with patch.object(SETTINGS, "chosen", False):
            return original(self, *values, **options)

    return run


@contextmanager
def without_unloading(kernels: Any) -> Iterator[None]:
    """Let the kernels that are loaded inside forget it at the end: there may be no driver to unload them with."""
    loaded: list[weakref.ref[Any]] = []
    original = kernels._init_handles

    def init_handles(kernel: Any) -> None:
        if kernel.module is None:
            original(kernel)
            loaded.append(weakref.ref(kernel))

    with patch.object(kernels, "_init_handles", init_handles):
        try:
            yield
        finally:
            for each in loaded:
                if (kernel := each()) is not None:
                    kernel.module = None


def compiler_library(part: str) -> Any:
    """Return a part of Triton's extension module."""
    return getattr(import_module("triton._C.libtriton"), part, None)


def hash_with_file(original: Any) -> Any:
    """Wrap the hash of a kernel's source, which does not depend on its file: faults name that file."""

    def hash(source: Any) -> str:
        code = getattr(getattr(source.fn, "fn", None), "__code__", None)
        return f"{original(source)}-{getattr(code, 'co_filename', '')}"

    return hash
