"""Ask a jail: start the server, send a request, and turn whatever happened into an answer or an error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ...child import end_group
from ...diag import ErrorKind, TileError
from ..results import MachineError
from .folders import remove_folder
from .messages import LARGEST_HEAD, receive, send

MOST_TOKENS = 1 << 20
"""The most brackets and commas of an answer."""
STARTUP_SECONDS = 60.0
"""How long the server may take to start, besides the time of a candidate."""
KINDS = {
    "timeout": (ErrorKind.TIMEOUT, "it took more than {seconds:g} seconds, or {cpu_seconds} of processor time"),
    "memory": (ErrorKind.MEMORY, "it took more than {memory} bytes of memory"),
    "processes": (ErrorKind.MEMORY, "it started more than {processes} processes"),
    "output": (ErrorKind.MEMORY, "it wrote more than {output} bytes of output or {answer} bytes of bytecode"),
    "disk": (ErrorKind.MEMORY, "it wrote more than {disk} bytes of files, or too many files or folders"),
}


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on compiling a candidate."""

    seconds: float = 30.0
    cpu_seconds: int = 30
    memory: int = 4 << 30
    processes: int = 32
    disk: int = 64 << 20
    output: int = 1 << 20
    answer: int = 32 << 20


class Jail:
    """A server that runs frontends in jails, one at a time. It starts when it is first asked.

    `plain=True` does without namespaces. `hidden` are folders that no candidate may see.
    """

    def __init__(self, limits: Limits | None = None, *, plain: bool = False, hidden: Sequence[str | Path] = ()) -> None:
        self.limits = limits or Limits()
        self.plain = plain
        self.hidden = [Path(each).resolve() for each in hidden]
        self.process: subprocess.Popen[bytes] | None = None
        self.folder = ""
        self.how = ""
        """How candidates are confined."""
        self.once = False

    def __enter__(self) -> Jail:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return what a frontend made of a request; TileError says which limit it passed, or what it raised."""
        status, log, answer = self._ask({**request, "limits": asdict(self.limits)})
        notes = tuple(filter(None, [_last_lines(log)]))
        if status in KINDS:
            kind, text = KINDS[status]
            raise TileError(text.format(**asdict(self.limits)), kind=kind, notes=notes)
        if status.startswith("missing "):
            raise MachineError(status.removeprefix("missing "), kind=ErrorKind.MISSING_TOOL)
        if status.startswith("setup"):
            raise MachineError(f"the jail's {status}", kind=ErrorKind.DEVICE, notes=notes)
        if status != "ok":
            raise TileError(f"the frontend {status}", kind=ErrorKind.COMPILER_CRASH, notes=notes)
        return parse_answer(answer, notes)

    def _ask(self, request: dict[str, Any]) -> tuple[str, str, bytes]:
        """Send a request; a server that dies or hangs is replaced, and that is an answer too."""
        process = self._start()
        assert process.stdin is not None and process.stdout is not None
        with self._limited(process):
            try:
                send(process.stdin.fileno(), request["kind"].encode())
                send(process.stdin.fileno(), json.dumps(request).encode())
                head = _object(receive(process.stdout.fileno(), LARGEST_HEAD))
                answer = receive(process.stdout.fileno(), self.limits.answer)
            except (OSError, ValueError):
                head, answer = {}, None
        if answer is None or self.once:
            self.close()
        if answer is None:
            return "died with the server of jails", "", b""
        return str(head.get("status")), str(head.get("log")), answer

    @contextmanager
    def _limited(self, process: subprocess.Popen[bytes]) -> Iterator[None]:
        """End the server if it takes much longer than a candidate may."""
        timer = threading.Timer(self.limits.seconds + STARTUP_SECONDS, lambda: end_group(process.pid))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _start(self) -> subprocess.Popen[bytes]:
        if self.process is not None and self.process.poll() is None:
            return self.process
        self.close()
        try:
            self.folder = tempfile.mkdtemp(prefix="tilery-judge-")
            os.chmod(self.folder, 0o711)
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "tilery.judge.jail.server", *(["--plain"] if self.plain else [])],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=self._environment(),
                start_new_session=True,
            )
        except OSError as error:
            self.close()
            raise MachineError(f"cannot start a jail: {error.strerror}", kind=ErrorKind.MISSING_TOOL) from None
        assert self.process.stdout is not None
        with self._limited(self.process):
            hello = _object(receive(self.process.stdout.fileno(), LARGEST_HEAD))
        if not hello:
            self.close()
            raise MachineError("the server of jails died at its start", kind=ErrorKind.MISSING_TOOL)
        # Said before a candidate runs, so that none can change it.
        self.how, self.once = str(hello["how"]), bool(hello["once"])
        return self.process

    def _environment(self) -> dict[str, str]:
        """Return the variables of the server. Candidates may read all folders of its path."""
        root = str(Path(__file__).resolve().parents[3])
        private = [*self.hidden, Path.cwd(), Path(sys.argv[0] or ".").resolve().parent]
        path = [each for each in sys.path if each and (_is_installed(each) or not _holds(each, private))]
        found = {"PYTHONPATH": os.pathsep.join(dict.fromkeys([root, *path])), "TMPDIR": self.folder}
        found |= {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "OPENBLAS_NUM_THREADS": "1"}
        return found | {key: os.environ[key] for key in ("LANG", "LD_LIBRARY_PATH") if key in os.environ}

    def close(self) -> None:
        """End the server and everything that it started."""
        process, self.process = self.process, None
        if process is not None:
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()
            try:
                process.wait(5)  # it ends by itself when stdin ends, and cleans up
            except subprocess.TimeoutExpired:
                end_group(process.pid)
                process.wait()
        if self.folder:
            remove_folder(self.folder)
            self.folder = ""


def _is_installed(folder: str) -> bool:
    """Tell whether a folder belongs to Python or its packages."""
    return any(Path(folder).resolve().is_relative_to(Path(each).resolve()) for each in (sys.prefix, sys.base_prefix))


def _holds(folder: str, private: Sequence[Path]) -> bool:
    """Tell whether a folder is one of these, or one of these is in it."""
    return any(each.is_relative_to(Path(folder).resolve()) for each in private)


def _last_lines(log: str) -> str:
    return "\n".join(log.strip().splitlines()[-5:])[-1000:]


def _object(data: bytes | None) -> dict[str, Any]:
    """Return the object that a message of the server holds; empty if it is none."""
    made = json.loads(data) if data else None
    return made if isinstance(made, dict) else {}


def parse_answer(data: bytes, notes: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the answer of a frontend, which may be any bytes at all.

    Most of an honest answer is bytecode. What Python makes of many brackets and commas takes far more memory than the
    text, so their number has a limit.
    """
    if sum(data.count(each) for each in (b"[", b"{", b",")) > MOST_TOKENS:
        message = f"what came out of the jail has more than {MOST_TOKENS} items"
        raise TileError(message, kind=ErrorKind.MEMORY, notes=notes)
    try:
        made = json.loads(data)
    except (ValueError, RecursionError):  # not JSON, not UTF-8, too deep, or an endless number
        made = None
    if not isinstance(made, dict):
        raise TileError("the frontend ended without an answer", kind=ErrorKind.COMPILER_CRASH, notes=notes)
    if "error" in made:
        raise _said(made["error"], notes)
    return made


def _said(error: object, notes: tuple[str, ...]) -> TileError:
    """Return the error that a frontend reports."""
    facts = error if isinstance(error, dict) else {}
    message, name = facts.get("message"), facts.get("kind")
    kind = next((each for each in ErrorKind if each.value == name), ErrorKind.COMPILER)
    text = message if isinstance(message, str) else "the frontend failed without a reason"
    return TileError(text[:2000].encode("utf-8", "replace").decode(), kind=kind, notes=notes)
