"""Run cases on the reference engine and another one, and compare everything that they leave."""

from __future__ import annotations

import json
import random
import resource
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import tilery
from tilery.engines.common.limits import Limits
from tilery.engines.registry import load_engine
from tilery.sanitize import Sanitizer
from tilery.types import Ptr

from .case import Case, Part
from .elements import decode, is_float
from .families import FAMILIES, family_of
from .memory import Slots

SECONDS = 20.0
"""How long an engine may run a launch."""
OWN_CHILD = 50
"""One case of so many is compiled as a user's kernel is: by a process of its own, at the usual level."""
CHECKS = "bounds,alignment,uninit,undefined,promise,nan"
"""The checks that engine cpu compiles."""
SAME, DIFFERS, OTHER_ERROR, ILLEGAL, CRASHED = "same", "differs", "other error", "illegal", "crashed"
SKIPPED, REFUSED = "skipped", "refused"
Left = tuple[str, list[bytes], str]
"""The outcome of a launch: an error or nothing, memory, and what it printed."""


@dataclass(frozen=True)
class Way:
    """How a case is run on engine cpu."""

    own_child: bool
    level: int
    before: bool
    """Whether the forbidden page is before the arrays, not after them."""
    threads: int
    streams: bool
    """Whether stores go past the caches, as those to large arrays do."""
    again: bool
    """Whether the kernel is launched a second time."""
    checked: bool
    """Whether it is also launched with checks of the sanitizer."""


def way_of(seed: int) -> Way:
    rng = random.Random(f"way {seed}")
    level = rng.choice((0, 0, 2))
    own = rng.randrange(OWN_CHILD) == 0
    before, threads, streams = rng.random() < 0.5, rng.choice((1, 1, 2)), rng.random() < 0.25
    return Way(own, 2 if own else level, before, threads, streams, rng.random() < 0.2, rng.random() < 0.1)


def make(seed: int, family: str = "") -> tuple[str, Case]:
    """Return the family and the case of a seed."""
    name = family or family_of(seed)
    return name, FAMILIES[name](random.Random(f"{name} {seed}"))


def run_case(seed: int, family: str, engine: str, exact: Sequence[bool], slots: Slots) -> dict[str, Any]:
    """Run a case; return what to count."""
    name, case = make(seed, family)
    found: dict[str, Any] = {"family": name, "outcome": SAME, "lowered": 0, "fell back": 0}
    if engine != "cpu" and not case.gpu:
        return found | {"outcome": SKIPPED}
    try:
        module = tilery.parse(case.text)
        wrong = tilery.verify(module)
    except tilery.TileError as error:
        return found | {"outcome": ILLEGAL, "detail": str(error)}
    if wrong:
        return found | {"outcome": ILLEGAL, "detail": str(wrong[0])}
    way = way_of(seed)
    watched = Sanitizer("race,uninit") if engine != "cpu" else None
    want = launch(module, case, "reference", {}, slots, way, found, watched)
    found["fault"] = int(bool(want[0]))
    if watched is not None and watched.reports:
        return found | {"outcome": SKIPPED, "detail": f"watched: {next(iter(watched.reports)).rule}"}
    if engine == "cpu":
        tasks: list[dict[str, Any]] = [{"exact": e} for e in exact for _ in range(1 + way.again * (e == exact[0]))]
    else:
        tasks = [{}]
    for options in tasks:
        left = launch(module, case, engine, options, slots, way, found)
        if left[0].startswith("refused: "):
            return found | {"outcome": REFUSED, "detail": left[0]}
        loose = engine != "cpu" or not options["exact"]
        pair = (want, left)
        if engine == "cpu" and loose and name.startswith("product"):
            pair = (either_zero(want, case, module, slots.starts()), either_zero(left, case, module, slots.starts()))
        outcome, detail = judge(*pair, case.bounds if loose else {}, slots.starts(), engine == "cpu")
        if outcome != SAME:
            return found | {"outcome": outcome, "detail": f"{options}: {detail}"}
    return found | compare_checks(module, case, slots, way, found) if engine == "cpu" and way.checked else found


def compare_checks(module: Any, case: Case, slots: Slots, way: Way, found: dict[str, Any]) -> dict[str, Any]:
    """Launch a case on both engines with checks; return what to count if they do not report the same."""
    seen = []
    for engine, options in (("reference", {}), ("cpu", {"exact": True})):
        watched = Sanitizer(CHECKS)
        left = launch(module, case, engine, options, slots, way, found, watched)
        seen.append((left, sorted(str(report) for report in watched.reports)))
    (want, first), (left, second) = seen
    outcome, detail = judge(want, left, {}, slots.starts(), True)
    if outcome == SAME and first != second:
        outcome, detail = DIFFERS, f"reports {first[:2]} / {second[:2]}"
    return {} if outcome == SAME else {"outcome": outcome, "detail": f"checked: {detail}"}


def launch(
    module: Any,
    case: Case,
    engine: str,
    options: dict[str, Any],
    slots: Slots,
    way: Way,
    found: dict[str, Any],
    watched: Sanitizer | None = None,
) -> Left:
    """Run a case on an engine, on the same memory as every other one; the reference engine may watch it meanwhile."""
    slots.place(case.regions, way.before)
    printed: list[str] = []
    error = ""
    more: dict[str, Any] = {"threads": way.threads} if engine == "cpu" else {}
    if watched is not None:
        more["sanitize"] = watched
    try:
        kernel: Any = load_engine(engine).load(module, **options).kernel()
    except tilery.TileError as raised:
        if engine in ("cpu", "reference"):
            raise
        return f"refused: {raised.message}", [], ""
    if engine == "cpu":
        found["lowered" if kernel.lowered is not None else "fell back"] += 1
    try:
        args = slots.arguments(case.args)
        kernel.launch(case.grid, args, limits=Limits(seconds=SECONDS), output=printed.append, **more)
    except tilery.TileError as raised:
        error = raised.message
    return error, slots.content(), "".join(printed)


def either_zero(left: Left, case: Case, module: Any, starts: Sequence[int]) -> Left:
    """Return an outcome in which zeros of arrays of floats have no sign: without `exact`, sums may have either zero."""
    memory = list(left[1])
    for part, parameter in zip(case.args, module.entries[0].body.args):
        if isinstance(part, Part) and memory:
            element = parameter.type.element
            if isinstance(element, Ptr) and is_float(str(element.pointee)):
                content = bytearray(memory[part.region])
                at = starts[part.region] + part.start * part.item
                words = np.frombuffer(content, f"u{part.item}", part.length, at)
                words[words == 1 << (8 * part.item - 1)] = 0
                memory[part.region] = bytes(content)
    return left[0], memory, left[2]


def judge(want: Left, found: Left, bounds: dict[int, Any], starts: Sequence[int], words: bool) -> tuple[str, str]:
    """Compare what two engines left. After an error memory may differ, since the engines were at different places."""
    if bool(want[0]) != bool(found[0]):
        return DIFFERS, f"error {want[0]!r} / {found[0]!r}"
    if want[0]:
        if words and want[0].split(":")[0] != found[0].split(":")[0]:
            return OTHER_ERROR, f"{want[0]!r} / {found[0]!r}"
        return SAME, ""
    if want[2] != found[2]:
        return DIFFERS, f"printed {want[2][:200]!r} / {found[2][:200]!r}"
    for region, (x, y) in enumerate(zip(want[1], found[1])):
        if x == y or (region in bounds and near(x, y, starts[region], *bounds[region])):
            continue
        a, b = np.frombuffer(x, np.uint8), np.frombuffer(y, np.uint8)
        at = np.flatnonzero(a != b)
        first = int(at[0]) - starts[region]
        shown = slice(max(0, int(at[0]) // 8 * 8 - 8), int(at[0]) // 8 * 8 + 16)
        return (
            DIFFERS,
            f"region {region}: {len(at)} bytes from {first} on: {x[shown].hex(' ', 4)} / {y[shown].hex(' ', 4)}",
        )
    return SAME, ""


def near(x: bytes, y: bytes, start: int, element: str, bound: Any) -> bool:
    """Tell whether the numbers of a region are within their bounds, and all bytes around it are the same."""
    size = bound.size * {"f16": 2, "f32": 4, "f64": 8}[element]
    if x[:start] != y[:start] or x[start + size :] != y[start + size :]:
        return False
    a, b = (decode(element, np.frombuffer(part[start : start + size], f"u{size // bound.size}")) for part in (x, y))
    with np.errstate(invalid="ignore"):
        return bool(((np.abs(a - b) <= bound) | (a == b) | (np.isnan(a) & np.isnan(b))).all())


# ---------------------------------------------------------------- the child


def prepare(seed: int, engine: str) -> None:
    """Choose how engine cpu compiles and runs the next case."""
    if engine != "cpu":
        return
    from parts import forked_compiler
    from tilery.engines.cpu.native import jobs

    way = way_of(seed)
    forked_compiler.choose(forked=not way.own_child, level=way.level)
    jobs.LARGE = 0 if way.streams else 8 << 20


def serve(first: int, end: int, family: str, engine: str, exact: Sequence[bool]) -> None:
    """Run cases; a line before each says which one is next, so that a crash has a name."""
    server = None
    if engine == "cpu":
        from parts import forked_compiler
        from tilery.engines.cpu.native import pool

        from .arena import GuardedArena

        server = forked_compiler.ForkedChild.server = forked_compiler.Server()
        forked_compiler.ForkedChild.kept = forked_compiler.Kept("")
        vars(pool)["Arena"] = GuardedArena
    slots = Slots()
    for seed in range(first, end):
        print(json.dumps({"next": seed}), flush=True)
        prepare(seed, engine)
        try:
            found = run_case(seed, family, engine, exact, slots)
        except Exception:  # whatever it is, it is a finding
            name = family or family_of(seed)
            found = {"family": name, "outcome": CRASHED, "detail": traceback.format_exc(limit=-3).strip()}
        print(json.dumps({"number": seed} | found), flush=True)
    if server is not None:
        server.close()
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(json.dumps({"seconds": sum(each.ru_utime + each.ru_stime for each in used)}), flush=True)
    sys.stdout.flush()
