"""Module -> text in one pass over each block: names and lines are made together, then the lines are put in order.

The regions inside a block get their names after the whole block, as in MLIR, but stand in the middle of its text: a
block's lines have empty strings where operations with regions go.
"""

from __future__ import annotations

from collections.abc import Generator

from ...declare.codegen import GiveUp
from ...ir import Block, Op, UnknownOp
from .locations import Aliases, Node
from .names import START, Namer, State, too_long
from .parts import DIALECT, OPT, Context
from .quick_lines import Bind, Hole, QuickLine, Run, SureNames, make_bind

STYLES = ("disasm", "opt")
CHUNK = 64
"""How many lines are made before their length is looked at."""

_BINDS: dict[tuple[str, str], dict[type[Op], Bind]] = {(style, p): {} for style in STYLES for p in ("", DIALECT)}


def printed_name(cls: type[Op], style: str, prefix: str = "") -> str:
    """What a style calls an operation."""
    return prefix + (cls.opdef.name_in(OPT) if style == "opt" else cls.opdef.mnemonic)


Printed = tuple[list[str], list[Hole], str]
"""A block's lines, the operations that belong where they are empty, and what stands before each line."""


class _QuickLines(dict[type[Op], QuickLine]):
    """The functions of one run by class, bound when first needed."""

    def __init__(self, run: Run, style: str, prefix: str) -> None:
        self.run, self.style, self.prefix = run, style, prefix

    def __missing__(self, cls: type[Op]) -> QuickLine:
        if issubclass(cls, UnknownOp):
            raise GiveUp
        binds = _BINDS[self.style, self.prefix]
        bind = binds.get(cls)
        if bind is None:
            bind = binds[cls] = make_bind(cls, printed_name(cls, self.style, self.prefix))
        line = self[cls] = bind(self.run)
        return line


Task = Generator["Task", None, None]


class QuickPrinter:
    """One run. Raises GiveUp where the slow twin must print."""

    def __init__(self, style: str, locs: bool, limit: int) -> None:
        self.style, self.locs, self.limit = style, locs, limit
        self.namer = Namer(hints=True, limit=limit)
        names = SureNames(limit)
        names.heads = self.namer.names.heads
        names.texts = texts = self.namer.texts = {}
        self.aliases = Aliases(limit)
        self.context = Context(names, self.aliases, style, locs, texts)
        self.run = Run(self.namer, self.context)
        self.lines = {p: _QuickLines(self.run, style, p) for p in ("", DIALECT)}
        self.blocks: dict[Block, Printed] = {}
        self.out: list[str | Node] = []
        self.size = 0

    def print(self, root: Block, prefix: str) -> None:
        """Make every line, then put them in order."""
        todo: list[tuple[Op | None, Block, str, str, State]] = [(None, root, "", prefix, START)]
        while todo:
            parent, block, indent, prefix, state = todo.pop()
            if block in self.blocks:
                raise GiveUp  # a block that stands in two places
            self.namer.enter(parent, block, state)
            holes: list[Hole] = []
            self.run.holes = holes
            self.blocks[block] = self._lines(block.ops, indent, prefix), holes, indent
            if holes:
                state, deeper = self.namer.state(), indent + "  "
                todo += [(o, b, deeper, "", state) for o, _ in holes for b in o.blocks]
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

    def _text(self, block: Block, stop: int) -> Task:
        """Put the lines of a block up to `stop`; yields the tasks of the regions inside."""
        texts, holes, indent = self.blocks[block]
        at, put, close = 0, self.out.append, indent + "}"
        context, names = self.context, self.context.texts
        for o, line in holes:
            end = texts.index("", at)
            self._put(block.ops, texts, at, end)
            at = end + 1
            node = self.aliases.add(o.loc) if self.locs else "\n"
            put(indent)
            context.indent = indent
            for part in line(o, names, context):
                if isinstance(part, str):
                    put(part)
                    self.size += len(part)
                    continue
                put("{\n")
                if part.prefix or part.header:
                    raise GiveUp  # an operation in MLIR's generic form
                if (inner := part.block) is not None:
                    end = len(inner.ops) - part.elided
                    lines, nested, _ = self.blocks[inner]
                    if nested:
                        yield self._text(inner, end)
                    else:
                        self._put(inner.ops, lines, 0, end)
                put(close)
            put(node)
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


Shown = tuple[list[str | Node], Aliases]
"""The parts of a text, nodes where locations go; and what the nodes are called."""


def quick_show(root: Block, prefix: str, style: str, locs: bool, limit: int) -> Shown | None:
    """The parts of a text and its aliases; None where the slow twin must print."""
    printer = QuickPrinter(style, locs, limit)
    try:
        printer.print(root, prefix)
    except (GiveUp, KeyError):
        return None
    printer.aliases.finish()
    return printer.out, printer.aliases
