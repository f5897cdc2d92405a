"""The parts of a case: its memory, the values of its kernel, and how they are spelled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .elements import Array

SCALAR = ()
Shape = tuple[int, ...]


class Part(NamedTuple):
    """An argument: some elements of a region of memory, from `start` on."""

    region: int
    start: int
    length: int
    item: int


@dataclass(slots=True)
class Case:
    """A kernel, its grid, its memory, and how its results may differ from those of the reference engine."""

    text: str
    grid: tuple[int, int, int]
    regions: list[Array]
    args: list[Part | int]
    bounds: dict[int, tuple[str, Array]] = field(default_factory=dict)
    """Without `exact`, regions of this element type may differ by so much."""
    gpu: bool = True
    """Whether a GPU has one right answer: tokens order all accesses, and nothing faults or prints."""


class Value(NamedTuple):
    """A tile of the kernel."""

    name: str
    element: str
    shape: Shape

    @property
    def type(self) -> str:
        return tile(self.element, self.shape)


class Pointer(NamedTuple):
    """A parameter of the kernel that points to an array."""

    name: str
    element: str
    region: int

    @property
    def type(self) -> str:
        return f"tile<ptr<{self.element}>>"


class View(NamedTuple):
    """A view of a tensor; `rank` is the number of its indices."""

    name: str
    type: str
    element: str
    shape: Shape
    rank: int


def tile(element: str, shape: Shape) -> str:
    return f"tile<{''.join(f'{n}x' for n in shape)}{element}>"


def row_major(shape: Sequence[int]) -> Shape:
    strides = [1]
    for n in reversed(shape[1:]):
        strides.append(strides[-1] * n)
    return tuple(reversed(strides)) if shape else ()


def names(values: Sequence[Value]) -> str:
    return ", ".join(v.name for v in values)


def types(values: Sequence[Value]) -> str:
    return ", ".join(v.type for v in values)


def index_types(index: Sequence[Value]) -> str:
    """The types of indices as the text of an access has them: one, unless they differ."""
    kinds = [i.type for i in index]
    return f", {kinds[0]}" if len(set(kinds)) <= 1 else ", " + ", ".join(kinds)
