"""The plan of a batch: everything that a worker needs to know to judge a candidate, as plain data."""

from __future__ import annotations

import json
import threading
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..diag import TileError
from .jail import Limits
from .judging import DEFAULT_STAGES, Judge
from .problem import parse_problem
from .results import Result


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that a worker needs to know to judge a candidate."""

    cases: str
    """The text of the cases file."""
    folder: str
    """Where the reference is."""
    against: str = ""
    salt: int = 0
    stages: tuple[str, ...] = DEFAULT_STAGES
    limits: Limits = field(default_factory=Limits)
    seconds: float = 10.0
    total: float = 120.0
    memory: int = 8 << 30
    """Bytes of address space that a worker of the default executor may take."""
    plain: bool = False
    timing: tuple[tuple[str, Any], ...] = ()
    keep: str = ""
    """The folder for the kernels of accepted candidates."""

    @property
    def longest(self) -> float:
        """Seconds after which a worker counts as hanging; every stage has limits of its own that are far below."""
        return 600.0 + self.limits.seconds + 20 * self.total

    def as_dict(self) -> dict[str, Any]:
        """Return the plan as JSON can hold it."""
        return asdict(self)

    @staticmethod
    def from_dict(data: dict[str, Any]) -> Plan:
        """Return the plan that `as_dict` described."""
        timing = tuple((str(key), value) for key, value in data["timing"])
        return Plan(**{**data, "limits": Limits(**data["limits"]), "stages": tuple(data["stages"]), "timing": timing})

    def identity(self) -> dict[str, Any]:
        """Return what decides verdicts, as plain data; the salt is another matter."""
        facts = json.loads(json.dumps(asdict(self)))
        del facts["salt"], facts["keep"]
        return dict(facts)

    def judge(self) -> Judge:
        """Return a judge."""
        return Judge(
            parse_problem(self.cases, Path(self.folder)),
            self.against or None,
            salt=self.salt,
            stages=self.stages,
            limits=self.limits,
            seconds=self.seconds,
            total=self.total,
            plain=self.plain,
            timing=dict(self.timing),
            keep=self.keep or None,
        )


_local = threading.local()


def judge_one(plan: Plan, candidate: str) -> dict[str, Any]:
    """Judge a candidate in this thread, which keeps its judge for the next one. Return plain data."""
    try:
        if getattr(_local, "plan", None) != plan:
            end_judge()
            _local.judge = plan.judge()
            _local.plan = plan
        judge: Judge = _local.judge
        return judge.judge(candidate).as_dict()
    except TileError as error:  # of the problem or the reference, not of the candidate
        return Result(candidate, salt=plan.salt, error=error.message).as_dict()
    except Exception as error:  # a fault of the judge must not end a batch, nor accept anything
        end_judge()
        return Result(candidate, salt=plan.salt, error=f"internal error: {type(error).__name__}: {error}").as_dict()


def end_judge() -> None:
    """End the judge of this thread, if it has one."""
    old: Judge | None = getattr(_local, "judge", None)
    if old is not None:
        old.close()
    _local.judge = _local.plan = None
