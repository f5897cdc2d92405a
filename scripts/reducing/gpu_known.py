"""Known faults on a GPU, and random modules that may show them: three of tileiras, and wrong lowerings to Triton.

The faults of tileiras are those of docs/reports/lab/compiler_bugs. The wrong lowerings are planted in our own engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import gpu_modules
import tilery
from parts import gpu_bugs
from reducing.faults import different
from support.contract import constants_as_arguments, store_all_values
from tilery import ops
from tilery.declare.operation import BY_NAME
from tilery.engines.semantics import same_bits
from tilery.ir import Op, clone, walk
from tilery.ops import Module
from tilery.reducer import Case
from tilery.reducer.campaign import launched
from tilery.reducer.oracles import Differs, with_steps
from tilery.rewrite.editing import replace_uses
from tilery.smith import smith_with_contract
from tilery.types import BF16, Tile

TARGET = "sm_90"
SECONDS = 3.0
"""After this time a kernel hangs."""
TILEIRAS = Differs(("reference", "tileiras"), SECONDS)


@dataclass(frozen=True)
class Known:
    """A known fault, and the modules in which it is looked for."""

    name: str
    pattern: Callable[[Module], bool]
    """Whether a module may show it."""
    mix: dict[str, float]
    size: int
    visible: Callable[[Case], bool] = lambda case: True
    """Whether a launch would leave other bits if the compiler had the fault."""
    wanted: Callable[[Op], bool] = lambda o: True
    """Parts that the generator may add to a module."""
    hide_constants: bool = False
    """Whether constants are loaded from memory, so that the compiler does not compute loops itself."""
    seeds: int = 3000
    """How many seeds are searched for the pattern."""
    most_tried: int = 48
    """How many modules are tried on the GPU."""
    test: Differs = TILEIRAS


def around(module: Module) -> Iterator[tuple[Op, list[Op]]]:
    """Yield every operation with those around it."""
    todo: list[tuple[Op, list[Op]]] = [(module, [])]
    while todo:
        o, outer = todo.pop()
        yield o, outer
        todo += [(inner, [*outer, o]) for block in o.blocks for inner in block.ops]


# ---------------------------------------------------------------- faults of tileiras


def returns_in_two_loops(module: Module) -> bool:
    return any(
        isinstance(o, ops.Return) and sum(isinstance(x, ops.Loop) for x in outer) > 1 for o, outer in around(module)
    )


def prints_in_a_loop(module: Module) -> bool:
    return any(
        isinstance(o, ops.PrintTko) and prints_many(o) and any(isinstance(x, ops.Loop) for x in outer)
        for o, outer in around(module)
    )


def prints_many(o: Op) -> bool:
    """Tell whether an operation that prints, or converts, has a large tile of bf16; others do not matter."""
    if not isinstance(o, (ops.PrintTko, ops.IToF)):
        return True
    values = o.args if isinstance(o, ops.PrintTko) else o.results
    return any(isinstance(v.type, Tile) and v.type.size >= 512 and v.type.element is BF16 for v in values)


def continues_with_one_value_twice(module: Module) -> bool:
    return any(True for o in walk(module) if isinstance(o, ops.For) for _ in repeated(o))


def repeated(loop: ops.For) -> Iterator[tuple[int, int]]:
    """Yield positions for which the `continue` of a loop passes one value, and which start with different ones."""
    passed = loop.region.ops[-1].operands
    for second, value in enumerate(passed):
        first = passed.index(value)
        if loop.initValues[first] is not loop.initValues[second]:
            yield first, second


def results_differ(case: Case) -> bool:
    """Tell whether a launch leaves other bits if results for which `continue` passes one value are taken for equal."""
    launch = with_steps(case, SECONDS).launch
    assert launch is not None
    for which in (0, 1):
        after: Module = clone(case.module)
        for loop in [o for o in walk(after) if isinstance(o, ops.For)]:
            for pair in repeated(loop):
                replace_uses(after, {loop.resultValues[pair[1 - which]]: loop.resultValues[pair[which]]})
        if different(case.module, after, launch):
            return True
    return False


# ---------------------------------------------------------------- wrong lowerings to Triton


@dataclass(frozen=True)
class WrongLowering(Differs):
    """The Triton engine, in which an operation does nothing but return its first operand."""

    operation: str = ""

    def __call__(self, case: Case) -> str:
        with wrong_lowering(BY_NAME[self.operation].cls):
            return super().__call__(case)


@contextmanager
def wrong_lowering(cls: Any) -> Iterator[None]:
    """Lower an operation wrongly for a while."""
    from tilery.engines.triton.ops import LOWERS

    good = LOWERS[cls]
    LOWERS[cls] = lambda low, o, first, *operands: first
    try:
        yield
    finally:
        LOWERS[cls] = good


def planted(name: str) -> Known:
    """Return a planted fault: an operation is lowered to its first operand."""
    return Known(
        f"triton_{name}",
        lambda module: any(o.name == name for o in walk(module)),
        {name: 1, "Integer": 2, "Core": 1, "Memory": 1},
        80,
        seeds=50,
        most_tried=8,
        test=WrongLowering(("reference", "triton"), SECONDS, operation=name),
    )


KNOWN = (
    Known(
        "continue_with_one_value_twice",
        continues_with_one_value_twice,
        {"for": 4, "Control Flow": 2, "Integer": 3, "Memory": 2},
        80,
        results_differ,
        hide_constants=True,
        most_tried=300,
    ),
    Known(
        "print_in_a_loop",
        prints_in_a_loop,
        {"loop": 4, "print_tko": 4, "itof": 3, "Core": 1, "Integer": 1, "Memory": 1},
        60,
        wanted=prints_many,
        seeds=6000,
        most_tried=120,
    ),
    planted("negi"),
    planted("xori"),
    Known(
        "return_in_two_loops",
        returns_in_two_loops,
        {"loop": 4, "if": 3, "return": 3, "Integer": 2, "Memory": 2},
        80,
        seeds=300,
    ),
)


# ---------------------------------------------------------------- modules


def kernels() -> dict[str, Case]:
    """Return the kernels in docs/reports/lab/compiler_bugs, which people made small, with their launches."""
    return {bug.name: Case(bug.module(), launched(bug.contract().launches[0], 0)) for bug in gpu_bugs.BUGS}


def make(known: Known, seed: int) -> list[Case]:
    """Return the cases of a seed, a module for each launch; none if it lacks the pattern."""
    refused = gpu_modules.REFUSED[TARGET]

    def allow(o: Op) -> bool:
        tiles = (v.type for v in (*o.operands, *o.results) if isinstance(v.type, Tile))
        return known.wanted(o) and same_bits(o) and not any(getattr(t.element, "name", "") in refused for t in tiles)

    module, contract = smith_with_contract(seed, size=known.size, mix=known.mix, allow=allow)
    if not known.pattern(module):
        return []
    module, contract = store_all_values(module, contract)
    contents: list[list[Any]] = [[] for _ in contract.launches]
    launches = [launched(launch, seed) for launch in contract.launches]
    if known.hide_constants:
        module, _, contents = constants_as_arguments(module, contract, integers=True)
    module.version = tilery.LATEST
    cases = [Case(module, replace(one, args=(*one.args, *more))) for one, more in zip(launches, contents)]
    return [case for case in cases if known.visible(case)]


TOGETHER = 50


def candidates(item: tuple[int, int]) -> list[tuple[int, bytes]]:
    """Return the cases of some seeds that have a pattern, each with its seed."""
    number, start = item
    seeds = range(start, start + TOGETHER)
    return [(seed, case.encode(tilery.LATEST)) for seed in seeds for case in make(KNOWN[number], seed)]
