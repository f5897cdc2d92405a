"""Definitions, references, renaming, the outline, folding."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lsprotocol import types as lsp

from ..declare.relations import SYMBOL
from ..text.lossless.reading import PlacedChunk
from ..text.lossless.scopes import names_of
from ..text.lossless.tokens import comments_in
from ..text.lossless.tree import Node, TokenKind
from .describe import signature_of
from .document import TextDocument, TextPlace, part_nodes

_NAMES = {
    TokenKind.VALUE: re.compile(r"%?([0-9]+|[A-Za-z$._-][A-Za-z0-9$._-]*)\Z"),
    TokenKind.SYMBOL: re.compile(r"@?([A-Za-z_][A-Za-z0-9_$.]*)\Z"),
    TokenKind.ALIAS: re.compile(r"#?([A-Za-z_][A-Za-z0-9_$-]*)\Z"),
    TokenKind.TYPE: re.compile(r"!?([A-Za-z_][A-Za-z0-9_$-]*)\Z"),
}
"""The names that a token of a kind may get."""

Found = tuple[PlacedChunk, int]
"""A token of a part."""


def definition(document: TextDocument, position: lsp.Position) -> lsp.Location | None:
    """Return where the thing under the cursor is defined."""
    place = document.place(position)
    found = None if place is None else definition_of(document, place)
    return None if found is None else lsp.Location(document.uri, document.range(*found))


def definition_of(document: TextDocument, place: TextPlace) -> Found | None:
    if place.kind is TokenKind.VALUE:
        target = names_of(place.parsed).definition.get(_base(place))
        return None if target is None else (place.part, target)
    if place.kind is TokenKind.SYMBOL:
        return next((found for found in _symbol_definitions(document) if _token(found) == place.token), None)
    if _is_alias(place):
        return next((found for found in _aliases(document) if _token(found) == place.token), None)
    return None


def _base(place: TextPlace) -> int:
    """Return the token of the name: `#1` in `%a#1` belongs to the token before."""
    return place.index - 1 if place.token[:1] == "#" else place.index


def _is_alias(place: TextPlace) -> bool:
    return place.kind is TokenKind.ALIAS or (
        place.kind is TokenKind.TYPE and place.token[:1] == "!" and "." not in place.token
    )


def _token(found: Found) -> str:
    return found[0].parsed.tokens.spelled[found[1]]


def _symbol_definitions(document: TextDocument) -> Iterator[Found]:
    for part in document.reading.parts:
        for node in part_nodes(part):
            if node.opdef is not None and node.opdef.has(SYMBOL):
                toks = part.parsed.tokens.spelled
                for index in range(node.name + 1, min(node.name + 4, len(toks))):
                    if toks[index][:1] == "@":
                        yield part, index
                        break


def _aliases(document: TextDocument) -> Iterator[Found]:
    for part in document.reading.parts:
        toks = part.parsed.tokens.spelled
        yield from ((part, index) for index in part.parsed.starts if toks[index][:1] in ("#", "!"))


def occurrences(document: TextDocument, place: TextPlace) -> list[Found]:
    """Return every token that means the same as one."""
    if place.kind is TokenKind.VALUE:
        names = names_of(place.parsed)
        target = names.definition.get(_base(place))
        return [] if target is None else [(place.part, index) for index in sorted(names.uses(target))]
    if place.kind is not TokenKind.SYMBOL and not _is_alias(place):
        return []
    token = place.token
    return [
        (part, index)
        for part in document.reading.parts
        for index, each in enumerate(part.parsed.tokens.spelled)
        if each == token
    ]


def references(document: TextDocument, position: lsp.Position, declaration: bool) -> list[lsp.Location]:
    """Return where the thing under the cursor is used."""
    place = document.place(position)
    if place is None:
        return []
    target = None if declaration else definition_of(document, place)
    found = [each for each in occurrences(document, place) if each != target]
    return [lsp.Location(document.uri, document.range(*each)) for each in found]


def highlights(document: TextDocument, position: lsp.Position) -> list[lsp.DocumentHighlight]:
    return [lsp.DocumentHighlight(each.range) for each in references(document, position, True)]


class CannotRename(Exception):
    """Why a name cannot be changed."""


def prepare_rename(document: TextDocument, position: lsp.Position) -> lsp.Range | None:
    """Return the name that would be changed, None if there is none."""
    place = document.place(position)
    if place is None or not occurrences(document, place):
        return None
    return document.range(place.part, _base(place) if place.kind is TokenKind.VALUE else place.index)


def rename(document: TextDocument, position: lsp.Position, name: str) -> lsp.WorkspaceEdit:
    """Change a name everywhere. Raise CannotRename if the new one is not a name, or is taken."""
    place = document.place(position)
    found = [] if place is None else occurrences(document, place)
    if place is None or not found:
        raise CannotRename("there is nothing to rename here")
    match = _NAMES[place.kind].match(name)
    sign = _token(found[0])[0]
    if match is None:
        raise CannotRename(f"'{name}' cannot be the name of a {place.kind.value}")
    new = sign + match[1]
    if new != _token(found[0]) and _taken(document, place, new):
        raise CannotRename(f"'{new}' is already defined")
    edits = [lsp.TextEdit(document.range(*each), new) for each in found]
    return lsp.WorkspaceEdit({document.uri: edits})


def _taken(document: TextDocument, place: TextPlace, name: str) -> bool:
    if place.kind is TokenKind.VALUE:  # also in a region inside, which would hide it
        return name in place.parsed.tokens.spelled
    return any(name in part.parsed.tokens.spelled for part in document.reading.parts)


# ---------------------------------------------------------------- outline and folding


def outline(document: TextDocument) -> list[lsp.DocumentSymbol]:
    """Return functions and globals, and the operations with regions inside functions."""
    return [
        symbol
        for part in document.reading.parts
        for node in part_nodes(part)
        if (symbol := _symbol(document, part, node)) is not None
    ]


def _symbol(document: TextDocument, part: PlacedChunk, root: Node) -> lsp.DocumentSymbol | None:
    made: dict[Node, lsp.DocumentSymbol] = {}
    todo = [root]
    while todo:
        node = todo.pop()
        symbol = _one_symbol(document, part, node)
        if symbol is not None:
            made[node] = symbol
            owner = node.parent
            while owner is not None and owner not in made:
                owner = owner.parent
            if owner is not None:
                children = made[owner].children
                assert isinstance(children, list)
                children.append(symbol)
        todo += reversed(node.children)
    return made.get(root)


def _one_symbol(document: TextDocument, part: PlacedChunk, node: Node) -> lsp.DocumentSymbol | None:
    toks = part.parsed.tokens.spelled
    opdef = node.opdef
    if opdef is None or not (opdef.regions or opdef.has(SYMBOL)):
        return None
    name = next((t for t in toks[node.name + 1 : node.name + 4] if t[:1] == "@"), "")
    results = " ".join(toks[i] for i in node.results if toks[i][:1] == "%")
    kind = (
        lsp.SymbolKind.Function
        if opdef.regions and name
        else lsp.SymbolKind.Constant
        if name
        else lsp.SymbolKind.Object
    )
    if opdef.mnemonic == "module":
        kind = lsp.SymbolKind.Module
    detail = signature_of(node.op) if name and node.op is not None else opdef.mnemonic
    last = max(node.first, node.end - 1)
    return lsp.DocumentSymbol(
        name or results or opdef.mnemonic, kind, document.range(part, node.first, last),
        document.range(part, node.name), detail, children=[],
    )  # fmt: skip


def folds(document: TextDocument) -> list[lsp.FoldingRange]:
    """Return regions, and comments of several lines."""
    found: list[lsp.FoldingRange] = []
    for part in document.reading.parts:
        spans = part.parsed.tokens.spans if part.parsed.regions else []
        for start, end in part.parsed.regions.items():
            if end < 0:
                continue
            first = document.lines.position(part.start + spans[start][0]).line
            last = document.lines.position(part.start + spans[end][0]).line - 1
            if last > first:
                found.append(lsp.FoldingRange(first, last, kind=lsp.FoldingRangeKind.Region))
        opened = part.parsed.opened
        if opened is not None:
            first = document.lines.position(part.start + part.parsed.tokens.spans[opened.opened][0]).line
            last = document.lines.position(len(document.text.rstrip())).line - 1
            if last > first:
                found.append(lsp.FoldingRange(first, last, kind=lsp.FoldingRangeKind.Region))
    return found + list(_comment_folds(document))


def _comment_folds(document: TextDocument) -> Iterator[lsp.FoldingRange]:
    start = last = -2
    for part in document.reading.parts:
        tokens = part.parsed.tokens
        if "//" not in part.parsed.text:
            continue
        for index in range(len(tokens.spelled)):
            begin = tokens.spans[index - 1][1] if index else 0
            for comment in comments_in(part.parsed.text, begin, tokens.spans[index][0]):
                row = document.lines.position(part.start + comment.start).line
                if not comment.own:
                    continue
                if row != last + 1:
                    if last > start:
                        yield lsp.FoldingRange(start, last, kind=lsp.FoldingRangeKind.Comment)
                    start = row
                last = row
    if last > start:
        yield lsp.FoldingRange(start, last, kind=lsp.FoldingRangeKind.Comment)
