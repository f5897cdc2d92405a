"""The catalogue of candidates: honest kernels, and exploits and faults with their sources."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tilery.judge import Jail, Judge, Limits, Problem, Result, read_problem

HERE = Path(__file__).parent / "catalogue"
HONEST, EXPLOIT = "honest", "exploit"
FRESH, THIRD = "fresh_", "third_"
TILEGYM = re.compile(r"# tilegym (.*)\n")


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
    needs: str = ""
    """The kernels of TileGym that belong before its text: a file, and names in it."""

    @property
    def key(self) -> str:
        return f"{self.problem}/{self.name}"


def entries(kind: str, prefix: str = "") -> Iterator[Entry]:
    """Yield the candidates of a kind; those of `fresh_` and `third_` files were written before the judge saw them."""
    held = set((HERE / "held_out.txt").read_text("utf-8").split())
    text = (HERE / f"{prefix}{kind}.txt").read_text("utf-8")
    for part in re.split(r"^=== ", text, flags=re.MULTILINE)[1:]:
        head, _, body = part.partition("\n")
        key, _, source = head.partition(" | ")
        problem, _, name = key.partition("/")
        needs = found[1] if (found := TILEGYM.match(body)) else ""
        yield Entry(kind, problem, name, body, source, f"{kind}/{key}" in held, needs)


def with_kernels(entry: Entry, checkout: Path) -> Entry:
    """Return a candidate with the kernels of TileGym that it launches, as they are in a checkout."""
    file, _, names = entry.needs.partition(": ")
    source = (checkout / file).read_text("utf-8")
    lines = source.splitlines()
    found = {each.name: each for each in ast.parse(source).body if isinstance(each, ast.FunctionDef)}
    parts = []
    for name in names.split():
        # Other decorators register or tune a kernel, which is not judged.
        kept = [each for each in found[name].decorator_list if re.match(r"ct\.kernel|triton\.jit", ast.unparse(each))]
        marks = [f"@{ast.unparse(each)}" for each in kept]
        parts.append("\n".join([*marks, *lines[found[name].lineno - 1 : found[name].end_lineno]]))
    head, mark, host = entry.text.partition("def run(")
    return replace(entry, text="\n\n\n".join([head, *parts, mark + host]))


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
