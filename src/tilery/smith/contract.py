"""The execution contract of a random module: a grid, memory and scalars for each entry."""

from __future__ import annotations

from dataclasses import dataclass

from ..attrs import FloatAttr, IntAttr
from ..types import Scalar

ALIGN = 256
"""The alignment of every buffer in bytes, as in the CUDA driver."""


@dataclass(frozen=True, slots=True)
class Buffer:
    """The memory of a pointer parameter: `count` elements with any contents (an i1 is a byte, 0 or 1)."""

    element: Scalar
    count: int
    written: bool
    """Whether the kernel may write to it."""


Argument = Buffer | IntAttr | FloatAttr


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch of an entry, with the arguments in the order of its parameters."""

    entry: str
    grid: tuple[int, int, int]
    args: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Contract:
    """How to execute a module: one launch per entry, each with globals in their initial state and its own buffers.

    Executed like this, a kernel ends, stays inside its buffers, keeps its promises (`assume`, `overflow`, `inbounds`),
    and has no race: what it leaves in memory does not depend on the order in which its parts run, except through what
    the specification leaves open (the order of a float `reduce`, the last bits of `sin`, the payload of a NaN).
    """

    launches: tuple[Launch, ...]
