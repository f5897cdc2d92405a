"""The simplifier on bytes: comparisons and bits, computed for all 256 numbers before and after."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest

import tilery
from tilery.ir import walk
from tilery.passes.simplify import simplify
from tilery.rewrite import Report

PREDICATES = ("equal", "not_equal", "less_than", "less_than_or_equal", "greater_than", "greater_than_or_equal")
CORNERS = (-128, -127, -1, 0, 1, 126, 127)
HEAD = """entry @k(%p: tile<ptr<i8>>, %q: tile<ptr<i1>>) {
%n = iota : tile<256xi32>
%ps = reshape %p : tile<ptr<i8>> -> tile<1xptr<i8>>
%pb = broadcast %ps : tile<1xptr<i8>> -> tile<256xptr<i8>>
%pn = offset %pb, %n : tile<256xptr<i8>>, tile<256xi32> -> tile<256xptr<i8>>
%x, %t = load_ptr_tko weak %pn : tile<256xptr<i8>> -> tile<256xi8>, token
%qs = reshape %q : tile<ptr<i1>> -> tile<1xptr<i1>>
%qb = broadcast %qs : tile<1xptr<i1>> -> tile<256xptr<i1>>
%q0 = offset %qb, %n : tile<256xptr<i1>>, tile<256xi32> -> tile<256xptr<i1>>
%row = constant <i32: 256> : tile<256xi32>
"""


def kernel(expressions: list[str]) -> str:
    """Return a kernel that stores the results of expressions, `%r` in each, one after the other."""
    lines = [HEAD]
    for number, text in enumerate(expressions):
        for name in ("%a", "%b", "%r", "%s"):
            text = text.replace(name, f"{name}_{number}")
        lines.append(text)
        lines.append(
            f"%w_{number} = store_ptr_tko weak %q{number}, %r_{number} : tile<256xptr<i1>>, tile<256xi1> -> token"
        )
        lines.append(
            f"%q{number + 1} = offset %q{number}, %row : tile<256xptr<i1>>, tile<256xi32> -> tile<256xptr<i1>>"
        )
    return "\n".join([*lines, "return", "}"])


def results(module: tilery.Module, count: int) -> list[list[bool]]:
    given, out = np.arange(256, dtype=np.uint8).view(np.int8), np.zeros((count, 256), bool)
    tilery.compile(module).launch(1, [given, out])
    found: list[list[bool]] = out.tolist()
    return found


def simplified(expressions: list[str]) -> Counter[str]:
    """Simplify a kernel, check that it computes the same, and return how many operations of each kind are left."""
    text = kernel(expressions)
    module = tilery.parse(text)
    simplify(module, Report())
    assert not tilery.verify(module)
    assert results(module, len(expressions)) == results(tilery.parse(text), len(expressions))
    return Counter(o.name for o in walk(module))


def comparison(result: str, predicate: str, number: int, sign: str) -> str:
    return (
        f"{result}c = constant <i8: {number}> : tile<256xi8>\n"
        f"{result} = cmpi {predicate} %x, {result}c, {sign} : tile<256xi8> -> tile<256xi1>"
    )


@pytest.mark.parametrize("sign", ["signed", "unsigned"])
@pytest.mark.parametrize("op", ["andi", "ori"])
def test_two_comparisons_with_constants(op: str, sign: str) -> None:
    """One comparison is left, or a constant, wherever one computes the same."""
    both = [
        "\n".join(
            [comparison("%a", one, m, sign), comparison("%b", other, n, sign), f"%r = {op} %a, %b : tile<256xi1>"]
        )
        for (one, other), (m, n) in product(
            product(PREDICATES, repeat=2), [(-128, 127), (127, -128), (-1, 0), (1, -127)]
        )
    ]
    truth = {tuple(row) for row in results(tilery.parse(kernel(both)), len(both))}
    single = [comparison("%r", predicate, number, sign) for predicate in PREDICATES for number in range(-128, 128)]
    known = {tuple(row) for row in results(tilery.parse(kernel(single)), len(single))}
    assert simplified(both)[op] == len(truth - known)


def test_comparisons_of_different_signs_are_joined_only_if_one_is_an_equality() -> None:
    mixed = [
        "\n".join(
            [
                comparison("%a", one, 5, "signed"),
                comparison("%b", other, 7, "unsigned"),
                "%r = andi %a, %b : tile<256xi1>",
            ]
        )
        for one, other in product(PREDICATES, repeat=2)
    ]
    assert simplified(mixed)["andi"] == 21


@pytest.mark.parametrize("sign", ["signed", "unsigned"])
def test_extended_bytes(sign: str) -> None:
    texts = [
        f"%a = exti %x {sign} : tile<256xi8> -> tile<256xi16>\n%b = constant <i16: {number}> : tile<256xi16>\n"
        f"%r = cmpi {predicate} %a, %b, signed : tile<256xi16> -> tile<256xi1>"
        for predicate, number in product(PREDICATES, (*CORNERS, 128, 255, 256, -129))
    ]
    equalities = [text for text in texts if "equal %a" in text and "than" not in text]
    assert simplified(texts)["exti"] == 1 and simplified(equalities)["exti"] == 0


@pytest.mark.parametrize("sign", ["signed", "unsigned"])
def test_comparisons_with_the_ends(sign: str) -> None:
    texts = [comparison("%r", predicate, number, sign) for predicate, number in product(PREDICATES, CORNERS)]
    truth = {tuple(row) for row in results(tilery.parse(kernel(texts)), len(texts))}
    # At most two are left twice: x > 126 is not written as x == 127.
    assert 0 <= simplified(texts)["cmpi"] - len(truth - {(False,) * 256, (True,) * 256}) <= 2


def test_exclusive_or_of_equal_operands() -> None:
    texts = [
        "%a = xori %x, %x : tile<256xi8>\n%r = cmpi equal %a, %x, signed : tile<256xi8> -> tile<256xi1>",
        "%a = xori %x, %x : tile<256xi8>\n%b = xori %a, %x : tile<256xi8>\n"
        "%r = cmpi less_than %b, %x, signed : tile<256xi8> -> tile<256xi1>",
        "%s = constant <i8: -1> : tile<256xi8>\n%a = xori %x, %s : tile<256xi8>\n%b = xori %a, %s : tile<256xi8>\n"
        "%r = cmpi less_than %b, %x, signed : tile<256xi8> -> tile<256xi1>",
        "%s = constant <i8: -1> : tile<256xi8>\n%a = xori %x, %s : tile<256xi8>\n"
        "%r = cmpi less_than %a, %x, signed : tile<256xi8> -> tile<256xi1>",
    ]
    assert simplified(texts)["xori"] == 1
