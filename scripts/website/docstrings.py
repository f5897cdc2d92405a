"""Docstrings for Sphinx: they are written in the Markdown of the guides, and Sphinx reads reStructuredText."""

from __future__ import annotations

import re
from collections.abc import Iterator

CODE = re.compile(r"`([^`]+)`")
SPECIAL = re.compile(r"([*|\\]|(?<=\w)_(?=\W|$))")
LISTED = re.compile(r"(\s*)([-*]|\d+\.)\s")


def as_rst(lines: list[str]) -> list[str]:
    """Return the lines of a docstring as reStructuredText: code in backticks, literal blocks and doctests survive.

    >>> as_rst(["Use `a*b`, not *c*.", "", ">>> 1", "1"])
    ['Use ``a*b``, not \\\\*c\\\\*.', '', '>>> 1', '1']
    """
    return list(_blocks(lines))


def _blocks(lines: list[str]) -> Iterator[str]:
    doctest = literal = False
    for number, line in enumerate(lines):
        if not line.strip():
            doctest = False
            yield line
            continue
        doctest = doctest or line.lstrip().startswith(">>>")
        indented = line.startswith("    ")
        if indented and not doctest and not literal and (not number or not lines[number - 1].strip()):
            yield "::"
            yield ""
        literal = indented and not doctest
        if doctest or literal:
            yield line
            continue
        listed = LISTED.match(line)
        if listed and number and lines[number - 1].strip() and not LISTED.match(lines[number - 1]):
            yield ""  # a list needs an empty line before it
        yield (listed[0] if listed else "") + _inline(line[listed.end() :] if listed else line)


def _inline(text: str) -> str:
    parts = CODE.split(text)
    return "".join(f"``{part}``" if number % 2 else SPECIAL.sub(r"\\\1", part) for number, part in enumerate(parts))
