"""From a kernel of Tile IR to LLVM IR by way of loops: the passes in their order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....analysis.effects import accesses as memory_accesses
from ....analysis.effects import enclosing, memory_ordering
from ....attrs import MemoryOrderingSemantics as Ordering
from ....ir import walk
from ....ops import Entry, For, Loop, PrintTko
from .. import atomics
from ..abi import Lowered, Specialisation, Target
from ..llvm.render import render
from ..loops.nodes import Kernel
from ..stores import written_tensors
from ..targets import machine_of
from .inline import inline
from .products import expand_products
from .simplify import simplify
from .vectorise import unroll, vectorise
from .whole import split_masks

Pass = Callable[[Kernel], Any]


def passes(target: Target, wanted: Specialisation) -> list[Pass]:
    """Return the passes for a processor."""
    machine = machine_of(target)
    return [
        simplify,
        expand_products(machine, wanted),
        inline,
        simplify,
        split_masks,
        simplify,
        vectorise(machine),
        unroll,
        simplify,
    ]


def compile_loops(kernel: Kernel, entry: Entry, target: Target, wanted: Specialisation) -> Lowered:
    """Run the passes over a kernel, which is changed, and render it. Raises NotLowered."""
    for run in passes(target, wanted):
        run(kernel)
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
    lowered.ordered = ordered or any(isinstance(o, PrintTko) for o in ops)
    lowered.written = written_tensors(entry)
