"""Split a text where its functions and other items start, without parsing it.

Only modules contain functions, globals and aliases, so a line that starts with one of them starts a chunk whatever is
wrong before it. A mistake in one function cannot reach the next.
"""

from __future__ import annotations

import re
from functools import cache

from ...declare.fastclass import dataclass
from ...declare.operation import BY_NAME
from ...declare.relations import FUNCTION, SYMBOL_TABLE, TOP_LEVEL
from .. import DIALECT


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a text that is parsed by itself: a function with what follows it, the head of a module, or items."""

    start: int
    end: int
    kind: str
    """function, module or items"""


@cache
def _heads() -> re.Pattern[str]:
    """Return a pattern for the end of a line after which a chunk starts. With `^` it would take twice as long."""
    names = {name: d for name, d in BY_NAME.items() if d.has(TOP_LEVEL)}
    functions = "|".join(re.escape(name) for name, d in names.items() if d.has(FUNCTION))
    modules = "|".join(re.escape(name) for name, d in names.items() if d.has(SYMBOL_TABLE))
    others = "|".join(re.escape(name) for name, d in names.items() if not d.has(FUNCTION) and not d.has(SYMBOL_TABLE))
    prefix = f"(?:{re.escape(DIALECT)})?"
    return re.compile(
        rf"\n[ \t]*+(?:(?P<function>{prefix}(?:{functions}))|(?P<module>(?:builtin\.|{prefix})(?:{modules}))"
        rf"|(?P<items>{prefix}(?:{others})|[#!][\w$.-]++[ \t]*+=))(?![\w$.])"
    )


def split(text: str) -> list[Chunk]:
    """Split a text into chunks, which cover it.

    >>> [(c.kind, c.start) for c in split("#a = 1\\nglobal @g\\nentry @a() {\\n}\\nentry @b() {\\n}\\n")]
    [('items', 0), ('function', 17), ('function', 32)]
    """
    found: list[Chunk] = []
    start, kind = 0, "items"
    for match in _heads().finditer("\n" + text):
        next_kind = match.lastgroup or ""
        if next_kind == "items" == kind:
            continue
        if match.start() > start:
            found.append(Chunk(start, match.start(), kind))
        start, kind = match.start(), next_kind
    found.append(Chunk(start, len(text), kind))
    return found
