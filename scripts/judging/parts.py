"""The catalogue of candidates: honest kernels, and exploits and faults with their sources."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tilery.judge import Jail, Judge, Limits, Problem, Result, read_problem

HERE = Path(__file__).parent / "catalogue"
HONEST, EXPLOIT = "honest", "exploit"


@dataclass(frozen=True, slots=True)
class Entry:
    """A candidate of the catalogue."""

    kind: str
    problem: str
    name: str
    """The name of the file, whose ending tells what it is."""
    text: str
    source: str
    """Where the idea comes from; empty for honest kernels."""
    held_out: bool
    """Whether it was looked at for the report only, after the judge was finished."""

    @property
    def key(self) -> str:
        return f"{self.problem}/{self.name}"


def entries(kind: str) -> Iterator[Entry]:
    """Yield the candidates of a kind."""
    held = set((HERE / "held_out.txt").read_text("utf-8").split())
    text = (HERE / f"{kind}.txt").read_text("utf-8")
    for part in re.split(r"^=== ", text, flags=re.MULTILINE)[1:]:
        head, _, body = part.partition("\n")
        key, _, source = head.partition(" | ")
        problem, _, name = key.partition("/")
        yield Entry(kind, problem, name, body, source, f"{kind}/{key}" in held)


def problem_of(name: str) -> Problem:
    """Return a problem of the catalogue."""
    return read_problem(HERE / "problems" / f"{name}.toml")


LIMITS = Limits(seconds=40.0, cpu_seconds=10)
"""Limits on compiling a candidate of the catalogue."""


class Bench:
    """Judges entries, with one judge per problem and one jail for all."""

    def __init__(self, salt: int | None = None) -> None:
        self.salt = salt
        self.jail = Jail(LIMITS, hidden=[HERE])
        self.judges: dict[str, Judge] = {}

    def judge(self, entry: Entry) -> Result:
        """Judge an entry."""
        if entry.problem not in self.judges:
            made = self.judges[entry.problem] = Judge(problem_of(entry.problem), salt=self.salt, seconds=5.0)
            made.jail = self.jail
        return self.judges[entry.problem].judge_source(entry.text, entry.name)

    def close(self) -> None:
        self.jail.close()
