"""Run the tests of a job with pytest, in a forked process, and learn under coverage which lines they execute."""

from __future__ import annotations

import json
import mmap
import os
import resource
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from .random_mutants import PACKAGES
from .test_workers import CLOCK, PATIENCE, Answer, Batch, Job

MEMORY = 12 << 30
"""The address space of a process."""
LEARNING = 5.0
"""The seconds of a test under coverage, after which its other parameters are skipped."""


def work(job: Job, copy: Path, root: Path, clock: mmap.mmap, file: Path) -> None:
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
