"""Campaigns on many machines, through dask.distributed. A task whose worker died is run again by another one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..diag import ErrorKind, TileError
from .campaign import CampaignPlan, Map
from .case import digest

TRIES = 10
"""The number of starts of a task whose workers die; only another program can kill them, since tests run in children."""
PATIENCE = "30s"


def map_on(scheduler: str) -> Map:
    """Return a `Map` that uses the workers of a scheduler, such as `tcp://host:8786`."""

    def run(function: Callable[[CampaignPlan, Any], Any], plan: CampaignPlan, items: Iterable[Any]) -> Iterator[Any]:
        with connect(scheduler) as client:
            yield from _run(client, function, plan, list(items))

    return run


def connect(scheduler: str) -> Any:
    """Return a client of a scheduler; TileError if there is none, or no dask.distributed."""
    try:
        from distributed import Client
    except ImportError:
        note = "install it with: pip install 'tilery[cluster]'"
        raise TileError(
            "--scheduler needs the package 'distributed'", kind=ErrorKind.MISSING_TOOL, notes=(note,)
        ) from None
    try:
        return Client(scheduler, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise TileError(f"there is no scheduler at '{scheduler}': {error}") from None


def _run(
    client: Any, function: Callable[[CampaignPlan, Any], Any], plan: CampaignPlan, items: list[Any]
) -> Iterator[Any]:
    from distributed import as_completed
    from distributed.scheduler import KilledWorker

    def submit(item: Any, tries: int) -> Any:
        key = f"tilery-{function.__name__}-{digest(repr((plan, item, tries)).encode())}"
        future = client.submit(function, plan, item, key=key)
        waiting[future.key] = item, tries
        return future

    waiting: dict[str, tuple[Any, int]] = {}
    futures = as_completed([submit(item, 0) for item in items], loop=client.loop)
    for future in futures:
        item, tries = waiting.pop(future.key)
        if future.status == "finished":
            yield future.result()
        elif tries < TRIES and (future.cancelled() or isinstance(future.exception(), KilledWorker)):
            futures.add(submit(item, tries + 1))
        else:
            future.result()  # raises what went wrong
