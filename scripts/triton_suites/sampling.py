"""A pytest plugin for large suites: at most `SAMPLE_MAX` cases of each test function, and `SAMPLE_SECONDS` for each."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest


class TooLong(Exception):
    """A test that was stopped."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep cases of each function that are evenly spaced."""
    most = int(os.environ.get("SAMPLE_MAX", "0"))
    if not most:
        return
    groups: dict[str, list[pytest.Item]] = {}
    for item in items:
        groups.setdefault(item.nodeid.split("[")[0], []).append(item)
    kept = [item for group in groups.values() for item in group[:: max(1, len(group) // most)][:most]]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[Any]:
    limit = int(os.environ.get("SAMPLE_SECONDS", "0"))

    def stop(*values: object) -> None:
        raise TooLong(f"longer than {limit} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(limit)
    try:
        return (yield)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
