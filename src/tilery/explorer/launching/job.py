"""The jobs of the explorer that need a process of their own."""

from __future__ import annotations

from typing import Any

from ...diag import TileError
from ...serving import Alive, Reply
from ..operations import error_data
from ..requests import Request


def do(job: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Do a job in this process."""
    request = Request(fields)
    if job in ("run", "values"):
        from . import execute

        return execute.run(request) if job == "run" else execute.values(request)
    if job == "prove":
        from .proving import prove

        return prove(request)
    from .. import frontends

    return frontends.compile_source(request)


def perform(job: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Do a job; an error in the input is an answer."""
    try:
        return {"ok": True, **do(job, fields)}
    except TileError as error:
        return {"ok": False, "error": error_data(error)}
    except MemoryError:
        return {"ok": False, "error": {"message": "not enough memory", "notes": []}}
    except RecursionError:
        return {"ok": False, "error": {"message": "the input is nested too deeply", "notes": []}}


def answer(request: dict[str, Any], data: bytes, alive: Alive) -> Reply:
    """Do the job of a request, as a service of `tilery.child`."""
    return {"found": perform(request["job"], request["fields"])}, b""
