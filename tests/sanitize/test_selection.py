"""Selection by users: suppressions, baselines, kernels, launches; exit statuses and the summary."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tilery
from support.command import run
from tilery.diag import TileError
from tilery.sanitize import Sanitizer
from tilery.sanitize.reports import Report
from tilery.sanitize.schedule import explore
from tilery.sanitize.selection import Selection, read_rules

RACE = """\
cuda_tile.module @m { entry @same(%p: tile<ptr<f32>>) {
  %x = constant <f32: 1.0> : tile<f32>
  %t = store_ptr_tko weak %p, %x : tile<ptr<f32>>, tile<f32> -> token  // COMMENT
} }
"""
OPTIONS = ("--grid", "2", "--arg", "out=zeros:f32:1", "--sanitize", "race")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "k.mlir"
    path.write_text(RACE)
    return path


def status(*arguments: object) -> tuple[int, str]:
    done = run("run", *map(str, arguments), *OPTIONS)
    return done.returncode, done.stderr.decode()


def test_a_fault_has_its_own_exit_status_and_a_summary(file: Path) -> None:
    code, text = status(file, "--error-exitcode", 66)
    assert code == 66 and "1 launch was watched, 1 fault\n" in text


@pytest.mark.parametrize("line", ["race", "race kernel=sa*", "* at=k.mlir:3", "race at=*k.mlir:3 rule=tile blocks*"])
def test_a_rule_suppresses(file: Path, tmp_path: Path, line: str) -> None:
    rules = tmp_path / "rules"
    rules.write_text(f"# known\n{line}\n")
    code, text = status(file, "--suppress", rules)
    assert code == 0 and "no fault, 1 suppressed" in text


@pytest.mark.parametrize("line", ["bounds", "race kernel=other", "race at=k.mlir:4", "race rule=*alloca*"])
def test_another_rule_does_not(file: Path, tmp_path: Path, line: str) -> None:
    rules = tmp_path / "rules"
    rules.write_text(line)
    assert status(file, "--suppress", rules)[0] == 1


def test_a_rule_that_is_none_is_refused(file: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules"
    rules.write_text("race kernel histogram")
    code, text = status(file, "--suppress", rules)
    assert code == 2 and "rules:1: expected a check and kernel=PATTERN" in text
    with pytest.raises(TileError, match="file:2"):
        read_rules("race\nrace unknown=1", "file")


def test_a_comment_suppresses_the_checks_it_names(file: Path) -> None:
    file.write_text(RACE.replace("COMMENT", "tilery: allow uninit, race"))
    assert status(file)[0] == 0
    file.write_text(RACE.replace("COMMENT", "tilery: allow uninit"))
    assert status(file)[0] == 1


def test_a_baseline_outlives_lines_that_move(file: Path, tmp_path: Path) -> None:
    baseline = tmp_path / "baseline.json"
    assert status(file, "--write-baseline", baseline)[0] == 1
    file.write_text("// a line above\n" + RACE)
    assert status(file, "--baseline", baseline)[0] == 0
    file.write_text(RACE.replace("1.0", "2.0").replace("weak %p", "weak  %p"))
    assert status(file, "--baseline", baseline)[0] == 1
    baseline.write_text("[]")
    assert "no baseline" in status(file, "--baseline", baseline)[1]


def test_options_need_sanitize(file: Path) -> None:
    done = run("run", str(file), "--baseline", "b.json")
    assert done.returncode == 2 and b"--baseline needs --sanitize" in done.stderr


def test_launches_are_chosen_by_kernel_skip_and_count() -> None:
    selection = Selection(["mat*"], skip=1, count=2)
    taken = [selection.takes(name) for name in ("matmul", "add", "matmul", "matvec", "matmul")]
    assert taken == [False, False, True, True, False]
    assert (selection.watched, selection.left_out) == (2, 3)


def test_a_launch_that_is_left_out_is_not_watched() -> None:
    found = Sanitizer("race", selection=Selection(count=1))
    kernel, out = tilery.compile(tilery.parse(RACE)), np.zeros(1, np.float32)
    kernel.launch(1, [out], sanitize=found)
    kernel.launch(2, [out], sanitize=found)
    assert found.summary == "1 launch was watched, 1 was not, no fault"


def test_a_launch_that_an_error_ends_says_so_in_the_summary() -> None:
    found = Sanitizer("race")
    waits = """entry @k(%p: tile<ptr<i32>>) {
      loop { %v, %t = load_ptr_tko acquire device %p : tile<ptr<i32>> -> tile<i32>, token
        %c = trunci %v : tile<i32> -> tile<i1>  if %c { break }  continue } }"""
    with pytest.raises(TileError, match="deadlocked"):
        tilery.compile(tilery.parse(waits)).launch(1, [np.zeros(1, np.int32)], sanitize=found)
    assert found.summary == "1 launch was watched, 1 stopped by an error, no fault"


LAST = """
cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %v, %t = atomic_rmw_tko relaxed device %p, xchg, %b : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
} }
"""


def test_a_result_that_depends_on_the_schedule() -> None:
    out = np.zeros(1, np.int32)
    found = Sanitizer("race,order-sensitive")
    kernel = tilery.compile(tilery.parse(LAST))
    explore(lambda: kernel.launch(8, [out], names=["out"], sanitize=found), found, [out], 20)
    (report,) = found.reports
    assert report.hint and report.op.name == "atomic_rmw_tko" and report.rule == "the result depends on the schedule"
    assert report.values["the element"] == "out[0]"


def test_a_result_that_does_not() -> None:
    out = np.zeros(1, np.int32)
    found = Sanitizer("race,order-sensitive")
    kernel = tilery.compile(tilery.parse(LAST.replace("xchg", "add")))
    explore(lambda: kernel.launch(8, [out], sanitize=found), found, [out], 5)
    assert list(found.reports) == []


def test_a_kernel_of_cutile_has_the_name_of_its_function() -> None:
    selection = Selection(["fill"])
    assert [selection.takes(name) for name in ("fill_Kt2_A1f32_1s1", "filler_Kt2_A1f32_1s1")] == [True, False]
    (rule,) = read_rules("race kernel=fill", "file")
    report = Report("race", "r", [], kernel="fill_Kt2_A1f32_1s1")
    assert rule.matches(report, "") and not rule.matches(replace(report, kernel="filler_Kt2_A1f32_1s1"), "")


def test_a_name_that_no_kernel_has_is_told() -> None:
    found = Sanitizer("race", selection=Selection(["other"]))
    tilery.compile(tilery.parse(RACE)).launch(1, [np.zeros(1, np.float32)], sanitize=found)
    assert found.summary.endswith("no fault, the kernels have other names: same")
