"""The function that stands for `breakpoint()` in cuTile kernels. cuTile compiles it, so it is written for cuTile."""

from __future__ import annotations

import cuda.tile as ct


def mark() -> None:
    """Print the mark, see `marks.MARK`."""
    ct.printf("tilery: breakpoint")
