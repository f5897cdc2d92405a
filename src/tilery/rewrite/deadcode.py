"""Dead-code elimination: operations without effect whose results are unused."""

from __future__ import annotations

from ..declare.relations import TERMINATOR
from ..ir import Block, Op, UnknownOp, walk
from ..ops.effects import is_effect_free
from .rules import Dead, Report, Rules


class _Shadow:
    """A block that is searched for dead code, back to front."""

    __slots__ = ("block", "kept", "no_effect", "parent", "todo")

    def __init__(self, block: Block, parent: Op) -> None:
        self.block, self.parent = block, parent
        self.todo = block.ops
        self.kept: list[Op] = []
        self.no_effect = True


def erase_dead(root: Op, rules: Rules | None = None, report: Report | None = None) -> int:
    """Remove operations inside `root` that have no effect and whose results are unused; return the number of changes.

    One pass from back to front is enough, since uses follow definitions.
    """
    rules_of = rules.dead_by_class if rules else {}
    dead = Dead(root)
    fired: list[str] = []
    stack = [_Shadow(block, root) for block in root.blocks]
    inside: dict[Op, bool] = {}  # operations whose blocks are being searched or done: whether the blocks have no effect
    while stack:
        shadow = stack[-1]
        if not shadow.todo:
            shadow.block.ops = shadow.kept[::-1]
            inside[shadow.parent] = inside.get(shadow.parent, True) and shadow.no_effect
            stack.pop()
            continue
        o = shadow.todo[-1]
        if o not in inside and (blocks := o.blocks):
            # Drop results before searching the blocks, so that what only they needed is found dead.
            fired += [rule.__name__ for rule in rules_of.get(o.__class__, ()) if rule(o, dead)]
            inside[o] = True
            stack += [_Shadow(block, o) for block in blocks]
            continue
        shadow.todo.pop()
        no_effect = is_effect_free(o, inside.get(o, True))
        if no_effect and not _is_terminator(o) and not any(dead.counts[v] for v in o.results):
            fired.append("dead")
            for gone in walk(o):
                dead.release(*gone.operands)
            continue
        shadow.no_effect &= no_effect
        shadow.kept.append(o)
    if report is not None:
        report.counts.update(fired)
    return len(fired)


def _is_terminator(o: Op) -> bool:
    return not isinstance(o, UnknownOp) and TERMINATOR in o.opdef.traits
