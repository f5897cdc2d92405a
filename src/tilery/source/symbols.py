"""Names of functions as a programmer wrote them, from the symbols that C++ compilers make of them."""

from __future__ import annotations

import re

_SIZE = re.compile(r"\d+")


def function_name(symbol: str) -> str:
    """Return the C++ name of a function without template arguments; a name that is no such symbol stays.

    >>> function_name("_Z4vaddPKfS0_Pf"), function_name("_ZN1a1b5otherEPim"), function_name("extern_c")
    ('vadd', 'a::b::other', 'extern_c')
    >>> function_name("_Z5scaleIfLi64EEvPT_S0_")
    'scale'
    """
    return split_symbol(symbol)[0] or symbol


def split_symbol(symbol: str) -> tuple[str, str]:
    """Return the C++ name that a symbol starts with, and what follows it: E or I, for template arguments, or types."""
    if not symbol.startswith("_Z"):
        return symbol, ""
    nested = symbol.startswith("_ZN")
    parts, at = [], 3 if nested else 2
    while size := _SIZE.match(symbol, at):
        start = size.end()
        at = start + int(size[0][:9])
        parts.append(symbol[start:at])
        if not nested:
            break
    return ("::".join(parts), symbol[at:]) if at <= len(symbol) else ("", "")
