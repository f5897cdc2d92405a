"""A place in the tokens of a text, what may come next there, and errors in MLIR's words at MLIR's places."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, NoReturn

from ...diag import Note, TileError
from ..lexer import PIECE, is_word, lexical_problem, pieces, spans, string_value, tokens

Mark = tuple[int, int]
"""A token: its index, and the index inside it where it is a type of several pieces (else -1)."""

Task = Generator[Any, Any, Any]
"""A parsing function that calls another by `yield`; `run` keeps the calls on a list, so that depth costs no stack."""

MAX_DEPTH = 200


def run(task: Task) -> Any:
    """Run a task and all the tasks it calls."""
    stack = [task]
    value: Any = None
    while stack:
        try:
            called = stack[-1].send(value)
        except StopIteration as done:
            stack.pop()
            value = done.value
        else:
            stack.append(called)
            value = None
    return value


class Cursor:
    """The tokens of a text and the index of the next one."""

    def __init__(self, text: str, file: str = "", toks: list[str] | None = None) -> None:
        self.text = text
        self.file = file
        self.toks = tokens(text) if toks is None else toks
        self.i = 0
        self.op = ""
        """the operation whose own syntax is being parsed; messages name it"""
        self.in_dialect = False
        """inside `!cuda_tile.…` or `#cuda_tile.…`, where messages do not name the operation"""
        self._outer: tuple[list[str], int, str, dict[int, int]] | None = None
        self._shift: dict[int, int] = {}
        self._spans: list[tuple[int, int]] = []

    # ------------------------------------------------------------ tokens

    @property
    def tok(self) -> str:
        return self.toks[self.i]

    def accept(self, token: str) -> bool:
        """Go past the token if it is next."""
        if self.toks[self.i] == token:
            self.i += 1
            return True
        return False

    def expect(self, token: str, context: str = "") -> None:
        """Go past a punctuation mark that must be next."""
        if self.toks[self.i] != token:
            self.wrong(f"expected '{token}'{context}")
        self.i += 1

    def keyword(self, word: str) -> None:
        """Go past a keyword that must be next."""
        if self.toks[self.i] != word:
            self.fail(f"expected '{word}'")
        self.i += 1

    def any_keyword(self) -> str:
        """The keyword that must be next."""
        if not is_word(token := self.toks[self.i]):
            self.fail("expected valid keyword")
        self.i += 1
        return token

    def optional_keyword(self) -> str | None:
        """The keyword that is next, if it is one."""
        if not is_word(token := self.toks[self.i]):
            return None
        self.i += 1
        return token

    def string(self) -> str | None:
        """The value of the string that is next, if it is one."""
        token = self.toks[self.i]
        if token[:1] != '"':
            return None
        self.i += 1
        return string_value(token)

    def integer(self, bits: int = 64, signed: bool = True) -> int:
        """An integer that must be next and fit."""
        value = self.optional_integer(bits, signed)
        if value is None:
            self.fail("expected integer value")
        return value

    def optional_integer(self, bits: int = 64, signed: bool = True) -> int | None:
        """The integer that is next, if it is one; `true` and `false` are 1 and 0."""
        token = self.toks[self.i]
        if token in ("true", "false"):
            self.i += 1
            return int(token == "true")
        at = self.mark()
        negative = self.accept("-")
        token = self.toks[self.i]
        if not is_integer(token):
            if negative:
                self.wrong("expected integer value")
            return None
        self.i += 1
        value = -integer_value(token) if negative else integer_value(token)
        low, high = (-(1 << bits - 1), 1 << bits - 1) if signed else (0, 1 << bits)
        if not low <= value < high:
            self.fail("integer value too large", at)
        return value

    def listed(self, close: str, element: Callable[[], Any], context: str = "") -> list[Any]:
        """Elements between commas up to a closing token; the opening one has been passed. None is fine."""
        out: list[Any] = []
        if self.accept(close):
            return out
        while True:
            out.append(element())
            if not self.accept(","):
                self.expect(close, context)
                return out

    # ------------------------------------------------------------ types that are one token

    def enter(self) -> None:
        """Go on with the pieces of the token that is next."""
        token = self.toks[self.i]
        self._outer = (self.toks, self.i, token, self._shift)
        self.toks, self.i, self._shift = pieces(token), 0, {}

    def leave(self) -> None:
        """Go on behind the token that was entered."""
        assert self._outer is not None
        self.toks, index, _, self._shift = self._outer
        self.i, self._outer = index + 1, None

    def cut(self, count: int) -> None:
        """Drop the first characters of the token that is next: `x8xf32` after a 4 is an x, an 8 and `xf32`."""
        rest = self.toks[self.i][count:]
        if rest:
            self.toks[self.i] = rest
            self._shift[self.i] = self._shift.get(self.i, 0) + count
        else:
            self.i += 1

    # ------------------------------------------------------------ places and errors

    def between(self, first: int, last: int) -> str:
        """The text from one token to another, by their indices."""
        return self.text[self.span((first, -1))[0] : self.span((last, -1))[1]]

    def mark(self) -> Mark:
        """The token that is next, for a message about it later."""
        return (self.i, -1) if self._outer is None else (self._outer[1], self.i)

    def span(self, mark: Mark | None = None) -> tuple[int, int]:
        """Where a token stands in the text: the next one, or the marked one."""
        outer, inner = self.mark() if mark is None else mark
        if not self._spans:
            self._spans = spans(self.text)
        start, end = self._spans[outer] if outer < len(self._spans) else (len(self.text), len(self.text))
        if inner >= 0:
            left, right = spans(self.text[start:end], PIECE)[inner]
            start, end = start + left, start + right
        if mark is None:
            start += self._shift.get(self.i, 0)
        return start, end

    def error(self, message: str, start: int, end: int, notes: Sequence[str] = ()) -> TileError:
        """The error to raise; a token that the lexer refuses comes first."""
        if self.toks[self.i] == "" and self._outer is None:
            at = self.span()[0]
            if (problem := lexical_problem(self.text, at)) is not None:
                start, message = problem
                end, notes = start + 1, ()
        return TileError(message, file=self.file, source=self.text, start=start, end=end, notes=tuple(notes))

    def wrong(self, message: str, *notes: str) -> NoReturn:
        """The next token does not fit. At the start of a line the place is the end of the line before."""
        start, end = self.span()
        at = min(start, max(len(self.text) - 1, 0))
        moved = _line_end_before(self.text, at)
        if moved is not None:
            at, end = moved, moved
        raise self.error(message, at, end, notes)

    def plain(self, message: str, mark: Mark | None = None, *notes: str) -> NoReturn:
        """An error at a token, in words that do not name the operation."""
        start, end = self.span(mark)
        if start == len(self.text) > 0:
            start -= 1
        raise self.error(message, start, end, notes)

    def fail(self, message: str, mark: Mark | None = None, *notes: str) -> NoReturn:
        """An error at a token; it names the operation if one is being parsed."""
        if self.op and not self.in_dialect:
            message = f"custom op '{self.op}' {message}"
        start, end = self.span(mark)
        raise self.error(message, start, end, notes)

    def second(self, message: str, mark: Mark | None = None) -> Note:
        """A second error that NVIDIA's tools report at the same time."""
        if self.op and not self.in_dialect:
            message = f"custom op '{self.op}' {message}"
        return Note(message, self.span(mark)[0], "error")


def _line_end_before(text: str, at: int) -> int | None:
    """Where the last line before this place ends that is not blank or a comment, if only blanks are between."""
    while True:
        stop = at
        while stop and text[stop - 1] in " \t":
            stop -= 1
        if stop == 0:
            return None
        if text[stop - 1] not in "\n\r":
            return stop
        at = stop - 1
        begin = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
        comment = text.find("//", begin, at)
        if comment >= 0:
            at = comment


def is_integer(token: str) -> bool:
    return token[:1].isdecimal() and "." not in token


def is_float(token: str) -> bool:
    return token[:1].isdecimal() and "." in token


def integer_value(token: str) -> int:
    """The value of a decimal or hexadecimal literal; one of more than 100 digits is only said to be large."""
    if token[1:2] == "x":
        return int(token, 16)
    digits = token.lstrip("0") or "0"
    return int(digits) if len(digits) <= 100 else 1 << 400
