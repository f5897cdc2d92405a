"""`uninit`: values that nobody defined, and where they come to matter.

Memory that nobody wrote is undefined: that of an `alloca`, and arguments that the caller declares so. So are masked
elements of a load without padding, and elements outside the tensor of a view without a padding value. Undefined bytes
may be loaded, moved, computed with and stored in an `alloca`. They are reported where they are stored to other memory,
decide a branch, are used as an address, a mask or a size, or are printed.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np

from ..engines.common.addresses import HoldsAddresses
from ..engines.common.layout import alloca_bytes
from ..engines.common.tiles import Array
from ..engines.reference.access import POINTERS, Access, Kind
from ..engines.reference.batch import Batch
from ..engines.reference.program import Advance, Branch, Instruction, Jump, Leave, Slots, Test
from ..ir import Op
from ..ops import Alloca, Assert, AtomicCASTko, Entry, LoadPtrTko, LoadViewTko, PrintTko
from ..types import TileView
from .checks import Check, Step
from .shadow import FULL, Shadow, full, present, spread


class Region(HoldsAddresses):
    """Memory of which some bytes are undefined: 1 for each byte that nobody wrote."""

    __slots__ = ("bytes", "end", "private", "start")

    def __init__(self, start: int, size: int, private: bool) -> None:
        self.start, self.end, self.private = start, start + size, private
        self.bytes = np.ones(size, np.uint8)


class MemoryShadow:
    """The regions, in order of address. Everything else is defined."""

    def __init__(self, regions: list[Region]) -> None:
        self.regions = sorted(regions, key=lambda region: region.start)

    def add(self, start: int, size: int, private: bool) -> None:
        at = bisect_right([r.start for r in self.regions], start)
        self.regions.insert(at, Region(start, size, private))

    def parts(self, addresses: Array) -> list[tuple[Region, Array]]:
        """Return the regions that hold some of the addresses, and which ones."""
        if not self.regions or not addresses.size:
            return []
        low, high = int(addresses.min()), int(addresses.max())
        near = [r for r in self.regions if r.start <= high and low < r.end]
        found = [(r, np.flatnonzero((addresses >= r.start) & (addresses < r.end))) for r in near]
        return [(region, chosen) for region, chosen in found if len(chosen)]

    def load(self, addresses: Array, size: int) -> Array:
        """Return for each element which of its bytes are undefined."""
        out = np.zeros(len(addresses), np.uint8)
        for region, chosen in self.parts(addresses):
            at = addresses[chosen] - region.start
            for byte in range(size):
                out[chosen] |= region.bytes[np.minimum(at + byte, len(region.bytes) - 1)] << byte
        return out

    def store(self, addresses: Array, size: int, shadows: Array) -> Array:
        """Set the bytes of elements in private regions, and clear them elsewhere. Return which elements are private."""
        private = np.zeros(len(addresses), bool)
        for region, chosen in self.parts(addresses):
            at = addresses[chosen] - region.start
            for byte in range(size):
                value = shadows[chosen] >> byte & 1 if region.private else 0
                region.bytes[np.minimum(at + byte, len(region.bytes) - 1)] = value
            private[chosen] = region.private
        return private

    def fill(self, starts: Array, size: int) -> None:
        """Make memory undefined again."""
        for region, chosen in self.parts(starts):
            for at in (starts[chosen] - region.start).tolist():
                region.bytes[at : at + size] = 1


class Uninit(Check):
    """Follows undefined bytes through memory and values.

    The shadow of the value in slot n is in slot `~n` of the same batch, if it has one; so it is split and merged with
    the value.
    """

    name = "uninit"
    accesses = True

    def begin(self, entry: Entry) -> None:
        self.memory = MemoryShadow(self.machine.uninit)
        self._allocated: set[int] = set()
        """The memory of tile blocks that has a region."""
        self._any = False
        """Whether a value of this launch has ever been undefined; most launches have none."""

    # ------------------------------------------------------------ what the launch does

    def release(self) -> None:
        """The memory of tile blocks is freed."""
        self.memory.regions = [region for region in self.memory.regions if not region.private]
        self._allocated.clear()

    def merging(self, batches: list[Batch]) -> None:
        fill_in(batches)

    def result(self, step: Step, result: Any) -> None:
        """Compute the shadows of an operation's results, and report what must not be undefined."""
        o, batch, instruction, access = step.op, step.batch, step.instruction, step.access
        assert instruction is not None
        if not self._any and access is None and not isinstance(o, Alloca):
            return
        env = batch.env
        shadows = {name: _shadow(env, slot) for name, slot in zip(step.args, instruction.args)}
        found = present(shadows)
        made: Any = None
        if access is not None:
            made = self._access(o, access, step, shadows)
        elif isinstance(o, Alloca):
            self._allocate(result, alloca_bytes(o))
        elif found and isinstance(o, PrintTko):
            for value in (s for s in shadows["args"] if s is not None):
                self._report(o, "a value that nobody defined is printed", batch.blocks, value != 0)
        elif found and isinstance(o, Assert):
            self._report(o, "an assertion depends on a value that nobody defined", batch.blocks, found[0] != 0)
        elif found:
            made = spread(o, step, shadows)
        if made is None and not self._any:
            return
        self._any = True
        _assign(env, instruction.outs, made if isinstance(made, tuple) else (made,))
        for slot in instruction.frees:
            env.pop(~slot, None)

    def _allocate(self, addresses: Array, size: int) -> None:
        """Make the memory of tile blocks undefined; what is new lies together."""
        if new := set(addresses.tolist()) - self._allocated:
            self.memory.add(min(new), max(new) + size - min(new), private=True)
            self._allocated |= new
        self.memory.fill(addresses, size)

    def decides(self, instruction: Instruction) -> bool:
        return isinstance(instruction, (Branch, Test, Advance)) or (
            isinstance(instruction, (Jump, Leave)) and bool(instruction.moves[0])
        )

    def branch(self, instruction: Any, batch: Batch) -> None:
        """Move shadows with the values that control flow moves, and report decisions."""
        if not self._any:
            return
        env = batch.env
        match instruction:
            case Branch():
                self._decides(instruction.op, batch, env.get(~instruction.condition))
            case Test():
                for slot in (instruction.counter, instruction.bound):
                    self._decides(instruction.op, batch, env.get(~slot))
                _put(env, instruction.variable, env.get(~instruction.counter))
            case Advance():
                step = env.get(~instruction.step)
                _move(env, *instruction.moves)
                if step is not None:
                    _put(env, instruction.counter, step)
            case Jump() | Leave():
                _move(env, *instruction.moves)

    def _decides(self, o: Op, batch: Batch, shadow: Shadow) -> None:
        if shadow is not None:
            self._report(o, "a value that nobody defined decides what is executed", batch.blocks, shadow != 0)

    def _report(self, o: Op, rule: str, blocks: Array, bad: Array, values: Any = None) -> None:
        self.reports.elements(self.name, o, rule, blocks, bad, values)

    # ------------------------------------------------------------ memory

    def _access(self, o: Any, access: Access, step: Step, shadows: dict[str, Any]) -> Any:
        if not self.memory.regions and not present(shadows) and self._is_defined(o, access):
            return None
        shape = access.mask.shape
        for name in (*POINTERS, "view", "index", "mask"):
            for shadow in present({name: shadows.get(name)}):
                what = {"mask": "the mask", "index": "the index of the tile"}.get(name, "the address")
                bad = shadow != 0
                if name in POINTERS:
                    bad = bad & access.mask
                self._report(o, f"{what} of an access is a value that nobody defined", access.blocks, bad)
        chosen, addresses = access.elements
        memory = self.memory.load(addresses, access.bytes) if access.reads and self.memory.regions else None
        if access.kind is Kind.READ:
            return self._loaded(o, access, shadows, chosen, memory), None
        given = shadows.get("value", shadows.get("tile", shadows.get("arg", shadows.get("val"))))
        stored = np.zeros(len(chosen), np.uint8)
        if given is not None:
            stored = np.broadcast_to(given, shape).reshape(-1)[chosen]
        if isinstance(o, AtomicCASTko) and shadows["cmp"] is not None:
            bad = np.broadcast_to(shadows["cmp"] != 0, shape) & access.mask
            self._report(o, "memory is compared with a value that nobody defined", access.blocks, bad)
        old = stored if memory is None else full(memory != 0)
        private = self.memory.store(addresses, access.bytes, stored if memory is None else stored | old)
        self._public(o, access, chosen, stored, memory, private)
        if access.kind is Kind.WRITE or memory is None or not memory.any():
            return None
        out = np.zeros(access.mask.size, np.uint8)
        out[chosen] = old
        return out.reshape(shape), None

    def _is_defined(self, o: Any, access: Access) -> bool:
        """Tell quickly whether no element of an access can be undefined if its operands and memory are defined."""
        if access.kind is not Kind.READ:
            return True
        padded = _padding_of(o)
        return padded is not None or (access.place.span is not None and access.place.span.whole)

    def _public(self, o: Op, access: Access, chosen: Array, stored: Array, memory: Shadow, private: Array) -> None:
        """Report what is stored to memory that others see."""
        for shadow, rule in (
            (stored, "a value that nobody defined is stored to memory"),
            (memory, "an atomic operation changes memory that nobody wrote"),
        ):
            if shadow is not None and shadow.any():
                flat = np.zeros(access.mask.size, bool)
                flat[chosen] = (shadow != 0) & ~private
                bad = flat.reshape(access.mask.shape)
                self._report(o, rule, access.blocks, bad, self._where(access))

    def _where(self, access: Access) -> Any:
        def values(where: tuple[int, ...]) -> dict[str, Any]:
            address = int(access.addresses[where])
            segment = self.machine.memory.at(address)
            if segment is None:
                return {"the address": hex(address)}
            return {"the memory": f"byte {address - segment.address} of {segment.label}"}

        return values

    def _loaded(
        self, o: LoadPtrTko | LoadViewTko, access: Access, shadows: dict[str, Any], chosen: Array, memory: Shadow
    ) -> Shadow:
        """The shadow of a loaded tile: that of memory, and of what takes the place of elements that are left out."""
        if isinstance(o, LoadViewTko):
            padding: Any = None if _padding_of(o) is not None else FULL
        else:
            padding = FULL if o.paddingValue is None else shadows["paddingValue"]
        whole = len(chosen) == access.mask.size
        if (memory is None or not memory.any()) and (padding is None or whole):
            return None
        out = np.zeros(access.mask.shape, np.uint8)
        if padding is not None:
            out[...] = padding
        if access.refused is not None:
            out[access.refused] = 0  # these have been reported
        out.reshape(-1)[chosen] = 0 if memory is None else memory
        return out


def _padding_of(o: LoadPtrTko | LoadViewTko) -> object:
    """The value of elements that a load leaves out, if it has one."""
    if isinstance(o, LoadPtrTko):
        return o.paddingValue
    assert isinstance(o.view.type, TileView)
    return o.view.type.padding_value


def _shadow(env: dict[int, Any], slot: Any) -> Any:
    if slot is None:
        return None
    if isinstance(slot, tuple):
        return tuple(env.get(~each) for each in slot)
    return env.get(~slot)


def _put(env: dict[int, Any], slot: int, shadow: Shadow) -> None:
    if shadow is None or not shadow.any():
        env.pop(~slot, None)
    else:
        env[~slot] = shadow


def _move(env: dict[int, Any], sources: Slots, targets: Slots) -> None:
    shadows = [env.get(~slot) for slot in sources]
    for slot, shadow in zip(targets, shadows):
        _put(env, slot, shadow)


def _assign(env: dict[int, Any], outs: tuple[Any, ...], shadows: tuple[Any, ...]) -> None:
    for index, slots in enumerate(outs):
        shadow = shadows[index] if index < len(shadows) else None
        if isinstance(slots, int):
            _put(env, slots, shadow)
        elif slots is not None:
            for number, slot in enumerate(slots):
                _put(env, slot, None if shadow is None else shadow[number])


def fill_in(batches: list[Batch]) -> None:
    """Give a shadow to values that have one in some of the batches: merging drops what not all of them have."""
    known: dict[int, Array] = {slot: batch.env[slot] for batch in batches for slot in batch.env if slot < 0}
    for slot, shadow in known.items():
        for batch in batches:
            if slot not in batch.env and ~slot in batch.env:
                batch.env[slot] = np.broadcast_to(np.uint8(0), (1, *shadow.shape[1:]))
