"""The sizes of families, which are made for several shapes: no multiples of tiles, and different from each other."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of matrix products, of rows, and of sequences."""

    m: int = 70
    n: int = 40
    k: int = 54
    rows: int = 6
    columns: int = 100
    queries: int = 50
    steps: int = 24
    elements: int = 150
    across: tuple[int, int] = (40, 50)
    line: int = 90
    turns: int = 20


SHAPES = (
    Sizes(),
    Sizes(33, 50, 20, 3, 70, 33, 19, 97, (33, 20), 70, 7),
    Sizes(20, 17, 70, 2, 33, 17, 9, 33, (17, 70), 33, 3),
)
_current = [SHAPES[0]]


def use(number: int) -> None:
    """Make programs for one of the shapes from now on."""
    _current[0] = SHAPES[number]


def now() -> Sizes:
    """Return the sizes that programs are made for."""
    return _current[0]
