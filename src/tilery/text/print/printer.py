"""Module -> text: a stack walks the regions, and one join at the end makes the text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import accumulate

from ...declare.fastclass import dataclass
from ...declare.gcpause import paused
from ...diag import TileError
from ...ir import Block, Op, UnknownOp
from ...ops import Module
from .generic import generic_line
from .lines import Line, make_line
from .locations import Aliases, Node
from .names import Names, name_values, too_long
from .parts import DIALECT, OPT, PRODUCER, Context, Part, Region
from .quick import Shown, quick_show

STYLES = ("disasm", "opt", "generic")
LIMIT = 256 * 1024 * 1024


@dataclass(slots=True)
class _Ops:
    """The rest of a block. `close` is the indentation of its bracket, None at the top."""

    rest: Iterator[Op]
    indent: str
    prefix: str
    close: str | None


@dataclass(slots=True)
class _Parts:
    """The rest of an op with regions, and what ends its line."""

    rest: Iterator[Part]
    indent: str
    end: str | Node


_LINES: dict[tuple[str, str], dict[type[Op], Line]] = {(style, p): {} for style in STYLES for p in ("", DIALECT)}
"""The functions made so far, by style and by what goes before an op's name."""

MORE_STYLES: dict[str, Callable[[type[Op], str], Line]] = {}
"""Styles that are not here: what makes an op's function, from the op and its name."""


def _line(cls: type[Op], style: str, prefix: str) -> Line:
    if issubclass(cls, UnknownOp) or style == "generic":
        made: Line = generic_line
    elif style in MORE_STYLES:
        made = MORE_STYLES[style](cls, prefix + cls.opdef.mnemonic)
    else:
        opdef = cls.opdef
        made = make_line(cls, prefix + (opdef.name_in(OPT) if style == "opt" else opdef.mnemonic))
    _LINES[style, prefix][cls] = made
    return made


class _Printer:
    """Puts lines together. Where an op's location belongs, `out` holds its node until all of them have names."""

    def __init__(self, context: Context, limit: int) -> None:
        self.context, self.limit = context, limit
        self.out: list[str | Node] = []
        self.size = 0
        self.starts: dict[Op, int] = {}
        """The part of `out` that each op starts with, while somebody wants to know."""
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
        """Print ops up to one with regions; gives its frame."""
        put, context, texts, indent = self._put, self.context, self.context.texts, frame.indent
        lines, locs = _LINES[context.style, frame.prefix], context.locs
        context.indent = indent
        for o in frame.rest:
            if self.recording:
                self.starts[o] = len(self.out)
            end = context.aliases.add(o.loc) if locs else None
            made = (lines.get(o.__class__) or _line(o.__class__, context.style, frame.prefix))(o, texts, context)
            if made.__class__ is list:
                put(indent)
                return _Parts(iter(made), indent, end or "\n")
            if end is None:
                put(f"{indent}{made}\n")
            else:
                put(f"{indent}{made}")
                self.out.append(end)
        if frame.close is not None:
            put(frame.close)
            put("}")
        return None

    def _parts(self, frame: _Parts) -> _Ops | None:
        """Print parts of an op up to a region; gives the frame of that."""
        for part in frame.rest:
            if isinstance(part, Region):
                ops = [] if part.block is None else part.block.ops
                self._put("{\n")
                if part.header:
                    self._put(f"{frame.indent}{part.header}\n")
                return _Ops(iter(ops[:-1] if part.elided else ops), frame.indent + "  ", part.prefix, frame.indent)
            self._put(part)
        self.out.append(frame.end)
        return None


def show(root: Op, style: str = "disasm", locs: bool = False, limit: int = LIMIT, *, quick: bool = True) -> str:
    """The text of a module, or of a single operation.

    `disasm` is what tileirdisasm 13.4 prints, `opt` what cuda-tile-opt 13.3 prints, `generic` MLIR's generic form.
    A text of more than `limit` characters is refused. `quick=False` takes the slow path even where there is a fast one.
    """
    if style not in STYLES:
        raise TileError(f"unknown style {style!r}, one of {', '.join(STYLES)}")
    bare = style == "disasm" and isinstance(root, Module)
    block = root.body if bare and isinstance(root, Module) else Block(ops=[root])
    prefix = "" if bare else DIALECT
    with paused:
        made = quick_show(block, prefix, style, locs, limit) if quick and block.ops and style != "generic" else None
        parts, aliases = made or _slow_show(block, prefix, style, locs, limit)
    texts = [part if isinstance(part, str) else f" loc({part.name})\n" for part in parts] if locs else parts
    head = f"{PRODUCER}{root.producer}\n" if isinstance(root, Module) and bare and root.producer else ""
    text = "".join([head, *aliases.lines(early=True), *texts, *aliases.lines(early=False)])
    if len(text) > limit:
        raise too_long(limit)
    return text


def _slow_show(block: Block, prefix: str, style: str, locs: bool, limit: int) -> Shown:
    """The text in two passes, names first: for every style, and for what the quick twin leaves alone."""
    names = name_values(block, hints=style != "generic", limit=limit)
    aliases = Aliases(limit)
    context = Context(names, aliases, style, locs)
    printer = _Printer(context, limit)
    printer.run(block, prefix)
    if not block.ops:  # an empty module is an empty line, and its own location is all there is
        printer.out.append("\n")
        if locs:
            aliases.add(None)
    if aliases.finish():
        # Debug information among discardable attributes: only now has it names to be printed with.
        printer = _Printer(context, limit)
        printer.run(block, prefix)
    return printer.out, aliases


def show_with_offsets(module: Module, limit: int = LIMIT) -> tuple[str, dict[Op, int], Names]:
    """The text of a module, where each operation starts in it, and the names of its values."""
    names = name_values(module.body, limit=limit)
    printer = _Printer(Context(names, Aliases(limit), "disasm", False), limit)
    printer.recording = True
    printer.run(module.body, "")
    texts = [part for part in printer.out if isinstance(part, str)]
    ends = [0, *accumulate(map(len, texts))]
    return "".join(texts), {o: ends[index] for o, index in printer.starts.items()}, names
