"""Which operations touch memory."""

from __future__ import annotations

from ..declare.relations import NO_EFFECT, PURE, REGION_EFFECTS
from ..ir import Op, UnknownOp


def has_no_effect(o: Op) -> bool:
    """Whether an operation, and everything inside, leaves memory alone."""
    todo = [o]
    while todo:
        inner = todo.pop()
        if not harmless(inner):
            return False
        if inner.opdef.has(REGION_EFFECTS):
            todo += [x for block in inner.blocks for x in block.ops]
    return True


def harmless(o: Op, inside: bool = True) -> bool:
    """Whether an operation leaves memory alone, if that is so or not so of what is inside."""
    if isinstance(o, UnknownOp):
        return False
    traits = o.opdef.traits
    return PURE in traits or NO_EFFECT in traits or (REGION_EFFECTS in traits and inside)
