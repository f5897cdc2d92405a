"""Ask a jail: start the server, send a request, and turn whatever happened into an answer or an error."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ...child import end_group
from ...diag import ErrorKind, TileError

STARTUP_SECONDS = 60.0
"""How long the server may take to start, besides the time of a candidate."""
KINDS = {
    "timeout": (ErrorKind.TIMEOUT, "it took more than {seconds:g} seconds, or {cpu_seconds} of processor time"),
    "memory": (ErrorKind.MEMORY, "it took more than {memory} bytes of memory"),
    "processes": (ErrorKind.MEMORY, "it started more than {processes} processes"),
    "output": (ErrorKind.MEMORY, "it wrote more than {output} bytes of output or {answer} bytes of bytecode"),
    "disk": (ErrorKind.MEMORY, "it wrote more than {disk} bytes of files"),
}


@dataclass(frozen=True, slots=True)
class Limits:
    """What the compilation of a candidate may take."""

    seconds: float = 30.0
    cpu_seconds: int = 30
    memory: int = 4 << 30
    processes: int = 32
    disk: int = 64 << 20
    output: int = 1 << 20
    answer: int = 64 << 20


class Jail:
    """A server that runs frontends in jails, one at a time. It starts when it is first asked.

    `plain=True` does without namespaces.
    """

    def __init__(self, limits: Limits | None = None, *, plain: bool = False) -> None:
        self.limits = limits or Limits()
        self.plain = plain
        self.process: subprocess.Popen[bytes] | None = None
        self.how = ""
        """How the last candidate was confined."""

    def __enter__(self) -> Jail:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return what a frontend made of a request; TileError says which limit it passed, or what it raised."""
        answer = self._ask({**request, "limits": asdict(self.limits)})
        self.how = str(answer["how"])
        status = str(answer["status"])
        notes = tuple(filter(None, [_last_lines(answer["log"])]))
        if status in KINDS:
            kind, text = KINDS[status]
            raise TileError(text.format(**asdict(self.limits)), kind=kind, notes=notes)
        if status != "ok":
            kind = ErrorKind.DEVICE if status.startswith("setup") else ErrorKind.COMPILER_CRASH
            raise TileError(f"the frontend {status}", kind=kind, notes=notes)
        return _parsed(answer["answer"], notes)

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Send a request; a server that dies or hangs is replaced, and that is an answer too."""
        process = self._start()
        assert process.stdin is not None and process.stdout is not None
        timer = threading.Timer(self.limits.seconds + STARTUP_SECONDS, lambda: end_group(process.pid))
        timer.start()
        try:
            data = json.dumps(request).encode()
            process.stdin.write(struct.pack("<Q", len(data)) + data)
            process.stdin.flush()
            head = process.stdout.read(8)
            body = process.stdout.read(struct.unpack("<Q", head)[0]) if len(head) == 8 else b""
            answer: dict[str, Any] = json.loads(body)
        except (OSError, ValueError):
            self.close()
            return {"status": "died with the server of jails", "answer": "", "log": "", "how": self.how}
        finally:
            timer.cancel()
        if answer.get("once"):
            self.close()
        return answer

    def _start(self) -> subprocess.Popen[bytes]:
        if self.process is not None and self.process.poll() is None:
            return self.process
        self.close()
        root = str(Path(__file__).resolve().parents[3])
        path = os.pathsep.join(dict.fromkeys([root, *filter(None, sys.path)]))
        env = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}
        env |= {key: os.environ[key] for key in ("TMPDIR", "LANG", "LD_LIBRARY_PATH") if key in os.environ}
        options = ["--plain"] if self.plain else []
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "tilery.judge.jail.server", *options],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=env,
                start_new_session=True,
            )
        except OSError as error:
            raise TileError(f"cannot start a jail: {error.strerror}", kind=ErrorKind.MISSING_TOOL) from None
        return self.process

    def close(self) -> None:
        """End the server and everything that it started."""
        process, self.process = self.process, None
        if process is None:
            return
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        try:
            process.wait(5)  # it ends by itself when stdin ends, and cleans up
        except subprocess.TimeoutExpired:
            end_group(process.pid)
            process.wait()


def _last_lines(log: object) -> str:
    return "\n".join(str(log).strip().splitlines()[-5:])[-1000:]


def _parsed(text: Any, notes: tuple[str, ...]) -> dict[str, Any]:
    """Return the answer of a frontend, which may be anything at all."""
    try:
        made = json.loads(text)
    except (ValueError, RecursionError):
        made = None
    if not isinstance(made, dict):
        raise TileError("the frontend ended without an answer", kind=ErrorKind.COMPILER_CRASH, notes=notes)
    if isinstance(error := made.get("error"), dict):
        try:
            kind = ErrorKind(error.get("kind"))
        except ValueError:
            kind = ErrorKind.COMPILER
        raise TileError(str(error.get("message"))[:2000], kind=kind, notes=notes)
    return made
