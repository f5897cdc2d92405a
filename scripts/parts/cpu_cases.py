"""The cases of `scripts/cpu_campaign.py`: each runs on both engines, in a process that may die.

A case depends on its kind and number alone, and so does how it is compiled (`Way`).
"""

from __future__ import annotations

import json
import random
import resource
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import hardware_report
import tilery
from parts import forked_compiler
from parts.guarded import guarded
from support.contract import arguments, random_case
from support.hostile import guarded as hostile
from support.mutation import mutate
from tilery.analysis.fingerprint import fingerprint
from tilery.engines.common.limits import Limits
from tilery.engines.registry import load_engine

SECONDS = 5.0
"""How long an engine may run a launch."""
FAMILY = 4
"""Mutants per random module."""
OWN_CHILD = 50
"""One case of so many is compiled exactly as a user's kernel is, by a Python that is started for it."""
SAME, DIFFERS, WORDS, REFUSED, RACES, SLOW = "same", "differs", "other error", "refused", "races", "too slow"
Left = tuple[str, list[bytes], str]
"""The outcome of a launch: an error or nothing, memory, and what it printed."""


@dataclass(frozen=True)
class Way:
    """How a case is run. Half of all kernels are compiled at level 0, which takes LLVM a third of the time."""

    own_child: bool
    level: int
    before: bool
    """Whether the forbidden page is before the arrays, not after them."""


def way_of(kind: str, number: int) -> Way:
    rng = random.Random(f"way of {kind} {number}")
    return Way(rng.randrange(OWN_CHILD) == 0, rng.choice((0, 2)), rng.random() < 0.5)


# ---------------------------------------------------------------- modules and mutants


def run_module(number: int, way: Way) -> dict[str, Any]:
    module, contract = random_case(number)
    return run_launches(module, contract.launches, number, way)


def run_mutant(number: int, way: Way) -> dict[str, Any]:
    """Change a random module until it is a legal one; run what has changed."""
    module, contract = random_case(number // FAMILY)
    rng = random.Random(f"mutant {number}")
    old = {o.sym_name: (o.function_type.params, fingerprint(o)) for o in module.entries}
    for tries in range(1, 100):
        try:
            changed = mutate(module, rng)
        except tilery.TileError:  # a type that there cannot be
            continue
        if tilery.verify(changed):
            continue
        new = {o.sym_name: (o.function_type.params, fingerprint(o)) for o in changed.entries}
        launches = [each for each in contract.launches if new.get(each.entry, old[each.entry]) != old[each.entry]]
        if launches and all(new[each.entry][0] == old[each.entry][0] for each in launches):
            return run_launches(changed, launches, number, way) | {"tries": tries}
    return {"outcome": REFUSED, "detail": "no change is legal"}


def run_launches(module: tilery.Module, launches: Sequence[Any], seed: int, way: Way) -> dict[str, Any]:
    """Run launches on both engines; return what to count."""
    found: dict[str, Any] = {"outcome": SAME, "compiled": 0, "handed over": 0}
    for number, launch in enumerate(launches):
        left = []
        given = arguments(launch, seed + number)
        args = [guarded(a, before=way.before) for a in given]  # at the same addresses: one may lead into another array
        for engine in ("reference", "cpu"):
            fill(args, given)
            left.append(run_launch(module, launch, engine, args, found))
        outcome = judge(*left)
        if outcome == DIFFERS and not left[0][0] and races(module, launch, seed + number):
            outcome = RACES
        if outcome != SAME and found["outcome"] in (SAME, SLOW, RACES):
            found["outcome"] = outcome
            found["detail"] = f"{launch.entry}: {left[0][0]!r} / {left[1][0]!r}"[:500]
    return found


def fill(args: Sequence[Any], given: Sequence[Any]) -> None:
    """Give arrays their content again."""
    for arg, old in zip(args, given):
        if isinstance(arg, np.ndarray):
            arg[...] = old


def run_launch(module: tilery.Module, launch: Any, engine: str, args: list[Any], found: dict[str, Any]) -> Left:
    loaded = load_engine(engine).load(module, **({"exact": True} if engine == "cpu" else {}))
    printed: list[str] = []
    error = ""
    try:
        kernel: Any = loaded.kernel(launch.entry)
        if engine == "cpu":
            found["compiled" if kernel.lowered is not None else "handed over"] += 1
        kernel.launch(launch.grid, args, limits=Limits(seconds=SECONDS), output=printed.append)
    except tilery.TileError as raised:
        error = raised.message
    memory = [a.tobytes() for a in args if isinstance(a, np.ndarray)]
    return error, memory + [loaded.content(o.sym_name) for o in module.globals], "".join(printed)


def judge(mine: Left, other: Left) -> str:
    """Compare what two engines left. After an error, memory may differ: the engines were at different places."""
    if "stopped after" in mine[0] or "stopped after" in other[0]:
        return SLOW
    if bool(mine[0]) != bool(other[0]):
        return DIFFERS
    if mine[0]:
        return SAME if mine[0].split(":")[0] == other[0].split(":")[0] else WORDS
    return SAME if mine == other else DIFFERS


def races(module: tilery.Module, launch: Any, seed: int) -> bool:
    """Tell whether what tile blocks leave depends on their order: the reference engine one by one differs from it."""
    left = []
    for batch in (None, 1):
        args = arguments(launch, seed)
        tilery.compile(module, launch.entry).launch(launch.grid, args, batch=batch, output=lambda _: None)
        left.append([a.tobytes() for a in args if isinstance(a, np.ndarray)])
    return left[0] != left[1]


# ---------------------------------------------------------------- hardware cases and hostile kernels


def run_hardware(hw: Any, number: int, way: Way) -> dict[str, Any]:
    """Run a case that a GPU has run."""
    name = list(hw.cases)[number]
    case = hw.cases[name]
    found: dict[str, Any] = {"compiled": 0, "handed over": 0}
    left: list[Left] = []
    given, buffers = hardware_report.arguments(hw, name)
    args = [guarded(a, before=way.before) for a in given]
    grid = case["grid"]
    if case["subset"]:
        size = max((len(b) for b in buffers), default=hardware_report.TILE)
        grid = [size // hardware_report.TILE, 1, 1]
    for engine, batch in (("reference", None), ("cpu", None), ("reference", 1)):
        if len(left) == 2 and left[0] == left[1]:
            return found | {"outcome": SAME}
        fill(args, given)
        printed: list[str] = []
        error = ""
        try:
            options: dict[str, Any] = {"exact": True} if engine == "cpu" else {}
            kernel: Any = tilery.compile(tilery.parse(case["module"]), engine=engine, **options)
            if engine == "cpu":
                found["compiled" if kernel.lowered is not None else "handed over"] += 1
            kernel.launch(grid, args, batch=batch, output=printed.append)
        except tilery.TileError as raised:
            error = raised.message
        left.append((error, [a.tobytes() for a in args if isinstance(a, np.ndarray)], "".join(printed)))
    outcome = DIFFERS if left[0] == left[2] else RACES
    return found | {"outcome": outcome, "detail": f"{name}: {left[1][0]}"}


def run_hostile(regions: tuple[hostile.Region, hostile.Region], number: int, way: Way) -> dict[str, Any]:
    """Launch a hostile kernel on arrays between forbidden pages, several times."""
    return {"outcome": SAME, "launches": dict(hostile.exercise(0, number, regions, "cpu"))}


def runner(kind: str, folder: str) -> Callable[[int, Way], dict[str, Any]]:
    """Return the function that runs a case of a kind; `folder` is that of the hardware cases."""
    if kind == "hardware":
        sys.path.insert(0, folder)
        from hardware import Hardware  # type: ignore[import-not-found]  # from the folder

        hw = Hardware(folder)
        return lambda number, way: run_hardware(hw, number, way)
    if kind == "hostile":
        regions = (hostile.Region(), hostile.Region())
        return lambda number, way: run_hostile(regions, number, way)
    return {"modules": run_module, "mutants": run_mutant}[kind]


def run_cases(kind: str, first: int, end: int, folder: str, objects: str) -> None:
    """Run cases; a line before each says which one is next, so that a crash has a name."""
    server = forked_compiler.ForkedChild.server = forked_compiler.Server()
    forked_compiler.ForkedChild.kept = forked_compiler.Kept(objects)
    run = runner(kind, folder)
    for number in range(first, end):
        print(json.dumps({"next": number}), flush=True)
        way = way_of(kind, number)
        forked_compiler.choose(forked=not way.own_child, level=way.level)
        try:
            found = run(number, way)
        except tilery.TileError as error:
            found = {"outcome": REFUSED, "detail": error.message}
        except Exception:  # whatever it is, it is a finding
            found = {"outcome": "crashed", "detail": traceback.format_exc(limit=-2).strip()}
        facts = {"level": way.level, "own child": way.own_child}
        print(json.dumps({"number": number} | found | facts), flush=True)
    server.close()
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    seconds = sum(each.ru_utime + each.ru_stime for each in used)
    print(json.dumps({"seconds": seconds, "kept": forked_compiler.ForkedChild.found}), flush=True)


def totals_of(lines: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Add up the lines of a batch."""
    totals: Counter[str] = Counter()
    for line in lines:
        totals[line["outcome"]] += 1
        for name in ("compiled", "handed over", "tries"):
            totals[name] += line.get(name, 0)
        totals[f"level {line.get('level')}"] += "level" in line
        totals["own child"] += line.get("own child", False)
        for name, count in line.get("launches", {}).items():
            totals[f"launches {name.partition(': ')[2]}"] += count
    return {name: count for name, count in totals.items() if count}
