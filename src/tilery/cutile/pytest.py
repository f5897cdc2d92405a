"""A pytest plugin, `-p tilery.cutile.pytest`, that runs tests of cuTile programs on an engine, without a GPU."""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import pytest

from . import children
from .session import Session, disassemble, on

STACK = ExitStack()
SESSION: list[Session] = []
TEST: dict[str, Any] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tilery", "cuTile on an engine of tilery")
    group.addoption("--tilery-engine", default="reference", metavar="NAME", help="the engine; default: reference")
    exact = "the reference engine's bits, from engines that have them"
    group.addoption("--tilery-exact", action="store_true", help=exact)
    capability = "the compute capability that the device reports; default: 10.0"
    group.addoption("--tilery-capability", default="10.0", metavar="X.Y", help=capability)
    checks = "look for faults in every launch: all, or names of checks; a test with a fault fails"
    group.addoption("--tilery-sanitize", metavar="CHECKS", help=checks)
    group.addoption("--tilery-record", metavar="DIR", help="save every launch in this directory")
    group.addoption("--tilery-results", metavar="DIR", help="write the outcome of each test to this directory, as JSON")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Enter `on` before any conftest is loaded, because suites query the device while they are imported."""
    options = early_config.known_args_namespace
    children.stop()
    major, minor = map(int, options.tilery_capability.split("."))
    how: dict[str, Any] = {
        "engine": options.tilery_engine,
        "exact": options.tilery_exact,
        "capability": (major, minor),
    }
    if options.tilery_sanitize:
        how["sanitize"] = options.tilery_sanitize
    if options.tilery_record:
        how["record"] = os.path.abspath(options.tilery_record)
    SESSION.append(STACK.enter_context(on(**how)))
    STACK.enter_context(children.cover(**how))
    if options.tilery_results:
        results = os.path.abspath(options.tilery_results)
        Path(results).mkdir(parents=True, exist_ok=True)
        STACK.enter_context(patch.dict(os.environ, {children.RESULTS: results}))
    provide_disassembler()
    provide_filecheck()


def pytest_report_header() -> str:
    return f"tilery: cuTile runs on engine '{SESSION[0].name}'"


def pytest_unconfigure() -> None:
    STACK.close()


def provide_disassembler() -> None:
    """Provide the private extension with which NVIDIA's own tests print kernels as text."""
    package, extension = ModuleType("cuda.tile_internal"), ModuleType("cuda.tile_internal._internal_cext")
    package.__path__ = []
    extension.__dict__["bytecode_to_mlir_text"] = disassemble
    modules = {package.__name__: package, extension.__name__: extension}
    STACK.enter_context(patch.dict(sys.modules, modules))


def provide_filecheck() -> None:
    """Provide LLVM's FileCheck, which they run on that text, by the Python package `filecheck`."""
    if shutil.which("FileCheck"):
        return
    directory = STACK.enter_context(tempfile.TemporaryDirectory())
    command = Path(directory) / "FileCheck"
    command.write_text(
        f"#!{sys.executable}\nimport sys\nfrom filecheck.main import main\n"
        "main([each for each in sys.argv if not each.startswith('--dump-input')])\n"
    )
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    path = os.pathsep.join([directory, os.environ.get("PATH", "")])
    STACK.enter_context(patch.dict(os.environ, {"PATH": path}))


# ---------------------------------------------------------------- results


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Any:
    directory = os.environ.get(children.RESULTS)
    start, calls = time.perf_counter(), SESSION[0].calls
    TEST.clear()
    try:
        return (yield)
    finally:
        if directory:
            took = round(time.perf_counter() - start, 3)
            write(directory, {"test": item.nodeid, "launches": SESSION[0].calls - calls, "seconds": took, **TEST})


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Any:
    report = yield
    if report.when == "call" or report.outcome != "passed":
        TEST.update(when=report.when, outcome=report.outcome, xfail=hasattr(report, "wasxfail"))
        if call.excinfo is not None:
            last = call.excinfo.traceback[-1]
            TEST.update(error=call.excinfo.typename, message=str(call.excinfo.value)[:600])
            TEST.update(place=f"{Path(str(last.path)).name}:{last.lineno + 1}")
    return report


def write(directory: str, facts: dict[str, Any]) -> None:
    """Append one test's results to this worker's file."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    with open(Path(directory) / f"{worker}.jsonl", "a") as file:
        file.write(json.dumps(facts) + "\n")
