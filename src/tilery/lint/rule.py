"""Rules and findings: what a rule declares, and what it reports."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from enum import Enum

from ..checking import TYPE_CHECKING
from ..declare.fastclass import dataclass
from ..ir import Op, Value

if TYPE_CHECKING:
    from .facts import Facts


class Severity(Enum):
    """How bad a finding is. Notes do not change the exit status."""

    ERROR = "error"
    """The behaviour is undefined whenever the operation is executed."""
    WARNING = "warning"
    """The kernel very likely does not do what its author wants."""
    NOTE = "note"
    """The kernel is slower or less precise than need be, or depends on what the text does not say."""


@dataclass(frozen=True, slots=True)
class AddToken:
    """Let an access wait for a token."""

    token: Value


@dataclass(frozen=True, slots=True)
class ReplaceWord:
    """Replace a word of an operation's own text by another one; an empty one removes it."""

    old: str
    new: str


@dataclass(frozen=True, slots=True)
class RemoveOp:
    """Remove an operation."""


Change = AddToken | ReplaceWord | RemoveOp


@dataclass(frozen=True, slots=True)
class Fix:
    """A change of the text that settles a finding. `--fix` makes safe ones; editors offer all of them."""

    title: str
    change: Change
    is_safe: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Finding:
    """Something that a rule objects to."""

    rule: str
    severity: Severity
    op: Op
    message: str
    notes: tuple[str, ...] = ()
    related: tuple[tuple[Op, str], ...] = ()
    """Other operations that take part, each with a note."""
    fix: Fix | None = None


@dataclass(frozen=True, slots=True)
class Match:
    """A result of the function of a rule; the rule itself is added to it."""

    op: Op
    message: str
    notes: tuple[str, ...] = ()
    related: tuple[tuple[Op, str], ...] = ()
    fix: Fix | None = None
    severity: Severity | None = None
    """Instead of that of the rule."""


Run = Callable[["Facts"], Iterator[Match]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: its name, and the function that looks at a kernel. Its page is the docstring of the function."""

    id: str
    severity: Severity
    run: Run

    @property
    def summary(self) -> str:
        """The first line of the page."""
        return self.page.partition("\n")[0]

    @property
    def page(self) -> str:
        """The documentation of the rule: a summary, the reason, how to fix it, a bad and a good example."""
        return inspect.cleandoc(self.run.__doc__ or "")


class RuleFile(dict[str, Rule]):
    """The rules of one file, by their names."""

    def __call__(self, id: str, severity: Severity) -> Callable[[Run], Run]:
        """Declare a rule."""

        def declare(run: Run) -> Run:
            self[id] = Rule(id, severity, run)
            return run

        return declare


ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE
