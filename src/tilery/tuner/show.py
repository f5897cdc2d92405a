"""Results of tuning, as a table for people and as data."""

from __future__ import annotations

from typing import Any

from .search import AS_IS, Result, VariantTrial


def as_data(result: Result) -> dict[str, Any]:
    """Return a result for JSON."""
    return {
        "best": {**result.best.as_dict(), "label": result.best.label, "seconds": result.seconds},
        "hints": result.hints,
        "device": result.machine.device,
        "shapes": result.shapes,
        "checked": result.checked,
        "left_out": result.left_out,
        "elapsed": result.elapsed,
        "variants": [
            {
                **trial.variant.as_dict(),
                "label": trial.variant.label,
                "seconds": trial.seconds,
                "final": trial.final,
                "error": trial.error,
                "compile_seconds": trial.compile_seconds,
            }
            for trial in result.trials
        ],
    }


def table(result: Result) -> str:
    """Return a table of the variants, the fastest first, and what follows from it."""
    timed = sorted((t for t in result.trials if t.seconds is not None), key=lambda t: (not t.final, t.seconds or 0.0))
    failed = [t for t in result.trials if t.seconds is None]
    width = max(len(t.variant.label) for t in result.trials)
    best = result.seconds
    lines = [f"{'variant':<{width}}  {'time':>11}  slower"]
    lines += [_line(t, width, best) for t in timed]
    lines += [f"{t.variant.label:<{width}}  {'-':>11}  {t.error}" for t in failed]
    lines += ["", f"best: {result.best.label}, {_time(best)} on {result.machine.device}"]
    as_is = result.time_of(AS_IS)
    if as_is is not None:
        lines.append(f"that is {as_is / best:.2f} times as fast as tileiras with the hints of the module")
    lines.append(f"results were compared with {result.checked}; {result.left_out} variants were left out")
    return "\n".join(lines) + "\n"


def _line(trial: VariantTrial, width: int, best: float) -> str:
    assert trial.seconds is not None
    about = "" if trial.final else " (estimate)"
    return f"{trial.variant.label:<{width}}  {_time(trial.seconds):>11}  {trial.seconds / best:.2f}{about}"


def _time(seconds: float) -> str:
    return f"{seconds * 1e6:.1f} us" if seconds < 1e-3 else f"{seconds * 1e3:.3f} ms"


def source_hints(result: Result) -> str:
    """Return the best hints for tileiras as the lines of Python that a cuTile kernel takes them in."""
    target, words = result.machine.target, []
    for name, keyword in (("num_cta_in_cga", "num_ctas"), ("occupancy", "occupancy")):
        if name in result.hints:
            words.append(f"{keyword}=ct.ByTarget({target}={result.hints[name]})")
    trials = [t for t in result.trials if t.variant.engine == "tileiras" and t.seconds is not None]
    winner = min(trials, key=lambda t: (not t.final, t.seconds or 0.0), default=None)
    level = dict(winner.variant.options).get("level", 3) if winner is not None else 3
    if level != 3:
        words.append(f"opt_level=ct.ByTarget({target}={level}, default=3)")
    text = f"@ct.kernel({', '.join(words)})" if words else "@ct.kernel"
    if result.hints.get("allow_tma") is False:
        text += "\n# and allow_tma=False in each ct.load and ct.store"
    return text
