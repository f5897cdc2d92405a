"""A compiler for campaigns: many kernels per process, and the answers are kept for another campaign.

The engine forks a process for each kernel. Here a forked process compiles many, within the same limits, by the same
code (`engines/cpu/native/child.py`), and may die as well.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import struct
from typing import Any

import llvmlite

from tilery.engines.cpu.native import build, child, compiler, pool_ir, process

HEADER = struct.Struct("<iqq")
"""The status of a process, and how many bytes it wrote to its output and to its errors."""
KERNELS = 25
"""How many kernels a process compiles before another takes its place."""
LAST = 99
"""The status of a process that found no more requests."""


class Server:
    """A process that forks a compiler for each request. Make it before there are threads."""

    def __init__(self) -> None:
        from_parent, self._requests = os.pipe()
        self._answers, to_parent = os.pipe()
        self._process = os.fork()
        if self._process == 0:
            os.close(self._requests)
            os.close(self._answers)
            try:
                _serve(from_parent, to_parent)
            finally:
                os._exit(0)
        os.close(from_parent)
        os.close(to_parent)

    def ask(self, request: bytes) -> tuple[int, bytes, bytes]:
        """Return the status, output and errors of the compiler."""
        _write(self._requests, struct.pack("<q", len(request)) + request)
        status, out, errors = HEADER.unpack(_read(self._answers, HEADER.size))
        return status, _read(self._answers, out), _read(self._answers, errors)

    def close(self) -> None:
        """End the process."""
        os.close(self._requests)
        os.waitpid(self._process, 0)


class Kept:
    """Results of the compiler by request, in a file, for a campaign on another state of the engine's code."""

    def __init__(self, path: str) -> None:
        self._file = sqlite3.connect(path or ":memory:", timeout=600, isolation_level=None)
        self._file.execute("pragma synchronous = off")
        self._file.execute("create table if not exists kept (request primary key, answer) without rowid")

    def get(self, request: bytes) -> bytes | None:
        found = self._file.execute("select answer from kept where request = ?", (self._key(request),)).fetchone()
        return None if found is None else found[0]

    def put(self, request: bytes, answer: bytes) -> None:
        self._file.execute("insert or ignore into kept values (?, ?)", (self._key(request), answer))

    @staticmethod
    def _key(request: bytes) -> bytes:
        return hashlib.sha256(llvmlite.__version__.encode() + b" " + request).digest()


class ForkedChild:
    """Stands in for `compiler.Child`."""

    server: Server
    kept: Kept
    found = 0
    """How many answers were kept from earlier."""

    def __enter__(self) -> ForkedChild:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def run(self, asked: process.Request, _seconds: float) -> tuple[int, bytes, str]:
        request = asked.content
        kept = self.kept.get(request)
        if kept is not None:
            ForkedChild.found += 1
            return 0, kept, ""
        status, out, errors = self.server.ask(request)
        if status == 0:
            self.kept.put(request, out)
        return status, out, errors.decode(errors="replace")


OWN = process.Child


def choose(*, forked: bool, level: int) -> None:
    """Compile from now on by forked processes or as the engine does, at this level of code generation."""
    made: Any = ForkedChild if forked else OWN
    for module in (build, compiler):
        vars(module)["Child"] = made  # both look it up when they compile
    compiler.LEVEL = level


def warm_up() -> None:
    """Compile the engine's own code once, so that what LLVM does once is done."""
    target = compiler.host()
    request = {"texts": [pool_ir.text(target)], "levels": [compiler.LEVEL], "passes": compiler.PASSES, "emit": "object"}
    request |= {"triple": target.triple, "cpu": target.cpu, "features": compiler.feature_string(target), "native": True}
    child.answer(request)


def _serve(requests: int, answers: int) -> None:
    """Fork a compiler whenever there is none. One that dies has an answer too: its status and its last words."""
    warm_up()
    errors = os.memfd_create("errors")
    status = 0
    while status != LAST:
        os.ftruncate(errors, 0)
        os.lseek(errors, 0, os.SEEK_SET)
        made = os.fork()
        if made == 0:
            os.dup2(errors, 2)
            _compile(requests, answers)
        status = os.waitstatus_to_exitcode(os.waitpid(made, 0)[1])
        if status not in (0, LAST):
            os.lseek(errors, 0, os.SEEK_SET)
            said = os.read(errors, 20_000)
            _write(answers, HEADER.pack(status, 0, len(said)) + said)


def _compile(requests: int, answers: int) -> None:
    """Answer requests as `child.main` does, and end this process."""
    status = 1
    try:
        for _ in range(KERNELS):
            child.limit(compiler.MEMORY, KERNELS * compiler.SECONDS)
            request = json.loads(_read(requests, *struct.unpack("<q", _read(requests, 8))))
            answer = child.answer(request)
            _write(answers, HEADER.pack(0, len(answer), 0) + answer)
        status = 0
    except EOFError:
        status = LAST
    finally:
        os._exit(status)


def _read(file: int, size: int) -> bytes:
    parts = []
    while size:
        part = os.read(file, min(size, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _write(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]
