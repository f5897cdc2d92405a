"""The process that runs variants on the GPU. A variant may hang or fault, and takes only this process with it.

It reads requests from stdin and writes answers to stdout, one JSON object per line. `WorkerProcess` is the other end.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Protocol

from ..diag import ErrorKind, TileError
from ..engines.cuda.contract import LaunchContract
from ..engines.cuda.driver import STICKY, Driver, DriverError, open_driver
from ..engines.cuda.launch import Binary
from ..engines.programs import end_group
from ..engines.recorded import load
from ..engines.triton.compiler import read_line
from .session import Session

START_SECONDS = 120.0
"""How long a worker may take to start: it opens the driver and copies the arguments."""


class Worker(Protocol):
    """Something that answers requests; None means that it took too long or died, and can be asked again."""

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any] | None:
        """Return the answer to a request."""

    def stop(self) -> None:
        """Free the GPU."""


# ---------------------------------------------------------------- inside the process


class Server:
    """Answers requests about one launch."""

    def __init__(self, driver: Callable[[], Driver] = open_driver) -> None:
        self._open = driver
        self._session: Session | None = None

    def answer(self, request: dict[str, Any], beat: Callable[[], object]) -> dict[str, Any]:
        """Answer a request: `start`, `try` or `rounds`."""
        try:
            return self._answer(request, beat)
        except DriverError as error:
            return {"error": error.message, "lost": error.code in STICKY}
        except TileError as error:
            return {"error": error.message, "lost": error.kind is ErrorKind.TIMEOUT}

    def _answer(self, request: dict[str, Any], beat: Callable[[], object]) -> dict[str, Any]:
        if request["do"] == "start":
            driver = self._open()
            facts = {"device": driver.name, "target": driver.target, "driver": ".".join(map(str, driver.version))}
            if request.get("launch"):
                small, wanted = request.get("small"), request.get("wanted")
                answers = None if wanted is None else [Path(name).read_bytes() for name in wanted]
                grid = (small[0], small[1], small[2]) if small else None
                self._session = Session(driver, load(request["launch"]), grid, answers)
            return facts
        assert self._session is not None, "a session starts with `start`"
        if request["do"] == "try":
            binary = _binary(request)
            return {"seconds": self._session.attempt(request["number"], binary, request["limit"])}
        estimates = {}
        for each in request["variants"]:
            self._session.load(each["number"], _binary(each))
            estimates[each["number"]] = each["seconds"]
        found = self._session.rounds(estimates, request["rounds"], beat)
        return {"times": {str(number): times for number, times in found.items()}}

    def close(self) -> None:
        """Free what the session holds."""
        if self._session is not None:
            self._session.close()
            self._session = None


def _binary(request: dict[str, Any]) -> Binary:
    return Binary(Path(request["image"]).read_bytes(), LaunchContract.from_dict(request["contract"]))


def main() -> None:
    """Answer requests until stdin ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what kernels print goes to stderr
    server = Server()

    def say(answer: dict[str, Any]) -> None:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    for line in sys.stdin:
        say(server.answer(json.loads(line), lambda: say({"beat": True})))


# ---------------------------------------------------------------- outside


class WorkerProcess:
    """A worker in a process of its own, which is started again after it hung or died."""

    def __init__(self, command: list[str] | None = None) -> None:
        source = Path(__file__).parents[2]
        code = f"import sys; sys.path.insert(0, {str(source)!r}); from tilery.tuner.worker import main; main()"
        self.command = command or [sys.executable, "-P", "-c", code]
        self.process: subprocess.Popen[bytes] | None = None
        self.log: IO[bytes] | None = None
        self._start: dict[str, Any] | None = None

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any] | None:
        """Return the answer, or None if there was none in time; beats of the worker prolong the time."""
        if request["do"] == "start":
            self._start = request
        elif self.process is None and self._start is not None and self._send(self._start, START_SECONDS) is None:
            return None
        return self._send(request, START_SECONDS if request["do"] == "start" else seconds)

    def _send(self, request: dict[str, Any], seconds: float) -> dict[str, Any] | None:
        if self.process is None:
            self.log = tempfile.TemporaryFile()  # noqa: SIM115  # it lives as long as the process
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, start_new_session=True
            )
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
            while True:
                line = read_line(self.process.stdout, seconds)
                if not line or not line.endswith(b"\n"):
                    self.stop()
                    return None
                for each in line.splitlines():
                    answer: dict[str, Any] = json.loads(each)
                    if "beat" not in answer:
                        if answer.get("lost"):
                            self.stop()
                        return answer
        except (BrokenPipeError, ValueError):
            self.stop()
            return None
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the process, and whatever it has started."""
        process, self.process = self.process, None
        if process is not None:
            end_group(process.pid)
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    stream.close()
        if self.log is not None:
            self.log.close()
            self.log = None


class LocalWorker:
    """A worker in this process, for stand-ins of the driver."""

    def __init__(self, driver: Callable[[], Driver] = open_driver) -> None:
        self.server = Server(driver)

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any] | None:
        """Return the answer, however long it takes."""
        return self.server.answer(json.loads(json.dumps(request)), lambda: None)

    def stop(self) -> None:
        """Free what the session holds."""
        self.server.close()
