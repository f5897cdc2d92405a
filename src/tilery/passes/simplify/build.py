"""Build operations from the simplifier's expressions, reusing values that exist."""

from __future__ import annotations

from collections.abc import Callable

from ...attrs import Dense, Loc
from ...ir import Op, Value
from ...ops import (
    AbsI,
    AddI,
    AndI,
    CmpI,
    Constant,
    DivI,
    ExtI,
    MaxI,
    MinI,
    MulI,
    NegI,
    OrI,
    RemI,
    Select,
    ShRI,
    SubI,
    TruncI,
    XOrI,
)
from ..constants import filled
from .laws import is_known
from .tree import Tree, TreeNode


class TreeBuilder:
    """Builds the operations of one expression."""

    def __init__(self, tree: Tree, available: Callable[[TreeNode], Value | None], loc: Loc | None) -> None:
        self.tree, self.available, self.loc = tree, available, loc
        self.ops: list[Op] = []
        self.values: dict[TreeNode, Value] = {}
        """The value built for each expression."""
        self.reused: set[Value] = set()
        """Existing values that are used."""
        self.cost = 0
        """The number of operations built, not counting constants."""

    def build(self, root: TreeNode, limit: int) -> Value | None:
        """Build an expression; None if it takes more than `limit` operations."""
        todo = [root]
        while todo:
            node = todo[-1]
            if self._value(node) is not None:
                todo.pop()
                continue
            missing = [a for a in node.args if self._value(a) is None]
            if missing:
                todo += reversed(missing)
                continue
            self.values[node] = self._make(node)
            if self.cost > limit:
                return None
        return self._value(root)

    def _value(self, node: TreeNode) -> Value | None:
        made = self.values.get(node)
        if made is not None:
            return made
        found = self.available(node)
        if found is not None:
            self.reused.add(found)
        elif node.kind == "const":
            found = self.values[node] = self._constant(filled(node.type, node.data))
        elif node.kind == "table":
            found = self.values[node] = self._constant(Constant(value=Dense.of(node.type, node.data)))
        return found

    def _constant(self, made: Constant) -> Value:
        made.loc = self.loc
        self.ops.append(made)
        return made.result

    def _known(self, node: TreeNode, bits: int) -> Value:
        """A constant of an expression's type that is not one of its arguments, such as the ones of a negation."""
        value = self._value(self.tree.const(node.type, bits))
        assert value is not None
        return value

    def _put(self, o: Op) -> Value:
        o.loc = self.loc
        self.ops.append(o)
        self.cost += 1
        return o.results[0]

    def _make(self, node: TreeNode) -> Value:
        args = [v for a in node.args if (v := self._value(a)) is not None]
        match node.kind:
            case "not":
                return self._put(XOrI(lhs=args[0], rhs=self._known(node, node.ones)))
            case "cmp":
                predicate, signedness = node.data
                made: Op = CmpI(comparison_predicate=predicate, lhs=args[0], rhs=args[1], signedness=signedness)
                return self._put(made)
            case "select":
                return self._put(Select(cond=args[0], val_if_true=args[1], val_if_false=args[2]))
            case "ext":
                return self._put(ExtI(from_=args[0], signedness=node.data, to=Value(node.type)))
            case "trunc":
                return self._put(TruncI(from_=args[0], to=Value(node.type)))
            case "div":
                signedness, rounding = node.data
                return self._put(DivI(lhs=args[0], rhs=args[1], signedness=signedness, rounding=rounding))
            case "rem":
                return self._put(RemI(lhs=args[0], rhs=args[1], signedness=node.data))
            case "shr":
                return self._put(ShRI(lhs=args[0], rhs=args[1], signedness=node.data))
            case "abs":
                return self._put(AbsI(source=args[0]))
            case "sum":
                return self._sum(node, args)
        return self._chain(node, args)

    def _chain(self, node: TreeNode, args: list[Value]) -> Value:
        """Build a variadic operation as a chain; constants go to the right, where rules look for them."""
        known = [v for a, v in zip(node.args, args) if is_known(a)]
        rest = [v for a, v in zip(node.args, args) if not is_known(a)]
        value, *others = rest + known
        for other in others:
            match node.kind:
                case "and":
                    made: Op = AndI(lhs=value, rhs=other)
                case "or":
                    made = OrI(lhs=value, rhs=other)
                case "xor":
                    made = XOrI(lhs=value, rhs=other)
                case "mul":
                    made = MulI(lhs=value, rhs=other)
                case "min":
                    made = MinI(lhs=value, rhs=other, signedness=node.data)
                case _:
                    made = MaxI(lhs=value, rhs=other, signedness=node.data)
            value = self._put(made)
        return value

    def _sum(self, node: TreeNode, args: list[Value]) -> Value:
        """Build a sum: first what is added, then what is subtracted, then the constant."""
        coefficients, plus = node.data
        half = 1 << (node.width - 1)
        terms = [(v, c if c <= half else c - node.ones - 1) for v, c in zip(args, coefficients)]
        if node.width == 1:
            terms = [(v, 1) for v, _ in terms]
        added = [self._times(node, v, c) for v, c in terms if c > 0]
        taken = [self._times(node, v, -c) for v, c in terms if c < 0]
        if added:
            value = added.pop(0)
        elif plus:
            value, plus = self._known(node, plus), 0
        else:
            value = self._put(NegI(source=taken.pop(0)))
        for other in added:
            value = self._put(AddI(lhs=value, rhs=other))
        for other in taken:
            value = self._put(SubI(lhs=value, rhs=other))
        return self._put(AddI(lhs=value, rhs=self._known(node, plus))) if plus else value

    def _times(self, node: TreeNode, value: Value, by: int) -> Value:
        if by == 1:
            return value
        return self._put(MulI(lhs=value, rhs=self._known(node, by & node.ones)))
