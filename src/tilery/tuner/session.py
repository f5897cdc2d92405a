"""Variants of one launch on a GPU: loaded, checked and timed, on copies of the arguments that they share in turn."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..analysis.roles import parameter_roles
from ..diag import ErrorKind, TileError
from ..engines.common.addresses import HoldsAddresses, MemoryRange
from ..engines.common.kernel import find_entry
from ..engines.common.launch import Launch
from ..engines.common.limits import Limits
from ..engines.cuda.driver import Driver
from ..engines.cuda.launch import Binary, BoundLaunch, CudaKernel, CudaLoaded, Prebuilt
from ..engines.cuda.staging import Staged
from ..engines.cuda.timing import interleaved, screened
from ..engines.recorded import Placed, Pointer, Recorded
from ..engines.reference.launch import ReferenceLoaded
from ..ops import Entry, Module
from ..source.input import Input
from ..types import Ptr, Scalar, Tile
from ..verifier.explain import read_legal
from .compare import difference, is_exact

POISON = 0xFF
"""The byte that fills memory that a kernel only writes, before each check."""
WHOLE = 64 << 20
"""Results up to this size are compared whole, larger ones in pieces."""
PIECES, PIECE = 256, 64 << 10


@dataclass(slots=True)
class WrittenBuffer:
    """A buffer that a kernel writes: its number, its elements, and whether it is read too."""

    buffer: int
    element: Scalar
    is_read: bool


def outputs_of(entry: Entry, launch: Recorded) -> list[WrittenBuffer]:
    """Return the buffers that a launch may write."""
    roles = parameter_roles(entry)
    pointed = {target.buffer for b in launch.buffers for target in b.pointers.values()}
    found: dict[int, WrittenBuffer] = {}
    for at, argument in enumerate(launch.arguments):
        if not isinstance(argument, Pointer) or (at not in roles.written and argument.buffer not in pointed):
            continue
        type = entry.function_type.params[at]
        assert isinstance(type, Tile) and isinstance(type.element, Ptr)
        is_read = argument.buffer in pointed or any(
            isinstance(a, Pointer) and a.buffer == argument.buffer and i in roles.read
            for i, a in enumerate(launch.arguments)
        )
        found.setdefault(argument.buffer, WrittenBuffer(argument.buffer, type.element.pointee, is_read))
    return list(found.values())


def expected(launch: Recorded, grid: tuple[int, int, int], seconds: float) -> list[bytes] | None:
    """Return what the reference engine leaves in the buffers that a launch writes; None if it takes too long."""
    module = read_legal(Input(launch.bytecode))
    entry = find_entry(module, launch.entry)
    outputs, placed = outputs_of(entry, launch), launch.place()
    for output in outputs:
        if not output.is_read:
            ctypes.memset(placed.buffers[output.buffer][0], POISON, placed.buffers[output.buffer][1])
    kernel = ReferenceLoaded(module).kernel(launch.entry)
    try:
        limits = Limits(seconds=seconds)
        kernel.launch(grid, placed.arguments, buffers=placed.buffers, limits=limits, output=lambda text: None)
    except TileError as error:
        if error.kind is ErrorKind.TIMEOUT:
            return None
        raise
    return [_sampled(placed.read(output.buffer)) for output in outputs]


def _sampled(data: bytes) -> bytes:
    return sampled(len(data), lambda at, size: data[at : at + size])


def sampled(size: int, read: Callable[[int, int], bytes]) -> bytes:
    """Return a buffer, or pieces of it at even distances if it is large. Positions are multiples of the piece."""
    if size <= WHOLE:
        return read(0, size)
    count = size // PIECE
    return b"".join(read(i * count // PIECES * PIECE, PIECE) for i in range(PIECES)) + read(size - PIECE, PIECE)


@dataclass(slots=True)
class TuningSession(HoldsAddresses):
    """A recorded launch on a device, with the variants that have been loaded."""

    driver: Driver
    launch: Recorded
    small: tuple[int, int, int] | None = None
    """The grid of which the reference engine has computed the results."""
    wanted: list[bytes] | None = None
    """Those results."""
    entry: Entry = field(init=False)
    _module: Module = field(init=False)
    _placed: Placed = field(init=False)
    _staged: Staged = field(init=False)
    _slots: list[bytes] = field(init=False)
    _outputs: list[WrittenBuffer] = field(init=False)
    _first: list[bytes] | None = None
    _bound: dict[int, BoundLaunch] = field(default_factory=dict)
    _exact: bool = field(init=False)

    def __post_init__(self) -> None:
        self._module = read_legal(Input(self.launch.bytecode))
        self.entry = find_entry(self._module, self.launch.entry)
        self._exact = is_exact(self.entry)
        self._outputs = outputs_of(self.entry, self.launch)
        self._placed = self.launch.place()
        self._staged = Staged(self.driver)
        self._staged.add(
            [
                MemoryRange(address, size, f"buffer {n}", pointers=tuple(b.pointers))
                for n, ((address, size), b) in enumerate(zip(self._placed.buffers, self.launch.buffers))
            ]
        )
        self._staged.copy_in()
        bound = Launch(self.entry, self.launch.grid, self._placed.arguments, buffers=self._placed.buffers).bound
        self._slots = [
            self._staged.address(int.from_bytes(slot, "little")).to_bytes(8, "little")
            if isinstance(argument, Pointer)
            else slot
            for slot, argument in zip(bound.slots, self.launch.arguments)
        ]

    def close(self) -> None:
        """Free everything on the device."""
        for bound in self._bound.values():
            bound.close()
        self._bound.clear()
        self._staged.free()

    # ------------------------------------------------------------ one variant

    def load(self, number: int, binary: Binary) -> BoundLaunch:
        """Load a variant for the grid of the launch."""
        if number not in self._bound:
            self._bound[number] = self._bind(binary, self.launch.grid)
        return self._bound[number]

    def _bind(self, binary: Binary, grid: Sequence[int]) -> BoundLaunch:
        kernel = CudaKernel(CudaLoaded(self._module, Prebuilt(binary), self.driver), self.entry)
        x, y, z = grid
        return BoundLaunch(kernel, (x, y, z), Staged(self.driver), self._slots, 0, self)

    def attempt(self, number: int, binary: Binary, limit: float) -> float:
        """Check a variant and return a first estimate of its time; raise TileError if it is wrong or too slow."""
        if self.small is not None and self.wanted is not None:
            with self._bind(binary, self.small) as bound:
                self._compare(self._results(bound, limit), self.wanted, "the reference engine")
        bound = self.load(number, binary)
        results = self._results(bound, limit)
        if self._first is None:
            self._first = results
        else:
            self._compare(results, self._first, "the first variant")
        return screened(self.driver, bound.launch, limit=limit)

    def _results(self, bound: BoundLaunch, limit: float) -> list[bytes]:
        self._reset()
        bound.run(limit)
        return [self._sample(output.buffer) for output in self._outputs]

    def _reset(self) -> None:
        """Restore memory that the kernel reads and writes, and poison what it only writes."""
        for output in self._outputs:
            host, size = self._placed.buffers[output.buffer]
            device = self._staged.address(host)
            if output.is_read:
                self.driver.copy_in(device, host, size)
            elif size:
                self.driver.call("cuMemsetD8Async", device, POISON, size, 0)

    def _sample(self, buffer: int) -> bytes:
        host, size = self._placed.buffers[buffer]
        device = self._staged.address(host)

        def read(at: int, length: int) -> bytes:
            data = ctypes.create_string_buffer(max(length, 1))
            self.driver.copy_out(ctypes.addressof(data), device + at, length)
            return data.raw[:length]

        return sampled(size, read)

    def _compare(self, found: list[bytes], wanted: list[bytes], whose: str) -> None:
        for output, a, b in zip(self._outputs, wanted, found):
            if words := difference(output.element, a, b, exact=self._exact):
                names = ", ".join(self.launch.buffers[output.buffer].names) or f"buffer {output.buffer}"
                raise TileError(f"its results differ from those of {whose}, in {names}: {words}")

    # ------------------------------------------------------------ several variants

    def rounds(
        self, estimates: dict[int, float], rounds: int, beat: Callable[[], Any] = lambda: None
    ) -> dict[int, list[float]]:
        """Time variants that have been loaded, in turn."""
        launches = {n: (self._bound[n].launch, seconds) for n, seconds in estimates.items()}
        return interleaved(self.driver, launches, rounds=rounds, beat=beat)
