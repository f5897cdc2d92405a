"""From a kernel of Tile IR to LLVM IR by way of loops: the passes in their order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....analysis.effects import accesses as memory_accesses
from ....analysis.effects import enclosing, memory_ordering
from ....attrs import MemoryOrderingSemantics as Ordering
from ....ir import Op, walk
from ....ops import Entry, For, Loop, Module, PrintTko, StoreViewTko
from ....types import TileView
from .. import atomics
from ..abi import Lowered, NotLowered, Specialisation, Target
from ..callbacks import is_called
from ..llvm.render import render
from ..loops.nodes import Atomic, Guard, Kernel
from ..loops.nodes import walk as walk_loops
from ..lower import lower
from ..stores import written_tensors
from ..targets import machine_of
from .fetch import fetch_ahead
from .gather import gathered, split_guards
from .hoist import hoist_packing
from .inline import inline
from .products import expand_products
from .registers import split_registers
from .shadow import shadow
from .side import fill_on_the_side
from .simplify import remove_dead, simplify
from .squares import turn_squares
from .vectorise import unroll, vectorise
from .whole import split_masks

Pass = Callable[[Kernel], Any]
"""A change of a kernel. One that returns False has changed nothing."""
MAX_OPS = 20000
"""Operations of a kernel that is compiled."""
MAX_STATEMENTS = 60000
"""Statements of a kernel that is compiled, after any pass."""


def passes(target: Target, wanted: Specialisation) -> list[Pass]:
    """Return the passes for a processor."""
    machine = machine_of(target)
    return [
        simplify,
        expand_products(machine, wanted),
        hoist_packing,
        inline,
        remove_dead,
        simplify,
        fill_on_the_side,
        simplify,
        split_masks,
        simplify,
        turn_squares,
        simplify,
        vectorise(machine),
        unroll,
        simplify,
        fetch_ahead,
        split_registers(machine),
        simplify,
    ]


def lower_by_loops(
    module: Module, entry: Entry, target: Target, wanted: Specialisation, checks: frozenset[str] = frozenset()
) -> Lowered:
    """Lower one entry of a verified module by way of loops, maybe with checks of the sanitizer that become faults.

    Raises NotLowered if it cannot be compiled.
    """
    if len(list(walk(entry))) > MAX_OPS:
        raise NotLowered("the kernel is very large")
    try:
        kernel = lower(module, entry, lambda o: is_called(o, wanted.exact), checks)
        if "uninit" in checks:
            shadow(kernel)
        updated = _updated(kernel)
        found, additions = ([], 0) if checks else gathered(kernel, entry)
        if found:
            kernel.gathers = True
            split_guards(kernel)
        lowered = compile_loops(kernel, entry, target, wanted)
    except RecursionError:
        raise NotLowered("the kernel is nested very deep") from None
    lowered.updated, lowered.gathered, lowered.additions = updated, found, additions
    return lowered


def _updated(kernel: Kernel) -> list[int]:
    """Return the parameters whose memory a kernel may read and write."""
    guards = [s for s in walk_loops(kernel.body) if isinstance(s, Guard)]
    written = {s.home for s in guards if s.writes}
    read = {s.home for s in guards if not s.writes}
    if any(isinstance(s, Atomic) for s in walk_loops(kernel.body)):
        read |= written
    if None in written or None in read:
        return list(range(len(kernel.params)))
    return sorted(home.number for home in read & written if home is not None and home.kind == "param")


def compile_loops(kernel: Kernel, entry: Entry, target: Target, wanted: Specialisation) -> Lowered:
    """Run the passes over a kernel, which is changed, and render it. Raises NotLowered."""
    changed = True
    for run in passes(target, wanted):
        if changed or run is not simplify:
            changed = run(kernel) is not False and run is not simplify
            if sum(1 for _ in walk_loops(kernel.body)) > MAX_STATEMENTS:
                raise NotLowered("the kernel is very large")
    lowered = render(kernel, target, wanted)
    add_facts(lowered, entry)
    return lowered


def add_facts(lowered: Lowered, entry: Entry) -> None:
    """Add what the runtime must know about a kernel besides its code."""
    ops = list(walk(entry))
    strong = dict.fromkeys(o for o in memory_accesses(entry) if memory_ordering(o) is not Ordering.WEAK)
    used = {v for o in ops for v in o.operands}
    lowered.waits = any(isinstance(o, (Loop, For)) for o in enclosing(entry.body, strong.__contains__))
    ordered = not all(atomics.commutes(o, used) for o in strong)
    lowered.ordered = ordered or any(isinstance(o, PrintTko) or _stores_halves(o) for o in ops)
    lowered.written = written_tensors(entry)


def _stores_halves(o: Op) -> bool:
    """Tell whether an operation stores elements of four bits, two of which share a byte: maybe with another tile."""
    view = o.view.type if isinstance(o, StoreViewTko) else None
    return isinstance(view, TileView) and view.tensor_view.element.bits == 4
