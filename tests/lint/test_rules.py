"""Every rule finds what its page says is bad, and is silent about what its page says is good."""

from __future__ import annotations

from pathlib import Path

import pytest

import tilery
from support.catalogue import read_cases
from tilery.lint import RULES, Finding, Severity, fixed, lint
from tilery.lint.pages import explain, page, pages
from tilery.lint.suppress import with_comment

NAMES = list(RULES)
LAUNCHED = {"race", "deadlock", "undefined", "makes-nan", "unreached-store"}
"""Rules that only trial launches find."""


def findings(text: str, *, trial: bool = True) -> list[Finding]:
    module = tilery.parse(text)
    assert tilery.verify(module) == []
    return lint(module, trial=trial)


@pytest.mark.parametrize("name", NAMES)
def test_the_bad_example_has_this_finding_only(name: str) -> None:
    found = findings(page(RULES[name]).bad)
    assert {finding.rule for finding in found} - {"unused-argument"} == {name} - {"unused-argument"}
    assert name in {finding.rule for finding in found}


@pytest.mark.parametrize("name", NAMES)
def test_the_good_example_has_no_finding(name: str) -> None:
    assert {finding.rule for finding in findings(page(RULES[name]).good)} <= {"unused-argument"} - {name}


@pytest.mark.parametrize("name", NAMES)
def test_a_comment_suppresses_the_finding(name: str) -> None:
    text = page(RULES[name]).bad
    trial = name in LAUNCHED
    errors = tilery.lint.lint_input(tilery.source.input.Input(text=text), rules=[name], trial=trial)
    rows = text.split("\n")
    for line in {error.line for error in errors}:
        assert line is not None
        rows[line - 1] = with_comment(rows[line - 1], name)
    assert tilery.lint.lint_input(tilery.source.input.Input(text="\n".join(rows)), rules=[name], trial=trial) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_safe_fix_settles_the_finding(name: str) -> None:
    text = page(RULES[name]).bad
    can_fix = [f for f in findings(text, trial=False) if f.rule == name and f.fix is not None and f.fix.is_safe]
    new, count = fixed(text, rules=[name])
    assert bool(count) == bool(can_fix)
    if can_fix:
        assert name not in {finding.rule for finding in findings(new, trial=False)}


def test_there_are_rules_of_every_severity() -> None:
    assert len(RULES) >= 20
    assert {rule.severity for rule in RULES.values()} == set(Severity)


def test_every_rule_has_a_page() -> None:
    assert set(pages()) == {"index.md", *(f"{name}.md" for name in RULES)}
    for rule in RULES.values():
        assert explain(rule).startswith(f"{rule.id} ({rule.severity.value}): {rule.summary}\n")


TENSOR = "tensor_view<?x?xf32, strides=[?,1]>"
VIEW = f"partition_view<tile=(8x8), {TENSOR}>"


@pytest.mark.parametrize(("index", "is_race"), [("%next, %i", True), ("%next, %x", False), ("%i, %next", False)])
def test_neighbours_meet_only_if_the_other_indices_agree(index: str, is_race: bool) -> None:
    arguments = "%p: tile<ptr<f32>>, %n: tile<i32>, %s: tile<i32>, %i: tile<i32>"
    found = findings(f"""
        entry @k({arguments}) {{
          %x, %y, %z = get_tile_block_id : tile<i32>
          %one = constant <i32: 1> : tile<i32>
          %next = addi %x, %one : tile<i32>
          %m = make_tensor_view %p, shape = [%n, %n], strides = [%s, 1] : tile<i32> -> {TENSOR}
          %v = make_partition_view %m : {VIEW}
          %a, %t = load_view_tko weak %v[{index}] : {VIEW}, tile<i32> -> tile<8x8xf32>, token
          %u = store_view_tko weak %a, %v[%x, %i] token=%t : tile<8x8xf32>, {VIEW}, tile<i32> -> token
          return
        }}""")
    assert ("neighbour-race" in {finding.rule for finding in found}) == is_race


def test_a_maximum_may_start_at_any_number_that_is_far_down() -> None:
    text = page(RULES["reduce-identity"]).good.replace("mulf", "maxf")
    for identity, is_neutral in (("0xFF800000", True), ("-3.0e38", True), ("0.0", False), ("0x7FC00000", True)):
        found = findings(text.replace("[1.0 : f32]", f"[{identity} : f32]"))
        assert ("reduce-identity" in {finding.rule for finding in found}) != is_neutral


def test_strides_that_are_constants_overlap_too() -> None:
    text = page(RULES["overlapping-view"]).bad
    assert "strides = [4, 1]" in text
    dynamic = text.replace("strides = [4, 1] :", "strides = [%four, 1] : tile<i32> ->").replace(
        "strides=[4,1]", "strides=[?,1]"
    )
    dynamic = dynamic.replace("{\n", "{\n  %four = constant <i32: 4> : tile<i32>\n", 1)
    assert "overlapping-view" in {finding.rule for finding in findings(dynamic)}


ACCUMULATES = """
entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<i32>>, %n: tile<i32>) {
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %nothing = constant <f32: -0.0> : tile<f32>
  %least = constant <f32: -3.0e38> : tile<f32>
  %x, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
  %i, %u = load_ptr_tko weak %q : tile<ptr<i32>> -> tile<i32>, token
  %a = absf %x : tile<f32>
  %s = mulf %x, %x : tile<f32>
  %r = for %k in (%zero to %n, step %one) : tile<i32> iter_values(%so_far = START) -> (tile<KIND>) {
    %next = STEP : tile<KIND>
    continue %next : tile<KIND>
  }
  print_tko "%f", %r : tile<KIND> -> token
  return
}
"""


@pytest.mark.parametrize(
    ("start", "step", "kind", "severity"),
    [
        ("%nothing", "maxf %so_far, %x", "f32", "note"),
        ("%nothing", "minf %a, %so_far", "f32", "note"),
        ("%nothing", "mulf %so_far, %x", "f32", "warning"),
        ("%zero", "muli %i, %so_far", "i32", "warning"),
        ("%zero", "andi %so_far, %i", "i32", "warning"),
        ("%zero", "maxi %so_far, %i signed", "i32", "note"),
        ("%zero", "maxi %so_far, %i unsigned", "i32", None),
        ("%nothing", "maxf %so_far, %a", "f32", None),
        ("%nothing", "maxf %so_far, %s", "f32", None),
        ("%least", "maxf %so_far, %x", "f32", None),
        ("%nothing", "addf %so_far, %x", "f32", None),
        ("%zero", "ori %so_far, %i", "i32", None),
    ],
)
def test_what_an_accumulator_starts_from(start: str, step: str, kind: str, severity: str | None) -> None:
    text = ACCUMULATES.replace("START", start).replace("STEP", step).replace("KIND", kind)
    module = tilery.parse(text)
    assert tilery.verify(module) == []
    found = [f.severity.value for f in lint(module, trial=False) if f.rule == "accumulator-start"]
    assert found == ([severity] if severity else [])


EIGHTH = Path(__file__).parent / "eighth"


def test_the_part_of_a_mask_that_is_known_counts() -> None:
    text = """
    entry @k(%p: tile<ptr<f32>>, %rows: tile<i32>) {
      %x, %y, %z = get_tile_block_id : tile<i32>
      %six = constant <i32: 6> : tile<i32>
      %first = muli %x, %six : tile<i32>
      %i = iota : tile<8xi32>
      %end = constant <i32: WIDTH> : tile<8xi32>
      %r1 = reshape %rows : tile<i32> -> tile<1xi32>
      %r8 = broadcast %r1 : tile<1xi32> -> tile<8xi32>
      %x1 = reshape %x : tile<i32> -> tile<1xi32>
      %x8 = broadcast %x1 : tile<1xi32> -> tile<8xi32>
      %a = cmpi less_than %i, %end, signed : tile<8xi32> -> tile<8xi1>
      %b = cmpi less_than %x8, %r8, signed : tile<8xi32> -> tile<8xi1>
      %mask = andi %a, %b : tile<8xi1>
      %one = constant <f32: 1.0> : tile<8xf32>
      %q = offset %p, %first : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
      %q1 = reshape %q : tile<ptr<f32>> -> tile<1xptr<f32>>
      %q8 = broadcast %q1 : tile<1xptr<f32>> -> tile<8xptr<f32>>
      %to = offset %q8, %i : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>
      %t = store_ptr_tko weak %to, %one, %mask : tile<8xptr<f32>>, tile<8xf32>, tile<8xi1> -> token
      return
    }
    """
    assert [f.rule for f in findings(text.replace("WIDTH", "7"))] == ["neighbour-race"]
    assert findings(text.replace("WIDTH", "6")) == []


@pytest.mark.parametrize(
    ("name", "rules"),
    [("elements_instead_of_tiles", {"out-of-bounds"}), ("scratch_cleared_by_the_first_block", {"alloca-unwritten"})],
)
def test_faults_of_the_eighth_set_that_were_missed(name: str, rules: set[str]) -> None:
    faulty, twin = read_cases(EIGHTH / f"{name}.mlir")
    assert {f.rule for f in findings(faulty.text) if f.severity is not Severity.NOTE} == rules
    assert [f for f in findings(twin.text) if f.severity is not Severity.NOTE] == []


def test_two_tiles_for_each_position_are_no_mistake() -> None:
    faulty, _ = read_cases(EIGHTH / "elements_instead_of_tiles.mlir")
    assert findings(faulty.text.replace("%long = constant <i32: 16>", "%long = constant <i32: 2>")) == []
