"""Places for the buffers of a kernel: in the arena, by the time that each is needed, or on the stack."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from ..abi import NotLowered
from ..loops.nodes import Buffer, Declare, Kernel, Scope, Stmt, blocks_of, buffers_read, buffers_written
from ..text import BYTES
from ..tiles import register, stored

MAX_ARENA = 1 << 30
MAX_REGISTER = 8 << 10
"""Bytes of a buffer that may be on the stack."""
MAX_STACK = 32 << 10
"""Bytes of all buffers on the stack."""
MAX_ALIGNMENT = 1 << 20
LINE = 64
SKEW = 192
"""Bytes between buffers, so that they do not fall on the same places of the cache."""


@dataclass(slots=True)
class Places:
    """Where the buffers of a kernel are."""

    offsets: dict[Buffer, int] = field(default_factory=dict)
    """The start of each buffer in the arena. Buffers without one are on the stack, or constants."""
    arena: int = 0
    own: dict[Buffer, int] = field(default_factory=dict)
    """Buffers that have an address, counted from the first of them."""
    own_start: int = 0
    own_alignment: int = LINE


@dataclass(slots=True)
class _Life:
    """The time from a declaration to the end of the last statement beside it that uses the buffer."""

    first: int
    last: int


def size_of(b: Buffer) -> int:
    """Return the bytes of a buffer."""
    item = BYTES[stored(register(b.element))]
    if b.strides is None:
        return prod(b.shape) * item
    return (sum((n - 1) * stride for n, stride in zip(b.shape, b.strides)) + 1) * item


def assign(kernel: Kernel) -> Places:
    """Find a place for every buffer. Buffers that are not needed at the same time may share one."""
    lives: dict[Buffer, _Life] = {}
    _live(kernel.body, 0, lives)
    places = Places()
    _own(places, lives)
    stack = 0
    placed: list[tuple[_Life, int, int]] = []
    for b, life in sorted(lives.items(), key=lambda each: -size_of(each[0])):
        if b.data is not None or b.scope in (Scope.MEMORY, Scope.TILE):
            continue
        size = -(-size_of(b) // LINE) * LINE
        if b.scope is Scope.REGISTER and size <= MAX_REGISTER and stack + size <= MAX_STACK:
            stack += size
            continue
        taken = sorted((at, end) for other, at, end in placed if life.first <= other.last and other.first <= life.last)
        start = places.own_start + _own_size(places)
        for at, end in taken:
            if start + size + SKEW <= at:
                break
            start = max(start, end)
        placed.append((life, start, start + size + SKEW))
        places.offsets[b] = start
        places.arena = max(places.arena, start + size + SKEW)
    places.arena = max(places.arena, places.own_start + _own_size(places))
    if places.arena > MAX_ARENA:
        raise NotLowered(f"the kernel needs more than {MAX_ARENA} bytes for a tile block")
    return places


def _own(places: Places, lives: dict[Buffer, _Life]) -> None:
    end = 0
    for b in lives:
        if b.scope is Scope.MEMORY:
            if b.alignment > MAX_ALIGNMENT:
                raise NotLowered("alloca")
            places.own_alignment = max(places.own_alignment, b.alignment)
            end += -end % max(LINE, b.alignment)
            places.own[b] = end
            end += size_of(b)


def _own_size(places: Places) -> int:
    if not places.own:
        return 0
    last, at = max(places.own.items(), key=lambda each: each[1])
    return -(-(at + size_of(last) + places.own_alignment) // LINE) * LINE + SKEW


def _live(body: list[Stmt], clock: int, lives: dict[Buffer, _Life]) -> int:
    """Number the statements of a block; return the number after the last one."""
    here: dict[Buffer, None] = {}
    for s in body:
        clock += 1
        if isinstance(s, Declare):
            lives[s.buffer] = _Life(clock, clock)
            here[s.buffer] = None
        used = {*buffers_read(s), *buffers_written(s)}
        for block in blocks_of(s):
            clock = _live(block, clock, lives)
            used |= _used(block)
        for b in used:
            if b in here:
                lives[b].last = clock
    return clock


def _used(body: list[Stmt]) -> set[Buffer]:
    found: set[Buffer] = set()
    stack = [body]
    while stack:
        for s in stack.pop():
            found.update(buffers_read(s), buffers_written(s))
            stack += blocks_of(s)
    return found
