"""Compile variants in parallel, without the GPU: by threads with a compiler each, or on any executor."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from dataclasses import dataclass
from queue import SimpleQueue

from ..bytecode.writer import write
from ..diag import TileError
from ..engines.common.kernel import find_entry
from ..engines.cuda.launch import Binary
from ..engines.gpu.variants import Variant, VariantCompiler
from ..engines.triton.compiler import CompileProcess
from ..ops import Entry, Module
from ..source.input import Input
from ..verifier.explain import read_legal

Build = Callable[[Module, Entry, Variant, str], Binary]
"""Compiles a variant for a target."""


@dataclass(frozen=True, slots=True)
class Built:
    """A variant that was compiled, or why it was not."""

    number: int
    variant: Variant
    binary: Binary | None = None
    error: str = ""
    seconds: float = 0.0


class Builds:
    """Compiles variants with a pool of compilers; use it as a context, which ends them.

    An `executor` compiles up to `workers` variants at a time; where it fails, they are compiled here.
    """

    def __init__(
        self, workers: int | None = None, build: Build | None = None, executor: Executor | None = None
    ) -> None:
        self.workers = workers or os.cpu_count() or 1
        self.executor = executor
        self._build = build
        self._compilers: SimpleQueue[CompileProcess] = SimpleQueue()
        self._all: list[CompileProcess] = []
        for _ in range(self.workers if build is None else 0):
            self._all.append(CompileProcess())
            self._compilers.put(self._all[-1])

    def __enter__(self) -> Builds:
        return self

    def __exit__(self, *_: object) -> None:
        for compiler in self._all:
            compiler.stop()

    def one(self, module: Module, entry: Entry, variant: Variant, target: str, number: int = 0) -> Built:
        """Compile one variant; an error is part of the answer."""
        started = time.monotonic()
        try:
            if self._build is not None:
                binary = self._build(module, entry, variant, target)
            else:
                compiler = self._compilers.get()
                try:
                    binary = VariantCompiler(variant, compiler).compile(module, entry, target)
                finally:
                    self._compilers.put(compiler)
        except TileError as error:
            return Built(number, variant, None, error.message, time.monotonic() - started)
        return Built(number, variant, binary, "", time.monotonic() - started)

    def all(
        self, module: Module, entry: Entry, variants: Sequence[Variant], target: str, deadline: float, least: int
    ) -> Iterator[Built]:
        """Yield variants as they are compiled, about in their order.

        After the deadline none is started but the first `least`.
        """
        todo = list(enumerate(variants))[::-1]
        running: dict[Future[Built], tuple[int, Variant]] = {}
        with ThreadPoolExecutor(self.workers) as pool:
            submit = self._submitter(pool, module, entry, target)
            try:
                while todo or running:
                    while todo and len(running) < self.workers:
                        if todo[-1][0] >= least and time.monotonic() > deadline:
                            todo.clear()
                            break
                        number, variant = todo.pop()
                        running[submit(number, variant)] = number, variant
                    if not running:
                        return
                    done = [(running.pop(future), future) for future in wait(running, return_when=FIRST_COMPLETED).done]
                    for (number, variant), future in sorted(done, key=lambda pair: pair[0][0]):
                        try:
                            yield future.result()
                        except (BrokenExecutor, CancelledError):  # a worker of the executor died
                            yield self.one(module, entry, variant, target, number)
            finally:
                for future in running:
                    future.cancel()
                pool.shutdown(wait=True, cancel_futures=True)

    def _submitter(
        self, pool: Executor, module: Module, entry: Entry, target: str
    ) -> Callable[[int, Variant], Future[Built]]:
        """Return what starts to compile a variant: on the executor as long as that works, or else in the pool."""
        data = write(module, module.version) if self.executor is not None else b""

        def submit(number: int, variant: Variant) -> Future[Built]:
            if self.executor is not None:
                try:
                    return self.executor.submit(build_elsewhere, data, entry.sym_name, variant, target, number)
                except RuntimeError:  # it is broken, or was shut down
                    self.executor = None
            return pool.submit(self.one, module, entry, variant, target, number)

        return submit


_local = threading.local()


def build_elsewhere(data: bytes, entry: str, variant: Variant, target: str, number: int) -> Built:
    """Compile a variant in a worker of an executor, whose compiler stays for the next one."""
    if getattr(_local, "builds", None) is None:
        _local.builds = Builds(1)
    module = read_legal(Input(data))
    builds: Builds = _local.builds
    return builds.one(module, find_entry(module, entry), variant, target, number)
