"""The simplifier's expressions: interned trees of integers and masks, simplified as they are built."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

from ...attrs import Signedness
from ...ir import Value
from ...types import Scalar, Tile

MAX_DEPTH = 32
"""How many levels below an operation are always part of its expression."""
MAX_ARGS = 32
"""The most arguments that flattening a sum or conjunction may give it."""
MAX_ELEMENTS = 1024
"""The most elements of a constant that laws look at, unless all are equal."""

COMMUTATIVE = frozenset(("and", "or", "xor", "mul", "min", "max"))


class TreeNode:
    """An expression. Equal expressions are the same object.

    kind     args                  data
    leaf                           the Value
    const                          the bits that all elements have
    table                          the bits of each element, which are not all equal
    not      x
    and, or, xor, mul   two or more, in the order in which they were first seen
    min, max two or more           Signedness
    sum      one or more           (the coefficient of each, what is added at the end), modulo the width
    cmp      lhs, rhs              (ComparisonPredicate, Signedness)
    select   cond, if true, if false
    ext      x                     Signedness
    trunc    x
    div      lhs, rhs              (Signedness, RoundingMode)
    rem, shr lhs, rhs              Signedness
    abs      x
    """

    __slots__ = ("args", "data", "depth", "kind", "serial", "type")

    def __init__(self, kind: str, type: Tile, args: tuple[TreeNode, ...], data: Any, serial: int) -> None:
        self.kind, self.type, self.args, self.data, self.serial = kind, type, args, data, serial
        depth = 0
        for a in args:
            if a.depth > depth:
                depth = a.depth
        self.depth: int = depth + 1

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


_serial = attrgetter("serial")

Law = Callable[["Tree", TreeNode], "TreeNode | None"]
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
    """Builds and interns expressions."""

    def __init__(self) -> None:
        self.nodes: dict[tuple[Any, ...], TreeNode] = {}
        self.simpler: dict[TreeNode, TreeNode] = {}
        self.because: dict[TreeNode, str] = {}
        """The law that made each expression simpler that has a simpler form."""
        self.fired: list[str] = []
        """The laws that simplified what was built since the caller cleared this list."""
        self.has_tables = False

    def leaf(self, value: Value) -> TreeNode:
        assert isinstance(value.type, Tile)
        return self._intern("leaf", value.type, (), value)

    def const(self, type: Tile, bits: int) -> TreeNode:
        assert isinstance(type.element, Scalar)
        return self._intern("const", type, (), bits & ((1 << type.element.bits) - 1))

    def table(self, type: Tile, elements: Sequence[int]) -> TreeNode:
        """A constant whose elements may differ."""
        assert isinstance(type.element, Scalar)
        ones = (1 << type.element.bits) - 1
        bits = tuple(n & ones for n in elements)
        if bits.count(bits[0]) == len(bits):
            return self.const(type, bits[0])
        self.has_tables = True
        return self._intern("table", type, (), bits)

    def make(self, kind: str, type: Tile, args: Iterable[TreeNode], data: Any = None) -> TreeNode:
        """Build an expression and simplify it."""
        args = tuple(args)
        if kind in COMMUTATIVE:
            args = tuple(sorted(args, key=_serial))
        node = self._intern(kind, type, args, data)
        found = self.simpler.get(node)
        if found is None:
            found = self._simplify(node)
            self.simpler[node] = found
        elif found is not node:
            self.fired.append(self.because[node])
        return found

    def _simplify(self, node: TreeNode) -> TreeNode:
        for run in LAWS.get(node.kind, ()):
            answer = run(self, node)
            if answer is not None and answer is not node:
                self.because[node] = run.__name__
                self.fired.append(run.__name__)
                return answer
        return node

    def _intern(self, kind: str, type: Tile, args: tuple[TreeNode, ...], data: Any) -> TreeNode:
        key = (kind, type, data, *args)
        node = self.nodes.get(key)
        if node is None:
            node = self.nodes[key] = TreeNode(kind, type, args, data, len(self.nodes))
        return node

    # ------------------------------------------------------------ shorthand for laws

    def invert(self, x: TreeNode) -> TreeNode:
        return self.make("not", x.type, [x])

    def sum(self, type: Tile, terms: Iterable[tuple[TreeNode, int]], plus: int = 0) -> TreeNode:
        """Build a sum of terms with their coefficients, plus a constant."""
        pairs = list(terms)
        assert isinstance(type.element, Scalar)
        ones = (1 << type.element.bits) - 1
        coefficients = tuple([c & ones for _, c in pairs])
        return self.make("sum", type, [x for x, _ in pairs], (coefficients, plus & ones))

    def group(self, node: TreeNode, args: list[TreeNode], empty: int) -> TreeNode:
        """Build the same variadic operation on other arguments; without any, the constant `empty`."""
        if not args:
            return self.const(node.type, empty)
        return args[0] if len(args) == 1 else self.make(node.kind, node.type, args, node.data)

    def by_element(self, node: TreeNode, args: Sequence[TreeNode]) -> TreeNode | None:
        """Apply the operation of `node` to constants, element by element; None if an element does not become one."""
        columns = [a.data if a.kind == "table" else None for a in args]
        size = max((len(c) for c in columns if c is not None), default=0)
        if not size or any(a.kind not in ("const", "table") for a in args):
            return None
        rows = list(zip(*((a.data,) * size if c is None else c for a, c in zip(args, columns))))
        fired, known = len(self.fired), {}
        for row in dict.fromkeys(rows):
            parts = [self.const(a.type, bits) for a, bits in zip(args, row)]
            known[row] = self.make(node.kind, node.type, parts, node.data)
        del self.fired[fired:]
        if any(answer.kind != "const" for answer in known.values()):
            return None
        return self.table(node.type, [known[row].data for row in rows])
