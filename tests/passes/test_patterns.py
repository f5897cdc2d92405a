"""Patterns by name: the log of what fired, the list, and those that are switched off; options of the simplifier."""

from __future__ import annotations

from pathlib import Path

import pytest

import tilery
from tilery import TileError
from tilery.cli.main import main
from tilery.passes import parse_pipeline, run_pipeline
from tilery.passes.canonicalize import rule

TEXT = """entry @k(%a: tile<i1>, %x: tile<i32>, %y: tile<i32>) {
  %r = if %a -> (tile<i32>) { yield %x : tile<i32> } else { yield %y : tile<i32> } loc("k.py":3:1)
  %t = print_tko "%d", %r : tile<i32> -> token
  return
}
"""


def test_the_log_has_every_rule_in_order() -> None:
    module = tilery.parse(TEXT)
    logs = []
    run_pipeline(module, parse_pipeline("canonicalize"), lambda step, report: logs.append(report.log), log=True)
    assert [(fired.rule, fired.op) for fired in logs[0] or ()] == [
        ("ConvertToSelect", "if"),
        ("RemoveEmptyElseBranch", "if"),
    ]
    run_pipeline(module, parse_pipeline("canonicalize"), lambda step, report: logs.append(report.log))
    assert logs[-1] is None


def test_the_command_prints_rule_operation_place_and_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text(TEXT, "utf-8")
    assert main(["opt", "--log", "--passes", "canonicalize", str(path)]) == 0
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("k.py:3:") and first.endswith("canonicalize: 1: ConvertToSelect: if")
    assert second.endswith("canonicalize: 2: RemoveEmptyElseBranch: if")
    assert main(["opt", "--list", "patterns"]) == 0
    shown = capsys.readouterr().out
    assert all(f"    {name}" in shown for name in rule.names())


def test_the_log_has_places_in_a_text_without_locations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text(TEXT, "utf-8")
    passes = "canonicalize,synthesize-debug-info-scopes,dce"
    assert main(["opt", "--log", "--passes", passes, str(path)]) == 0
    logged = capsys.readouterr()
    assert logged.err.splitlines()[0].startswith("k.py:3:")
    assert main(["opt", "--passes", passes, str(path)]) == 0
    assert capsys.readouterr().out == logged.out
    path.write_text(TEXT.replace(' loc("k.py":3:1)', ""), "utf-8")
    assert main(["opt", "--log", "--passes", passes, str(path)]) == 0
    first, second = capsys.readouterr().err.splitlines()
    assert first == f"{path}:2:8: canonicalize: 1: ConvertToSelect: if"
    assert second == f"{path}:2:8: canonicalize: 2: RemoveEmptyElseBranch: if"


def test_the_log_has_what_assumptions_decide_and_loops_that_were_split() -> None:
    text = """entry @k(%x: tile<i32>, %c0: tile<i32>, %c1: tile<i32>) {
      %a = assume bounded<0, 7>, %x : tile<i32>
      %n = constant <i32: 8> : tile<i32>
      %small = cmpi less_than %a, %n, signed : tile<i32> -> tile<i1>
      for %i in (%c0 to %n, step %c1) : tile<i32> {
        %late = cmpi less_than %i, %x, signed : tile<i32> -> tile<i1>
        if %late { %t = print_tko "%d %d", %i, %small : tile<i32>, tile<i1> -> token }
      }
      return
    }
    """
    logs = []
    passes = parse_pipeline("fold-known,loop-split")
    run_pipeline(tilery.parse(text), passes, lambda step, report: logs.append(report.log), log=True)
    assert [[(fired.rule, fired.op) for fired in log or ()] for log in logs] == [
        [("cmpi", "cmpi")],
        [("split_loop", "for")],
    ]


@pytest.mark.parametrize("passes", ["canonicalize", "documented"])
def test_patterns_can_be_switched_off(passes: str) -> None:
    module = tilery.parse(TEXT)
    for name, left in (("CombineIfs", 0), ("ConvertToSelect", 1), ("CombineIfs,ConvertToSelect", 1)):
        made = tilery.optimize(module, f"{passes}{{disable-patterns={name}}}")
        assert [o.name for o in made.entries[0].body.ops].count("if") == left
    with pytest.raises(TileError, match=r"unknown pattern 'ConvertToSelct'; did you mean 'ConvertToSelect'"):
        tilery.optimize(module, f"{passes}{{disable-patterns=ConvertToSelct}}")


def test_options_of_the_simplifier() -> None:
    text = """entry @k(%x: tile<i32>, %m: tile<i1>) {
      %z = subi %x, %x : tile<i32>
      %n = xori %m, %m : tile<i1>
      %t = print_tko "%d %d", %z, %n : tile<i32>, tile<i1> -> token
      return
    }"""
    module = tilery.parse(text)

    def left(options: str) -> set[str]:
        return {o.name for o in tilery.optimize(module, f"simplify{options}").entries[0].body.ops} & {"subi", "xori"}

    assert left("") == set() == left("{mode=all depth=4}")
    assert left("{mode=integers}") == {"xori"} and left("{mode=masks}") == {"subi"}
    for wrong in ("{mode=x}", "{depth=0}", "{depth=99}"):
        with pytest.raises(TileError, match="simplify: option"):
            left(wrong)
