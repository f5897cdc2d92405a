"""The other end of `child`: a process that answers requests. It imports the standard library alone.

A request is a `REQUEST`, whose limits hold before the rest is read, a JSON object, and bytes; an answer is an `ANSWER`,
a JSON object, and bytes. An answer of size zero is a sign of life. A service is a module with a function
`answer(request, data, alive)` that returns an object and bytes, and calls `alive` if it takes long. What it prints goes
to standard error: standard output carries the answers alone. An exception ends the process.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import struct
import sys
from collections.abc import Callable
from typing import IO, Any

REQUEST = struct.Struct("<QQQQ")
"""The sizes of the object and the bytes, and the most bytes of memory and seconds of processor time, or zero."""
ANSWER = struct.Struct("<QQ")
"""The sizes of the object and the bytes."""
Reply = tuple[dict[str, Any], bytes]
Alive = Callable[[], None]


def limit(memory: int = 0, seconds: int = 0) -> None:
    """Limit what this process may take from now on, and leave no core file when it dies. Zero is no limit."""
    try:
        import resource
    except ImportError:  # not a POSIX system
        return
    wanted = [(resource.RLIMIT_CORE, 0)]
    if memory:
        wanted.append((resource.RLIMIT_AS, memory))
    if seconds:
        used = resource.getrusage(resource.RUSAGE_SELF)
        wanted.append((resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime) + seconds))
    for kind, most in wanted:
        hard = resource.getrlimit(kind)[1]
        if hard == resource.RLIM_INFINITY or most < hard:
            try:
                resource.setrlimit(kind, (most, hard))
            except (OSError, ValueError):  # the system has no such limit
                continue


def read_exactly(stream: IO[bytes], size: int) -> bytes:
    """Read so many bytes from a pipe, or raise EOFError."""
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data


def _load(service: str, paths: list[str]) -> Any:
    """Import a module by its name or from its file."""
    sys.path[:0] = paths
    if not service.endswith(".py"):
        return importlib.import_module(service)
    spec = importlib.util.spec_from_file_location("service", service)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Answer the requests of the process that started this one, until it ends."""
    service = _load(sys.argv[2], sys.argv[3:])
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)

    def say(made: bytes, data: bytes) -> None:
        answers.write(ANSWER.pack(len(made), len(data)))
        answers.write(made)
        answers.write(data)
        answers.flush()

    while head := requests.read(REQUEST.size):
        size, more, memory, seconds = REQUEST.unpack(head)
        limit(memory, seconds)
        request = json.loads(read_exactly(requests, size))
        found, data = service.answer(request, read_exactly(requests, more), lambda: say(b"", b""))
        say(json.dumps(found, allow_nan=False).encode(), data)
