"""The faults of trial launches as findings of rules."""

from __future__ import annotations

from collections.abc import Iterable

from ...ir import Op
from ...ops import DivI, Extract, For, FToI, Insert, Module, RemI, ShLI, ShRI
from ..facts import Facts
from ..rule import NOTE, Finding
from ..rules import RULES
from .launch import STARVED, Budget
from .unreached import UNREACHED
from .verdict import Found, run_trials

BY_CHECK = {
    "race": "race",
    "bounds": "out-of-bounds",
    "alignment": "misaligned-access",
    "promise": "false-promise",
    "uninit": "alloca-unwritten",
    "undefined": "undefined",
    "padding": "padding-takes-part",
    "deadlock": "deadlock",
    "nan": "makes-nan",
    UNREACHED: UNREACHED,
}
"""The rule for a fault that a check of the sanitizer finds."""
UNDEFINED: dict[type[Op], str] = {
    **dict.fromkeys((DivI, RemI), "divide-by-zero"),
    **dict.fromkeys((ShLI, ShRI), "shift-too-far"),
    **dict.fromkeys((Extract, Insert), "index-out-of-range"),
    FToI: "conversion-out-of-range",
    For: "loop-step",
}
"""The rule for operands that are not in the domain of an operation."""
SAME = {
    "race": frozenset(
        (
            "acquire-token-unused", "block-scope", "duplicate-elements", "missing-token", "mixed-atomicity",
            "neighbour-race", "overlapping-view", "relaxed-acquire", "relaxed-release", "release-without-token",
            "same-address", "wait-without-token", "weak-flag",
        )
    ),
    "deadlock": frozenset(("deadlock", "endless-loop")),
    "alloca-unwritten": frozenset(("alloca-unwritten", "out-of-bounds", "missing-token")),
    "out-of-bounds": frozenset(("out-of-bounds", "alloca-escapes", "read-only-store", "false-promise")),
    "unpadded-load": frozenset(("unpadded-load", "unpadded-edge")),
    "unpadded-edge": frozenset(("unpadded-load", "unpadded-edge")),
}  # fmt: skip
"""The rules that find the same fault in the text, and say more about its cause."""


class TrialRules:
    """Launches the kernels of a module, within one budget."""

    def __init__(self, module: Module) -> None:
        self._module, self._budget = module, Budget()

    def findings(self, facts: Facts, known: Iterable[Finding]) -> list[Finding]:
        """Return what launches of a kernel find, without what rules have found in its text."""
        places = [(finding.rule, {finding.op, *(o for o, _ in finding.related)}) for finding in known]
        made: dict[tuple[str, Op], Finding] = {}
        for found in run_trials(self._module, facts, self._budget):
            finding = _finding(found)
            involved = {place.op for place in found.report.places}
            same = SAME.get(finding.rule, frozenset((finding.rule,)))
            if not any(rule in same and not involved.isdisjoint(ops) for rule, ops in places):
                made.setdefault((finding.rule, finding.op), finding)
        return list(made.values())


def _finding(found: Found) -> Finding:
    report = found.report
    name = BY_CHECK[report.check]
    if report.check == "uninit" and found.hole is not None:
        name = "unpadded-load" if found.always else "unpadded-edge"
    elif report.check == "undefined":
        name = UNDEFINED.get(type(report.op), name)
    values = [f"{what} is {value}" for what, value in report.values.items() if "address" not in what]
    where = f"in tile block ({', '.join(map(str, report.places[0].block))})" if report.places[0].block else ""
    if report.places[0].element:
        where += f", element [{', '.join(map(str, report.places[0].element))}]"
    when = "whenever that load leaves out a part of a tile" if found.hole is not None else "whatever the arguments are"
    is_note = report.rule == STARVED or (found.hole is not None and not found.always)
    notes = [
        f"{where}{': ' if values and where else ''}{', '.join(values)}",
        *report.notes,
        f"it happened in trial launches on made-up arguments, {when}",
    ]
    related = tuple((place.op, place.note) for place in report.places[1:])
    message = f"{report.op.name}: {report.rule}"
    severity = NOTE if is_note else RULES[name].severity
    return Finding(name, severity, report.op, message, tuple(filter(None, notes)), related)
