"""Run tests in forked processes that have pytest imported already, each in its own copy of the checkout."""

from __future__ import annotations

import json
import mmap
import os
import py_compile
import shutil
import signal
import struct
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing import Pool
from pathlib import Path

from .random_mutants import plain

Batch = dict[str, list[str]]
"""Test files, each with the tests of it that shall run, with or without parameters; without any, all."""
LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", "__pycache__", ".*_cache", ".hypothesis", "build", "dist", "*.egg-info", "shared", ".jobs"
)
PATIENCE = 10.0
"""The seconds that a test may take beyond three times those that it took before."""
CLOCK = struct.Struct("d")


@dataclass
class Answer:
    """The outcome of a job."""

    failed: str = ""
    """The first test that failed, or what else went wrong."""
    ran: int = 0
    seconds: float = 0.0
    collecting: float = 0.0
    times: dict[str, float] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    lines: dict[str, dict[str, list[str]]] = field(default_factory=dict)


@dataclass
class Job:
    """Tests to run, perhaps with a file that has another text."""

    name: str
    change: tuple[str, str] | None
    batches: list[Batch]
    seconds: dict[str, float] = field(default_factory=dict)
    """How long tests take; one that takes much longer is stopped, and has failed."""
    stop: bool = True
    """Whether to stop at the first failure."""
    learn: bool = False
    """Whether to run under coverage."""


@dataclass
class _Running:
    job: Job
    copy: Path
    file: Path
    clock: mmap.mmap
    started: float


def make_copies(root: Path, folder: Path, count: int, files: Iterable[Path]) -> list[Path]:
    """Copy a checkout, with compiled files that are valid exactly for the text they were compiled from.

    Files to be changed are written from their syntax tree, as changed ones are: the change is then the only difference.
    """
    copies = [folder / f"copy{number}" for number in range(count)]
    shared, link = root.parent / "shared", folder / "shared"
    if shared.is_dir() and not link.exists():
        link.symlink_to(shared.resolve())
    for copy in copies:
        shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(root, copies[0], ignore=LEFT_OUT)
    for file in files:
        path = copies[0] / file.relative_to(root)
        path.write_text(plain(path.read_text("utf-8")), "utf-8")
    for copy in copies[1:]:
        shutil.copytree(copies[0], copy)
    with Pool(count) as pool:
        pool.map(_compile, copies)
    return copies


def _compile(copy: Path) -> None:
    for path in [*(copy / "src").rglob("*.py"), *(copy / "tests").rglob("*.py"), *(copy / "scripts").rglob("*.py")]:
        py_compile.compile(str(path), invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)


class Workers:
    """One process at a time for each copy."""

    def __init__(self, copies: list[Path], root: Path) -> None:
        from .test_process import work  # pytest is imported once, before any process is forked

        self.copies = copies
        self.root = root
        self.work = work

    def run(self, jobs: Iterable[Job], deadline: float) -> Iterator[tuple[Job, Answer]]:
        """Yield jobs with their answers as they end; at the deadline, drop the jobs that are still running."""
        todo, free = iter(jobs), list(self.copies)
        running: dict[int, _Running] = {}
        more = True
        while more or running:
            while more and free and time.monotonic() < deadline:
                if (job := next(todo, None)) is None:
                    more = False
                else:
                    self._start(job, free.pop(), running)
            time.sleep(0.01)
            now = time.monotonic()
            more = more and now < deadline
            for pid, each in list(running.items()):
                (until,) = CLOCK.unpack_from(each.clock)
                late = now > until
                if late or now >= deadline:
                    os.killpg(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
                elif os.waitpid(pid, os.WNOHANG) == (0, 0):
                    continue
                del running[pid]
                free.append(each.copy)
                answer = _answer(each, late)
                if late or now < deadline:
                    yield each.job, answer

    def _start(self, job: Job, copy: Path, running: dict[int, _Running]) -> None:
        clock = mmap.mmap(-1, 4096)
        now = time.monotonic()
        CLOCK.pack_into(clock, 0, now + 60)
        file = copy.with_suffix(".json")
        file.unlink(missing_ok=True)
        if job.change is not None:
            path = copy / job.change[0]
            copy.with_suffix(".original").write_bytes(path.read_bytes())
            path.write_text(job.change[1], "utf-8")
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                os.setpgid(0, 0)
                self.work(job, copy, self.root, clock, file)
                status = 0
            finally:
                os._exit(status)
        os.setpgid(pid, pid)
        running[pid] = _Running(job, copy, file, clock, now)


def _answer(each: _Running, late: bool) -> Answer:
    if each.job.change is not None:
        (each.copy / each.job.change[0]).write_bytes(each.copy.with_suffix(".original").read_bytes())
    if each.file.exists():
        answer = Answer(**json.loads(each.file.read_text("utf-8")))
    else:
        said = each.clock[CLOCK.size :].rstrip(b"\0").decode()
        answer = Answer(f"{'did not end' if late else 'died'}: {said}")
    answer.seconds = time.monotonic() - each.started
    return answer
