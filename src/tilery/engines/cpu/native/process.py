"""The processes that compile. The first request starts one; a copy of it stays and forks for each later request.

A process that has answered is idle until it is asked again, or until it ends by itself. Threads that compile at the
same time have a process each. One whose answer is no longer waited for, after Ctrl-C or for lack of time, is left to
its end and never asked again. Where there is no `os.fork`, there is a process for each request.
"""

from __future__ import annotations

import atexit
import os
import selectors
import subprocess
import sys
from contextlib import suppress
from itertools import count
from pathlib import Path
from time import monotonic
from typing import NamedTuple

import llvmlite

from ....diag import TileError
from .child import ANSWER, ERRORS, IDLE, REQUEST, is_whole

STAY = hasattr(os, "fork")
PROGRAM = "import sys; sys.path += sys.argv[1:3]; import child; child.main()"
"""The program of the process; Python keeps the compiled code of what is imported, unlike that of a script."""
Answer = tuple[int, bytes, bytes]
"""The status of the process that compiled, what it wrote, and its last complaints."""
_numbers = count(1)
_all: set[Staying] = set()
_idle: list[Staying] = []


class Request(NamedTuple):
    """A text to compile, as `child` describes it, and limits on the process: bytes of memory, seconds of CPU time."""

    content: bytes
    memory: int
    seconds: int

    def packed(self, number: int) -> bytes:
        return REQUEST.pack(number, len(self.content), self.memory, self.seconds) + self.content


class Child:
    """A process that can be asked. If none is idle, one starts, and does what takes long before it is asked."""

    def __init__(self) -> None:
        self._process: Staying | Single
        try:
            self._process = _idle.pop() if STAY else Single()
        except IndexError:
            self._process = Staying()

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.release()

    def run(self, request: Request, seconds: float) -> tuple[int, bytes, str]:
        """Send a request; return the status of the process that compiled, what it wrote, and its last complaints.

        Raises TimeoutError if that takes too long.
        """
        answer = self._process.ask(request, seconds)
        if answer is None:
            self._process = Staying()  # the other one may just have ended because it had been idle for long
            answer = self._process.ask(request, seconds)
            assert answer is not None
        status, out, errors = answer
        return status, out, errors.decode(errors="replace")


class Single:
    """A process that answers once, and before that leaves a copy of itself if there are files for that one."""

    def __init__(self, *files: int) -> None:
        if not sys.executable:
            raise TileError("cannot start the compiler: this Python does not know its own executable (sys.executable)")
        folders = [str(Path(__file__).parent), str(Path(llvmlite.__file__).resolve().parent.parent)]
        # The number of this process is for people who read a list of processes.
        command = [sys.executable, "-I", "-S", "-c", PROGRAM, *folders, str(os.getpid()), *map(str, files)]
        pipe = subprocess.PIPE
        self.asked = False
        try:  # in a session of its own, so that Ctrl-C in a terminal does not reach it
            self._process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=pipe, pass_fds=files, start_new_session=STAY
            )
        except OSError as error:
            raise TileError(f"cannot start the compiler: {error.strerror}") from None

    def ask(self, request: Request, seconds: float) -> Answer:
        self.asked = True
        try:
            out, errors = self._process.communicate(request.packed(0), timeout=seconds)
        except subprocess.TimeoutExpired:
            raise TimeoutError from None
        return self._process.returncode, out[ANSWER.size :], errors[-ERRORS:]

    def release(self) -> None:
        """End the process if it has not ended."""
        if self._process.returncode is None:
            self._process.kill()
            self._process.wait()
        self._close()

    def forget(self) -> None:
        """Close the pipes in a fork of this process."""
        self._process.returncode = 0
        self._close()

    def _close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


class Staying:
    """A process that answers many times. It is a copy that the one which answers first leaves, not a child of ours."""

    def __init__(self) -> None:
        (theirs, self._requests), (self._answers, out), (self._errors, errors) = os.pipe(), os.pipe(), os.pipe()
        # Also the end of the pipe that the process reads is kept, so that writing never raises SIGPIPE.
        self._files = [theirs, self._requests, self._answers, self._errors]
        self._idle_since = 0.0
        try:
            self._first = Single(theirs, out, errors)
        except BaseException:
            _close(self._files)
            raise
        finally:
            _close([out, errors])
        os.set_blocking(self._requests, False)
        _all.add(self)

    def ask(self, request: Request, seconds: float) -> Answer | None:
        """Return the answer to a request, or None if the process has ended."""
        if self not in _all:
            return None  # closed, or this is a fork of the process that started it
        try:
            if not self._first.asked:
                return self._first.ask(request, seconds)
            number = next(_numbers)
            answer = self._exchange(number, request.packed(number), seconds)
        except BaseException:
            self.close()
            raise
        if answer is None:
            self.close()
        return answer

    def _exchange(self, number: int, request: bytes, seconds: float) -> Answer | None:
        left, found, end = memoryview(request), bytearray(), monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self._requests, selectors.EVENT_WRITE)
            selector.register(self._answers, selectors.EVENT_READ)
            while not is_whole(found):
                ready = {key.fd for key, _ in selector.select(max(0, end - monotonic()))}
                if not ready:
                    raise TimeoutError
                if self._requests in ready:
                    with suppress(BlockingIOError):
                        left = left[os.write(self._requests, left) :]
                    if not left:
                        selector.unregister(self._requests)
                if self._answers in ready:
                    part = os.read(self._answers, 1 << 20)
                    if not part:
                        return None
                    found += part
        same, status, size, _ = ANSWER.unpack(found[: ANSWER.size])
        content = bytes(found[ANSWER.size :])
        return (status, content[:size], content[size:]) if same == number else None

    def release(self) -> None:
        """Let others ask the process; end those that have been idle for long."""
        if not self._first.asked:
            self.close()
        if self not in _all:
            return
        now = self._idle_since = monotonic()
        _idle.append(self)
        with suppress(IndexError):
            while _idle[0]._idle_since < now - IDLE:
                _idle.pop(0).close()

    def close(self) -> None:
        """Let the process end, and what it is compiling; it sees that the pipe is closed."""
        if self in _all:
            _all.discard(self)
            _close(self._files)
            self._first.release()

    def forget(self) -> None:
        """Close the pipes in a fork of this process, to which the compiler does not belong."""
        _close(self._files)
        self._first.forget()


def _close(files: list[int]) -> None:
    for file in files:
        os.close(file)


def _forget_all() -> None:
    for process in _all:
        process.forget()
    _all.clear()
    _idle.clear()


@atexit.register
def close_all() -> None:
    """Let all processes end."""
    for process in list(_all):
        process.close()
    _idle.clear()


if STAY:
    os.register_at_fork(after_in_child=_forget_all)
