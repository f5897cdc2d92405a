"""`fold-known`: integers that follow from ranges and alignment, and so from what a program promises."""

from __future__ import annotations

from ..analysis.alignment import Alignment, axis_info
from ..analysis.effects import is_effect_free
from ..analysis.ranges import ranges
from ..declare.constraints import IntTile
from ..ir import Op, Value, walk
from ..ops import Constant, RemI
from ..rewrite import Report, replace_uses
from ..types import Scalar, Tile
from .constants import filled
from .registry import register


def known_value(o: Op, facts: Alignment) -> int | None:
    """Return the integer that all elements of an operation's only result are, or None if that is not known."""
    if len(o.results) != 1 or o.blocks or isinstance(o, Constant) or not is_effect_free(o):
        return None
    (result,) = o.results
    if not IntTile.ok(result.type):  # of i4 there are no constants
        return None
    if (found := facts.ranges.constant(result)) is not None:
        return found
    if isinstance(o, RemI) and (divisor := facts.ranges.constant(o.rhs)) and facts[o.lhs].divisor % abs(divisor) == 0:
        return 0
    return None


@register("fold-known")
def fold_known(root: Op, report: Report) -> None:
    """Replace integers that follow from ranges and alignment, such as comparisons decided by an assumption."""
    facts = axis_info(root, ranges(root))
    replaced: dict[Value, Value] = {}
    for block in [b for o in walk(root) for b in o.blocks]:
        ops: list[Op] = []
        for o in block.ops:
            value = known_value(o, facts)
            if value is not None:
                t = o.results[0].type
                assert isinstance(t, Tile) and isinstance(t.element, Scalar)
                made = filled(t, value & ((1 << t.element.bits) - 1))
                made.loc = o.loc
                ops.append(made)
                replaced[o.results[0]] = made.results[0]
                report.fire(o.name, o)
            ops.append(o)
        block.ops[:] = ops
    replace_uses(root, replaced)
