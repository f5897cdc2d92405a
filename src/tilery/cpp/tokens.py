"""Tokens of C++, and the declarations of a file: enough of the grammar to find functions and their bodies."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

_TOKEN = re.compile(
    r"""(?P<space>\s+|//(?:[^\\\n]|\\.)*|/\*.*?\*/)
    |(?P<directive>\#(?:[^\\\n/]|\\.|/(?!\*)|/\*.*?\*/)*)
    |(?P<string>(?:u8|[uUL])?R"([^\s()\\]{0,16})\(.*?\)\4"|(?:u8|[uUL])?(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'))
    |(?P<number>\.?[0-9](?:[eEpP][+-]|'?[\w.])*)
    |(?P<word>[^\W\d]\w*)
    |(?P<mark><<<|>>>|::|->|\.\.\.|[<>=!]=|.)""",
    re.X | re.S,
)
CLOSING = {"(": ")", "[": "]", "{": "}"}
OPENING = {closed: opened for opened, closed in CLOSING.items()}
MAX_ARGUMENTS = 500
"""The most tokens between angle brackets."""
TYPES = frozenset(["struct", "class", "union", "enum"])
NOT_PARAMETERS = frozenset(
    ["__attribute__", "__launch_bounds__", "__cluster_dims__", "alignas", "noexcept", "decltype", "requires"]
)
"""Words whose parentheses do not hold the parameters of a function."""


class CppToken(NamedTuple):
    """A word, string, number, directive or mark, and where it is."""

    kind: str
    text: str
    start: int
    end: int


class CppTokens(list[CppToken]):
    """The tokens of a text; `partner` has the indices of closing brackets by those of opening ones, and back."""

    def __init__(self, found: Iterable[CppToken]) -> None:
        super().__init__(found)
        self.partner: dict[int, int] = {}
        opened: list[int] = []
        for index, token in enumerate(self):
            if token.text in CLOSING:
                opened.append(index)
            elif token.text in OPENING and token.kind == "mark":
                while opened and CLOSING[self[opened[-1]].text] != token.text:
                    opened.pop()
                if opened:
                    start = opened.pop()
                    self.partner[start], self.partner[index] = index, start


def tokens(text: str) -> CppTokens:
    """Split C++ into tokens, without spaces and comments.

    >>> [token.text for token in tokens("k<<<1, 2>>>(x); // launch")]
    ['k', '<<<', '1', ',', '2', '>>>', '(', 'x', ')', ';']
    """
    return CppTokens(
        CppToken(match.lastgroup or "", match[0], match.start(), match.end())
        for match in _TOKEN.finditer(text)
        if match.lastgroup != "space"
    )


def closing(found: CppTokens, at: int) -> int:
    """Return the index of the token that closes the bracket at an index; the last index if there is none."""
    return found.partner.get(at, len(found) - 1)


def closing_angle(found: CppTokens, at: int) -> int:
    """Return the index of the `>` that closes the `<` at an index; brackets hide what is inside them.

    Without one, return the index itself.
    """
    depth, index = 0, at
    while index < min(len(found), at + MAX_ARGUMENTS):
        text = found[index].text
        if text in CLOSING:
            index = closing(found, index)
        elif text == "<":
            depth += 1
        elif text in (">", ">>>"):
            depth -= len(text)
            if depth <= 0:
                return index
        elif text == ";":
            break
        index += 1
    return at


@dataclass(slots=True)
class Declaration:
    """A declaration in a namespace, as indices of tokens. Only a function has parameters."""

    start: int
    end: int
    """After its last token."""
    parameters: int | None = None
    """The parenthesis that opens the parameters."""
    head_end: int = 0
    """The first token of the body or of the list of initialisers before it; `end` if there is no body."""


def declarations(found: CppTokens) -> Iterator[Declaration]:
    """Find the declarations of a file, inside namespaces too."""
    at = 0
    while at < len(found):
        token = found[at]
        if token.kind == "directive" or token.text in ("}", ";"):
            at += 1
        elif (inside := namespace_body(found, at)) is not None:
            at = inside
        else:
            declaration = read_declaration(found, at)
            yield declaration
            at = declaration.end


def namespace_body(found: CppTokens, at: int) -> int | None:
    """Return the index after the brace that opens a namespace or a block of linkage; None if neither begins here."""
    if found[at].text == "inline" and at + 1 < len(found):
        at += 1
    if found[at].text == "extern" and [token.kind for token in found[at + 1 : at + 2]] == ["string"]:
        return at + 3 if [token.text for token in found[at + 2 : at + 3]] == ["{"] else None
    if found[at].text != "namespace":
        return None
    for index in range(at, len(found)):
        if found[index].text == "{":
            return index + 1
        if found[index].text in (";", "="):
            return None
    return None


def read_declaration(found: CppTokens, start: int) -> Declaration:
    """Read the declaration that begins at an index."""
    made = Declaration(start, len(found))
    assigned = False
    at = start
    while at < len(found):
        text, before = found[at].text, found[at - 1].text if at > start else ""
        if text == "<" and before == "template":
            at = closing_angle(found, at)
        elif text in ("(", "["):
            if text == "(" and not assigned and before not in NOT_PARAMETERS:
                made.parameters = at
            at = closing(found, at)
        elif text == "=" and before != "operator":
            assigned = True
        elif text == ";":
            return finished(made, at + 1, None, assigned, found)
        elif text == ":" and made.parameters is not None and not is_type(found, start, at):
            body = after_initialisers(found, at)
            return finished(made, closing(found, body) + 1, at, assigned, found)
        elif text == "{":
            if made.parameters is not None and not assigned and not is_type(found, start, at):
                return finished(made, closing(found, at) + 1, at, assigned, found)
            at = closing(found, at)
        at += 1
    return finished(made, len(found), None, assigned, found)


def finished(made: Declaration, end: int, body: int | None, assigned: bool, found: CppTokens) -> Declaration:
    made.end, made.head_end = end, end if body is None else body
    if assigned or is_type(found, made.start, made.head_end):
        made.parameters = None
    return made


def is_type(found: CppTokens, start: int, end: int) -> bool:
    """Whether the head of a declaration is that of a class or an enumeration, not of a function that mentions one.

    >>> is_type(tokens("template <class T> struct a"), 0, 7), is_type(tokens("struct a swap(int x)"), 0, 7)
    (True, False)
    """
    at = start
    while at < end:
        text = found[at].text
        if text == "template" and at + 1 < end and found[at + 1].text == "<":
            at = closing_angle(found, at + 1)
        elif text in ("typedef", "using", "concept"):
            return True
        elif text in TYPES:
            return found[end - 1].text not in (")", "const", "noexcept", "override")
        elif text == "(" and found[at - 1].text not in NOT_PARAMETERS:
            return False
        elif text in CLOSING:
            at = closing(found, at)
        at += 1
    return False


def after_initialisers(found: CppTokens, colon: int) -> int:
    """Return the index of the brace that opens the body of a constructor, after its list of initialisers."""
    at = colon + 1
    while at < len(found):
        text = found[at].text
        if text == "{" and found[at - 1].text in (")", "}"):
            return at
        if text in CLOSING:
            at = closing(found, at)
        at += 1
    return len(found) - 1
