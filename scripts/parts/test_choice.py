"""Which tests execute which lines, and the order in which they are asked about a mutant."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from .random_mutants import Mutant
from .test_workers import Answer, Batch

CHEAP, FEW = 0.5, 12
"""From each file, so many tests come first that take at most so many seconds."""
FIRST, CHUNK = 20.0, 60.0
"""The seconds of tests in the first chunk of a plan, and in each other one."""


@dataclass
class Tests:
    """All tests, by their names without parameters: `tests/text/test_x.py::test_y`."""

    seconds: dict[str, float] = field(default_factory=dict)
    collecting: dict[str, float] = field(default_factory=dict)
    """The seconds that it takes to import a test file and find its tests."""
    failed: list[str] = field(default_factory=list)
    """Tests that fail without a change; they are not asked."""
    lines: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    """The tests that execute a line of a file of the core."""

    def add(self, file: str, answer: Answer) -> None:
        self.seconds |= answer.times
        self.collecting[file] = answer.collecting
        self.failed += [name.partition("[")[0] for name in answer.failures]
        for source, lines in answer.lines.items():
            known = self.lines.setdefault(source, {})
            for line, names in lines.items():
                known[line] = [*known.get(line, ()), *names]

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(vars(self)), "utf-8")

    @classmethod
    def load(cls, path: Path) -> Tests:
        return cls(**json.loads(path.read_text("utf-8")))

    def keep(self, files: Collection[str]) -> None:
        """Forget the tests of other files."""
        self.seconds = {name: time for name, time in self.seconds.items() if name.partition("::")[0] in files}

    def executing(self, mutant: Mutant) -> set[str]:
        """Return the tests that execute the line, or anything of its file if importing it executes the line."""
        lines = self.lines.get(mutant.file, {})
        found = lines.values() if mutant.at_import else [lines.get(str(mutant.line), [])]
        return {name for names in found for name in names} & self.seconds.keys() - set(self.failed)


@dataclass(frozen=True, slots=True)
class Plan:
    """The tests for a mutant, in chunks; those of the first chunks execute its line."""

    chunks: list[list[Batch]]
    executing: int
    """How many chunks have tests that execute the line."""


def plan(mutant: Mutant, tests: Tests) -> Plan:
    """Order the tests for a mutant: those that execute the line before the others, the cheapest first."""
    first = tests.executing(mutant)
    others = tests.seconds.keys() - first - set(tests.failed)
    chunks = list(_chunks(_units(first, tests), FIRST))
    return Plan([*chunks, *_chunks(_units(others, tests), CHUNK)], len(chunks))


Unit = tuple[float, str, list[str]]


def _units(names: set[str], tests: Tests) -> list[Unit]:
    """Group tests by file: a few cheap ones first, then the others one by one."""
    by_file: dict[str, list[str]] = {}
    for name in sorted(names, key=tests.seconds.__getitem__):
        by_file.setdefault(name.partition("::")[0], []).append(name)
    units: list[Unit] = []
    for file, members in by_file.items():
        collecting = tests.collecting.get(file, 0.5)
        cheap = [name for name in members if tests.seconds[name] <= CHEAP]
        groups = [cheap[:FEW], cheap[FEW:], *([name] for name in members[len(cheap) :])]
        units += [(collecting + sum(map(tests.seconds.__getitem__, group)), file, group) for group in groups if group]
    return sorted(units)


def _chunks(units: list[Unit], first: float) -> Iterator[list[Batch]]:
    """Divide units into chunks, and each chunk into batches that are run by one call of pytest."""
    chunk: list[Batch] = []
    limit, size, used = first, first / 6, 0.0
    batch: Batch = {}
    spent = 0.0
    for seconds, file, names in units:
        if batch and spent + seconds > size:
            chunk.append(batch)
            batch, size, spent = {}, size * 2, 0.0
        if chunk and used + seconds > limit:
            yield chunk
            chunk, limit, size, used = [], CHUNK, CHUNK / 4, 0.0
        batch.setdefault(file, []).extend(names)
        spent += seconds
        used += seconds
    if batch:
        chunk.append(batch)
    if chunk:
        yield chunk
