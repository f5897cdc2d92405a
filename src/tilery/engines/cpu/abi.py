"""The contract between lowering and runtime: LLVM IR with one function, and the layout of the memory that it is passed.

The function is `i64 @run(ptr slots, ptr grid, i64 first, i64 last, ptr arena, ptr control)`. It executes the tile
blocks `first` to `last - 1`, numbered in the order of the grid (x varies fastest), and returns DONE, STOPPED or FAULT.
Several threads may run it at once, each with an arena of its own. After FAULT the fault cell names the tile block and
the operation that gave up. The other blocks may or may not have run, and the block itself may have changed memory that
it reads. The caller runs that block again on the reference engine, on a copy of the memory as it is now, and keeps the
error if it is about the same operation.

`slots` are 8-byte words:

* one word per parameter: an address, or the bytes of a scalar as memory has them, followed by zeros;
* three words per parameter, then three per global in the order of `Lowered.globals`: the bounds `low` and `high` of the
  segment that the address lies in, and 1 if it may be written. All are 0 if there is none, and for scalars;
* one word per global: its address;
* the number of segments, and for each its `low`, `high` and 1 if all of it may be written, in ascending order. Segments
  do not overlap: memory of arguments that overlap is one segment.

A kernel that only reads memory and adds integers to that of the parameters `Lowered.gathered` may run with PRIVATE.
Each thread then has slots of its own, whose gathered parameters point to memory of its own, full of zeros. The caller
adds it to that of the arguments when all tile blocks are done. Additions outside of the segment of their parameter, and
reads of memory that is added to, are faults: nothing has changed then, and the caller starts again without PRIVATE.

`grid` is three 8-byte extents. `arena` is memory of `Lowered.arena` bytes, aligned to 64. `control` is 8-byte words at
the indices below; all threads of a launch share it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...ir import Op

DONE, STOPPED, FAULT = 0, 1, 2

STOP = 0
"""Set by the caller to anything but 0 to end a launch early. Read for every tile block and iteration of a loop."""
FAULT_CELL = 1
"""-1, or the least of `fault_code` of the faults so far. The launch sets it to -1; threads stop when it changes."""
STREAM = 2
"""1 if results are large, so that stores should bypass the caches."""
CALLBACK = 3
"""The address of a C function `i64 f(i64 context, i64 op number, i64 block, ptr arguments)`: it executes an operation
that has no code of its own; it returns 0, or anything else for a fault. Unused if `Lowered.callbacks` is empty."""
CONTEXT = 4
"""Passed to the callback."""
PRIVATE = 5
"""1 if no other thread uses memory that integers are added to."""
CONTROL_WORDS = 8

ALLOWED_SYMBOLS = frozenset({"memcpy", "memset", "memmove"})
"""The symbols that an object may need. An object that needs others must not be loaded: it would jump to address 0."""

QUICKLY = "; compile quickly"
"""The first line of a text whose speed matters less than the time to compile it."""


def fault_code(block: int, op: int) -> int:
    """Return what the fault cell holds for a tile block and the number of an operation."""
    return block << 20 | op


def fault_place(code: int) -> tuple[int, int]:
    """Return the tile block and the number of the operation of a fault.

    >>> fault_place(fault_code(5, 7))
    (5, 7)
    """
    return code >> 20, code & 0xFFFFF


class NotLowered(Exception):
    """The kernel cannot be compiled for this engine: the reference engine has to run it."""


@dataclass(frozen=True, slots=True)
class Target:
    """The processor that the code is made for. `features` are LLVM's names, without a sign."""

    triple: str
    cpu: str = ""
    features: frozenset[str] = frozenset()

    @property
    def x86(self) -> bool:
        return self.triple.startswith("x86_64")

    @property
    def vector_bytes(self) -> int:
        """The size of a vector register."""
        return 64 if "avx512f" in self.features else 32 if "avx2" in self.features else 16


@dataclass(frozen=True, slots=True)
class Specialisation:
    """Promises about a launch beyond the module. `exact` asks for the reference engine's bits of all functions."""

    exact: bool = False


@dataclass(slots=True)
class Lowered:
    """A kernel as LLVM IR, and what the runtime must know about it. Of a kernel from the cache the text is empty."""

    text: str
    ops: list[Op] = field(default_factory=list)
    """The operations by their numbers in fault codes and callbacks."""
    arena: int = 0
    """Bytes of scratch memory that each thread needs, aligned to 64."""
    globals: list[str] = field(default_factory=list)
    """The globals whose addresses are in the slots, in order."""
    symbols: frozenset[str] = ALLOWED_SYMBOLS
    """The symbols that the object may leave undefined."""
    callbacks: list[Op] = field(default_factory=list)
    """Operations that are executed by a call of the reference engine."""
    written: list[Any] | None = None
    """The tensors that the kernel writes, see `stores.written_tensors`."""
    updated: list[int] = field(default_factory=list)
    """With checks of the sanitizer: the parameters whose memory the kernel may read and write."""
    gathered: list[tuple[int, int]] = field(default_factory=list)
    """The parameters to whose memory integers are added, and the bytes of such an integer; empty if a kernel does more
    than that."""
    additions: int = 0
    """Integers that a tile block adds, if it adds them once."""
    waits: bool = False
    """Whether tile blocks may wait for each other: then the reference engine, which is fair to them, has to run it."""
    long: bool = False
    """Whether a tile block may take more than some milliseconds."""
    ordered: bool = False
    """Whether tile blocks must run one after the other: the kernel prints, or its tiles may share bytes."""
