"""Format a text. Names, comments, attributes and the order of everything stay; blanks and line breaks follow rules.

One statement is one line, indented by two blanks per region. A line of more than 120 characters is broken, after
commas and before `:` and `->`, and continued four blanks further in. Up to one empty line is kept between statements,
none at the start or end of a region. Comments after neighbouring statements are aligned.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...declare.fastclass import dataclass
from ...diag import ErrorKind, TileError
from .. import PRODUCER
from ..lexer import pieces
from ..lexer import tokens as tokens_of
from .layout import Line, Spacing, Word, aligned, spelled, squeezed, written
from .reading import PlacedChunk, Reading, read
from .tokens import comments_in


@dataclass(frozen=True, slots=True)
class TextChange:
    """Replace text[start:end] by other text."""

    start: int
    end: int
    text: str


def format_text(text: str, *, file: str = "", lines: tuple[int, int] | None = None, keep_comments: bool = True) -> str:
    """Return a text in the standard layout; `lines` are the first and the last line to format, counted from one.

    Raise TileError if the text cannot be parsed. Without `keep_comments` only the one that names the producer is left.

    >>> print(format_text("entry @k(){ %a=iota:tile<8xi32> // eight\\n\\n\\nreturn }"), end="")
    entry @k() {
      %a = iota : tile<8xi32> // eight
    <BLANKLINE>
      return
    }
    """
    reading = read(text, file=file, testing=True)
    if reading.errors:
        raise reading.errors[0]
    edit = edit_for(reading, lines, keep_comments)
    return text if edit is None else text[: edit.start] + edit.text + text[edit.end :]


def edit_for(reading: Reading, lines: tuple[int, int] | None = None, keep_comments: bool = True) -> TextChange | None:
    """Return the change that formats a text without errors, or some of its lines; None if there is nothing to do."""
    text = reading.text
    made = list(_Lines(reading, keep_comments).lines())
    texts = [written(line) for line in made]
    aligned(made, texts)
    if lines is None:
        new = _put(made, texts)
        if new.startswith(PRODUCER) and not text.startswith(PRODUCER):
            new = "\n" + new  # a comment in the first line would name a producer
        edit = TextChange(0, len(text), new)
    else:
        found = _range(text, made, texts, *lines)
        if found is None:
            return None
        edit = found
    result = text[: edit.start] + edit.text + text[edit.end :]
    if result == text:
        return None
    old, new_tokens = _squeezed(text), _squeezed(result)
    if old == new_tokens:
        return edit
    if _pieces(old) != _pieces(new_tokens):
        raise TileError(
            "this text cannot be formatted: its tokens would change",
            kind=ErrorKind.UNSUPPORTED,
            file=reading.options.file,
        )
    # A type that was broken over lines is one token now, and types have a layout of their own.
    again = edit_for(read(result, file=reading.options.file, testing=True)) if lines is None else None
    return TextChange(0, len(text), again.text) if again is not None else edit


def _squeezed(text: str) -> list[str]:
    return [squeezed(token) for token in tokens_of(text)]


def _pieces(tokens: list[str]) -> list[str]:
    """Return tokens with types in pieces."""
    return [piece for token in tokens for piece in (pieces(token) if token[-1:] == ">" else [token]) if piece]


def _put(lines: list[Line], texts: list[list[str]]) -> str:
    out: list[str] = []
    for line, text in zip(lines, texts):
        if line.blank and out:
            out.append("")
        out += text
    return "".join(f"{each}\n" for each in out)


def _range(text: str, lines: list[Line], texts: list[list[str]], first: int, last: int) -> TextChange | None:
    """Return the change for the statements that lines of the text touch, as whole lines."""
    starts = [0]
    while (at := text.find("\n", starts[-1])) >= 0:
        starts.append(at + 1)
    first, last = max(1, min(first, len(starts))), max(1, min(last, len(starts)))
    begin = starts[first - 1]
    end = starts[last] if last < len(starts) else len(text)
    chosen = [i for i, line in enumerate(lines) if line.end > begin and line.start < end]
    if not chosen:
        return None
    low, high = chosen[0], chosen[-1]
    while True:  # statements that share a line are formatted together
        begin = text.rfind("\n", 0, lines[low].start) + 1
        stop = text.find("\n", lines[high].end)
        end = len(text) if stop < 0 else stop + 1
        more = (low > 0 and lines[low - 1].end > begin, high + 1 < len(lines) and lines[high + 1].start < end)
        if not any(more):
            break
        low, high = low - more[0], high + more[1]
    return TextChange(begin, end, _put(lines[low : high + 1], texts[low : high + 1]))


class _Lines:
    """Divides the tokens of a reading into lines."""

    def __init__(self, reading: Reading, keep_comments: bool) -> None:
        self.reading, self.text, self.keep_comments = reading, reading.text, keep_comments
        self.depth = 0
        self.end = 0
        """where the token before ends"""
        self.open = True
        """whether the token before opens a region, or nothing precedes"""
        self.line: Line | None = None
        self.spacing = Spacing()

    def lines(self) -> Iterator[Line]:
        for part in self.reading.parts:
            yield from self._part(part)
        if self.line is not None:
            yield from self._close()
        yield from self._comments(len(self.text))

    def _part(self, part: PlacedChunk) -> Iterator[Line]:
        parsed = part.parsed
        spans, toks, text = parsed.tokens.spans, parsed.tokens.spelled, parsed.text
        starts, names = set(parsed.starts), {at for at, _ in parsed.extents.values()}
        for index in range(len(toks) - 1):
            start, end = spans[index][0] + part.start, spans[index][1] + part.start
            token = text[spans[index][0] : spans[index][1]]
            if index in starts or self.open:
                if self.line is not None:
                    yield from self._close()
                yield from self._comments(start)
                self._start(token, start)
            else:
                self._inner_comments(start)
            assert self.line is not None
            glued = self.end == start
            self.line.words.append(self.spacing.add(spelled(token, parsed.types), index in names, glued))
            self.line.end = self.end = end
            if index in parsed.regions or (parsed.opened is not None and index == parsed.opened.opened):
                self.open = True
                self.depth += 1
                yield from self._close()
                self.open = True

    def _start(self, token: str, start: int) -> None:
        """Start a line at a token."""
        gap = self.text[self.end : start]
        if token == "}":
            self.depth = max(0, self.depth - 1)
        depth = max(0, self.depth - (token[:1] == "^"))
        blank = gap.count("\n") > 1 and not self.open and token != "}"
        last = gap.rfind("//")
        if last >= 0:  # only what follows the last comment separates it from the statement
            blank = blank and gap.count("\n", last) > 1
        self.line = Line(depth, [], "", blank, start, start)
        self.spacing = Spacing()
        self.open = False

    def _close(self) -> Iterator[Line]:
        """End the line; a comment right after it belongs to it."""
        assert self.line is not None
        line, self.line = self.line, None
        stop = min((at for at in (self.text.find("\n", self.end), self.text.find("\r", self.end)) if at >= 0),
                   default=len(self.text))  # fmt: skip
        gap = self.text[self.end : stop]
        if gap.lstrip(" \t\0").startswith("//"):
            line.trailing = gap.strip(" \t\0") if self.keep_comments else ""
            line.end = self.end = self.end + len(gap)
        yield line

    def _comments(self, until: int) -> Iterator[Line]:
        """Yield the comments between two statements, each in a line of its own."""
        for comment in comments_in(self.text, self.end, until):
            gap = self.text[self.end : comment.start]
            blank = gap.count("\n") > 1 and not self.open
            content = self.text[comment.start : comment.end]
            produced = comment.start == 0 and content.startswith(PRODUCER)
            if self.keep_comments or produced:
                content = content if produced else content.rstrip()
                yield Line(self.depth, [Word(content)], "", blank, comment.start, comment.end)
                self.end, self.open = comment.end, False

    def _inner_comments(self, until: int) -> None:
        """Add the comments inside a statement to it."""
        assert self.line is not None
        for comment in comments_in(self.text, self.end, until) if self.keep_comments else ():
            content = self.text[comment.start : comment.end].rstrip()
            self.line.words.append(Word(content, comment=True, own=comment.own))
