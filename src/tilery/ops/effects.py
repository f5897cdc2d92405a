"""Memory effects, as declared by the traits of operations."""

from __future__ import annotations

from ..declare.relations import NO_EFFECT, PURE, REGION_EFFECTS
from ..ir import Op, UnknownOp


def has_no_effect(o: Op) -> bool:
    """Return whether neither an operation nor anything inside it has a memory effect."""
    todo = [o]
    while todo:
        inner = todo.pop()
        if not is_effect_free(inner):
            return False
        if inner.opdef.has(REGION_EFFECTS):
            todo += [x for block in inner.blocks for x in block.ops]
    return True


def is_effect_free(o: Op, regions: bool = True) -> bool:
    """Return whether an operation has no memory effect; `regions` is whether its regions have none."""
    if isinstance(o, UnknownOp):
        return False
    traits = o.opdef.traits
    return PURE in traits or NO_EFFECT in traits or (REGION_EFFECTS in traits and regions)
