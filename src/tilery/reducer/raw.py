"""Reduce bytes that no reader accepts: pieces are removed, and bytes become zero, as long as the test says yes."""

from __future__ import annotations

import re
import shlex
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..diag import TileError
from ..source.input import Input
from ..verifier.explain import read_legal
from .oracles import FILE
from .runners import run_command

BytesTest = Callable[[bytes], bool]
NUMBERS = re.compile(r"0x[0-9a-f]+|\d+")


@dataclass
class ReducedBytes:
    """The smallest bytes, and how many tests it took."""

    data: bytes
    tests: int
    complete: bool


def message_of(data: bytes) -> str:
    """Return the message with which tilery refuses bytes; empty if it accepts them."""
    try:
        read_legal(Input(data))
    except TileError as error:
        return error.message
    return ""


def message_test(data: bytes, pattern: str | None = None) -> BytesTest:
    """Return a test that bytes are refused with the same message, up to numbers, or with one that matches."""
    first = message_of(data)
    if not first:
        raise TileError("tilery reads this file, so there is no message to keep; --test tests bytes with a command")
    wanted = NUMBERS.sub("N", first)

    def test(candidate: bytes) -> bool:
        said = message_of(candidate)
        if pattern is not None:
            return bool(said and re.search(pattern, said))
        return NUMBERS.sub("N", said) == wanted

    return test


def command_test(line: str, seconds: float) -> BytesTest:
    """Return a test by a command, which ends with status 0 if the file is still interesting."""

    def test(candidate: bytes) -> bool:
        with tempfile.TemporaryDirectory(prefix="tilery") as folder:
            path = Path(folder, "candidate.tileirbc")
            path.write_bytes(candidate)
            words = [word.replace(FILE, str(path)) for word in shlex.split(line)]
            try:
                status, _ = run_command(words if FILE in line else [*words, str(path)], seconds)
            except OSError as error:
                raise TileError(f"cannot run '{words[0]}': {error.strerror}") from None
        return status == 0

    return test


def reduce_raw(
    data: bytes,
    test: BytesTest,
    *,
    seconds: float | None = None,
    observe: Callable[[int], None] | None = None,
) -> ReducedBytes:
    """Return fewer bytes, of which more are zero, for which the test is true."""
    deadline = None if seconds is None else time.monotonic() + seconds
    tests = 1
    if not test(data):
        raise TileError("the test finds nothing wrong with the file, so there is nothing to reduce")
    changed, complete = True, True
    while changed and complete:
        changed = False
        for make in (_shorter, _plainer):
            start, size = 0, max(1, len(data) // 2)
            while size and complete:
                found = None
                for place, candidate in make(data, size, start):
                    complete = deadline is None or time.monotonic() < deadline
                    if not complete:
                        break
                    tests += 1
                    if test(candidate):
                        found, start = candidate, place
                        break
                if found is None:
                    size, start = size // 2, 0
                    continue
                data, changed = found, True
                if observe is not None:
                    observe(len(data))
    return ReducedBytes(data, tests, complete)


def _shorter(data: bytes, size: int, at: int) -> Iterator[tuple[int, bytes]]:
    """Yield the data without each piece of a size, from the end to the start."""
    for place in range(at, len(data), size):
        high = len(data) - place
        yield place, data[: max(0, high - size)] + data[high:]


def _plainer(data: bytes, size: int, at: int) -> Iterator[tuple[int, bytes]]:
    """Yield the data with zeros in the place of each piece of a size."""
    for place in range(at, len(data), size):
        piece = data[place : place + size]
        if any(piece):
            yield place + size, data[:place] + bytes(len(piece)) + data[place + len(piece) :]
