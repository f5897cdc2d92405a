"""The process that runs variants on the GPU. A variant may hang or fault, and takes only this process with it.

It is a service of `tilery.child`; `WorkerProcess` is the other end.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from ..child import Child, ChildError
from ..diag import ErrorKind, TileError
from ..engines.cuda.contract import LaunchContract
from ..engines.cuda.driver import STICKY, Driver, DriverError, open_driver
from ..engines.cuda.launch import Binary
from ..engines.recorded import load
from ..serving import Alive, Reply
from .session import TuningSession

START_SECONDS = 120.0
"""How long a worker may take to start: it opens the driver and copies the arguments."""


class TuningWorker(Protocol):
    """Something that answers requests; None means that it took too long or died, and can be asked again."""

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any] | None:
        """Return the answer to a request."""

    def stop(self) -> None:
        """Free the GPU."""


# ---------------------------------------------------------------- inside the process


class LaunchServer:
    """Answers requests about one launch."""

    def __init__(self, driver: Callable[[], Driver] = open_driver) -> None:
        self._open = driver
        self._session: TuningSession | None = None

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
                self._session = TuningSession(driver, load(request["launch"]), grid, answers)
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


_server = LaunchServer()


def answer(request: dict[str, Any], data: bytes, alive: Alive) -> Reply:
    """Answer a request in the process of its own."""
    return _server.answer(request, alive), b""


# ---------------------------------------------------------------- outside


class WorkerProcess:
    """A worker in a process of its own, which is started again after it hung or died."""

    def __init__(self, service: str = __name__) -> None:
        self.child = Child(service)
        self._start: dict[str, Any] | None = None

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any] | None:
        """Return the answer, or None if there was none in time; signs of life prolong the time."""
        if request["do"] == "start":
            self._start = request
        elif not self.child.running and self._start is not None and self._send(self._start, START_SECONDS) is None:
            return None
        return self._send(request, START_SECONDS if request["do"] == "start" else seconds)

    def _send(self, request: dict[str, Any], seconds: float) -> dict[str, Any] | None:
        try:
            found, _ = self.child.ask(request, seconds=seconds)
        except ChildError:
            return None
        if found.get("lost"):
            self.stop()
        return found

    def stop(self) -> None:
        """End the process, and whatever it has started."""
        self.child.stop()


class LocalWorker:
    """A worker in this process, for stand-ins of the driver."""

    def __init__(self, driver: Callable[[], Driver] = open_driver) -> None:
        self.server = LaunchServer(driver)

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any] | None:
        """Return the answer, however long it takes."""
        return self.server.answer(json.loads(json.dumps(request)), lambda: None)

    def stop(self) -> None:
        """Free what the session holds."""
        self.server.close()
