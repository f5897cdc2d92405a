"""Names of C++ kernels and the symbols that the compiler makes of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from ..source.symbols import split_symbol

_SPACE = re.compile(r"\s*([<>,:*&()\[\]])\s*")


def plain_name(symbol: str) -> str | None:
    """Return the C++ name of a function that is no template; None if the symbol is one of a template.

    >>> plain_name("_ZN1a1b5otherEPim")
    'a::b::other'
    >>> plain_name("_Z5scaleIfLi64EEvPT_S0_")
    """
    name, rest = split_symbol(symbol)
    return None if not name or rest.startswith("I") else name


def normalized(name: str) -> str:
    """Return a C++ name with its spaces in one way.

    >>> normalized("scale < float ,64>") == normalized("scale<float, 64>")
    True
    """
    return _SPACE.sub(r"\1", name.strip())


def name_kernels(symbols: Iterable[str], instances: Mapping[str, str]) -> dict[str, str]:
    """Return the symbols of kernels by their C++ names.

    `instances` are symbols by the names that were asked for. Overloads of one name, and instances without a name,
    have their symbol for a name.
    """
    asked = {symbol: name for name, symbol in instances.items()}
    names = {symbol: asked.get(symbol) or plain_name(symbol) or symbol for symbol in symbols}
    often = Counter(names.values())
    return {name if often[name] == 1 else symbol: symbol for symbol, name in names.items()}
