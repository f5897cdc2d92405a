"""Uses: which operations use each value, and how often.

The IR has no use lists. A pass that only asks how often a value is used keeps `UseCounts`, which take one walk in C; an
edit, which replaces values, keeps `Uses`. Both have the same three methods for changes: `add`, `remove` and `replace`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain

from ..ir import Block, Op, Value, walk

NO_USERS: Mapping[Op, int] = {}


class UseCounts(Counter[Value]):
    """How often each value is used."""

    __slots__ = ()

    def add(self, o: Op) -> None:
        """Count the operands of an operation."""
        for value in o.operands:
            self[value] += 1

    def remove(self, o: Op) -> None:
        """Forget the operands of an operation."""
        self.release(o.operands)

    def release(self, values: Iterable[Value]) -> None:
        """Remove one use of each of these values."""
        for value in values:
            self[value] -= 1

    def replace(self, old: Value, new: Value) -> None:
        """Make every use of a value one of another value."""
        self[new] += self.pop(old, 0)


def count_uses(ops: Iterable[Op]) -> UseCounts:
    """Count the uses of each value among the operands of these operations; `count_uses(walk(root))` for all inside."""
    return UseCounts(chain.from_iterable([o.operands for o in ops]))


class Uses:
    """The users of each value, inside an operation or a block. They are updated by its methods only.

    >>> from tilery import parse
    >>> entry = parse("entry @k(%n: tile<i32>) { %0 = addi %n, %n : tile<i32> return }").entries[0]
    >>> uses = Uses(entry)
    >>> uses.count(entry.body.args[0]), [o.name for o in uses.of(entry.body.args[0])]
    (2, ['addi', 'addi'])
    """

    __slots__ = ("users",)

    def __init__(self, root: Op | Block | None = None) -> None:
        self.users: dict[Value, dict[Op, int]] = {}
        """The users of each used value, in textual order at first, and how often each uses it."""
        for o in walk(root) if root is not None else ():
            self.add(o)

    def of(self, value: Value) -> list[Op]:
        """The users of a value, once per use."""
        return [o for o, count in self.users.get(value, NO_USERS).items() for _ in range(count)]

    def count(self, value: Value) -> int:
        """The number of uses of a value."""
        return sum(self.users.get(value, NO_USERS).values())

    def __contains__(self, value: Value) -> bool:
        """Whether anything uses a value."""
        return value in self.users

    def only(self, value: Value) -> Op | None:
        """The operation that has the only use of a value; None if there are more uses, or none."""
        users = self.users.get(value, NO_USERS)
        return next((o for o, count in users.items() if count == 1), None) if len(users) == 1 else None

    def add(self, o: Op) -> None:
        """Enter an operation as a user of its operands."""
        for value in o.operands:
            users = self.users.get(value)
            if users is None:
                self.users[value] = {o: 1}
            else:
                users[o] = users.get(o, 0) + 1

    def remove(self, o: Op) -> None:
        """Forget an operation as a user of its operands."""
        for value in set(o.operands):
            users = self.users[value]
            del users[o]
            if not users:
                del self.users[value]

    def replace(self, old: Value, new: Value) -> Mapping[Op, int]:
        """Make every use of a value one of another value; return the users. Their operands are the caller's affair."""
        users = self.users.pop(old, NO_USERS)
        if users:
            mine = self.users.setdefault(new, {})
            for o, count in users.items():
                mine[o] = mine.get(o, 0) + count
        return users
