"""The spans of operations in a chunk: name, results, operands, types, attributes, regions; and what each token is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum

from ...declare.fastclass import dataclass, field
from ...declare.fields import Field
from ...declare.operation import BY_NAME, OpDef
from ...ir import Op
from ...types import SCALARS
from .. import DIALECT
from ..lexer import is_word, string_value
from .recover import ParsedChunk

_TYPE_WORDS = re.compile(r"!?(?:cuda_tile\.)?(?:tile|ptr|token|\w*_?view)\Z|[su]?i[0-9]+\Z|index\Z")


class TokenKind(Enum):
    """The kind of a token."""

    OPERATION = "operation"
    VALUE = "value"
    SYMBOL = "symbol"
    ALIAS = "alias"
    LABEL = "label"
    TYPE = "type"
    KEYWORD = "keyword"
    NUMBER = "number"
    STRING = "string"
    MARK = "mark"
    ERROR = "error"


@dataclass(slots=True, eq=False)
class Node:
    """An operation in the text, by the indices of its tokens. `op` is None if it could not be read."""

    first: int
    """the first result, or the name"""
    name: int
    end: int
    """the token after the last"""
    op: Op | None
    opdef: OpDef | None
    parent: Node | None = None
    children: list[Node] = field(default_factory=list)

    @property
    def results(self) -> range:
        """The tokens before the name, with marks."""
        return range(self.first, self.name)


def nodes(parsed: ParsedChunk) -> list[Node]:
    """Return the outermost operations of a chunk, in order. What could not be read has a node too."""
    toks = parsed.tokens.spelled
    ends = {at: (end, o) for o, (at, end) in parsed.extents.items() if spells(toks[at], o)}
    roots: list[Node] = []
    stack: list[Node] = []
    last = len(toks) - 1
    for number, first in enumerate(parsed.starts):
        if toks[first] in ("}", "") or toks[first][:1] in ("^", "#", "!"):
            continue
        name = name_after(toks, first)
        following = parsed.starts[number + 1] if number + 1 < len(parsed.starts) else last
        end, o = ends.get(name, (max(_region_end(parsed, first, following), following), None))
        node = Node(first, name, end, o, BY_NAME.get(mnemonic(toks[name])))
        while stack and stack[-1].end <= first:
            stack.pop()
        if stack:
            node.parent = stack[-1]
            stack[-1].children.append(node)
        else:
            roots.append(node)
        stack.append(node)
    return roots


def _region_end(parsed: ParsedChunk, first: int, following: int) -> int:
    """Return the end of the region that starts in an operation's own tokens, 0 if there is none."""
    return max((parsed.regions.get(i, -1) + 1 for i in range(first, following)), default=0)


def mnemonic(token: str) -> str:
    """Return the name of an operation without quotes and the dialect's prefix."""
    return (string_value(token) if token[:1] == '"' and len(token) > 1 else token).removeprefix(DIALECT)


def spells(token: str, o: Op) -> bool:
    """Return whether a token is the name of an operation; that of an implicit terminator is its parent's."""
    return mnemonic(token) == o.name or BY_NAME.get(mnemonic(token)) is getattr(o, "opdef", 0)


def name_after(toks: list[str], first: int) -> int:
    """Return the token after `%a, %b:2 =`."""
    index = first
    while toks[index][:1] == "%" or toks[index] in (",", ":", "=") or (index > first and toks[index - 1] == ":"):
        if toks[index] == "=":
            return min(index + 1, len(toks) - 1)
        index += 1
        if index >= len(toks) - 1:
            return first
    return first if index > first else index


def walk(roots: list[Node]) -> Iterator[Node]:
    """Yield nodes before those inside them."""
    todo = list(reversed(roots))
    while todo:
        node = todo.pop()
        yield node
        todo += reversed(node.children)


def node_at(roots: list[Node], index: int) -> Node | None:
    """Return the innermost operation that a token belongs to."""
    found: Node | None = None
    level = roots
    while True:
        inner = next((node for node in level if node.first <= index < node.end), None)
        if inner is None:
            return found
        found, level = inner, inner.children


def field_at(parsed: ParsedChunk, node: Node, index: int) -> Field | None:
    """Return the operand that a token of an operation is."""
    state = parsed.states.get(node.name)
    if state is None or node.opdef is None:
        return None
    for name, uses in state.uses.items():
        if any(at == index for _, at in uses):
            return node.opdef.field(name)
    return None


def operand_span(parsed: ParsedChunk, at: int, name: str) -> tuple[int, int] | None:
    """Return the place of an operand of the operation whose name is a token."""
    state = parsed.states.get(at)
    uses = state.uses.get(name) if state is not None else None
    if not uses:
        return None
    return parsed.tokens.span(uses[0][1])[0], parsed.tokens.span(uses[-1][1])[1]


def kinds(parsed: ParsedChunk) -> list[TokenKind]:
    """Return what each token of a chunk is, except the last, which is empty."""
    toks = parsed.tokens.spelled
    names = {name_after(toks, first) for first in parsed.starts if toks[first][:1] not in ("}", "^", "#", "!", "")}
    return [_kind(token, index in names) for index, token in enumerate(toks[:-1])]


def _kind(token: str, name: bool) -> TokenKind:
    first = token[:1]
    if token == "":
        return TokenKind.ERROR
    if name and (first == '"' or is_word(token)):
        return TokenKind.OPERATION
    match first:
        case "%":
            return TokenKind.VALUE
        case "@":
            return TokenKind.SYMBOL
        case "^":
            return TokenKind.LABEL
        case '"':
            return TokenKind.STRING
        case "#":
            return TokenKind.VALUE if token[1:].isdecimal() else TokenKind.ALIAS
        case "!":
            return TokenKind.TYPE
    if first.isdecimal():
        return TokenKind.NUMBER
    if token in SCALARS or (token[-1:] == ">" and len(token) > 2) or _TYPE_WORDS.match(token):
        return TokenKind.TYPE
    return TokenKind.KEYWORD if is_word(token) else TokenKind.MARK
