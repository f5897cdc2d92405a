"""The fast path of the printer: one pass over each block names results and makes lines, which are then put in order.

As in MLIR, the regions inside a block are named after the whole block, but their text is in the middle of its text. So
the list of a block's lines has an empty string for each operation with regions.
"""

from __future__ import annotations

from collections.abc import Generator

from ...declare.codegen import GiveUp
from ...ir import Block, Op, UnknownOp
from .. import DIALECT
from .aliases import Aliases, AliasNode, Shown
from .attributes import too_long
from .names import START, Counters, Namer
from .parts import PrintContext
from .quick_lines import Nested, QuickContext, QuickLine, SureNames, make_bind
from .styles import Style

CHUNK = 64
"""The number of lines that are made before their length is checked."""

Printed = tuple[list[str], list[Nested], str]
"""A block's lines, the operations with regions among them, and the indentation."""


class _QuickLines(dict[type[Op], QuickLine]):
    """The functions of one run by class, bound on first use."""

    def __init__(self, shared: QuickContext, style: Style, prefix: str) -> None:
        self.shared, self.style, self.prefix = shared, style, prefix

    def __missing__(self, cls: type[Op]) -> QuickLine:
        if issubclass(cls, UnknownOp):
            raise GiveUp
        binds = self.style.binds[self.prefix]
        bind = binds.get(cls)
        if bind is None:
            bind = binds[cls] = make_bind(cls, self.style.name_of(cls, self.prefix))
        line = self[cls] = bind(self.shared)
        return line


_Walk = Generator["_Walk", None, None]
"""Prints a block; yields the walks over the regions inside."""


class QuickPrinter:
    """One run. Raises GiveUp if the slow printer must print."""

    def __init__(self, style: Style, locs: bool, limit: int) -> None:
        self.locs, self.limit = locs, limit
        self.namer = Namer(hints=True, limit=limit)
        names = SureNames(limit)
        names.heads = self.namer.names.heads
        names.texts = texts = self.namer.texts = {}
        self.aliases = Aliases(limit)
        self.context = PrintContext(names, self.aliases, locs, texts)
        self.shared = QuickContext(self.namer, self.context)
        self.lines = {p: _QuickLines(self.shared, style, p) for p in ("", DIALECT)}
        self.blocks: dict[Block, Printed] = {}
        self.out: list[str | AliasNode] = []
        self.size = 0

    def print(self, root: Block, prefix: str) -> None:
        """Make all lines, then put them in order."""
        todo: list[tuple[Op | None, Block, str, str, Counters]] = [(None, root, "", prefix, START)]
        while todo:
            parent, block, indent, prefix, counters = todo.pop()
            if block in self.blocks:
                raise GiveUp  # a block that two operations share
            self.namer.enter(parent, block, counters)
            nested: list[Nested] = []
            self.shared.nested = nested
            self.blocks[block] = self._lines(block.ops, indent, prefix), nested, indent
            if nested:
                counters, deeper = self.namer.counters(), indent + "  "
                todo += [(o, b, deeper, "", counters) for o, _ in nested for b in o.blocks]
        self._assemble(root)

    def _lines(self, ops: list[Op], indent: str, prefix: str) -> list[str]:
        lines, fresh = self.lines[prefix], self.namer.fresh
        texts: list[str] = []
        for at in range(0, len(ops), CHUNK):
            made = [lines[o.__class__](o, fresh, indent) for o in ops[at : at + CHUNK]]
            texts += made
            self.size += sum(map(len, made))
            if self.size > self.limit:
                raise too_long(self.limit)
        return texts

    # ------------------------------------------------------------ putting lines in order

    def _assemble(self, root: Block) -> None:
        stack = [self._text(root, len(root.ops))]
        while stack:
            inner = next(stack[-1], None)
            if inner is not None:
                stack.append(inner)
            else:
                stack.pop()

    def _text(self, block: Block, stop: int) -> _Walk:
        """Print the lines of a block up to `stop`."""
        texts, nested, indent = self.blocks[block]
        at, put, close = 0, self.out.append, indent + "}"
        context, names = self.context, self.context.texts
        for o, line in nested:
            end = texts.index("", at)
            self._put(block.ops, texts, at, end)
            at = end + 1
            node = self.aliases.add(o.loc) if self.locs else "\n"
            put(indent)
            context.indent, size = indent, 0
            for part in line(o, names, context):
                if isinstance(part, str):
                    put(part)
                    size += len(part)
                    continue
                put("{\n")
                if part.prefix or part.header:
                    raise GiveUp  # an operation in MLIR's generic form
                if (inner := part.block) is not None:
                    end = len(inner.ops) - part.elided
                    lines, deeper, _ = self.blocks[inner]
                    if deeper:
                        yield self._text(inner, end)
                    else:
                        self._put(inner.ops, lines, 0, end)
                put(close)
            put(node)
            self.size += size
            if self.size > self.limit:
                raise too_long(self.limit)
        self._put(block.ops, texts, at, stop)

    def _put(self, ops: list[Op], texts: list[str], at: int, end: int) -> None:
        if at == end:
            return
        if self.locs:
            add = self.aliases.add
            self.out += [part for o, text in zip(ops[at:end], texts[at:end]) for part in (text[:-1], add(o.loc))]
        else:
            self.out += texts[at:end]


def quick_show(root: Block, prefix: str, style: Style, locs: bool, limit: int) -> Shown | None:
    """Return the parts of a text and its aliases, or None if the slow printer must print it."""
    printer = QuickPrinter(style, locs, limit)
    try:
        printer.print(root, prefix)
    except (GiveUp, KeyError):
        return None
    printer.aliases.finish()
    return printer.out, printer.aliases
