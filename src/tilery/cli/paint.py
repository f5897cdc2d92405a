"""Colours for what the command prints: functions that add escape sequences to text without control characters."""

from __future__ import annotations

import re
from collections.abc import Callable

from ..text.print.highlight import TYPE, to_ansi

BOLD, RED, GREEN, YELLOW, CYAN, GREY = "1", "31", "32", "33", "36", "90"
TITLE = "1;36"
FIELDS = ("operands", "attributes", "results", "regions")
HEADINGS = (*FIELDS, "rules", "shapes", "element types", "syntax", "example", "bytecode")
"""The headings of the reference of an operation."""

DIFF = {"-": RED, "+": GREEN, "@": CYAN}
_TYPE = re.compile(TYPE, re.X)
_DUMP = re.compile(r"([0-9a-f]{8})(  .{23}  )(.*)")
_INFO = re.compile(r"(\S.*?)(: (?:bytecode|text|other|recorded launch)\b.*|, \d+ operations?)")


def style(code: str, text: str) -> str:
    """Return text in a colour; nothing stays nothing."""
    return f"\x1b[{code}m{text}\x1b[0m" if text else ""


def by_line(paint: Callable[[str], str], text: str) -> str:
    """Paint each line of a text."""
    return "\n".join(map(paint, text.split("\n")))


def diff_line(line: str) -> str:
    """Paint a line of a unified diff.

    >>> diff_line("+return")
    '\\x1b[32m+return\\x1b[0m'
    """
    if line.startswith(("---", "+++", "first difference")):
        return style(BOLD, line)
    return style(DIFF[line[0]], line) if line[:1] in DIFF else line


def dump_line(line: str) -> str:
    """Paint a line of a hexdump: offset, bytes, and what they mean; sections stand out, and what was not read."""
    found = _DUMP.fullmatch(line)
    if found is None:
        return line
    offset, data, meaning = found.groups()
    if re.search(r"\bnot read$|\bunused\b|\bbroken\b", meaning):
        meaning = style(YELLOW, meaning)
    elif meaning == "padding":
        meaning = style(GREY, meaning)
    else:
        meaning = _TYPE.sub(lambda m: style(GREEN, m[0]), meaning) if meaning[:1] == " " else style(TITLE, meaning)
    return style(GREY, offset) + data + meaning


def info_line(line: str) -> str:
    """Paint a line of `tilery info`."""
    if line[:1] in ("", " "):
        name, colon, rest = line.partition(": ")
        labelled = colon and line[2:3] != " "
        head, rest = (style(CYAN, name) + colon, rest) if labelled else ("", line)
        return head + _TYPE.sub(lambda m: style(GREEN, m[0]), rest)
    found = _INFO.fullmatch(line)
    return style(TITLE, found[1]) + found[2] if found is not None else style(TITLE, line)


def ops_text(text: str) -> str:
    """Paint the reference of an operation, or the list of all."""
    first, *lines = text.split("\n")
    name, colon, rest = first.partition(": ")
    out = [style(TITLE, name) + colon + rest]
    heading = first if not colon else ""  # the list starts with a chapter
    for line in lines:
        if line in HEADINGS or (not colon and line[:1] not in ("", " ")):
            heading = line
            out.append(style(TITLE, line))
        elif heading in ("example", "syntax"):
            out.append(to_ansi(line))
        elif heading in FIELDS or not colon:
            out.append(re.sub(r"^  \S+", lambda m: style(BOLD, m[0]), line))
        else:
            out.append(line)
    return "\n".join(out)


def passes_text(text: str) -> str:
    """Paint the list of passes."""
    return re.sub(r"^( *)(\S+)", lambda m: m[1] + style(GREY if m[1] else BOLD, m[2]), text, flags=re.M)
