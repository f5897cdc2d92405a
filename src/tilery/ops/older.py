"""Rules of older verifiers, where they differ from those that the operations declare: data, by operation and version.

A row holds up to the version that it names. Rows of one operation are in the order of their versions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..attrs import AtomicRMWMode, RoundingMode
from ..checking import TYPE_CHECKING
from ..declare.constraints import Constraint, ScalarInt, tile_of
from ..declare.relations import PURE, Objection
from ..ir import Op, UnknownOp, walk
from ..types import F16, F32, F64, SCALARS
from ..version import V13_1, V13_2, V13_3, Version
from .atomics import AtomicRMWTko
from .checks import Answer, aggregate_shapes, approx, inferred, tile_element, tile_shape, tile_type
from .control import Return, Yield, returned
from .conversion import FToF, IToF, only_mode
from .core import Cat, Extract, Reduce, Scan
from .floating import MMA_IN, MmaF, TanH
from .views import LoadViewTko, StoreViewTko

if TYPE_CHECKING:
    from typing import Any

Rows = dict[type[Op], tuple[tuple[Version, Callable[["Any"], Answer]], ...]]
E8M0 = SCALARS["f8E8M0FNU"]
SECOND_FACTOR = tile_of(
    "f16", "bf16", "f32", "f64", "tf32", "f8E4M3FN", "f8E5M2", "f4E2M1FN", what="mmaf operand tile type"
)
"""Factors of `mmaf` as 13.2 lists them; its bytecode has no f4E2M1FN, and 13.3 takes it away again."""


def _atomic_add(o: AtomicRMWTko) -> Answer:
    if o.mode is not AtomicRMWMode.ADDF or tile_type(o.arg).element in (F16, F32, F64):
        return o.check()
    return o.check_types() or Objection("'addf' works only with floats f16, f32, and f64", "mode")


def _join(o: Cat) -> Answer:
    lhs, rhs, result, dim = tile_shape(o.lhs), tile_shape(o.rhs), tile_shape(o.result), o.dim
    if not 0 <= dim < len(lhs) or lhs[dim] + rhs[dim] != result[dim]:
        return o.check()
    for index, sizes in enumerate(zip(lhs, rhs, result)):
        if index != dim and len(set(sizes)) > 1:
            return f"expect {{lhs, rhs, and result}} shape to match at non-concat position {index}"
    return None


def _part(o: Extract) -> Answer:
    source, result = tile_type(o.source), tile_type(o.result)
    if source.element is not result.element or source.rank != result.rank:
        return o.check()
    if any(a % b for a, b in zip(source.shape, result.shape)):
        return "result dim size must divide source dim size evenly"
    if len(o.indices) != source.rank:
        return f"incorrect number of indices, expected {source.rank}, but found {len(o.indices)}"
    return None


def _only_nearest(o: Any, words: str) -> Answer:
    if o.from_.type is o.to.type:
        return "converting tiles must not be a no-op"
    if o.rounding_mode is RoundingMode.NEAREST_EVEN:
        return None
    return Objection(f"invalid rounding mode specified{words}. Only 'nearest_even' is supported", "rounding_mode")


def _first_conversion(o: FToF) -> Answer:
    return _only_nearest(o, " for ftof")


def _third_conversion(o: FToF) -> Answer:
    return o.check() if tile_element(o.to) is E8M0 else _only_nearest(o, "")


def _first_from_integers(o: IToF) -> Answer:
    return only_mode(o.rounding_mode, RoundingMode.NEAREST_EVEN)


def _is_pure(o: Op) -> bool:
    return not isinstance(o, UnknownOp) and (o.opdef.has(PURE) or isinstance(o, Yield))


def _first_body(o: Any) -> Answer:
    """Check that a body consists of pure operations; the message is about the whole operation."""
    if (why := _body_shapes(o)) is not None:
        return why
    fine = all(_is_pure(inner) for inner in walk(o.body))
    return None if fine else "only pure operations allowed"


def _body_shapes(o: Any) -> Answer:
    infer = o.opdef.field("results").infer
    return inferred(o, infer(o)) or aggregate_shapes(o)


def _third_body(o: Any) -> Answer:
    if (why := _body_shapes(o)) is not None:
        return why
    for inner in walk(o.body):
        if not _is_pure(inner):
            return Objection(f"only pure operations are allowed inside 'cuda_tile.{o.name}'", op=inner)
    return None


def _leave_branches(o: Return, ancestors: Sequence[Op]) -> Answer:
    return returned(o, ancestors, ("if",), "cuda_tile.entry, or cuda_tile.if")


def _leave_branches_of_tests(o: Return, ancestors: Sequence[Op]) -> Answer:
    return returned(o, ancestors, ("if",), "cuda_tile.testing$func, cuda_tile.entry, or cuda_tile.if")


CHECKS: Rows = {
    AtomicRMWTko: ((V13_2, _atomic_add),),
    Cat: ((V13_2, _join),),
    Extract: ((V13_2, _part),),
    FToF: ((V13_2, _first_conversion), (V13_3, _third_conversion)),
    IToF: ((V13_2, _first_from_integers),),
    TanH: ((V13_3, approx),),  # they report a wrong rounding mode, and accept it
}
"""Replaces `check`."""
REGION_CHECKS: Rows = {
    Reduce: ((V13_1, _first_body), (V13_2, _body_shapes), (V13_3, _third_body)),
    Scan: ((V13_1, _first_body), (V13_2, _body_shapes), (V13_3, _third_body)),
}
"""Replaces `check_regions`."""
NESTED_CHECKS: dict[type[Op], tuple[tuple[Version, Callable[[Any, Sequence[Op]], Answer]], ...]] = {
    Return: ((V13_1, _leave_branches), (V13_2, _leave_branches_of_tests), (V13_3, _leave_branches)),
}
"""Replaces `check_nested`."""
PARENTS: dict[type[Op], tuple[tuple[Version, tuple[str, ...]], ...]] = {
    Return: ((V13_1, ("entry", "if")), (V13_2, ("entry", "if", "testing$func")), (V13_3, ("entry", "if"))),
}
KINDS: dict[tuple[type[Op], str], tuple[tuple[Version, Constraint], ...]] = {
    (LoadViewTko, "index"): ((V13_2, ScalarInt),),
    (StoreViewTko, "index"): ((V13_2, ScalarInt),),
    **{(MmaF, name): ((V13_1, MMA_IN), (V13_2, SECOND_FACTOR)) for name in ("lhs", "rhs")},
}
"""The types of operands and results."""
WORDS: tuple[tuple[Version, str, str], ...] = (
    (V13_1, "invalid rounding mode specified,", "invalid rounding error specified,"),
    (V13_1, "invalid rounding mode specified.", "invalid rounding error specified."),
)
"""Parts of messages, and what the older verifier says."""
