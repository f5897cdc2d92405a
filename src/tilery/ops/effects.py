"""Which operations touch memory."""

from __future__ import annotations

from ..decl import NO_EFFECT, PURE, REGION_EFFECTS
from ..ir import Op, UnknownOp


def has_no_effect(o: Op) -> bool:
    """Whether an operation, and everything inside, leaves memory alone."""
    todo = [o]
    while todo:
        inner = todo.pop()
        if isinstance(inner, UnknownOp):
            return False
        if inner.opdef.has(REGION_EFFECTS):
            todo += [x for block in inner.blocks for x in block.ops]
        elif not inner.opdef.has(PURE) and not inner.opdef.has(NO_EFFECT):
            return False
    return True
