"""Campaigns on executors, and workers that are killed."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from tilery.diag import TileError
from tilery.reducer.executors import TRIES, map_on_executor


def square(plan: Any, item: int) -> int:
    """Return a square; the first worker that gets the number 7 dies."""
    marker = Path(plan) / "died"
    if item == 7 and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return item * item


def fail(plan: Any, item: int) -> None:
    raise ValueError("a fault of the task")


def processes() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(2, mp_context=get_context("spawn"))


def test_every_item_once_on_threads(tmp_path: Path) -> None:
    (tmp_path / "died").touch()
    plan: Any = str(tmp_path)
    found = list(map_on_executor(lambda: ThreadPoolExecutor(2))(square, plan, range(20)))
    assert sorted(found) == [n * n for n in range(20)]


def test_nothing_is_lost_with_a_killed_worker(tmp_path: Path) -> None:
    plan: Any = str(tmp_path)
    found = list(map_on_executor(processes)(square, plan, range(20)))
    assert (tmp_path / "died").exists()
    assert sorted(found) == [n * n for n in range(20)]


def test_an_executor_that_always_breaks() -> None:
    made = 0

    class Broken(ThreadPoolExecutor):
        def submit(self, *values: Any, **options: Any) -> Any:
            nonlocal made
            made += 1
            from concurrent.futures import BrokenExecutor

            raise BrokenExecutor("no workers")

    plan: Any = None
    with pytest.raises(TileError, match="broke 10 times in a row: no workers"):
        list(map_on_executor(lambda: Broken(1))(square, plan, [1]))
    assert made == TRIES


def test_errors_of_a_task_are_raised() -> None:
    plan: Any = None
    with pytest.raises(ValueError, match="a fault of the task"):
        list(map_on_executor(lambda: ThreadPoolExecutor(1))(fail, plan, [1]))
