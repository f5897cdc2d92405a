"""Semantic tokens, and the types of values as inlay hints."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from lsprotocol import types as lsp

from ..manual.describe import enums
from ..text.lossless.reading import PlacedChunk
from ..text.lossless.scopes import names_of
from ..text.lossless.tokens import comments_in
from ..text.lossless.tree import TokenKind
from ..text.parse.state import POISON
from .document import TextDocument, token_kinds

LEGEND = lsp.SemanticTokensLegend(
    ["function", "variable", "parameter", "class", "macro", "label", "type", "keyword", "enumMember", "number",
     "string", "comment"],
    ["declaration"],
)  # fmt: skip
_TYPES = {
    TokenKind.OPERATION: "function",
    TokenKind.VALUE: "variable",
    TokenKind.SYMBOL: "class",
    TokenKind.ALIAS: "macro",
    TokenKind.LABEL: "label",
    TokenKind.TYPE: "type",
    TokenKind.KEYWORD: "keyword",
    TokenKind.NUMBER: "number",
    TokenKind.STRING: "string",
}
Shown = tuple[int, int, str, bool]
"""The start and end of a token in the text, its type, and whether it declares something."""


def semantic_tokens(document: TextDocument, range: lsp.Range | None = None) -> lsp.SemanticTokens:
    """Return the tokens of a document, or of a range, in the encoding of the protocol."""
    lines = document.lines
    low = 0 if range is None else lines.offset(range.start)
    high = len(document.text) if range is None else lines.offset(range.end)
    data: list[int] = []
    row = column = 0
    numbers = {name: number for number, name in enumerate(LEGEND.token_types)}
    for start, end, name, declares in _tokens(document, low, high):
        position = lines.position(start)
        length = end - start if lines.plain else lines.position(end).character - position.character
        if length <= 0:
            continue  # a type over several lines
        if position.line != row:
            data += [position.line - row, position.character]
        else:
            data += [0, position.character - column]
        data += [length, numbers[name], int(declares)]
        row, column = position.line, position.character
    return lsp.SemanticTokens(data)


def _tokens(document: TextDocument, low: int, high: int) -> Iterator[Shown]:
    for part in document.reading.parts:
        if part.end >= low and part.start <= high:
            yield from _part_tokens(part, low - part.start, high - part.start)


def _part_tokens(part: PlacedChunk, low: int, high: int) -> Iterator[Shown]:
    parsed = part.parsed
    found, spans, text = token_kinds(part), parsed.tokens.spans, parsed.text
    defined, arguments = parsed.defined, _arguments(part)
    names = names_of(parsed)
    first = max(0, parsed.tokens.at(low))
    has_comments = "//" in text
    end = spans[first - 1][1] if first else 0
    for index in range(first, len(spans)):
        start, stop = spans[index]
        if has_comments:
            for comment in comments_in(text, end, start):
                yield part.start + comment.start, part.start + comment.end, "comment", False
        end = stop
        if start > high or index >= len(found):
            return
        name = _TYPES.get(found[index])
        if name is None:
            continue
        if found[index] is TokenKind.VALUE and names.definition.get(index) in arguments:
            name = "parameter"
        elif found[index] is TokenKind.KEYWORD and parsed.tokens.spelled[index] in _enum_words():
            name = "enumMember"
        yield part.start + start, part.start + stop, name, index in defined


def _arguments(part: PlacedChunk) -> set[int]:
    """Return the tokens that define arguments of regions."""
    return {index for index, values in part.parsed.defined.items() if values and hasattr(values[0].owner, "ops")}


@cache
def _enum_words() -> frozenset[str]:
    return frozenset(member.text for enum in enums() for member in enum)


def inlay_hints(document: TextDocument, range: lsp.Range) -> list[lsp.InlayHint]:
    """Return the types of the values that are defined in a range, unless the text says them right there."""
    low, high = document.lines.offset(range.start), document.lines.offset(range.end)
    made: list[lsp.InlayHint] = []
    for part in document.reading.parts:
        if part.end < low or part.start > high:
            continue
        parsed = part.parsed
        toks, spans = parsed.tokens.spelled, parsed.tokens.spans
        for index, values in parsed.defined.items():
            end = part.start + spans[index][1]
            shown = toks[index + 1] == ":" and not toks[index + 2].isdecimal()
            if shown or not low <= end <= high or values[0].type is POISON:
                continue
            label = ", ".join(value.type.text for value in values[:4]) + ", …" * (len(values) > 4)
            made.append(
                lsp.InlayHint(document.lines.position(end), f": {label}", lsp.InlayHintKind.Type, padding_right=False)
            )
    return sorted(made, key=lambda hint: (hint.position.line, hint.position.character))
