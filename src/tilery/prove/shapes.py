"""Several shapes: sizes that are not multiples of tiles, so that masks and edges matter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .decide import reals
from .programs import Program
from .verdict import Verdict

RAGGED = (70, 33, 100, 1, 64, 17)
"""Sizes that are tried for a name without values of its own. Those of one trial differ from each other."""
TRIALS = 3
Made = tuple[Program, Program, Mapping[str, Any], Mapping[str, Any] | Sequence[str]]


def trials(sizes: Mapping[str, Sequence[int]], count: int = TRIALS) -> list[dict[str, int]]:
    """Return values for named sizes; a size without values takes ragged ones.

    >>> trials({"m": (), "n": (), "k": (8, 16)})
    [{'m': 70, 'n': 33, 'k': 8}, {'m': 33, 'n': 100, 'k': 16}, {'m': 100, 'n': 1, 'k': 8}]
    >>> trials({})
    [{}]
    """
    if not sizes:
        return [{}]
    longest = max((len(v) for v in sizes.values() if v), default=0)
    if longest and all(sizes.values()):
        count = longest
    made = []
    for i in range(max(count, longest)):
        values = (v[i % len(v)] if v else RAGGED[(i + j) % len(RAGGED)] for j, v in enumerate(sizes.values()))
        made.append(dict(zip(sizes, values)))
    return made


def over(make: Callable[..., Made], sizes: Mapping[str, Sequence[int]], **options: Any) -> Verdict:
    """Compare programs for several shapes: `make(**sizes)` returns what `reals` takes. Stop where they differ."""
    verdict: Verdict | None = None
    seconds, tried = 0.0, list[dict[str, int]]()
    assumed: dict[str, None] = {}
    notes: dict[str, None] = {}
    for number, values in enumerate(trials(sizes)):
        if number:  # stability is probed for the first shape only
            options["probe"] = False
        verdict = reals(*make(**values), **options)
        tried.append(values)
        seconds += verdict.seconds
        assumed.update(dict.fromkeys(verdict.assumed))
        notes.update(dict.fromkeys(verdict.notes))
        if not verdict.is_equal:
            break
    assert verdict is not None
    verdict.seconds = seconds
    verdict.assumed, verdict.notes = list(assumed), list(notes)
    if not sizes:
        return verdict
    verdict.shapes = tried
    if verdict.is_equal and len(tried) == 1:
        return verdict
    if verdict.is_equal:
        verdict.theorem = verdict.theorem.replace("for this launch", f"for launches of {len(tried)} shapes")
    else:
        verdict.notes.insert(0, "sizes: " + ", ".join(f"{name} = {n}" for name, n in tried[-1].items()))
    return verdict
