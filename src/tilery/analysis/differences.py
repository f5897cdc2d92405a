"""The lines in which two modules differ: operations are aligned by structure; values are named as in the first one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from ..declare.fastclass import dataclass
from ..diag import LineIndex
from ..ir import Block, Op, walk
from ..ops import Module
from ..text.print.names import ValueNames, name_values
from ..text.print.printer import LIMIT, show_with_offsets
from .matching import Matching, match

CONTEXT = 3
"""How many equal lines to show around a change."""


@dataclass(slots=True)
class Row:
    """A line of the first module (`-`), of the second (`+`), or of both (a space); the numbers count from one."""

    sign: str
    text: str
    a: int
    b: int


class PrintedLines:
    """A module as text, and which lines belong to which operation."""

    def __init__(self, module: Module, names: ValueNames, locs: bool) -> None:
        text, starts, _ = show_with_offsets(module, names=names)
        self.text = text.splitlines()
        index = LineIndex(text)
        self.start = {o: index.place(offset)[0] - 1 for o, offset in starts.items()}
        self.end = self._ends(module)
        if locs:
            for o, line in self.start.items():
                self.text[line] += _location(o)

    def _ends(self, module: Module) -> dict[Op, int]:
        """Return the line after each operation: that of the next one in its block, or of the end of the block."""
        outdent = _next_outdents(self.text)
        ends: dict[Op, int] = {}
        for block in (module.body, *(b for o in walk(module.body) for b in o.blocks)):
            ops = [o for o in block.ops if o in self.start]
            ends |= {o: self.start[after] for o, after in pairwise(ops)}
            if ops:
                ends[ops[-1]] = outdent[self.start[ops[-1]]]
        return ends

    def own_lines(self, o: Op) -> list[list[int]]:
        """Return the lines of an operation before, between and after its regions."""
        at, end, parts = self.start[o], self.end[o], []
        for block in o.blocks:
            inside = [inner for inner in block.ops if inner in self.start]
            if inside:
                stop = self.start[inside[0]]
            else:  # an empty region ends where it starts
                stop = next((n + 1 for n in range(at, end) if self.text[n].endswith("{")), end)
            parts.append(list(range(at, stop)))
            at = self.end[inside[-1]] if inside else stop
        return [*parts, list(range(at, end))]


def _next_outdents(lines: list[str]) -> list[int]:
    """For each line return the next one that is indented less."""
    found, open_lines = [len(lines)] * len(lines), list[tuple[int, int]]()
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip(" "))
        while open_lines and open_lines[-1][0] > indent:
            found[open_lines.pop()[1]] = number
        open_lines.append((indent, number))
    return found


def _location(o: Op) -> str:
    from ..source.lines import innermost

    if o.loc is None:
        return ""
    place = innermost(o.loc)
    return f"  // {o.loc if place is None else place}"


def compare(
    a: Module, b: Module, locs: bool = False, *, found: Matching | None = None, names: ValueNames | None = None
) -> list[Row]:
    """Return the lines of both modules in one list. `names` are those of the first module's values."""
    found = match(a, b) if found is None else found
    names = name_values(a.body, limit=LIMIT) if names is None else names
    old, new = PrintedLines(a, names, locs), PrintedLines(b, names_through(found, names, b), locs)
    rows: list[Row] = []
    partner = {y: x for x, y in found.ops.items()}
    # The remaining work, last first: two blocks, two lists of lines, or the rest of one side.
    todo: list[tuple[Block, Block] | tuple[list[int], list[int]]] = [(a.body, b.body)]
    while todo:
        first, second = todo.pop()
        if isinstance(first, list):
            assert isinstance(second, list)
            rows += _compare_lines(old, new, first, second)
            continue
        assert isinstance(second, Block)
        steps: list[tuple[Block, Block] | tuple[list[int], list[int]]] = []
        for x, y in _in_order(first, second, found, partner, old, new):
            if x is None or y is None or len(x.blocks) != len(y.blocks):
                steps.append((_all(old, x), _all(new, y)))
                continue
            mine, yours = old.own_lines(x), new.own_lines(y)
            for n, blocks in enumerate(zip(x.blocks, y.blocks)):
                steps += [(mine[n], yours[n]), blocks]
            steps.append((mine[-1], yours[-1]))
        todo += reversed(steps)
    return rows


def _all(side: PrintedLines, o: Op | None) -> list[int]:
    return [] if o is None else list(range(side.start[o], side.end[o]))


def _in_order(
    a: Block, b: Block, found: Matching, partner: dict[Op, Op], old: PrintedLines, new: PrintedLines
) -> Iterator[tuple[Op | None, Op | None]]:
    """Yield the operations of two blocks that are printed: pairs, and those of one side alone."""
    rest = iter([y for y in b.ops if y in new.start])
    for x in a.ops:
        if x not in old.start:
            continue
        y = found.ops.get(x)
        if y is None or y not in new.start:
            yield x, None
            continue
        for other in rest:
            if other is y:
                break
            yield None, other
        yield x, y
    for other in rest:
        yield None, other


def _compare_lines(old: PrintedLines, new: PrintedLines, a: list[int], b: list[int]) -> list[Row]:
    texts_a, texts_b = [old.text[n] for n in a], [new.text[n] for n in b]
    if texts_a == texts_b:
        return [Row(" ", text, n + 1, m + 1) for text, n, m in zip(texts_a, a, b)]
    return [Row("-", old.text[n], n + 1, 0) for n in a] + [Row("+", new.text[m], 0, m + 1) for m in b]


def names_through(found: Matching, names: ValueNames, b: Module) -> ValueNames:
    """Name the values of the second module: as in the first where they correspond, else by names it does not use."""
    own = name_values(b.body, limit=LIMIT)
    taken = set(names.values()) | {text.partition("#")[0] for text in names.values()}
    result = ValueNames(LIMIT)
    result.update({new: names[old] for old, new in found.values.items() if old in names})
    result.heads.update({new: names.heads[old] for old, new in found.ops.items() if old in names.heads})
    fresh: dict[str, str] = {}
    for value, text in own.items():
        if value in result:
            continue
        base, mark, number = text.partition("#")
        if base not in fresh:
            free = base
            while free in taken:
                free += "'"
            fresh[base] = free
        result[value] = fresh[base] + mark + number
    for o, head in own.heads.items():
        if o not in result.heads:
            base, _, count = head.partition(":")
            result.heads[o] = f"{fresh.get(base, base)}:{count}"
    return result


def hunks(rows: list[Row], context: int = CONTEXT) -> Iterator[list[Row]]:
    """Yield runs of rows around changes, with the equal rows before and after them."""
    changed = [n for n, row in enumerate(rows) if row.sign != " "]
    at = 0
    while at < len(changed):
        last = at
        while last + 1 < len(changed) and changed[last + 1] - changed[last] <= 2 * context + 1:
            last += 1
        yield rows[max(0, changed[at] - context) : changed[last] + context + 1]
        at = last + 1


def unified(rows: list[Row], name_a: str, name_b: str) -> Iterator[str]:
    """Yield the lines of a unified diff."""
    if all(row.sign == " " for row in rows):
        return
    yield f"--- {name_a}"
    yield f"+++ {name_b}"
    for hunk in hunks(rows):
        ranges = [f"{lines[0]},{len(lines)}" if lines else "0,0" for lines in _numbers(hunk)]
        yield f"@@ -{ranges[0]} +{ranges[1]} @@"
        yield from (row.sign + row.text for row in hunk)


def _numbers(hunk: list[Row]) -> tuple[list[int], list[int]]:
    return [row.a for row in hunk if row.a], [row.b for row in hunk if row.b]


def edits(rows: list[Row]) -> list[dict[str, object]]:
    """Return the changes as plain data: removed lines and the lines that take their place."""
    found: list[dict[str, object]] = []
    at = 0
    while at < len(rows):
        if rows[at].sign == " ":
            at += 1
            continue
        removed: list[Row] = []
        added: list[Row] = []
        while at < len(rows) and rows[at].sign == "-":
            removed.append(rows[at])
            at += 1
        while at < len(rows) and rows[at].sign == "+":
            added.append(rows[at])
            at += 1
        kind = "change" if removed and added else "delete" if removed else "insert"
        sides = {"a": removed, "b": added}
        lines = {
            side: [{"line": row.a or row.b, "text": row.text.strip()} for row in found_rows]
            for side, found_rows in sides.items()
        }
        found.append({"kind": kind, **lines})
    return found


class Diff:
    """The difference of two modules, as `tilery diff` prints it; false if there is none."""

    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows

    def __bool__(self) -> bool:
        return any(row.sign != " " for row in self.rows)

    def __str__(self) -> str:
        return "\n".join(unified(self.rows, "a", "b"))

    def __repr__(self) -> str:
        signs = [row.sign for row in self.rows]
        return f"<diff: {signs.count('-')} lines removed, {signs.count('+')} added>"

    def _repr_html_(self) -> str:
        from .. import markup

        colors = {"-": "#d1242f22", "+": "#1a7f3722", "@": "#8882"}
        lines = list(unified(self.rows, "a", "b"))
        shown = [
            f'<div style="background:{colors.get(line[:1], "none")}">{markup.text(line)}</div>'
            for line in lines[: markup.MAX_ROWS]
        ]
        more = markup.line(f"{len(lines) - markup.MAX_ROWS} more lines") if len(lines) > markup.MAX_ROWS else ""
        return f'<pre style="line-height:1.3">{"".join(shown) or "equal"}</pre>{more}'
