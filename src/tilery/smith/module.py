"""A random module from a seed: its entries and globals, and the choice of operations by weight."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import accumulate, pairwise
from random import Random

from .. import ops
from ..declare.constraints import BaseFloatTile, IntTile
from ..declare.operation import BY_NAME, OpDef
from ..diag import TileError, did_you_mean
from ..ir import Block, Op, Value
from ..types import Function
from ..version import LATEST, Version
from . import draw
from .contract import Contract, Launch
from .debug import Debug
from .kernel import Draft, Maker, Unit, Unwanted
from .makers import WEIGHTS, choices
from .memory import stored
from .values import RECENT

GRIDS = ((1, 1, 1), (1, 1, 1), (1, 1, 1), (2, 1, 1), (4, 1, 1), (2, 3, 1), (2, 1, 2))


def smith(
    seed: int,
    *,
    version: Version | str = LATEST,
    size: int = 50,
    mix: Mapping[str, float] | None = None,
    allow: Callable[[Op], bool] | None = None,
) -> ops.Module:
    """Make a random module of about `size` operations; equal arguments make equal modules.

    The module contains nothing newer than `version`. `mix` assigns weights to chapters and operations: with
    `{"Integer": 5, "mmaf": 1}` one operation in six is an `mmaf`, and the others are integer arithmetic and what these
    need. Without a mix, all operations have similar weights. `allow` is called with each operation before it is added,
    and says whether it is wanted; entries and the `return` at their end are always added.
    """
    return smith_with_contract(seed, version=version, size=size, mix=mix, allow=allow)[0]


def smith_with_contract(
    seed: int,
    *,
    version: Version | str = LATEST,
    size: int = 50,
    mix: Mapping[str, float] | None = None,
    allow: Callable[[Op], bool] | None = None,
) -> tuple[ops.Module, Contract]:
    """Make the same module, and say what its execution needs."""
    rng = Random(seed)
    version = Version.parse(version)
    unit = Unit(rng, version, chooser(rng, version, mix))
    if allow is not None:
        unit.allow = allow
    count = rng.choice((1, 1, 1, 2, 2, 3)) if size >= 20 else 1
    made = [entry(unit, size // count) for _ in range(count)]
    # Bytecode does not store the order of globals and entries; readers put the globals first.
    module = ops.Module(body=Block([], [*unit.globals, *(o for o, _ in made)]))
    if ops.Module.opdef.field("producer").since <= version and rng.random() < 0.3:
        # In text it is a single line, so line breaks would be lost.
        module.producer = " ".join(draw.text(rng).splitlines()) or None
    return module, Contract(tuple(launch for _, launch in made))


# ---------------------------------------------------------------- which operations


def chooser(rng: Random, version: Version, mix: Mapping[str, float] | None) -> Callable[[], tuple[Maker, OpDef]]:
    """Return a function that draws an operation by weight."""
    known = choices(version)
    sums = list(accumulate(weights([d for _, d in known], mix, version)))
    if not sums[-1] > 0:
        raise TileError("mix: at least one weight must be positive")

    def choose() -> tuple[Maker, OpDef]:
        return known[bisect(sums, rng.random() * sums[-1])]

    return choose


def weights(known: list[OpDef], mix: Mapping[str, float] | None, version: Version) -> list[float]:
    """Return the weight of each operation. Operations without their own share the weight of their chapter."""
    if mix is None:
        return [WEIGHTS.get(d.cls, 1.0) for d in known]
    own = {BY_NAME[name].mnemonic: weight for name, weight in mix.items() if name in BY_NAME}
    chapters = {d.group.lower(): d.group for d in known}
    total = {chapters[name.lower()]: weight for name, weight in mix.items() if name.lower() in chapters}
    for name, weight in mix.items():
        if name.lower() not in chapters and not any(BY_NAME.get(name) is d for d in known):
            raise TileError(
                f"mix: '{name}' is neither a chapter nor an operation inside an entry at {version}"
                + did_you_mean(name, [*chapters.values(), *(d.mnemonic for d in known)]),
                notes=(f"chapters: {', '.join(sorted(chapters.values()))}",),
            )
        if not 0 <= weight < float("inf"):
            raise TileError(f"mix: the weight of '{name}' must be finite and not negative, got {weight}")
    sharing = {group: sum(d.group == group and d.mnemonic not in own for d in known) for group in total}
    return [own.get(d.mnemonic, total.get(d.group, 0.0) / max(1, sharing.get(d.group, 1))) for d in known]


# ---------------------------------------------------------------- entries


def entry(unit: Unit, size: int) -> tuple[ops.Entry, Launch]:
    """Make a kernel of about `size` operations, and say how to launch it."""
    rng = unit.rng
    name = draw.symbol(rng, unit.symbols)
    debug = Debug(rng, name) if rng.random() < 0.3 else None
    k = Draft(unit, rng.choice(GRIDS), debug)
    k.fill(max(1, size - min(size // 3, 30)))
    finish(k, size - k.count)
    k.add(ops.Return())
    body = Block([value for value, _ in k.params], k.prelude + k.ops)
    made = ops.Entry(sym_name=name, function_type=Function([v.type for v in body.args]), body=body)
    if debug is not None:
        made.loc = debug.entry()
    if rng.random() < 0.25:
        made.optimization_hints = draw.hints(rng, "num_cta_in_cga", "occupancy")
    return made, Launch(name, k.grid, tuple(argument for _, argument in k.params))


def finish(k: Draft, size: int) -> None:
    """Use values that are unused so far: combine those of one type, and store the last ones."""
    goal = k.count + size
    while k.count < goal:
        left = [v for v in k.pool[-RECENT:] if v in k.unused]
        pairs = [(a, b) for a, b in pairwise(left) if a.type is b.type]
        if pairs and (len(left) > 3 or k.chance(0.5)) and combined(k, *pairs[-1]):
            continue
        last = next((v for v in reversed(left) if not isinstance(v.owner, ops.Constant)), None)
        if last is None:
            return
        with suppress(Unwanted):
            if stored(k, last):
                continue
        k.unused.discard(last)


def combined(k: Draft, a: Value, b: Value) -> bool:
    """Combine two tiles of one type by an operation; return False if there is none, or it is not wanted."""
    with suppress(Unwanted):
        if IntTile.ok(a.type):
            k.emit(ops.XOrI(lhs=a, rhs=b))
            return True
        if BaseFloatTile.ok(a.type):
            k.emit(ops.MaxF(lhs=a, rhs=b))
            return True
    return False
