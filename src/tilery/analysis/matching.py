"""Which operation of one module corresponds to which of another, for comparing versions of a kernel.

Operations are compared by hashes: first of everything that an operation is computed from, then of less and less. Unique
hashes that both blocks have in the same order are anchors; between two of them a shortest edit or a coarser hash
decides. The work is linear in the number of operations, and quadratic only in a bounded number of differences.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from typing import Any

from ..declare.fastclass import dataclass
from ..ir import Block, Op, UnknownOp, Value

WINDOW = 64
"""How far to look ahead for an operation of the same name where nothing tells operations apart."""
ROUNDS = 3
"""How often one hash is tried between the anchors that it has found."""
EDITS = 200
"""Up to this many differences between two anchors the shortest edit is computed, which takes quadratic time in them."""
NAMES = 4
"""The coarsest hash: the name of an operation."""


@dataclass(slots=True)
class Matching:
    """The operations and values of one module, and those of the other module that correspond to them."""

    ops: dict[Op, Op]
    values: dict[Value, Value]


def match(a: Op, b: Op) -> Matching:
    """Match the operations inside two operations, usually modules.

    >>> from tilery import parse
    >>> old = parse("entry @k() { %0 = iota : tile<4xi32> %1 = negi %0 : tile<4xi32> return }")
    >>> new = parse("entry @k() { %0 = iota : tile<8xi32> %1 = iota : tile<4xi32> %2 = negi %1 : tile<4xi32> return }")
    >>> pairs = match(old, new).ops
    >>> [new.entry("k").body.ops.index(pairs[o]) for o in old.entry("k").body.ops]
    [1, 2, 3]
    """
    hashes = _Hashes()
    for root in (a, b):
        hashes.add(root)
    found = Matching({}, {})
    todo: list[tuple[Op, Op]] = [(a, b)]
    while todo:
        x, y = todo.pop()
        found.ops[x] = y
        found.values.update(zip(x.results, y.results))
        for p, q in zip(x.blocks, y.blocks):
            found.values.update(zip(p.args, q.args))
            todo += _match_block(p.ops, q.ops, hashes)
    return found


class _Hashes:
    """Five numbers per operation, from the finest to the coarsest; equal numbers mean equal operations.

    They stand for the operation with everything it is computed from, the operation with what defines its operands, the
    operation alone, its name with its symbol, and its name.
    """

    def __init__(self) -> None:
        self.known: dict[Any, int] = {}
        self.of: dict[Op, tuple[int, ...]] = {}
        self.own: dict[Op, int] = {}
        self.values: dict[Value, int] = {}
        self.shallow: dict[Value, int] = {}

    def number(self, key: Any) -> int:
        return self.known.setdefault(key, len(self.known))

    def add(self, root: Op) -> None:
        """Number all operations inside `root`: an operation with regions after everything in it."""
        stack: list[tuple[Op, bool]] = [(root, False)]
        while stack:
            o, inside_done = stack.pop()
            if inside_done:
                self._finish(o)
                continue
            own = self.own[o] = self.number(_own(o))
            blocks = o.blocks if o.nested else []
            for region, block in enumerate(blocks):
                for index, value in enumerate(block.args):
                    number = self.number(("argument", o.name, region, index, value.type))
                    self.values[value] = self.shallow[value] = number
            self._results(o, own, own)
            stack.append((o, True))
            stack += [(inner, False) for block in reversed(blocks) for inner in reversed(block.ops)]

    def _finish(self, o: Op) -> None:
        own, operands = self.own[o], o.operands
        inside = tuple((len(b.ops), *(self.of[inner][0] for inner in b.ops)) for b in o.blocks) if o.nested else ()
        near = self.number((own, *(self.shallow.get(v, -1) for v in operands)))
        deep = self.number(("deep", own, inside, *(self.values.get(v, -1) for v in operands)))
        symbol = self.number((o.name, getattr(o, "sym_name", None)))
        self.of[o] = deep, near, own, symbol, self.number(o.name)
        self._results(o, deep, own)

    def _results(self, o: Op, deep: int, own: int) -> None:
        for index, value in enumerate(o.results):
            self.values[value] = self.number(("result", deep, index))
            self.shallow[value] = self.number(("result", own, index))


def _own(o: Op) -> Any:
    """Return everything that an operation states itself, without its operands and regions."""
    fields = () if isinstance(o, UnknownOp) else [getattr(o, f.attr) for f in o.opdef.attrs if f.role != "state"]
    types = [v.type for v in (*o.operands, *o.results)]
    extra = sorted((o.extra or {}).items(), key=lambda item: item[0])
    key = (o.name, len(o.blocks), tuple(fields), tuple(types), tuple(extra), o.loc)
    try:
        hash(key)
    except TypeError:
        return repr(key)
    return key


def _match_block(a: list[Op], b: list[Op], hashes: _Hashes) -> list[tuple[Op, Op]]:
    """Return pairs of operations of two blocks, in any order."""
    pairs: list[tuple[int, int]] = []
    keys_a, keys_b = ([hashes.of[o] for o in ops] for ops in (a, b))
    todo = [(0, len(a), 0, len(b), 0, 0)]
    while todo:
        i, i_end, j, j_end, level, rounds = todo.pop()
        while i < i_end and j < j_end and keys_a[i][level] == keys_b[j][level]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        while i < i_end and j < j_end and keys_a[i_end - 1][level] == keys_b[j_end - 1][level]:
            i_end, j_end = i_end - 1, j_end - 1
            pairs.append((i_end, j_end))
        if i == i_end or j == j_end:
            continue
        column_a, column_b = [key[level] for key in keys_a[i:i_end]], [key[level] for key in keys_b[j:j_end]]
        found = _anchors(column_a, column_b)
        again = bool(found) and rounds < ROUNDS
        if not found and level:
            found = _shortest_edit(column_a, column_b) or (_in_order(column_a, column_b) if level == NAMES else [])
        found = [(i + n, j + m) for n, m in found]
        pairs += found
        if level == NAMES and not again:
            pairs += _replaced(a, b, found, (i, i_end, j, j_end))
            continue
        after = (level, rounds + 1) if again else (level + 1, 0)
        for n, m in [*found, (i_end, j_end)]:
            if i < n and j < m:
                todo.append((i, n, j, m, *after))
            i, j = n + 1, m + 1
    return [(a[n], b[m]) for n, m in pairs]


def _anchors(a: Sequence[int], b: Sequence[int]) -> list[tuple[int, int]]:
    """Return the longest list of positions of numbers that are unique on both sides, increasing on both sides."""
    count_a, count_b = Counter(a), Counter(b)
    where = {key: m for m, key in enumerate(b) if count_b[key] == 1}
    common = [(n, where[key]) for n, key in enumerate(a) if count_a[key] == 1 and key in where]
    ends: list[int] = []  # the least end of an increasing list of each length
    last: list[int] = []
    before: list[int] = []
    for index, (_, m) in enumerate(common):
        at = bisect_left(ends, m)
        ends[at : at + 1] = [m]
        last[at : at + 1] = [index]
        before.append(last[at - 1] if at else -1)
    chain: list[tuple[int, int]] = []
    index = last[-1] if last else -1
    while index >= 0:
        chain.append(common[index])
        index = before[index]
    return chain[::-1]


def _shortest_edit(a: Sequence[int], b: Sequence[int]) -> list[tuple[int, int]]:
    """Return the positions that the shortest edit keeps (Myers 1986), or nothing if that has more than EDITS steps."""
    reach, history = {1: 0}, list[dict[int, int]]()
    for edits in range(min(EDITS, len(a) + len(b)) + 1):
        history.append(dict(reach))
        for diagonal in range(-edits, edits + 1, 2):
            down = diagonal == -edits or (diagonal != edits and reach[diagonal - 1] < reach[diagonal + 1])
            x = reach[diagonal + 1] if down else reach[diagonal - 1] + 1
            y = x - diagonal
            while x < len(a) and y < len(b) and a[x] == b[y]:
                x, y = x + 1, y + 1
            reach[diagonal] = x
            if x >= len(a) and y >= len(b):
                return _kept(history, x, y)
    return []


def _kept(history: list[dict[int, int]], x: int, y: int) -> list[tuple[int, int]]:
    """Follow the edits back from the ends, and return the positions between them."""
    pairs: list[tuple[int, int]] = []
    for edits in range(len(history) - 1, -1, -1):
        reach, diagonal = history[edits], x - y
        down = diagonal == -edits or (diagonal != edits and reach[diagonal - 1] < reach[diagonal + 1])
        before = diagonal + 1 if down else diagonal - 1
        x_before = reach[before] if edits else 0
        y_before = x_before - before if edits else 0
        while x > x_before and y > y_before:
            x, y = x - 1, y - 1
            pairs.append((x, y))
        x, y = x_before, y_before
    return pairs[::-1]


def _in_order(a: Sequence[int], b: Sequence[int]) -> list[tuple[int, int]]:
    """Pair equal numbers in order, looking a little ahead."""
    pairs: list[tuple[int, int]] = []
    start = 0
    for n, key in enumerate(a):
        for m in range(start, min(start + WINDOW, len(b))):
            if b[m] == key:
                pairs.append((n, m))
                start = m + 1
                break
    return pairs


def _replaced(
    a: list[Op], b: list[Op], known: list[tuple[int, int]], ends: tuple[int, int, int, int]
) -> list[tuple[int, int]]:
    """Pair what is left between the known pairs, from the end: different operations with the same types of results."""
    i, i_end, j, j_end = ends
    pairs: list[tuple[int, int]] = []
    for n, m in [*known, (i_end, j_end)]:
        x, y = n - 1, m - 1
        while x >= i and y >= j:
            if _replaces(a[x], b[y]):
                pairs.append((x, y))
                x, y = x - 1, y - 1
            elif x - i > y - j:
                x -= 1
            else:
                y -= 1
        i, j = n + 1, m + 1
    return pairs


def _replaces(a: Op, b: Op) -> bool:
    types = [v.type for v in a.results]
    return bool(types) and types == [v.type for v in b.results] and not _blocks(a) and not _blocks(b)


def _blocks(o: Op) -> list[Block]:
    return o.blocks if o.nested else []
