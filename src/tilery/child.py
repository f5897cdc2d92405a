"""Other processes: programs, and services of tilery that may crash, hang or take all memory.

`serving` describes the messages between a `Child` and its process.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import Enum
from pathlib import Path
from typing import IO, Any

from .diag import ErrorKind, TileError
from .serving import ANSWER, REQUEST, Reply, read_exactly

PROGRAM = "import sys; sys.path.append(sys.argv[1]); import serving; sys.path.pop(); serving.main()"
"""The program of a child. It imports the rest, because Python caches the compiled code of modules, not of scripts."""
MAX_ANSWER = 1 << 30
"""The most bytes of an answer, unless the caller has another limit."""
_HERE = Path(__file__).resolve().parent
PATIENCE = 5.0
"""Seconds that a process has to end after it has closed its output."""
MAX_SAID = 1 << 16
"""How many bytes of what a process wrote to standard error are kept."""


class Ending(Enum):
    """How a process ended that did not answer."""

    LATE = "late"
    DIED = "died"
    FLOOD = "flood"
    """It answered with more bytes than it may, or with something else than an answer."""


class ChildError(Exception):
    """A process did not answer. `status` is its exit status, and `said` the end of what it wrote to standard error."""

    def __init__(self, ending: Ending, status: int, said: str) -> None:
        super().__init__(f"{ending.value}, {ended(status)}")
        self.ending, self.status, self.said = ending, status, said


def ended(status: int) -> str:
    """Name the signal or the status with which a process ended."""
    if status >= 0:
        return f"status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"


class Child:
    """A process that answers requests, one at a time. It starts when it is needed, and again after it has ended.

    `service` is a module of tilery, or the name of a file that imports nothing of it; see `serving`. `flags` go to
    Python, and the process imports from `paths` first.
    """

    def __init__(
        self,
        service: str,
        *,
        paths: Sequence[str] = (),
        python: str = "",
        flags: Sequence[str] = ("-P",),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.service, self.python, self.flags = service, python, flags
        self.paths = paths if service.endswith(".py") else [str(_HERE.parent), *paths]
        self.environment = environment
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None
        self._lock = threading.Lock()

    @property
    def running(self) -> bool:
        """Whether there is a process, which may have a state."""
        return self._process is not None and self._process.poll() is None

    def ask(
        self,
        request: dict[str, Any],
        data: bytes = b"",
        *,
        seconds: float,
        memory: int = 0,
        cpu_seconds: int = 0,
        most: int = MAX_ANSWER,
    ) -> Reply:
        """Return the answer to a request, or raise ChildError. `seconds` count from the last sign of life.

        `memory` and `cpu_seconds` limit the process.
        """
        content = json.dumps(request).encode()
        message = REQUEST.pack(len(content), len(data), memory, cpu_seconds) + content + data
        with self._lock:
            try:
                return self._exchange(message, seconds, most)
            except BaseException:
                self._end()
                raise

    def _exchange(self, message: bytes, seconds: float, most: int) -> Reply:
        process, log = self._started()
        assert process.stdin is not None and process.stdout is not None
        before = log.seek(0, os.SEEK_END)
        late = _Alarm(process.pid, seconds)
        ending = Ending.DIED
        try:
            with suppress(BrokenPipeError), _no_sigpipe():
                process.stdin.write(message)
                process.stdin.flush()
            while True:
                size, more = ANSWER.unpack(read_exactly(process.stdout, ANSWER.size))
                if size + more > most:
                    ending = Ending.FLOOD
                    raise EOFError
                if size:
                    break
                late.again()
            made, data = read_exactly(process.stdout, size), read_exactly(process.stdout, more)
        except EOFError:
            late.off()
            status = _status(process, 0 if late.rang or ending is Ending.FLOOD else PATIENCE)
            raise ChildError(Ending.LATE if late.rang else ending, status, _since(log, before)) from None
        finally:
            late.off()
        try:
            answer = json.loads(made)
        except ValueError:
            raise ChildError(Ending.FLOOD, 0, _since(log, before)) from None
        answer.setdefault("said", _since(log, before))
        return answer, data

    def _started(self) -> tuple[subprocess.Popen[bytes], IO[bytes]]:
        if self._process is not None and self._log is not None and self.running:
            return self._process, self._log
        self._end()
        python = self.python or sys.executable
        if not python:
            message = "cannot start a process: this Python does not know its own executable (sys.executable)"
            raise TileError(message, kind=ErrorKind.MISSING_TOOL)
        command = [python, *self.flags, "-c", PROGRAM, str(_HERE), self.service, *self.paths]
        environment = None if self.environment is None else {**os.environ, **self.environment}
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  # it lives as long as the process
        try:  # in a session of its own, so that Ctrl-C in a terminal does not reach it
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, env=environment,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            message = f"cannot start {python}: {error.strerror}"
            raise TileError(message, kind=ErrorKind.MISSING_TOOL) from None
        _all.add(self)
        return self._process, self._log

    def stop(self) -> None:
        """End the process and everything that it started; a thread that waits for its answer sees that it died."""
        if self._process is not None:
            end_group(self._process.pid)
        with self._lock:
            self._end()

    def _end(self) -> None:
        process, self._process = self._process, None
        log, self._log = self._log, None
        if process is not None:
            end_group(process.pid)
            process.wait()
            _close(process)
        if log is not None:
            log.close()

    def _forget(self) -> None:
        """Close the pipes in a fork of the process that started this one."""
        process, self._process, self._log, self._lock = self._process, None, None, threading.Lock()
        if process is not None:
            process.returncode = 0
            _close(process)


class _Alarm:
    """Kills a process unless it is switched off in time."""

    def __init__(self, pid: int, seconds: float) -> None:
        self.pid, self.seconds, self.rang = pid, seconds, False
        self.again()

    def again(self) -> None:
        """Start to count anew."""
        self.off()
        self._timer = threading.Timer(self.seconds, self._ring)
        self._timer.daemon = True
        self._timer.start()

    def off(self) -> None:
        if "_timer" in self.__dict__:
            self._timer.cancel()

    def _ring(self) -> None:
        self.rang = True
        end_group(self.pid)


_all: weakref.WeakSet[Child] = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    for child in list(_all):
        child.stop()


def _forget_all() -> None:
    for child in list(_all):
        child._forget()
    _all.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)


def _since(log: IO[bytes], start: int) -> str:
    """Return the end of what was written since a place in a file."""
    end = log.seek(0, os.SEEK_END)
    log.seek(max(start, end - MAX_SAID))
    return log.read(MAX_SAID).decode(errors="replace")


def _status(process: subprocess.Popen[bytes], seconds: float) -> int:
    """Return the status of a process that has closed its output; kill what has not ended after so many seconds."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    end_group(process.pid)
    return process.wait()


def _close(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError), _no_sigpipe():  # what could not be written is written again
                stream.close()


@contextmanager
def _no_sigpipe() -> Iterator[None]:
    """Let a write to a process that has ended raise BrokenPipeError, also where SIGPIPE ends this process."""
    if not hasattr(signal, "sigtimedwait"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGPIPE})
    try:
        yield
    finally:
        signal.sigtimedwait({signal.SIGPIPE}, 0)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_group(pid: int) -> None:
    """Kill a process that was started with `start_new_session`, and everything that it started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def run_program(
    command: list[str], seconds: float, *, request: bytes | None = None, stderr: int = subprocess.PIPE, **options: Any
) -> subprocess.CompletedProcess[bytes]:
    """Run a program in a process group of its own and return what it wrote. It reads the `request` from stdin.

    Raise `subprocess.TimeoutExpired` if it takes too long, and OSError if it cannot be started. Whatever happens, none
    of its processes is left.
    """
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL if request is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        start_new_session=True,
        **options,
    ) as process:
        try:
            out, said = process.communicate(request, timeout=seconds)
        finally:
            end_group(process.pid)
            process.wait()
    return subprocess.CompletedProcess(command, process.returncode, out, said)
