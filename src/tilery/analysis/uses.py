"""Uses: which operations use each value, and how often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain

from ..ir import Block, Op, Value, walk

NOBODY: Sequence[Op] = ()


def count_uses(ops: Iterable[Op]) -> Counter[Value]:
    """Count the uses of each value among the operands of these operations; `count_uses(walk(root))` for all inside."""
    return Counter(chain.from_iterable([o.operands for o in ops]))


class Uses:
    """The users of each value, inside an operation or a block.

    >>> from tilery import parse
    >>> entry = parse("entry @k(%n: tile<i32>) { %0 = addi %n, %n : tile<i32> return }").entries[0]
    >>> uses = Uses(entry)
    >>> uses.count(entry.body.args[0]), [o.name for o in uses.of(entry.body.args[0])]
    (2, ['addi', 'addi'])
    """

    __slots__ = ("users",)

    def __init__(self, root: Op | Block) -> None:
        self.users: dict[Value, list[Op]] = {}
        """The users of each used value, in textual order; an operation that uses a value twice occurs twice."""
        for o in walk(root):
            for value in o.operands:
                self.users.setdefault(value, []).append(o)

    def of(self, value: Value) -> Sequence[Op]:
        """The users of a value, in textual order, once per use."""
        return self.users.get(value, NOBODY)

    def count(self, value: Value) -> int:
        """The number of uses of a value."""
        return len(self.users.get(value, NOBODY))

    def __contains__(self, value: Value) -> bool:
        """Whether anything uses a value."""
        return value in self.users

    def only(self, value: Value) -> Op | None:
        """The operation that has the only use of a value; None if there are more uses, or none."""
        users = self.users.get(value, NOBODY)
        return users[0] if len(users) == 1 else None
