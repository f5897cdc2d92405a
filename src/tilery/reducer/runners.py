"""Run the test of a reducer on candidates: in this process, in threads, or in children that are killed if they hang.

A test returns an outcome: a word for what is wrong with a candidate, empty if nothing is. A child that takes too long
has the outcome `hang`, one that dies has the outcome `died`. A test may have these attributes: `waits` says that it
waits for other programs and ends them itself, `address_space` limits its child, and `ends_child(outcome)` tells after
which outcomes its child is of no more use.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, Protocol

from ..child import Child, ChildError, Ending, run_program
from ..version import Version
from .case import Case

Test = Callable[[Case], str]
HANG, DIED = "hang", "died"


class Outcome(Protocol):
    """The outcome of a test that was started."""

    def result(self) -> str: ...


class CandidateRunner(Protocol):
    """Runs tests, at most `jobs` at a time."""

    @property
    def jobs(self) -> int: ...
    def start(self, case: Case) -> Outcome: ...
    def close(self) -> None: ...


class _Later:
    """A test that runs when its outcome is asked for."""

    def __init__(self, test: Test, case: Case) -> None:
        self.test, self.case = test, case

    def result(self) -> str:
        return self.test(self.case)


class InProcess:
    """Runs a test here, one at a time. A test that hangs is not ended."""

    jobs = 1

    def __init__(self, test: Test) -> None:
        self.test = test

    def start(self, case: Case) -> Outcome:
        return _Later(self.test, case)

    def close(self) -> None:
        pass


class Threads:
    """Runs a test in threads: for tests that wait for other programs, and end them themselves."""

    def __init__(self, test: Test, jobs: int) -> None:
        self.test, self.jobs = test, jobs
        self.pool = ThreadPoolExecutor(jobs)

    def start(self, case: Case) -> Future[str]:
        return self.pool.submit(self.test, case)

    def close(self) -> None:
        self.pool.shutdown(wait=True, cancel_futures=True)


class Children:
    """Runs a test, which can be pickled, in child processes; each test may take so many seconds."""

    def __init__(self, test: Test, jobs: int, seconds: float, version: Version | None = None) -> None:
        self.test, self.jobs, self.seconds, self.version = test, jobs, seconds, version
        self.pool = ThreadPoolExecutor(jobs)
        self.idle: SimpleQueue[Remote | None] = SimpleQueue()
        self.children: list[Remote] = []
        for _ in range(jobs):
            self.idle.put(None)

    def start(self, case: Case) -> Future[str]:
        return self.pool.submit(self._run, case.encode(self.version))

    def _run(self, data: bytes) -> str:
        child = self.idle.get()
        try:
            if child is None:
                child = Remote(self.test)
                self.children.append(child)
            outcome = child.ask(data, self.seconds)
            if ends_child(self.test, outcome):
                child.end()
                child = None
            return outcome
        finally:
            self.idle.put(child)

    def close(self) -> None:
        self.pool.shutdown(wait=True, cancel_futures=True)
        for child in self.children:
            child.end()


def ends_child(test: Test, outcome: str) -> bool:
    """Tell whether the child that returned this outcome must end."""
    says_so = getattr(test, "ends_child", None)
    return outcome in (HANG, DIED) or (says_so is not None and says_so(outcome))


class Remote:
    """A process that runs a test on cases."""

    def __init__(self, test: Test) -> None:
        # The test may come from any module that this process can import. -P keeps the working directory out of it.
        self._child = Child("tilery.reducer.child", paths=[*filter(None, sys.path)])
        self._test = pickle.dumps(test)  # any callable; the process that gets it is our own

    def ask(self, data: bytes, seconds: float) -> str:
        """Return the outcome for a case, `hang` or `died`; an exception of the test is raised here."""
        try:
            if not self._child.running:
                self._child.ask({"do": "start"}, self._test, seconds=seconds)
            answer, _ = self._child.ask({"do": "test"}, data, seconds=seconds)
        except ChildError as error:
            return HANG if error.ending is Ending.LATE else DIED
        if "raised" in answer:
            raise RuntimeError(answer["raised"])
        return str(answer["outcome"])

    def end(self) -> None:
        """End the process and everything that it started."""
        self._child.stop()


def run_command(command: list[str], seconds: float, **options: Any) -> tuple[int | None, str]:
    """Run a command; return its status, None if it was killed for time, and what it wrote."""
    try:
        done = run_program(command, seconds, stderr=subprocess.STDOUT, **options)
    except subprocess.TimeoutExpired:
        return None, ""
    return done.returncode, done.stdout.decode("utf-8", "replace")
