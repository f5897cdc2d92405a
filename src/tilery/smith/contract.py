"""What an execution of a random module needs: a grid, memory and scalars for each entry."""

from __future__ import annotations

from dataclasses import dataclass

from ..attrs import FloatAttr, IntAttr
from ..types import Scalar

ALIGN = 256
"""How every buffer is aligned, in bytes, as the CUDA driver does."""


@dataclass(frozen=True, slots=True)
class Buffer:
    """What a pointer parameter points to: so many elements, which may hold anything (an i1 is a byte, 0 or 1)."""

    element: Scalar
    count: int
    written: bool
    """The kernel may write to it."""


Argument = Buffer | IntAttr | FloatAttr


@dataclass(frozen=True, slots=True)
class Launch:
    """How to launch an entry: the arguments stand in the order of its parameters."""

    entry: str
    grid: tuple[int, int, int]
    args: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Contract:
    """How to execute a module: one launch per entry, each on globals in their initial state and buffers of its own.

    Executed like this, a kernel ends, stays inside its buffers, keeps its promises (`assume`, `overflow`, `inbounds`),
    and has no race: what it leaves in memory does not depend on the order in which its parts run, except through what
    the specification leaves open (the order of a float `reduce`, the last bits of `sin`, the payload of a NaN).
    """

    launches: tuple[Launch, ...]
