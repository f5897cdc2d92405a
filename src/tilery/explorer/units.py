"""Offsets in a text: Python counts characters, JavaScript counts UTF-16 units."""

from __future__ import annotations

from bisect import bisect_left, bisect_right


class Units:
    """Converts the offsets of one text.

    >>> units = Units("a\\U0001F600b")
    >>> units.out(2), units.into(3)
    (3, 2)
    """

    def __init__(self, text: str) -> None:
        self.length = len(text)
        self.wide = [] if text.isascii() else [at for at, letter in enumerate(text) if letter > "\uffff"]
        self.ends = [at + number + 2 for number, at in enumerate(self.wide)]
        """The offset in units after each character that takes two."""

    def out(self, offset: int) -> int:
        """Return the offset in UTF-16 units."""
        return offset + bisect_left(self.wide, offset) if self.wide else offset

    def into(self, unit: int) -> int:
        """Return the offset in characters; the end of the text if it is shorter."""
        return min(self.length, unit - bisect_right(self.ends, unit) if self.wide else unit)
