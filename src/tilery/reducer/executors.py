"""Campaigns on any `concurrent.futures.Executor`. A task whose worker died is run again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from typing import Any

from ..diag import TileError
from .campaign import CampaignPlan, Map

TRIES = 10
"""How often an executor may break without a result in between."""


def map_on_executor(make: Callable[[], Executor]) -> Map:
    """Return a `Map` that uses an executor; `make` is called again after the executor broke.

    `concurrent.futures.ProcessPoolExecutor` breaks when one of its processes is killed; what was not finished is then
    submitted to a new one. An executor whose cluster starts tasks again by itself never breaks.
    """

    def run(function: Callable[[CampaignPlan, Any], Any], plan: CampaignPlan, items: Iterable[Any]) -> Iterator[Any]:
        todo, tries = list(items), 0
        while todo:
            with make() as executor:
                running: dict[Future[Any], Any] = {}
                try:
                    running = {executor.submit(function, plan, item): item for item in todo}
                    for future in completed(running):
                        result = future.result()
                        todo.remove(running[future])
                        tries = 0
                        yield result
                except (BrokenExecutor, CancelledError) as error:
                    tries += 1
                    if tries >= TRIES:
                        raise TileError(f"the executor broke {TRIES} times in a row: {error}") from None
                finally:
                    for future in running:
                        future.cancel()

    return run


def completed(futures: Iterable[Future[Any]]) -> Iterator[Future[Any]]:
    """Yield futures as they end, results first, so that none is lost to one that failed."""
    waiting = set(futures)
    while waiting:
        done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
        yield from sorted(done, key=lambda future: future.cancelled() or future.exception() is not None)
