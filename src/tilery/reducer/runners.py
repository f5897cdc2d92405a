"""Run the test of a reducer on candidates: in this process, in threads, or in children that are killed if they hang.

A test returns an outcome: a word for what is wrong with a candidate, empty if nothing is. A child that takes too long
has the outcome `hang`, one that dies has the outcome `died`. A test may have these attributes: `waits` says that it
waits for other programs and ends them itself, `address_space` limits its child, and `ends_child(outcome)` tells after
which outcomes its child is of no more use.
"""

from __future__ import annotations

import os
import pickle
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Protocol

from ..engines.programs import end_group, run_program
from ..version import Version
from .case import Case

Test = Callable[[Case], str]
HANG, DIED = "hang", "died"


class Outcome(Protocol):
    """The outcome of a test that was started."""

    def result(self) -> str: ...


class Runner(Protocol):
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
        self.idle: SimpleQueue[Child | None] = SimpleQueue()
        self.children: list[Child] = []
        for _ in range(jobs):
            self.idle.put(None)

    def start(self, case: Case) -> Future[str]:
        return self.pool.submit(self._run, case.encode(self.version))

    def _run(self, data: bytes) -> str:
        child = self.idle.get()
        try:
            if child is None:
                child = Child(self.test)
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


class Child:
    """A process that answers requests: a length and a pickle, each way."""

    def __init__(self, test: Test) -> None:
        # The test may come from any module that this process can import. -P keeps the working directory out of it.
        root = str(Path(__file__).resolve().parents[2])
        env = {**os.environ, "PYTHONPATH": os.pathsep.join([root, *filter(None, sys.path)])}
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "tilery.reducer.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=env,
            start_new_session=True,
        )
        self._send(pickle.dumps(test))

    def _send(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(struct.pack("<Q", len(data)) + data)
        self.process.stdin.flush()

    def ask(self, data: bytes, seconds: float) -> str:
        """Return the outcome for a case, `hang` or `died`; an exception of the test is raised here."""
        late = threading.Event()

        def stop() -> None:
            late.set()
            self._kill()

        timer = threading.Timer(seconds, stop)
        timer.start()
        try:
            self._send(data)
            answer = self._receive()
        except (OSError, EOFError):
            return HANG if late.is_set() else DIED
        finally:
            timer.cancel()
        if isinstance(answer, BaseException):
            raise answer
        return str(answer)

    def _receive(self) -> Any:
        out = self.process.stdout
        assert out is not None
        head = out.read(8)
        if len(head) < 8:
            raise EOFError
        (count,) = struct.unpack("<Q", head)
        data = out.read(count)
        if len(data) < count:
            raise EOFError
        return pickle.loads(data)

    def _kill(self) -> None:
        end_group(self.process.pid)

    def end(self) -> None:
        """End the process and everything that it started."""
        self._kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


def run_command(command: list[str], seconds: float, **options: Any) -> tuple[int | None, str]:
    """Run a command; return its status, None if it was killed for time, and what it wrote."""
    try:
        done = run_program(command, seconds, stderr=subprocess.STDOUT, **options)
    except subprocess.TimeoutExpired:
        return None, ""
    return done.returncode, done.stdout.decode("utf-8", "replace")
