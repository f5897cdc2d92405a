"""Hoist constants to the front of their function and merge equal ones, as MLIR's folder does."""

from __future__ import annotations

from ...declare.relations import ISOLATED
from ...ir import Block, Op, UnknownOp, Value, walk
from ...ops import Constant
from ...rewrite import Report, replace_operands
from ...types import Type


def gather_constants(root: Op, report: Report) -> None:
    """Hoist constants to the front of the function and merge equal ones, in the order of MLIR's folder."""
    for function in [o for o in walk(root) if _holds_constants(o)]:
        for block in function.blocks:
            _gather(block, report)


def _holds_constants(o: Op) -> bool:
    return o.nested and bool(o.blocks) and (isinstance(o, UnknownOp) or ISOLATED in o.opdef.traits)


Known = dict[tuple[Type, int | bytes], Constant]


def _gather(block: Block, report: Report) -> None:
    """Move each constant to the very front, unless it is there or follows one that is or was moved there."""
    first: Known = {}
    same: dict[Value, Value] = {}
    front: list[Constant] = []
    body: list[Op] = []
    for o in block.ops:
        if not isinstance(o, Constant):
            body.append(o)
            for inner in _take_constants(o) if o.nested else ():
                inner.loc = None  # it is no longer where its location says
                if _is_new(inner, first, same):
                    front.append(inner)
        elif _is_new(o, first, same):
            before = body[-1] if body else front[0] if front else o
            (body if isinstance(before, Constant) else front).append(o)
    block.ops = [*reversed(front), *body]
    if front or same:
        report.counts["constants"] += len(front) + len(same)
    if same:
        for o in walk(block):
            replace_operands(o, same)


def _is_new(o: Constant, first: Known, same: dict[Value, Value]) -> bool:
    dense = o.value
    known = first.setdefault((o.result.type, dense.data if dense.splat is None else dense.splat), o)
    if known is not o:
        same[o.result] = known.result
    return known is o


def _take_constants(root: Op) -> list[Constant]:
    """Remove the constants from the blocks of an operation, but not from functions inside, in textual order."""
    found: list[Constant] = []
    blocks: list[Block] = []
    stack = [iter([root])]
    while stack:
        for o in stack[-1]:
            if isinstance(o, Constant):
                found.append(o)
            elif o.nested and (inner := o.blocks) and not _holds_constants(o):
                blocks += inner
                stack += [iter(block.ops) for block in reversed(inner)]
                break
        else:
            stack.pop()
    for block in blocks if found else ():
        block.ops = [o for o in block.ops if not isinstance(o, Constant)]
    return found
