"""Turn innermost loops into lanes, and write out short loops over buffers in registers.

A parallel loop may run in lanes. So may a serial one that computes and writes memory once, without reading what it
writes: lanes are written in order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ....types import I64
from ..loops.nodes import (
    Apply,
    Check,
    Float,
    Guard,
    If,
    Int,
    Kernel,
    Kind,
    Load,
    Loop,
    Operand,
    Read,
    Scope,
    Shuffle,
    Stmt,
    Store,
    Value,
    Write,
    blocks_of,
    defined,
    index,
    operands,
    walk,
)
from ..targets import Machine
from .rewrite import Copy, natural_lanes, trip_count, with_operands

FEW_LANES = 16
"""Lanes of code that runs rarely, or that accesses memory by addresses of its own: short code is better there."""
MAX_UNROLLED = 4000
"""Statements that a loop may become."""
MAX_TURNS = 64
PURE = (Int, Apply, Float, Shuffle)


def vectorise(machine: Machine) -> Callable[[Kernel], None]:
    """Return the pass for a processor. A chunk has four registers of 32-bit elements."""

    def run(kernel: Kernel) -> None:
        kernel.body = _block(kernel.body, machine.vector_bytes, kernel.disjoint)

    return run


def _block(body: list[Stmt], most: int, disjoint: bool) -> list[Stmt]:
    out: list[Stmt] = []
    for s in body:
        if isinstance(s, Loop):
            out += _loop(s, most, disjoint)
            continue
        if isinstance(s, If):
            s.then = _block(s.then, min(most, FEW_LANES) if s.rarely else most, disjoint)
            s.orelse = _block(s.orelse, most, disjoint)
        else:
            for block in blocks_of(s):
                block[:] = _block(block, most, disjoint)
        out.append(s)
    return out


def _loop(s: Loop, most: int, disjoint: bool) -> list[Stmt]:
    if any(blocks_of(each) for each in s.body):
        s.body = _block(s.body, most, disjoint)
        return [s]
    count = trip_count(s)
    if count is None or count < 2 or not _may_run_in_lanes(s, disjoint):
        return [s]
    if any(isinstance(each, Guard) for each in s.body):
        most = min(most, FEW_LANES)
    lanes = 1
    while lanes < most and count % (2 * lanes) == 0:
        lanes *= 2
    return [s] if lanes == 1 else _in_lanes(s, lanes, count)


def _may_run_in_lanes(s: Loop, disjoint: bool) -> bool:
    if s.polls or s.step != 1 or s.kind not in (Kind.PARALLEL, Kind.SERIAL):
        return False
    if not all(
        isinstance(each, (Int, Apply, Float, Shuffle, Load, Store, Read, Write, Guard, Check)) for each in s.body
    ):
        return False
    if any(v.lanes != 1 for each in s.body if (v := defined(each)) is not None):
        return False
    varying: set[Operand] = {s.index}
    for each in s.body:
        if not varying.isdisjoint(operands(each)):
            if (v := defined(each)) is not None:
                varying.add(v)
        elif isinstance(each, (Store, Write)):
            return False  # every iteration stores to the same place
        if isinstance(each, Store) and varying.isdisjoint(each.index):
            return False
        if isinstance(each, Write) and each.address not in varying:
            return False
        if isinstance(each, Guard) and each.dims:
            return False
    if s.kind is Kind.SERIAL:
        effects = [each for each in s.body if isinstance(each, (Store, Write))]
        reads = {each.home for each in s.body if isinstance(each, Read)}
        if len(effects) != 1 or not isinstance(effects[0], Write):
            return False
        return not reads or (disjoint and None not in reads and effects[0].home not in {None, *reads})
    return True


def _in_lanes(s: Loop, lanes: int, count: int) -> list[Stmt]:
    """Return a loop whose iterations do what `lanes` iterations did."""
    copy = Copy()
    body: list[Stmt] = []
    made = Loop(s.kind, Value(I64, 1, s.index.name), s.low, s.high, body, lanes)
    first: Operand = s.low if count == lanes else made.index
    vector = Value(I64, lanes)
    body.append(Int(vector, "ramp", (first,)))
    copy.values[s.index] = vector
    for each in s.body:
        new = with_operands(each, copy.get)
        v = defined(each)
        if v is not None:
            width = natural_lanes(new)
            if width is None:
                width = max((x.lanes for x in operands(new)), default=1)
            new = replace(new, result=copy.fresh(v, width))
        body.append(new)
    return body if count == lanes else [made]


# ---------------------------------------------------------------- short loops


def unroll(kernel: Kernel) -> None:
    """Write out loops that are meant to be, and short loops that index buffers in registers."""
    kernel.body = _unrolled(kernel.body)


def _unrolled(body: list[Stmt]) -> list[Stmt]:
    out: list[Stmt] = []
    for s in body:
        for block in blocks_of(s):
            block[:] = _unrolled(block)
        count = trip_count(s) if isinstance(s, Loop) else None
        if isinstance(s, Loop) and count is not None and (s.kind is Kind.UNROLLED or _pays(s, count)):
            low = s.low.bits  # type: ignore[union-attr]
            for n in range(count):
                out += Copy({s.index: index(low + n * s.step)}).block(s.body)
        else:
            out.append(s)
    return out


def _pays(s: Loop, count: int) -> bool:
    inside = list(walk(s.body))
    if s.polls or s.kind is Kind.GRID or count > MAX_TURNS or count * len(inside) > MAX_UNROLLED:
        return False
    if any(not isinstance(each, (*PURE, Load, Store, Read, Check)) for each in inside):
        return False
    varying: set[Operand] = {s.index}
    for each in inside:
        if (v := defined(each)) is not None and not varying.isdisjoint(operands(each)):
            varying.add(v)
        if not isinstance(each, (Load, Store)) or each.buffer.scope is not Scope.REGISTER:
            continue
        if not varying.isdisjoint(each.index):
            return True
    return False
