"""A whole text: all its errors and as much of its module as could be read."""

from __future__ import annotations

import copy
from collections.abc import Generator, Iterator
from functools import cached_property

from ...declare.fastclass import dataclass
from ...declare.gcpause import paused
from ...diag import ErrorKind, Note, TileError
from ...ir import Block, Op, UnknownOp
from ...ops import Module
from .. import DIALECT
from ..parse.locations import as_loc, is_loc
from ..parse.parser import check_unicode, wrap
from ..parse.state import Extensions, ParseOptions, RegionState
from .chunks import Chunk, split
from .recover import MAX_ERRORS, OPEN_REGION, ChunkContext, ParsedChunk, chunk_steps
from .tokens import Tokens


@dataclass(slots=True, eq=False)
class PlacedChunk:
    """A chunk at its place in the text."""

    start: int
    parsed: ParsedChunk

    @property
    def end(self) -> int:
        return self.start + len(self.parsed.text)


class Reading:
    """The content of a text. `errors` are in the order of the text; `module` has everything that could be read."""

    def __init__(self, text: str, parts: list[PlacedChunk], options: ParseOptions) -> None:
        self.text, self.parts, self.options = text, parts, options
        self.errors = sorted(self._errors(), key=lambda error: error.start)[:MAX_ERRORS]

    @cached_property
    def tokens(self) -> Tokens:
        """The tokens of the whole text."""
        return Tokens(self.text)

    @cached_property
    def module(self) -> Module:
        """The module of the text, without the operations that could not be read."""
        return _Assembly(self.parts, self.text).module()

    def part_at(self, offset: int) -> PlacedChunk:
        """Return the part that an offset is in."""
        return next((part for part in self.parts if offset < part.end), self.parts[-1])

    def span(self, o: Op) -> tuple[int, int] | None:
        """Return the place of an operation's name, None if it is not in the text."""
        for part in self.parts:
            found = part.parsed.extents.get(o)
            if found is not None:
                start, end = part.parsed.tokens.span(found[0])
                return part.start + start, part.start + end
        return None

    def place(self, error: TileError, part: PlacedChunk) -> TileError:
        """Return an error of a chunk with its place in the whole text."""
        moved = copy.copy(error)
        moved.source, moved.file = self.text, self.options.file
        moved.start, moved.end = error.start + part.start, error.end + part.start
        moved.notes = [
            Note(str(note), note.start + part.start, note.kind)
            if isinstance(note, Note) and note.start is not None else note for note in error.notes
        ]  # fmt: skip
        return moved

    def _errors(self) -> Iterator[TileError]:
        aliases = self.parts[-1].parsed.context.aliases
        for part in self.parts:
            parsed = part.parsed
            yield from (self.place(error, part) for error in parsed.errors)
            for o, name, index in parsed.later:
                attr = aliases.get(name)
                loc = as_loc(attr) if attr is not None else None
                if o is not None:  # it may have a location from an earlier reading, where the alias was another one
                    o.loc = loc
                if attr is not None and is_loc(attr):
                    continue
                message = "operation location alias was never defined" if attr is None else "expected location"
                start, end = parsed.tokens.span(index)
                yield self.place(TileError(message, kind=ErrorKind.SYNTAX, source="", start=start, end=end), part)
        for part, scope in _left_open(self.parts):
            start, end = part.parsed.tokens.span(scope.opened)
            message = "expected '}' to end this region"
            error = TileError(message, kind=ErrorKind.SYNTAX, rule=OPEN_REGION, source="", start=start, end=end)
            yield self.place(error, part)


def read(
    text: str,
    *,
    previous: Reading | None = None,
    file: str = "",
    testing: bool = False,
    extensions: Extensions | None = None,
) -> Reading:
    """Read a text with all its errors. Parts that are the same in `previous` are not read again.

    >>> reading = read("entry @k() {\\n  %0 = iotta : tile<8xi32>\\n  retrun\\n}\\n")
    >>> [(error.line, error.message.partition(" (")[0]) for error in reading.errors]
    [(2, "custom op 'iotta' is unknown"), (3, "custom op 'retrun' is unknown")]
    """
    with paused:
        steps = read_steps(text, previous=previous, file=file, testing=testing, extensions=extensions)
        while True:
            try:
                next(steps)
            except StopIteration as done:
                reading: Reading = done.value
                return reading


Steps = Generator[None, None, Reading]
"""A reading in steps of some milliseconds; it can be given up between them."""


def read_steps(
    text: str,
    *,
    previous: Reading | None = None,
    file: str = "",
    testing: bool = False,
    extensions: Extensions | None = None,
) -> Steps:
    """Like `read`, in steps."""
    options = ParseOptions(file, False, testing, extensions or Extensions())
    try:
        check_unicode(text, file)
    except TileError as error:
        empty = yield from chunk_steps("", "items", ChunkContext(), options)
        reading = Reading("", [PlacedChunk(0, empty)], options)
        reading.errors = [error]
        return reading
    if options.extensions.prepare is not None:
        text = options.extensions.prepare(text)
    return Reading(text, (yield from _part_steps(text, previous, options)), options)


def _part_steps(text: str, previous: Reading | None, options: ParseOptions) -> Generator[None, None, list[PlacedChunk]]:
    known = _Known(previous)
    context, parts = ChunkContext(), []
    chunks = [Chunk(0, len(text), "items")] if _is_generic(text) else split(text)
    for number, chunk in enumerate(chunks):
        content = text[chunk.start : chunk.end]
        ends = _may_end(text, chunks[number + 1 : number + 2])
        # The head of a module is read each time: the generator that parses it runs once.
        parsed = known.take(content, chunk.kind, context, ends) if chunk.kind != "module" else None
        if parsed is None:
            parsed = yield from chunk_steps(content, chunk.kind, context, options, ends)
        context = parsed.context
        parts.append(PlacedChunk(chunk.start, parsed))
    return parts


class _Known:
    """The chunks of an earlier reading."""

    def __init__(self, reading: Reading | None) -> None:
        self.chunks: dict[tuple[str, str], list[ParsedChunk]] = {}
        for part in reading.parts if reading is not None else ():
            self.chunks.setdefault((part.parsed.kind, part.parsed.text), []).append(part.parsed)

    def take(self, text: str, kind: str, context: ChunkContext, ends: bool) -> ParsedChunk | None:
        """Return a chunk that would be read in the same way again, once."""
        found = self.chunks.get((kind, text), [])
        for index, parsed in enumerate(found):
            if (parsed.wrappers, parsed.ends) == (context.modules, ends) and _same_aliases(parsed.given, context):
                return found.pop(index)
        return None


def _may_end(text: str, following: list[Chunk]) -> bool:
    """Return whether a module may end before the next chunk: a function or a global belongs to it."""
    return not following or following[0].kind == "module" or text[following[0].start :][:200].lstrip()[:1] in ("#", "!")


def _same_aliases(a: ChunkContext, b: ChunkContext) -> bool:
    if a.aliases is b.aliases and a.type_aliases is b.type_aliases:
        return True
    return a.aliases == b.aliases and a.type_aliases == b.type_aliases


def _is_generic(text: str) -> bool:
    """Return whether a module is in MLIR's generic form: what follows its end belongs to its head."""
    return '"builtin.module"' in text or f'"{DIALECT}module"' in text


def _left_open(parts: list[PlacedChunk]) -> list[tuple[PlacedChunk, RegionState]]:
    """Return the modules that never end."""
    opened: list[tuple[PlacedChunk, RegionState]] = []
    for part in parts:
        for _ in part.parsed.closed:
            if opened:
                opened.pop()
        if part.parsed.opened is not None:
            opened.append((part, part.parsed.opened))
    return opened


class _Assembly:
    """Puts the operations of all parts into the modules around them."""

    def __init__(self, parts: list[PlacedChunk], text: str) -> None:
        self.parts, self.text = parts, text
        self.root = Block()
        self.open: list[tuple[RegionState, Block]] = []

    def module(self) -> Module:
        for part in self.parts:
            self._add(part.parsed)
        while self.open:
            self._close(None)
        return wrap(self.root, self.text)[0]

    def _add(self, parsed: ParsedChunk) -> None:
        closed = list(parsed.closed)
        for depth in range(len(parsed.blocks) - 1, -1, -1):
            self._here(depth).ops += parsed.blocks[depth].ops
            if depth and closed:
                self._close(closed.pop(0))
        if parsed.opened is not None:
            self.open.append((parsed.opened, Block()))

    def _here(self, depth: int) -> Block:
        return self.open[depth - 1][1] if 0 < depth <= len(self.open) else self.root

    def _close(self, end: Op | None) -> None:
        scope, block = self.open.pop()
        outer = self.open[-1][1] if self.open else self.root
        made = _finished(scope, block)
        if end is not None:
            made.loc = end.loc
        outer.ops.append(made)


def _finished(scope: RegionState, block: Block) -> Op:
    """Return the module whose head was read, with its operations."""
    assert scope.body is not None
    try:
        scope.body.send(block)
    except StopIteration as done:
        made: Op = done.value
        return made
    except TileError:
        pass
    return UnknownOp("builtin.module", regions=(block,))
