"""`cse`: common subexpression elimination."""

from __future__ import annotations

from collections.abc import Iterator

from ..declare.relations import NO_EFFECT, PURE, TERMINATOR
from ..ir import Block, Op, UnknownOp, Value
from ..rewrite import Report, erase_dead, isolated, replace_operands
from .registry import register

Key = tuple[object, ...]


@register("cse")
def cse(root: Op, report: Report) -> None:
    """Eliminate common subexpressions: an operation is replaced by an equal one that dominates it."""
    for function in isolated(root):
        if removed := _merge(function):
            report.counts["cse"] += removed
        erase_dead(function, report=report)


def _merge(function: Op) -> int:
    known: dict[Key, Op] = {}
    same: dict[Value, Value] = {}
    removed = 0
    # For each open block: the operations to visit, those that are kept, and the keys that go out of scope with it.
    stack: list[tuple[Block, Iterator[Op], list[Op], list[Key]]] = []
    stack += [(block, iter(block.ops), [], []) for block in function.blocks]
    while stack:
        block, ops, kept, mine = stack[-1]
        for o in ops:
            if same:
                replace_operands(o, same)
            if o.nested and o.blocks:
                kept.append(o)
                stack += [(inner, iter(inner.ops), [], []) for inner in reversed(o.blocks)]
                break
            if (key := _key(o)) is None:
                kept.append(o)
            elif (first := known.get(key)) is None:
                known[key] = o
                mine.append(key)
                kept.append(o)
            else:
                same.update(zip(o.results, first.results))
                first.loc = first.loc or o.loc
                removed += 1
        else:
            block.ops = kept
            for key in mine:
                del known[key]
            stack.pop()
    return removed


def _key(o: Op) -> Key | None:
    """The key that equal operations share; None for an operation that must not be merged."""
    if isinstance(o, UnknownOp) or o.extra:
        return None
    opdef = o.opdef
    if TERMINATOR in opdef.traits or not (PURE in opdef.traits or NO_EFFECT in opdef.traits):
        return None
    operands = tuple(getattr(o, f.attr) for f in opdef.operands)
    attrs = tuple(getattr(o, f.attr) for f in opdef.attrs)
    return (o.__class__, operands, attrs, tuple(v.type for v in o.results))
