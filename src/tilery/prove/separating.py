"""Rung 3: run both programs on enclosures of real numbers, at concrete inputs, until one output is surely different."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..diag import TileError
from ..engines.common.tiles import Array
from ..engines.kernel import ExecutionError
from .arithmetic.enclosure import Enclosures, apart
from .arithmetic.numbers import NoSample, U
from .inputs import KINDS, RARE, Draw, draw, ties
from .programs import Comparison
from .running.runner import Runner, contents, run_own
from .screening import LIMITS
from .verdict import Witness

CLEAR = 1e-3
CERTIFIED = "enclosures of the real values are disjoint"


class Separation:
    """The result of a comparison by enclosures: a witness, or how close the programs are."""

    def __init__(self) -> None:
        self.witness: Witness | None = None
        self.reason = ""
        self.runs = 0
        self.agreement = 0.0
        """The largest distance between midpoints, relative to the largest value of the output."""
        self.known = False
        """Whether every element of every run was enclosed in a narrow interval."""


def separate(case: Comparison, runner: Runner, seed: int = 11) -> Separation:
    """Look for inputs on which two programs surely differ."""
    with np.errstate(all="ignore"):
        return _separate(case, runner, seed, KINDS)


def separate_rarely(case: Comparison, runner: Runner, seed: int = 11) -> Separation:
    """Look for such inputs where residues may not: at equal numbers, and where many comparisons have one outcome.

    Results there that are not finite, or nearly the same in the kernels' own types, show nothing: a denominator may be
    zero, and constants may be read as ideal.
    """
    with np.errstate(all="ignore"):
        found = _separate(case, runner, seed, RARE | ties(case))
    w = found.witness
    if w is not None and not (w.how.startswith(CERTIFIED) and _differ(w)):
        found.witness = None
    return found


def _differ(witness: Witness) -> bool:
    """Tell whether both programs have clearly different finite numbers in their own types."""
    try:
        a, b = (float(v) for v in witness.own or ())
    except ValueError:
        return False  # a fault
    return bool(np.isfinite(a) and np.isfinite(b) and abs(a - b) > CLEAR * max(abs(a), abs(b)))


def _separate(case: Comparison, runner: Runner, seed: int, kinds: Mapping[str, Draw]) -> Separation:
    found = Separation()
    found.known = True
    for number, kind in enumerate(kinds.values()):
        reals = draw(case, kind, seed + number)
        pair: list[dict[str, Array]] = []
        numbers = Enclosures(poison=(-1.0) ** number * (3.75 + number))
        codes = {name: numbers.literal(values) for name, values in reals.items()}
        try:
            for side, program in case.sides():
                data = contents(case, side, codes, numbers)
                runner.run(program, case.all_buffers(side), data, numbers)
                pair.append(data)
        except ExecutionError as error:
            who = "AB"[len(pair)]
            if len(pair) == 1 and error.kind not in LIMITS:
                found.witness = Witness(
                    reals, case.outs[0], (), ("a result", f"a fault: {error.message}"), f"{who} faults"
                )
                return found
            found.reason, found.known = f"{who} faults: {error.message}", False
            continue
        except NoSample:
            found.reason, found.known = "a comparison is too close to call", False
            continue
        except TileError as error:
            found.reason, found.known = error.message, False
            return found
        found.runs += 1
        found.witness = _compare(case, pair, numbers, reals, found)
        if found.witness is not None:
            found.witness.how = "; ".join([found.witness.how, *sorted(numbers.remarks)])
            found.witness.own = own_values(case, found.witness)
            return found
    return found


def _compare(
    case: Comparison, pair: list[dict[str, Array]], numbers: Enclosures, reals: dict[str, Array], found: Separation
) -> Witness | None:
    for name in case.outs:
        x, y = (data[name] for data in pair)
        if not case.buffers[name].is_float:
            if (x != y).any():
                where = tuple(int(i) for i in np.argwhere(x != y)[0])
                return Witness(reals, name, where, (str(x[where]), str(y[where])), "integers differ")
            continue
        cx, cy = x.view(U), y.view(U)
        a, b = numbers.get(cx), numbers.get(cy)
        missing = (cx == numbers.undefined) != (cy == numbers.undefined)
        if missing.any():
            where = tuple(int(i) for i in np.argwhere(missing)[0])
            said = tuple(
                "undefined" if int(c[where]) == numbers.undefined else _shown(v, where) for c, v in ((cx, a), (cy, b))
            )
            return Witness(reals, name, where, (said[0], said[1]), "only one program defines it")
        differ = apart(a, b)
        if differ.any():
            where = _clearest(a, b, differ)
            return Witness(reals, name, where, (_shown(a, where), _shown(b, where)), CERTIFIED)
        _note_agreement(a, b, found)
    return None


def _clearest(a: Any, b: Any, differ: Array) -> tuple[int, ...]:
    """Return the element where the programs differ most."""
    with np.errstate(all="ignore"):
        distance = np.nan_to_num(np.abs(a[0] - b[0]), nan=np.inf, posinf=np.inf)
    at = np.unravel_index(int(np.argmax(np.where(differ, distance, -1.0))), differ.shape)
    return tuple(int(i) for i in at)


def _note_agreement(a: Any, b: Any, found: Separation) -> None:
    finite = np.isfinite(a[0]) & np.isfinite(b[0])
    wide = np.isinf(a[1]) | np.isinf(b[1])
    largest = float(np.abs(a[0][finite]).max(initial=0.0))
    narrow = np.where(finite, a[1] + b[1], 0.0) <= 1e-4 * max(largest, 1e-300)
    found.known = found.known and not bool(wide.any()) and bool(narrow.all())
    if largest:
        distance = float(np.abs(np.where(finite, a[0] - b[0], 0.0)).max(initial=0.0))
        found.agreement = max(found.agreement, distance / largest)


def _shown(pair: Any, where: tuple[int, ...]) -> str:
    mid, rad = float(pair[0][where]), float(pair[1][where])
    return f"{mid:.9g}" if not np.isfinite(mid) or rad == 0 else f"{mid:.9g} ± {rad:.2g}"


def own_values(case: Comparison, witness: Witness) -> tuple[str, str] | None:
    """Run both programs in their own types on the witness; return what they compute at its element."""
    shown = []
    for side, _ in case.sides():
        try:
            value = run_own(case, side, witness.inputs)[witness.output][witness.element]
            shown.append(f"{float(value):.9g}" if np.asarray(value).dtype.kind == "f" else str(value))
        except ExecutionError as error:
            shown.append(f"a fault: {error.message}")
        except TileError:
            return None
    return shown[0], shown[1]
