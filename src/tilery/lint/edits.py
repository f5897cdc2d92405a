"""Fixes as edits of the text that a module was read from."""

from __future__ import annotations

import re

from ..ir import Op, Value
from ..text.lossless.format import TextChange
from ..text.lossless.reading import PlacedChunk, Reading
from .rule import AddToken, Finding, RemoveOp, ReplaceWord

_BEFORE_TYPES = {"optimization_hints", "inbounds", ":", "{"}
"""Words that may follow the token operand of an access."""


def edit_for(finding: Finding, reading: Reading) -> TextChange | None:
    """Return the edit that makes the fix of a finding in the module of a reading; None if there is none."""
    part = next((part for part in reading.parts if finding.op in part.parsed.extents), None)
    if finding.fix is None or part is None:
        return None
    match finding.fix.change:
        case ReplaceWord(old=old, new=new):
            return _replace(part, finding.op, old, new)
        case AddToken(token=token):
            return _add_token(part, finding.op, token)
        case RemoveOp():
            return _remove(part, finding.op)


def apply(text: str, edits: list[TextChange]) -> str:
    """Return a text after edits; of those that overlap, only the first is made."""
    done: list[str] = []
    at = 0
    for edit in sorted(edits, key=lambda edit: edit.start):
        if edit.start >= at:
            done += [text[at : edit.start], edit.text]
            at = edit.end
    return "".join([*done, text[at:]])


def _own_span(part: PlacedChunk, o: Op) -> tuple[int, int]:
    """The text of an operation from its name to its end."""
    name, end = part.parsed.extents[o]
    span = part.parsed.tokens.span
    return part.start + span(name)[0], part.start + span(end - 1)[1]


def _replace(part: PlacedChunk, o: Op, old: str, new: str) -> TextChange | None:
    start, end = _own_span(part, o)
    words = [rf"\b{word}\b" if word[0].isalnum() else re.escape(word) for word in re.findall(r"\w+|[^\w\s]", old)]
    blank = "" if new else r"\s*"
    found = re.search(blank + r"\s*".join(words), part.parsed.text[start - part.start : end - part.start])
    return None if found is None else TextChange(start + found.start(), start + found.end(), new)


def _add_token(part: PlacedChunk, o: Op, token: Value) -> TextChange | None:
    toks = part.parsed.tokens
    name, end = part.parsed.extents[o]
    spelled = _name(part, token)
    at = next((i for i in range(name + 1, end) if toks.spelled[i] in _BEFORE_TYPES), None)
    if at is None or spelled is None:
        return None
    place = part.start + toks.span(at - 1)[1]
    return TextChange(place, place, f" token={spelled}")


def _name(part: PlacedChunk, value: Value) -> str | None:
    """How the text calls a value."""
    for index, values in part.parsed.defined.items():
        for number, each in enumerate(values):
            if each is value:
                spelled = part.parsed.tokens.spelled[index]
                return spelled if len(values) == 1 else f"{spelled}#{number}"
    return None


def _remove(part: PlacedChunk, o: Op) -> TextChange | None:
    """Remove an operation with its results, and its line if nothing else is on it."""
    name, end = part.parsed.extents[o]
    first = max((start for start in part.parsed.starts if start <= name), default=name)
    text, span = part.parsed.text, part.parsed.tokens.span
    start, stop = span(first)[0], span(end - 1)[1]
    line = text.rfind("\n", 0, start) + 1
    after = text.find("\n", stop)
    if not text[line:start].strip() and after >= 0 and not text[stop:after].strip():
        start, stop = line, after + 1
    return TextChange(part.start + start, part.start + stop, "")
