"""The simplifier's laws of division, remainder, shifts to the right, absolute values, and constants in general."""

from __future__ import annotations

from ..fold_int import quotient, remainder
from .laws import SIGNED, extremes, is_const
from .tree import Tree, TreeNode, law


def _undefined(a: TreeNode, b: TreeNode, signed: bool) -> bool:
    """Whether a division of constants is undefined: by zero, or of the smallest signed integer by -1."""
    return b.data == 0 or (signed and is_const(b, -1) and a.data == extremes(a, SIGNED)[0])


@law("div")
def div_constants(t: Tree, n: TreeNode) -> TreeNode | None:
    """c / d is a constant, unless it is undefined"""
    a, b = n.args
    sign, rounding = n.data
    if not is_const(a) or not is_const(b) or _undefined(a, b, sign is SIGNED):
        return None
    return t.const(n.type, quotient(a.number(sign), b.number(sign), rounding))


@law("div")
def div_trivial(t: Tree, n: TreeNode) -> TreeNode | None:
    """x / 1 is x, 0 / x is 0, x / x is 1, and x / -1 is -x if signed"""
    a, b = n.args
    if is_const(b, 1) or is_const(a, 0):
        return a
    if a is b:
        return t.const(n.type, 1)
    return t.sum(n.type, [(a, -1)]) if n.data[0] is SIGNED and is_const(b, -1) else None


@law("rem")
def rem_constants(t: Tree, n: TreeNode) -> TreeNode | None:
    """c % d is a constant, unless it is undefined"""
    a, b = n.args
    if not is_const(a) or not is_const(b) or _undefined(a, b, n.data is SIGNED):
        return None
    return t.const(n.type, remainder(a.number(n.data), b.number(n.data)))


@law("rem")
def rem_trivial(t: Tree, n: TreeNode) -> TreeNode | None:
    """x % 1 is 0, 0 % x is 0, x % x is 0, and x % -1 is 0 if signed"""
    a, b = n.args
    if is_const(b, 1) or is_const(a, 0) or a is b or (n.data is SIGNED and is_const(b, -1)):
        return t.const(n.type, 0)
    return None


@law("rem")
def rem_rem(t: Tree, n: TreeNode) -> TreeNode | None:
    """x % y % y is x % y"""
    a, b = n.args
    return a if a.kind == "rem" and a.data is n.data and a.args[1] is b else None


@law("shr")
def shr_constants(t: Tree, n: TreeNode) -> TreeNode | None:
    """c >> d is a constant, if d is less than the width"""
    a, b = n.args
    if not is_const(a) or not is_const(b) or b.data >= n.width:
        return None
    return t.const(n.type, a.number(n.data) >> b.data)


@law("shr")
def shr_trivial(t: Tree, n: TreeNode) -> TreeNode | None:
    """x >> 0 is x, 0 >> x is 0, and -1 >> x is -1 if signed"""
    a, b = n.args
    return a if is_const(b, 0) or is_const(a, 0) or (n.data is SIGNED and is_const(a, -1)) else None


@law("shr")
def shr_shr(t: Tree, n: TreeNode) -> TreeNode | None:
    """x >> c >> d is x >> (c + d), which is 0, or the sign if signed, where nothing else is left"""
    a, b = n.args
    if a.kind != "shr" or a.data is not n.data or not is_const(b) or not is_const(a.args[1]):
        return None
    if max(b.data, a.args[1].data) >= n.width:
        return None
    by = b.data + a.args[1].data
    if by >= n.width and n.data is not SIGNED:
        return t.const(n.type, 0)
    return t.make("shr", n.type, [a.args[0], t.const(b.type, min(by, n.width - 1))], n.data)


@law("abs")
def abs_constant(t: Tree, n: TreeNode) -> TreeNode | None:
    """|c| is a constant"""
    x = n.args[0]
    return t.const(n.type, abs(x.number(SIGNED))) if is_const(x) else None


@law("abs")
def abs_abs(t: Tree, n: TreeNode) -> TreeNode | None:
    """||x|| is |x|"""
    x = n.args[0]
    return x if x.kind == "abs" else None


@law("abs")
def abs_negated(t: Tree, n: TreeNode) -> TreeNode | None:
    """|-x| is |x|"""
    x = n.args[0]
    return t.make("abs", n.type, x.args) if x.kind == "sum" and x.data == ((x.ones,), 0) else None


@law("not", "mul", "cmp", "select", "ext", "trunc", "div", "rem", "shr", "abs")
def known_elements(t: Tree, n: TreeNode) -> TreeNode | None:
    """an operation on constants whose elements differ is a constant, if every element of it is defined"""
    return t.by_element(n, n.args) if t.has_tables else None
