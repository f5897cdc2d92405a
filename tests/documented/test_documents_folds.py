"""Claims of the document on folds: its two examples, the order of its rules, and limits of its passes."""

from __future__ import annotations

import pytest

import tilery
from tilery import documented
from tilery.ops import If
from tilery.passes.canonicalize import branches
from tilery.passes.documented import documented as run
from tilery.passes.documented import rule as described
from tilery.rewrite import Report

ENTRY = """cuda_tile.module @m {{ cuda_tile.entry @k(%cond: tile<i1>, %a: tile<i1>, %b: tile<i1>, %n: tile<i32>,
  %y: tile<i32>, %f: tile<f32>, %g: tile<f32>) {{
{}
cuda_tile.return
}} }}
"""
JOINED = """%first, %mask = cuda_tile.if %cond -> (tile<f32>, tile<i1>) {
  %x = cuda_tile.mulf %f, %g : tile<f32>
  %m = cuda_tile.cmpf olt, %x, %g : tile<f32>
  cuda_tile.yield %x, %m : tile<f32>, tile<i1>
} else {
  cuda_tile.yield %g, %a : tile<f32>, tile<i1>
}
%c = cuda_tile.if %cond -> (tile<f32>) {
  %s = cuda_tile.addf %first, %first : tile<f32>
  cuda_tile.yield %s : tile<f32>
} else {
  cuda_tile.yield %first : tile<f32>
}
%t = print_tko "%f %f", %first, %c : tile<f32>, tile<f32> -> token
%u = print_tko "%d", %mask : tile<i1> -> token"""
NESTED = """%r = cuda_tile.if %a -> (tile<i32>) {
  %inner = cuda_tile.if %b -> (tile<i32>) {
    %v = cuda_tile.muli %n, %y : tile<i32>
    cuda_tile.yield %v : tile<i32>
  } else {
    cuda_tile.yield %OTHER : tile<i32>
  }
  cuda_tile.yield %inner : tile<i32>
} else {
  cuda_tile.yield %y : tile<i32>
}
%t = print_tko "%d", %r : tile<i32> -> token"""


def after(body: str) -> tuple[list[tilery.Op], Report]:
    """The operations of an entry after the described canonicalizer, and what it did."""
    module = documented.parse(ENTRY.format(body))
    report = Report()
    run(module, report)
    assert tilery.verify(module) == []
    return module.entries[0].body.ops, report


def names(ops: list[tilery.Op]) -> list[str]:
    return [o.name for o in ops]


def test_adjacent_ifs_are_joined() -> None:
    ops, report = after(JOINED)
    assert report.counts["CombineIfs"] == 1
    (joined,) = [o for o in ops if o.name == "if"]
    assert [v.type.text for v in joined.results] == ["tile<f32>", "tile<i1>", "tile<f32>"]
    assert names(joined.blocks[0].ops) == ["mulf", "cmpf", "addf", "yield"]
    assert names(joined.blocks[1].ops) == ["yield"]


def test_ifs_with_something_between_stay_two() -> None:
    first, second = JOINED.split("%c = ")
    ops, report = after(first + '%v = print_tko "" -> token\n%c = ' + second)
    assert not report.counts["CombineIfs"]
    assert names(ops).count("if") == 2


def test_ifs_of_two_conditions_stay_two() -> None:
    ops, report = after(JOINED.replace("%c = cuda_tile.if %cond", "%c = cuda_tile.if %b"))
    assert not report.counts["CombineIfs"] and names(ops).count("if") == 2


def test_nested_ifs_are_joined_where_both_ways_around_agree() -> None:
    ops, report = after(NESTED.replace("%OTHER", "%y"))
    assert report.counts["CombineNestedIfs"] == 1
    assert names(ops)[:2] == ["andi", "if"]
    (outer,) = [o for o in ops if o.name == "if"]
    assert names(outer.blocks[0].ops) == ["muli", "yield"]


def test_nested_ifs_stay_where_the_inner_else_would_be_lost() -> None:
    ops, report = after(NESTED.replace("%OTHER", "%n"))
    assert not report.counts["CombineNestedIfs"]
    assert "andi" not in names(ops)


ONE_RETURN = """%r = if %a -> (tile<f32>) {{
  {}
}} else {{
  {}
}}
%t = print_tko "%f", %r : tile<f32> -> token"""


def test_a_return_in_one_branch_is_enough() -> None:
    """The tools move a branch behind the `if` only where both leave; the document needs one `return`."""
    stay = "%s = addf %f, %g : tile<f32>\n yield %s : tile<f32>"
    for branches_ in (("return", stay), (stay, "return")):
        body = ONE_RETURN.format(*branches_)
        ops, report = after(body)
        assert names(ops)[-4:] == ["if", "addf", "print_tko", "return"] and report.counts["MoveTerminatorToParent"] == 1
        branch = next(o for o in ops if isinstance(o, If))
        assert branch.elseRegion is None and names(branch.thenRegion.ops) == ["return"]
        real = tilery.optimize(documented.parse(ENTRY.format(body)), "canonicalize").entries[0].body.ops
        assert next(o for o in real if isinstance(o, If)).elseRegion is not None


def test_only_branches_that_do_nothing_but_yield_become_a_select() -> None:
    printing = """%r = cuda_tile.if %a -> (tile<f32>) {
      %t = print_tko "" -> token
      cuda_tile.yield %f : tile<f32>
    } else {
      cuda_tile.yield %g : tile<f32>
    }
    %u = print_tko "%f", %r : tile<f32> -> token"""
    ops, report = after(printing)
    assert names(ops) == ["if", "print_tko", "return"] and not report.counts["ConvertToSelect"]
    ops, report = after(printing.replace('%t = print_tko "" -> token', ""))
    assert report.counts["ConvertToSelect"] == 1 and "if" not in names(ops)


def test_ifs_of_inverse_conditions_stay_two() -> None:
    ops, report = after(
        """%true = constant <i1: true> : tile<i1>
    %not = xori %a, %true : tile<i1>
    cuda_tile.if %a {
      %t = print_tko "a" -> token
    }
    cuda_tile.if %not {
      %t = print_tko "b" -> token
    }"""
    )
    assert names(ops).count("if") == 2 and not report.counts["CombineIfs"]


def test_there_are_eight_rules_for_if_and_the_fold() -> None:
    """Under the names that the documents and NVIDIA's tools have, in this order; `--stats` counts under them."""
    assert [rule.__name__ for rule in branches.rule.dead_by_class[If]] == ["RemoveUnusedResults"]
    assert [rule.name for rule in branches.rule.by_class[If]] == [
        "if_inverted", "ReplaceYieldWithValue", "RemoveStaticCondition", "ConvertToSelect", "RemoveEmptyElseBranch",
        "CombineIfs", "CombineNestedIfs", "MoveTerminatorToParent",
    ]  # fmt: skip


def test_rules_for_select_come_in_this_order() -> None:
    rules = [r.name for r in described.all() if "elect" in r.name and r.name != "ConvertToSelect"]
    assert rules == ["ReplaceIdenticalSelect", "ReplaceConstantSelect", "select_identity", "select_compared",
                     "InverseConditionSelect", "select_nested"]  # fmt: skip


@pytest.mark.parametrize(
    "body",
    [
        "%r = addf %f, %zero : tile<f32>",
        "%r = addf %inf, %zero : tile<f32>",
        "%r = addf %nan, %zero : tile<f32>",
    ],
)
def test_sums_of_anything_but_finite_constants_stay(body: str) -> None:
    constants = """%zero = constant <f32: 0.0> : tile<f32>
%inf = constant <f32: 0x7F800000> : tile<f32>
%nan = constant <f32: 0x7FC00000> : tile<f32>
"""
    ops, report = after(constants + body + '\n%t = print_tko "%f", %r : tile<f32> -> token')
    assert not report.counts["fold_addf"] and "addf" in names(ops)


def test_an_inverted_condition_needs_both_branches() -> None:
    body = "%true = constant <i1: true> : tile<i1>\n%not = xori %a, %true : tile<i1>\n"
    alone = 'if %not {\n %t = print_tko "" -> token\n}'
    ops, _ = after(body + alone)
    assert names(ops)[-2] == "if"
    both = alone + ' else {\n %u = print_tko "x" -> token\n}'
    ops, _ = after(body + both)
    (branch,) = [o for o in ops if o.name == "if"]
    (first,) = [o for o in branch.blocks[0].ops if o.name == "print_tko"]
    assert first.str_ == "x"  # type: ignore[attr-defined]


def test_token_ordered_operations_stay() -> None:
    body = """%t = make_token : token
%u = print_tko "a" token=%t -> token
%w = print_tko "b" token=%u -> token"""
    ops, _ = after(body)
    assert names(ops) == ["make_token", "print_tko", "print_tko", "return"]


def test_rules_and_the_simplifier_come_to_an_end() -> None:
    """A rule of `if` and a law of the simplifier apply, and after that nothing does."""
    module = documented.parse(
        ENTRY.format(
            """%r = if %a -> (tile<i32>) {
  yield %n : tile<i32>
} else {
  yield %n : tile<i32>
}
%d = subi %r, %n : tile<i32>
%t = print_tko "%d", %d : tile<i32> -> token"""
        )
    )
    report, again = Report(), Report()
    run(module, report)
    assert names(module.entries[0].body.ops) == ["constant", "print_tko", "return"]
    run(module, again)
    assert not again.counts
