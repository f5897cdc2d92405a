"""The race detector agrees with a brute-force search on random small programs, and says what happened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import tilery
from support.race.brute_force import Recorder, races
from support.race.programs import Program
from tilery.ir import Op
from tilery.sanitize import Sanitizer
from tilery.sanitize.race import Doing, Race
from tilery.sanitize.race_shadow import Shadow
from tilery.sanitize.reports import Place


class Spy(Race):
    """Keeps the bytes and operations of all races."""

    found: dict[int, set[frozenset[Op]]]

    def begin(self, entry: Any) -> None:
        super().begin(entry)
        type(self).found = {}

    def _report(
        self,
        doing: Doing,
        rule: str,
        elements: Any,
        other: Place,
        shadow: Shadow,
        granules: Any,
        notes: Sequence[str] = (),
    ) -> None:
        for granule in granules.tolist():
            for byte in range(shadow.granule):
                pair = frozenset((doing.access.op, other.op))
                self.found.setdefault(shadow.address(granule) + byte, set()).add(pair)
        super()._report(doing, rule, elements, other, shadow, granules, notes)


def compare(seed: int) -> bool:
    """Run a random program; the detector and the search must agree on each byte. Return whether there is a race."""
    program = Program(seed)
    memory = np.zeros(8, np.int64)
    watched = Sanitizer("bounds", more=[Spy, Recorder])
    kernel = tilery.compile(tilery.parse(program.text))
    args = [memory.view(np.int8), memory.view(np.int32), memory]
    kernel.launch(program.grid, args, sanitize=watched, batch=program.batch)
    wanted = races(Recorder.events)
    assert set(Spy.found) == set(wanted), program.text
    assert all(pairs <= wanted[byte] for byte, pairs in Spy.found.items()), program.text
    return bool(wanted)


@pytest.mark.parametrize("start", range(0, 600, 100))
def test_the_detector_agrees_with_a_brute_force_search(start: int) -> None:
    racy = [compare(seed) for seed in range(start, start + 100)]
    assert 20 < sum(racy) < 90
