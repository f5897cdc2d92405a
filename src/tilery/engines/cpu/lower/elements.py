"""Element-wise operations and tiles that are given: constants, integers from 0, the position in the grid."""

from __future__ import annotations

from typing import Any

from ....declare.relations import ELEMENTWISE
from ....ir import Op
from ....ops import Assume, Constant, GetNumTileBlocks, GetTileBlockId, Iota
from ....types import I1, I32, I64
from ...common.tiles import dense_array, unsigned
from ...reference.ops import RUNS
from ..loops.builder import element_of
from ..loops.nodes import Buffer, Call, Const, Declare, Operand, Scope, index
from .checks import check_element, postpone
from .state import Lowering, is_scalar, lowers, shape

PASSED_ON = {"int_to_ptr", "ptr_to_int", "ptr_to_ptr"}
"""Operations that leave the bits of an element as they are."""


def elementwise(g: Lowering, o: Any) -> None:
    """One nest that applies the operation to each element; a single application if all elements are the same."""
    (result,) = o.results
    if g.called(o):
        call(g, o)
        return
    if not any(map(g.is_spread, o.operands)):
        g.held[result] = applied(g, o, [g.operand(v) for v in o.operands])
        return
    with g.defining(result, g.order_of(o.operands, result)) as (at, made):
        made.append(moved(g, o, [g.at(v, at) for v in o.operands]))
    if g.checks:
        postpone(g, o)


def call(g: Lowering, o: Any) -> None:
    """Let the reference engine compute a tile."""
    arguments = tuple(g.buffer(v) for v in o.operands)
    (result,) = o.results
    made = g.b.declare(element_of(result.type), shape(result), name=o.name)
    g.b.emit(Call(o, arguments, (made,), g.numbers[o]))
    g.held[result] = g.b.load(made, [index(0)] * len(made.shape)) if is_scalar(result) else made
    if g.checks:
        postpone(g, o)


def moved(g: Lowering, o: Op, operands: list[Operand]) -> Operand:
    return operands[0] if o.name in PASSED_ON else g.b.apply(o, *operands)


def applied(g: Lowering, o: Op, operands: list[Operand]) -> Operand:
    """Apply an operation to operands that are the same for all elements."""
    result = moved(g, o, operands)
    if g.checks:
        check_element(g, o, operands, result)
    return result


lowers(*(cls for cls in RUNS if cls.opdef.has(ELEMENTWISE)))(elementwise)


@lowers(Assume)
def assume(g: Lowering, o: Assume) -> None:
    g.held[o.result] = g.held[o.value]
    if o.value in g.homes:
        g.homes[o.result] = g.homes[o.value]


@lowers(Constant)
def constant(g: Lowering, o: Constant) -> None:
    """A splat is one constant; others are data of the kernel."""
    data = dense_array(o.value)
    element = element_of(o.result.type)
    first = data.reshape(-1)[:1]
    bits = int(first[0]) if element is I1 else int(unsigned(first.copy())[0])
    if is_scalar(o.result) or all(stride == 0 for stride in data.strides):
        g.held[o.result] = Const(element, bits)
        return
    table = Buffer(element, shape(o.result), Scope.CONSTANT, "table", data=data)
    g.b.emit(Declare(table))
    g.held[o.result] = table


@lowers(Iota)
def iota(g: Lowering, o: Iota) -> None:
    element = element_of(o.result.type)
    with g.defining(o.result) as ((at,), made):
        made.append(g.b.integer("ne", at, index(0)) if element is I1 else g.b.resize(at, element, signed=False))


@lowers(GetTileBlockId)
def get_tile_block_id(g: Lowering, o: GetTileBlockId) -> None:
    """x varies fastest."""
    b, rest = g.b, g.rank
    x, y, _ = (b.resize(extent, I64, signed=False) for extent in g.kernel.grid)
    rows = b.integer("udiv", rest, x)
    numbers = b.integer("urem", rest, x), b.integer("urem", rows, y), b.integer("udiv", rows, y)
    for v, number in zip(o.results, numbers):
        g.held[v] = b.resize(number, I32, signed=False)


@lowers(GetNumTileBlocks)
def get_num_tile_blocks(g: Lowering, o: GetNumTileBlocks) -> None:
    g.held.update(zip(o.results, g.kernel.grid))
