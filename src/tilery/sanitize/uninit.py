"""`uninit`: undefined values that affect results.

Memory that was never written is undefined: that of an `alloca`, and arguments that the caller declares so. So are
masked elements of a load without padding, and elements outside the tensor of a view without a padding value. Undefined
bytes may be loaded, moved, computed with and stored in an `alloca`. They are reported where they are stored to other
memory, decide a branch, are used as an address, a mask or a size, or are printed.

The shadow of a value has 32 bits for each element: the lower 8 say which of its bytes are undefined, the others are the
number of the origin of that.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engines.common.layout import alloca_bytes
from ..engines.common.tiles import Array
from ..engines.reference.access import POINTERS, Access, AccessKind
from ..engines.reference.batch import Batch
from ..engines.reference.program import Advance, Branch, CopyAndJump, Instruction, Leave, Slots, Test
from ..ir import Op
from ..ops import Alloca, Assert, AtomicCASTko, Entry, LoadPtrTko, LoadViewTko, PrintTko
from ..types import TileView
from .checks import Check, Step
from .origins import Origin, Routes, bytes_of, with_origins
from .program import NOT_READ
from .regions import MemoryShadow, TrackedMemory
from .reports import Report
from .shadow import FULL, Shadow, present, spread


class Uninit(Check):
    """Follows undefined bytes through memory and values.

    The shadow of the value in slot n is in slot `~n` of the same batch, if it has one; so it is split and merged with
    the value.
    """

    name = "uninit"
    accesses = True

    def begin(self, entry: Entry) -> None:
        self._program = self.machine.program
        mine = [] if self._program is None else self._program.regions(self.machine.memory)
        self.memory = MemoryShadow([*self.machine.uninit, *mine])
        self._entry, self._origins = entry, self.machine.origins
        self._routes: Routes | None = None
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
        instruction = step.instruction
        assert instruction is not None
        if not self._any and step.access is None and not isinstance(step.op, Alloca):
            return
        env = step.batch.env
        whole = {name: _shadow(env, slot) for name, slot in zip(step.args, instruction.args)}
        made = self.shadows_of(step, result, whole)
        if made is None and not self._any:
            return
        self._any = True
        _assign(env, instruction.outs, made if isinstance(made, tuple) else (made,))
        for slot in instruction.frees:
            env.pop(~slot, None)

    def shadows_of(self, step: Step, result: Any, shadows: dict[str, Any]) -> Any:
        """Return the shadows of an operation's results, from those of its operands with their origins."""
        o, blocks, found = step.op, step.batch.blocks, present(shadows)
        if step.access is not None:
            return self._access(o, step.access, shadows)
        if isinstance(o, Alloca):
            self._allocate(o, result, alloca_bytes(o))
        elif found and isinstance(o, PrintTko):
            for value in found:
                self._report(o, "an undefined value is printed", blocks, value)
        elif found and isinstance(o, Assert):
            self._report(o, "an assertion depends on an undefined value", blocks, found[0])
        elif found:
            plain = {name: _bytes(shadow) for name, shadow in shadows.items()}
            return with_origins(spread(o, step, plain), o, step.args, shadows)
        return None

    def _allocate(self, o: Alloca, addresses: Array, size: int) -> None:
        """Make the memory of tile blocks undefined; what is new lies together."""
        if new := set(addresses.tolist()) - self._allocated:
            origin = self._origins.add(Origin(op=o, is_memory=True))
            self.memory.add(TrackedMemory(min(new), max(new) + size - min(new), private=True, origin=origin))
            self._allocated |= new
        self.memory.fill(addresses, size)

    def decides(self, instruction: Instruction) -> bool:
        return isinstance(instruction, (Branch, Test, Advance)) or (
            isinstance(instruction, (CopyAndJump, Leave)) and bool(instruction.moves[0])
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
            case CopyAndJump() | Leave():
                _move(env, *instruction.moves)

    def _decides(self, o: Op, batch: Batch, shadow: Shadow) -> None:
        if shadow is not None:
            self._report(o, "an undefined value decides what is executed", batch.blocks, shadow)

    def _report(
        self, o: Op, rule: str, blocks: Array, shadow: Array, values: Any = None, hint: bool = False
    ) -> Report | None:
        """Report the elements that are undefined, and where the first one comes from; return a new report."""
        report = self.reports.elements(self.name, o, rule, blocks, shadow & 0xFF != 0, values, hint=hint)
        if report is None:
            return None
        if self._routes is None:
            self._routes = Routes(self._entry, self.machine.provenance)
        origin = int(shadow.reshape(-1)[np.argmax(shadow & 0xFF != 0)]) >> 8
        places, notes = self._routes.places(self._origins, origin, o)
        report.places += places
        report.notes += notes
        return report

    # ------------------------------------------------------------ memory

    def _access(self, o: Any, access: Access, shadows: dict[str, Any]) -> Any:
        if not self.memory.regions and not present(shadows) and self._is_defined(o, access):
            return None
        shape = access.mask.shape
        for name in (*POINTERS, "view", "index", "mask"):
            for shadow in present({name: shadows.get(name)}):
                what = {"mask": "the mask", "index": "the index of the tile"}.get(name, "the address")
                bad = np.where(access.mask, shadow, 0) if name in POINTERS else shadow
                self._report(o, f"{what} of an access is undefined", access.blocks, bad)
        chosen, addresses = access.elements
        memory = self._read(o, addresses, access.bytes) if access.reads and self.memory.regions else None
        if access.kind is AccessKind.READ:
            return self._loaded(o, access, shadows, chosen, memory), None
        given = shadows.get("value", shadows.get("tile", shadows.get("arg", shadows.get("val"))))
        stored = np.zeros(len(chosen), np.uint32)
        if given is not None:
            stored = np.broadcast_to(given, shape).reshape(-1)[chosen]
        if isinstance(o, AtomicCASTko) and shadows["cmp"] is not None:
            bad = np.where(access.mask, shadows["cmp"], 0)
            self._report(o, "memory is compared with an undefined value", access.blocks, bad)
        old = stored if memory is None else np.where(memory == 0, np.uint32(0), memory | FULL)
        combined = stored if memory is None else np.where(stored == 0, old, stored | FULL)
        private = self.memory.store(addresses, access.bytes, combined)
        if self._program is not None and stored.any():
            private |= self._pend(o, access, chosen, np.where(private, 0, stored))
        self._public(o, access, chosen, stored, memory, private)
        if access.kind is AccessKind.WRITE or memory is None or not memory.any():
            return None
        out = np.zeros(access.mask.size, np.uint32)
        out[chosen] = old
        return out.reshape(shape), None

    def _read(self, o: Op, addresses: Array, size: int) -> Array:
        """Return the shadows of elements of memory that an operation reads."""
        found = self.memory.load(addresses, size)
        return self._origins.read(o, found, lambda at: self._label(int(addresses[at]))) if found.any() else found

    def _label(self, address: int) -> str:
        segment = self.machine.memory.at(address)
        return "memory" if segment is None else segment.label

    def _is_defined(self, o: Any, access: Access) -> bool:
        """Tell quickly whether no element of an access can be undefined if its operands and memory are defined."""
        if access.kind is not AccessKind.READ:
            return True
        padded = padding_of(o)
        return padded is not None or (access.place.span is not None and access.place.span.whole)

    def _pend(self, o: Op, access: Access, chosen: Array, stored: Array) -> Array:
        """Give a hint of undefined values that the program may leave unread, and return which these are."""
        assert self._program is not None
        kept = self._program.keep(self.memory, o, access.addresses.reshape(-1)[chosen], access.bytes, stored)
        if kept.any():
            flat = np.zeros(access.mask.size, np.uint32)
            flat[chosen] = np.where(kept, stored, 0)
            shadow = flat.reshape(access.mask.shape)
            report = self._report(o, NOT_READ, access.blocks, shadow, self._where(access), hint=True)
            self._program.pend(o, np.unique(stored[kept] >> 8).tolist(), report)
        return kept

    def _public(self, o: Op, access: Access, chosen: Array, stored: Array, memory: Shadow, private: Array) -> None:
        """Report what is stored to memory that others see."""
        for shadow, rule in (
            (stored, "an undefined value is stored to memory"),
            (memory, "an atomic operation changes undefined memory"),
        ):
            if shadow is not None and shadow.any():
                flat = np.zeros(access.mask.size, np.uint32)
                flat[chosen] = np.where(private, 0, shadow)
                self._report(o, rule, access.blocks, flat.reshape(access.mask.shape), self._where(access))

    def _where(self, access: Access) -> Any:
        def values(where: tuple[int, ...]) -> dict[str, Any]:
            address = int(access.addresses[where])
            element, segment = self.machine.element(address), self.machine.memory.at(address)
            if segment is None:
                return {"the address": hex(address)}
            memory = {"the memory": f"byte {address - segment.address} of {segment.label}"}
            return {"the element": element, **memory} if element else memory

        return values

    def _loaded(
        self, o: LoadPtrTko | LoadViewTko, access: Access, shadows: dict[str, Any], chosen: Array, memory: Shadow
    ) -> Shadow:
        """The shadow of a loaded tile: that of memory, and of what takes the place of elements that are left out."""
        if padding_of(o) is None:
            padding: Any = np.uint32(self._origins.add(Origin(_unpadded(o), o)) << 8 | 0xFF)
        else:
            padding = shadows.get("paddingValue")
        whole = len(chosen) == access.mask.size
        if (memory is None or not memory.any()) and (padding is None or whole):
            return None
        out = np.zeros(access.mask.shape, np.uint32)
        if padding is not None:
            out[...] = padding
        if access.refused is not None:
            out[access.refused] = 0  # these have been reported
        out.reshape(-1)[chosen] = 0 if memory is None else memory
        return out


def padding_of(o: LoadPtrTko | LoadViewTko) -> object:
    """The value of elements that a load leaves out, if it has one."""
    if isinstance(o, LoadPtrTko):
        return o.paddingValue
    assert isinstance(o.view.type, TileView)
    return o.view.type.padding_value


def _unpadded(o: LoadPtrTko | LoadViewTko) -> str:
    """Say why elements of a load without padding are undefined."""
    if isinstance(o, LoadPtrTko):
        return "which has no padding value for the elements that its mask leaves out"
    return "whose view has no padding value for the elements outside its tensor"


def _bytes(shadow: Any) -> Any:
    return tuple(map(bytes_of, shadow)) if isinstance(shadow, tuple) else bytes_of(shadow)


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
                batch.env[slot] = np.broadcast_to(np.uint32(0), (1, *shadow.shape[1:]))
