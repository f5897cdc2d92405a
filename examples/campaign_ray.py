"""Look for faults with random modules on a Ray cluster: `python campaign_ray.py [COUNT [FOLDER]]`.

Needs `pip install ray`. Every machine of the cluster needs tilery. Engine cpu is compared with the reference engine.
Run it again to continue after an interruption.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import Executor, Future
from importlib import import_module
from pathlib import Path
from typing import Any

from tilery.reducer.campaign import Campaign, CampaignPlan
from tilery.reducer.executors import map_on_executor


class RayExecutor(Executor):
    """Runs each call as a task of Ray, which starts it again if its worker dies."""

    def __init__(self) -> None:
        self.ray = import_module("ray")
        if not self.ray.is_initialized():
            self.ray.init(log_to_driver=False)

    def submit(self, function: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
        made: Future[Any] = self.ray.remote(function).remote(*args, **options).future()
        return made


def main(count: int, folder: str) -> int:
    campaign = Campaign(CampaignPlan("reference,cpu"), Path(folder), range(count), map_on_executor(RayExecutor))
    campaign.run()
    sys.stdout.write(f"{len(campaign.checked)} modules, {len(campaign.causes())} causes; see {folder}/summary.md\n")
    return int(bool(campaign.causes()))


if __name__ == "__main__":
    raise SystemExit(main(int((sys.argv[1:] or ["100"])[0]), (sys.argv[2:] or ["findings"])[0]))
