"""The rules that a verifier applies to operations, and where to find those of an older one."""

from __future__ import annotations

from ..checking import TYPE_CHECKING
from ..ir import Op
from ..ops.checks import Answer

if TYPE_CHECKING:
    from ..declare.constraints import Constraint
    from ..declare.fields import Field
    from ..declare.operation import OpDef
    from .verify import Finding


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

    def reword(self, finding: Finding) -> Finding:
        return finding


NEWEST = Verifier()
_OLDER: dict[str, Verifier] = {}


def find_verifier(reader: str | None) -> Verifier:
    """Return the verifier that belongs to a reader."""
    if reader is None:
        return NEWEST
    if reader not in _OLDER:
        from ..bytecode.profile import find_profile
        from .older import OlderVerifier

        profile = find_profile(reader)
        _OLDER[reader] = NEWEST if profile is find_profile(None) else OlderVerifier(profile)
    return _OLDER[reader]
