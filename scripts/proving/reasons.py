"""Tell for each counterexample of passes_campaign.py why it shows no difference, by a check of its own.

    python scripts/proving/reasons.py [--seconds 400]

A group is a law that Z3 does not know, and a check that uses that law alone: a member must pass it. Outcomes go to a
file of lines, which the page of passes_campaign.py counts; whatever passes no check is listed there.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / folder) for folder in ("src", "scripts", "tests")]

import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402
import z3  # type: ignore[import-untyped]  # it has no types  # noqa: E402

import execution_report  # noqa: E402
import tilery  # noqa: E402
from proving import passes_campaign  # noqa: E402
from support import oracle  # noqa: E402
from support.contract import random_case, run_contract  # noqa: E402
from tilery import ops  # noqa: E402
from tilery.analysis.powers import is_two  # noqa: E402
from tilery.attrs import Dense  # noqa: E402
from tilery.enums import ComparisonOrdering, RoundingMode, Signedness  # noqa: E402
from tilery.ir import Op, Value, clone, walk  # noqa: E402
from tilery.prove import bits  # noqa: E402
from tilery.rewrite import replace_uses  # noqa: E402
from tilery.smith import Contract  # noqa: E402
from tilery.types import Scalar, Tile  # noqa: E402

LOG = ROOT / "build/prove_passes_reasons.jsonl"
RUNS = 5
SMALL = {"f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E8M0FNU": ml_dtypes.float8_e8m0fnu}
MOST = 1024
"""Larger constants are not folded."""
MODES = {
    RoundingMode.NEAREST_EVEN: z3.RNE(), RoundingMode.NEAREST_AWAY: z3.RNA(), RoundingMode.ZERO: z3.RTZ(),
    RoundingMode.POSITIVE_INF: z3.RTP(), RoundingMode.NEGATIVE_INF: z3.RTN(),
}  # fmt: skip
FLOATS = "float operations on constants, computed by Z3's own floats"
FUSED = "products that `fuse-fma` does not round, by design: proven once each fma is a product and a sum"
SQUARES = "squares that become products: proven once each square is a product"
SPLIT = f"a loop became two, which are not compared as one: the same memory for {RUNS} sets of inputs"
BODY = f"a body of a reduction that branches is not modelled: the same memory for {RUNS} sets of inputs"
NONE = "none of these"


# ---------------------------------------------------------------- floats on constants, by Z3


def _sort(t: Scalar) -> Any:
    form = t.format
    return z3.FPSort(form.exponent, form.mantissa + 1) if form.infinity and form.signed else None


def _number(t: Scalar, bits: int, ftz: bool = False) -> Any:
    form = t.format
    if _sort(t) is None:  # a type that IEEE 754 does not have: its numbers are exact in f64
        return z3.FPVal(float(np.array([bits], np.uint8).view(SMALL[t.name])[0]), z3.Float64())
    if ftz and (bits & (form.sign - 1)) >> form.mantissa == 0:
        bits &= form.sign
    return z3.fpBVToFP(z3.BitVecVal(bits, form.bits), _sort(t))


def _bits(t: Scalar, number: Any, ftz: bool = False) -> int | None:
    found = z3.simplify(number)
    if z3.is_true(z3.simplify(z3.fpIsNaN(found))):
        return None
    made: int = z3.simplify(z3.fpToIEEEBV(found)).as_long()
    form = t.format
    return made & form.sign if ftz and (made & (form.sign - 1)) >> form.mantissa == 0 else made


def evaluate(o: Any, args: list[int]) -> int | None:
    """Compute one element of a float operation with Z3; None if it does not define the bits."""
    kinds = [v.type.element for v in o.operands]
    converts = isinstance(o, (ops.FToF, ops.FToI))
    out, ftz = o.results[0].type.element, bool(getattr(o, "flush_to_zero", False))
    if any(t.is_float and _sort(t) is None and not (converts and t.name in SMALL) for t in kinds):
        return None
    if out.is_float and _sort(out) is None:
        return None
    mode = MODES.get(getattr(o, "rounding_mode", RoundingMode.NEAREST_EVEN))
    x = [_number(t, a, ftz) if t.is_float else z3.BitVecVal(a, t.bits) for t, a in zip(kinds, args)]
    match o:
        case ops.AddF() | ops.SubF() | ops.MulF() | ops.DivF() if mode is not None:
            run = {ops.AddF: z3.fpAdd, ops.SubF: z3.fpSub, ops.MulF: z3.fpMul, ops.DivF: z3.fpDiv}[type(o)]
            return _bits(out, run(mode, *x), ftz)
        case ops.Fma() if mode is not None:
            return _bits(out, z3.fpFMA(mode, *x), ftz)
        case ops.Sqrt() if mode is not None:
            return _bits(out, z3.fpSqrt(mode, *x), ftz)
        case ops.NegF() | ops.AbsF():
            return _bits(out, z3.fpNeg(*x) if isinstance(o, ops.NegF) else z3.fpAbs(*x))
        case ops.MinF() | ops.MaxF():
            nans = [z3.is_true(z3.simplify(z3.fpIsNaN(n))) for n in x]
            if any(nans):
                return None if o.propagate_nan or all(nans) else _bits(out, x[nans[0]])
            low, high = sorted(x, key=lambda n: z3.is_true(z3.simplify(z3.fpIsNegative(n))), reverse=True)
            if not z3.is_true(z3.simplify(z3.And(z3.fpIsZero(low), z3.fpIsZero(high)))):
                low, high = (low, high) if z3.is_true(z3.simplify(z3.fpLEQ(low, high))) else (high, low)
            return _bits(out, low if isinstance(o, ops.MinF) else high)
        case ops.CmpF():
            if any(z3.is_true(z3.simplify(z3.fpIsNaN(n))) for n in x):
                return int(o.comparison_ordering is ComparisonOrdering.UNORDERED)
            return int(z3.is_true(z3.simplify(_compared(o, *x))))
        case ops.FToF() if mode is not None:
            return _bits(out, z3.fpFPToFP(mode, x[0], _sort(out)))
        case ops.IToF() if mode is not None:
            signed = o.signedness is Signedness.SIGNED
            if signed and kinds[0].bits == 1 and args[0]:
                return None  # whether that is 1 or -1 is not defined
            return _bits(out, (z3.fpSignedToFP if signed else z3.fpUnsignedToFP)(mode, x[0], _sort(out)))
        case ops.FToI() if out.bits == 1:
            one, zero = (z3.is_true(z3.simplify(z3.fpEQ(x[0], z3.FPVal(n, x[0].sort())))) for n in (1.0, 0.0))
            return int(one) if zero or (one and o.signedness is not Signedness.SIGNED) else None
        case ops.FToI():
            run = z3.fpToSBV if o.signedness is Signedness.SIGNED else z3.fpToUBV
            found = z3.simplify(run(z3.RTZ(), x[0], z3.BitVecSort(out.bits)))
            return found.as_long() if z3.is_bv_value(found) else None
    return None


def _compared(o: ops.CmpF, a: Any, b: Any) -> Any:
    name = o.comparison_predicate.name
    run = {"EQUAL": z3.fpEQ, "LESS_THAN": z3.fpLT, "LESS_THAN_OR_EQUAL": z3.fpLEQ, "GREATER_THAN": z3.fpGT}
    if name == "NOT_EQUAL":
        return z3.Not(z3.fpEQ(a, b))
    return run.get(name, z3.fpGEQ)(a, b)


def fold_floats(module: tilery.Module) -> tilery.Module:
    """Return a copy in which float operations on constants are the constants that Z3 computes."""
    copy: tilery.Module = clone(module)
    for block in [b for o in walk(copy) for b in o.blocks]:
        for o in list(block.ops):
            made = _folded(o)
            if made is not None:
                block.ops[block.ops.index(o)] = made
                replace_uses(copy, {o.results[0]: made.result})
    return copy


def _folded(o: Op) -> ops.Constant | None:
    if (
        len(o.results) != 1
        or not o.operands
        or o.blocks
        or not all(isinstance(v.owner, ops.Constant) for v in o.operands)
    ):
        return None
    t = o.results[0].type
    floats = [v for v in (*o.operands, *o.results) if _element(v) is not None and _element(v).is_float]  # type: ignore[union-attr]  # as tested
    if not floats or not isinstance(t, Tile) or any(_element(v) is None for v in (*o.operands, *o.results)):
        return None
    tables = [v.owner.value.stored() for v in o.operands]  # type: ignore[union-attr]  # constants
    count = max(map(len, tables))
    if count > MOST:
        return None
    out = []
    for row in zip(*(table * count if len(table) == 1 else table for table in tables)):
        found = evaluate(o, list(row))
        if found is None:
            return None
        out.append(found)
    made = ops.Constant(value=Dense.of(t, out))
    made.loc = o.loc
    return made


def _element(v: Value) -> Scalar | None:
    t = v.type
    return t.element if isinstance(t, Tile) and isinstance(t.element, Scalar) else None


# ---------------------------------------------------------------- other laws


def expand(module: tilery.Module, squares: bool) -> tilery.Module:
    """Return a copy in which each fma is a product and a sum, or each square a product."""
    copy: tilery.Module = clone(module)
    for block in [b for o in walk(copy) for b in o.blocks]:
        made: list[Op] = []
        for o in block.ops:
            if squares and isinstance(o, (ops.FPowF, ops.FPowI)) and is_two(o.exponent):
                made.append(ops.MulF(lhs=o.source, rhs=o.source))
            elif not squares and isinstance(o, ops.Fma):
                mode, ftz, acc = o.rounding_mode, o.flush_to_zero, o.acc.owner
                product = ops.MulF(lhs=o.lhs, rhs=o.rhs, rounding_mode=mode, flush_to_zero=ftz)
                join = ops.SubF if isinstance(acc, ops.NegF) else ops.AddF
                added = acc.source if isinstance(acc, ops.NegF) else o.acc
                made += [product, join(lhs=product.result, rhs=added, rounding_mode=mode, flush_to_zero=ftz)]
            else:
                made.append(o)
                continue
            made[-1].loc = o.loc
            replace_uses(copy, {o.results[0]: made[-1].results[0]})
        block.ops[:] = made
    return copy


def same_runs(module: tilery.Module, contract: Contract | None, changed: tilery.Module) -> bool:
    """Execute both modules on several sets of inputs."""
    if contract is None:
        return False
    for seed in range(RUNS):
        one, other = (run_contract(m, contract, seed=1000 * seed) for m in (module, changed))
        if execution_report.compare(module, contract, one, other) == execution_report.DIFFERS:
            return False
    return True


def _count(module: tilery.Module, kinds: Any) -> int:
    return sum(isinstance(o, kinds) for o in walk(module))


def _branching_body(module: tilery.Module) -> bool:
    return any(isinstance(o, (ops.Reduce, ops.Scan)) and any(x.blocks for x in o.blocks[0].ops) for o in walk(module))


def reason(task: str, name: str) -> str:
    """Return the first group whose check a counterexample passes."""
    contract = None
    if task.isdigit():
        module, contract = random_case(int(task))
    else:
        module = tilery.load(oracle.CORPUS / task)
    changed = tilery.optimize(module, name)

    def kind(a: tilery.Module, b: tilery.Module, n: int) -> str:
        return str(bits(a.entries[n], b.entries[n], timeout=passes_campaign.TIMEOUT).facts["kind"])

    wrong = [n for n in range(len(module.entries)) if kind(module, changed, n) == "counterexample"]

    def proven(a: tilery.Module, b: tilery.Module) -> bool:
        """Every kernel that has a counterexample is proven under the law."""
        return bool(wrong) and all(kind(a, b, n) == "proven" for n in wrong)

    if proven(fold_floats(module), changed) or proven(fold_floats(module), fold_floats(changed)):
        return FLOATS
    if name == "fuse-fma" and proven(expand(module, False), expand(changed, False)):
        return FUSED
    if name == "pow-to-product" and proven(expand(module, True), changed):
        return SQUARES
    loops = (ops.For, ops.Loop)
    if name == "loop-split" and _count(changed, loops) > _count(module, loops) and same_runs(module, contract, changed):
        return SPLIT
    if _branching_body(module) and same_runs(module, contract, changed):
        return BODY
    return NONE


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=400)
    args = parser.parse_args()
    end = time.monotonic() + args.seconds
    done = {(e["task"], e["pass"]) for e in passes_campaign.read_lines(LOG)}
    found = [
        e
        for log in passes_campaign.LOGS.values()
        for e in passes_campaign.totals(passes_campaign.read_lines(log))["odd"]
    ]
    todo = [(e["task"], e["pass"]) for e in found if e["kind"] == "counterexample"]
    with LOG.open("a", encoding="utf-8") as file:
        for task, name in todo:
            if (task, name) in done or time.monotonic() > end:
                continue
            file.write(json.dumps({"task": task, "pass": name, "reason": reason(task, name)}) + "\n")
            file.flush()


if __name__ == "__main__":
    main()
