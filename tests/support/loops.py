"""An engine for tests: kernels lowered to loop IR, changed by passes, and interpreted."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from tilery.diag import ErrorKind
from tilery.engines.common.errors import ExecutionError
from tilery.engines.common.kernel import Kernel, find_entry
from tilery.engines.common.launch import Launch
from tilery.engines.common.limits import Stats
from tilery.engines.common.output import printer
from tilery.engines.common.tiles import scalar_lane
from tilery.engines.cpu.loops import nodes
from tilery.engines.cpu.loops.interpreter import Faulted, Interpreter
from tilery.engines.cpu.loops.verifier import verify
from tilery.engines.cpu.lower import lower
from tilery.engines.reference.launch import ReferenceLoaded, memory_of
from tilery.ir import Op
from tilery.ops import Entry, Module

Pass = Callable[[nodes.Kernel], Any]


class LoopsLoaded:
    """A module whose kernels run as loop IR."""

    def __init__(self, module: Module, *passes: Pass) -> None:
        self.module, self.passes = module, passes
        self.reference = ReferenceLoaded(module)
        self.called: Callable[[Op], bool] = lambda o: False
        self.checks: frozenset[str] = frozenset()

    def content(self, name: str) -> bytes:
        return self.reference.content(name)

    def kernel(self, entry: str | None = None) -> LoopsKernel:
        return LoopsKernel(self, find_entry(self.module, entry))


class LoopsKernel(Kernel):
    """An entry, lowered. Passes change the kernel in place; it is verified after each."""

    engine = "loops"
    loaded: LoopsLoaded

    def __init__(self, loaded: LoopsLoaded, entry: Entry) -> None:
        super().__init__(loaded, entry)
        self.lowered = lower(loaded.module, entry, loaded.called, loaded.checks)
        verify(self.lowered)
        for change in loaded.passes:
            change(self.lowered)
            verify(self.lowered)

    def run(self, launch: Launch) -> Stats:
        bound = launch.bound
        memory = memory_of(self.loaded.reference, bound)
        deadline = None if launch.limits.seconds is None else time.monotonic() + launch.limits.seconds

        def poll() -> None:
            if deadline is not None and time.monotonic() > deadline:
                raise ExecutionError(self.entry, "entry: stopped after some seconds", kind=ErrorKind.TIMEOUT)

        interpreter = Interpreter(self.lowered, memory, printer(launch.output), poll)
        params = [scalar_lane(param, slot) for param, slot in zip(self.params, bound.slots)]
        try:
            interpreter.run(launch.grid, params, self.loaded.reference.globals)
        except Faulted as fault:
            o = self.lowered.ops[fault.op]
            x, y, _ = launch.grid
            block = (fault.block % x, fault.block // x % y, fault.block // (x * y))
            raise ExecutionError(o, f"{o.name}: a fault", kind=ErrorKind.BOUNDS, block=block) from None
        return Stats(launch.blocks)


def load(module: Module, *passes: Pass) -> LoopsLoaded:
    """Load a module."""
    return LoopsLoaded(module, *passes)
