"""Random schedules: they are replayed by their seed, change no result without a race, and find races that hide."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import numpy as np
import pytest

import tilery
from support.catalogue import FOLDER, read_cases
from support.contract import arguments, random_case
from tilery.cli.main import main
from tilery.engines.reference.launch import ReferenceLoaded
from tilery.sanitize import Sanitizer
from tilery.sanitize.schedule import ScheduledMachine

HIDDEN = """
cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>, %flag: tile<ptr<i32>>, %out: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %first = cmpi equal %b, %c0, signed : tile<i32> -> tile<i1>
  if %first {
    %t1 = store_ptr_tko weak %p, %c1 : tile<ptr<i32>>, tile<i32> -> token
    %t2 = store_ptr_tko release device %flag, %c1 token=%t1 : tile<ptr<i32>>, tile<i32> -> token
  } else {
    %f, %ta = load_ptr_tko acquire device %flag : tile<ptr<i32>> -> tile<i32>, token
    %v, %t3 = load_ptr_tko weak %p token=%ta : tile<ptr<i32>> -> tile<i32>, token
    %t4 = store_ptr_tko weak %out, %v : tile<ptr<i32>>, tile<i32> -> token
  }
  return
} }
"""
"""The second tile block does not wait for the flag. It races only if it runs before the first one has set it."""


def launch(schedule: int | None) -> tuple[list[str], bytes]:
    arrays = [np.zeros(1, np.int32) for _ in range(3)]
    watched = Sanitizer("race", schedule=schedule)
    tilery.compile(tilery.parse(HIDDEN)).launch(2, arrays, sanitize=watched)
    return [report.rule for report in watched.reports], b"".join(a.tobytes() for a in arrays)


def test_a_schedule_finds_a_race_that_hides_and_its_seed_replays_it() -> None:
    assert launch(None)[0] == []
    runs = [launch(seed) for seed in range(20)]
    assert {bool(found) for found, _ in runs} == {False, True}
    assert [launch(seed) for seed in range(20)] == runs


@pytest.mark.parametrize("seed", range(0, 40, 2))
def test_results_do_not_depend_on_the_schedule_without_a_race(seed: int) -> None:
    module, contract = random_case(seed)
    for number, each in enumerate(contract.launches):
        left = []
        for schedule in (None, 1, 2):
            args = arguments(each, seed + number)
            watched = Sanitizer("race", schedule=schedule)
            kernel = ReferenceLoaded(module).kernel(each.entry)
            kernel.launch(each.grid, args, sanitize=watched, output=lambda text: None)
            assert list(watched.reports) == []
            left.append([a.tobytes() for a in args if isinstance(a, np.ndarray)])
        assert left[0] == left[1] == left[2]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("race_*.mlir")), ids=lambda path: path.stem)
def test_corrected_kernels_have_no_race_in_any_schedule(path: Path, tmp_path: Path) -> None:
    """Locks, barriers, ring buffers, split-K, stream-K and last-block reductions."""
    twin = read_cases(path)[1]
    file = tmp_path / "twin.mlir"
    file.write_text(twin.text, "utf-8")
    assert main(["run", str(file), *twin.run.split(), "--sanitize", "race", "--schedules", "15"]) == 0


def test_the_command_explores_and_replays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "hidden.mlir"
    file.write_text(HIDDEN, "utf-8")
    args = ["run", str(file), "--grid", "2", *["--arg", "zeros:i32:1"] * 3, "--sanitize", "race"]
    assert main(args) == 0
    assert "races were looked for in the engine's own schedule, and in" in capsys.readouterr().err
    assert main([*args, "--schedules", "20", "--json"]) == 1
    facts = json.loads(capsys.readouterr().out)
    assert "the engine's own schedule and 20 random schedules (0 to 19)" in facts["claim"]
    main([*args, "--schedules", "3", "--seed", "40", "--json"])
    assert "3 random schedules (40 to 42)" in json.loads(capsys.readouterr().out)["claim"]
    (note,) = [n for report in facts["reports"] for n in report["notes"] if "--schedule" in n]
    number = note.split("--schedule ")[1].split()[0]
    assert main([*args, "--schedule", number]) == 1
    assert "race: " in capsys.readouterr().err
    assert main([*args, "--schedule", "sideways"]) == 2
    undefined = [*args[:8], "--arg", "uninit:i32:1", "--sanitize", "all", "--schedules", "3"]
    assert main(undefined) == 1  # each schedule starts with the same memory
    assert main([*args[:-2], "--schedules", "2"]) == 2


LAST = """
cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %t = store_ptr_tko weak %p, %b : tile<ptr<i32>>, tile<i32> -> token
  return
} }
"""


def test_tile_blocks_run_in_another_order() -> None:
    """The last tile block of an order is the one whose store stays; every one of them runs."""
    left = set()
    for seed in range(20):
        found = np.zeros(1, np.int32)
        machine = functools.partial(ScheduledMachine, seed)
        stats = tilery.compile(tilery.parse(LAST)).launch(4, [found], machine=machine)
        assert stats.blocks == 4
        left.add(int(found[0]))
    assert len(left) > 1
