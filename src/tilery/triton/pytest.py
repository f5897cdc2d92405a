"""A pytest plugin, `-p tilery.triton.pytest`, that runs tests of Triton programs on an engine, without a GPU."""

from __future__ import annotations

from typing import Any

import pytest

from ..programs.plugin import Plugin


class TritonPlugin(Plugin):
    """The shared hooks, with the options that only Triton has."""

    def pytest_addoption(self, parser: pytest.Parser) -> None:
        super().pytest_addoption(parser)
        strict = "order the accesses of one program only as a GPU does"
        parser.getgroup("tilery").addoption("--tilery-strict", action="store_true", help=strict)

    def more_options(self, options: Any) -> dict[str, Any]:
        return {"strict": options.tilery_strict}


PLUGIN = TritonPlugin("triton", "Triton", capability="9.0")

pytest_addoption = PLUGIN.pytest_addoption
pytest_load_initial_conftests = PLUGIN.pytest_load_initial_conftests
pytest_report_header = PLUGIN.pytest_report_header
pytest_unconfigure = PLUGIN.pytest_unconfigure
pytest_runtest_protocol = PLUGIN.pytest_runtest_protocol
pytest_runtest_makereport = PLUGIN.pytest_runtest_makereport
