"""Fill a buffer on the side: where the first nests that need a tile load every element once, they compute it, too.

A tile that is not cheap and that several nests need stays in a buffer. The nest that fills it then vanishes: the
elements are stored where they are first needed, as the sum of a row is formed, for example.
"""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from ..loops.nodes import (
    Buffer,
    Const,
    If,
    Int,
    Kernel,
    Load,
    Loop,
    Operand,
    Stmt,
    Store,
    While,
    blocks_of,
    buffers_read,
    walk,
)
from .inline import Producer, computed, producer_of
from .rewrite import Copy, trip_count, with_values, writers_of, writes_memory, written_buffers

MAX_ELEMENTS = 1 << 16
"""Elements of a tile, above which it is not found out which of them are loaded."""
Positions = NDArray[np.int64]


def fill_on_the_side(kernel: Kernel) -> bool:
    """Let nests that load a tile first compute it; return whether any does."""
    return _block(kernel.body, writers_of(kernel.body))


def _block(body: list[Stmt], writers: dict[Buffer, int]) -> bool:
    changed = False
    for s in list(body):
        for block in blocks_of(s):
            changed |= _block(block, writers)
        p = producer_of(s, writers)
        if p is None or not p.is_heavy or p.is_checked or prod(p.buffer.shape) > MAX_ELEMENTS:
            continue
        at = next(n for n, each in enumerate(body) if each is s)
        last = _covering(p, body, at + 1)
        if last is None:
            continue
        for n in range(at + 1, last + 1):
            if p.buffer in _read_in(body[n]):
                _compute_in([body[n]], p)
        del body[at]
        changed = True
    return changed


def _covering(p: Producer, body: list[Stmt], first: int) -> int | None:
    """Return the statement with which every element of a tile has been loaded, once each; None if there is none."""
    size = prod(p.buffer.shape)
    seen = np.zeros(size, np.bool_)
    for n in range(first, len(body)):
        s = body[n]
        if isinstance(s, (If, While)) or written_buffers([s]) & (p.inputs | {p.buffer}):
            return None
        if p.reads and writes_memory([s]):
            return None
        if p.buffer not in _read_in(s):
            continue
        if not isinstance(s, Loop) or s.polls:
            return None
        places = _places(s, p.buffer)
        if places is None or len(np.unique(places)) != len(places) or seen[places].any():
            return None
        seen[places] = True
        if seen.all():
            return n
    return None


def _read_in(s: Stmt) -> set[Buffer]:
    return {b for each in walk([s]) for b in buffers_read(each)}


def _places(nest: Loop, b: Buffer) -> Positions | None:
    """Return the elements of a buffer that a nest loads, counted row by row; None if it is not known."""
    found: list[Positions] = []
    total = 0
    stack: list[tuple[list[Stmt], dict[Operand, Positions], int]] = [([nest], {}, 1)]
    while stack:
        block, known, times = stack.pop()
        known = dict(known)
        for s in block:
            match s:
                case Loop():
                    count = trip_count(s)
                    if count is None or not isinstance(s.low, Const) or times * count > MAX_ELEMENTS:
                        if b in _read_in(s):
                            return None
                        continue
                    # Iterations are counted by the innermost loop first.
                    inner = {v: np.repeat(x, count) for v, x in known.items()}
                    inner[s.index] = np.tile(s.low.bits + s.step * np.arange(count), times)
                    stack.append((s.body, inner, times * count))
                case Int(name="add" | "mul") if s.result.lanes == 1:
                    parts = [_numbers(x, known, times) for x in s.operands]
                    if parts[0] is not None and parts[1] is not None:
                        known[s.result] = parts[0] + parts[1] if s.name == "add" else parts[0] * parts[1]
                case Load() if s.buffer is b:
                    at = np.zeros(times, np.int64)
                    for x, size in zip(s.index, b.shape):
                        number = _numbers(x, known, times)
                        if number is None or s.mask is not None or (number >= size).any():
                            return None
                        at = at * size + number
                    found.append(at)
                    total += times
                    if total > prod(b.shape):
                        return None
                case _ if blocks_of(s) and b in _read_in(s):
                    return None
    return np.concatenate(found) if found else None


def _numbers(x: Operand, known: dict[Operand, Positions], times: int) -> Positions | None:
    if isinstance(x, Const):
        return np.full(times, x.bits) if x.bits < MAX_ELEMENTS else None
    return known.get(x)


def _compute_in(body: list[Stmt], p: Producer) -> None:
    """Compute elements where they are loaded, and store them."""
    copy = Copy()
    out: list[Stmt] = []
    for s in body:
        for block in blocks_of(s):
            _compute_in(block, p)
        new = with_values(s, copy)
        if isinstance(new, Load) and new.buffer is p.buffer:
            x = computed(p, new.index, out)
            out.append(Store(p.buffer, new.index, x))
            copy.values[new.result] = x
        else:
            out.append(new)
    body[:] = out
