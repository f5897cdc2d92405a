"""Results as data: a verdict for each stage and for the candidate, as JSON, a table, and JUnit XML."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import isfinite
from typing import Any
from xml.sax.saxutils import quoteattr

from ..diag import TileError

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
ACCEPTED, REJECTED, UNJUDGED = "accepted", "rejected", "not judged"
STAGES = ("compile", "verify", "static", "sanitize", "run", "compare", "metamorphic", "prove", "time")
"""The stages in their order."""


class MachineError(TileError):
    """This machine cannot judge: something is missing, through no fault of a candidate."""


class FaultKind(Enum):
    """Faults of a candidate that are no `tilery.ErrorKind`. The values are stable."""

    WRONG_RESULT = "wrong-result"
    """An output is further from the reference than rounding explains."""
    UNWRITTEN = "unwritten"
    """An element of an output is not written."""
    UNREAD = "unread"
    """An input is never read."""
    CONSTANT = "constant"
    """Stored values do not depend on any input."""
    STATE = "state"
    """A global variable is written: the next launch could see it."""
    ADDRESS = "address"
    """An address is taken for a number: results could depend on the machine."""
    UNSTABLE = "unstable"
    """Results depend on what memory held before, or on the order of tile blocks."""
    CHANGED_INPUT = "changed-input"
    """An input, a guard region or a gap was changed."""
    LAW = "law"
    """A metamorphic law does not hold."""
    IMPOSSIBLE_TIME = "impossible-time"
    """It is faster than the machine can be."""


@dataclass(slots=True)
class StageResult:
    """The result of one stage."""

    stage: str
    verdict: str
    reason: str = ""
    kind: str = ""
    """The kind of error, see `tilery.ErrorKind`; empty if it passed."""
    seconds: float = 0.0
    facts: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        made: dict[str, Any] = {"stage": self.stage, "verdict": self.verdict, "seconds": round(self.seconds, 4)}
        if self.reason:
            made["reason"] = self.reason
        if self.kind:
            made["kind"] = self.kind
        return made | ({"facts": _finite(self.facts)} if self.facts else {})


def _finite(value: Any) -> Any:
    """Replace numbers that JSON does not have by their names."""
    match value:
        case dict():
            return {key: _finite(each) for key, each in value.items()}
        case list() | tuple():
            return [_finite(each) for each in value]
        case float() if not isfinite(value):
            return str(value)
    return value


@dataclass(slots=True)
class Result:
    """The verdict about a candidate."""

    candidate: str
    stages: list[StageResult] = field(default_factory=list)
    salt: int = 0
    """The same salt draws the same inputs."""
    error: str = ""
    """Why the candidate could not be judged, through no fault of its own."""

    @property
    def failed(self) -> StageResult | None:
        """The stage that rejected it."""
        return next((each for each in self.stages if each.verdict == FAILED), None)

    @property
    def verdict(self) -> str:
        if self.error:
            return UNJUDGED
        return REJECTED if self.failed else ACCEPTED

    @property
    def reason(self) -> str:
        return self.error or (self.failed.reason if self.failed else "")

    @property
    def kind(self) -> str:
        return self.failed.kind if self.failed else ""

    @property
    def seconds(self) -> float:
        return sum(round(each.seconds, 4) for each in self.stages)

    def as_dict(self) -> dict[str, Any]:
        """Return the result as plain data, for JSON."""
        return {
            "candidate": self.candidate,
            "verdict": self.verdict,
            "stage": self.failed.stage if self.failed else None,
            "kind": self.kind or None,
            "reason": self.reason or None,
            "salt": self.salt,
            "seconds": round(self.seconds, 4),
            "stages": [each.as_dict() for each in self.stages],
        }

    @staticmethod
    def from_dict(data: dict[str, Any]) -> Result:
        """Return the result that `as_dict` described."""
        stages = [
            StageResult(
                each["stage"], each["verdict"], each.get("reason", ""), each.get("kind", ""), each["seconds"],
                each.get("facts", {}),
            )
            for each in data["stages"]
        ]  # fmt: skip
        error = data.get("reason") or "" if data["verdict"] == UNJUDGED else ""
        return Result(data["candidate"], stages, data["salt"], error)


def file_name(candidate: str) -> str:
    """Return the name of a file about a candidate, without its ending: its path, so that shards can share a folder."""
    return os.path.normpath(candidate).strip(os.sep).replace(os.sep, "__")


def printable(text: str) -> str:
    r"""Return a text with escapes for what ends lines, moves the cursor or turns the direction of writing.

    >>> printable("no\x1b[2K\u2028other.py accepted")
    'no\\x1b[2K\\u2028other.py accepted'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def table(results: Sequence[Result]) -> str:
    """Return a table for people. Candidates write parts of reasons, and may not write other rows."""
    rows = [("candidate", "verdict", "stage", "kind", "seconds", "reason")]
    for each in results:
        stage = each.failed.stage if each.failed else ""
        reason = printable(each.reason.partition("\n")[0])
        rows.append((printable(each.candidate), each.verdict, stage, each.kind, f"{each.seconds:.2f}", reason))
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    lines = ["  ".join([*(cell.ljust(width) for cell, width in zip(row, widths)), row[5]]).rstrip() for row in rows]
    return "\n".join(lines) + "\n"


def junit(results: Iterable[Result], name: str = "tilery judge") -> str:
    """Return the results as JUnit XML: a suite per candidate, a test per stage."""
    suites = []
    totals = [0, 0, 0]
    for result in results:
        cases = [_case(result, each) for each in result.stages]
        failed = sum(each.verdict == FAILED for each in result.stages)
        skipped = sum(each.verdict == SKIPPED for each in result.stages)
        if result.error:
            cases.append(
                f'    <testcase classname={_quoted(result.candidate)} name="judge"><error message='
                f"{_quoted(result.error)}/></testcase>"
            )
        totals = [totals[0] + len(cases), totals[1] + failed, totals[2] + bool(result.error)]
        head = f'tests="{len(cases)}" failures="{failed}" errors="{int(bool(result.error))}" skipped="{skipped}"'
        suites += [
            f'  <testsuite name={_quoted(result.candidate)} {head} time="{result.seconds:.4f}">',
            *cases,
            "  </testsuite>",
        ]
    head = f'tests="{totals[0]}" failures="{totals[1]}" errors="{totals[2]}"'
    return "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f"<testsuites name={_quoted(name)} {head}>",
            *suites,
            "</testsuites>",
            "",
        ]
    )


def _case(result: Result, stage: StageResult) -> str:
    head = f'    <testcase classname={_quoted(result.candidate)} name={_quoted(stage.stage)} time="{stage.seconds:.4f}"'
    match stage.verdict:
        case "failed":
            return f"{head}><failure type={_quoted(stage.kind)} message={_quoted(stage.reason)}/></testcase>"
        case "skipped":
            return f"{head}><skipped message={_quoted(stage.reason)}/></testcase>"
    return f"{head}/>"


def _quoted(text: str) -> str:
    """Quote an attribute; characters that XML does not allow are replaced."""
    clean = "".join(c if c in "\t\n" or " " <= c < "\ud800" or "\ue000" <= c < "\ufffe" else "\ufffd" for c in text)
    return quoteattr(clean)
