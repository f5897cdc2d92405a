"""Effects: which operations touch memory, how strongly they are ordered, and what encloses them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..attrs import MemoryOrderingSemantics
from ..ir import Block, Op, walk
from ..ops.effects import has_no_effect, is_effect_free

__all__ = ["accesses", "enclosing", "enclosing_accesses", "has_no_effect", "is_effect_free", "memory_ordering"]


def memory_ordering(o: Op) -> MemoryOrderingSemantics | None:
    """The ordering that an access to memory asks for; None for an operation that declares none."""
    ordering: MemoryOrderingSemantics | None = getattr(o, "memory_ordering_semantics", None)
    return ordering


def accesses(root: Op | Block) -> Iterator[Op]:
    """The loads, stores and atomic operations inside, in textual order."""
    return (o for o in walk(root) if memory_ordering(o) is not None)


def enclosing_accesses(block: Block) -> set[Op]:
    """The operations inside a block that access memory or hold an operation that does."""
    return enclosing(block, lambda o: memory_ordering(o) is not None)


def enclosing(block: Block, is_wanted: Callable[[Op], bool]) -> set[Op]:
    """The operations inside a block that are wanted or hold an operation that is, in one walk."""
    found: set[Op] = set()
    path: list[Op] = []
    stack = [iter(block.ops)]
    while stack:
        o = next(stack[-1], None)
        if o is None:
            stack.pop()
            if path:
                path.pop()
            continue
        path.append(o)
        if is_wanted(o):
            _mark(path, found)
        if blocks := o.blocks:
            stack.append(iter([x for inner in blocks for x in inner.ops]))
        else:
            path.pop()
    return found


def _mark(path: list[Op], found: set[Op]) -> None:
    for o in reversed(path):
        if o in found:
            return
        found.add(o)
