"""Tile IR to loop IR, one function per operation."""

from __future__ import annotations

from collections.abc import Callable

from ....analysis.promises import harmless_promises
from ....ir import Block, Op, walk
from ....ops import Alloca, Entry, Module, Reduce, Scan
from ....types import I64
from ...common.layout import MAX_RANK
from ..abi import NotLowered
from ..loops.builder import Builder, element_of
from ..loops.nodes import Guard, Home, Kernel, Kind, Loop, Value, index, make_kernel
from ..loops.nodes import walk as walk_loops
from . import control, elements, memory, reductions, shapes, views, whole
from .checks import is_checked
from .state import LOWERS, Lowering, has_pointers

__all__ = ["LOWERS", "elements", "lower", "reductions", "shapes", "views", "whole"]
MAX_DEPTH = 64
"""Nested regions."""


def lower(
    module: Module,
    entry: Entry,
    called: Callable[[Op], bool] = lambda o: False,
    checks: frozenset[str] = frozenset(),
) -> Kernel:
    """Return the kernel of an entry as loops. Raises NotLowered.

    `called` chooses element-wise operations that the reference engine computes, tile by tile. `checks` of the sanitizer
    become faults (see `checks`), but for `uninit`, which is a pass.
    """
    ops = list(walk(entry))
    if _depth(entry.body) > MAX_DEPTH:
        raise NotLowered("the kernel is nested very deep")
    if any(len(getattr(v.type, "shape", ())) > MAX_RANK for o in ops for v in o.results):
        raise NotLowered("NumPy, and so the reference engine, has no arrays of so many dimensions")
    params = [Value(element_of(v.type), 1, f"arg{n}") for n, v in enumerate(entry.body.args)]
    kernel = make_kernel(entry.sym_name, params, ops)
    b = Builder(kernel.body)
    blocks = b.resize(kernel.grid[0], I64, signed=False)
    for extent in kernel.grid[1:]:
        blocks = b.mul(blocks, b.resize(extent, I64, signed=False))
    grid = Loop(Kind.GRID, Value(I64, 1, "rank"), index(0), blocks, [])
    b.emit(grid)
    g = Lowering(module, entry, kernel, b, {o: n for n, o in enumerate(ops)}, grid.index, called, checks)
    if checks:
        _require_checkable(ops, checks)
        g.harmless = harmless_promises(entry)
    for n, (v, param) in enumerate(zip(entry.body.args, params)):
        g.held[v] = param
        if has_pointers(v):
            g.homes[v] = Home("param", n)
    with b.within(grid.body):
        memory.declare_allocas(g, [o for o in ops if isinstance(o, Alloca)])
        control.lower_block(g, entry.body)
    if "bounds" in checks:
        _confine(kernel)
    return kernel


def _require_checkable(ops: list[Op], checks: frozenset[str]) -> None:
    """Raise NotLowered for kernels whose memory or order only the reference engine can follow."""
    if checks & {"bounds", "uninit"} and any(isinstance(o, Alloca) for o in ops):
        raise NotLowered("the checks of an alloca need the reference engine")
    for o in ops:
        inner = [i for block in o.blocks for i in walk(block)] if isinstance(o, (Reduce, Scan)) else []
        if checks & {"undefined", "promise"} and any(is_checked(i) for i in inner):
            raise NotLowered("bodies are checked from the first element to the last, which is not how they run")


def _confine(kernel: Kernel) -> None:
    """Make every access stay in the memory that its pointer belongs to; the launch must keep homes apart."""
    kernel.disjoint = True
    for s in walk_loops(kernel.body):
        if isinstance(s, Guard):
            if s.home is None:
                raise NotLowered("a pointer may belong to several arguments")
            s.strict = True


def _depth(block: Block) -> int:
    """Return the depth of nested regions."""
    depth, level = 0, [block]
    while level:
        depth, level = depth + 1, [inner for b in level for o in b.ops if o.nested for inner in o.blocks]
    return depth
