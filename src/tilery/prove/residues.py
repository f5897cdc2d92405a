"""Rung 2: run both programs on residues, sample after sample, and compare what they write."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ..diag import TileError
from ..engines.common.tiles import Array
from ..engines.kernel import ExecutionError
from ..ir import Refused
from .arithmetic.constants import Constants
from .arithmetic.degrees import Degrees
from .arithmetic.field import FINITE, UNDEF, FieldSample, Model, differing, kind_of
from .arithmetic.numbers import NoSample, U
from .programs import REAL, Comparison
from .running.runner import Runner, contents

SAMPLES = 2
COIN_SAMPLES = 24
"""Samples if a program takes square roots or compares numbers: each one then misses a difference with at most 1/2."""
PATIENCE, LEAST_PATIENCE = 6, 48
"""How many times as many samples are drawn, and how many at least, for elements that some samples do not know."""


@dataclass(slots=True)
class Sampled:
    """The result of a comparison by residues."""

    answer: str
    """`equal`, `different`, `silent` (nothing was compared), or `refused`."""
    reason: str = ""
    samples: int = 0
    compared: int = 0
    undefined: int = 0
    """Output elements that neither program defines."""
    used: set[str] = field(default_factory=set)
    assumed: set[str] = field(default_factory=set)
    least: int = 0
    """The smallest p of all samples."""


def models(used: set[str]) -> Iterator[tuple[Model, str]]:
    """Yield models that keep other laws of what the programs use, and the order in which to run the programs.

    The order matters for maxima: c max(s) is known to be max(c s) from the moment it is computed.
    """
    if "maxima" in used:
        yield Model(), "ba"
    maxima = ["sets"] + (["choices"] if used & {"choices"} and "maxima" in used else [])
    logarithms = ["function"] + (["discrete"] if "logarithms" in used else [])
    for log in logarithms:
        for how in maxima:
            if (how, log) != ("sets", "function"):
                yield Model(how, log), "ab"


def compare(case: Comparison, runner: Runner, samples: int = SAMPLES, seed: int = 1) -> Sampled:
    """Compare two programs; where one model tells them apart, try those that keep other laws."""
    constants = Constants()
    for _, program in case.sides():
        for stage in program.stages:
            try:
                made = runner.retyped(stage.module)
            except Refused as error:
                return Sampled("refused", error.message)
            for values, _ in made.constants.values():
                constants.add(np.unique(values).tolist()[:64])
            constants.add(float(np.float32(v)) for v in stage.args if isinstance(v, float))
    first = _compare(case, runner, samples, seed, Model(), constants)
    if first.answer != "different":
        return first
    for model, order in models(first.used):
        again = _compare(case, runner, samples, seed, model, constants, order)
        if again.answer == "equal":
            return again
    return first


def _compare(
    case: Comparison, runner: Runner, samples: int, seed: int, model: Model, constants: Constants, order: str = "ab"
) -> Sampled:
    out = Sampled("silent", least=1 << 31)
    seen = {name: np.zeros(case.buffers[name].shape, int) for name in case.outs if case.buffers[name].is_float}
    undefined = {name: np.zeros(a.shape, bool) for name, a in seen.items()}
    drawn, wanted = 0, samples
    while drawn < max(wanted * PATIENCE, LEAST_PATIENCE):
        world = FieldSample(seed * 10_007 + drawn, constants, model)
        drawn += 1
        try:
            pair = _run_both(case, runner, world, order)
        except NoSample:
            wanted = max(wanted, COIN_SAMPLES)
            continue
        except ExecutionError as error:
            return Sampled("refused", f"with residues for floats: {error.message}", used=world.used)
        except TileError as error:
            return Sampled("refused", error.message, drawn, used=world.used)
        finally:
            out.used |= world.used
            out.assumed |= world.assumed
            out.least = min(out.least, world.p)
        out.samples += 1
        if world.used & {"roots", "choices"}:
            wanted = max(wanted, COIN_SAMPLES)
        where = _difference(case, pair, seen, undefined)
        if where:
            out.answer, out.reason = "different", where
            return out
        if out.samples >= wanted and all(((a >= wanted) | undefined[n]).all() for n, a in seen.items()):
            break
    return _finished(case, out, seen, undefined, wanted)


def _run_both(case: Comparison, runner: Runner, world: FieldSample, order: str) -> list[dict[str, Array]]:
    reals = {n: world.random(b.shape) for n, b in case.buffers.items() if b.content == REAL}
    made = {}
    for side in order:
        made[side] = contents(case, side, reals, world)
        runner.run(case.a if side == "a" else case.b, case.all_buffers(side), made[side], world)
    return [made["a"], made["b"]]


def _difference(
    case: Comparison, pair: list[dict[str, Array]], seen: dict[str, Array], undefined: dict[str, Array]
) -> str:
    """Return where two runs differ, or nothing; count the elements that were compared."""
    for name in case.outs:
        x, y = (data[name] for data in pair)
        if name not in seen:
            if (x != y).any():
                where = tuple(int(i) for i in np.argwhere(x != y)[0])
                return f"{name}{list(where)} differs, an integer ({int((x != y).sum())} of {x.size} elements)"
            continue
        x, y = x.view(U), y.view(U)
        differ, same = differing(x, y)
        if differ.any():
            where = tuple(int(i) for i in np.argwhere(differ)[0])
            kinds = [int(kind_of(a[where])) for a in (x, y)]
            why = "is undefined in one" if UNDEF in kinds else "differs" if kinds == [FINITE] * 2 else "is not finite"
            return f"{name}{list(where)} {why} ({int(differ.sum())} of {differ.size} elements)"
        seen[name] += same
        # Equal kinds that are not finite are compared as well: undefined, NaN and infinite in both.
        undefined[name] |= (kind_of(x) == kind_of(y)) & ~same & (kind_of(x) != FINITE) & (kind_of(x) != 6)
    return ""


def _finished(
    case: Comparison, out: Sampled, seen: dict[str, Array], undefined: dict[str, Array], wanted: int
) -> Sampled:
    known = sum(int((a >= wanted).sum()) for a in seen.values())
    out.undefined = sum(int((u & (seen[n] < wanted)).sum()) for n, u in undefined.items())
    total = sum(a.size for a in seen.values())
    integers = sum(int(np.prod(case.buffers[n].shape)) for n in case.outs if n not in seen)
    out.compared = known + integers
    if not out.samples:
        out.reason = "no sample knew the numbers that the programs branch on"
    elif known + out.undefined < total:
        out.reason = f"{total - known - out.undefined} of {total} elements were known in too few samples"
    elif out.compared:
        out.answer = "equal"
    else:
        out.reason = "no output element has a defined finite value"
    return out


def degree_of(case: Comparison, side: str, runner: Runner) -> int:
    """Return a bound on the degree of every output of a program that computes rational functions."""
    numbers = Degrees()
    reals = {n: np.ones(b.shape, U) for n, b in case.buffers.items() if b.content == REAL}
    data = contents(case, side, reals, numbers)
    runner.run(case.a if side == "a" else case.b, case.all_buffers(side), data, numbers)
    found = 0
    for name in case.outs:
        if case.buffers[name].is_float:
            top, bottom = numbers.parts(data[name].view(U))
            found = max(found, int((top + bottom).max(initial=0)))
    return found
