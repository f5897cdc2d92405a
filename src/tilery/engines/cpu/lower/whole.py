"""Operations that work on whole tiles: products, and those that the reference engine executes."""

from __future__ import annotations

from typing import Any

from ....ops import Assert, MmaF, MmaFScaled, MmaI, PrintTko
from ..loops.builder import element_of
from ..loops.nodes import Call, Kind, Product, index
from .checks import check_results
from .state import Lowering, is_scalar, lowers, shape


@lowers(MmaF, MmaI, MmaFScaled)
def product(g: Lowering, o: Any) -> None:
    lhs, rhs, acc, *scales = (g.buffer(v) for v in o.operands)
    made = g.b.declare(element_of(o.result.type), shape(o.result), name=o.name)
    g.b.emit(Product(made, o, lhs, rhs, acc, tuple(scales)))
    g.held[o.result] = g.b.load(made, [index(0)] * len(made.shape)) if is_scalar(o.result) else made
    check_results(g, o)


@lowers(PrintTko)
def print_tko(g: Lowering, o: PrintTko) -> None:
    g.b.emit(Call(o, tuple(g.buffer(v) for v in o.args), (), g.numbers[o]))
    g.held[o.result_token] = None


@lowers(Assert)
def assert_(g: Lowering, o: Assert) -> None:
    with g.b.nest(Kind.PARALLEL, shape(o.condition)) as at:
        g.b.check(g.at(o.condition, at), g.numbers[o])
