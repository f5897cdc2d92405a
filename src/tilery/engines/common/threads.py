"""The threads that hold the elements of a tile, which decide the order of reductions and scans."""

from __future__ import annotations

from math import prod

LANES, THREADS = 32, 128


def spread_over_threads(shape: tuple[int, ...], dim: int) -> tuple[int, int, int]:
    """Return over how many elements per thread, warps and lanes a reduced dimension is distributed.

    >>> spread_over_threads((1024,), 0), spread_over_threads((32, 64), 0), spread_over_threads((4, 8, 16), 1)
    ((8, 4, 32), (16, 2, 1), (4, 2, 1))
    """
    size = shape[dim]
    # The other dimensions come first in the order of threads, unless this one varies fastest.
    others = 1 if dim == len(shape) - 1 else prod(shape) // size
    lanes = min(size, max(1, LANES // others))
    warps = min(size // lanes, max(1, THREADS // max(others, LANES)))
    return size // lanes // warps, warps, lanes


def group_size(shape: tuple[int, ...], dim: int) -> int:
    """Return how many neighbours along the scanned dimension the lanes of a warp combine.

    >>> group_size((1024,), 0), group_size((16, 32), 1), group_size((32, 64), 1)
    (32, 2, 1)
    """
    return min(shape[dim], max(1, LANES // prod(shape[:dim])))
