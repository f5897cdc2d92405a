"""Questions that a program asks an operation."""

from __future__ import annotations

import pytest

import tilery
from tilery.analysis.interfaces import Effect, branches, effect, inferred_types, loop_values, traits
from tilery.cli.main import main
from tilery.declare.relations import COMMUTATIVE
from tilery.ir import walk
from tilery.ops import For, If, Loop
from tilery.smith import smith

TEXT = """entry @k(%n: tile<i32>, %c: tile<i1>, %p: tile<ptr<i32>>) {
  %s = addi %n, %n : tile<i32>
  %q = divi %n, %s signed : tile<i32>
  %f = for %i in (%n to %s, step %n) : tile<i32> iter_values(%a = %q) -> (tile<i32>) {
    continue %i : tile<i32>
  }
  %l = loop iter_values(%b = %f) : tile<i32> -> tile<i32> {
    break %b : tile<i32>
  }
  if %c {
    %t = store_ptr_tko weak %p, %l : tile<ptr<i32>>, tile<i32> -> token
  }
  return
}"""


def test_an_operation_answers() -> None:
    module = tilery.parse(TEXT)
    by_name = {o.name: o for o in walk(module)}
    assert COMMUTATIVE in traits(by_name["addi"]) and COMMUTATIVE not in traits(by_name["divi"])
    expected = {
        "addi": Effect.NONE,
        "divi": Effect.NOT_SPECULATABLE,
        "store_ptr_tko": Effect.MEMORY,
        "if": Effect.REGIONS,
    }
    assert {name: effect(by_name[name]) for name in expected} == expected
    loop, endless, branch = by_name["for"], by_name["loop"], by_name["if"]
    assert isinstance(loop, For) and isinstance(endless, Loop) and isinstance(branch, If)
    found = loop_values(loop)
    assert found is not None and found.counter is loop.region.args[0] and found.bounds is not None
    assert found.starts == tuple(loop.initValues) and found.carried == tuple(loop.region.args[1:])
    other = loop_values(endless)
    assert other is not None and other.counter is None and other.results == tuple(endless.resultValues)
    assert branches(branch) == [branch.thenRegion] and branches(loop) == [] and loop_values(branch) is None


def test_inferred_types_are_those_of_legal_modules() -> None:
    known = 0
    for seed in range(12):
        for o in walk(smith(seed)):
            found = inferred_types(o)
            if found is not None and o.results:
                known += 1
                assert found == [v.type for v in o.results], o.name
    assert known > 100


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("addi", "effect: no memory effect, and may be executed speculatively"),
        ("addi", "inferred types: result"),
        ("store_ptr_tko", "effect: accesses memory, or has another effect"),
        ("for", "control flow: a loop"),
        ("if", "control flow: a branch"),
    ],
)
def test_the_command_shows_them(name: str, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", name]) == 0
    assert line in capsys.readouterr().out
