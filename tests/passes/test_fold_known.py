"""`fold-known`: what follows from assumptions is folded, and nothing else; compared with all values of i8."""

from __future__ import annotations

import random

import pytest

import tilery
from support.contract import random_case
from tilery.ops import CmpI, Constant, RemI, StorePtrTko
from tilery.rewrite import Report

PREDICATES = {
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
    "less_than": lambda a, b: a < b,
    "less_than_or_equal": lambda a, b: a <= b,
    "greater_than": lambda a, b: a > b,
    "greater_than_or_equal": lambda a, b: a >= b,
}
KERNEL = """entry @k(%p: tile<ptr<{to}>>, %n: tile<i8>) {{
  %a = assume {assumed}, %n : tile<i8>
  %c = constant <i8: {number}> : tile<i8>
  %r = {op} : tile<i8>{arrow}
  %t = store_ptr_tko weak %p, %r : tile<ptr<{to}>>, tile<{to}> -> token
  return
}}"""


def stored(text: str) -> tuple[tilery.Op | None, Report]:
    """The operation that computes what is stored, after the pass."""
    report = Report()
    module = tilery.optimize(tilery.parse(text), "fold-known,dce", report=report)
    (store,) = [o for o in tilery.ir.walk(module) if isinstance(o, StorePtrTko)]
    owner = store.value.owner
    assert isinstance(owner, tilery.Op)
    return owner, report


def unsigned(value: int) -> int:
    return value & 0xFF


@pytest.mark.parametrize("signed", [True, False], ids=["signed", "unsigned"])
@pytest.mark.parametrize("name", PREDICATES)
def test_a_comparison_folds_exactly_if_all_values_decide_it_alike(name: str, signed: bool) -> None:
    rng = random.Random(name)
    read = (lambda x: x) if signed else unsigned
    decided = 0
    for _ in range(40):
        lo, hi = sorted(rng.choice((-128, -3, 0, 5, 7, 8, 127)) for _ in range(2))
        number = rng.choice((-128, -4, 0, 4, 8, 127))
        answers = {PREDICATES[name](read(x), read(number)) for x in range(lo, hi + 1)}
        sign = "signed" if signed else "unsigned"
        op, report = stored(
            KERNEL.format(
                to="i1",
                assumed=f"bounded<{lo}, {hi}>",
                number=number,
                op=f"cmpi {name} %a, %c, {sign}",
                arrow=" -> tile<i1>",
            )
        )
        if isinstance(op, Constant):
            assert answers == {bool(op.value.splat)} and report.counts["cmpi"] == 1
            decided += 1
        else:
            assert isinstance(op, CmpI)
            crosses = not signed and lo < 0 <= hi
            assert len(answers) == 2 or crosses or name in ("equal", "not_equal"), (lo, hi, number)
    assert decided > 5


@pytest.mark.parametrize("divisor", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("number", [1, 2, 3, 4, 8, -8])
def test_a_remainder_of_a_multiple_is_zero(divisor: int, number: int) -> None:
    text = KERNEL.format(to="i8", assumed=f"div_by<{divisor}>", number=number, op="remi %a, %c signed", arrow="")
    op, _ = stored(text)
    zero = all(x % abs(number) == 0 for x in range(-128, 128) if x % divisor == 0)
    assert isinstance(op, Constant) == zero
    assert isinstance(op, RemI) or (isinstance(op, Constant) and op.value.splat == 0)


def test_nothing_is_folded_without_an_assumption() -> None:
    text = KERNEL.format(
        to="i1", assumed="bounded<?, ?>", number=8, op="cmpi less_than %a, %c, signed", arrow=" -> tile<i1>"
    )
    op, report = stored(text)
    assert isinstance(op, CmpI) and not report.counts["cmpi"]


def test_elements_of_four_bits_have_no_constants() -> None:
    module = tilery.parse("""entry @k(%p: tile<ptr<i8>>) {
      %15 = constant <i8: 15> : tile<2xi8>
      %small = trunci %15 : tile<2xi8> -> tile<2xi4>
      %both = pack %small : tile<2xi4> -> tile<1xi8>
      %one = reshape %both : tile<1xi8> -> tile<i8>
      %t = store_ptr_tko weak %p, %one : tile<ptr<i8>>, tile<i8> -> token
      return
    }""")
    assert tilery.equal(tilery.optimize(module, "fold-known"), module)


def test_random_modules_stay_legal() -> None:
    """Every integer operation of random modules is tried; the optimiser refuses a module that a pass broke."""
    fired = Report()
    for seed in range(60):
        tilery.optimize(random_case(seed)[0], "fold-known", report=fired)
    assert fired.counts.total() > 60
