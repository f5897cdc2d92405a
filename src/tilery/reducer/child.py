"""The process that runs a test, as a service of `tilery.child`: it gets the test, then cases, and answers outcomes."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

from ..serving import Alive, Reply, limit
from .case import Case

ADDRESS_SPACE = 16 << 30
"""Bytes of address space that a test may take, unless it has an attribute `address_space`."""
_test: Callable[[Case], str] | None = None


def answer(request: dict[str, Any], data: bytes, alive: Alive) -> Reply:
    """Take the test, or run it on a case."""
    global _test
    if request["do"] == "start":
        _test = pickle.loads(data)
        limit(getattr(_test, "address_space", ADDRESS_SPACE) or 0)
        return {}, b""
    assert _test is not None, "the first request has the test"
    try:
        return {"outcome": _test(Case.decode(data))}, b""
    except Exception as error:  # the test is code of the user; the parent reports it
        return {"raised": f"the test failed: {type(error).__name__}: {error}"}, b""
