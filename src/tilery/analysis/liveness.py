"""Liveness: where each value is used last, and which values regions capture from outside."""

from __future__ import annotations

from ..ir import Block, Op, Value


class Liveness:
    """The lifetimes of the values that a block and everything nested in it define.

    A use inside a region counts for the operation of the value's own block that holds the region. A value is dead after
    its last use: a loop that uses a value in its body keeps the value alive for all iterations.
    """

    __slots__ = ("captured", "last")

    def __init__(self, block: Block) -> None:
        self.last: dict[Value, Op] = {}
        """The operation of its own block in which, or inside which, a value is used last. Unused values are absent."""
        captured: dict[Value, None] = {}
        # Of each value: how many of the operations in `path` enclose the block that defines it.
        depth = dict.fromkeys(block.args, 0)
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
            for value in o.operands:
                if value in depth:
                    self.last[value] = path[depth[value]]
                else:
                    captured[value] = None
            level = len(path) - 1
            depth.update(dict.fromkeys(o.results, level))
            if not (blocks := o.blocks):
                path.pop()
                continue
            for inner in blocks:
                depth.update(dict.fromkeys(inner.args, level + 1))
            stack.append(iter([x for inner in blocks for x in inner.ops]))
        self.captured = list(captured)
        """The values from outside that are used in the block, in the order of their first use."""

    def ending(self) -> dict[Op, list[Value]]:
        """The values whose last use each operation is, or holds."""
        ends: dict[Op, list[Value]] = {}
        for value, o in self.last.items():
            ends.setdefault(o, []).append(value)
        return ends

    def ends_at(self, value: Value, o: Op) -> bool:
        """Whether `o` is, or holds, the last use of a value."""
        return self.last.get(value) is o


def captures(o: Op) -> list[Value]:
    """The values from outside that the regions of an operation use, in the order of their first use."""
    return list(dict.fromkeys(value for block in o.blocks for value in Liveness(block).captured))
