"""A pytest plugin for large suites: at most `SAMPLE_MAX` cases of each test function, and `SAMPLE_SECONDS` for each.

`SAMPLE_DONE` is a file with the names of tests that ran already, one in a line.
"""

from __future__ import annotations

import math
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


class TooLong(Exception):
    """A test that was stopped."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the smallest cases of each function, by the product of the numbers in their names."""
    most = int(os.environ.get("SAMPLE_MAX", "0"))
    if not most:
        return
    groups: dict[str, list[pytest.Item]] = {}
    for item in items:
        groups.setdefault(item.nodeid.split("[")[0], []).append(item)
    kept = [item for group in groups.values() for item in sorted(group, key=size_of)[:most]]
    if done := os.environ.get("SAMPLE_DONE"):
        ran = set(Path(done).read_text("utf-8").splitlines())
        kept = [item for item in kept if item.nodeid not in ran]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


def size_of(item: pytest.Item) -> int:
    """Return the product of the whole numbers in a case's name."""
    words = re.split(r"[^\w.]+", item.nodeid.partition("[")[2])
    return math.prod(max(1, int(word.lstrip("BTHDVK"))) for word in words if word.lstrip("BTHDVK").isdecimal())


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
