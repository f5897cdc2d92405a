"""Launches that are stored as plain data, and a description of everything that one leaves."""

from __future__ import annotations

import random
import re
from base64 import b64decode
from collections.abc import Sequence
from typing import Any

import numpy as np

from golden.shown import error
from tilery.diag import TileError
from tilery.engines.common.launch import Launch
from tilery.engines.common.limits import Limits
from tilery.engines.reference.launch import ReferenceLoaded
from tilery.engines.reference.observe import Event, Observe
from tilery.engines.semantics import same_bits
from tilery.ir import walk
from tilery.ops import IntToPtr, Module, PtrToInt
from tilery.text.parse.parser import parse
from tilery.types import Ptr, Scalar, Tile

Array = np.ndarray[Any, Any]
GAP = 1024
"""Bytes between the regions of a launch."""
STEPS = 30_000
MOST = 60
"""The most events that a description has."""
_ADDRESS = re.compile(r"0x[0-9a-f]{8,}|\b[1-9]\d{11,}\b")


class Memory:
    """The regions of a launch in one piece of memory, so that they always lie in the same way."""

    def __init__(self, row: dict[str, Any]) -> None:
        self.regions = [region_of(region) for region in row["regions"]]
        size = sum(-(-len(region) // GAP) * GAP + GAP for region in self.regions) + 2 * GAP
        whole = np.zeros(size, np.uint8)
        start = -whole.ctypes.data % GAP + GAP
        self.places: list[Array] = []
        for region in self.regions:
            place = whole[start : start + len(region)]
            place[:] = np.frombuffer(region, np.uint8)
            self.places.append(place)
            start += -(-len(region) // GAP) * GAP + GAP
        self.base = whole.ctypes.data
        self.base += -self.base % GAP
        self.end = self.base + size - GAP  # as far away wherever the whole lies
        self.whole = whole

    def arguments(self, args: Sequence[Any]) -> list[Any]:
        found: list[Any] = []
        for arg in args:
            if isinstance(arg, dict):
                low = arg["start"] * arg["item"]
                part = self.places[arg["region"]][low : low + arg["length"] * arg["item"]].view(f"u{arg['item']}")
                part = part.reshape(arg.get("shape", (-1,)))
                if not arg.get("writeable", True):
                    part.flags.writeable = False
                found.append(part)
            else:
                found.append(arg)
        return found

    def relative(self, text: str) -> str:
        """Replace addresses by their distance from the first region; of others nothing can be said."""

        def place(found: re.Match[str]) -> str:
            number = int(found[0], 0)
            return f"<{number - self.base}>" if self.base <= number < self.end else "<elsewhere>"

        return re.sub(r"(?<=<elsewhere>).*", "", _ADDRESS.sub(place, text))


def region_of(region: Any) -> bytes:
    """Return the bytes of a region: stored ones, or random ones."""
    if isinstance(region, str):
        return b64decode(region)
    data = random.Random(region["seed"]).randbytes(region["size"])
    return bytes(byte & 1 for byte in data) if region.get("mask") else data


def exact(m: Module) -> bool:
    """Return whether all results have the same bits on every machine."""
    return all(same_bits(o) for o in walk(m))


def has_addresses(m: Module) -> bool:
    return any(isinstance(o, (PtrToInt, IntToPtr)) for o in walk(m))


def bits_of(array: Array, element: Scalar) -> bytes:
    """Return the bits of elements, with one pattern for every NaN."""
    data = np.ascontiguousarray(array)
    if (
        element.is_float
        and element.format is not None
        and element.bits in (16, 32, 64)
        and data.itemsize * 8 == element.bits
    ):
        bits = data.view(f"u{data.itemsize}")
        form = element.format
        nan = (bits & (form.sign - 1)) > form.top + 1
        data = np.where(nan, np.array(form.sign - 1, bits.dtype), bits)
    return data.tobytes()


def left(m: Module, row: dict[str, Any], memory: Memory, args: list[Any]) -> list[bytes]:
    """Return the content of memory after a launch."""
    entry = m.entry(row["entry"])
    kinds: dict[int, Scalar] = {}
    if row.get("convention") is None:
        for arg, param in zip(row["args"], entry.body.args):
            t = param.type
            if (
                isinstance(arg, dict)
                and isinstance(t, Tile)
                and isinstance(t.element, Ptr)
                and isinstance(t.element.pointee, Scalar)
            ):
                kinds.setdefault(arg["region"], t.element.pointee)
    found = []
    for number, place in enumerate(memory.places):
        element = kinds.get(number)
        size = element.bits // 8 if element is not None else 0
        found.append(
            bits_of(place.view(f"u{size}"), element)
            if element is not None and size in (2, 4, 8) and len(place) % size == 0
            else place.tobytes()
        )
    return found


def launched(row: dict[str, Any], m: Module, **options: Any) -> tuple[str, list[bytes]]:
    """Run a launch; describe its statistics or error and what it printed, and return what it left in memory."""
    memory = Memory(row)
    printed: list[str] = []
    contents: list[bytes] = []
    with np.errstate(all="ignore"):
        try:
            loaded = ReferenceLoaded(m)
            kernel = loaded.kernel(row["entry"])
            args = memory.arguments(row["args"])
            limits = Limits(steps=STEPS, memory=1 << 28)
            stats = kernel.launch(
                row["grid"], args, convention=row.get("convention"), output=printed.append, limits=limits, **options
            )
            said = str(stats.known())
            contents = left(m, row, memory, args)
            contents += [loaded.content(o.sym_name) for o in m.globals]
        except TileError as e:
            said = memory.relative(error(e))
    return f"{said}\n{memory.relative(''.join(printed))}", contents


def block_alone(row: dict[str, Any], m: Module) -> str:
    """Describe the error of the last tile block of a launch if it runs alone, on a copy of memory."""
    memory = Memory(row)
    kernel = ReferenceLoaded(m).kernel(row["entry"])
    with np.errstate(all="ignore"):
        try:
            launch = Launch(kernel.entry, row["grid"], memory.arguments(row["args"]), (), row.get("convention"))
            kernel.run_block(launch.grid, launch.blocks - 1, launch.bound, Limits(steps=STEPS))
        except TileError as e:
            return memory.relative(error(e))
    return f"fine {left(m, row, memory, []) == left(m, row, Memory(row), [])}"


def observed(row: dict[str, Any], m: Module, **options: Any) -> str:
    """Describe the operations of a launch one by one."""
    memory = Memory(row)
    values = exact(m) and not has_addresses(m)
    lines: list[str] = []

    def shown(value: Any, t: Any) -> str:
        if (
            not values
            or not isinstance(value, np.ndarray)
            or not isinstance(t, Tile)
            or not isinstance(t.element, Scalar)
        ):
            return type(value).__name__ + (str(value.shape) if isinstance(value, np.ndarray) else "")
        return f"{value.dtype}{value.shape} {bits_of(value, t.element)[:64].hex()}"

    def see(event: Event) -> None:
        if len(lines) >= MOST:
            return
        o = event.op
        facts = [f"{o.name} {event.ranks.tolist()} {event.blocks.tolist()}"]
        for which in (event.before, event.after):
            for name, value in which.items():
                field = getattr(o, name, None)
                facts.append(f"{name}={shown(value, getattr(field, 'type', None))}")
        if (access := event.access) is not None:
            facts.append(f"{access.kind.name} {access.bytes} {access.ordering} {access.scope} {access.element}")
            addresses, used, halves = access.place.made
            there = np.where((addresses >= memory.base) & (addresses < memory.end), addresses - memory.base, -1)
            facts.append(str(there.shape))
            facts += [str(None if each is None else each.reshape(-1)[:64].tolist()) for each in (there, used, halves)]
            span, boxes = access.place.span, access.place.boxes
            if span is not None:
                known = memory.base <= span.low < memory.end
                facts.append(f"{span.high - span.low} {span.whole} {span.bits % GAP if known else None}")
            if boxes is not None:
                facts.append(f"{boxes.dims} {len(boxes.starts)}")
        lines.append(" ".join(facts))

    with np.errstate(all="ignore"):
        try:
            kernel = ReferenceLoaded(m).kernel(row["entry"])
            limits = Limits(steps=STEPS, memory=1 << 28)
            kernel.launch(
                row["grid"], memory.arguments(row["args"]), convention=row.get("convention"), output=lambda text: None,
                limits=limits, observe=Observe(see, **options),
            )  # fmt: skip
        except TileError as e:
            lines.append(memory.relative(error(e)))
    return "\n".join(lines)


def module_of(row: dict[str, Any]) -> Module:
    return parse(row["text"], quick=False)
