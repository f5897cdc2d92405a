"""Module to text: a stack walks the regions, and one join at the end makes the text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import accumulate

from ...declare.fastclass import dataclass
from ...declare.gcpause import paused
from ...declare.operation import has_trait
from ...declare.relations import ISOLATED, TOP_LEVEL
from ...diag import TileError
from ...ir import Block, Op, has_ops, walk
from ...ops import Module
from .. import DIALECT, PRODUCER
from .aliases import Aliases, AliasNode, Shown
from .attributes import too_long
from .names import ValueNames, name_values
from .parts import Part, PrintContext, RegionText
from .styles import STYLES, Style

LIMIT = 256 * 1024 * 1024
ONCE_OPS = 700
"""Generating code pays for a single module of at least this many operations."""


@dataclass(slots=True)
class _Ops:
    """The rest of a block. `close` is the indentation of its bracket, None at the top."""

    rest: Iterator[Op]
    indent: str
    prefix: str
    close: str | None


@dataclass(slots=True)
class _Parts:
    """The rest of an operation with regions, and the end of its line."""

    rest: Iterator[Part]
    indent: str
    end: str | AliasNode


class _Printer:
    """Puts lines together. For the location of an operation `out` holds its node until all of them have names."""

    def __init__(self, context: PrintContext, style: Style, limit: int) -> None:
        self.context, self.style, self.limit = context, style, limit
        self.out: list[str | AliasNode] = []
        self.size = 0
        self.starts: dict[Op, int] = {}
        """for each operation, the index in `out` where it starts, if `recording`"""
        self.recording = False

    def run(self, root: Block, prefix: str) -> None:
        stack: list[_Ops | _Parts] = [_Ops(iter(root.ops), "", prefix, None)]
        while stack:
            frame = stack[-1]
            inner = self._ops(frame) if isinstance(frame, _Ops) else self._parts(frame)
            if inner is not None:
                stack.append(inner)
            else:
                stack.pop()

    def _put(self, text: str) -> None:
        self.out.append(text)
        self.size += len(text)
        if self.size > self.limit:
            raise too_long(self.limit)

    def _ops(self, frame: _Ops) -> _Parts | None:
        """Print operations up to one with regions; return its frame."""
        context, texts, indent, out, size = self.context, self.context.texts, frame.indent, self.out, self.size
        lines = self.style.lines[frame.prefix]
        add = context.aliases.add if context.locs else None
        recording, limit = self.recording, self.limit
        context.indent = indent
        for o in frame.rest:
            if recording:
                self.starts[o] = len(out)
            end = "\n" if add is None else add(o.loc)
            made = (lines.get(o.__class__) or self.style.line(o.__class__, frame.prefix))(o, texts, context)
            if made.__class__ is list:
                self.size = size
                self._put(indent)
                return _Parts(iter(made), indent, end)
            line = f"{indent}{made}\n" if add is None else f"{indent}{made}"
            out.append(line)
            if add is not None:
                out.append(end)
            size += len(line)
            if size > limit:
                raise too_long(limit)
        self.size = size
        if frame.close is not None:
            self._put(frame.close)
            self._put("}")
        return None

    def _parts(self, frame: _Parts) -> _Ops | None:
        """Print parts of an operation up to a region; return the frame of the region."""
        for part in frame.rest:
            if isinstance(part, RegionText):
                ops = [] if part.block is None else part.block.ops
                self._put("{\n")
                if part.header:
                    self._put(f"{frame.indent}{part.header}\n")
                return _Ops(iter(ops[:-1] if part.elided else ops), frame.indent + "  ", part.prefix, frame.indent)
            self._put(part)
        self.out.append(frame.end)
        return None


def show(
    root: Op,
    style: str = "disasm",
    locs: bool = False,
    limit: int = LIMIT,
    *,
    quick: bool | None = None,
    fast: bool | None = True,
) -> str:
    """Return the text of a module, or of a single operation, in one of the STYLES.

    A text of more than `limit` characters is refused. `quick` chooses between the fast and the slow printer, whose
    texts are equal. The fast one generates code, which is kept for later modules; with `fast=None` it is chosen only if
    that pays for this module alone.
    """
    if style not in STYLES:
        raise TileError(f"unknown style {style!r}, one of {', '.join(STYLES)}")
    return show_styled(root, STYLES[style], locs, limit, quick=quick, fast=fast)


def show_styled(
    root: Op,
    style: Style,
    locs: bool = False,
    limit: int = LIMIT,
    *,
    names: Callable[[Block, int], ValueNames] | None = None,
    quick: bool | None = None,
    fast: bool | None = True,
) -> str:
    """Like `show`, in any style. `names` names all values inside a block, given the longest text that is allowed."""
    bare = style.bare and isinstance(root, Module)
    block = root.body if bare and isinstance(root, Module) else alone(root)
    prefix = "" if bare or (style.bare and not has_trait(root, TOP_LEVEL)) else DIALECT
    if quick is None:
        quick = fast is not None or has_ops(block, ONCE_OPS)
    made: Shown | None = None
    with paused:
        if quick and style.quick and names is None and block.ops:
            from .quick import quick_show  # one small module does not need it; importing it takes time

            made = quick_show(block, prefix, style, locs, limit)
        if made is None:
            known = name_values(block, hints=style.hints, limit=limit) if names is None else names(block, limit)
            made = _slow_show(block, prefix, style, known, locs, limit)
    parts, aliases = made
    texts = [part if isinstance(part, str) else f" loc({part.name})\n" for part in parts] if locs else parts
    head = f"{PRODUCER}{root.producer}\n" if isinstance(root, Module) and bare and root.producer else ""
    text = "".join([head, *aliases.lines(early=True), *texts, *aliases.lines(early=False)])
    if len(text) > limit:
        raise too_long(limit)
    return text


def alone(o: Op) -> Block:
    """Return a block with one operation, whose arguments are the outer values that it uses, so that they have names."""
    block = Block(ops=[o])
    if not has_trait(o, ISOLATED):
        inside = {v for each in walk(o) for v in [*each.results, *(a for b in each.blocks for a in b.args)]}
        block.args = list(dict.fromkeys(v for each in walk(o) for v in each.operands if v not in inside))
    return block


def _slow_show(block: Block, prefix: str, style: Style, names: ValueNames, locs: bool, limit: int) -> Shown:
    """Print a block whose values have names, in any style."""
    aliases = Aliases(limit)
    context = PrintContext(names, aliases, locs)
    printer = _Printer(context, style, limit)
    printer.run(block, prefix)
    if not block.ops:  # an empty module is an empty line, and only its own location has an alias
        printer.out.append("\n")
        if locs:
            aliases.add(None)
    if aliases.finish():
        # Discardable attributes contain debug information, which has aliases only now.
        printer = _Printer(context, style, limit)
        printer.run(block, prefix)
    return printer.out, aliases


def show_with_offsets(
    module: Module, limit: int = LIMIT, names: ValueNames | None = None
) -> tuple[str, dict[Op, int], ValueNames]:
    """Return the text of a module, the offset of each operation in it, and the names of its values."""
    names = name_values(module.body, limit=limit) if names is None else names
    printer = _Printer(PrintContext(names, Aliases(limit), False), STYLES["disasm"], limit)
    printer.recording = True
    printer.run(module.body, "")
    texts = [part for part in printer.out if isinstance(part, str)]
    ends = [0, *accumulate(map(len, texts))]
    return "".join(texts), {o: ends[index] for o, index in printer.starts.items()}, names
