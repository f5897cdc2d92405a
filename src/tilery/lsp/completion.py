"""Completion and signature help: what may follow, given the operation that is being written."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from ..declare.fields import Field
from ..declare.operation import BY_NAME, OpDef
from ..ops import registered
from ..text.format import AnyOrder, Group, Literal, Piece, Use, literals, pieces_of
from ..text.lexer import tokens as tokens_of
from ..text.lossless.scopes import names_of
from ..text.lossless.tree import mnemonic, name_after
from ..text.parse.state import POISON
from ..types import SCALARS, Type
from .describe import operation_text
from .document import TextDocument
from .protocol import lsp

TRIGGERS = ["%", "@", "#", "!", "<", " "]
_TYPE_HEADS = ("tile<$0>", "ptr<$0>", "token", "tensor_view<$0>", "partition_view<tile=($1), $0>")


class CompletionContext:
    """The statement before the cursor: its tokens, its operation, and the word that is being written."""

    def __init__(self, document: TextDocument, position: lsp.Position) -> None:
        self.document = document
        self.offset = document.lines.offset(position)
        self.part = document.reading.part_at(self.offset)
        if self.offset == self.part.start and self.offset:
            self.part = document.reading.part_at(self.offset - 1)
        parsed = self.part.parsed
        at = self.offset - self.part.start
        spans = parsed.tokens.spans
        started = [s for s in parsed.starts if spans[s][0] < at]
        first = started[-1] if started else 0
        begin = spans[first][0] if started else 0
        line = parsed.text.rfind("\n", 0, at) + 1
        if not parsed.text[line:at].strip() or parsed.tokens.spelled[first] == "}" or "{" in parsed.text[begin:at][-2:]:
            begin = line  # a new statement
        self.text = parsed.text[begin:at]
        self.toks = tokens_of(self.text)[:-1]
        self.word = (
            self.toks[-1] if self.toks and not self.text[-1:].isspace() and self.text[-1:] not in ",:<([" else ""
        )
        if self.text[-1:] in ("%", "@", "#", "!"):
            self.word = self.text[-1]
        self.before = self.toks[:-1] if self.word and self.toks and self.toks[-1] == self.word else self.toks
        padded = [*self.before, "", ""]
        name = name_after(padded, 0)
        self.name = name if name < len(self.before) else -1
        self.opdef = BY_NAME.get(mnemonic(self.before[self.name])) if self.name >= 0 else None
        self.index = parsed.tokens.at(at) + 1
        """the token that the word is, or that a new one would be"""

    @property
    def at_name(self) -> bool:
        """Whether the name of an operation is being written."""
        return self.name < 0 or (self.before[-1:] == ["="] and self.name >= len(self.before))

    @property
    def in_types(self) -> bool:
        """Whether the cursor is after the colon of the statement, or inside a type."""
        tail = self.before[self.name + 1 :]
        depth = 0
        for token in tail:
            depth += (token in ("(", "[", "{", "<")) - (token in (")", "]", "}", ">"))
            if token == ":" and depth == 0:
                return True
        return self.before[-1:] in ([":"], ["->"])


def completion(document: TextDocument, position: lsp.Position) -> lsp.CompletionList:
    """Return what may be written at a position."""
    cursor = CompletionContext(document, position)
    match cursor.word[:1]:
        case "%":
            items = list(_values(cursor))
        case "@":
            items = [_plain(s, lsp.CompletionItemKind.Function) for s in sorted(_symbols(document))]
        case "#" | "!" as sign:
            items = [_plain(a, lsp.CompletionItemKind.Reference) for a in sorted(_aliases(document, sign))]
        case _ if cursor.at_name:
            items = operation_items()
        case _ if cursor.in_types:
            items = list(_types(cursor))
        case _:
            items = list(_words(cursor))
    for item in items:
        item.text_edit = _edit(document, cursor, item)
    return lsp.CompletionList(False, items)


def _edit(document: TextDocument, cursor: CompletionContext, item: lsp.CompletionItem) -> lsp.TextEdit:
    start = cursor.offset - len(cursor.word)
    return lsp.TextEdit(document.lines.range(start, cursor.offset), item.insert_text or item.label)


def _plain(label: str, kind: lsp.CompletionItemKind, detail: str = "", rank: int = 1) -> lsp.CompletionItem:
    return lsp.CompletionItem(label, kind=kind, detail=detail or None, sort_text=f"{rank}{label}", filter_text=label)


# ---------------------------------------------------------------- operations, types, words


@cache
def _operations() -> tuple[tuple[str, str, str], ...]:
    return tuple((d.mnemonic, d.summary, operation_text(d)) for d in sorted(registered(), key=lambda d: d.mnemonic))


def operation_items() -> list[lsp.CompletionItem]:
    """Return an item for each operation."""
    made = []
    for name, summary, text in _operations():
        item = _plain(name, lsp.CompletionItemKind.Function, summary)
        item.documentation = lsp.MarkupContent(lsp.MarkupKind.Markdown, text)
        made.append(item)
    return made


def _types(cursor: CompletionContext) -> Iterator[lsp.CompletionItem]:
    seen = sorted({text for part in cursor.document.reading.parts for text in part.parsed.types if "<" in text})
    for text in seen[:200]:
        yield _plain(text, lsp.CompletionItemKind.Class, "used in this file", 0)
    for text in _TYPE_HEADS:
        item = _plain(text.partition("<")[0], lsp.CompletionItemKind.Class)
        item.insert_text, item.insert_text_format = text, lsp.InsertTextFormat.Snippet
        yield item
    for text in SCALARS:
        yield _plain(text, lsp.CompletionItemKind.Class, "element type", 2)
    yield from (_plain(a, lsp.CompletionItemKind.Reference) for a in sorted(_aliases(cursor.document, "!")))


def _words(cursor: CompletionContext) -> Iterator[lsp.CompletionItem]:
    """Yield the keywords of an operation: words of its enums, and literals of its format."""
    opdef = cursor.opdef
    if opdef is None:
        return
    seen: set[str] = set()
    for f in opdef.attrs:
        for member in f.only or f.enum or ():
            if member.text not in seen:
                seen.add(member.text)
                yield _plain(member.text, lsp.CompletionItemKind.EnumMember, f"{f.name}: {f.doc}", 0)
    for word in sorted(literals(() if opdef.format == "custom" else pieces_of(opdef.cls)) - seen):
        yield _plain(word, lsp.CompletionItemKind.Keyword, f"of {opdef.mnemonic}")


# ---------------------------------------------------------------- values, symbols, aliases


def _values(cursor: CompletionContext) -> Iterator[lsp.CompletionItem]:
    """Yield the values in scope; if the operand's type is known, only those that fit."""
    names = names_of(cursor.part.parsed)
    visible = names.visible(cursor.index)
    found = []
    for name, index in visible.items():
        values = cursor.part.parsed.defined.get(index, [])
        found.append((name, values[0].type if values else POISON))
    wanted = operand_at(cursor)
    exact = _agreeing_type(cursor, wanted) if wanted is not None else None
    for rank, (name, type) in enumerate(reversed(found)):
        fits = wanted is None or type is POISON or (type is exact if exact is not None else wanted.kind.ok(type))
        if fits and name not in cursor.before[: max(cursor.name, 0)]:
            yield lsp.CompletionItem(
                name, kind=lsp.CompletionItemKind.Variable, detail=type.text, sort_text=f"{rank:06}", filter_text=name
            )


def operand_at(cursor: CompletionContext) -> Field | None:
    """Return the operand that is being written: they are counted in the order of the text."""
    opdef = cursor.opdef
    if opdef is None:
        return None
    order = operand_order(opdef)
    count = sum(token[:1] == "%" for token in cursor.before[cursor.name + 1 :])
    for position, f in enumerate(order):
        if f.arity == "var" or position == count:
            return f
    return order[-1] if order and order[-1].arity == "var" else None


def operand_order(opdef: OpDef) -> list[Field]:
    """Return the operands of an operation in the order in which text has them."""
    if opdef.format == "custom":
        return list(opdef.operands)
    return list(_operands(pieces_of(opdef.cls)))


def _operands(pieces: tuple[Piece, ...]) -> Iterator[Field]:
    for piece in pieces:
        match piece:
            case Use("", f) if f.role == "operand":
                yield f
            case Group(inner):
                yield from _operands(inner)


def _agreeing_type(cursor: CompletionContext, wanted: Field) -> Type | None:
    """Return the type of an operand that was written before, if both must have the same one."""
    opdef = cursor.opdef
    assert opdef is not None
    names = names_of(cursor.part.parsed)
    visible = names.visible(cursor.index)
    written = [token for token in cursor.before[cursor.name + 1 :] if token[:1] == "%"]
    for f, token in zip(operand_order(opdef), written):
        same = any(rule.what == "type" and {f.name, wanted.name} <= set(rule.names) for rule in opdef.rules)
        values = cursor.part.parsed.defined.get(visible.get(token, -1), [])
        if same and values and values[0].type is not POISON:
            return values[0].type
    return None


def _symbols(document: TextDocument) -> set[str]:
    ops = [o for part in document.reading.parts for block in part.parsed.blocks for o in block.ops]
    return {f"@{name}" for o in ops if (name := getattr(o, "sym_name", None))}


def _aliases(document: TextDocument, sign: str) -> set[str]:
    context = document.reading.parts[-1].parsed.context
    return {sign + name for name in (context.aliases if sign == "#" else context.type_aliases)}


# ---------------------------------------------------------------- signature help


def signature_help(document: TextDocument, position: lsp.Position) -> lsp.SignatureHelp | None:
    """Return the form of the operation that is being written, with the operand at the cursor."""
    cursor = CompletionContext(document, position)
    opdef = cursor.opdef
    if opdef is None:
        return None
    parts: list[tuple[str, Field | None]] = [(opdef.mnemonic, None)]
    if opdef.format == "custom":
        parts += [(f.name, f) for f in opdef.operands]
    else:
        parts += list(_parts(pieces_of(opdef.cls)))
    label, active = "", None
    parameters: list[lsp.ParameterInformation] = []
    wanted = operand_at(cursor)
    for text, f in parts:
        label += " " * bool(label and text not in (",", "]", ")", ">")) + text
        if f is not None and f.role in ("operand", "attr"):
            if f is wanted and active is None and not cursor.in_types:
                active = len(parameters)
            start = len(label) - len(text)
            parameters.append(lsp.ParameterInformation((start, len(label)), f.doc))
    info = lsp.SignatureInformation(label, opdef.summary, parameters, active)
    return lsp.SignatureHelp([info], 0, active)


def _parts(pieces: tuple[Piece, ...]) -> Iterator[tuple[str, Field | None]]:
    for piece in pieces:
        match piece:
            case Literal(text):
                yield text, None
            case Use("", f) if f.role == "operand":
                yield f"%{f.name}" + ("…" if f.arity == "var" else ""), f
            case Use("type" | "index-types" | "splat", f):
                yield f"type({f.name})", None
            case Use(_, f):
                yield f.name, f
            case Group(inner):
                yield "[", None
                yield from _parts(inner)
                yield "]", None
            case AnyOrder(groups):
                for group in groups:
                    yield "[", None
                    yield from _parts(group.pieces)
                    yield "]", None
