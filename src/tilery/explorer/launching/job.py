"""The child process: reads one job as JSON from stdin, does it under limits, and writes the answer to stdout."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from ...diag import TileError
from ..operations import error_data
from ..requests import Request


def limit(seconds: int, memory: int) -> None:
    """Limit what this process may take, and leave no core file when it dies."""
    try:
        import resource
    except ImportError:  # not a POSIX system: the parent's clock is the only limit
        return
    wanted = ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_CPU, seconds), (resource.RLIMIT_AS, memory))
    for what, most in wanted:
        hard = resource.getrlimit(what)[1]
        value = most if hard == resource.RLIM_INFINITY else min(most, hard)
        try:
            resource.setrlimit(what, (value, value))
        except (OSError, ValueError):  # the system has no such limit
            continue


def do(job: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Do a job in this process."""
    request = Request(fields)
    if job in ("run", "values"):
        from . import execute

        return execute.run(request) if job == "run" else execute.values(request)
    from .. import frontends

    return frontends.compile_source(request)


def answer(job: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Do a job; an error in the input is an answer."""
    try:
        return {"ok": True, **do(job, fields)}
    except TileError as error:
        return {"ok": False, "error": error_data(error)}
    except MemoryError:
        return {"ok": False, "error": {"message": "not enough memory", "notes": []}}
    except RecursionError:
        return {"ok": False, "error": {"message": "the input is nested too deeply", "notes": []}}


def main() -> None:
    """Serve one job."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # stdout carries the answer alone
    given = json.loads(sys.stdin.buffer.read())
    limit(given["seconds"], given["memory"])
    made = json.dumps(answer(given["job"], given["fields"]), allow_nan=False)
    answers.write(made.encode())
    answers.close()


if __name__ == "__main__":
    main()
