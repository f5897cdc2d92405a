"""Time a submission on a GPU, where its memory stays: launch after launch, each on other memory than the one before.

A launch finds nothing of its arrays in the caches, because those of other launches have passed through since. Launches
that follow each other at once keep the clocks where they are under load, and cost no time between events. What a
program reads and writes is restored before each of its launches, which are then timed one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np

from ..engines.cuda.driver import Driver, open_driver
from ..engines.cuda.timing import BLOCK_SECONDS, HEAT_SECONDS, MOST, elapsed, fitting, screened
from ..types import Ptr, Tile
from .memory import GuardedMemory, Poison, slot_value
from .problem import Problem, Shape
from .program import CandidateProgram
from .stages.executing import LoadedSubmission, execute, make_buffers, outputs_of
from .values import Array

CACHES = 4
"""How many times the cache's bytes pass between two launches on the same memory."""
COPIES = 64
"""The most copies of the memory of a program."""
PAGE = 4096
"""Memory on the device has the same alignment as that on the host, up to this many bytes."""
COPY_BYTES = 1 << 28

Launch = Callable[[], None]


@dataclass(frozen=True, slots=True)
class DeviceBuffer:
    """The memory of a buffer on the device, and an image of what it holds before a launch."""

    address: int
    size: int
    start: int
    """Where all of it starts: its guards are there too."""
    image: int
    whole: int

    def restore(self, driver: Driver) -> None:
        """Fill it as before the first launch."""
        driver.copy(self.start, self.image, self.whole)


@contextmanager
def on_device(driver: Driver, buffers: Mapping[str, GuardedMemory]) -> Iterator[dict[str, DeviceBuffer]]:
    """Copy buffers to the device for as long as the context lasts."""
    with ExitStack() as stack:

        def allocate(size: int) -> int:
            made = driver.allocate(size)
            stack.callback(driver.free, made)
            return made

        found = {}
        for name, each in buffers.items():
            first = int(each.raw.ctypes.data)
            start = allocate(len(each.raw) + PAGE)
            start += (first - start) % PAGE
            image = allocate(len(each.raw))
            driver.copy_in(image, first, len(each.raw))
            found[name] = DeviceBuffer(start + each.start, each.size, start, image, len(each.raw))
            found[name].restore(driver)
        yield found


def rolled(inputs: Mapping[str, Array], number: int) -> dict[str, Array]:
    """Return inputs that hold the same numbers elsewhere: to draw many times as many takes too long."""
    return {name: np.roll(bits.reshape(-1), 257 * number).reshape(bits.shape) for name, bits in inputs.items()}


@dataclass(frozen=True, slots=True)
class DeviceProgram:
    """A program on a GPU, bound to several copies of its memory."""

    driver: Driver
    places: list[dict[str, DeviceBuffer]]
    launches: list[Launch]
    """All launches of the program, on each of the copies."""
    restored: list[str]
    """The arrays that a program reads and writes; they are restored before each launch."""

    def rounds(self, rounds: int, limit: float, copies: int = COPIES) -> Iterator[float]:
        """Yield the seconds of a launch in each round, as the mean of several, on at most so many copies in turn."""
        driver, places = self.driver, self.places[:copies]
        turns = cycle(range(len(places)))

        def prepare(number: int) -> None:
            for name in self.restored:
                places[number][name].restore(driver)

        def one() -> None:
            number = next(turns)
            prepare(number)
            self.launches[number]()

        def alone() -> float:
            number = next(turns)
            prepare(number)
            return elapsed(driver, self.launches[number], 1, limit=limit)

        estimate = screened(driver, one, limit=limit)
        count = min(MOST, max(len(places), fitting(estimate, BLOCK_SECONDS)))
        for _ in range(rounds):
            for place in places:
                for each in place.values():
                    each.restore(driver)
            for _ in range(fitting(estimate, HEAT_SECONDS)):
                one()
            if self.restored:
                yield sum(alone() for _ in range(count)) / count
            else:
                yield elapsed(driver, one, count, limit=limit)


@contextmanager
def bound_to_copies(
    loaded: LoadedSubmission, program: CandidateProgram, problem: Problem, copies: list[dict[str, GuardedMemory]],
    engine: str, limit: float,
) -> Iterator[DeviceProgram]:  # fmt: skip
    """Compile a program and bind it to copies of its memory for as long as the context lasts.

    The last copy stays on the host: it is for a first launch, which is checked as any other one.
    """
    driver = open_driver()
    restored = [each.name for each in problem.arguments if each.role == "inout"]
    restored += [name for name, each in program.scratch.items() if each.content is not None]
    *copies, first = copies
    with ExitStack() as stack:
        kernels: list[Any] = [loaded.kernel(each.module, each.entry, engine) for each in program.launches]
        execute(loaded, program, first, left=lambda: limit, engine=engine)  # engine gpu chooses a variant
        places, launches = [], []
        for buffers in copies:
            places.append(stack.enter_context(on_device(driver, buffers)))
            bound = []
            for kernel, launch in zip(kernels, program.launches):
                pointers = [isinstance(p, Tile) and isinstance(p.element, Ptr) for p in kernel.params]
                args = [slot_value(slot, places[-1], is_ptr) for slot, is_ptr in zip(launch.slots, pointers)]
                bound.append(stack.enter_context(kernel.bind(launch.grid, args)))
            launches.append(_in_turn([each.launch for each in bound]))
        yield DeviceProgram(driver, places, launches, restored)


def measure_on_device(
    loaded: LoadedSubmission, program: CandidateProgram, problem: Problem, shape: Shape, inputs: Mapping[str, Array],
    request: Mapping[str, Any], limit: float, alone: Callable[[], AbstractContextManager[None]],
) -> tuple[dict[str, Any], dict[str, Array]]:  # fmt: skip
    """Time a program on inputs; return times and the outputs of a launch on just these, which was timed too.

    The context `alone` is entered for what uses the GPU.
    """
    driver, seed = open_driver(), request["seed"]
    copies = drawn_copies(driver, problem, shape, program, inputs, seed)
    chosen = request["keep"] % (len(copies) - 1)
    drawn = copies.pop(0)
    copies.insert(chosen, drawn)
    with alone(), bound_to_copies(loaded, program, problem, copies, request["engine"], limit) as made:
        seconds = list(made.rounds(request["rounds"], limit))
        driver.synchronize()
        for name, buffer in drawn.items():
            driver.copy_out(int(buffer.raw.ctypes.data), made.places[chosen][name].start, len(buffer.raw))
        bandwidth = copy_bandwidth(driver)
    facts = {"seconds": seconds, "bandwidth": bandwidth, "clock": "device", "copies": len(made.places)}
    return facts, outputs_of(problem, shape, drawn)


def drawn_copies(
    driver: Driver, problem: Problem, shape: Shape, program: CandidateProgram, inputs: Mapping[str, Array], seed: int
) -> list[dict[str, GuardedMemory]]:
    """Return copies of a program's memory. The first and the last hold the inputs; others hold their numbers elsewhere.

    The last is for the first launch, which is not timed.
    """
    drawn, first = (make_buffers(problem, shape, program, inputs, Poison(seed)) for _ in range(2))
    others = [
        make_buffers(problem, shape, program, rolled(inputs, number), Poison(seed + number))
        for number in range(1, copies_for(driver, drawn))
    ]
    return [drawn, *others, first]


def copies_for(driver: Driver, buffers: Mapping[str, GuardedMemory]) -> int:
    """Return on how many copies of its memory a program is timed in turn."""
    held = sum(each.size for each in buffers.values())
    return max(2, min(COPIES, -(-CACHES * driver.cache_bytes // max(held, 1))))


def _in_turn(launches: list[Launch]) -> Launch:
    if len(launches) == 1:
        return launches[0]

    def run() -> None:
        for launch in launches:
            launch()

    return run


def copy_bandwidth(driver: Driver) -> float:
    """Return the bytes per second of a large copy on the device."""
    source, target = (driver.allocate(COPY_BYTES) for _ in range(2))
    try:
        return (
            2 * COPY_BYTES / min(elapsed(driver, lambda: driver.copy(target, source, COPY_BYTES), 10) for _ in range(3))
        )
    finally:
        for each in (source, target):
            driver.free(each)
