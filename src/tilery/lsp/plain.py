"""The types of the protocol that the functions of this package return, as plain data, for where lsprotocol is missing.

The explorer uses them: it needs no more than NumPy. The names and the order of the fields are the protocol's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import Any


@dataclass(frozen=True, order=True)
class Position:
    line: int
    character: int


@dataclass(frozen=True)
class Range:
    start: Position
    end: Position


@dataclass
class Location:
    uri: str
    range: Range


class MarkupKind(Enum):
    PlainText = "plaintext"
    Markdown = "markdown"


@dataclass
class MarkupContent:
    kind: MarkupKind
    value: str


@dataclass
class Hover:
    contents: MarkupContent
    range: Range | None = None


@dataclass
class TextDocumentContentChangePartial:
    range: Range
    text: str


@dataclass
class TextEdit:
    range: Range
    new_text: str


class DiagnosticSeverity(IntEnum):
    Error, Warning, Information, Hint = range(1, 5)


@dataclass
class DiagnosticRelatedInformation:
    location: Location
    message: str


@dataclass
class Diagnostic:
    range: Range
    message: str
    severity: DiagnosticSeverity | None = None
    code: str | None = None
    source: str | None = None
    related_information: list[DiagnosticRelatedInformation] | None = None
    data: Any = None


class InsertTextFormat(IntEnum):
    PlainText, Snippet = 1, 2


class CompletionItemKind(IntEnum):
    Function, Variable, Class, Keyword, Reference, EnumMember = 3, 6, 7, 14, 18, 20


@dataclass
class CompletionItem:
    label: str
    kind: CompletionItemKind | None = None
    detail: str | None = None
    documentation: MarkupContent | None = None
    sort_text: str | None = None
    filter_text: str | None = None
    insert_text: str | None = None
    insert_text_format: InsertTextFormat | None = None
    text_edit: TextEdit | None = None


@dataclass
class CompletionList:
    is_incomplete: bool
    items: list[CompletionItem]


@dataclass
class ParameterInformation:
    label: tuple[int, int]
    documentation: str = ""


@dataclass
class SignatureInformation:
    label: str
    documentation: str = ""
    parameters: list[ParameterInformation] = field(default_factory=list)
    active_parameter: int | None = None


@dataclass
class SignatureHelp:
    signatures: list[SignatureInformation]
    active_signature: int = 0
    active_parameter: int | None = None


@dataclass
class Command:
    title: str
    command: str
    arguments: list[Any] | None = None


@dataclass
class CodeLens:
    range: Range
    command: Command | None = None
