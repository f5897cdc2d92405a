"""The race detector agrees with a brute-force search on random small programs, and says what happened."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tilery
from support.race.cuts import Spy, Tally, judge_program, module_cuts, module_races
from support.race.programs import Program
from tilery.sanitize import Access, Sanitizer
from tilery.sanitize.races import recent
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


OVERLAPPING = """
cuda_tile.module @m {
  entry @k(%p: tile<ptr<i32>>) {
    %offsets = iota : tile<8xi32>
    %row = reshape %p : tile<ptr<i32>> -> tile<1xptr<i32>>
    %base = broadcast %row : tile<1xptr<i32>> -> tile<8xptr<i32>>
    %there = offset %base, %offsets : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
    %three = constant <i32: 3> : tile<8xi32>
    %later = offset %there, %three : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
    %t = store_ptr_tko weak %there, %offsets : tile<8xptr<i32>>, tile<8xi32> -> token
    %u = store_ptr_tko weak %later, %offsets : tile<8xptr<i32>>, tile<8xi32> -> token
    return
  }
}
"""


@pytest.mark.parametrize("kept, element", [(1 << 25, (3,)), (0, ())])
def test_both_elements_are_named(monkeypatch: pytest.MonkeyPatch, kept: int, element: tuple[int, ...]) -> None:
    """The second store starts at the fourth element of the first. Old accesses are forgotten, and their elements."""
    monkeypatch.setattr(recent, "MOST_BYTES", kept)
    watched = Sanitizer("race")
    tilery.compile(tilery.parse(OVERLAPPING)).launch(1, [np.zeros(16, np.int32)], sanitize=watched)
    (report,) = watched.reports
    assert [place.element for place in report.places] == [(0,), element]
    assert report.count == 5


def test_one_sanitizer_watches_launches_of_several_threads() -> None:
    kernel = tilery.compile(tilery.parse(OVERLAPPING))
    watched = Sanitizer("all")
    with ThreadPoolExecutor(8) as pool:
        done = [pool.submit(kernel.launch, 1, [np.zeros(16, np.int32)], sanitize=watched) for _ in range(200)]
    assert not [each for each in done if each.exception() is not None]
    (report,) = watched.reports
    assert report.count == 5 * 200
