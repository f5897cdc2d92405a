"""The verdict about two programs, from the sanitizer, residues and enclosures."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from .errors import measure
from .inputs import KINDS, draw
from .probing import probe as find_overflow
from .programs import REAL, Comparison, Program, make_case
from .residues import COIN_SAMPLES, SAMPLES, Sampled, compare, degree_of
from .running.runner import Runner
from .screening import Screened, describe, screen
from .separating import Separation, separate, separate_rarely
from .verdict import DIFFERENT, EQUAL, UNDECIDED, Verdict, Witness

ROUNDING = "rounding"
TIES = "equal numbers where they are compared, but for a few sets of inputs"
IGNORED = [ROUNDING, "overflow and underflow", "other shapes", "other integers than those given"]


def reals(
    a: Program,
    b: Program,
    inputs: Mapping[str, Any],
    outs: Mapping[str, Any] | Sequence[str],
    *,
    samples: int = SAMPLES,
    seed: int = 1,
    sanitize: bool = True,
    probe: bool = True,
    errors: bool = False,
) -> Verdict:
    """Tell whether two programs compute the same functions of real numbers, for these launches.

    `inputs` maps names to shapes, for any real numbers, or to arrays, for given numbers. `outs` maps the names that are
    compared to shapes, or lists names of inputs that the programs change. Where programs are equal, `probe` looks for
    overflow in the kernels' own types; `errors` measures and bounds their rounding errors.
    """
    started = time.perf_counter()
    case = make_case(a, b, inputs, outs)
    runner = Runner()
    verdict = _decide(case, runner, samples, seed, sanitize)
    if verdict.is_equal and probe:
        verdict.notes += find_overflow(case)
    if errors and verdict.witness is None:
        _add_errors(verdict, case, runner)
    verdict.seconds = time.perf_counter() - started
    return verdict


def _add_errors(verdict: Verdict, case: Comparison, runner: Runner) -> None:
    for side in "ab":
        found = measure(case, side, runner)
        verdict.facts[f"errors_{side}"] = [each.as_dict() for each in found]
        for each in found:
            bound = f"at most {each.bound:.2g} for inputs up to 1" if each.bound is not None else "no bound"
            verdict.notes.append(
                f"error of {side.upper()} in {each.output}: {each.ulps:.3g} ULP ({each.kind} inputs), "
                f"{each.relative:.2g} of the largest value; {bound}"
            )


def _decide(case: Comparison, runner: Runner, samples: int, seed: int, sanitize: bool) -> Verdict:
    plain = draw(case, KINDS["normal"], seed)
    checked = {side: screen(case, side, plain) if sanitize else Screened() for side in "ab"}
    early = _from_screening(case, checked, plain)
    if early is not None:
        return early
    sampled = compare(case, runner, samples, seed)
    if sampled.answer == "equal" and not checked["b"].faults:
        compares = "choices" in sampled.used
        if compares and (apart := separate_rarely(case, runner, seed + 20)).witness is not None:
            return _told_apart(case, sampled, apart, checked["b"])
        verdict = _equal(case, runner, sampled)
        if compares:
            verdict.ignored.append(TIES)
        if not sanitize:
            verdict.ignored.append("races, bounds and undefined values")
        for side in "ab":
            if checked[side].skipped:
                verdict.notes.append(f"the sanitizer did not check {side.upper()}: {checked[side].skipped}")
        return verdict
    separation = separate(case, runner, seed + 10)
    if separation.witness is None and sampled.answer == "different":
        rare = separate_rarely(case, runner, seed + 20)
        separation = separation if rare.witness is None else rare
    return _told_apart(case, sampled, separation, checked["b"])


def _from_screening(case: Comparison, checked: dict[str, Screened], plain: Any) -> Verdict | None:
    """Return a verdict if the sanitizer alone decides."""
    a, b = checked["a"], checked["b"]
    if a.stopped or a.faults:
        return Verdict(UNDECIDED, reason=f"A itself is at fault: {a.stopped or a.first}", rung="sanitizer")
    if outside := b.out_of_bounds:
        witness = Witness(plain, case.outs[0], (), ("a result", "a fault"), outside)
        return Verdict(
            DIFFERENT,
            "For this launch there are inputs on which A has a result and B faults.",
            f"B faults: {outside}",
            witness,
            "sanitizer",
        )
    return None


def names(items: Sequence[str]) -> str:
    """Join names for a sentence."""
    quoted = [f"`{each}`" for each in items]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def _equal(case: Comparison, runner: Runner, sampled: Sampled) -> Verdict:
    outs = names(case.outs)
    inputs = [name for name, buffer in case.buffers.items() if buffer.content == REAL]
    are = "is the same function" if len(case.outs) == 1 else "are the same functions"
    of = f" of {names(inputs)}" if inputs else ""
    verdict = Verdict(
        EQUAL, f"Over the real numbers, for this launch, {outs} {are}{of} in A and in B.", rung="residues"
    )
    verdict.samples, verdict.compared = sampled.samples, sampled.compared
    verdict.assumed = sorted(sampled.assumed)
    verdict.ignored = list(IGNORED)
    verdict.chance = _chance(case, runner, sampled)
    if sampled.undefined:
        verdict.notes.append(
            f"{sampled.undefined} output elements are undefined, NaN or infinite in both programs, whatever the inputs"
        )
    return verdict


def _chance(case: Comparison, runner: Runner, sampled: Sampled) -> str:
    coins = sampled.used & {"roots", "choices"}
    if coins or sampled.used & {"exp", "functions", "maxima"}:
        parts = []
        if coins:
            kinds = {"roots": "square roots", "choices": "comparisons"}
            parts.append(f"2^-{COIN_SAMPLES} from {' and '.join(sorted(kinds[c] for c in coins))}")
        if "choices" in coins:
            parts.append(f"(1 - 2^-k)^{COIN_SAMPLES} where k comparisons decide together")
        parts.append(f"2^-{28 * min(sampled.samples, 2)} times the degree from residues")
        text = "about " + ", and ".join(parts)
        return text + (", under a conjecture about exponentials modulo primes" if "exp" in sampled.used else "")
    degree = max(degree_of(case, side, runner) for side in "ab")
    bits = max(0, min(sampled.samples, 64)) * (sampled.least.bit_length() - 1 - max(1, 2 * degree).bit_length())
    return f"at most 2^-{max(bits, 0)} for each element (degree at most {2 * degree}, {sampled.samples} samples)"


def _told_apart(case: Comparison, sampled: Sampled, separation: Separation, b: Screened) -> Verdict:
    witness = separation.witness
    if witness is not None:
        verdict = Verdict(
            DIFFERENT,
            f"Over the real numbers, for this launch, {names([witness.output])} differs on the inputs of the witness.",
            sampled.reason
            if sampled.answer == "different"
            else f"{witness.output} differs, though not at random points",
            witness,
            "enclosures" if case.buffers[witness.output].is_float else "integers",
        )
        verdict.notes += [f"B: {describe(fault)}" for fault in b.faults]
        return verdict
    if sampled.answer == "equal":  # in the engine's own schedule, but B is at fault
        return Verdict(UNDECIDED, reason=f"B is at fault: {b.first}", rung="sanitizer", samples=sampled.samples)
    return Verdict(UNDECIDED, reason=_why_undecided(sampled, separation), rung="enclosures", samples=sampled.samples)


def _why_undecided(sampled: Sampled, separation: Separation) -> str:
    said = {
        "different": f"residues differ ({sampled.reason})",
        "silent": f"residues show nothing ({sampled.reason})",
        "refused": f"residues do not apply ({sampled.reason})",
    }.get(sampled.answer, sampled.answer)
    if separation.known and separation.runs:
        return (
            f"{said}, but on {separation.runs} sets of inputs both programs agree to {separation.agreement:.1g} of the "
            "largest value: either a law of max, abs, exp or constants is needed that residues do not keep, or they "
            "differ elsewhere"
        )
    if not separation.runs:
        return f"{said}, and enclosures do not apply ({separation.reason})"
    return f"{said}, and enclosures are too wide to decide" + (f" ({separation.reason})" if separation.reason else "")
