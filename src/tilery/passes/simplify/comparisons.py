"""The simplifier's laws of comparisons."""

from __future__ import annotations

from collections.abc import Iterator

from ...attrs import ComparisonPredicate, Signedness
from ...floats.comparison import EQ, GE, GT, HOLDS, INVERSE, LE, LT, MIRROR, NE
from ...types import I1
from .laws import SIGNED, UNSIGNED, extremes, is_const, is_known
from .tree import Tree, TreeNode, law

AT_LOW: dict[ComparisonPredicate, bool | ComparisonPredicate] = {LT: False, GE: True, GT: NE, LE: EQ}
AT_HIGH: dict[ComparisonPredicate, bool | ComparisonPredicate] = {GT: False, LE: True, LT: NE, GE: EQ}
RELATIONS = {LT: 1, EQ: 2, LE: 3, GT: 4, NE: 5, GE: 6}
"""Predicates as sets of outcomes: less is 1, equal is 2, greater is 4."""
PREDICATES = {outcomes: predicate for predicate, outcomes in RELATIONS.items()}
Ranges = list[tuple[int, int]]
"""Disjoint ranges of numbers in ascending order, both ends included."""


@law("cmp")
def compare_constants(t: Tree, n: TreeNode) -> TreeNode | None:
    """c < d is known"""
    a, b = n.args
    predicate, signedness = n.data
    if not is_const(a) or not is_const(b):
        return None
    return t.const(n.type, int(HOLDS[predicate](a.number(signedness), b.number(signedness))))


@law("cmp")
def compare_same(t: Tree, n: TreeNode) -> TreeNode | None:
    """x <= x is true, x < x is false"""
    return t.const(n.type, int(n.data[0] in (EQ, LE, GE))) if n.args[0] is n.args[1] else None


@law("cmp")
def constant_right(t: Tree, n: TreeNode) -> TreeNode | None:
    """c < x is x > c"""
    a, b = n.args
    predicate, signedness = n.data
    if is_known(a) and not is_known(b):
        return t.make("cmp", n.type, [b, a], (MIRROR[predicate], signedness))
    return None


@law("cmp")
def first_left(t: Tree, n: TreeNode) -> TreeNode | None:
    """y > x is x < y, where x was seen first"""
    a, b = n.args
    predicate, signedness = n.data
    if is_known(b) or a.serial <= b.serial:
        return None
    return t.make("cmp", n.type, [b, a], (MIRROR[predicate], signedness))


@law("cmp")
def unsigned_equality(t: Tree, n: TreeNode) -> TreeNode | None:
    """x == y does not depend on signedness"""
    predicate, signedness = n.data
    if predicate in (EQ, NE) and signedness is UNSIGNED:
        return t.make("cmp", n.type, n.args, (predicate, SIGNED))
    return None


@law("cmp")
def compare_extreme(t: Tree, n: TreeNode) -> TreeNode | None:
    """x < smallest is false, x >= smallest is true, x > smallest is x != smallest; likewise for the largest"""
    a, b = n.args
    predicate, signedness = n.data
    if not is_const(b) or predicate in (EQ, NE):
        return None
    low, high = extremes(a, signedness)
    if b.data == low:
        return _at_end(t, n, AT_LOW[predicate])
    if b.data == high:
        return _at_end(t, n, AT_HIGH[predicate])
    return None


def _at_end(t: Tree, n: TreeNode, answer: bool | ComparisonPredicate) -> TreeNode:
    if isinstance(answer, bool):
        return t.const(n.type, int(answer))
    return t.make("cmp", n.type, n.args, (answer, SIGNED))


@law("cmp")
def strict_bound(t: Tree, n: TreeNode) -> TreeNode | None:
    """x <= c is x < c + 1, x >= c is x > c - 1, where c is not the end of the range"""
    a, b = n.args
    predicate, signedness = n.data
    if not is_const(b) or predicate not in (LE, GE):
        return None
    low, high = extremes(a, signedness)
    if b.data == (high if predicate is LE else low):
        return None
    step, strict = (1, LT) if predicate is LE else (-1, GT)
    return t.make("cmp", n.type, [a, t.const(b.type, b.data + step)], (strict, signedness))


@law("cmp")
def compare_bool(t: Tree, n: TreeNode) -> TreeNode | None:
    """for i1: x == true is x, x == false is ~x"""
    a, b = n.args
    if a.type.element is not I1 or not is_const(b) or n.data[0] not in (EQ, NE):
        return None
    return a if (n.data[0] is EQ) == bool(b.data) else t.invert(a)


@law("cmp")
def equal_sum(t: Tree, n: TreeNode) -> TreeNode | None:
    """x + c == d is x == d - c, x - y == 0 is x == y"""
    a, b = n.args
    if a.kind != "sum" or not is_const(b) or n.data[0] not in (EQ, NE):
        return None
    coefficients, plus = a.data
    rest = b.data - plus & n.args[0].ones
    if len(a.args) == 1 and coefficients[0] in (1, a.ones):
        value = rest if coefficients[0] == 1 else -rest
        return t.make("cmp", n.type, [a.args[0], t.const(a.type, value)], n.data)
    if len(a.args) == 2 and rest == 0 and sorted(coefficients) == sorted((1, a.ones)):
        return t.make("cmp", n.type, a.args, n.data)
    return None


@law("cmp")
def equal_not(t: Tree, n: TreeNode) -> TreeNode | None:
    """~x == c is x == ~c, ~x == ~y is x == y"""
    a, b = n.args
    if a.kind != "not" or n.data[0] not in (EQ, NE):
        return None
    if is_const(b) or b.kind == "not":
        return t.make("cmp", n.type, [a.args[0], t.invert(b)], n.data)
    return None


@law("cmp")
def equal_xor(t: Tree, n: TreeNode) -> TreeNode | None:
    """x ^ c == d is x == c ^ d, x ^ y == 0 is x == y"""
    a, b = n.args
    if a.kind != "xor" or len(a.args) != 2 or not is_const(b) or n.data[0] not in (EQ, NE):
        return None
    known = next((x for x in a.args if is_const(x)), None)
    if known is not None:
        other = next(x for x in a.args if x is not known)
        return t.make("cmp", n.type, [other, t.const(a.type, known.data ^ b.data)], n.data)
    return t.make("cmp", n.type, a.args, n.data) if is_const(b, 0) else None


@law("cmp")
def compare_select(t: Tree, n: TreeNode) -> TreeNode | None:
    """select(p, c, d) < e is p, ~p, true or false"""
    a, b = n.args
    if a.kind != "select" or not is_const(b) or not is_const(a.args[1]) or not is_const(a.args[2]):
        return None
    predicate, signedness = n.data
    yes, no = (HOLDS[predicate](x.number(signedness), b.number(signedness)) for x in a.args[1:])
    if yes == no:
        return t.const(n.type, int(yes))
    return a.args[0] if yes else t.invert(a.args[0])


@law("cmp")
def equal_ext(t: Tree, n: TreeNode) -> TreeNode | None:
    """ext(x) == c is x == c, or false where x cannot be c; ext(x) == ext(y) is x == y"""
    a, b = n.args
    if a.kind != "ext" or n.data[0] not in (EQ, NE):
        return None
    x = a.args[0]
    if b.kind == "ext" and b.data is a.data and b.args[0].type is x.type:
        return t.make("cmp", n.type, [x, b.args[0]], n.data)
    if not is_const(b):
        return None
    small = t.const(x.type, b.data)
    if small.number(a.data) & a.ones != b.data:
        return t.const(n.type, int(n.data[0] is NE))
    return t.make("cmp", n.type, [x, small], n.data)


# ---------------------------------------------------------------- several comparisons


def _pairs(n: TreeNode) -> Iterator[tuple[TreeNode, TreeNode, Signedness]]:
    """The pairs of comparisons whose left operand is the same, and the signedness of both."""
    found: dict[TreeNode, list[TreeNode]] = {}
    for a in n.args:
        if a.kind != "cmp":
            continue
        for other in found.setdefault(a.args[0], []):
            signs = {sign for predicate, sign in (a.data, other.data) if predicate not in (EQ, NE)}
            if len(signs) < 2:
                yield other, a, signs.pop() if signs else SIGNED
        found[a.args[0]].append(a)


@law("and", "or")
def join_comparisons(t: Tree, n: TreeNode) -> TreeNode | None:
    """x < y & x <= y is x < y, x < y | x == y is x <= y, x < y | x >= y is true, and so on"""
    for a, b, sign in _pairs(n):
        if a.args[1] is b.args[1]:
            one, other = RELATIONS[a.data[0]], RELATIONS[b.data[0]]
            outcomes = one & other if n.kind == "and" else one | other
            return t.group(n, [*_without(n, a, b), _relation(t, a, outcomes, sign)], 0)
    return None


def _relation(t: Tree, n: TreeNode, outcomes: int, sign: Signedness) -> TreeNode:
    if outcomes in (0, 7):
        return t.const(n.type, outcomes & 1)
    return t.make("cmp", n.type, n.args, (PREDICATES[outcomes], sign))


@law("and", "or")
def join_ranges(t: Tree, n: TreeNode) -> TreeNode | None:
    """x < 5 & x < 3 is x < 3, x > 3 & x < 5 is x == 4, x < 5 | x > 3 is true, x < 3 & x > 5 is false, and so on"""
    for a, b, sign in _pairs(n):
        if not is_const(a.args[1]) or not is_const(b.args[1]):
            continue
        # The numbers for which one or the other holds are those for which not both inverses hold.
        inverse = n.kind == "or"
        one, other = (_solutions(c, sign, inverse) for c in (a, b))
        both = [(max(a, c), min(b, d)) for a, b in one for c, d in other if max(a, c) <= min(b, d)]
        joined = _comparison(t, a, both, sign, inverse)
        if joined is not None:
            return t.group(n, [*_without(n, a, b), joined], 0)
    return None


def _without(n: TreeNode, *gone: TreeNode) -> list[TreeNode]:
    return [a for a in n.args if a not in gone]


def _ends(n: TreeNode, sign: Signedness) -> tuple[int, int]:
    """The smallest and the largest number of a width."""
    half = 1 << (n.width - 1)
    return (-half, half - 1) if sign is SIGNED else (0, n.ones)


def _solutions(n: TreeNode, sign: Signedness, inverse: bool) -> Ranges:
    """The numbers for which a comparison with a constant holds, or for which it does not."""
    low, high = _ends(n.args[0], sign)
    c = n.args[1].number(sign)
    outcomes = RELATIONS[INVERSE[n.data[0]] if inverse else n.data[0]]
    parts = [(low, c - 1)] * (outcomes & 1) + [(c, c)] * (outcomes >> 1 & 1) + [(c + 1, high)] * (outcomes >> 2)
    return [(first, last) for first, last in parts if first <= last]


def _comparison(t: Tree, like: TreeNode, numbers: Ranges, sign: Signedness, inverse: bool) -> TreeNode | None:
    """The comparison that holds for these numbers, or for all others; None if there is none."""
    x = like.args[0]
    low, high = _ends(x, sign)
    total = sum(last - first + 1 for first, last in numbers)
    if total in (0, high - low + 1):
        return t.const(like.type, int((total == 0) == inverse))
    first, last = numbers[0][0], numbers[-1][1]
    if total == 1:
        predicate, bound = EQ, first
    elif total == high - low:
        predicate, bound = NE, numbers[0][1] + 1 if first == low else low
    elif total == last - first + 1 and first == low:
        predicate, bound = LT, last + 1
    elif total == last - first + 1 and last == high:
        predicate, bound = GT, first - 1
    else:
        return None
    predicate = INVERSE[predicate] if inverse else predicate
    return t.make("cmp", like.type, [x, t.const(x.type, bound)], (predicate, sign))
