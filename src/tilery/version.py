"""Bytecode versions. To add one, append it to SUPPORTED and use it as `since=` in what is new."""

from __future__ import annotations

from .diag import TileError


class Version(tuple[int, int]):
    """A bytecode version, ordered and printed in the usual notation.

    >>> Version(13, 3) > Version(13, 1), str(Version(13, 3))
    (True, '13.3')
    """

    # A NamedTuple would add a millisecond to every start.
    __slots__ = ()

    def __new__(cls, major: int, minor: int) -> Version:
        return super().__new__(cls, (major, minor))

    @property
    def major(self) -> int:
        return self[0]

    @property
    def minor(self) -> int:
        return self[1]

    def __getnewargs__(self) -> tuple[int, int]:
        return self[0], self[1]

    def __repr__(self) -> str:
        return f"Version(major={self.major}, minor={self.minor})"

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"

    @staticmethod
    def parse(text: str | Version) -> Version:
        """Parse `"13.2"`; raise TileError for an unsupported version.

        >>> Version.parse("13.2")
        Version(major=13, minor=2)
        """
        for version in SUPPORTED:
            if text == str(version) or text == version:
                return version
        raise TileError(f"unknown bytecode version {str(text)!r}, supported: {', '.join(map(str, SUPPORTED))}")


V13_1 = Version(13, 1)
V13_2 = Version(13, 2)
V13_3 = Version(13, 3)
V13_4 = Version(13, 4)

SUPPORTED = (V13_1, V13_2, V13_3, V13_4)
LATEST = SUPPORTED[-1]

READ_ONLY = Version(13, 5)
"""A version that is read as far as NVRTC 13.5 showed its layout, and never written. It becomes a module of `LATEST`."""

# The version of the dialect's test-only parts. No file has it, so bytecode always refuses them.
TESTING = Version(250, 0)
