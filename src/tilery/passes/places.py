"""Where the operations of a kernel are, for passes that move values between blocks."""

from __future__ import annotations

from collections.abc import Iterator

from ..ir import Block, Op, walk
from ..rewrite.editing import index_of


class Places:
    """Where the operations of a kernel are."""

    def __init__(self, entry: Op) -> None:
        self.found: dict[Op, tuple[Block, Op]] = {}
        """The block of each operation, and the operation that has the block."""
        for o in (entry, *walk(entry)):
            self.found |= {each: (block, o) for block in o.blocks for each in block.ops}

    def precedes(self, first: object, second: Op) -> bool:
        """Whether the results of an operation can be used by another one."""
        assert isinstance(first, Op)
        home = self.found[first][0]
        return any(block is home and index_of(block, first) < index_of(block, o) for block, o in self.around(second))

    def around(self, o: Op) -> Iterator[tuple[Block, Op]]:
        """Yield the block of an operation and the operation, then those of the operation that has the block, ..."""
        while o in self.found:
            block, parent = self.found[o]
            yield block, o
            o = parent

    def insert(self, before: Op, ops: list[Op]) -> None:
        block, _ = self.found[before]
        at = index_of(block, before)
        block.ops[at:at] = ops
