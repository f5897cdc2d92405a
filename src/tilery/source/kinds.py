"""Kinds of text that people pass by mistake, told apart by how they look."""

from __future__ import annotations

import re

LOOKS = {
    "Markdown": r"\A\s*#{1,6} \S|^```",
    "Python": r'\A\s*"""|^(?:import [\w.]+|from [\w.]+ import |(?:async )?def \w+\(|class \w+\b.*:$)',
    "C++": r"^[ \t]*#[ \t]*(?:include|pragma|define|ifndef|ifdef)\b|^__tile_global__ ",
    "PTX": r"^\.version \d",
    "LLVM IR": r"^(?:target (?:triple|datalayout) =|define .*\) .*\{$|; ModuleID)",
    "JSON": r'\A\s*[{\[]\s*(?:["{\[\]}]|-?\d)',
    "TOML": r"^\[[\w.-]+\]$",
    "HTML or XML": r"\A\s*<(?:!DOCTYPE|\?xml|html|svg)\b",
}
"""Patterns of texts of other kinds."""
MAX_LOOK = 20_000
"""The number of characters that are looked at."""


def looks_like(text: str) -> str:
    """Return what a text that is not Tile IR looks like, or an empty string.

    >>> looks_like("# Title\\n\\nSome text."), looks_like("entry @k() { retrun }")
    ('Markdown', '')
    """
    start = text[:MAX_LOOK]
    return next((kind for kind, look in LOOKS.items() if re.search(look, start, re.M)), "")
