"""A text that is edited: its reading, what is wrong with it, and positions as editors count them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from ..text.lossless.reading import PlacedChunk, Reading, read
from ..text.lossless.tree import Node, TokenKind, kinds, node_at, nodes
from ..text.parse.state import Extensions
from ..verifier.partial import Known
from .protocol import lsp

if TYPE_CHECKING:
    from ..lint.driver import Known as Linted

_LINE_END = re.compile(r"\r\n|\n|\r")


_WIDTHS: dict[str, Callable[[str], int]] = {
    "utf-8": lambda text: len(text.encode("utf-8", "surrogatepass")),
    "utf-16": lambda text: len(text.encode("utf-16-le", "surrogatepass")) // 2,
    "utf-32": len,
}


class UnitLines:
    """Converts offsets to lines and columns, and back. Columns count units of the encoding agreed with the editor."""

    def __init__(self, text: str, encoding: str = "utf-16") -> None:
        self.text, self.encoding = text, encoding
        self.width = _WIDTHS[encoding]
        if "\r" in text:
            self.starts = [0, *(found.end() for found in _LINE_END.finditer(text))]
        else:
            self.starts = [0, *accumulate([len(line) + 1 for line in text.split("\n")[:-1]])]
        self.plain = text.isascii() or encoding == "utf-32"

    def rows(self) -> list[str]:
        """Return the lines without their ends."""
        return [self.text[a:b].rstrip("\r\n") for a, b in pairwise([*self.starts, len(self.text)])]

    def position(self, offset: int) -> lsp.Position:
        offset = max(0, min(offset, len(self.text)))
        row = bisect_right(self.starts, offset) - 1
        start = self.starts[row]
        return lsp.Position(row, offset - start if self.plain else self.width(self.text[start:offset]))

    def offset(self, position: lsp.Position) -> int:
        """Return the offset of a position; the end of the line if it is shorter."""
        if position.line >= len(self.starts):
            return len(self.text)
        start = self.starts[position.line]
        end = self.starts[position.line + 1] if position.line + 1 < len(self.starts) else len(self.text)
        line = self.text[start:end].rstrip("\r\n")
        if self.plain:
            return start + min(position.character, len(line))
        units = 0
        for at, letter in enumerate(line, start):
            if units >= position.character:
                return at
            units += self.width(letter)
        return start + len(line)

    def range(self, start: int, end: int) -> lsp.Range:
        return lsp.Range(self.position(start), self.position(end))

    def changed(self, change: lsp.TextDocumentContentChangeEvent) -> UnitLines:
        """Return the text after a change."""
        if not isinstance(change, lsp.TextDocumentContentChangePartial):
            return UnitLines(change.text, self.encoding)
        start, end = self.offset(change.range.start), self.offset(change.range.end)
        return UnitLines(self.text[:start] + change.text + self.text[end:], self.encoding)


class TextPlace:
    """A token under the cursor."""

    def __init__(self, part: PlacedChunk, index: int) -> None:
        self.part, self.index = part, index
        self.parsed = part.parsed
        self.token = self.parsed.tokens.spelled[index]
        start, end = self.parsed.tokens.span(index)
        self.start, self.end = part.start + start, part.start + end

    @property
    def kind(self) -> TokenKind:
        return token_kinds(self.part)[self.index]

    @property
    def node(self) -> Node | None:
        """The operation that the token belongs to."""
        return node_at(part_nodes(self.part), self.index)


class TextDocument:
    """One version of a text. `previous` is the version before, from which unchanged functions are taken."""

    def __init__(
        self,
        uri: str,
        text: str | UnitLines,
        version: int = 0,
        previous: TextDocument | None = None,
        extensions: Extensions | None = None,
    ) -> None:
        self.lines = text if isinstance(text, UnitLines) else UnitLines(text)
        self.uri, self.text, self.version = uri, self.lines.text, version
        self.known: Known = previous.known if previous is not None else Known()
        self.linted: Linted = previous.linted if previous is not None else WeakKeyDictionary()
        self._previous = previous.latest if previous is not None else None
        self.extensions = extensions
        """The syntax that is read besides the real one."""
        self._reading: Reading | None = None

    @property
    def latest(self) -> Reading | None:
        """The reading of this version, or that of an earlier one."""
        return self._reading or self._previous

    @property
    def reading(self) -> Reading:
        if self._reading is None:
            self.set_reading(read(self.text, previous=self._previous, file=self.uri, extensions=self.extensions))
        assert self._reading is not None
        return self._reading

    def set_reading(self, reading: Reading) -> None:
        self._reading, self._previous = reading, None

    def place(self, position: lsp.Position) -> TextPlace | None:
        """Return the token at a position, or the one that ends there."""
        offset = self.lines.offset(position)
        part = self.reading.part_at(offset)
        for each in (part, self.reading.part_at(max(0, offset - 1))):
            index = each.parsed.tokens.touching(offset - each.start)
            if index is not None and each.parsed.tokens.spelled[index]:
                return TextPlace(each, index)
        return None

    def range(self, part: PlacedChunk, first: int, last: int | None = None) -> lsp.Range:
        """Return the range from one token of a part to another."""
        span = part.parsed.tokens.span
        return self.lines.range(part.start + span(first)[0], part.start + span(first if last is None else last)[1])


def part_nodes(part: PlacedChunk) -> list[Node]:
    """Return the operations of a part, which are found once."""
    store = part.parsed.__dict__
    if "_nodes" not in store:
        store["_nodes"] = nodes(part.parsed)
    found: list[Node] = store["_nodes"]
    return found


def token_kinds(part: PlacedChunk) -> list[TokenKind]:
    """Return what each token of a part is, which is found once."""
    store = part.parsed.__dict__
    if "_kinds" not in store:
        store["_kinds"] = kinds(part.parsed)
    found: list[TokenKind] = store["_kinds"]
    return found
