"""Comments that suppress findings: `// lint: ignore[dead-store]` on a line, or alone on the line before it.

>>> ignored("%0 = iota : tile<8xi32>  // lint: ignore[unused-value, dead-store]") == {"unused-value", "dead-store"}
True
>>> "any-rule" in ignored("x = ct.load(a, (0,), (4,))  # lint: ignore")
True
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container

_COMMENT = re.compile(r"(?://|#)\s*lint:\s*ignore\b(?:\s*\[([^\]]*)\])?")
_ALONE = re.compile(r"\s*(?://|#)")


class _All(frozenset[str]):
    """Every rule."""

    def __contains__(self, rule: object) -> bool:
        return True


def ignored(line: str) -> Container[str]:
    """Return the rules that the comments on a line suppress."""
    names: set[str] = set()
    for found in _COMMENT.finditer(line):
        if found[1] is None:
            return _All()
        names |= {name.strip() for name in found[1].split(",")}
    return names


def is_suppressed(rule: str, number: int, line: Callable[[int], str]) -> bool:
    """Return whether a rule is suppressed on a line. `line` returns a line by its number, from one on."""
    if rule in ignored(line(number)):
        return True
    while number > 1 and _ALONE.match(above := line(number - 1)):
        if rule in ignored(above):
            return True
        number -= 1
    return False


def with_comment(line: str, rule: str, mark: str = "//") -> str:
    """Return a line with a comment that suppresses a rule; a comment that suppresses others gets one more name.

    >>> with_comment("return  // lint: ignore[a]", "b")
    'return  // lint: ignore[a, b]'
    """
    found = _COMMENT.search(line)
    if found is not None and found[1] is not None:
        return f"{line[: found.end(1)]}, {rule}{line[found.end(1) :]}"
    return f"{line.rstrip()}  {mark} lint: ignore[{rule}]"
