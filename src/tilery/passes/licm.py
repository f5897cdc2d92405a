"""`licm`: loop-invariant code motion."""

from __future__ import annotations

from ..declare.relations import PURE, TERMINATOR
from ..ir import Block, Op, UnknownOp, Value
from ..ops import For, Loop
from ..rewrite import Report, isolated
from .registry import register


@register("licm")
def licm(root: Op, report: Report) -> None:
    """Hoist loop-invariant operations out of loops."""
    for function in isolated(root):
        if moved := _hoist(function):
            report.counts["licm"] += moved


class _Level:
    """An open block: the outermost level its operations may move to, those to visit, and those it ends up with."""

    __slots__ = ("block", "kept", "lowest", "todo")

    def __init__(self, block: Block, lowest: int) -> None:
        self.block, self.lowest = block, lowest
        self.todo = block.ops[::-1]
        self.kept: list[Op] = []


def _hoist(function: Op) -> int:
    """Hoist in one walk; return the number of operations moved.

    The level of a value is the number of blocks around its definition. An operation moves to the innermost level of
    its operands. A loop is appended to its block when it is closed, so hoisted operations precede it.
    """
    moved = 0
    for body in function.blocks:
        home: dict[Value, int] = dict.fromkeys(body.args, 0)
        levels = [_Level(body, 0)]
        waiting: list[tuple[Op, list[Block]]] = []  # operations whose blocks are being walked, and those to come
        while levels:
            level, depth = levels[-1], len(levels) - 1
            if not level.todo:
                level.block.ops = level.kept
                levels.pop()
                if waiting:
                    _next_block(waiting, levels, home)
                continue
            o = level.todo.pop()
            if o.nested and o.blocks:
                waiting.append((o, o.blocks[::-1]))
                _next_block(waiting, levels, home)
                continue
            to = depth
            if _movable(o):
                to = max(level.lowest, max((home.get(v, 0) for v in o.operands), default=0))
                moved += to < depth
            levels[to].kept.append(o)
            home.update(dict.fromkeys(o.results, to))
    return moved


def _next_block(waiting: list[tuple[Op, list[Block]]], levels: list[_Level], home: dict[Value, int]) -> None:
    """Open the next block of the innermost operation, or close the operation after its last block."""
    o, blocks = waiting[-1]
    depth = len(levels) - 1
    if not blocks:
        waiting.pop()
        levels[-1].kept.append(o)
        home.update(dict.fromkeys(o.results, depth))
        return
    block = blocks.pop()
    home.update(dict.fromkeys(block.args, depth + 1))
    levels.append(_Level(block, levels[-1].lowest if isinstance(o, For | Loop) else depth + 1))


def _movable(o: Op) -> bool:
    return not isinstance(o, UnknownOp) and PURE in o.opdef.traits and TERMINATOR not in o.opdef.traits
