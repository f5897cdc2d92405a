"""Jobs in a child process with limits of time, memory and output; one at a time, and it can be stopped."""

from __future__ import annotations

import threading
from typing import Any

from ...child import Child, ChildError, Ending, ended
from ...diag import TileError

SECONDS = 60
"""How long a job may take, by the clock and of processor time."""
MEMORY = 8 << 30
"""The most address space of a job."""
MAX_ANSWER = 128 << 20
"""The most bytes of an answer."""


class JobRunner:
    """Runs jobs in child processes, one at a time."""

    def __init__(self, seconds: int = SECONDS, memory: int = MEMORY) -> None:
        self.seconds, self.memory = seconds, memory
        self._lock = threading.Lock()
        self._child: Child | None = None
        self._stopped = False

    def __call__(self, job: str, fields: dict[str, Any]) -> dict[str, Any]:
        """Do a job, see `job.do`."""
        if not self._lock.acquire(blocking=False):
            raise TileError("another run is under way; stop it first")
        self._stopped = False
        child = self._child = Child(f"{__package__}.job", environment={"OPENBLAS_NUM_THREADS": "1"})
        request = {"job": job, "fields": fields}
        seconds, memory = self.seconds, self.memory
        try:
            answer, _ = child.ask(request, seconds=seconds, memory=memory, cpu_seconds=seconds, most=MAX_ANSWER)
            found: dict[str, Any] = answer["found"]
            return found
        except ChildError as error:
            raise TileError(self._why(error)) from None
        finally:
            self._child = None
            child.stop()
            self._lock.release()

    def stop(self) -> bool:
        """Stop the job that is under way; return whether there was one."""
        child = self._child
        if child is None or not child.running:
            return False
        self._stopped = True
        child.stop()
        return True

    def _why(self, error: ChildError) -> str:
        """Say why there is no answer."""
        if self._stopped:
            return "the run was stopped"
        if error.ending is Ending.LATE:
            return f"it took longer than {self.seconds} seconds"
        if error.ending is Ending.FLOOD:
            return f"the answer has more than {MAX_ANSWER >> 20} MiB"
        how = ended(error.status)
        likely = {"SIGXCPU": " (out of time)", "SIGKILL": " (out of memory?)"}.get(how, "")
        return f"the process that ran the kernel ended with {how}{likely}"
