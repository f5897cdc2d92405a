"""Definitions and uses of values in a chunk, by the indices of their tokens. Broken text has them too."""

from __future__ import annotations

from ...ir import Value
from .recover import ParsedChunk
from .tree import name_after


class Names:
    """Which definition each use of a value refers to. Regions are scopes; a use may precede its definition."""

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
        closing = {end: start for start, end in self.parsed.regions.items() if end >= 0}
        scopes: list[dict[str, int]] = [{}]
        waiting: list[list[tuple[str, int]]] = [[]]
        arguments: dict[str, int] = {}
        for index, token in enumerate(toks):
            if token[:1] == "%":
                if index in defined or index in results:
                    self.definition[index] = index
                    if index in results:
                        scopes[-1][token] = index
                        waiting[-1] = self._bind(token, index, waiting[-1])
                    else:
                        arguments[token] = index
                else:
                    waiting[-1].append((token, index))
                    self._look_up(token, index, scopes)
            elif index in self.parsed.regions:
                scopes.append(arguments)
                waiting.append([])
                arguments = {}
            elif index in closing and len(scopes) > 1:
                scopes.pop()
                left = [use for use in waiting.pop() if use[1] not in self.definition]
                waiting[-1] += left

    def _look_up(self, token: str, index: int, scopes: list[dict[str, int]]) -> None:
        for scope in reversed(scopes):
            if token in scope:
                self.definition[index] = scope[token]
                return

    def _bind(self, token: str, index: int, uses: list[tuple[str, int]]) -> list[tuple[str, int]]:
        """Bind uses that came before; return the others."""
        left = []
        for name, use in uses:
            if use in self.definition:
                continue
            if name == token:
                self.definition[use] = index
            else:
                left.append((name, use))
        return left

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
