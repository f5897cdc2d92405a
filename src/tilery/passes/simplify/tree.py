"""The simplifier's expressions: interned trees of integers and masks, simplified as they are built."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from ...attrs import Signedness
from ...ir import Value
from ...types import Scalar, Tile

MAX_DEPTH = 32
"""The depth at which an expression becomes a leaf of a new one."""
MAX_ARGS = 32
"""The most arguments that flattening a sum or conjunction may give it."""

COMMUTATIVE = frozenset(("and", "or", "xor", "mul", "min", "max"))


class Node:
    """An expression. Equal expressions are the same object.

    kind     args                  data
    leaf                           the Value
    const                          the bits that all elements have
    not      x
    and, or, xor, mul   two or more, in the order in which they were first seen
    min, max two or more           Signedness
    sum      one or more           (the coefficient of each, what is added at the end), modulo the width
    cmp      lhs, rhs              (ComparisonPredicate, Signedness)
    select   cond, if true, if false
    ext      x                     Signedness
    trunc    x
    """

    __slots__ = ("args", "data", "depth", "kind", "serial", "type")

    def __init__(self, kind: str, type: Tile, args: tuple[Node, ...], data: Any, serial: int) -> None:
        self.kind, self.type, self.args, self.data, self.serial = kind, type, args, data, serial
        self.depth: int = 1 + max((a.depth for a in args), default=0)

    def __repr__(self) -> str:
        parts = [] if self.data is None else [str(self.data)]
        return f"{self.kind}({', '.join(parts + [f'#{a.serial}' for a in self.args])})"

    @property
    def width(self) -> int:
        assert isinstance(self.type.element, Scalar)
        return self.type.element.bits

    @property
    def ones(self) -> int:
        """The bits of a number that is all ones."""
        return (1 << self.width) - 1

    def number(self, signedness: Signedness) -> int:
        """The value of a constant."""
        bits: int = self.data
        return bits - self.ones - 1 if signedness is Signedness.SIGNED and bits >> (self.width - 1) else bits


Law = Callable[["Tree", Node], "Node | None"]
LAWS: dict[str, list[Law]] = {}
"""The laws for each kind of expression, in the order in which they are tried."""


def law(*kinds: str) -> Callable[[Law], Law]:
    """Declare a law, which its docstring states. It returns a simpler expression, or None if it does not apply."""

    def declare(run: Law) -> Law:
        assert run.__doc__, f"law {run.__name__} must be stated"
        for kind in kinds:
            LAWS.setdefault(kind, []).append(run)
        return run

    return declare


class Tree:
    """Builds and interns expressions, and counts the laws that simplified them."""

    def __init__(self) -> None:
        self.nodes: dict[tuple[Any, ...], Node] = {}
        self.simpler: dict[Node, Node] = {}
        self.counts: Counter[str] = Counter()

    def leaf(self, value: Value) -> Node:
        assert isinstance(value.type, Tile)
        return self._intern("leaf", value.type, (), value)

    def const(self, type: Tile, bits: int) -> Node:
        assert isinstance(type.element, Scalar)
        return self._intern("const", type, (), bits & ((1 << type.element.bits) - 1))

    def make(self, kind: str, type: Tile, args: Iterable[Node], data: Any = None) -> Node:
        """Build an expression and simplify it."""
        args = tuple(args)
        if kind in COMMUTATIVE:
            args = tuple(sorted(args, key=lambda a: a.serial))
        node = self._intern(kind, type, args, data)
        found = self.simpler.get(node)
        if found is None:
            found = self._simplify(node)
            self.simpler[node] = found
        return found

    def _simplify(self, node: Node) -> Node:
        for run in LAWS.get(node.kind, ()):
            answer = run(self, node)
            if answer is not None and answer is not node:
                self.counts[run.__name__] += 1
                return answer
        return node

    def _intern(self, kind: str, type: Tile, args: tuple[Node, ...], data: Any) -> Node:
        key = (kind, type, data, *args)
        node = self.nodes.get(key)
        if node is None:
            node = self.nodes[key] = Node(kind, type, args, data, len(self.nodes))
        return node

    # ------------------------------------------------------------ shorthand for laws

    def invert(self, x: Node) -> Node:
        return self.make("not", x.type, [x])

    def sum(self, type: Tile, terms: Iterable[tuple[Node, int]], plus: int = 0) -> Node:
        """Build a sum of terms with their coefficients, plus a constant."""
        pairs = list(terms)
        ones = self.const(type, -1).data
        coefficients = tuple(c & ones for _, c in pairs)
        return self.make("sum", type, [x for x, _ in pairs], (coefficients, plus & ones))

    def group(self, node: Node, args: list[Node], empty: int) -> Node:
        """Build the same variadic operation on other arguments; without any, the constant `empty`."""
        if not args:
            return self.const(node.type, empty)
        return args[0] if len(args) == 1 else self.make(node.kind, node.type, args, node.data)
