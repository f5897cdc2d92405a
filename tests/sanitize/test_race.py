"""The race detector agrees with a brute-force search on random small programs, and says what happened."""

from __future__ import annotations

import pytest

from support.race.cuts import Spy, Tally, judge_program, module_cuts, module_races
from support.race.programs import Program
from tilery.sanitize import Access
from tilery.sanitize.races.check import Race


def compare(seed: int) -> bool:
    """Run a random program; the detector and the search must agree on each byte. Return whether there is a race."""
    verdict = judge_program(seed)
    assert verdict.agrees, Program(seed).text
    return bool(verdict.searched)


@pytest.mark.parametrize("start", range(0, 400, 100))
def test_the_detector_agrees_with_a_brute_force_search(start: int) -> None:
    racy = [compare(seed) for seed in range(start, start + 100)]
    assert 20 < sum(racy) < 90


def test_forgetting_what_is_not_used_any_more_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def after(self: Spy, access: Access) -> None:
        self._most = 0  # look for unused cells each time
        Race.after(self, access)

    monkeypatch.setattr(Spy, "after", after)
    for seed in range(60):
        compare(seed)


@pytest.mark.parametrize("start", range(0, 60, 20))
def test_random_modules_have_no_race(start: int) -> None:
    for seed in range(start, start + 20):
        assert module_races(seed) == []


def test_cuts_of_token_edges_are_found() -> None:
    """After each cut of a token edge in random modules, the detector and the search agree."""
    total = Tally()
    for seed in (*range(14), 135, 286):  # the last two allocate memory in loops
        total.add(module_cuts(seed, grid=1))
    assert total.cuts > 15 and not total.wrong
