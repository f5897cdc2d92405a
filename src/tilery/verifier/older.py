"""The verifiers of older versions: the rules of the newest one, with the differences that `ops.older` lists."""

from __future__ import annotations

from functools import cache

from ..bytecode.hints import old_problem
from ..bytecode.profile import Profile, find_profile
from ..checking import TYPE_CHECKING
from ..declare.constraints import Constraint
from ..declare.fastclass import replace
from ..declare.fields import AttrKind, Field
from ..declare.operation import OpDef
from ..declare.relations import Objection
from ..ir import Op, UnknownOp
from ..ops import older
from ..ops.checks import Answer
from ..version import LATEST, Version
from .rules import NEWEST, Verifier, Violation

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class OlderVerifier(Verifier):
    """The rules of an older verifier."""

    def __init__(self, profile: Profile) -> None:
        self.profile, self.latest = profile, profile.latest
        self.words = [(new, old) for last, new, old in older.WORDS if self.latest <= last]

    def check(self, o: Op) -> Answer:
        row: Callable[[Any], Answer] | None = _row(older.CHECKS.get(type(o), ()), self.latest)
        return (super().check(o) if row is None else row(o)) or self._hints(o)

    def check_nested(self, o: Op, ancestors: list[Op]) -> Answer:
        row = _row(older.NESTED_CHECKS.get(type(o), ()), self.latest)
        answer: Answer = super().check_nested(o, ancestors) if row is None else row(o, ancestors)
        return answer

    def check_regions(self, o: Op) -> Answer:
        row: Callable[[Any], Answer] | None = _row(older.REGION_CHECKS.get(type(o), ()), self.latest)
        return super().check_regions(o) if row is None else row(o)

    def _hints(self, o: Op) -> Answer:
        """Check hints, as verifiers before 13.3 do."""
        known = self.profile.hint_architectures
        for f in o.opdef.attrs if known and not isinstance(o, UnknownOp) else ():
            value = getattr(o, f.attr) if f.kind is AttrKind.HINTS else None
            if value is not None and (why := old_problem(value.value, known, f.hints)) is not None:
                return Objection(why, f.name, notes=("Optimization hints verification failed",))
        return None

    def parents(self, opdef: OpDef) -> tuple[str, ...]:
        return _row(older.PARENTS.get(opdef.cls, ()), self.latest) or opdef.parents

    def kind(self, opdef: OpDef, f: Field) -> Constraint:
        kind: Constraint = _row(older.KINDS.get((opdef.cls, f.name), ()), self.latest) or f.kind
        return kind if kind.before is None else _older_kind(kind, self.latest)

    def reword(self, finding: Violation) -> Violation:
        """Return a violation in the words of the older verifier, with former names of operations."""
        message = finding.message
        for new, old in self.words:
            message = message.replace(new, old)
        opdef = None if isinstance(finding.op, UnknownOp) else finding.op.opdef
        if opdef is not None and (name := opdef.name_in(self.latest)) != opdef.mnemonic:
            message = message.replace(f"'cuda_tile.{opdef.mnemonic}'", f"'cuda_tile.{name}'")
        return finding if message == finding.message else replace(finding, message=message)


def _row(rows: Any, latest: Version) -> Any:
    """Return the value of the first row that still holds in a version."""
    return next((value for last, value in rows if latest <= last), None)


@cache
def _older_kind(kind: Constraint, latest: Version) -> Constraint:
    assert kind.before is not None
    return kind.before(latest)


@cache
def find_verifier(reader: str) -> Verifier:
    """Return the verifier that belongs to a reader."""
    profile = find_profile(reader)
    return NEWEST if profile.latest == LATEST else OlderVerifier(profile)
