"""Pack operands of products before a loop that does not change them."""

from __future__ import annotations

from ..loops.nodes import (
    Buffer,
    Declare,
    Float,
    Kernel,
    Kind,
    Loop,
    Stmt,
    Value,
    While,
    blocks_of,
    defined,
    operands,
    walk,
)
from .inline import producer_of
from .rewrite import writers_of, written_buffers


def hoist_packing(kernel: Kernel) -> None:
    """Move nests that convert a whole tile out of loops, if neither the tile nor the buffer depends on the loop."""
    _block(kernel.body, writers_of(kernel.body))


def _block(body: list[Stmt], writers: dict[Buffer, int]) -> None:
    out: list[Stmt] = []
    for s in body:
        for block in blocks_of(s):
            _block(block, writers)
        if isinstance(s, (Loop, While)) and not (isinstance(s, Loop) and s.kind is Kind.GRID):
            out += _taken_from(s, writers)
        out.append(s)
    body[:] = out


def _taken_from(loop: Loop | While, writers: dict[Buffer, int]) -> list[Stmt]:
    """Remove nests from a loop, and return them."""
    if not any(isinstance(s, Loop) for s in loop.body):
        return []
    changes = written_buffers(loop.body)
    inside: set[Value] = {loop.index} if isinstance(loop, Loop) else set()
    for s in walk(loop.body):
        if (v := defined(s)) is not None:
            inside.add(v)
        if isinstance(s, Loop):
            inside.add(s.index)
    declared = {s.buffer for s in loop.body if isinstance(s, Declare)}
    taken: list[Stmt] = []
    for s in list(loop.body):
        made = producer_of(s, writers)
        if made is None or made.reads or made.is_checked or made.buffer not in declared or made.inputs & changes:
            continue
        own = {v for each in walk([s]) if (v := defined(each)) is not None} | {each.index for each in made.loops}
        outer = {x for each in walk([s]) for x in operands(each) if isinstance(x, Value)} - own
        if outer & inside or not any(isinstance(each, Float) for each in made.body):
            continue
        taken += [Declare(made.buffer), s]
        loop.body[:] = [each for each in loop.body if each is not s and not _declares(each, made.buffer)]
    return taken


def _declares(s: Stmt, b: Buffer) -> bool:
    return isinstance(s, Declare) and s.buffer is b
