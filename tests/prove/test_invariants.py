"""Invariants are proven, never believed: a mistake in an analysis must not make a proof."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("z3", reason="z3-solver is not installed")

import tilery
from tilery.analysis import alignment, intervals, ranges
from tilery.analysis.axes import uniform
from tilery.passes import fold_known
from tilery.prove import bits

Patch = pytest.MonkeyPatch


def kernel(body: str) -> tilery.Module:
    return tilery.parse(f"""entry @k(%p: tile<ptr<i32>>, %x: tile<i32>, %n: tile<i32>) {{
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %c4 = constant <i32: 4> : tile<i32>
  %c8 = constant <i32: 8> : tile<i32>
  {body}
  %t = store_ptr_tko weak %p, %r : tile<ptr<i32>>, tile<i32> -> token
  return
}}""")


COUNTER = """%r = for %i in (%c0 to %c8, step %c1) : tile<i32> iter_values(%a = %n) -> (tile<i32>) {
    %less = cmpi less_than %i, %c8, signed : tile<i32> -> tile<i1>
    %w = exti %less unsigned : tile<i1> -> tile<i32>
    %s = addi %a, %w : tile<i32>
    continue %s : tile<i32>
  }"""
CARRIED = """%m = remi %x, %c8 unsigned : tile<i32>
  %q = for %i in (%c0 to %n, step %c1) : tile<i32> iter_values(%a = %m) -> (tile<i32>) {
    %b = addi %a, %c1 : tile<i32>
    %s = remi %b, %c8 unsigned : tile<i32>
    continue %s : tile<i32>
  }
  %d = divi %q, %c8 signed : tile<i32>
  %r = addi %q, %d : tile<i32>"""
REDUCED = """%i = iota : tile<8xi32>
  %s = reduce %i dim=0 identities=[0 : i32] : tile<8xi32> -> tile<i32> (%a: tile<i32>, %b: tile<i32>) {
    %m = maxi %a, %b signed : tile<i32>
    yield %m : tile<i32>
  }
  %r = divi %s, %c8 signed : tile<i32>"""
DIVISIBLE = """%q = for %i in (%c0 to %n, step %c1) : tile<i32> iter_values(%a = %c8) -> (tile<i32>) {
    %s = muli %a, %c4 : tile<i32>
    continue %s : tile<i32>
  }
  %d = remi %q, %c4 signed : tile<i32>
  %r = addi %q, %d : tile<i32>"""
KERNELS = {"counter": COUNTER, "carried": CARRIED, "reduced": REDUCED, "divisible": DIVISIBLE}


def outcome(text: str) -> tuple[bool, bool]:
    """Return whether `fold-known` changed a kernel, and whether the change is proven."""
    before = kernel(text)
    after = tilery.optimize(before, "fold-known,dce")
    return not tilery.equal(before, after), bits(before.entries[0], after.entries[0], timeout=5).is_equal


@pytest.mark.parametrize("name", KERNELS)
def test_invariants_are_proven(name: str) -> None:
    assert outcome(KERNELS[name]) == (True, True)


def wrong_counter(patch: Patch) -> None:
    patch.setattr(ranges.Ranges, "counter", lambda self, loop: intervals.Range(0, 3))


def wrong_join(patch: Patch) -> None:
    patch.setattr(ranges.Ranges, "join", lambda self, value, a, b: a)


def wrong_body(patch: Patch) -> None:
    patch.setattr(ranges.Ranges, "combined", lambda self, o, index, value: intervals.Range(0, 3))


def wrong_divisor(patch: Patch) -> None:
    patch.setattr(alignment.Alignment, "join", lambda self, value, a, b: uniform(value.type, 8))


def wrong_value(patch: Patch) -> None:
    right = fold_known.known_value

    def wrong(o: Any, facts: Any) -> int | None:
        found = right(o, facts)
        return None if found is None else found ^ 1

    patch.setattr(fold_known, "known_value", wrong)


FAULTS = [
    (wrong_counter, COUNTER.replace("less_than %i, %c8", "less_than %i, %c4")),
    (wrong_join, CARRIED.replace("remi %b, %c8 unsigned", "addi %b, %c1")),
    (wrong_body, REDUCED.replace("divi %s, %c8", "divi %s, %c4")),
    (wrong_body, REDUCED.replace("maxi %a, %b signed", "addi %a, %b")),
    (wrong_divisor, DIVISIBLE.replace("muli %a, %c4", "addi %a, %c1")),
    *((wrong_value, text) for text in KERNELS.values()),
]


@pytest.mark.parametrize(("fault", "text"), FAULTS)
def test_a_wrong_fact_is_not_believed(fault: Any, text: str, monkeypatch: Patch) -> None:
    fault(monkeypatch)
    assert outcome(text) == (True, False)


def test_a_branch_in_a_loop_that_does_not_run_promises_nothing() -> None:
    text = """for %i in (%c0 to %n, step %c1) : tile<i32> {
    %a = assume bounded<0, 3>, %x : tile<i32>
    %c = cmpi less_than %a, %n, signed : tile<i32> -> tile<i1>
    if %c {
      %t = store_ptr_tko weak %p, %i : tile<ptr<i32>>, tile<i32> -> token
    }
  }
  %d = cmpi less_than %x, %c4, signed : tile<i32> -> tile<i1>
  %r = exti %d unsigned : tile<i1> -> tile<i32>"""
    folded = text.replace("cmpi less_than %x, %c4, signed : tile<i32> -> tile<i1>", "constant <i1: 1> : tile<i1>")
    assert not bits(kernel(text).entries[0], kernel(folded).entries[0]).is_equal
