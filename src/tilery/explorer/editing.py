"""Hover, completion and formatting of a text, by the functions of the language server."""

from __future__ import annotations

from typing import Any

from ..lsp import completion, describe
from ..lsp.protocol import lsp
from ..text.lossless.format import format_text
from .documents import Opened

MAX_ITEMS = 500
"""The most completions in one response."""


def hover(opened: Opened, at: int) -> dict[str, Any]:
    """Describe the token at an offset, as Markdown."""
    lines = opened.document.lines
    found = describe.hover(opened.document, lines.position(opened.units.into(at)))
    if found is None or not isinstance(found.contents, lsp.MarkupContent) or found.range is None:
        return {"markdown": ""}
    span = [opened.units.out(lines.offset(p)) for p in (found.range.start, found.range.end)]
    return {"markdown": found.contents.value, "start": span[0], "end": span[1]}


def complete(opened: Opened, at: int) -> dict[str, Any]:
    """List what may be written at an offset, best first."""
    lines = opened.document.lines
    items = completion.completion(opened.document, lines.position(opened.units.into(at))).items
    items = sorted(items, key=lambda item: item.sort_text or item.label)[:MAX_ITEMS]
    start = at
    if items and isinstance(items[0].text_edit, lsp.TextEdit):
        start = opened.units.out(lines.offset(items[0].text_edit.range.start))
    return {"from": start, "items": [_item(item) for item in items]}


def _item(item: lsp.CompletionItem) -> dict[str, Any]:
    snippet = item.insert_text_format is lsp.InsertTextFormat.Snippet
    kind = "" if item.kind is None else lsp.CompletionItemKind(item.kind).name.lower()
    text = item.insert_text or item.label
    return {"label": item.label, "kind": kind, "detail": item.detail or "", "text": text, "snippet": snippet}


def formatted(opened: Opened) -> dict[str, Any]:
    """Lay out the text anew; one with errors stays as it is where they are."""
    return {"text": format_text(opened.text)}
