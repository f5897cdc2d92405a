"""`simplify`: lower integer and mask expressions to trees, simplify them, and rebuild those that became cheaper.

A tree reaches through pure operations only, and never into or out of a region. Each round visits every value once, and
a round that changes something is followed by another. Each change removes an operation or shortens the chain of
operations that one depends on, so the pass terminates.
"""

from __future__ import annotations

from ...analysis.uses import UseCounts, count_uses
from ...attrs import Signedness
from ...diag import TileError
from ...floats.comparison import EQ, NE
from ...ir import Block, Op, Value, walk
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
    ShLI,
    ShRI,
    SubI,
    TruncI,
    XOrI,
)
from ...rewrite import Report, isolated, replace_operands
from ...rewrite.deadcode import keep_living
from ...rewrite.rules import Fired
from ...types import I1, I4, Tile
from ..constants import element_of
from ..registry import Option, register
from . import comparisons, divisions, laws
from .build import TreeBuilder
from .tree import MAX_DEPTH, MAX_ELEMENTS, Tree, TreeNode

assert laws and comparisons and divisions  # importing them declares them

ROUNDS = 16
LOWERED = (
    AbsI, AddI, AndI, CmpI, DivI, ExtI, MaxI, MinI, MulI, NegI, OrI, RemI, Select, ShLI, ShRI, SubI, TruncI, XOrI,
)  # fmt: skip
"""The operations that become nodes of trees; all others are leaves."""
VISITED = frozenset((Constant, *LOWERED))
EQUALITY = (EQ, NE)
CONE = 64
"""The most operations to visit when counting what a rewrite makes dead."""
CUT = 256
"""The most expressions to visit when cutting a deep one."""


MODES = ("all", "integers", "masks")


@register(
    "simplify",
    Option("depth", MAX_DEPTH, "how many levels of an expression are looked at"),
    Option("mode", "all", "which results are simplified: all, integers or masks"),
)
def simplify(root: Op, report: Report, depth: int = MAX_DEPTH, mode: str = "all") -> None:
    """Simplify integer and mask expressions algebraically: logic, comparison, arithmetic, select."""
    if not 1 <= depth <= MAX_DEPTH:
        raise TileError(f"simplify: option 'depth' must be from 1 to {MAX_DEPTH}, got {depth}")
    if mode not in MODES:
        raise TileError(f"simplify: option 'mode' must be one of {', '.join(MODES)}, got '{mode}'")
    for scope in isolated(root):
        uses = count_uses(walk(scope))
        for _ in range(ROUNDS):
            changed = _Round(scope, uses, depth, mode).run(report)
            uses = keep_living(scope, None, report).uses
            if not changed:
                break


class _Round:
    """One sweep over everything inside an operation, in textual order."""

    def __init__(self, scope: Op, uses: UseCounts, depth: int = MAX_DEPTH, mode: str = "all") -> None:
        self.scope, self.uses, self.depth, self.mode = scope, uses, depth, mode
        self.tree = Tree()
        self.nodes: dict[Value, TreeNode] = {}
        self.levels: dict[Value, int] = {}
        self.swapped: dict[Value, Value] = {}
        self.known: dict[TreeNode, Value] = {}
        """The value of each expression that is available at the current position."""

    def run(self, report: Report) -> bool:
        before = report.counts.total()
        frames = [_Frame(block) for block in reversed(self.scope.blocks)]
        while frames:
            frame = frames[-1]
            if not frame.todo:
                frame.block.ops = frame.done
                for node in frame.added:
                    del self.known[node]
                frames.pop()
                continue
            o = frame.todo.pop()
            if self.swapped:
                replace_operands(o, self.swapped)
            if o.__class__ in VISITED:
                self._visit(o, frame, report)
                continue
            frame.done.append(o)
            if o.nested:
                frames += [_Frame(block) for block in reversed(o.blocks)]
        return report.counts.total() > before

    def _visit(self, o: Op, frame: _Frame, report: Report) -> None:
        (result,) = o.results
        self.tree.fired.clear()
        node = self._lower(o, result)
        if node.data is not result and isinstance(o, LOWERED) and self.uses[result] and self._wanted(result):
            made = TreeBuilder(self.tree, self.available, o.loc)
            value = made.build(node, limit=CONE)
            if value is not None and self._better(o, value, made):
                self._replace(o, result, value, made, frame)
                laws = dict.fromkeys(self.tree.fired) or ["rebuild" if made.cost else "same_expression"]
                report.counts.update(f"simplify_{name}" for name in laws)
                if report.log is not None:
                    report.log += [Fired(f"simplify_{name}", o.name, o.loc) for name in laws]
                return
        frame.done.append(o)
        self.levels[result] = self._level(o)
        self._define(node, result, frame)

    def _wanted(self, result: Value) -> bool:
        is_mask = isinstance(result.type, Tile) and result.type.element is I1
        return self.mode == "all" or is_mask == (self.mode == "masks")

    def _better(self, o: Op, value: Value, made: TreeBuilder) -> bool:
        """Whether the new operations are fewer, or as many but with a shorter chain of dependences."""
        freed = self._freed(o, made.reused)
        for new in made.ops:
            self._measure(new)
        return made.cost < freed or (made.cost == freed == 1 and self.levels.get(value, 0) < self._level(o))

    def _level(self, o: Op) -> int:
        """The length of the longest chain of these operations that a value depends on."""
        return 1 + max([self.levels.get(v, 0) for v in o.operands], default=-1)

    def _measure(self, o: Op) -> None:
        self.levels[o.results[0]] = self._level(o)

    def available(self, node: TreeNode) -> Value | None:
        """A value that already holds this expression."""
        if node.kind == "leaf":
            leaf: Value = node.data
            return leaf
        value = self.known.get(node)
        return value if value is not None and self.uses[value] else None

    def _define(self, node: TreeNode, value: Value, frame: _Frame) -> None:
        """Remember the expression that a value is for those that use it, without what is too deep."""
        self._learn(node, value, frame)
        if node.depth >= 2 * self.depth:
            node = self._cut(node, value)
            self._learn(node, value, frame)
        self.nodes[value] = node

    def _cut(self, root: TreeNode, value: Value) -> TreeNode:
        """Replace what is more than `depth` levels below an expression by the values that hold it.

        An expression may grow to twice that depth before it is cut, so that few are.
        """
        done: dict[tuple[TreeNode, int], TreeNode] = {}

        def cut(node: TreeNode, levels: int) -> TreeNode:
            if node.depth <= levels or len(done) > CUT:
                return node
            if not levels:
                held = self.available(node)
                return node if held is None else self.tree.leaf(held)
            found = done.get((node, levels))
            if found is None:
                args = [cut(a, levels - 1) for a in node.args]
                found = done[node, levels] = self.tree.make(node.kind, node.type, args, node.data)
            return found

        made = cut(root, self.depth)
        return made if made.depth < 2 * self.depth else self.tree.leaf(value)

    def _learn(self, node: TreeNode, value: Value, frame: _Frame) -> None:
        if node.kind != "leaf" and node not in self.known:
            self.known[node] = value
            frame.added.append(node)

    # ------------------------------------------------------------ from operations to trees

    def _node(self, value: Value) -> TreeNode:
        found = self.nodes.get(value)
        if found is None:
            found = self.nodes[value] = self.tree.leaf(value)
        return found

    def _lower(self, o: Op, result: Value) -> TreeNode:
        leaf = self.tree.leaf(result)
        if isinstance(o, Constant):
            return self._constant(o) or leaf
        assert isinstance(result.type, Tile)
        return self._lower_op(o, result.type, [self._node(v) for v in o.operands]) or leaf

    def _constant(self, o: Constant) -> TreeNode | None:
        dense = o.value
        if not dense.element.is_int:
            return None
        if dense.splat is not None:
            return self.tree.const(dense.type, dense.splat)
        return self.tree.table(dense.type, dense.stored()) if dense.type.size <= MAX_ELEMENTS else None

    def _lower_op(self, o: Op, type: Tile, args: list[TreeNode]) -> TreeNode | None:
        t = self.tree
        if _reads_signed_bit(o) or any(x.element is I4 for x in (type, args[0].type)):
            return None  # there are no constants of i4
        match o:
            case AndI():
                return t.make("and", type, args)
            case OrI():
                return t.make("or", type, args)
            case XOrI():
                return t.make("xor", type, args)
            case AddI():
                return t.sum(type, [(args[0], 1), (args[1], 1)])
            case SubI():
                return t.sum(type, [(args[0], 1), (args[1], -1)])
            case NegI():
                return t.sum(type, [(args[0], -1)])
            case MulI():
                return t.make("mul", type, args)
            case ShLI():
                by = args[1]
                inside = by.kind == "const" and by.data < by.width
                return t.sum(type, [(args[0], 1 << by.data)]) if inside else None
            case MinI() | MaxI():
                return t.make(o.name[:3], type, args, o.signedness)
            case CmpI():
                return t.make("cmp", type, args, (o.comparison_predicate, o.signedness))
            case Select():
                return t.make("select", type, args)
            case ExtI():
                return t.make("ext", type, args, o.signedness)
            case TruncI():
                return t.make("trunc", type, args)
            case DivI():
                return t.make("div", type, args, (o.signedness, o.rounding))
            case RemI() | ShRI():
                return t.make(o.name[:3], type, args, o.signedness)
            case AbsI():
                return t.make("abs", type, args)
        return None

    # ------------------------------------------------------------ from trees to operations

    def _freed(self, o: Op, reused: set[Value]) -> int:
        """How many operations are dead once this one is replaced by something that uses these values."""
        count, todo, seen = 1, list(o.operands), 0
        while todo and seen < CONE:
            value = todo.pop()
            seen += 1
            if isinstance(value.owner, LOWERED) and self.uses[value] == 1 and value not in reused:
                count += 1
                todo += value.owner.operands
        return count

    def _replace(self, o: Op, result: Value, value: Value, made: TreeBuilder, frame: _Frame) -> None:
        for new in made.ops:
            frame.done.append(new)
            self.uses.add(new)
        for node, known in made.values.items():
            self._define(node, known, frame)
        self.swapped[result] = value
        self.uses.replace(result, value)
        self._release(o)

    def _release(self, o: Op) -> None:
        """Remove the uses of an operation that is erased, and of those that only it used."""
        todo = [o]
        while todo:
            for value in todo.pop().operands:
                self.uses[value] -= 1
                if not self.uses[value] and isinstance(value.owner, LOWERED):
                    todo.append(value.owner)


def _reads_signed_bit(o: Op) -> bool:
    """Whether an operation reads an i1 as signed, which is not defined well enough to fold."""
    if element_of(o.operands[0]) is not I1 or getattr(o, "signedness", None) is not Signedness.SIGNED:
        return False
    return not isinstance(o, CmpI) or o.comparison_predicate not in EQUALITY


class _Frame:
    """A block that is being swept: the operations that are done, and those to do, the next one last."""

    __slots__ = ("added", "block", "done", "todo")

    def __init__(self, block: Block) -> None:
        self.block = block
        self.done: list[Op] = []
        self.todo: list[Op] = block.ops[::-1]
        self.added: list[TreeNode] = []
