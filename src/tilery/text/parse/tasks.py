"""Recursion without the Python stack, so that hostile nesting cannot exhaust it."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

Task = Generator[Any, Any, Any]
"""A function that calls another task by `yield`; its return value is the answer."""


def run(task: Task) -> Any:
    """Run a task and all the tasks it calls."""
    stack = [task]
    value: Any = None
    while stack:
        try:
            called = stack[-1].send(value)
        except StopIteration as done:
            stack.pop()
            value = done.value
        else:
            stack.append(called)
            value = None
    return value
