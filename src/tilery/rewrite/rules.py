"""Rules: what turns an operation into something better, what it returns, and the report of what was done.

rule = Rules()

@rule(Select)
def same_arms(o: Select) -> Value | None:
    "select(c, x, x) is x"
    return o.val_if_true if o.val_if_true is o.val_if_false else None
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ..analysis.uses import count_uses
from ..ir import Op, Value, walk


@dataclass(slots=True)
class Rewrite:
    """An edit of a block at the operation that a rule was called for."""

    ops: Sequence[Op] = ()
    """What stands there now, in order. The operation itself may be among them; otherwise it is gone."""
    values: Sequence[Value] | None = None
    """What replaces its results, one for each; None where nothing does, because they are kept or unused."""
    takes: int = 0
    """How many of the operations that follow are gone too."""
    ends: bool = False
    """`ops` end with a terminator: the rest of the block is dropped."""
    swept: bool = False
    """`ops` have been swept already, see `Place.swept`; the rules are not tried on them again in this sweep."""


Answer = Value | Op | Rewrite | None
"""What a rule returns: a value or an operation in place of the old one, the old one itself if it was changed in
place, an edit, or None where the rule does not apply."""


@dataclass(slots=True)
class Report:
    """What passes did."""

    counts: Counter[str] = field(default_factory=Counter)
    """How often each rule fired; `dead` counts removed operations."""
    remarks: list[tuple[Op, str]] = field(default_factory=list)
    """What was done, or was not and why, and at which operation."""
    complete: bool = True
    """False if the budget ran out before a fixed point was reached. The module is legal all the same."""

    def remark(self, o: Op, text: str) -> None:
        self.remarks.append((o, text))

    def add(self, other: Report) -> None:
        """Take over what another report says."""
        self.counts += other.counts
        self.remarks += other.remarks
        self.complete &= other.complete

    @property
    def changed(self) -> bool:
        return self.counts.total() > 0


class Dead:
    """Exact counts of uses, kept while dead code is removed from the end to the beginning."""

    __slots__ = ("counts",)

    def __init__(self, root: Op) -> None:
        self.counts = count_uses(walk(root))

    def uses(self, value: Value) -> int:
        return self.counts[value]

    def release(self, *values: Value) -> None:
        """Say that a use of each of these values is gone."""
        for value in values:
            self.counts[value] -= 1


class NamedRule:
    """A rule: its name and its law, which is the first line of its docstring."""

    __slots__ = ("law", "name", "placed", "run")

    def __init__(self, run: Callable[..., Answer]) -> None:
        self.run = run
        self.name = run.__name__.strip("_")
        self.law = (run.__doc__ or "").strip().partition("\n")[0]
        if not self.law:
            raise TypeError(f"rule {self.name}: the first line of its docstring must state its law")
        self.placed = len(inspect.signature(run).parameters) == 2


DeadRule = Callable[[Any, Dead], bool]
RuleT = TypeVar("RuleT", bound=Callable[..., Answer])
DeadT = TypeVar("DeadT", bound=DeadRule)


class Rules:
    """A set of rules. Those of one operation are tried in the order in which they were declared."""

    def __init__(self, *others: Rules) -> None:
        self.by_class: dict[type[Op], list[NamedRule]] = {}
        self.dead_by_class: dict[type[Op], list[DeadRule]] = {}
        for other in others:
            for cls, rules in other.by_class.items():
                self.by_class.setdefault(cls, []).extend(rules)
            for cls, dead in other.dead_by_class.items():
                self.dead_by_class.setdefault(cls, []).extend(dead)

    def __call__(self, *classes: type[Op]) -> Callable[[RuleT], RuleT]:
        """Declare a rule for these operations: `(o) -> Answer`, or `(o, at: Place) -> Answer`."""

        def declare(run: RuleT) -> RuleT:
            for cls in classes:
                self.by_class.setdefault(cls, []).append(NamedRule(run))
            return run

        return declare

    def dead(self, *classes: type[Op]) -> Callable[[DeadT], DeadT]:
        """Declare what to do about unused results: `(o, dead: Dead) -> bool` changes `o` and says whether it did."""

        def declare(run: DeadT) -> DeadT:
            for cls in classes:
                self.dead_by_class.setdefault(cls, []).append(run)
            return run

        return declare

    def all(self) -> list[NamedRule]:
        """Every rule once."""
        every = {rule.run: rule for rules in self.by_class.values() for rule in rules}
        return list(every.values())
