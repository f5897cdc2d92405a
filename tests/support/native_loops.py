"""An engine for tests: kernels lowered to loop IR, changed by passes, rendered as LLVM IR, compiled and launched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

from tilery.engines.cpu import launch
from tilery.engines.cpu.abi import Lowered, NotLowered, Specialisation, Target
from tilery.engines.cpu.launch import CpuKernel, CpuLoaded
from tilery.engines.cpu.llvm.render import render
from tilery.engines.cpu.loops import nodes
from tilery.engines.cpu.loops.verifier import verify
from tilery.engines.cpu.lower import lower
from tilery.engines.cpu.native import build, pool, pool_ir
from tilery.engines.cpu.native.compiler import compile_texts, host
from tilery.engines.cpu.native.objects import Code
from tilery.engines.cpu.passes.pipeline import add_facts
from tilery.ops import Entry, Module

Pass = Callable[[nodes.Kernel], Any]
EXACT = Specialisation(exact=True)


def rendered(
    module: Module, entry: Entry, *passes: Pass, wanted: Specialisation = EXACT, target: Target | None = None
) -> Lowered:
    """Return a kernel as LLVM IR, verified after each pass."""
    kernel = lower(module, entry)
    for change in passes:
        change(kernel)
        verify(kernel)
    lowered = render(kernel, target or host(), wanted)
    add_facts(lowered, entry)
    return lowered


def load(module: Module, *passes: Pass, wanted: Specialisation = EXACT) -> CpuLoaded:
    """Load a module whose kernels are compiled by way of loops. Raises NotLowered for what they cannot do."""

    def made(module: Module, entry: Entry, exact: bool) -> build.Built:
        lowered = rendered(module, entry, *passes, wanted=wanted)
        if lowered.waits:
            raise NotLowered("tile blocks that wait for each other")
        data, shared = compile_texts([lowered.text, pool_ir.text(host())], host())
        code = Code((data, lowered.symbols), (shared, pool_ir.SYMBOLS))
        if not pool.exists():
            pool.make(code)
        return lowered, code

    class Kernel(CpuKernel):
        def __init__(self, loaded: CpuLoaded, entry: Entry) -> None:
            with mock.patch.object(launch, "build", made):
                super().__init__(loaded, entry)

    loaded = CpuLoaded(module)
    for entry in module.entries:
        loaded._kernels[entry.sym_name] = Kernel(loaded, entry)
    return loaded
