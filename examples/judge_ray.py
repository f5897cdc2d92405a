"""Judge candidates on a Ray cluster: `python judge_ray.py cases.toml candidates/*.py`. Needs `pip install ray`.

Every machine of the cluster needs tilery, the candidates and the folder of the cases file at the same paths.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import ray  # type: ignore[import-not-found,unused-ignore]  # an example's own package

from tilery.judge import Plan, judge_all, table


class RayExecutor(Executor):
    """Runs each call as a task of Ray."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
        made: Future[Any] = ray.remote(function).remote(*args, **options).future()
        return made


def main(cases: str, candidates: list[str]) -> int:
    ray.init(log_to_driver=False)
    path = Path(cases).resolve()
    plan = Plan(path.read_text("utf-8"), str(path.parent))
    names = [str(Path(each).resolve()) for each in candidates]
    jobs = int(ray.cluster_resources().get("CPU", 1))
    results = list(judge_all(names, plan, executor=RayExecutor(), jobs=jobs, journal="judged.jsonl"))
    sys.stdout.write(table(results))
    return int(any(each.verdict != "accepted" for each in results))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1], sys.argv[2:]))
