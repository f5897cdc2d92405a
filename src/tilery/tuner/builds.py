"""Compile variants in parallel, without the GPU."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from queue import SimpleQueue

from ..diag import TileError
from ..engines.cuda.launch import Binary
from ..engines.gpu.variants import Variant, VariantCompiler
from ..engines.triton.compiler import Compiler
from ..ops import Entry, Module

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
    """Compiles variants with a pool of compilers; use it as a context, which ends them."""

    def __init__(self, workers: int | None = None, build: Build | None = None) -> None:
        self.workers = workers or os.cpu_count() or 1
        self._build = build
        self._compilers: SimpleQueue[Compiler] = SimpleQueue()
        self._all: list[Compiler] = []
        for _ in range(self.workers if build is None else 0):
            self._all.append(Compiler())
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
        running: set[Future[Built]] = set()
        with ThreadPoolExecutor(self.workers) as pool:
            try:
                while todo or running:
                    while todo and len(running) < self.workers:
                        if todo[-1][0] >= least and time.monotonic() > deadline:
                            todo.clear()
                            break
                        number, variant = todo.pop()
                        running.add(pool.submit(self.one, module, entry, variant, target, number))
                    if not running:
                        return
                    done, running = wait(running, return_when=FIRST_COMPLETED)
                    yield from sorted((future.result() for future in done), key=lambda built: built.number)
            finally:
                pool.shutdown(wait=True, cancel_futures=True)
