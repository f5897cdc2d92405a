"""Every rule on integers is proven: with z3 for all values or, for rules that compute with constants, by computing.

All widths are proven in every run; TILERY_FULL=1 adds every pair of i8 constants and another step of split loops. The
test enumerates the rules: a rule without a proof fails it. `test_simplify_proofs.py` has the laws of the simplifier.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

z3 = pytest.importorskip("z3", reason="z3-solver is not installed")

import tilery  # noqa: E402
from support.oracle import FULL  # noqa: E402
from support.proofs import (  # noqa: E402
    OVERFLOWS,
    SIGNS,
    WIDTHS,
    Meaning,
    compare,
    corners,
    extended,
    kernel,
    operation,
    refines,
    refutes,
    share_arguments,
)
from tilery.attrs import ComparisonPredicate, Signedness  # noqa: E402
from tilery.ir import Op, walk  # noqa: E402
from tilery.ops import Constant, For, StorePtrTko  # noqa: E402
from tilery.passes import canonicalize, documented, fold_int  # noqa: E402
from tilery.passes.split_point import split_point  # noqa: E402
from tilery.rewrite import Rules, apply  # noqa: E402


def check(rules: Rules, name: str, body: str, bits: int, element: str = "") -> None:
    """Check that a rule fires on a module, and that the stored value still means the same."""
    module, stored = kernel(body, bits, element)
    original = tilery.ir.clone(module)
    (before,) = [o for o in walk(original) if isinstance(o, StorePtrTko)]
    meaning = Meaning()
    share_arguments(original, module, meaning)
    report = apply(module, rules)
    assert report.counts[name], f"{name} did not fire, but {dict(report.counts)}"
    problem = refines(meaning.of(before.value), meaning.of(stored()))
    assert problem is None, f"{name} at i{bits}: {problem}\n{body}"


# ---------------------------------------------------------------- rules of canonicalize, which create no constants

NOT_C = "%n = xori %c, %true : tile<i1>\n"
CANONICAL: dict[str, list[tuple[str, str]]] = {
    "select_same": [("%r = select %c, %x, %x : tile<i1>, tile<iN>", "")],
    "select_constant_condition": [
        ("%r = select %true, %x, %y : tile<i1>, tile<iN>", ""),
        ("%r = select %false, %x, %y : tile<i1>, tile<iN>", ""),
    ],
    "select_identity": [("%r = select %c, %true, %false : tile<i1>, tile<i1>", "i1")],
    "select_compared": [
        (
            f"%e = cmpi {predicate} {a}, {b}, signed : tile<iN> -> tile<i1>\n"
            "%r = select %e, %x, %y : tile<i1>, tile<iN>",
            "",
        )
        for predicate in ("equal", "not_equal")
        for a, b in (("%x", "%y"), ("%y", "%x"))
    ],
    "select_inverted": [(NOT_C + "%r = select %n, %x, %y : tile<i1>, tile<iN>", "")],
    "select_nested": [
        (f"%s = select %c, %x, %y : tile<i1>, tile<iN>\n%r = select %c, {a}, {b} : tile<i1>, tile<iN>", "")
        for a, b in (("%s", "%z"), ("%z", "%s"))
    ],
    "select_to_not": [("%r = select %c, %false, %true : tile<i1>, tile<i1>", "i1")],
    "select_to_exti": [
        (
            "%one = constant <i32: 1> : tile<i32>\n%zero = constant <i32: 0> : tile<i32>\n"
            f"%r = select %c, {a}, {b} : tile<i1>, tile<i32>",
            "i32",
        )
        for a, b in (("%one", "%zero"), ("%zero", "%one"))
    ],
    "if_inverted": [
        (
            NOT_C + "%r = if %n -> (tile<iN>) {\n%s = addi %x, %y : tile<iN>\nyield %s : tile<iN>\n} else {\n"
            "%s = subi %x, %y : tile<iN>\nyield %s : tile<iN>\n}",
            "",
        )
    ],
    "ReplaceYieldWithValue": [
        (f"%r = if %c -> (tile<i1>) {{\nyield {a} : tile<i1>\n}} else {{\nyield {b} : tile<i1>\n}}", "i1")
        for a, b in (("%d", "%d"), ("%true", "%false"), ("%false", "%true"))
    ],
    "RemoveStaticCondition": [
        (
            f"%r = if {known} -> (tile<iN>) {{\n%s = addi %x, %y : tile<iN>\nyield %s : tile<iN>\n}} else {{\n"
            "%s = subi %x, %y : tile<iN>\nyield %s : tile<iN>\n}",
            "",
        )
        for known in ("%true", "%false")
    ],
    "ConvertToSelect": [("%r = if %c -> (tile<iN>) {\nyield %x : tile<iN>\n} else {\nyield %y : tile<iN>\n}", "")],
    "CombineIfs": [
        (
            "%a = if %c -> (tile<iN>) {\n%s = andi %x, %y : tile<iN>\nyield %s : tile<iN>\n} else {\n"
            "%s = ori %x, %y : tile<iN>\nyield %s : tile<iN>\n}\n"
            "%r = if %c -> (tile<iN>) {\n%s = andi %a, %z : tile<iN>\nyield %s : tile<iN>\n} else {\n"
            "%s = xori %a, %z : tile<iN>\nyield %s : tile<iN>\n}",
            "",
        )
    ],
    "CombineNestedIfs": [
        (
            "%r = if %c -> (tile<iN>) {\n%i = if %d -> (tile<iN>) {\n%s = muli %x, %y : tile<iN>\nyield %s : tile<iN>\n"
            "} else {\nyield %x : tile<iN>\n}\nyield %i : tile<iN>\n} else {\nyield %x : tile<iN>\n}",
            "",
        )
    ],
    "ReplaceIdenticalSelect": [("%r = select %c, %x, %x : tile<i1>, tile<iN>", "")],
    "ReplaceConstantSelect": [("%r = select %true, %x, %y : tile<i1>, tile<iN>", "")],
    "InverseConditionSelect": [(NOT_C + "%r = select %n, %x, %y : tile<i1>, tile<iN>", "")],
}
ELSEWHERE = {
    "RemoveEmptyElseBranch": "no value changes: the branch that goes holds nothing but its end",
    "MoveTerminatorToParent": "no value changes: a branch moves behind the `if`, reached under the same condition",
    "assume_twice": "the inner operation makes the same promise about the same value",
    "product_first": "addition is commutative in every rounding mode; floats, see test_folds",
    "fold_addf": "floats, see test_folds",
    "select_constants": "chooses among constants, see test_select_of_constants",
    "fold_shape": "moves equal elements; reshape keeps the order of elements by definition",
}
"""Why a rule needs no proof over integers."""


@pytest.mark.parametrize("bits", WIDTHS)
@pytest.mark.parametrize("name", CANONICAL)
def test_canonical_rule(name: str, bits: int) -> None:
    rules = documented.rule if name.endswith("Select") and name != "ConvertToSelect" else canonicalize.rule
    for body, element in CANONICAL[name]:
        check(rules, name, body, bits, element)


@pytest.mark.parametrize("bits", WIDTHS)
@pytest.mark.parametrize("name", ["ReplaceYieldWithValue", "ConvertToSelect", "CombineIfs", "CombineNestedIfs"])
def test_documented_rule(name: str, bits: int) -> None:
    """The documented rules that are narrower than those of `canonicalize`."""
    body, element = CANONICAL[name][0]
    check(documented.rule, name, body, bits, element)


def test_select_of_constants() -> None:
    """A select between two constants is folded element by element."""
    module, _ = kernel(
        "%p4 = constant <i1: [true, false, false, true]> : tile<4xi1>\n"
        "%a = constant <i8: [1, 2, 3, 4]> : tile<4xi8>\n%b = constant <i8: [5, 6, 7, 8]> : tile<4xi8>\n"
        "%s = select %p4, %a, %b : tile<4xi1>, tile<4xi8>\n"
        "%r = addi %x, %y : tile<iN>",
        8,
    )
    (select,) = [o for o in walk(module) if o.name == "select"]
    (chosen,) = [r for r in canonicalize.rule.all() if r.name == "select_constants"]
    made = chosen.run(select)
    assert isinstance(made, Constant) and made.value.elements() == [1, 6, 7, 4]


def test_every_rule_has_a_proof() -> None:
    proven = {*CANONICAL, *ELSEWHERE, *FOLDS}
    for rules in (canonicalize.rule, fold_int.rule, documented.rule):
        missing = [rule.name for rule in rules.all() if rule.name not in proven]
        assert not missing, f"no proof of {missing}"


# ---------------------------------------------------------------- folds, by computing

BINARY = "%r = {} %a, %b{} : tile<SxiN>"
FOLDS: dict[str, list[str]] = {
    "fold_arithmetic": [BINARY.format(o, f) for o in ("addi", "subi", "muli") for f in OVERFLOWS],
    "fold_bitwise": [BINARY.format(o, "") for o in ("andi", "ori", "xori")],
    "fold_high_half": [BINARY.format("mulhii", "")],
    "fold_negation": [f"%r = negi %a{f} : tile<SxiN>" for f in (OVERFLOWS[0], OVERFLOWS[1], OVERFLOWS[3])],
    "fold_absolute": ["%r = absi %a : tile<SxiN>"],
    "fold_extreme": [BINARY.format(o, f" {s}") for o in ("mini", "maxi") for s in SIGNS],
    "fold_division": [
        BINARY.format("divi", f" {s}{r}")
        for s in SIGNS
        for r in ("", " rounding<positive_inf>", " rounding<negative_inf>")
        if (s, r) != ("unsigned", " rounding<negative_inf>")
    ],
    "fold_remainder": [BINARY.format("remi", f" {s}") for s in SIGNS],
    "fold_shift_left": [BINARY.format("shli", f) for f in OVERFLOWS],
    "fold_shift_right": [BINARY.format("shri", f" {s}") for s in SIGNS],
    "fold_comparison": [
        f"%r = cmpi {p.text} %a, %b, {s} : tile<SxiN> -> tile<Sxi1>" for p in ComparisonPredicate for s in SIGNS
    ],
    "fold_extension": [f"%r = exti %a {s} : tile<SxiN> -> tile<SxiW>" for s in SIGNS],
    "fold_truncation": [f"%r = trunci %a{f} : tile<SxiN> -> tile<SxiT>" for f in OVERFLOWS],
}


def fold_op(body: str, bits: int, pairs: list[tuple[int, int]]) -> Op:
    """Return an operation on two constants whose elements are these pairs."""
    size = len(pairs)
    half = 1 << bits - 1
    columns = [
        ", ".join(str(n - 2 * half if n >= half and bits > 1 else n) for n in (pair[i] for pair in pairs))
        for i in (0, 1)
    ]
    # i1 constants are spelled true and false.
    if bits == 1:
        columns = [c.replace("1", "true").replace("0", "false") for c in columns]
    lists = [f"[{c}]" for c in columns]
    text = "\n".join(f"%{n} = constant <iN: {c}> : tile<SxiN>" for n, c in zip("ab", lists)) + "\n" + body
    text = text.replace("iW", f"i{bits * 2 if bits > 1 else 8}").replace("iT", f"i{bits // 2 if bits > 8 else 1}")
    text = text.replace("SxiN", f"{size}xi{bits}").replace("Sx", f"{size}x").replace("iN", f"i{bits}")
    module = tilery.parse(f"cuda_tile.module @m {{ entry @k() {{\n{text}\nreturn }} }}")
    return module.body.ops[0].blocks[0].ops[2]


@pytest.mark.parametrize("name", FOLDS)
def test_fold(name: str) -> None:
    """Folds agree with z3 on corner values of each width, and with TILERY_FULL on all pairs of i8."""
    (rule,) = [r for r in fold_int.rule.all() if r.name == name]
    done = 0
    for body in FOLDS[name]:
        for bits in (1, 8, 16, 32, 64):
            if ("iW" in body and bits == 64) or ("iT" in body and bits == 1):
                continue
            values = list(range(256)) if FULL and bits == 8 else corners(bits)
            for a in values:
                # An operation with one operand needs each value only once.
                others = values if "%b" in body else [a]
                done += check_row(rule.run, body, bits, [(a, b) for b in others])
    assert done


def check_row(run: Callable[..., Any], body: str, bits: int, pairs: list[tuple[int, int]]) -> int:
    """Check that a fold of these pairs agrees with z3; return how many were folded."""
    unknowns = z3.BitVec("a", bits), z3.BitVec("b", bits)
    sample = fold_op(body, bits, [(0, 0), (1, 1)])
    term, defined = operation(sample, [unknowns[i] for i in range(len(sample.operands))])
    todo: list[tuple[tuple[int, int], int]] = []
    always = z3.is_true(z3.simplify(defined))
    for pair in pairs:
        values = [(u, z3.BitVecVal(n, bits)) for u, n in zip(unknowns, pair)]
        if always or z3.is_true(z3.simplify(z3.substitute(defined, *values))):
            todo.append((pair, z3.simplify(z3.substitute(term, *values)).as_long()))
    if not todo:
        return 0
    while len(todo) & (len(todo) - 1) or len(todo) < 2:
        todo.append(todo[-1])
    made = run(fold_op(body, bits, [pair for pair, _ in todo]))
    if made is None:
        assert bits == 1 and " signed" in body, f"{body} at i{bits} was not folded"
        return 0
    assert made.value.elements() == [answer for _, answer in todo], f"{body} at i{bits}"
    return len(todo)


# ---------------------------------------------------------------- where loops split

COUNTED = """cuda_tile.module @m {{ entry @k(%lo: tile<i8>, %hi: tile<i8>, %v: tile<i8>) {{
  %step = constant <i8: {}> : tile<i8>
  for %i in (%lo to %hi, step %step) : tile<i8> {{ continue }}
  return }} }}"""
FIRST_FALSE = (ComparisonPredicate.GREATER_THAN, ComparisonPredicate.GREATER_THAN_OR_EQUAL)
FIRST_TRUE = (ComparisonPredicate.LESS_THAN, ComparisonPredicate.LESS_THAN_OR_EQUAL)


@pytest.mark.parametrize("step", [1, 3] if FULL else [1])
@pytest.mark.parametrize("sign", Signedness, ids=lambda s: s.text)
@pytest.mark.parametrize("predicate", [*FIRST_FALSE, *FIRST_TRUE], ids=lambda p: p.text)
def test_split_point(predicate: ComparisonPredicate, sign: Signedness, step: int) -> None:
    """For all bounds of i8, every iteration is in the half whose assumption about the comparison holds."""
    module = tilery.parse(COUNTED.format(step))
    (loop,) = [o for o in walk(module) if isinstance(o, For)]
    bound = module.body.ops[0].blocks[0].args[2]
    _, until, start = split_point(loop, predicate, bound, sign)
    meaning = Meaning()
    values = (loop.lowerBound, loop.upperBound, loop.step, bound, until, start)
    low, high, by, v, end, begin = (extended(meaning.of(value)[0], 20, sign) for value in values)
    number = z3.BitVec("number", 20)
    counter = low + number * by
    top = 127 if sign is Signedness.SIGNED else 255
    executed = z3.And(by > 0, number >= 0, number < 256, counter >= low, counter < high)
    if step != 1:
        executed = z3.And(executed, high + by - 1 <= top)  # the counter does not wrap around
    holds = compare(predicate, Signedness.SIGNED, counter, v)
    in_second = counter >= end
    right = holds == (in_second if predicate in FIRST_FALSE else z3.Not(in_second))
    continued = z3.Implies(in_second, z3.And(counter >= begin, z3.URem(counter - begin, by) == 0))
    # The second loop starts at an iteration of the old one that is not in the first, or does nothing.
    nothing_else = z3.Implies(
        z3.And(by > 0, begin < high),
        z3.And(begin >= low, begin >= end, z3.URem(begin - low, by) == 0),
    )
    if step != 1:
        nothing_else = z3.Implies(high + by - 1 <= top, nothing_else)
    assert refutes(z3.Implies(executed, z3.And(right, continued))) is None
    assert refutes(nothing_else) is None
