"""Invariants of what loops carry and reductions combine: guessed by the analyses, proven by induction, never believed.

The ranges and divisors that `tilery.analysis` finds are candidates. One stays only if Z3 proves it for the first value,
and for each later one from all candidates that are left. A mistake in an analysis so costs a proof and makes none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import z3  # type: ignore[import-untyped]  # it has no types

from ... import ops
from ...analysis.alignment import axis_info
from ...analysis.intervals import element, is_integer, whole
from ...analysis.ranges import ranges
from ...attrs import IntAttr
from ...ir import Op, Value, walk
from ...types import Tile
from .algebra import Term, as_bool
from .moves import width
from .proving import YES, Invariant, Prover
from .side import KernelFormulas, LoopRecord, Mixing

LARGEST_DIVISOR = 1 << 30
Candidates = dict[Value, Invariant]


def candidates(entry: ops.Entry) -> Candidates:
    """Return what the analyses say about the values that loops carry and reductions return."""
    values = [v for o in walk(entry) for v in _inductive(o) if is_integer(v)]
    if not values:
        return {}
    known = ranges(entry)
    alignment = axis_info(entry, known)
    made: Candidates = {}
    for v in values:
        found, divisor = known[v], min(alignment[v].divisor, LARGEST_DIVISOR)
        if found != whole(element(v)) or divisor > 1:
            made[v] = Invariant(found.lo, found.hi, 1 if element(v).bits == 1 else divisor)
    return made


def _inductive(o: Op) -> Iterator[Value]:
    match o:
        case ops.For():
            yield from (*o.region.args[1:], *o.results)
        case ops.Loop():
            yield from (*o.region.args, *o.results)
        case ops.Reduce() | ops.Scan():
            yield from o.results


def weaken(side: KernelFormulas, claims: Candidates) -> Candidates:
    """Return the claims without those that cannot be proven; the same ones if all are proven."""
    failed: set[Value] = set()
    for record in side.loops:
        failed |= {v for v, name in record.names.items() if v in claims and not _loop_keeps(side, record, v, name)}
    for mixing in side.mixings:
        if any(v in claims for v in mixing.names):
            failed |= _broken(side, mixing, claims)
    if not failed:
        return claims
    left: Candidates = {}
    for v, claim in claims.items():
        if v not in failed:
            left[v] = claim
        elif claim.divisor > 1 and (claim.lo, claim.hi) != tuple(whole(element(v))):
            left[v] = Invariant(claim.lo, claim.hi)
    return left


def _loop_keeps(side: KernelFormulas, record: LoopRecord, v: Value, name: str) -> bool:
    """Prove that what a loop starts with and each of its exits keep an invariant."""
    number = int(name.partition(".")[2])
    outside = [record.path, *side.within(record.loops)]
    inside = side.within((*record.loops, record.iteration))
    breaks = isinstance(record.op, ops.Loop) and v in record.op.resultValues
    if not breaks and not _keeps(side.prover, name, record.first[number], outside):
        return False
    exits = [e for e in record.exits if isinstance(e.op, ops.Break) == breaks]
    return all(_keeps(side.prover, name, e.values[number], [e.path, *inside]) for e in exits)


def _keeps(prover: Prover, name: str, value: Any, given: list[Any]) -> bool:
    t, formula = value
    idx, known = prover.element(t.shape)
    return prover.ask(_implied(prover, name, formula(idx), width(t)), *given, *known)[0] == YES


def _implied(prover: Prover, name: str, term: Term, w: int) -> Any:
    return z3.Implies(as_bool(term[1]), as_bool(prover.within_invariant(name, term[0], w)))


def _broken(side: KernelFormulas, mixing: Mixing, claims: Candidates) -> set[Value]:
    """Return the results of a reduction whose invariants the operands, identities or body do not keep."""
    o, prover, given = mixing.op, side.prover, side.within(mixing.loops)
    assert isinstance(o, (ops.Reduce, ops.Scan))
    elements, known = side.pairs(mixing)
    combined = side.combine(o, elements)
    failed: set[Value] = set()
    for k, (v, name) in enumerate(mixing.names.items()):
        if v not in claims:
            continue
        assert isinstance(v.type, Tile)
        w, identity = width(v.type), o.identities[k]
        formula, shape = mixing.operands[k]
        goals = [combined is not None and isinstance(identity, IntAttr)]
        if goals[0] and isinstance(identity, IntAttr) and combined is not None:
            neutral = (side.z.value(identity.bits, w), True)
            goals.append(prover.ask(_implied(prover, name, neutral, w))[0] == YES)
            goals.append(_keeps(prover, name, (Tile(shape, v.type.element), formula), given))
            goals.append(prover.ask(_implied(prover, name, combined[k], w), *known, *given)[0] == YES)
        if not all(goals):
            failed.add(v)
    return failed
