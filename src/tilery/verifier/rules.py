"""Violations, and the rules that a verifier applies to operations; those of an older one are in `older`."""

from __future__ import annotations

from ..checking import TYPE_CHECKING
from ..declare.fastclass import dataclass
from ..ir import Op
from ..ops.checks import Answer

if TYPE_CHECKING:
    from ..declare.constraints import Constraint
    from ..declare.fields import Field
    from ..declare.operation import OpDef


@dataclass(frozen=True)
class Violation:
    """One violation: the operation, NVIDIA's message, and where it can be seen (operand or attribute `field`)."""

    op: Op
    message: str
    field: str = ""
    notes: tuple[str, ...] = ()
    related: tuple[tuple[Op, str], ...] = ()
    """Other operations that the message is about, each with a note."""
    warning: bool = False
    """Whether the module is legal anyway."""
    rule: str = ""
    """The name of the rule, if a program acts on it."""


class Verifier:
    """The rules of the newest verifier."""

    def check(self, o: Op) -> Answer:
        return None if o.check is None else o.check()

    def check_nested(self, o: Op, ancestors: list[Op]) -> Answer:
        return None if o.check_nested is None else o.check_nested(ancestors)

    def check_regions(self, o: Op) -> Answer:
        return None if o.check_regions is None else o.check_regions()

    def parents(self, opdef: OpDef) -> tuple[str, ...]:
        return opdef.parents

    def kind(self, opdef: OpDef, f: Field) -> Constraint:
        kind: Constraint = f.kind
        return kind

    def reword(self, finding: Violation) -> Violation:
        return finding


NEWEST = Verifier()
