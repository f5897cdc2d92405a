"""Jobs in a child process with limits of time, memory and output; one at a time, and it can be stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from ...diag import TileError
from ...engines.programs import end_group

SECONDS = 60
"""How long a job may take, by the clock and of processor time."""
MEMORY = 8 << 30
"""The most address space of a job."""
MAX_ANSWER = 128 << 20
"""The most bytes of an answer."""


class Runner:
    """Runs jobs in child processes, one at a time."""

    def __init__(self, seconds: int = SECONDS, memory: int = MEMORY) -> None:
        self.seconds, self.memory = seconds, memory
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._why = ""

    def __call__(self, job: str, fields: dict[str, Any]) -> dict[str, Any]:
        """Do a job, see `job.do`."""
        if not self._lock.acquire(blocking=False):
            raise TileError("another run is under way; stop it first")
        try:
            return self._ask(job, fields)
        finally:
            self._child = None
            self._lock.release()

    def stop(self) -> bool:
        """Stop the job that is under way; return whether there was one."""
        return self._kill("the run was stopped")

    def _kill(self, why: str) -> bool:
        child = self._child
        if child is None or child.poll() is not None:
            return False
        self._why = why
        end_group(child.pid)
        return True

    def _ask(self, job: str, fields: dict[str, Any]) -> dict[str, Any]:
        given = {"job": job, "fields": fields, "seconds": self.seconds, "memory": self.memory}
        root = str(Path(__file__).parents[3])
        paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, "-P", "-m", f"{__package__}.job"]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment,
            start_new_session=True,
        ) as child:  # fmt: skip
            self._child, self._why = child, ""
            late = f"it took longer than {self.seconds} seconds"
            timer = threading.Timer(self.seconds, self._kill, [late])
            timer.start()
            try:
                data = self._exchange(child, json.dumps(given).encode())
            finally:
                timer.cancel()
                self._kill(self._why)
        if len(data) > MAX_ANSWER:
            raise TileError(f"the answer has more than {MAX_ANSWER >> 20} MiB")
        if not data:
            raise TileError(self._why or _ending(child.returncode))
        answer: dict[str, Any] = json.loads(data)
        return answer

    def _exchange(self, child: subprocess.Popen[bytes], job: bytes) -> bytes:
        assert child.stdin is not None and child.stdout is not None
        try:
            child.stdin.write(job)
            child.stdin.close()
        except BrokenPipeError:
            return b""
        return child.stdout.read(MAX_ANSWER + 1)


def _ending(status: int | None) -> str:
    """Say how a child ended that did not answer."""
    if status is not None and status < 0:
        name = signal.Signals(-status).name
        why = " (out of time)" if name in ("SIGXCPU",) else " (out of memory?)" if name == "SIGKILL" else ""
        return f"the process that ran the kernel ended by {name}{why}"
    return f"the process that ran the kernel ended with status {status}"
