"""Judge candidates on a Ray cluster: `python judge_ray.py cases.toml candidates/*.py`. Needs `pip install ray`.

Every machine of the cluster needs tilery, the candidates and the folder of the cases file at the same paths.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import Executor, Future
from importlib import import_module
from pathlib import Path
from typing import Any

from tilery.judge import Plan, judge_all, table


class RayExecutor(Executor):
    """Runs each call as a task of Ray."""

    def __init__(self) -> None:
        self.ray = import_module("ray")
        self.ray.init(log_to_driver=False)
        self.cores = int(self.ray.cluster_resources().get("CPU", 1))

    def submit(self, function: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
        made: Future[Any] = self.ray.remote(function).remote(*args, **options).future()
        return made


def main(cases: str, candidates: list[str]) -> int:
    path = Path(cases).resolve()
    plan = Plan(path.read_text("utf-8"), str(path.parent))
    names = [str(Path(each).resolve()) for each in candidates]
    executor = RayExecutor()
    results = list(judge_all(names, plan, executor=executor, jobs=executor.cores, journal="judged.jsonl"))
    sys.stdout.write(table(results))
    return int(any(each.verdict != "accepted" for each in results))


if __name__ == "__main__":
    if len(sys.argv) > 2:
        raise SystemExit(main(sys.argv[1], sys.argv[2:]))
    print(__doc__)
