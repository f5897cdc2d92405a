"""The simplifier's laws. Each is exact for every width and shape, and none adds undefined behaviour."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import and_, or_, xor

from ...attrs import Signedness
from ...floats.comparison import EQ, INVERSE, NE
from ...types import I1
from .tree import MAX_ARGS, Tree, TreeNode, law

BITWISE: dict[str, Callable[[int, int], int]] = {"and": and_, "or": or_, "xor": xor}
DUAL = {"and": "or", "or": "and", "min": "max", "max": "min"}
SIGNED, UNSIGNED = Signedness.SIGNED, Signedness.UNSIGNED


def is_const(node: TreeNode, bits: int | None = None) -> bool:
    return node.kind == "const" and (bits is None or node.data == bits & node.ones)


def is_known(node: TreeNode) -> bool:
    """Whether an expression is a constant, with equal elements or not."""
    return node.kind in ("const", "table")


def extremes(node: TreeNode, signedness: Signedness) -> tuple[int, int]:
    """The bits of the smallest and the largest number."""
    half = 1 << (node.width - 1)
    return (half, half - 1) if signedness is SIGNED else (0, node.ones)


def neutral(node: TreeNode, kind: str | None = None) -> int:
    """The bits of the neutral element of a variadic operation, or of another kind on the same numbers."""
    match kind or node.kind:
        case "and":
            return node.ones
        case "min":
            return extremes(node, node.data)[1]
        case "max":
            return extremes(node, node.data)[0]
    return 0


def absorbing(node: TreeNode) -> int:
    """The bits of the absorbing element of `and`, `or`, `min` or `max`: the neutral element of its dual."""
    return neutral(node, DUAL[node.kind])


# ---------------------------------------------------------------- negation


@law("not")
def not_not(t: Tree, n: TreeNode) -> TreeNode | None:
    """~~x is x"""
    x = n.args[0]
    return x.args[0] if x.kind == "not" else None


@law("not")
def not_constant(t: Tree, n: TreeNode) -> TreeNode | None:
    """~c is a constant"""
    x = n.args[0]
    return t.const(n.type, ~x.data) if is_const(x) else None


@law("not")
def not_compare(t: Tree, n: TreeNode) -> TreeNode | None:
    """~(a < b) is a >= b"""
    x = n.args[0]
    if x.kind != "cmp":
        return None
    predicate, signedness = x.data
    return t.make("cmp", x.type, x.args, (INVERSE[predicate], signedness))


# ---------------------------------------------------------------- variadic and, or, xor, min, max


@law("and", "or", "xor", "min", "max")
def flatten(t: Tree, n: TreeNode) -> TreeNode | None:
    """(x & y) & z is &(x, y, z); likewise or, xor, min, max"""
    if not any(a.kind == n.kind and a.data is n.data for a in n.args):
        return None
    args = [x for a in n.args for x in (a.args if a.kind == n.kind and a.data is n.data else (a,))]
    return t.make(n.kind, n.type, args, n.data) if len(args) <= MAX_ARGS else None


@law("and", "or", "xor", "min", "max")
def combine_constants(t: Tree, n: TreeNode) -> TreeNode | None:
    """x & c & d is x & (c & d); likewise or, xor, min, max"""
    found = [a for a in n.args if is_const(a)]
    if len(found) < 2:
        return None
    if n.kind in BITWISE:
        bits = reduce(BITWISE[n.kind], (a.data for a in found))
    else:
        pick = min if n.kind == "min" else max
        bits = pick(found, key=lambda a: a.number(n.data)).data
    rest = [a for a in n.args if not is_const(a)]
    return t.group(n, [*rest, t.const(n.type, bits)], 0)


@law("and", "or", "xor", "min", "max")
def combine_tables(t: Tree, n: TreeNode) -> TreeNode | None:
    """x & c & d is x & (c & d) for constants whose elements differ; likewise or, xor, min, max"""
    found = [a for a in n.args if is_known(a)]
    if len(found) < 2 or not t.has_tables:
        return None
    joined = t.by_element(n, found)
    return None if joined is None else t.group(n, [*(a for a in n.args if not is_known(a)), joined], 0)


@law("and", "or", "xor", "min", "max")
def drop_neutral(t: Tree, n: TreeNode) -> TreeNode | None:
    """x & -1 is x, x | 0 is x, x ^ 0 is x, min(x, largest) is x, max(x, smallest) is x"""
    kept = [a for a in n.args if not is_const(a, neutral(n))]
    return t.group(n, kept, neutral(n)) if len(kept) < len(n.args) else None


@law("and", "or", "min", "max")
def absorbing_constant(t: Tree, n: TreeNode) -> TreeNode | None:
    """x & 0 is 0, x | -1 is -1, min(x, smallest) is smallest, max(x, largest) is largest"""
    return next((a for a in n.args if is_const(a, absorbing(n))), None)


@law("and", "or", "min", "max")
def idempotent(t: Tree, n: TreeNode) -> TreeNode | None:
    """x & x is x; likewise or, min, max"""
    kept = list(dict.fromkeys(n.args))
    return t.group(n, kept, 0) if len(kept) < len(n.args) else None


@law("and", "or")
def complement(t: Tree, n: TreeNode) -> TreeNode | None:
    """x & ~x is 0, x | ~x is -1"""
    present = set(n.args)
    if any(t.invert(a) in present for a in n.args):
        return t.const(n.type, absorbing(n))
    return None


@law("and", "or", "min", "max")
def absorb(t: Tree, n: TreeNode) -> TreeNode | None:
    """x & (x | y) is x, x | (x & y) is x, max(x, min(x, y)) is x, min(x, max(x, y)) is x"""
    present, dual = set(n.args), DUAL[n.kind]
    kept = [a for a in n.args if not (a.kind == dual and a.data is n.data and any(x in present for x in a.args))]
    return t.group(n, kept, 0) if len(kept) < len(n.args) else None


@law("and", "or")
def de_morgan(t: Tree, n: TreeNode) -> TreeNode | None:
    """~x & ~y is ~(x | y), ~x | ~y is ~(x & y)"""
    if all(a.kind == "not" for a in n.args):
        return t.invert(t.make(DUAL[n.kind], n.type, [a.args[0] for a in n.args]))
    return None


@law("xor")
def xor_not(t: Tree, n: TreeNode) -> TreeNode | None:
    """~x ^ y is ~(x ^ y), x ^ -1 is ~x"""
    flips = sum(a.kind == "not" or is_const(a, -1) for a in n.args)
    if not flips:
        return None
    args = [a.args[0] if a.kind == "not" else a for a in n.args if not is_const(a, -1)]
    plain = t.group(n, args, 0)
    return t.invert(plain) if flips % 2 else plain


@law("xor")
def xor_cancel(t: Tree, n: TreeNode) -> TreeNode | None:
    """x ^ x is 0"""
    kept = [a for i, a in enumerate(n.args) if n.args.count(a) % 2 and a not in n.args[:i]]
    return t.group(n, kept, 0) if len(kept) < len(n.args) else None


# ---------------------------------------------------------------- arithmetic


@law("sum")
def sum_flatten(t: Tree, n: TreeNode) -> TreeNode | None:
    """a * (b * x + c) + d is (a * b) * x + (a * c + d), and ~x is -x - 1"""
    if not any(a.kind in ("sum", "const", "not") for a in n.args):
        return None
    coefficients, plus = n.data
    terms: list[tuple[TreeNode, int]] = []
    for a, times in zip(n.args, coefficients):
        match a.kind:
            case "const":
                plus += times * a.data
            case "not":
                terms.append((a.args[0], -times))
                plus -= times
            case "sum":
                terms += [(x, times * c) for x, c in zip(a.args, a.data[0])]
                plus += times * a.data[1]
            case _:
                terms.append((a, times))
    return t.sum(n.type, terms, plus) if len(terms) <= MAX_ARGS else None


@law("sum")
def sum_collect(t: Tree, n: TreeNode) -> TreeNode | None:
    """a * x + b * x is (a + b) * x, 0 * x is 0"""
    coefficients, plus = n.data
    totals: dict[TreeNode, int] = {}
    for a, times in zip(n.args, coefficients):
        totals[a] = totals.get(a, 0) + times & n.ones
    kept = sorted(((a, c) for a, c in totals.items() if c), key=lambda pair: pair[0].serial)
    if tuple(a for a, _ in kept) == n.args:
        return None
    return t.sum(n.type, kept, plus)


@law("sum")
def sum_trivial(t: Tree, n: TreeNode) -> TreeNode | None:
    """1 * x + 0 is x; a sum without terms is a constant"""
    if not n.args:
        return t.const(n.type, n.data[1])
    if n.data == ((1,), 0):
        return n.args[0]
    return None


@law("sum")
def sum_tables(t: Tree, n: TreeNode) -> TreeNode | None:
    """a * c + b * d + e is a constant, also where the elements of c and d differ"""
    if not t.has_tables:
        return None
    coefficients, plus = n.data
    tables = [(a, times) for a, times in zip(n.args, coefficients) if a.kind == "table"]
    if not tables or (len(tables) == 1 and tables[0][1] == 1 and plus == 0):
        return None
    total = t.table(n.type, [sum(row, plus) for row in zip(*([c * x for x in a.data] for a, c in tables))])
    rest = [(a, times) for a, times in zip(n.args, coefficients) if a.kind != "table"]
    return t.sum(n.type, [*rest, (total, 1)])


@law("mul")
def mul_constant(t: Tree, n: TreeNode) -> TreeNode | None:
    """x * c is a sum with one term"""
    x, y = n.args
    if not is_const(x) and not is_const(y):
        return None
    known, other = (x, y) if is_const(x) else (y, x)
    return t.sum(n.type, [(other, known.data)])


# ---------------------------------------------------------------- select


@law("select")
def select_same(t: Tree, n: TreeNode) -> TreeNode | None:
    """select(p, x, x) is x"""
    return n.args[1] if n.args[1] is n.args[2] else None


@law("select")
def select_constant(t: Tree, n: TreeNode) -> TreeNode | None:
    """select(true, x, y) is x, select(false, x, y) is y"""
    cond, yes, no = n.args
    return (yes if cond.data else no) if is_const(cond) else None


@law("select")
def select_not(t: Tree, n: TreeNode) -> TreeNode | None:
    """select(~p, x, y) is select(p, y, x)"""
    cond, yes, no = n.args
    return t.make("select", n.type, [cond.args[0], no, yes]) if cond.kind == "not" else None


@law("select")
def select_nested(t: Tree, n: TreeNode) -> TreeNode | None:
    """select(p, select(p, x, y), z) is select(p, x, z); likewise in the other arm and for ~p"""
    cond, yes, no = n.args
    new_yes, new_no = _arm(t, cond, yes, True), _arm(t, cond, no, False)
    if new_yes is yes and new_no is no:
        return None
    return t.make("select", n.type, [cond, new_yes, new_no])


def _arm(t: Tree, cond: TreeNode, arm: TreeNode, truth: bool) -> TreeNode:
    """The value of an arm if the condition is known to hold, or not to."""
    if arm.kind == "select" and arm.args[0] is cond:
        return arm.args[1 if truth else 2]
    return arm


@law("select")
def select_mask(t: Tree, n: TreeNode) -> TreeNode | None:
    """for i1: select(p, true, x) is p | x, select(p, x, false) is p & x, and so on"""
    cond, yes, no = n.args
    if n.type.element is not I1:
        return None
    if is_const(yes):
        return t.make("or", n.type, [cond, no]) if yes.data else t.make("and", n.type, [t.invert(cond), no])
    if is_const(no):
        return t.make("or", n.type, [t.invert(cond), yes]) if no.data else t.make("and", n.type, [cond, yes])
    return None


@law("select")
def select_equal(t: Tree, n: TreeNode) -> TreeNode | None:
    """select(x == y, x, y) is y, select(x != y, x, y) is x"""
    cond, yes, no = n.args
    if cond.kind != "cmp" or cond.data[0] not in (EQ, NE) or set(cond.args) != {yes, no}:
        return None
    return no if cond.data[0] is EQ else yes


# ---------------------------------------------------------------- widths


@law("ext")
def ext_constant(t: Tree, n: TreeNode) -> TreeNode | None:
    """the extension of a constant is a constant"""
    x = n.args[0]
    return t.const(n.type, x.number(n.data)) if is_const(x) else None


@law("ext")
def ext_ext(t: Tree, n: TreeNode) -> TreeNode | None:
    """an extension of an extension of the same kind, or of an unsigned one, is one extension"""
    x = n.args[0]
    if x.kind == "ext" and (x.data is n.data or x.data is UNSIGNED):
        return t.make("ext", n.type, x.args, x.data)
    return None


@law("trunc")
def trunc_constant(t: Tree, n: TreeNode) -> TreeNode | None:
    """the truncation of a constant is a constant"""
    x = n.args[0]
    return t.const(n.type, x.data) if is_const(x) else None


@law("trunc")
def trunc_trunc(t: Tree, n: TreeNode) -> TreeNode | None:
    """a truncation of a truncation is one truncation"""
    x = n.args[0]
    return t.make("trunc", n.type, x.args) if x.kind == "trunc" else None


@law("trunc")
def trunc_ext(t: Tree, n: TreeNode) -> TreeNode | None:
    """the truncation of an extension is the number, or a shorter extension or truncation of it"""
    x = n.args[0]
    if x.kind != "ext":
        return None
    inner = x.args[0]
    if inner.type is n.type:
        return inner
    return t.make("ext", n.type, [inner], x.data) if inner.width < n.width else t.make("trunc", n.type, [inner])
