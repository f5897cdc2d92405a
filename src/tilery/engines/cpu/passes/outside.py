"""Products of tiles that lie wholly outside of their tensors: nothing is multiplied, zeros are added.

A tile is filled with zeros there if a mask of each of its elements is false.
"""

from __future__ import annotations

from collections.abc import Callable

from ....ops import MmaF
from ..loops.builder import Builder, known
from ..loops.nodes import If, Int, Load, Loop, Operand, Product, Stmt, Value, blocks_of, defined, index
from .inline import Producer
from .packing import Facts


def skip_outside(
    body: list[Stmt],
    facts: Facts,
    add_zero: Callable[[Builder, Product], None],
    seen: dict[Loop, Producer] | None = None,
) -> None:
    """Multiply only where an operand may have elements in its tensor; `add_zero` appends what else is to be done."""
    seen = dict(seen or {})
    nests = {p.nest: p for p in facts.makers.values()}
    out: list[Stmt] = []
    for s in body:
        if isinstance(s, Loop) and s in nests:
            seen[s] = nests[s]
        for block in blocks_of(s):
            skip_outside(block, facts, add_zero, seen)
        if isinstance(s, Product) and isinstance(s.op, MmaF):
            b = Builder(out)
            conditions = [_is_outside(b, seen, facts, operand) for operand in (s.lhs, s.rhs)]
            if all(x is not None and known(x) != 0 for x in conditions):
                left, right = conditions
                assert left is not None and right is not None
                made = If(b.both(left, right), [], [s], rarely=True)
                with b.within(made.then):
                    add_zero(b, s)
                out.append(made)
                continue
        out.append(s)
    body[:] = out


def _is_outside(b: Builder, seen: dict[Loop, Producer], facts: Facts, buffer: object) -> Operand | None:
    """Return whether a tile has only zeros, because no element is in its tensor; None if that is not known."""
    p = next((p for p in seen.values() if p.buffer is buffer), None)
    if p is None:
        return None
    if len(p.body) == 1 and isinstance(p.body[0], Load) and p.body[0].mask is None:
        source = p.body[0].buffer
        same = facts.writers.get(source) == 1 and sorted(source.shape) == sorted(p.buffer.shape)
        return _is_outside(b, seen, facts, source) if same else None
    if len(p.reads) != 1 or p.value is not p.reads[0].result or p.inputs:
        return None
    (read,) = p.reads
    if read.mask is None or (read.other is not None and known(read.other) != 0):
        return None
    made: dict[Operand, Stmt] = {v: s for s in p.body if (v := defined(s)) is not None}
    sizes = {v: size for v, size in zip(p.indices, p.buffer.shape) if v is not None}
    found: Operand | None = None
    stack = [read.mask]
    while stack:
        s = made.get(stack.pop())
        if not isinstance(s, Int) or s.name not in ("and", "slt", "sle"):
            continue
        x, y = s.operands
        none: Operand | None = None
        if s.name == "and":
            stack += s.operands
        elif s.name == "slt" and x in sizes and y not in made:
            none = b.integer("sle", y, index(0))
        elif s.name == "sle" and y in sizes and x not in made:
            assert isinstance(y, Value)
            none = b.integer("slt", index(sizes[y] - 1), x)
        if none is not None:
            found = none if found is None else b.either(found, none)
    return found
