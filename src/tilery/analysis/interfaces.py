"""Questions that a program may ask an operation: traits, effects on memory, types of results, branches and loops.

The answers come from the declaration of the operation, so that a new operation answers them by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ..declare.constructors import inferred_result
from ..declare.operation import OpDef
from ..declare.relations import NO_EFFECT, PURE, REGION_EFFECTS, TERMINATOR, Trait
from ..diag import TileError
from ..ir import Block, Op, UnknownOp, Value
from ..ops import For, If, Loop
from ..types import Type

__all__ = ["Effect", "LoopValues", "branches", "effect", "effect_of", "inferred_types", "loop_values", "traits"]


class Effect(Enum):
    """The effect of an operation itself, without the operations inside it."""

    NONE = "no memory effect, and may be executed speculatively"
    NOT_SPECULATABLE = "no memory effect, but must not be executed speculatively"
    REGIONS = "the memory effects of the operations inside"
    MEMORY = "accesses memory, or has another effect"


def traits(o: Op) -> frozenset[Trait]:
    """Return the traits of an operation; one of another dialect has none."""
    return frozenset() if isinstance(o, UnknownOp) else frozenset(o.opdef.traits)


def effect(o: Op) -> Effect:
    """Return the effect of an operation.

    >>> from tilery import parse
    >>> ops = parse("entry @k() { %a = iota : tile<8xi32> %t = print_tko \\"\\" -> token return }").entries[0].body.ops
    >>> [effect(o).name for o in ops[:2]]
    ['NONE', 'MEMORY']
    """
    return Effect.MEMORY if isinstance(o, UnknownOp) else effect_of(o.opdef)


def effect_of(opdef: OpDef) -> Effect:
    """Return the effect that a kind of operation has."""
    if opdef.has(PURE) or opdef.has(TERMINATOR):
        return Effect.NONE
    if opdef.has(NO_EFFECT):
        return Effect.NOT_SPECULATABLE
    return Effect.REGIONS if opdef.has(REGION_EFFECTS) else Effect.MEMORY


def inferred_types(o: Op) -> list[Type] | None:
    """Return the types of the results that follow from operands and attributes; None if they do not.

    >>> from tilery import parse
    >>> o = parse("entry @k(%n: tile<i32>) { %a = addi %n, %n : tile<i32> return }").entries[0].body.ops[0]
    >>> inferred_types(o)
    [tile<i32>]
    """
    if isinstance(o, UnknownOp):
        return None
    found: list[Type] = []
    for f in o.opdef.outs:
        try:
            types = inferred_result(o, f)
        except (TileError, AttributeError, TypeError, AssertionError):
            return None  # the operands do not fit the operation
        if types is None:
            return None
        found += types
    return found


def branches(o: Op) -> list[Block]:
    """Return the blocks of which an operation executes at most one; none if it does not branch."""
    return list(o.blocks) if isinstance(o, If) else []


@dataclass(frozen=True, slots=True)
class LoopValues:
    """The values of a loop: what it starts with, the arguments that carry it, the results, and the counter of `for`."""

    starts: tuple[Value, ...]
    carried: tuple[Value, ...]
    results: tuple[Value, ...]
    counter: Value | None = None
    bounds: tuple[Value, Value, Value] | None = None
    """The lower bound, the upper bound and the step of `for`."""


def loop_values(o: Op) -> LoopValues | None:
    """Return the values of a loop; None for other operations."""
    if isinstance(o, For):
        counter, *carried = o.region.args
        bounds = (o.lowerBound, o.upperBound, o.step)
        return LoopValues(tuple(o.initValues), tuple(carried), tuple(o.resultValues), counter, bounds)
    if isinstance(o, Loop):
        return LoopValues(tuple(o.initValues), tuple(o.region.args), tuple(o.resultValues))
    return None
