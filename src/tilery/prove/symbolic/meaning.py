"""The meaning of integer operations as z3 terms, and the condition for one value to replace another.

A meaning is a bit vector and a condition under which it is defined. A rewrite is right if, wherever the old value is
defined, the new one is too and is the same; it may be defined where the old one is not.
"""

from __future__ import annotations

from typing import Any

import z3  # type: ignore[import-untyped]  # it has no types

from ...attrs import ComparisonPredicate, IntegerOverflow, RoundingMode, Signedness
from ...ir import Op, Value
from ...ops import (
    AbsI,
    AddI,
    AndI,
    Broadcast,
    CmpI,
    Constant,
    DivI,
    ExtI,
    If,
    MaxI,
    MinI,
    MulhiI,
    MulI,
    NegI,
    OrI,
    RemI,
    Reshape,
    Select,
    ShLI,
    ShRI,
    SubI,
    TruncI,
    XOrI,
    Yield,
)
from ...passes.simplify.tree import TreeNode
from ...types import Scalar, Tile

TIMEOUT = 60_000
Term = tuple[Any, Any]
"""A bit vector, and whether it is defined."""

NSW = (IntegerOverflow.NSW, IntegerOverflow.NW)
NUW = (IntegerOverflow.NUW, IntegerOverflow.NW)


def width(value: Value | TreeNode) -> int:
    assert isinstance(value.type, Tile) and isinstance(value.type.element, Scalar)
    return value.type.element.bits


def bit(condition: Any) -> Any:
    return z3.If(condition, z3.BitVecVal(1, 1), z3.BitVecVal(0, 1))


def compare(predicate: ComparisonPredicate, signedness: Signedness, a: Any, b: Any) -> Any:
    signed = signedness is Signedness.SIGNED
    match predicate:
        case ComparisonPredicate.EQUAL:
            return a == b
        case ComparisonPredicate.NOT_EQUAL:
            return a != b
        case ComparisonPredicate.LESS_THAN:
            return a < b if signed else z3.ULT(a, b)
        case ComparisonPredicate.LESS_THAN_OR_EQUAL:
            return a <= b if signed else z3.ULE(a, b)
        case ComparisonPredicate.GREATER_THAN:
            return a > b if signed else z3.UGT(a, b)
    return a >= b if signed else z3.UGE(a, b)


def extended(a: Any, to: int, signedness: Signedness) -> Any:
    more = to - a.size()
    if not more:
        return a
    return z3.SignExt(more, a) if signedness is Signedness.SIGNED else z3.ZeroExt(more, a)


def truncated(a: Any, to: int) -> Any:
    return z3.Extract(to - 1, 0, a)


def promised(overflow: IntegerOverflow, wide: tuple[Any, Any], narrow: Any) -> Any:
    """No promise is broken: the exact signed and unsigned results are what is left of them."""
    signed, unsigned = wide
    kept = z3.BoolVal(True)
    if overflow in NSW:
        kept = z3.And(kept, extended(narrow, signed.size(), Signedness.SIGNED) == signed)
    if overflow in NUW:
        kept = z3.And(kept, extended(narrow, unsigned.size(), Signedness.UNSIGNED) == unsigned)
    return kept


def wrapping(o: AddI | SubI | MulI, a: Any, b: Any) -> Term:
    w = a.size()

    def compute(x: Any, y: Any) -> Any:
        return x + y if isinstance(o, AddI) else x - y if isinstance(o, SubI) else x * y

    room = 2 * w + 2
    exact = tuple(compute(extended(a, room, s), extended(b, room, s)) for s in (Signedness.SIGNED, Signedness.UNSIGNED))
    result = compute(a, b)
    return result, promised(o.overflow, (exact[0], exact[1]), result)


def division(o: DivI | RemI, a: Any, b: Any) -> Term:
    signed = o.signedness is Signedness.SIGNED
    w = a.size()
    defined = b != 0
    if signed:
        least = z3.BitVecVal(1 << (w - 1), w)
        defined = z3.And(defined, z3.Not(z3.And(a == least, b == -1)))
    quotient, rest = (a / b, z3.SRem(a, b)) if signed else (z3.UDiv(a, b), z3.URem(a, b))
    if isinstance(o, RemI):
        return rest, defined
    negative = (a < 0) != (b < 0) if signed else z3.BoolVal(False)
    match o.rounding:
        case RoundingMode.POSITIVE_INF:
            quotient = z3.If(z3.And(rest != 0, z3.Not(negative)), quotient + 1, quotient)
        case RoundingMode.NEGATIVE_INF:
            quotient = z3.If(z3.And(rest != 0, negative), quotient - 1, quotient)
    return quotient, defined


def shift(o: ShLI | ShRI, a: Any, b: Any) -> Term:
    w = a.size()
    inside = z3.ULT(extended(b, w + 8, Signedness.UNSIGNED), w)
    if isinstance(o, ShRI):
        return (a >> b if o.signedness is Signedness.SIGNED else z3.LShR(a, b)), inside
    room = 2 * w + 2
    by = extended(b, room, Signedness.UNSIGNED)
    exact = tuple(extended(a, room, s) << by for s in (Signedness.SIGNED, Signedness.UNSIGNED))
    return a << b, z3.And(inside, promised(o.overflow, (exact[0], exact[1]), a << b))


class Meaning:
    """Terms of values. Values that no known operation makes are unknowns."""

    def __init__(self, lane: int = 0) -> None:
        self.known: dict[Value, Term] = {}
        self.nodes: dict[TreeNode, Any] = {}
        self.defined: dict[TreeNode, Any] = {}
        self.lane = lane
        """The element that terms of expressions are about, where elements of a constant differ."""

    def of(self, value: Value) -> Term:
        todo = [value]
        while todo:
            top = todo[-1]
            if top in self.known:
                todo.pop()
                continue
            needed = [v for v in self._needs(top) if v not in self.known]
            if needed:
                todo += needed
                continue
            self.known[top] = self._term(top)
        return self.known[value]

    def _needs(self, value: Value) -> list[Value]:
        o = value.owner
        if isinstance(o, If):
            at = o.results_.index(value)
            return [o.condition, *(_end(b).operands_[at] for b in o.blocks)]
        return list(o.operands) if isinstance(o, Op) and isinstance(o, KNOWN) else []

    def _term(self, value: Value) -> Term:
        o = value.owner
        if isinstance(o, Constant):
            assert o.value.splat is not None
            return z3.BitVecVal(o.value.splat, width(value)), z3.BoolVal(True)
        if not isinstance(o, KNOWN):
            return z3.BitVec(f"v{len(self.known)}", width(value)), z3.BoolVal(True)
        terms = [self.known[v] for v in self._needs(value)]
        if isinstance(o, If):
            # Only the branch that is executed has to be defined.
            (c, known), (a, left), (b, right) = terms
            return z3.If(c == 1, a, b), z3.And(known, z3.If(c == 1, left, right))
        result, defined = operation(o, [t for t, _ in terms])
        return result, z3.And(defined, *(d for _, d in terms))

    def term_of(self, node: TreeNode) -> Term:
        """The term of an expression of the simplifier, and whether it is defined."""
        return self.of_node(node), z3.And(*(self.defined[n] for n in _below(node) if n in self.defined))

    def of_node(self, node: TreeNode) -> Any:
        """The term of an expression of the simplifier."""
        if node not in self.nodes:
            self.nodes[node] = self._of_node(node)
        return self.nodes[node]

    def _of_node(self, node: TreeNode) -> Any:
        w = width(node)
        if node.kind == "leaf":
            return self.of(node.data)[0]
        if node.kind == "const":
            return z3.BitVecVal(node.data, w)
        if node.kind == "table":
            return z3.BitVecVal(node.data[self.lane], w)
        args = [self.of_node(a) for a in node.args]
        match node.kind:
            case "div" | "rem" | "shr":
                result, self.defined[node] = operation(_partial(node), args)
                return result
            case "abs":
                return z3.If(args[0] < 0, -args[0], args[0])
            case "not":
                return ~args[0]
            case "select":
                return z3.If(args[0] == 1, args[1], args[2])
            case "cmp":
                return bit(compare(*node.data, *args))
            case "ext":
                return extended(args[0], w, node.data)
            case "trunc":
                return truncated(args[0], w)
            case "sum":
                total = z3.BitVecVal(node.data[1], w)
                for a, times in zip(args, node.data[0]):
                    total = total + a * z3.BitVecVal(times, w)
                return total
        if node.kind == "mul" and not any(a.kind == "const" for a in node.args):
            # No law looks into a product of unknowns: what holds for any function of two holds for it.
            sort = z3.BitVecSort(w)
            return z3.Function(f"product{w}", sort, sort, sort)(*args)
        total = args[0]
        for a in args[1:]:
            total = join(node, total, a)
        return total


def _partial(node: TreeNode) -> Op:
    """The operation of an expression that is not always defined."""
    a, b = (Value(x.type) for x in node.args)
    if node.kind == "div":
        return DivI(lhs=a, rhs=b, signedness=node.data[0], rounding=node.data[1])
    return (RemI if node.kind == "rem" else ShRI)(lhs=a, rhs=b, signedness=node.data)


def _below(root: TreeNode) -> list[TreeNode]:
    """All parts of an expression."""
    found, todo = {root: None}, [root]
    while todo:
        new = [a for a in todo.pop().args if a not in found]
        found.update(dict.fromkeys(new))
        todo += new
    return list(found)


def join(node: TreeNode, a: Any, b: Any) -> Any:
    match node.kind:
        case "and":
            return a & b
        case "or":
            return a | b
        case "xor":
            return a ^ b
        case "mul":
            return a * b
    less = ComparisonPredicate.LESS_THAN if node.kind == "min" else ComparisonPredicate.GREATER_THAN
    return z3.If(compare(less, node.data, a, b), a, b)


KNOWN = (
    AbsI, AddI, AndI, Broadcast, CmpI, Constant, DivI, ExtI, If, MaxI, MinI, MulhiI, MulI, NegI, OrI, RemI, Reshape,
    Select, ShLI, ShRI, SubI, TruncI, XOrI,
)  # fmt: skip


def _end(block: Any) -> Yield:
    end = block.ops[-1]
    assert isinstance(end, Yield)
    return end


def operation(o: Op, args: list[Any]) -> Term:
    """One element of what an operation computes from one element of each operand."""
    yes = z3.BoolVal(True)
    a = args[0]
    b = args[-1]
    match o:
        case AddI() | SubI() | MulI():
            return wrapping(o, a, b)
        case DivI() | RemI():
            return division(o, a, b)
        case ShLI() | ShRI():
            return shift(o, a, b)
        case AndI():
            return a & b, yes
        case OrI():
            return a | b, yes
        case XOrI():
            return a ^ b, yes
        case NegI():
            room = a.size() + 2
            exact = tuple(-extended(a, room, s) for s in (Signedness.SIGNED, Signedness.UNSIGNED))
            return -a, promised(o.overflow, (exact[0], exact[1]), -a)
        case AbsI():
            return z3.If(a < 0, -a, a), yes
        case MulhiI():
            w = a.size()
            wide = extended(a, 2 * w, Signedness.UNSIGNED) * extended(b, 2 * w, Signedness.UNSIGNED)
            return z3.Extract(2 * w - 1, w, wide), yes
        case MaxI() | MinI():
            less = compare(ComparisonPredicate.LESS_THAN, o.signedness, a, b)
            return (z3.If(less, a, b) if isinstance(o, MinI) else z3.If(less, b, a)), yes
        case CmpI():
            return bit(compare(o.comparison_predicate, o.signedness, a, b)), yes
        case Select():
            return z3.If(a == 1, args[1], args[2]), yes
        case ExtI():
            return extended(a, width(o.to), o.signedness), yes
        case TruncI():
            narrow = truncated(a, width(o.to))
            return narrow, promised(o.overflow, (a, a), narrow)
    return a, yes  # broadcast and reshape move elements


def refutes(goal: Any, timeout: int = TIMEOUT) -> str | None:
    """Return why a goal does not hold for all unknowns, or None if it does."""
    solver = z3.Solver()
    solver.set("timeout", timeout)
    solver.add(z3.Not(goal))
    answer = solver.check()
    if answer == z3.unsat:
        return None
    return f"{answer}: {solver.model() if answer == z3.sat else solver.reason_unknown()}"


def refines(old: Term, new: Term) -> str | None:
    """Return why `new` cannot replace `old`, or None if it can."""
    return refutes(z3.Implies(old[1], z3.And(new[1], old[0] == new[0])))
