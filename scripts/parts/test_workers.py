"""Run tests in forked processes that have pytest imported already, each in its own copy of the checkout."""

from __future__ import annotations

import json
import mmap
import os
import py_compile
import resource
import shutil
import signal
import struct
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import pytest

from .random_mutants import PACKAGES, plain

Batch = dict[str, list[str]]
"""Test files, each with the tests of it that shall run, with or without parameters; without any, all."""
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "*cache*", "build", "dist", "*.egg-info", "shared", ".jobs")
MEMORY = 12 << 30
"""The address space of a worker."""
PATIENCE = 10.0
"""The seconds that a test may take beyond three times those that it took before."""
LEARNING = 5.0
"""The seconds of a test under coverage, after which its other parameters are skipped."""
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
        self.copies = copies
        self.root = root

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
                _work(job, copy, self.root, clock, file)
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


# ---------------------------------------------------------------- in the forked process


def _work(job: Job, copy: Path, root: Path, clock: mmap.mmap, file: Path) -> None:
    sink = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(sink, number)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    os.chdir(copy)
    os.environ["PYTHONPATH"] = os.pathsep.join([f"{copy}/src", os.environ.get("PYTHONPATH", "")])
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    sys.dont_write_bytecode = True
    ours = tuple(f"{root}{os.sep}{folder}" for folder in ("src", "tests", "scripts", "examples", "bench"))
    sys.path[:] = [path for path in sys.path if not path.startswith(ours)]
    for name, module in list(sys.modules.items()):
        if name != "__main__" and str(getattr(module, "__file__", None) or "").startswith(ours):
            del sys.modules[name]
    answer = Answer()
    with _coverage(job, copy) as coverage:
        for batch in job.batches:
            plugin = _Plugin(batch, job, answer, clock, coverage)
            options = ["-q", "--tb=no", "--assert=plain", "-p", "no:cacheprovider", *(["-x"] if job.stop else [])]
            status = pytest.main([*options, *batch], plugins=[plugin])
            if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED):
                answer.failed = answer.failed or f"{pytest.ExitCode(status).name}: {next(iter(batch))}"
            if answer.failed and job.stop:
                break
        if coverage is not None:
            coverage.stop()
            answer.lines = _lines(coverage.get_data(), copy)
    scratch = file.with_suffix(".part")
    scratch.write_text(json.dumps(asdict(answer)), "utf-8")
    scratch.rename(file)


class _coverage:
    """Coverage of the core, with a context for each test, if a job learns."""

    def __init__(self, job: Job, copy: Path) -> None:
        self.found = None
        if job.learn:
            from coverage import Coverage  # type: ignore[import-not-found, unused-ignore]

            packages = [f"{copy}/src/tilery/{package}/*" for package in PACKAGES]
            self.found = Coverage(data_file=None, include=packages, config_file=False)
            self.found.start()

    def __enter__(self) -> Any:
        return self.found

    def __exit__(self, *_: object) -> None:
        pass


def _lines(data: Any, copy: Path) -> dict[str, dict[str, list[str]]]:
    found = {}
    for file in data.measured_files():
        contexts = data.contexts_by_lineno(file)
        lines = {str(line): sorted(name for name in names if name) for line, names in contexts.items()}
        found[Path(file).relative_to(copy).as_posix()] = lines
    return found


class _Plugin:
    """Chooses the tests of a batch, keeps their times, and tells the parent how long the next one may take."""

    def __init__(self, batch: Batch, job: Job, answer: Answer, clock: mmap.mmap, coverage: Any) -> None:
        self.wanted = {name for names in batch.values() for name in names}
        self.job, self.answer, self.clock, self.coverage = job, answer, clock, coverage
        self.started = time.monotonic()
        self._allow("collection", 60.0)

    def _allow(self, name: str, seconds: float) -> None:
        CLOCK.pack_into(self.clock, 0, time.monotonic() + seconds)
        self.clock[CLOCK.size : CLOCK.size + 200] = name.encode()[:200].ljust(200, b"\0")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self.wanted:
            items[:] = [item for item in items if {_name(item.nodeid), item.nodeid} & self.wanted]

    def pytest_collection_finish(self) -> None:
        self.answer.collecting = time.monotonic() - self.started

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        name = _name(nodeid)
        known = self.job.seconds.get(name)
        self._allow(name, 240.0 if known is None else 3 * known + PATIENCE)
        if self.coverage is not None:
            self.coverage.switch_context(name)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name = _name(report.nodeid)
        self.answer.times[name] = self.answer.times.get(name, 0.0) + report.duration
        self.answer.ran += report.when == "call"
        if report.failed:
            self.answer.failures.append(report.nodeid)
            self.answer.failed = self.answer.failed or report.nodeid

    def pytest_runtest_logfinish(self) -> None:
        self._allow("between tests", 60.0)
        if self.coverage is not None:
            self.coverage.switch_context("")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if self.job.learn and self.answer.times.get(_name(item.nodeid), 0.0) > LEARNING:
            pytest.skip("enough is known")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.answer.failed = self.answer.failed or f"not collected: {report.nodeid}"


def _name(nodeid: str) -> str:
    return nodeid.partition("[")[0]
