"""BLAS with one thread inside a launch.

NumPy's BLAS starts a thread per core for each matrix product and waits for all of them. Tiles are small, so that gains
little; and if other processes keep the cores busy, each product waits for a core several times.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from functools import cache
from typing import Any

_LOCK = threading.Lock()
_STATE: dict[str, Any] = {"launches": 0, "limit": None}


def _forget() -> None:
    """A forked process has no thread that could release the lock."""
    global _LOCK
    _LOCK = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


@cache
def _controller() -> Any:
    """Find the libraries that have threads; None without threadpoolctl."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController().select(user_api="blas")


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Limit BLAS to one thread; launches of several threads share the limit."""
    if (controller := _controller()) is None:
        yield
        return
    with _LOCK:
        _STATE["launches"] += 1
        if _STATE["launches"] == 1:
            _STATE["limit"] = controller.limit(limits=1)
    try:
        yield
    finally:
        with _LOCK:
            _STATE["launches"] -= 1
            if not _STATE["launches"]:
                _STATE["limit"].restore_original_limits()
