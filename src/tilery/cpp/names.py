"""Names of C++ kernels and the symbols that the compiler makes of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from ..source.symbols import split_symbol

UNNAMED = "(anonymous namespace)"
_PRIVATE = re.compile(r"(\d+)(_GLOBAL__N__|_INTERNAL_)[0-9a-f]{8}_")
_SPACE = re.compile(r"\s*([<>,:*&()\[\]])\s*")


def stable_symbol(symbol: str) -> str:
    """Return a symbol without the process in which NVRTC made it: an unnamed namespace as other compilers spell it.

    >>> stable_symbol("_ZN42_GLOBAL__N__00000000_4_a_cu_ec961472_183151kEPf")
    '_ZN12_GLOBAL__N_11kEPf'
    """
    at = 0
    while found := _PRIVATE.search(symbol, at):
        new = "12_GLOBAL__N_1" if found[2] == "_GLOBAL__N__" else ""
        symbol = symbol[: found.start()] + new + symbol[found.start(2) + int(found[1][-6:]) :]
        at = found.start() + len(new)
    return symbol


def plain_name(symbol: str) -> str | None:
    """Return the C++ name of a function that is no template; None if the symbol is one of a template.

    >>> plain_name("_ZN1a1b5otherEPim")
    'a::b::other'
    >>> plain_name("_ZN12_GLOBAL__N_11kEPf")
    '(anonymous namespace)::k'
    >>> plain_name("_Z5scaleIfLi64EEvPT_S0_")
    """
    name, rest = split_symbol(symbol)
    return None if not name or rest.startswith("I") else name.replace("_GLOBAL__N_1", UNNAMED)


def normalized(name: str) -> str:
    """Return a C++ name with its spaces in one way, and without unnamed namespaces.

    >>> normalized("scale < float ,64>") == normalized("scale<float, 64>")
    True
    """
    return _SPACE.sub(r"\1", name.strip().replace(f"{UNNAMED}::", ""))


def name_kernels(symbols: Iterable[str], instances: Mapping[str, str]) -> dict[str, str]:
    """Return the symbols of kernels by their C++ names.

    `instances` are symbols by the names that were asked for. Overloads of one name, and instances without a name,
    have their symbol for a name.
    """
    asked = {symbol: name for name, symbol in instances.items()}
    names = {symbol: asked.get(symbol) or plain_name(symbol) or symbol for symbol in symbols}
    often = Counter(names.values())
    return {name if often[name] == 1 else symbol: symbol for symbol, name in names.items()}
