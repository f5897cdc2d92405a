"""A process that judges candidates for a batch, and how to ask one. Requests and answers are lines of JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..child import end_group
from ..serving import limit
from .plan import Plan, end_judge, judge_one

TRIES = 3
"""How often a candidate is started whose worker dies. Candidates cannot kill one; a lack of memory can."""


def main() -> None:
    """Judge the candidates that lines on stdin name, until it ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        plan = Plan.from_dict(request["plan"])
        limit(memory=plan.memory)
        made = judge_one(plan, request["candidate"])
        answers.write(json.dumps(made) + "\n")
        answers.flush()
    end_judge()


class Worker:
    """A worker process; it is started when it is first asked, and again if it dies."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None
        self.expired = False
        """Whether the last candidate took too long."""

    def ask(self, plan: dict[str, Any], candidate: str, seconds: float) -> dict[str, Any] | None:
        """Return the result of a candidate as plain data; None if the worker dies or takes too long."""
        process = self._start()
        assert process.stdin is not None and process.stdout is not None
        self.expired = False

        def expire() -> None:
            self.expired = True
            end_group(process.pid)

        timer = threading.Timer(seconds, expire)
        timer.daemon = True
        timer.start()
        try:
            process.stdin.write(json.dumps({"plan": plan, "candidate": candidate}) + "\n")
            process.stdin.flush()
            made: dict[str, Any] = json.loads(process.stdout.readline())
            return made
        except (OSError, ValueError):
            self.close()
            return None
        finally:
            timer.cancel()

    def _start(self) -> subprocess.Popen[str]:
        if self.process is None:
            root = str(Path(__file__).resolve().parents[2])
            path = os.pathsep.join(dict.fromkeys([root, *filter(None, sys.path)]))
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "tilery.judge.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env={**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"},
                start_new_session=True,
            )
        return self.process

    def close(self) -> None:
        """End the process; its jail ends with it."""
        process, self.process = self.process, None
        if process is None:
            return
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            end_group(process.pid)
            process.wait()


if __name__ == "__main__":
    main()
