"""The search for a smaller case: steps are repeated until none of them finds a candidate that is still interesting."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from random import Random

from ..diag import TileError, enough_memory
from ..verifier.verify import verify
from ..version import Version
from .case import Case, Size, digest, measure
from .runners import CandidateRunner
from .steps import Candidates, plan

TOGETHER = 8
"""The number of candidates that are shuffled at a time."""


@dataclass(slots=True)
class Reduction:
    """The result of a reduction: the smallest case, and what it took."""

    case: Case
    outcome: str
    """The outcome of the test."""
    before: Size
    after: Size
    tests: int = 0
    """The number of candidates that were tested."""
    illegal: int = 0
    """The number of candidates that were not tested because they are not legal."""
    known: int = 0
    """The number of candidates that had been tested before, in this run or in the one that it continues."""
    seconds: float = 0.0
    complete: bool = True
    """Whether nothing is left to try; False if the time was up, or the search was interrupted."""
    interrupted: bool = False
    """Whether Ctrl-C ended the search."""
    taken: list[str] = field(default_factory=list)
    """The steps that found something smaller, in order."""


class OutcomeLog:
    """The outcomes so far, by the digest of the candidate; with a file, a later run finds them there."""

    def __init__(self, file: Path | None, head: str) -> None:
        self.outcomes: dict[str, str] = {}
        self.file = file
        if file is None:
            return
        lines = file.read_text("utf-8").splitlines() if file.exists() else []
        if lines and _line(lines[0]) == ["tilery reduce", head]:
            for line in lines[1:]:
                found = _line(line)
                if found is not None:  # the last line may be cut off
                    self.outcomes[found[0]] = found[1]
        else:
            file.write_text(json.dumps(["tilery reduce", head]) + "\n", "utf-8")

    def add(self, key: str, outcome: str) -> None:
        self.outcomes[key] = outcome
        if self.file is not None:
            with self.file.open("a", encoding="utf-8") as out:
                out.write(json.dumps([key, outcome]) + "\n")


def _line(text: str) -> list[str] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    is_pair = isinstance(found, list) and len(found) == 2 and all(isinstance(x, str) for x in found)
    return found if is_pair else None


class Search:
    """Looks for smaller cases with the same outcome."""

    def __init__(
        self,
        case: Case,
        runner: CandidateRunner,
        *,
        wanted: Callable[[str], bool] | None = None,
        legal: bool = True,
        version: Version | None = None,
        seed: int = 0,
        seconds: float | None = None,
        log: Path | None = None,
        observe: Callable[[Case, str], None] | None = None,
    ) -> None:
        self.case, self.runner, self.legal, self.version = case, runner, legal, version
        self.case.module.layout = None
        self.seed, self.calls = seed, 0
        self.observe = observe
        self.started = time.monotonic()
        self.deadline = None if seconds is None else self.started + seconds
        first = case.encode(version)
        self.log = OutcomeLog(log, f"{digest(first)} {seed}")
        self.size = measure(case)
        key = digest(first)
        outcome = self.log.outcomes.get(key)
        if outcome is None:
            outcome = runner.start(case).result()
            self.log.add(key, outcome)
        self.wanted = wanted or (lambda found: found == outcome)
        self.result = Reduction(case, outcome, self.size, self.size, tests=1)

    @property
    def late(self) -> bool:
        return self.deadline is not None and time.monotonic() > self.deadline

    def run(self) -> Reduction:
        """Repeat all steps until nothing changes or the time is up; TileError if the case shows nothing at first.

        Ctrl-C ends the search too, and the smallest case so far is the result.
        """
        result = self.result
        if not result.outcome or not self.wanted(result.outcome):
            raise TileError("the test finds nothing wrong with the module, so there is nothing to reduce")
        try:
            self._repeat_steps()
        except KeyboardInterrupt:
            result.interrupted = True
        result.case, result.after = self.case, self.size
        result.complete = not (self.late or result.interrupted)
        result.seconds = time.monotonic() - self.started
        return result

    def _repeat_steps(self) -> None:
        changed = True
        while changed and not self.late:
            before = self.size
            for step in plan(lambda: self.case):
                self._apply(step.name, step.make)
                if self.late:
                    break
            changed = self.size < before

    def _apply(self, name: str, make: Callable[[Case, int], Candidates]) -> None:
        at: int | None = 0
        while at is not None and not self.late:
            at = self._first(name, self._ordered(make(self.case, at)))

    def _ordered(self, candidates: Candidates) -> Candidates:
        """Return candidates in their order, or in a random one that the seed decides."""
        self.calls += 1
        return _shuffled(candidates, Random(f"{self.seed} {self.calls}")) if self.seed else candidates

    def _first(self, name: str, candidates: Candidates) -> int | None:
        """Take the first candidate that is smaller and still interesting; return where its step goes on.

        As many candidates as there are jobs are tested ahead. They are judged in their order, so the result does not
        depend on the number of jobs.
        """
        waiting: deque[tuple[int, Case, Size, str, Callable[[], str]]] = deque()
        source = self._tested(candidates)
        while True:
            while len(waiting) < self.runner.jobs and (started := next(source, None)) is not None:
                waiting.append(started)
            if not waiting:
                return None
            at, case, size, key, outcome = waiting.popleft()
            known = key in self.log.outcomes
            found = self.log.outcomes[key] if known else outcome()
            self.result.known += known
            if not known:
                self.result.tests += 1
                self.log.add(key, found)
            if found and self.wanted(found):
                self.case, self.size, self.result.outcome = case, size, found
                self.result.taken.append(name)
                if self.observe is not None:
                    self.observe(case, name)
                return at
            if self.late:
                return None

    def _tested(self, candidates: Candidates) -> Iterator[tuple[int, Case, Size, str, Callable[[], str]]]:
        """Start the test of each candidate that is smaller and legal."""
        for at, case in candidates:
            if self.late:
                return
            if case is None:
                continue
            size = measure(case)
            if size >= self.size:
                continue
            try:
                with enough_memory("reduce the module"):
                    if self.legal and verify(case.module, max_errors=1):
                        self.result.illegal += 1
                        continue
                    data = case.encode(self.version)
            except TileError:  # this version cannot express it
                self.result.illegal += 1
                continue
            key = digest(data)
            if key in self.log.outcomes:
                yield at, case, size, key, lambda: ""
            else:
                yield at, case, size, key, self.runner.start(case).result


def _shuffled(candidates: Candidates, random: Random) -> Candidates:
    """Yield candidates in a random order, some at a time."""
    source = iter(candidates)
    while some := list(islice(source, TOGETHER)):
        low = min(at for at, _ in some)
        random.shuffle(some)
        yield from ((low, candidate) for _, candidate in some)
