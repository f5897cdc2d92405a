"""A pytest plugin, `-p parts.alarm_plugin`, that stops each test after the seconds in TEST_SECONDS."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest


class TooLong(Exception):
    """A test took too long."""


def stop(*_: Any) -> None:
    raise TooLong(f"stopped after {os.environ['TEST_SECONDS']} seconds")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Any:
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, int(os.environ["TEST_SECONDS"]), 1)  # again, if somebody catches it
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
