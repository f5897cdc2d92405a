"""User selections: launches that are not watched, and known reports that are left out.

A file of suppressions has a rule per line, and comments that start with `#`:

    race kernel=histogram*
    uninit at=attention.py:120
    uninit rule=*is printed

The first word is a check or `*`; the other words must all match, as patterns of the shell. A baseline is a JSON file
that a run has written: reports that it lists are left out, whatever their line is now.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from ..diag import TileError
from ..engines.common.cutile_abi import function_name
from ..source.input import Input
from ..source.lines import innermost
from .reports import Report

ALLOW = re.compile(r"tilery: allow ([\w-]+(?:, *[\w-]+)*)")
"""A comment on the line of an operation, which leaves out reports of these checks."""
WORDS = ("kernel", "at", "rule")


@dataclass(slots=True)
class Selection:
    """The launches to watch: those of some kernels, after `skip` launches of them, at most `count`."""

    kernels: Sequence[str] = ()
    skip: int = 0
    count: int | None = None
    watched: int = 0
    left_out: int = 0
    stopped: int = 0
    """The watched launches that an error ended."""
    _seen: int = 0
    _names: set[str] = field(default_factory=set)

    @property
    def is_limited(self) -> bool:
        """Whether some launches are not watched."""
        return bool(self.kernels or self.skip or self.count is not None)

    @property
    def misses(self) -> str:
        """The names of the kernels that were launched, if the one that the user asked for was not."""
        return "" if self._seen or not self.kernels else ", ".join(sorted(self._names))

    def takes(self, kernel: str) -> bool:
        """Tell whether to watch the launch of a kernel that starts now."""
        wanted = not self.kernels or any(_is_named(kernel, pattern) for pattern in self.kernels)
        self._names.add(function_name(kernel))
        self._seen += wanted
        last = None if self.count is None else self.skip + self.count
        chosen = wanted and self._seen > self.skip and (last is None or self._seen <= last)
        self.watched += chosen
        self.left_out += not chosen
        return chosen


def _is_named(kernel: str, pattern: str) -> bool:
    """Whether a pattern matches the name of an entry, or that of its Python function."""
    return fnmatchcase(kernel, pattern) or fnmatchcase(function_name(kernel), pattern)


class Suppression(NamedTuple):
    """A line of a file of suppressions."""

    check: str
    patterns: dict[str, str]

    def matches(self, report: Report, place: str) -> bool:
        """Tell whether it leaves out a report, whose operation is at `FILE:LINE`."""
        if not fnmatchcase(report.check, self.check):
            return False
        for word, pattern in self.patterns.items():
            if word == "kernel" and not _is_named(report.kernel, pattern):
                return False
            if word == "rule" and not fnmatchcase(report.rule, pattern):
                return False
            if word == "at" and not (fnmatchcase(place, pattern) or fnmatchcase(place, f"*/{pattern}")):
                return False
        return True


@dataclass(slots=True)
class Suppressions:
    """The reports to leave out."""

    rules: list[Suppression] = field(default_factory=list)
    baseline: set[tuple[str, ...]] = field(default_factory=set)

    def matches(self, report: Report, source: Input | None = None) -> bool:
        """Tell whether to leave out a report; `source` is the input that its module was read from."""
        place, text = locate(report, source)
        allowed = ALLOW.search(text)
        if allowed is not None and report.check in re.split(", *", allowed[1]):
            return True
        if any(rule.matches(report, place) for rule in self.rules):
            return True
        return bool(self.baseline) and fingerprint(report, source) in self.baseline


def locate(report: Report, source: Input | None) -> tuple[str, str]:
    """Return the place of a report as `FILE:LINE`, and the text of that line; empty where there is none."""
    if (found := innermost(report.op.loc)) is not None:
        return f"{found.file}:{found.line}", found.text
    if source is None:
        return "", ""
    error = source.error(report.op, "")
    if error.line is None:
        return "", ""
    lines = (error.source or "").splitlines()
    return f"{source.file}:{error.line}", lines[error.line - 1] if error.line <= len(lines) else ""


def fingerprint(report: Report, source: Input | None) -> tuple[str, ...]:
    """Return what tells a report from others, even if lines above it change."""
    return report.check, report.rule, report.kernel, report.op.name, locate(report, source)[1].strip()


def read_rules(text: str, file: str) -> list[Suppression]:
    """Parse a file of suppressions.

    >>> read_rules("race kernel=histogram*  # known", "file")
    [Suppression(check='race', patterns={'kernel': 'histogram*'})]
    """
    rules = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].strip()
        if not words:
            continue
        check, _, rest = words.partition(" ")
        parts = re.split(rf"\s*\b({'|'.join(WORDS)})=", " " + rest)
        if parts[0].strip() or (not parts[1:] and rest.strip()):
            known = ", ".join(f"{word}=PATTERN" for word in WORDS)
            raise TileError(f"{file}:{number}: expected a check and {known}, got '{words}'")
        rules.append(Suppression(check, dict(zip(parts[1::2], (part.strip() for part in parts[2::2])))))
    return rules


def read_baseline(path: Path) -> set[tuple[str, ...]]:
    """Return the fingerprints of a baseline."""
    try:
        found = json.loads(path.read_text("utf-8"))["reports"]
        return {tuple(str(part) for part in each) for each in found}
    except (ValueError, TypeError, KeyError):
        raise TileError(f"{path}: this is no baseline of the sanitizer") from None


def write_baseline(path: Path, reports: Iterable[Report], source: Input | None) -> None:
    """Write the fingerprints of reports."""
    found = sorted({fingerprint(report, source) for report in reports})
    path.write_text(json.dumps({"reports": found}, indent=1) + "\n", "utf-8")
