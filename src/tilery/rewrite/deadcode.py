"""Dead-code elimination: operations without effect whose results are unused."""

from __future__ import annotations

from dataclasses import dataclass

from ..analysis.uses import UseCounts
from ..declare.relations import TERMINATOR
from ..ir import Block, Op, UnknownOp, walk
from ..ops.effects import is_effect_free
from .rules import Dead, Report, Rules


@dataclass(slots=True)
class Living:
    """The state of dead-code elimination: operations, in no order and with those inside erased ones, and uses."""

    ops: list[Op]
    uses: UseCounts
    changes: int
    """How many operations were erased and how often other rules fired."""


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
    return keep_living(root, rules, report).changes


def keep_living(root: Op, rules: Rules | None = None, report: Report | None = None) -> Living:
    """Do what `erase_dead` does, and return what is left, so that a sweep that follows need not count it again."""
    rules_of = rules.dead_by_class if rules else {}
    dead = Dead(root)
    counts = dead.counts
    fired: list[str] = []
    living = [root]
    stack = [_Shadow(block, root) for block in root.blocks]
    inside: dict[Op, bool] = {}  # operations whose blocks are being searched or done: whether the blocks have no effect
    while stack:
        shadow = stack[-1]
        todo, kept = shadow.todo, shadow.kept
        while todo:
            o = todo[-1]
            if o.nested and o not in inside and (blocks := o.blocks):
                # Drop results before searching the blocks, so that what only they needed is found dead.
                fired += [rule.__name__ for rule in rules_of.get(o.__class__, ()) if rule(o, dead)]
                inside[o] = True
                stack += [_Shadow(block, o) for block in blocks]
                break
            todo.pop()
            for value in o.results:
                if counts[value]:
                    break  # it is used
            else:
                if is_effect_free(o, inside.get(o, True)) and not _is_terminator(o):
                    fired.append("dead")
                    for gone in walk(o):
                        counts.remove(gone)
                    continue
            kept.append(o)
            if shadow.no_effect:
                shadow.no_effect = is_effect_free(o, inside.get(o, True))
        else:
            shadow.block.ops = kept[::-1]
            living += kept
            inside[shadow.parent] = inside.get(shadow.parent, True) and shadow.no_effect
            stack.pop()
    if report is not None:
        report.counts.update(fired)
    return Living(living, counts, len(fired))


def _is_terminator(o: Op) -> bool:
    return not isinstance(o, UnknownOp) and TERMINATOR in o.opdef.traits
