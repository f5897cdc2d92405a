"""Definitions and uses of values in a chunk, by the indices of their tokens. Broken text has them too."""

from __future__ import annotations

from ...ir import Value
from .recover import ParsedChunk
from .tree import name_after

Waiting = dict[str, list[int]]
"""Uses of names that are not defined yet."""


def _merged(inner: Waiting, outer: Waiting) -> Waiting:
    """Merge the smaller of two into the larger one, so that deep nesting does not move a use each time."""
    small, large = sorted((inner, outer), key=len)
    for name, uses in small.items():
        few, many = sorted((uses, large.get(name, [])), key=len)
        many += few
        large[name] = many
    return large


class Names:
    """The definition that each use of a value refers to. Regions are scopes; a use may precede its definition."""

    def __init__(self, parsed: ParsedChunk) -> None:
        self.parsed = parsed
        self.definition: dict[int, int] = {}
        """for each use, and each definition, the token of the definition"""
        self.scopes: list[tuple[int, int]] = []
        """the tokens of regions with definitions inside: after the opening brace, and the closing one"""
        self._resolve()

    def _resolve(self) -> None:
        toks, defined = self.parsed.tokens.spelled, self.parsed.defined
        results = self._results()
        closing = {end for end in self.parsed.regions.values() if end >= 0}
        visible: dict[str, list[int]] = {}  # the definitions of each name, the innermost last
        scopes: list[list[str]] = [[]]  # the names that each open region defines
        waiting: list[Waiting] = [{}]  # uses that precede their definitions, by region
        arguments: dict[str, int] = {}
        for index, token in enumerate(toks):
            if token[:1] == "%":
                if index in results:
                    self.definition[index] = index
                    scopes[-1].append(token)
                    visible.setdefault(token, []).append(index)
                    self.definition.update(dict.fromkeys(waiting[-1].pop(token, ()), index))
                elif index in defined:
                    self.definition[index] = index
                    arguments[token] = index
                elif found := visible.get(token):
                    self.definition[index] = found[-1]
                else:
                    waiting[-1].setdefault(token, []).append(index)
            elif index in self.parsed.regions:
                scopes.append(list(arguments))
                waiting.append({})
                for name, place in arguments.items():
                    visible.setdefault(name, []).append(place)
                arguments = {}
            elif index in closing and len(scopes) > 1:
                for name in scopes.pop():
                    visible[name].pop()
                waiting.append(_merged(waiting.pop(), waiting.pop()))

    def uses(self, definition: int) -> list[int]:
        """Return all tokens that mean the value which a token defines, itself included."""
        return [index for index, target in self.definition.items() if target == definition]

    def value(self, index: int) -> Value | None:
        """Return the value that a token means."""
        target = self.definition.get(index)
        values = self.parsed.defined.get(target, []) if target is not None else []
        toks = self.parsed.tokens.spelled
        number = toks[index + 1][1:] if toks[index + 1][:1] == "#" and toks[index + 1][1:].isdecimal() else "0"
        return values[int(number)] if int(number[:6]) < len(values) else None

    def visible(self, at: int) -> dict[str, int]:
        """Return the names that a new token at an index can use, with the tokens that define them."""
        toks, defined = self.parsed.tokens.spelled, self.parsed.defined
        results = self._results()
        closing = {end for end in self.parsed.regions.values() if end >= 0}
        scopes: list[dict[str, int]] = [{}]
        arguments: dict[str, int] = {}
        for index, token in enumerate(toks[:at]):
            if token[:1] == "%" and index in results:
                scopes[-1][token] = index
            elif token[:1] == "%" and index in defined:
                arguments[token] = index
            elif index in self.parsed.regions:
                scopes.append(arguments)
                arguments = {}
            elif index in closing and len(scopes) > 1:
                scopes.pop()
        return {name: index for scope in scopes for name, index in scope.items()}

    def _results(self) -> set[int]:
        """Return the tokens before the `=` of statements."""
        toks = self.parsed.tokens.spelled
        firsts = [first for first in self.parsed.starts if toks[first][:1] == "%"]
        return {index for first in firsts for index in range(first, name_after(toks, first))}


def names_of(parsed: ParsedChunk) -> Names:
    """Return the names of a chunk, which are computed once."""
    found: Names | None = parsed.__dict__.get("_names")
    if found is None:
        found = parsed.__dict__["_names"] = Names(parsed)
    return found
