"""Editing by hand: count uses, replace, insert and erase. The IR has no use lists, so each of these is a walk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from ..analysis.uses import Uses, count_uses
from ..ir import Block, Op, UnknownOp, Value, walk


def uses(root: Op) -> Counter[Value]:
    """Count the uses of each value inside `root`."""
    return count_uses(walk(root))


def users(root: Op) -> dict[Value, list[Op]]:
    """The operations inside `root` that use each value, in textual order; one that uses it twice occurs twice."""
    found = Uses(root)
    return {value: found.of(value) for value in found.users}


def map_operands(o: Op, new: Callable[[Value], Value]) -> None:
    """Replace each operand of one operation."""
    if isinstance(o, UnknownOp):
        o.args = tuple(map(new, o.args))
        return
    for f in o.opdef.operands:
        value = getattr(o, f.attr)
        if value.__class__ is tuple:
            if value:
                setattr(o, f.attr, tuple(map(new, value)))
        elif value is not None:
            setattr(o, f.attr, new(value))


def replace_operands(o: Op, values: Mapping[Value, Value]) -> None:
    """Replace the operands of one operation that are among these values."""
    if not values.keys().isdisjoint(o.operands):
        map_operands(o, lambda value: values.get(value, value))


def replace_uses(root: Op, values: Mapping[Value, Value]) -> None:
    """Replace values wherever `root` or an operation inside uses them."""
    for o in walk(root):
        replace_operands(o, values)


def insert(block: Block, before: Op, *ops: Op) -> None:
    """Insert operations before an operation of a block."""
    at = index_of(block, before)
    block.ops[at:at] = ops


def replace(root: Op, block: Block, old: Op, new: Iterable[Op], values: Sequence[Value] | None = None) -> None:
    """Replace an operation by others. `values`, or else the results of the last one, replace its results in `root`."""
    ops = list(new)
    at = index_of(block, old)
    block.ops[at : at + 1] = ops
    if values is None:
        values = ops[-1].results if ops else []
    replace_uses(root, dict(zip(old.results, values, strict=True)))


def erase(block: Block, o: Op) -> None:
    """Remove an operation from its block; its results must be unused."""
    del block.ops[index_of(block, o)]


def index_of(block: Block, o: Op) -> int:
    """The position of an operation in its block."""
    return next(i for i, other in enumerate(block.ops) if other is o)
