"""The race detector agrees with a brute-force search on random small programs, and says what happened."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import tilery
from support.catalogue import FOLDER, read_cases, reports_of
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


def found_in(path: Path) -> list[tuple[object, ...]]:
    case = read_cases(path)[0]
    return [
        (line, r.rule, r.count, sorted(r.blocks), [p.element for p in r.places], r.values.get("the element"), r.notes)
        for line, r, _ in reports_of(case, "race")
    ]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("race*.mlir")), ids=lambda path: path.stem)
def test_boxes_and_elements_agree(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether tiles are compared as boxes or element by element, the reports are the same."""
    boxes = found_in(path)
    monkeypatch.setattr(Race, "_visit_boxes", lambda self, doing: False)
    assert found_in(path) == boxes


HALVES = """
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c63 = constant <i32: 63> : tile<i32>
  %v = make_tensor_view %p, shape=[256], strides=[1] : tensor_view<256xf32, strides=[1]>
  %tiles = make_partition_view %v : partition_view<tile=(64), tensor_view<256xf32, strides=[1]>>
  %x = constant <f32: 1.0> : tile<64xf32>
  %t = store_view_tko weak %x, %tiles[%b] : tile<64xf32>, partition_view<tile=(64), tensor_view<256xf32, strides=[1]>>, tile<i32> -> token
  %at = offset %p, %c63 : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %one, %t1 = load_ptr_tko weak %at token=%t : tile<ptr<f32>> -> tile<f32>, token
} }
"""  # noqa: E501  # one operation


def test_a_granule_is_split_on_demand() -> None:
    """A tile is one granule until one of its elements is accessed alone."""
    found = Sanitizer("race")
    tilery.compile(tilery.parse(HALVES)).launch(4, [np.zeros(256, np.float32)], names=["w"], sanitize=found)
    (report,) = found.reports
    assert report.values["the element"] == "w[63]" and report.places[1].element == (63,)
