"""Sixty planted faults: a compiler that crashes, wrong folds, wrong lowerings, races, and messages of the verifier.

Each fault is a test of the reducer and the module in which it was planted: a kernel of the corpus, or a random module.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import tilery
from support import oracle
from support.mutation import mutate
from support.race.cuts import TooLarge, edges, made_up_arguments
from tilery import ops
from tilery.attrs import Signedness
from tilery.diag import TileError
from tilery.engines.reference.registry import RUNS
from tilery.engines.semantics import same_bits
from tilery.ir import Op, clone, walk
from tilery.ops import Module
from tilery.reducer import Case, CaseLaunch
from tilery.reducer.campaign import launched
from tilery.reducer.oracles import Message, Sanitized, equal_but_for_nan, execute, expected
from tilery.smith import smith_with_contract
from tilery.types import F16, F32, I64, Tile

SECONDS = 600.0
"""A limit that no launch reaches, even on a busy machine; the number of steps is limited, too."""
SIZES = (100, 300, 1000, 3000, 5000)
MOST_SEEDS = 400
EXECUTED_SIZES = (60, 150, 400, 1200, 5000)
RACE_SIZES = (60, 120, 300, 1000, 5000)


@dataclass(frozen=True)
class Fault:
    """A planted fault: its kind, what it is, how to find a module that shows it, and the test."""

    kind: str
    name: str
    test: Callable[[Case], str]
    cases: Callable[[], Iterator[tuple[str, Case]]]
    """Yields modules that may show it, and what to call them."""

    def plant(self) -> tuple[str, Case]:
        """Return the first case that shows the fault."""
        for where, case in self.cases():
            if self.test(case):
                return where, case
        raise LookupError(f"nothing shows the fault '{self.name}'")


# ---------------------------------------------------------------- where faults are planted


def random_modules(size: int, seed: int, launch: bool = False) -> Iterator[tuple[str, Case]]:
    """Yield random modules of a size, with their first launch if they are executed."""
    for number in range(seed, seed + MOST_SEEDS):
        version = tilery.SUPPORTED[number % len(tilery.SUPPORTED)]
        module, contract = smith_with_contract(number, version=version, size=size, allow=same_bits if launch else None)
        module.version = version
        first = launched(contract.launches[0], number) if launch else None
        yield f"random module, seed {number}", Case(module, first)


@cache
def corpus() -> list[Path]:
    files = sorted(oracle.CORPUS.glob("*.tileirbc")) if oracle.CORPUS.is_dir() else []
    return sorted(files, key=lambda path: -path.stat().st_size)


def corpus_kernels(start: int, launch: bool = False) -> Iterator[tuple[str, Case]]:
    """Yield kernels of the corpus, large ones first, from a position on; random modules where there is no corpus."""
    files = corpus()
    if not files:
        yield from random_modules(300, start, launch)
    for path in files[start:] + files[:start]:
        try:
            module = tilery.load(path)
        except TileError:
            continue
        entry = module.entries[0]
        given = None
        if launch:
            if not all(map(same_bits, walk(entry))):
                continue
            try:
                args = made_up_arguments(entry)
            except (TileError, TooLarge, KeyError):
                continue
            rng = np.random.default_rng(start)
            for a in args:
                if hasattr(a, "ndim"):
                    a.view(np.uint8)[:] = rng.integers(0, 64, a.nbytes, np.uint8)
            given = CaseLaunch(entry.sym_name, (1, 1, 1), tuple(args))
        yield f"corpus, {path.stem[:40]}", Case(module, given)


# ---------------------------------------------------------------- a compiler that crashes


def has(predicate: Callable[[Any, list[Op]], bool]) -> Callable[[Case], str]:
    """Return a compiler that crashes if an operation, given those around it, satisfies a predicate."""

    def compile(case: Case) -> str:
        todo: list[tuple[Op, list[Op]]] = [(case.module, [])]
        while todo:
            o, around = todo.pop()
            if predicate(o, around):
                return "crash"
            todo += [(inner, [*around, o]) for block in o.blocks for inner in block.ops]
        return ""

    return compile


def owner(value: Any, *classes: type[Op]) -> bool:
    return value is not None and isinstance(value.owner, classes)


def element(value: Any) -> Any:
    return value.type.element if isinstance(value.type, Tile) else None


def rank(value: Any) -> int:
    return value.type.rank if isinstance(value.type, Tile) else 0


def inside(around: list[Op], *classes: type[Op]) -> bool:
    return any(isinstance(o, classes) for o in around)


CRASHES: tuple[tuple[str, Callable[[Any, list[Op]], bool]], ...] = (
    ("mmaf in a loop", lambda o, a: isinstance(o, ops.MmaF) and inside(a, ops.For, ops.Loop)),
    ("a loop that carries three values", lambda o, a: isinstance(o, ops.For) and len(o.initValues) >= 3),
    ("a load from a view with a token", lambda o, a: isinstance(o, ops.LoadViewTko) and o.token is not None),
    ("addf of a constant", lambda o, a: isinstance(o, ops.AddF) and owner(o.rhs, ops.Constant)),
    ("select of a comparison", lambda o, a: isinstance(o, ops.Select) and owner(o.cond, ops.CmpI, ops.CmpF)),
    ("a store to a strided tensor", lambda o, a: isinstance(o, ops.StoreViewTko) and len(o.index) >= 2),
    (
        "a branch in a loop in a branch",
        lambda o, a: isinstance(o, ops.If) and inside(a, ops.Loop) and inside(a, ops.If),
    ),
    ("a masked load with padding", lambda o, a: isinstance(o, ops.LoadPtrTko) and o.paddingValue is not None),
    (
        "f64 to f16, then addf",
        lambda o, a: isinstance(o, ops.AddF) and element(o.lhs) is F16 and owner(o.lhs, ops.FToF),
    ),
    ("a scan of two tiles", lambda o, a: isinstance(o, ops.Scan) and len(o.operands_) >= 2),
    ("a reduce of rank 3", lambda o, a: isinstance(o, ops.Reduce) and rank(o.operands_[0]) >= 3),
    ("a join of tokens, then a store", lambda o, a: isinstance(o, ops.StorePtrTko) and owner(o.token, ops.JoinTokens)),
)


def crashes() -> Iterator[Fault]:
    for number, (name, predicate) in enumerate(CRASHES):
        size = SIZES[number % len(SIZES)]
        random_cases = partial(random_modules, size, 1000 * number)
        yield Fault("crash", name, has(predicate), partial(corpus_kernels, 37 * number) if number < 6 else random_cases)


# ---------------------------------------------------------------- wrong folds


def folded(cls: type[Op], change: Callable[[Any], Op | None]) -> Callable[[Case], str]:
    """Return a test of a pass that replaces operations by wrong ones: the launch must leave the same memory."""

    def test(case: Case) -> str:
        module, launch = case.module, case.launch
        if launch is None or not any(isinstance(o, cls) for o in walk(module)):
            return ""
        after = wrong(module, cls, change)
        if after is None or tilery.verify(after, max_errors=1):
            return ""
        return different(module, after, launch)

    return test


def wrong(module: Module, cls: type[Op], change: Callable[[Any], Op | None]) -> Module | None:
    """Return a copy in which operations of a class are replaced."""
    after: Module = clone(module)
    changed = False
    with after.edit() as edit:
        for o in [o for o in walk(after) if isinstance(o, cls)]:
            new = change(o)
            if new is not None:
                edit.replace(o, new)
                changed = True
    return after if changed else None


def different(module: Module, after: Module, launch: CaseLaunch) -> str:
    """Compare a launch of two modules, if it is defined."""
    before = expected(module, launch, SECONDS)
    if before is None:
        return ""
    try:
        now = execute(after, launch, "reference", SECONDS)
    except TileError:
        return "differs"
    return "" if equal_but_for_nan(module, launch, before, now) else "differs"


def flipped(o: Any) -> Signedness:
    return Signedness.UNSIGNED if o.signedness is Signedness.SIGNED else Signedness.SIGNED


FOLDS: tuple[tuple[str, type[Op], Callable[[Any], Op | None]], ...] = (
    ("x + c is x - c", ops.AddI, lambda o: ops.SubI(lhs=o.lhs, rhs=o.rhs) if owner(o.rhs, ops.Constant) else None),
    ("x * y is x + y", ops.MulI, lambda o: ops.AddI(lhs=o.lhs, rhs=o.rhs)),
    ("x & y is x", ops.AndI, lambda o: ops.OrI(lhs=o.lhs, rhs=o.lhs)),
    ("x ^ y is x | y", ops.XOrI, lambda o: ops.OrI(lhs=o.lhs, rhs=o.rhs)),
    ("shri by the other sign", ops.ShRI, lambda o: ops.ShRI(lhs=o.lhs, rhs=o.rhs, signedness=flipped(o))),
    ("maxi is mini", ops.MaxI, lambda o: ops.MinI(lhs=o.lhs, rhs=o.rhs, signedness=o.signedness)),
    ("mini by the other sign", ops.MinI, lambda o: ops.MinI(lhs=o.lhs, rhs=o.rhs, signedness=flipped(o))),
    (
        "select(c, x, y) is select(c, y, x)",
        ops.Select,
        lambda o: ops.Select(cond=o.cond, val_if_true=o.val_if_false, val_if_false=o.val_if_true),
    ),
    (
        "cmpi by the other sign",
        ops.CmpI,
        lambda o: ops.CmpI(comparison_predicate=o.comparison_predicate, lhs=o.lhs, rhs=o.rhs, signedness=flipped(o)),
    ),
    ("absf x is x", ops.AbsF, lambda o: ops.MaxF(lhs=o.source, rhs=o.source)),
    ("negi x is x", ops.NegI, lambda o: ops.OrI(lhs=o.source, rhs=o.source)),
    ("minf is maxf", ops.MinF, lambda o: ops.MaxF(lhs=o.lhs, rhs=o.rhs)),
)


def wrong_folds() -> Iterator[Fault]:
    for number, (name, cls, change) in enumerate(FOLDS):
        yield Fault("wrong fold", name, folded(cls, change), executed_cases(number, {0, 7}))


def executed_cases(number: int, real: set[int]) -> Callable[[], Iterator[tuple[str, Case]]]:
    """Return where an executed fault is looked for: some in the corpus, the others in random modules."""
    size = EXECUTED_SIZES[number % len(EXECUTED_SIZES)]
    if number in real:
        return lambda: corpus_kernels(91 * number, launch=True)
    return lambda: random_modules(size, 1000 * number, launch=True)


# ---------------------------------------------------------------- wrong lowerings


def lowered(cls: type[Op], spoil: Callable[[Any, Any], Any]) -> Callable[[Case], str]:
    """Return a test of an engine whose results of an operation are spoiled: it is compared with the right one."""

    def test(case: Case) -> str:
        module, launch = case.module, case.launch
        if launch is None or not any(isinstance(o, cls) for o in walk(module)):
            return ""
        before = expected(module, launch, SECONDS)
        if before is None:
            return ""
        try:
            with spoiled(cls, spoil):
                now = execute(module, launch, "reference", SECONDS)
        except TileError:
            return "differs"
        return "" if equal_but_for_nan(module, launch, before, now) else "differs"

    return test


@contextmanager
def spoiled(cls: type[Op], spoil: Callable[[Any, Any], Any]) -> Iterator[None]:
    """Spoil the results of an operation for a while."""
    good = RUNS[cls]

    def run(o: Any, *args: Any, **options: Any) -> Any:
        return spoil(o, good.function(o, *args, **options))

    RUNS[cls] = replace(good, function=run)
    try:
        yield
    finally:
        RUNS[cls] = good


def reversed_rows(o: Any, result: Any) -> Any:
    return np.ascontiguousarray(result[:, ::-1]) if result.ndim > 1 else result


LOWERINGS: tuple[tuple[str, type[Op], Callable[[Any, Any], Any]], ...] = (
    ("mulhii is one too large", ops.MulhiI, lambda o, r: r + r.dtype.type(1)),
    ("remi has the lowest bit flipped", ops.RemI, lambda o, r: r ^ r.dtype.type(1)),
    ("iota runs backwards", ops.Iota, reversed_rows),
    ("cat swaps its halves", ops.Cat, lambda o, r: np.roll(r, r.shape[1] // 2, axis=1)),
    ("permute mixes up rows", ops.Permute, reversed_rows),
    ("trunci loses a bit", ops.TruncI, lambda o, r: r & r.dtype.type(1) if r.dtype != bool else r),
    ("itof of i64 is wrong", ops.IToF, lambda o, r: -r if element(o.from_) is I64 and r.dtype.kind == "f" else r),
    ("absi of a tile is negative", ops.AbsI, lambda o, r: -r if o.result.type.rank and r.dtype != bool else r),
    ("negf does nothing in f32", ops.NegF, lambda o, r: -r if element(o.source) is F32 else r),
    ("exti forgets the sign", ops.ExtI, lambda o, r: r & r.dtype.type(127) if r.dtype != bool else r),
    ("extract takes its neighbour", ops.Extract, reversed_rows),
    ("divi rounds up", ops.DivI, lambda o, r: r + r.dtype.type(1)),
)


def wrong_lowerings() -> Iterator[Fault]:
    for number, (name, cls, spoil) in enumerate(LOWERINGS):
        yield Fault("wrong lowering", name, lowered(cls, spoil), executed_cases(number, {2, 9}))


# ---------------------------------------------------------------- races


def races() -> Iterator[Fault]:
    for number in range(12):
        yield Fault("race", f"one token removed, {number}", Sanitized("race", SECONDS), racy_cases(number))


def racy_cases(number: int) -> Callable[[], Iterator[tuple[str, Case]]]:
    """Return modules in which a token operand was removed."""

    def cases() -> Iterator[tuple[str, Case]]:
        size = RACE_SIZES[number % len(RACE_SIZES)]
        found = random_modules(size, 500 * number, launch=True)
        for where, case in corpus_kernels(53 * number, launch=True) if number % 4 == 3 else found:
            rng = random.Random(number)
            assert case.launch is not None
            count = len(list(edges(case.module.entry(case.launch.entry))))
            for index in rng.sample(range(count), min(count, 6)):
                cut = case.copy()
                edge = list(edges(cut.module.entry(case.launch.entry)))[index]
                if edge.index < 0:
                    edge.op.token = None
                else:
                    edge.op.tokens = edge.op.tokens[: edge.index] + edge.op.tokens[edge.index + 1 :]
                yield where, cut

    return cases


# ---------------------------------------------------------------- messages

NUMBERS = re.compile(r"'[^']*'|\d+|<[^>]*>")


def general(text: str) -> str:
    """Return a pattern for a message: other types, names and numbers match, too."""
    parts = NUMBERS.split(text)
    return ".*".join(map(re.escape, parts))


@cache
def illegal_modules() -> list[tuple[str, Case, str]]:
    """Return mutated modules, each with a message that no other one has."""
    found: dict[str, tuple[str, Case, str]] = {}
    seed = 0
    while len(found) < 12:
        size = SIZES[len(found) % len(SIZES)]
        module, _ = smith_with_contract(seed, size=size)
        broken = mutate(module, random.Random(seed))
        messages = {general(finding.message) for finding in tilery.verify(broken, max_errors=5)}
        if len(messages) == 1 and (pattern := messages.pop()) not in found:
            found[pattern] = (f"random module, seed {seed}, mutated", Case(broken), pattern)
        seed += 1
    return list(found.values())


def messages() -> Iterator[Fault]:
    for where, case, pattern in illegal_modules():
        words = " ".join(pattern.replace("\\", "").replace(".*", "…").split())
        yield Fault("message", words[:90], Message(pattern), lambda w=where, c=case: iter([(w, c)]))  # type: ignore[misc]  # defaults bind


def all_faults() -> Iterator[Fault]:
    """Yield the sixty faults."""
    for make in (crashes, wrong_folds, wrong_lowerings, races, messages):
        yield from make()
