"""Judge many candidates on any executor; what is done is kept in a journal, so that a run can be continued."""

from __future__ import annotations

import json
import os
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from ..diag import ErrorKind, TileError
from ..source.input import read_file
from .header import BESIDE
from .plan import Plan, judge_one
from .results import FAILED, UNJUDGED, Result, StageResult
from .worker import TRIES, Worker

WAITING = 4
"""Candidates that are handed to the executor ahead of time, per worker."""


_local = threading.local()


class Processes(ThreadPoolExecutor):
    """An executor whose threads each have a worker process."""

    def __init__(self, jobs: int) -> None:
        super().__init__(jobs)
        self.workers: list[Worker] = []

    def judge(self, plan: Plan, candidate: str) -> dict[str, Any]:
        """Judge a candidate in the process of this thread; one that dies is replaced."""
        worker: Worker | None = getattr(_local, "worker", None)
        if worker is None or worker not in self.workers:
            worker = _local.worker = Worker()
            self.workers.append(worker)
        for _ in range(TRIES):
            made = worker.ask(plan.as_dict(), candidate, plan.longest)
            if made is not None:
                return made
            if worker.expired:
                late = f"judging it took more than {plan.longest:g} seconds"
                stage = StageResult("run", FAILED, late, ErrorKind.TIMEOUT.value, plan.longest)
                return Result(candidate, [stage], plan.salt).as_dict()
        return Result(candidate, salt=plan.salt, error=f"{TRIES} workers died").as_dict()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        super().shutdown(wait, cancel_futures=cancel_futures)
        for worker in self.workers:
            worker.close()


def judge_all(
    candidates: Sequence[str],
    plan: Plan,
    *,
    executor: Executor | None = None,
    jobs: int = 0,
    journal: str | Path | None = None,
    step: Callable[[int], None] = lambda count: None,
) -> Iterator[Result]:
    """Judge candidates, and yield results as they become known.

    Without an `executor`, `jobs` processes are started. With a `journal`, results are written to that file, and those
    that it has are not computed again if the candidate's file is the same.
    """
    jobs = jobs or len(os.sched_getaffinity(0))
    known, plan = _open_journal(journal, plan)
    todo = {}
    for name in dict.fromkeys(candidates):
        found = known.get(name)
        now = digest(name) if journal is not None else ""
        if found is not None and found["digest"] == now:
            step(1)
            yield Result.from_dict(found["result"])
        else:
            todo[name] = now
    for result in _run(list(todo), plan, executor, jobs):
        if journal is not None and result.verdict != UNJUDGED:
            line = {"digest": todo[result.candidate], "result": result.as_dict()}
            with open(journal, "a", encoding="utf-8") as out:
                out.write(json.dumps(line) + "\n")
        step(1)
        yield result


def _run(todo: Sequence[str], plan: Plan, given: Executor | None, jobs: int) -> Iterator[Result]:
    """Judge on an executor, with a few candidates ahead of time."""
    if not todo:
        return
    own = None if given is not None else Processes(min(jobs, len(todo)))
    function = judge_one if own is None else own.judge
    executor = own if given is None else given
    assert executor is not None
    work = list(todo)[::-1]
    running: dict[Future[dict[str, Any]], str] = {}
    try:
        while work or running:
            while work and len(running) < WAITING * jobs:
                name = work.pop()
                running[executor.submit(function, plan, name)] = name
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                name = running.pop(future)
                try:
                    yield Result.from_dict(future.result())
                except Exception as error:  # of the executor: a worker died, or cannot be reached
                    yield Result(name, salt=plan.salt, error=f"{type(error).__name__}: {error}")
    finally:
        for future in running:
            future.cancel()
        if own is not None:
            own.shutdown(wait=True, cancel_futures=True)


def digest(name: str) -> str:
    """Return a digest of a candidate's file and of the one that says how to launch it; empty if it cannot be read."""
    try:
        made = sha256(read_file(name))
        if Path(name + BESIDE).is_file():
            made.update(b"\0" + read_file(name + BESIDE))
    except (OSError, TileError):
        return ""
    return made.hexdigest()


def _open_journal(journal: str | Path | None, plan: Plan) -> tuple[dict[str, Any], Plan]:
    """Return the results of a journal, and the plan with its salt; start one if there is none for this plan."""
    fresh = plan if plan.salt else replace(plan, salt=secrets.randbits(63))
    if journal is None:
        return {}, fresh
    path = Path(journal)
    lines: list[Any] = []
    try:
        if path.exists():
            text = path.read_text("utf-8", "replace")
            lines = [found for line in text.splitlines() if isinstance(found := _parsed(line), dict)]
        same = bool(lines) and lines[0].get("plan") == plan.identity()
        if same and plan.salt in (0, lines[0].get("salt")):
            known = [each for each in lines[1:] if "digest" in each and "candidate" in each.get("result", {})]
            return {each["result"]["candidate"]: each for each in known}, replace(plan, salt=lines[0]["salt"])
        if lines:
            path.rename(path.with_suffix(path.suffix + ".old"))
        path.write_text(json.dumps({"plan": plan.identity(), "salt": fresh.salt}) + "\n", "utf-8")
    except OSError as error:
        raise TileError(f"cannot write the journal '{path}': {error.strerror}", kind=ErrorKind.FILE) from None
    return {}, fresh


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:  # cut off when the run was interrupted
        return None
