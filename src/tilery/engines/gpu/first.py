"""The first launch of a kernel: compile a few candidates side by side, and time them on copies of what it writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue

from ...analysis.roles import Roles, parameter_roles
from ...diag import TileError
from ...ir import walk
from ...ops import Entry, IntToPtr, LoadPtrTko, Module, PrintTko
from ...types import Ptr, Tile
from ..common.addresses import HoldsAddresses
from ..common.launch import Launch
from ..cuda.driver import Driver
from ..cuda.launch import Binary, BoundLaunch, CudaKernel, CudaLoaded, Prebuilt
from ..cuda.staging import ALIGNMENT, Staged, stage
from ..cuda.timing import elapsed, fitting, median
from ..triton.compiler import CompileProcess
from ..work import Work
from .variants import Variant, VariantCompiler

LONG_SECONDS = 0.5
"""A kernel whose launch takes longer is not launched again to compare candidates."""
ROUNDS = 5
ROUND_SECONDS = 0.002
"""How long the launches of a candidate take in each round."""
TOTAL_SECONDS = 0.1
"""About how long the rounds of a candidate may take together."""
HOPELESS = 3.0
"""A candidate that takes so many times as long as the best is not timed again."""
GAIN = 0.98
"""A candidate is taken instead of the one of the rules if its time is less than this part of that one's."""


@dataclass(slots=True)
class Timed:
    """The candidates that were timed; the first is that of the rules."""

    variants: list[Variant]
    kernels: list[CudaKernel]
    seconds: list[float]

    @property
    def best(self) -> int:
        """The number of the candidate to take."""
        fastest = min(range(len(self.seconds)), key=self.seconds.__getitem__)
        return fastest if self.seconds[fastest] < GAIN * self.seconds[0] else 0


def reason_against(entry: Entry, work: Work, launch: Launch) -> str:
    """Return why launches of a kernel cannot be repeated on copies of its memory; empty if they can."""
    if work.waits:
        return "its tile blocks may wait for each other"
    for o in walk(entry.body):
        if isinstance(o, PrintTko):
            return "it prints"
        if isinstance(o, IntToPtr) or (isinstance(o, LoadPtrTko) and _holds_pointers(o.result.type)):
            return "it computes addresses of memory that is not known"
    spans = [(r.address, r.address + r.size) for r in launch.bound.ranges]
    for index in parameter_roles(entry).written:
        address = int.from_bytes(launch.bound.slots[index], "little")
        if not any(start <= address < end for start, end in spans):
            return "it writes to memory whose size is not known"
    return ""


def _holds_pointers(type: object) -> bool:
    return isinstance(type, Tile) and isinstance(type.element, Ptr)


# ---------------------------------------------------------------- compiling

_COMPILERS: SimpleQueue[CompileProcess] = SimpleQueue()
"""Compilers that are not busy. Starting one takes longer than compiling a small kernel."""


@contextmanager
def _compiler() -> Iterator[CompileProcess]:
    try:
        found = _COMPILERS.get_nowait()
    except Empty:
        found = CompileProcess()
    try:
        yield found
    finally:
        _COMPILERS.put(found)


def compile_all(module: Module, entry: Entry, variants: Sequence[Variant], target: str) -> list[tuple[Variant, Binary]]:
    """Compile variants side by side; leave out those that are refused, and those whose code is that of another."""

    def one(variant: Variant) -> Binary | None:
        with _compiler() as compiler:
            try:
                return VariantCompiler(variant, compiler).compile(module, entry, target)
            except TileError:
                return None

    with ThreadPoolExecutor(len(variants)) as pool:
        made = list(pool.map(one, variants))
    found: dict[bytes, tuple[Variant, Binary]] = {}
    for variant, binary in zip(variants, made):
        if binary is not None:
            found.setdefault(binary.image, (variant, binary))
    return list(found.values())


# ---------------------------------------------------------------- memory


@dataclass(slots=True)
class _Copied:
    """Memory on the device that a kernel may write, and its copy."""

    start: int
    end: int
    base: int = 0
    address: int = 0


@dataclass(slots=True)
class Copies(HoldsAddresses):
    """Copies of the memory that a launch writes. Use it as a context, which frees them."""

    driver: Driver
    slots: list[bytes]
    """The arguments, with addresses of the copies."""
    copied: list[_Copied] = field(default_factory=list)
    in_place: bool = False
    """Whether the kernel reads what it writes, so that launches must not follow each other."""

    def __enter__(self) -> Copies:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self.copied:
            if each.base:
                self.driver.free(each.base)
        self.copied.clear()

    def reset(self) -> None:
        """Make the copies what the memory of the launch is."""
        for each in self.copied:
            self.driver.copy(each.address, each.start, each.end - each.start)


def copy_written(
    driver: Driver, spans: Sequence[tuple[int, int]], slots: Sequence[bytes], pointers: Sequence[bool], roles: Roles
) -> Copies:
    """Copy the memory that is written. `spans` are all ranges on the device; those that overlap share a copy."""
    joined: list[_Copied] = []
    for start, end in sorted(spans):
        if joined and start < joined[-1].end:
            joined[-1].end = max(joined[-1].end, end)
        else:
            joined.append(_Copied(start, end))
    addresses = {i: int.from_bytes(slot, "little") for i, slot in enumerate(slots) if pointers[i]}
    reached = {i: _holder(joined, address) for i, address in addresses.items()}
    written = {id(reached[i]) for i in roles.written}
    found = Copies(driver, list(slots), [each for each in joined if id(each) in written])
    found.in_place = any(id(reached[i]) in written for i in roles.read)
    try:
        for each in found.copied:
            each.base = driver.allocate(each.end - each.start + ALIGNMENT)
            each.address = each.base + (each.start - each.base) % ALIGNMENT
        for index, place in reached.items():
            if place is not None and id(place) in written:
                moved = place.address + addresses[index] - place.start
                found.slots[index] = moved.to_bytes(8, "little")
    except TileError:
        found.__exit__()
        raise
    return found


def _holder(joined: Sequence[_Copied], address: int) -> _Copied | None:
    """Return the memory that an address is in; the end of an array counts, unless another one starts there."""
    inside = next((each for each in joined if each.start <= address < each.end), None)
    return inside or next((each for each in joined if each.end == address), None)


# ---------------------------------------------------------------- timing


def time_candidates(
    driver: Driver, module: Module, entry: Entry, launch: Launch, built: Sequence[tuple[Variant, Binary]]
) -> Timed | None:
    """Time candidates on copies; return None if a launch takes too long for that, or memory does not suffice.

    What is timed is the launch itself: nothing that the caller can see changes.
    """
    pointers = [isinstance(p, Tile) and isinstance(p.element, Ptr) for p in entry.function_type.params]
    with ExitStack() as stack:
        try:
            staged, slots = stage(driver, launch.bound, pointers)
            stack.callback(staged.free)
            staged.copy_in()
            spans = [(at := staged.address(r.address), at + r.size) for r in launch.bound.ranges if r.size]
            copies = stack.enter_context(copy_written(driver, spans, slots, pointers, parameter_roles(entry)))
            kernels, launches = [], []
            for _, binary in built:
                kernels.append(CudaKernel(CudaLoaded(module, Prebuilt(binary), driver), entry))
                bound = BoundLaunch(kernels[-1], launch.grid, Staged(driver), copies.slots, 0, copies)
                launches.append(stack.enter_context(bound))
        except TileError:
            return None
        seconds = _measure(driver, launches, copies, launch.limits.seconds)
        return None if seconds is None else Timed([variant for variant, _ in built], kernels, seconds)


def _measure(
    driver: Driver, launches: Sequence[BoundLaunch], copies: Copies, limit: float | None
) -> list[float] | None:
    """Return the seconds of each launch: the median of rounds in turn, since clocks drift while the device works."""
    found: list[list[float]] = []
    for number, bound in enumerate(launches):
        for _ in range(2):  # the first launch of code takes longer
            copies.reset()
            seconds = elapsed(driver, bound.launch, 1, limit=limit)
            if number == 0 and seconds > LONG_SECONDS:
                return None
        found.append([seconds])
    least = min(times[0] for times in found)
    close = [n for n, times in enumerate(found) if n == 0 or times[0] <= HOPELESS * least]
    estimates = [times[0] for times in found]
    rounds = max(0, min(ROUNDS, int(TOTAL_SECONDS / max(estimates[0], 1e-6))))
    for _ in range(rounds):
        for n in close:
            copies.reset()
            count = 1 if copies.in_place else fitting(estimates[n], ROUND_SECONDS)
            found[n].append(elapsed(driver, launches[n].launch, count, limit=limit))
    return [median(times[1:] or times) for times in found]
