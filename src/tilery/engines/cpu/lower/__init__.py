"""Tile IR to loop IR, one function per operation."""

from __future__ import annotations

from ....ir import walk
from ....ops import Alloca, Entry, Module
from ....types import I64
from ..loops.builder import Builder, element_of
from ..loops.nodes import Home, Kernel, Kind, Loop, Value, index, make_kernel
from . import control, elements, memory, reductions, shapes, views, whole
from .state import LOWERS, Lowering, NotLowered, has_pointers

__all__ = [
    "LOWERS", "NotLowered", "elements", "lower", "reductions", "shapes", "views", "whole",
]  # fmt: skip


def lower(module: Module, entry: Entry) -> Kernel:
    """Return the kernel of an entry as loops. Raises NotLowered."""
    ops = list(walk(entry))
    params = [Value(element_of(v.type), 1, f"arg{n}") for n, v in enumerate(entry.body.args)]
    kernel = make_kernel(entry.sym_name, params, ops)
    b = Builder(kernel.body)
    blocks = b.resize(kernel.grid[0], I64, signed=False)
    for extent in kernel.grid[1:]:
        blocks = b.mul(blocks, b.resize(extent, I64, signed=False))
    grid = Loop(Kind.GRID, Value(I64, 1, "rank"), index(0), blocks, [])
    b.emit(grid)
    g = Lowering(module, kernel, b, {o: n for n, o in enumerate(ops)}, grid.index)
    for n, (v, param) in enumerate(zip(entry.body.args, params)):
        g.held[v] = param
        if has_pointers(v):
            g.homes[v] = Home("param", n)
    with b.within(grid.body):
        memory.declare_allocas(g, [o for o in ops if isinstance(o, Alloca)])
        control.lower_block(g, entry.body)
    return kernel
