"""Plant one mistake in each random module and ask Z3 to prove it; docs/reports/lab/prove_passes.md shows the outcomes.

    python scripts/proving/planted.py --count 5000 [--jobs 1] [--seconds 600]

Dead code is removed first, so that mistakes are where they may matter. Both modules are executed on several inputs:
what is proven must leave the same memory. Outcomes are kept in a file of lines, so that a campaign can go on.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / folder) for folder in ("src", "scripts", "tests")]

import execution_report  # noqa: E402
import tilery  # noqa: E402
from proving import passes_campaign  # noqa: E402
from proving.mutants import mutate  # noqa: E402
from support.contract import random_case, run_contract  # noqa: E402
from tilery.enums import IntegerOverflow, RoundingMode, Signedness  # noqa: E402
from tilery.ir import clone, walk  # noqa: E402
from tilery.types import Token  # noqa: E402

LOG = ROOT / "build/prove_planted.jsonl"
RUNS = 3
LIMIT = 10
"""Seconds for executing both modules."""
CHOICES = (IntegerOverflow, Signedness, bool)
"""Attributes of these types are changed to another value; rounding modes among those of IEEE 754."""
ROUNDING = list(RoundingMode)[:5]


def plant(module: tilery.Module, rng: random.Random) -> str:
    """Change an attribute, leave out a token, or change what `mutants.py` changes; return what."""
    how = rng.random()
    found: list[tuple[Any, str]] = []
    if how < 0.3:
        found = [
            (o, f.attr) for o in walk(module) for f in o.opdef.fields if f.role == "attr" and _may_change(o, f.attr)
        ]
    elif how < 0.4:
        tokens = [(o, f.attr) for o in walk(module) for f in o.opdef.fields if f.role == "operand"]
        found = [(o, name) for o, name in tokens if isinstance(getattr(getattr(o, name), "type", None), Token)]
        found = [(o, name) for o, name in found if name == "token"]
    if not found:
        return mutate(module, rng)
    o, name = rng.choice(found)
    old = getattr(o, name)
    if how >= 0.3:
        setattr(o, name, None)
    elif isinstance(old, bool):
        setattr(o, name, not old)
    else:
        kinds: Any = ROUNDING if isinstance(old, RoundingMode) else type(old)
        setattr(o, name, rng.choice([v for v in kinds if v is not old]))
    return f"{o.name}.{name}"


def _may_change(o: Any, name: str) -> bool:
    value = getattr(o, name)
    return isinstance(value, CHOICES) or (isinstance(value, RoundingMode) and value in ROUNDING)


def try_seed(task: str) -> dict[str, Any]:
    """Plant a mistake in a module, try to prove it, and execute both modules."""
    seed = int(task)
    module, contract = random_case(seed)
    module = tilery.optimize(module, "dce")
    rng = random.Random(seed)
    facts: dict[str, Any] = {"task": task, "what": "", "kind": "nothing to change", "runs": ""}
    for _ in range(20):
        changed = clone(module)
        what = plant(changed, rng)
        if not what or tilery.equal(module, changed):
            continue
        try:
            tilery.verify(changed)
        except tilery.TileError:
            continue
        break
    else:
        return facts
    try:
        kind, reason = passes_campaign.prove(module, changed)
    except Exception as error:  # a bug of the prover: it is counted, and the campaign goes on
        kind, reason = "failed", f"{type(error).__name__}: {error}"
    return facts | {"what": what, "kind": kind, "reason": reason[:160], "runs": _compare(module, contract, changed)}


def _compare(module: tilery.Module, contract: Any, changed: tilery.Module) -> str:
    """Execute both modules on several inputs; return how memory differs, if it does. A changed loop may never end."""
    found = ""
    signal.signal(signal.SIGALRM, _give_up)
    signal.alarm(LIMIT)
    try:
        for seed in range(RUNS):
            one, other = (run_contract(m, contract, seed=1000 * seed) for m in (module, changed))
            found = execution_report.compare(module, contract, one, other)
            if found == execution_report.DIFFERS:
                break
    except tilery.TileError as error:
        return f"not run: {error.message}"[:80]
    except (TimeoutError, OverflowError):  # NumPy turns an exception of a signal into this one
        return "not run: too long"
    finally:
        signal.alarm(0)
    return found


def _give_up(number: int, frame: Any) -> None:
    raise TimeoutError


def section() -> list[str]:
    """Return the part of the page about planted mistakes."""
    found = passes_campaign.read_lines(LOG)
    if not found:
        return []
    rows: dict[str, Counter[str]] = {}
    for each in found:
        if each["what"]:
            ran = "not run" if each["runs"].startswith("not run") else each["runs"]
            rows.setdefault(each["kind"], Counter())[ran] += 1
    columns = sorted({run for counts in rows.values() for run in counts})
    lines = ["", "## Planted mistakes", ""]
    lines.append(
        f"{sum(c.total() for c in rows.values()):,} random modules, each with one change: an operand, a constant,"
    )
    lines += ["a predicate, a flag, a rounding mode, or a token that is left out. A change may make no difference.", ""]
    lines += [f"| Z3, executed on {RUNS} inputs | {' | '.join(columns)} |", "|---|" + "--:|" * len(columns)]
    lines += [f"| {kind} | {' | '.join(f'{counts[c]:,}' for c in columns)} |" for kind, counts in sorted(rows.items())]
    wrong = [e for e in found if e["kind"] == "proven" and e["runs"] == execution_report.DIFFERS]
    lines += ["", f"Proven, but memory differs when executed: {len(wrong)}."]
    return lines + [f"* {each['task']}: {each['what']}" for each in wrong[:50]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1e9)
    args = parser.parse_args()
    LOG.parent.mkdir(exist_ok=True)
    started = time.monotonic()
    passes_campaign.run([str(n) for n in range(args.count)], LOG, args.jobs, args.seconds, try_seed)
    print("\n".join(section()), f"{time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
