"""The part of the pytest plugins that all languages share: their options, `on` around the run, and results as JSON.

With the plugins of two languages, the first one has the options and reports, and both run their kernels.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest

from . import children
from .launches import LaunchSession
from .scripts import for_children

if TYPE_CHECKING:
    from ..sanitize import Sanitizer


@dataclass(slots=True)
class Together:
    """The state that the plugins of one run of pytest share."""

    stack: ExitStack = field(default_factory=ExitStack)
    sessions: list[LaunchSession] = field(default_factory=list)
    sanitizer: Sanitizer | None = None


TOGETHER = pytest.StashKey[Together]()


class Plugin:
    """The hooks of one language. A plugin module assigns them to its own names, where pytest finds them."""

    def __init__(self, language: str, title: str, capability: str) -> None:
        self.language, self.title, self.capability = language, title, capability
        self.together = Together()
        self.is_first = True
        self.test: dict[str, Any] = {}

    def pytest_addoption(self, parser: pytest.Parser) -> None:
        group = parser.getgroup("tilery", f"{self.title} on an engine of tilery")
        self.is_first = not group.options
        if not self.is_first:
            return
        group.addoption("--tilery-engine", default="reference", metavar="NAME", help="the engine; default: reference")
        exact = "the reference engine's bits, from engines that have them"
        group.addoption("--tilery-exact", action="store_true", help=exact)
        capability = f"the compute capability that the device reports; default: {self.capability}"
        group.addoption("--tilery-capability", default=self.capability, metavar="X.Y", help=capability)
        checks = "look for faults in every launch: all, or names of checks; a test with a fault fails"
        group.addoption("--tilery-sanitize", metavar="CHECKS", help=checks)
        together = "with --tilery-sanitize: also find races between launches that nothing orders"
        group.addoption("--tilery-together", action="store_true", help=together)
        group.addoption("--tilery-record", metavar="DIR", help="save every launch in this directory")
        results = "write the outcome of each test to this directory, as JSON"
        group.addoption("--tilery-results", metavar="DIR", help=results)

    def more_options(self, options: Any) -> dict[str, Any]:
        """Return the options of `on` that only this language has."""
        return {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: pytest.Config) -> None:
        """Enter `on` before any conftest is loaded, because suites query the device while they are imported."""
        options = early_config.known_args_namespace
        self.together = together = early_config.stash.setdefault(TOGETHER, Together())
        children.stop()
        major, minor = map(int, options.tilery_capability.split("."))
        how: dict[str, Any] = {
            "engine": options.tilery_engine,
            "exact": options.tilery_exact,
            "capability": (major, minor),
            **self.more_options(options),
        }
        if options.tilery_sanitize and together.sanitizer is None:
            from ..sanitize import Sanitizer

            together.sanitizer = Sanitizer(options.tilery_sanitize, together=options.tilery_together)
        how["sanitize"] = together.sanitizer
        if options.tilery_record:
            how["record"] = os.path.abspath(options.tilery_record)
        enter = together.stack.enter_context
        together.sessions.append(enter(import_module(children.LANGUAGES[self.language][1]).on(**how)))
        enter(children.cover(self.language, **for_children(how)))
        if options.tilery_results:
            results = os.path.abspath(options.tilery_results)
            Path(results).mkdir(parents=True, exist_ok=True)
            enter(patch.dict(os.environ, {children.RESULTS: results}))

    def pytest_report_header(self) -> str:
        return f"tilery: {self.title} runs on engine '{self.together.sessions[0].name}'"

    def pytest_unconfigure(self) -> None:
        self.together.stack.close()

    def calls(self) -> int:
        """Return the number of launches so far."""
        return sum(each.calls for each in self.together.sessions)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        if not self.is_first:
            return (yield)
        directory = os.environ.get(children.RESULTS)
        start, calls = time.perf_counter(), self.calls()
        self.test.clear()
        if self.together.sanitizer is not None:
            self.together.sanitizer.start_again()
        try:
            return (yield)
        finally:
            if directory:
                took = round(time.perf_counter() - start, 3)
                launches = self.calls() - calls
                write(directory, {"test": item.nodeid, "launches": launches, "seconds": took, **self.test})

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[Any]) -> Any:
        report = yield
        if not self.is_first:
            return report
        if report.when == "call" and self.together.sanitizer is not None:
            show_faults(report, self.together.sanitizer)
            self.test.update(reports=[each.as_dict() for each in self.together.sanitizer.reports.shown])
        if report.when == "call" or report.outcome != "passed":
            self.test.update(when=report.when, outcome=report.outcome, xfail=hasattr(report, "wasxfail"))
            if call.excinfo is not None:
                last = call.excinfo.traceback[-1]
                self.test.update(error=call.excinfo.typename, message=str(call.excinfo.value)[:600])
                self.test.update(place=f"{Path(str(last.path)).name}:{last.lineno + 1}")
            elif report.outcome == "failed":
                self.test.update(error="Faults", message=str(report.longrepr)[:600])
        return report


def show_faults(report: pytest.TestReport, sanitizer: Sanitizer) -> None:
    """Let a test fail whose launches had faults, and show all of them; it has run to its end."""
    from ..sanitize.show import as_error

    faults = sanitizer.reports.faults
    text = "\n".join(str(as_error(each)) for each in faults)
    if faults and report.passed:
        report.outcome, report.longrepr = "failed", text
    elif faults:
        report.sections.append(("faults that the sanitizer found", text))


def write(directory: str, facts: dict[str, Any]) -> None:
    """Append one test's results to this worker's file."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    with open(Path(directory) / f"{worker}.jsonl", "a") as file:
        file.write(json.dumps(facts) + "\n")
