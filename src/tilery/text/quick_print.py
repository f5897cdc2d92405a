"""Module -> text in one pass over each block: names and lines are made together, then the lines are put in order.

The regions inside a block get their names after the whole block, as in MLIR, but stand in the middle of its text: a
block's lines have empty strings where operations with regions go.
"""

from __future__ import annotations

from ..ir import Block, Op, UnknownOp
from ..record import dataclass
from .lines import Line, make_line
from .locations import Aliases, Node
from .names import START, Namer, State, too_long
from .parts import DIALECT, OPT, Context, Part, Region
from .quick_lines import Bind, QuickLine, Run, SureNames, Unusual, make_bind

STYLES = ("disasm", "opt")
CHUNK = 64
"""How many lines are made before their length is looked at."""

_BINDS: dict[tuple[str, str], dict[type[Op], Bind]] = {(style, p): {} for style in STYLES for p in ("", DIALECT)}
_LINES: dict[tuple[str, str], dict[type[Op], Line]] = {(style, p): {} for style in STYLES for p in ("", DIALECT)}


def printed_name(cls: type[Op], style: str, prefix: str = "") -> str:
    """What a style calls an operation."""
    return prefix + (cls.opdef.name_in(OPT) if style == "opt" else cls.opdef.mnemonic)


@dataclass(slots=True)
class _Printed:
    """A block's lines, and the operations that belong where they are empty."""

    texts: list[str]
    holes: list[Op]
    indent: str
    prefix: str


@dataclass(slots=True)
class _Lines:
    """The rest of a block's text, from the line `at` up to `stop`; `close` is what ends it."""

    printed: _Printed
    ops: list[Op]
    stop: int
    close: str
    at: int = 0
    hole: int = 0


@dataclass(slots=True)
class _Parts:
    """The rest of an operation with regions, from the part `at`."""

    parts: list[Part]
    indent: str
    end: str | Node
    at: int = 0


class QuickPrinter:
    """One run. Raises Unusual where the slow twin must print."""

    def __init__(self, style: str, locs: bool, limit: int) -> None:
        self.style, self.locs, self.limit = style, locs, limit
        self.namer = Namer(hints=True, limit=limit)
        names = SureNames(limit)
        names.heads = self.namer.names.heads
        names.texts = self.namer.texts = {}
        self.aliases = Aliases(limit)
        self.context = Context(names, self.aliases, style, locs)
        self.run = Run(self.namer, self.context)
        self.lines: dict[str, dict[type[Op], QuickLine]] = {"": {}, DIALECT: {}}
        self.blocks: dict[Block, _Printed] = {}
        self.out: list[str | Node] = []
        self.size = 0

    def print(self, root: Block, prefix: str) -> None:
        """Make every line, then put them in order."""
        todo: list[tuple[Op | None, Block, str, str, State]] = [(None, root, "", prefix, START)]
        while todo:
            parent, block, indent, prefix, state = todo.pop()
            if block in self.blocks:
                raise Unusual  # a block that stands in two places
            self.namer.enter(parent, block, state)
            printed = self._block(block, indent, prefix)
            self.blocks[block] = printed
            if printed.holes:
                state, deeper = self.namer.state(), indent + "  "
                todo += [(o, b, deeper, "", state) for o in printed.holes for b in o.blocks]
        self._assemble(root)

    def _block(self, block: Block, indent: str, prefix: str) -> _Printed:
        ops, lines, fresh = block.ops, self.lines[prefix], self.namer.fresh
        for cls in {*map(type, ops)} - lines.keys():
            lines[cls] = self._line(cls, prefix)
        self.run.holes = []
        texts: list[str] = []
        for start in range(0, len(ops), CHUNK):
            made = [lines[o.__class__](o, fresh, indent) for o in ops[start : start + CHUNK]]
            texts += made
            self.size += sum(map(len, made))
            if self.size > self.limit:
                raise too_long(self.limit)
        return _Printed(texts, self.run.holes, indent, prefix)

    def _line(self, cls: type[Op], prefix: str) -> QuickLine:
        binds = _BINDS[self.style, prefix]
        bind = binds.get(cls)
        if issubclass(cls, UnknownOp):
            raise Unusual
        if bind is None:
            bind = binds[cls] = make_bind(cls, printed_name(cls, self.style, prefix))
        return bind(self.run)

    # ------------------------------------------------------------ putting lines in order

    def _assemble(self, root: Block) -> None:
        stack: list[_Lines | _Parts] = [_Lines(self.blocks[root], root.ops, len(root.ops), "")]
        while stack:
            frame = stack[-1]
            inner = self._lines(frame) if isinstance(frame, _Lines) else self._parts(frame)
            if inner is not None:
                stack.append(inner)
            else:
                stack.pop()

    def _lines(self, frame: _Lines) -> _Parts | None:
        """Lines up to an operation with regions; gives its frame."""
        printed = frame.printed
        texts, more = printed.texts, frame.hole < len(printed.holes)
        end = texts.index("", frame.at) if more else frame.stop
        if self.locs:
            add, out = self.aliases.add, self.out
            for o, text in zip(frame.ops[frame.at : end], texts[frame.at : end]):
                out.append(text[:-1])
                out.append(add(o.loc))
        else:
            self.out += texts[frame.at : end] if frame.at or end < len(texts) else texts
        if not more:
            self.out.append(frame.close)
            return None
        o = printed.holes[frame.hole]
        frame.at, frame.hole = end + 1, frame.hole + 1
        return self._opened(o, printed)

    def _opened(self, o: Op, printed: _Printed) -> _Parts:
        lines = _LINES[self.style, printed.prefix]
        line = lines.get(o.__class__)
        if line is None:
            line = lines[o.__class__] = make_line(o.__class__, printed_name(o.__class__, self.style, printed.prefix))
        end = self.aliases.add(o.loc) if self.locs else "\n"
        self.context.indent = printed.indent
        self.out.append(printed.indent)
        parts = line(o, self.context.names, self.context)
        return _Parts([parts] if isinstance(parts, str) else parts, printed.indent, end)

    def _parts(self, frame: _Parts) -> _Lines | None:
        """Parts of an operation up to a region; gives the frame of that."""
        for at in range(frame.at, len(frame.parts)):
            part = frame.parts[at]
            if isinstance(part, Region):
                frame.at = at + 1
                return self._region(part, frame.indent)
            self.out.append(part)
            self.size += len(part)
            if self.size > self.limit:
                raise too_long(self.limit)
        self.out.append(frame.end)
        return None

    def _region(self, part: Region, indent: str) -> _Lines:
        if part.prefix or part.header:
            raise Unusual  # an operation in MLIR's generic form
        self.out.append("{\n")
        block = part.block
        if block is None:
            return _Lines(_NOTHING, [], 0, indent + "}")
        return _Lines(self.blocks[block], block.ops, len(block.ops) - part.elided, indent + "}")


_NOTHING = _Printed([], [], "", "")
Shown = tuple[list[str | Node], Aliases]
"""The parts of a text, nodes where locations go; and what the nodes are called."""


def quick_show(root: Block, prefix: str, style: str, locs: bool, limit: int) -> Shown | None:
    """The parts of a text and its aliases; None where the slow twin must print."""
    printer = QuickPrinter(style, locs, limit)
    try:
        printer.print(root, prefix)
    except (Unusual, KeyError):
        return None
    printer.aliases.finish()
    return printer.out, printer.aliases
