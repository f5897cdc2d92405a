"""Write tokens: the blanks between them, and the breaks of long lines. Only tokens and comments decide."""

from __future__ import annotations

import re

from ...declare.fastclass import dataclass, field
from ...types import Type, full_text
from ..lexer import is_word

WIDTH = 120
"""The longest line, if it can be broken."""
ALIGNED = 80
"""Comments after lines up to this length are aligned."""
STEP, CONTINUED = "  ", "    "
_BLANKS = re.compile(r"[ \t\r\n\0]+")
_WORDS_BEFORE_PARENTHESIS = ("in", "to", "step", "->", "else")
_NUMBER = re.compile(r"#[0-9]+\Z")


@dataclass(slots=True)
class Word:
    """A token with the blank before it, or a comment, after which the line ends."""

    text: str
    blank: str = ""
    comment: bool = False
    own: bool = False
    """whether a comment has a line of its own"""
    breaks: int = 0
    """whether the line may be broken before the token: 2 if that is preferred"""


@dataclass(slots=True)
class Line:
    """A statement up to its region, the end of a region, or a comment."""

    depth: int
    words: list[Word] = field(default_factory=list)
    trailing: str = ""
    """the comment at its end"""
    blank: bool = False
    """whether an empty line precedes it"""
    start: int = 0
    end: int = 0
    """where it is in the text"""


class Spacing:
    """Decides on the blank before each token of a statement."""

    def __init__(self) -> None:
        self.stack: list[str] = []
        self.before = ""
        self.named = False
        """whether the operation's name has been passed"""
        self.mnemonic = False
        """whether the token before is the operation's name"""
        self.location = 0
        """the number of open brackets outside of the location that is being written; 0 outside of one"""

    def add(self, token: str, name: bool, glued: bool) -> Word:
        """Return a token with the blank before it. `name`: it is the operation's name; `glued`: no blank was there."""
        word = Word(token, self._blank(token, glued) if self.before else "")
        if self.before == "," or token == "->":
            word.breaks = 1
        elif token == ":" and not self.stack and self.named:
            word.breaks = 2
        self._follow(token)
        self.mnemonic = name
        self.named = self.named or name
        self.before = token
        return word

    def _follow(self, token: str) -> None:
        if token in ("(", "[", "{", "<"):
            if token == "(" and self.before == "loc" and not self.location:
                self.location = len(self.stack) + 1
            self.stack.append(token)
        elif token in (")", "]", "}", ">") and self.stack:
            self.stack.pop()
            if self.location > len(self.stack):
                self.location = 0

    def _blank(self, token: str, glued: bool) -> str:
        before, inside = self.before, self.stack[-1] if self.stack else ""
        if (
            token in (",", ")", "]", ">")
            or before in ("(", "[", "<")
            or ((before == "{" or token == "}") and inside == "{")
        ):
            return ""
        if token == ":" or before == ":":
            return self._colon(token, glued)
        match token:
            case "(":
                return "" if self._calls(before) else " "
            case "[":
                return "" if before[:1] == "%" or _NUMBER.match(before) else " "
            case "<":
                return " " if self.mnemonic or before in ("=", ")", ",", "->") or before[:1] == "@" else ""
        if before == "-" or (before[:1] == "%" and _NUMBER.match(token)):
            return ""
        if glued and (token[:1] == "x" or before == "?") and inside in ("<", "("):
            return ""
        return " "

    def _calls(self, before: str) -> bool:
        """Return whether a parenthesis belongs to the word before it."""
        if before[-1:] == ">" or before in _WORDS_BEFORE_PARENTHESIS or (self.mnemonic and before[:1] != '"'):
            return False
        return before[:1] in ('"', "@", "^") or is_word(before)

    def _colon(self, token: str, glued: bool) -> str:
        if not self.named or self.location or (token, self.before) == (":", ":"):
            return ""  # `%a:2 = `, `^bb0:`, `loc("f":1:2)`
        if self.before == ":":
            return "" if token[:1] == "@" and glued else " "
        if not self.stack:
            return " "
        if self.before[:1] == "%" or (self.stack[-1] == "<" and is_word(self.before)):
            return ""
        return "" if self.before[:1] == "@" and glued else " "


def spelled(token: str, types: dict[str, Type]) -> str:
    """Return a token without superfluous blanks: a type may be one token.

    >>> spelled("tile<4xf32>", {}), spelled("tensor_view<4xf32,   strides=[1]>", {})
    ('tile<4xf32>', 'tensor_view<4xf32, strides=[1]>')
    """
    if token[-1:] != ">" or len(token) == 1 or token == "->":
        return token
    known = types.get(token)
    if known is not None:
        bare = squeezed(token)
        for text in (known.text, full_text(known)):
            if squeezed(text) == bare:
                return text
    return _BLANKS.sub(" ", token)


def squeezed(token: str) -> str:
    """Return a token without blanks."""
    return token if token[:1] in ('"', "@") else _BLANKS.sub("", token)


def written(line: Line) -> list[str]:
    """Return the text of a line, without its trailing comment, in several lines if it is long."""
    indent = STEP * line.depth
    words = line.words
    if any(word.comment for word in words):
        return _with_comments(indent, words)
    text = indent + "".join([word.blank + word.text for word in words])
    if len(text) <= WIDTH:
        return [text]
    at = next((at for at, word in enumerate(words) if word.breaks == 2), 0)
    if at:  # the types get lines of their own
        return [*_filled(indent, words[:at]), *_filled(indent, words[at:], indent + CONTINUED)]
    return _filled(indent, words)


def _filled(indent: str, words: list[Word], first: str | None = None) -> list[str]:
    """Fill lines up to the width, and break where that is allowed."""
    lines: list[str] = []
    line = indent if first is None else first
    at = 0
    while at < len(words):
        end = at + 1
        while end < len(words) and not words[end].breaks:
            end += 1
        piece = "".join([word.blank * (i > at) + word.text for i, word in enumerate(words[at:end], at)])
        blank = words[at].blank if line.strip() else ""
        if line.strip() and len(line) + len(blank) + len(piece) > WIDTH:
            lines.append(line)
            line, blank = indent + CONTINUED, ""
        line += blank + piece
        at = end
    return [*lines, line]


def _with_comments(indent: str, words: list[Word]) -> list[str]:
    """Write a statement with comments inside; each of them ends a line."""
    lines: list[str] = []
    rest: list[Word] = []
    for word in words:
        if not word.comment:
            rest.append(word)
            continue
        if rest:
            lines += _filled(indent, rest, None if not lines else indent + CONTINUED)
            rest = []
        if word.own or not lines:
            lines.append(indent + CONTINUED + word.text)
        else:
            lines[-1] += " " + word.text
    return lines + (_filled(indent, rest, indent + CONTINUED) if rest else [])


def aligned(lines: list[Line], texts: list[list[str]]) -> None:
    """Append the trailing comments to the texts of lines; those of neighbours start at the same column."""
    at = 0
    while at < len(lines):
        end = at
        while end < len(lines) and lines[end].trailing and (end == at or _neighbours(lines, texts, end)):
            end += 1
        widths = [len(texts[i][-1]) for i in range(at, end) if len(texts[i][-1]) <= ALIGNED]
        column = max(widths, default=0)
        for i in range(at, end):
            texts[i][-1] = f"{texts[i][-1].ljust(column)} {lines[i].trailing}"
        at = max(end, at + 1)


def _neighbours(lines: list[Line], texts: list[list[str]], at: int) -> bool:
    return not lines[at].blank and lines[at].depth == lines[at - 1].depth and len(texts[at]) == 1
