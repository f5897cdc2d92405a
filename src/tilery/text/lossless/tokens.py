"""Tokens of a text with their places, and the blanks and comments between them."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property

from ...declare.fastclass import dataclass
from ..lexer import TokenPlaces, spans, tokens

_COMMENT = re.compile(r"//[^\n\r]*+")


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment from `//` to the end of its line. `own` tells whether it has a line of its own."""

    start: int
    end: int
    own: bool


class Tokens:
    """The tokens of a text, as the parser gets them. The last one is empty and is the end of the text.

    An empty token in the middle is a character that starts no token.

    >>> t = Tokens("%0 = iota : tile<8xi32> // eight\\n")
    >>> t.spelled[:3], t.gap(5), t.line_start(2)
    (['%0', '=', 'iota'], ' // eight\\n', False)
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.spelled = tokens(text)
        self._places = TokenPlaces(text)

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """The start and end of each token."""
        return spans(self.text)[: len(self.spelled)]

    def span(self, index: int) -> tuple[int, int]:
        """Return the start and end of one token. To ask for a few takes a fifth of the time that all of them take."""
        found = None if "spans" in self.__dict__ else self._places.span(index)
        return found or self.spans[index]

    def gap(self, index: int) -> str:
        """Return the text between the token before and this one: blanks, comments, characters that start no token."""
        return self.text[self.span(index - 1)[1] if index else 0 : self.span(index)[0]]

    def line_start(self, index: int) -> bool:
        """Return whether a token is the first of its line."""
        return index == 0 or "\n" in self.gap(index) or "\r" in self.gap(index)

    def column(self, index: int) -> int:
        """Return the zero-based column of a token."""
        start = self.span(index)[0]
        return start - self.text.rfind("\n", 0, start) - 1

    def at(self, offset: int) -> int:
        """Return the last token that starts at an offset or before it; -1 before the first."""
        return bisect_right(range(len(self.spelled)), offset, key=lambda index: self.span(index)[0]) - 1

    def touching(self, offset: int) -> int | None:
        """Return the token that an offset is in or right after, the later one if there are two."""
        index = self.at(offset)
        for each in (index, index - 1):
            if each >= 0 and self.spelled[each]:
                start, end = self.span(each)
                if start <= offset <= end:
                    return each
        return None

    def comments(self, index: int) -> list[Comment]:
        """Return the comments before a token and after the one before it."""
        start = self.span(index - 1)[1] if index else 0
        return comments_in(self.text, start, self.span(index)[0])

    def joined(self) -> str:
        """Put gaps and tokens together again; this is the text."""
        return "".join([self.gap(i) + self.text[start:end] for i, (start, end) in enumerate(self.spans)]) + self.tail

    @property
    def tail(self) -> str:
        """The text after the last token."""
        return self.text[self.spans[-1][1] :]


def comments_in(text: str, start: int, end: int) -> list[Comment]:
    """Return the comments in the text between two tokens.

    >>> comments_in("a // b\\n// c\\n", 1, 12)
    [Comment(start=2, end=6, own=False), Comment(start=7, end=11, own=True)]
    """
    if text.find("//", start, end) < 0:
        return []
    found = []
    for match in _COMMENT.finditer(text, start, end):
        at = match.start()
        begin = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
        found.append(Comment(at, match.end(), not text[begin:at].strip(" \t\0")))
    return found
