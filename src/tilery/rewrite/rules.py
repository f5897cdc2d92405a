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
from ..attrs import Loc
from ..diag import TileError, did_you_mean
from ..ir import Op, Value, walk


@dataclass(slots=True)
class Rewrite:
    """An edit of a block at the operation that a rule was called with."""

    ops: Sequence[Op] = ()
    """The operations that take its place, in order. It may be among them; if it is not, it is erased."""
    values: Sequence[Value] | None = None
    """The replacements of its results, one for each; None if the results are kept or unused."""
    takes: int = 0
    """How many of the operations that follow are erased too."""
    ends: bool = False
    """`ops` end with a terminator: the rest of the block is dropped."""
    swept: bool = False
    """`ops` have been swept already, see `Place.swept`; the rules are not tried on them again in this sweep."""


Answer = Value | Op | Rewrite | None
"""The result of a rule: the value or operation that replaces the old one, the old one itself if it was changed in
place, an edit, or None if the rule does not apply."""


@dataclass(frozen=True, slots=True)
class Fired:
    """One rule that fired: its name, and the name and location of the operation that it was called with."""

    rule: str
    op: str
    loc: Loc | None


@dataclass(slots=True)
class Report:
    """A record of what passes did."""

    counts: Counter[str] = field(default_factory=Counter)
    """How often each rule fired; `dead` counts removed operations."""
    remarks: list[tuple[Op, str]] = field(default_factory=list)
    """Messages for the user about what was done, or why it was not, each with the operation it is about."""
    complete: bool = True
    """False if the budget ran out before a fixed point was reached. The module is legal all the same."""
    endless: list[str] = field(default_factory=list)
    """The rules that still fired when the budget ran out, the most frequent first."""
    log: list[Fired] | None = None
    """Each rule that fired, in order, if a list is given."""

    def remark(self, o: Op, text: str) -> None:
        self.remarks.append((o, text))

    def fire(self, rule: str, o: Op) -> None:
        """Count a rule that fired for an operation, and log it if a log is wanted."""
        self.counts[rule] += 1
        if self.log is not None:
            self.log.append(Fired(rule, o.name, o.loc))

    def add(self, other: Report) -> None:
        """Add the contents of another report."""
        self.counts += other.counts
        self.remarks += other.remarks
        self.complete &= other.complete
        self.endless += [name for name in other.endless if name not in self.endless]

    @property
    def changed(self) -> bool:
        return self.counts.total() > 0


class Dead:
    """Exact use counts, kept up to date while dead code is removed from back to front."""

    __slots__ = ("counts",)

    def __init__(self, root: Op) -> None:
        self.counts = count_uses(walk(root))

    def uses(self, value: Value) -> int:
        return self.counts[value]

    def release(self, *values: Value) -> None:
        """Remove one use of each of these values."""
        self.counts.release(values)


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
    """A set of rules. The rules for an operation are tried in the order of their declaration."""

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
        """Declare how to drop unused results: `(o, dead: Dead) -> bool` changes `o` and returns whether it did."""

        def declare(run: DeadT) -> DeadT:
            for cls in classes:
                self.dead_by_class.setdefault(cls, []).append(run)
            return run

        return declare

    def names(self) -> list[str]:
        """Return the names of all rules, those for unused results included."""
        dead = (run.__name__ for rules in self.dead_by_class.values() for run in rules)
        return list(dict.fromkeys([*(rule.name for rule in self.all()), *dead]))

    def without(self, names: Sequence[str]) -> Rules:
        """Return these rules but for some; raise TileError for a name that no rule has."""
        for name in names:
            if name not in self.names():
                raise TileError(f"unknown pattern '{name}'{did_you_mean(name, self.names())}")
        left = Rules()
        for cls, rules in self.by_class.items():
            left.by_class[cls] = [rule for rule in rules if rule.name not in names]
        for cls, dead in self.dead_by_class.items():
            left.dead_by_class[cls] = [run for run in dead if run.__name__ not in names]
        return left

    def all(self) -> list[NamedRule]:
        """Every rule once."""
        every = {rule.run: rule for rules in self.by_class.values() for rule in rules}
        return list(every.values())
