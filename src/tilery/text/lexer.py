"""Split text into tokens. A token is its spelling; its position is computed only when a message needs it."""

from __future__ import annotations

import re
from collections import deque
from itertools import islice

BLOCK = 512
"""The number of tokens that are placed at once."""
MOST_BLOCKS = 64
"""The number of blocks of places that are kept."""
BLANKS = " \t\r\n\0"
SPACE = rf"[{BLANKS}]*+(?://[^\n\r]*+[{BLANKS}]*+)*+"
SUFFIX = r"(?:[0-9]++|[A-Za-z$._-][A-Za-z0-9$._-]*+)"
_STRING = r'"(?:[^"\\\n\v\f]|\\(?:["\\nt]|[0-9A-Fa-f]{2}))*+"'
_DIALECT = r"(?:!cuda_tile\.)?+"
_INNER = r"""[^<>"/\n!#]*+"""
# The usual spellings of types are one token, so that a type that was seen before costs one dictionary lookup.
_TYPE = (
    rf"{_DIALECT}(?:tile<(?:[0-9]++x)*+(?:[a-z]++[0-9][A-Za-z0-9]*+|{_DIALECT}ptr<[A-Za-z0-9]++>)>"
    rf"|tensor_view<{_INNER}>"
    rf"|[a-z]++(?:_[a-z]++)?_view<{_INNER}(?:!cuda_tile\.tensor_view)?<{_INNER}>{_INNER}>)"
)
_PLAIN = (
    r"[A-Za-z_][A-Za-z0-9_$.]*+"
    r"|->|\.\.\.|[<>{}?+*|/-]"
    r"|0x[0-9a-fA-F]++|[0-9]++(?:\.[0-9]*+(?:[eE][-+]?[0-9]++)?+)?+"
    rf"|[#!^]{SUFFIX}"
    r"|@[A-Za-z_][A-Za-z0-9_$.]*+"
    rf"|@?{_STRING}"
)
# The empty token is the end of the text, or a character that starts no token; parsing stops at both.
TOKEN = re.compile(rf"{SPACE}(%{SUFFIX}|[,:()=\[\]]|{_TYPE}|{_PLAIN}|)")
PIECE = re.compile(rf"{SPACE}(%{SUFFIX}|[,:()=\[\]]|{_PLAIN}|)")
"""Like TOKEN, but a type is split into its parts."""

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*+\Z")
INT_TYPE = re.compile(r"[su]?i[0-9]++\Z")
_ESCAPE = re.compile(rb'\\(?:(["\\nt])|([0-9A-Fa-f]{2}))')
_PLAIN_ESCAPES = {b'"': b'"', b"\\": b"\\", b"n": b"\n", b"t": b"\t"}


def tokens(text: str) -> list[str]:
    """Return the tokens of a text; the last one is empty.

    >>> tokens("%0 = iota : tile<8xi32> // eight")
    ['%0', '=', 'iota', ':', 'tile<8xi32>', '']
    """
    found: list[str] = TOKEN.findall(text)
    # After trailing space the pattern matches the empty token twice.
    if len(found) > 1 and found[-2:] == ["", ""] and _ends_in_space(text):
        found.pop()
    return found


def _ends_in_space(text: str) -> bool:
    """Return whether a blank or a comment ends a text; otherwise it ends in a character that starts no token."""
    if text[-1:] in BLANKS:
        return True
    line = text.rfind("\n") + 1
    if text.find("//", line) < 0:
        return False
    before, _ = deque(TOKEN.finditer(text, line), 2)
    return before.end(1) == len(text)


def pieces(text: str) -> list[str]:
    """Return the parts of a type that is one token."""
    return PIECE.findall(text)


def spans(text: str, pattern: re.Pattern[str] = TOKEN) -> list[tuple[int, int]]:
    """Return the start and end of each token."""
    return [found.span(1) for found in pattern.finditer(text)]


class TokenPlaces:
    """The places of the tokens of a text. All of them at once would take many times the memory of the text.

    >>> TokenPlaces("%0 = iota").span(2)
    (5, 9)
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._ends = [0]
        """where the tokens before each block end, as far as that is known"""
        self._blocks: dict[int, list[tuple[int, int]]] = {}

    def span(self, index: int) -> tuple[int, int] | None:
        """Return the start and end of a token; None if there are fewer."""
        number, inside = divmod(index, BLOCK)
        while len(self._ends) <= number:
            last = next(islice(TOKEN.finditer(self.text, self._ends[-1]), BLOCK - 1, None), None)
            if last is None or last.start() == len(self.text):
                return None
            # A character that starts no token is an empty match, and the next one starts after it.
            self._ends.append(last.end() + (last.start() == last.end()))
        block = self._block(number)
        return block[inside] if inside < len(block) else None

    def _block(self, number: int) -> list[tuple[int, int]]:
        found = self._blocks.get(number)
        if found is None:
            if len(self._blocks) >= MOST_BLOCKS:
                self._blocks.clear()
            matches = islice(TOKEN.finditer(self.text, self._ends[number]), BLOCK)
            found = self._blocks[number] = [match.span(1) for match in matches]
        return found


def is_word(token: str) -> bool:
    """Return whether a token can be a keyword; a type that is one token cannot."""
    return _WORD.match(token) is not None


def is_integer(token: str) -> bool:
    """Return whether a token is a decimal or hexadecimal integer."""
    return token[:1].isdecimal() and "." not in token


def is_float(token: str) -> bool:
    """Return whether a token is a number with a decimal point."""
    return token[:1].isdecimal() and "." in token


def integer_value(token: str) -> int:
    """Return the value of an integer literal. Any number of more than 100 digits yields the same large value."""
    if token[1:2] == "x":
        return int(token, 16)
    digits = token.lstrip("0") or "0"
    return int(digits) if len(digits) <= 100 else 1 << 400


def lexical_problem(text: str, start: int) -> tuple[int, str] | None:
    """Explain, in MLIR's words, why no token starts here; None at the end of the text."""
    rest = text[start : start + 2]
    if not rest:
        return None
    prefixed = {
        "#": "invalid attribute name",
        "%": "invalid SSA name",
        "^": "invalid block name",
        "!": "invalid type identifier",
    }
    match rest[0]:
        case "#" | "%" | "^" | "!" as sign:
            return start, prefixed[sign]
        case '"':
            return _string_problem(text, start + 1)
        case "@":
            if rest[1:] == '"':
                return _string_problem(text, start + 2)
            return start + 1, "@ identifier expected to start with letter or '_'"
        case ".":
            return start + 1, "expected three consecutive dots for an ellipsis"
    return start, "unexpected character"


def _string_problem(text: str, start: int) -> tuple[int, str]:
    at = start
    for found in re.compile(r'[^"\\\n\v\f]++|\\(?:["\\nt]|[0-9A-Fa-f]{2})').finditer(text, start):
        if found.start() != at:
            break
        at = found.end()
    if text[at : at + 1] == "\\":
        return at, "unknown escape in string literal"
    return at, "expected '\"' in string literal"


def string_value(token: str) -> str:
    """Return the value of a quoted string; escaped bytes that are not UTF-8 become surrogate escapes.

    >>> string_value(r'"a\\22\\C3\\A4\\n"')
    'a"ä\\n'
    """
    if "\\" not in token:
        return token[1:-1]

    def plain(found: re.Match[bytes]) -> bytes:
        return bytes.fromhex(found[2].decode()) if found[2] else _PLAIN_ESCAPES[found[1]]

    raw = token[1:-1].encode("utf-8", "surrogateescape")
    return _ESCAPE.sub(plain, raw).decode("utf-8", "surrogateescape")


def symbol_name(token: str) -> str:
    """Return the name in `@name` or `@"any name"`."""
    return string_value(token[1:]) if token[1] == '"' else token[1:]
