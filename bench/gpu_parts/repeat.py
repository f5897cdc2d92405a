"""Repeat launches that `programs` wrote down: the same memory on a GPU and on the host, and comparisons of results."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import torch

import tilery
from tilery.diag import ErrorKind, TileError
from tilery.engines.common.addresses import HoldsAddresses
from tilery.engines.common.launch import Launch
from tilery.engines.common.limits import Limits
from tilery.engines.cuda.driver import Driver
from tilery.engines.cuda.launch import Binary, BoundLaunch, CudaKernel, CudaLoaded, Prebuilt
from tilery.engines.cuda.staging import Staged
from tilery.engines.recorded import Pointer, Recorded, RecordedBuffer
from tilery.engines.reference.launch import ReferenceLoaded
from tilery.engines.work import Work, work_of
from tilery.ir import Value, walk
from tilery.ops import Entry, Module
from tilery.tuner.compare import BOUNDS, NARROW_BOUND, difference, is_exact
from tilery.tuner.session import POISON, WrittenBuffer, outputs_of
from tilery.types import BF16, Ptr, Scalar, Tile

DEVICE = "cuda"
PERIOD = 1_000_003
"""Elements after which drawn memory repeats: a prime, so that no two rows are the same."""
SCALES = {"delta rule": 0.02}
"""The deviation of drawn floats, by family; recurrences of larger numbers overflow."""
PAGE = 4096
PAGES = 192
"""The most pages that are compared with the reference engine's."""
TYPES = {
    "bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32, "tf32": torch.float32, "f64": torch.float64,
    "f8E4M3FN": torch.float8_e4m3fn, "f8E5M2": torch.float8_e5m2,
}  # fmt: skip


@dataclass
class Written:
    """A launch as `programs` wrote it down."""

    facts: dict[str, Any]
    module: Module
    entry: Entry
    shape: Recorded
    """The launch without the content of its memory."""

    @staticmethod
    def read(folder: Path, name: str) -> Written:
        """Read the launch of a kernel."""
        facts = json.loads((folder / f"{name}.json").read_text("utf-8"))
        data = (folder / f"{name}.tileirbc").read_bytes()
        module = tilery.load(str(folder / f"{name}.tileirbc"))
        buffers = [
            RecordedBuffer(b"", b["remainder"], b["names"], {at: Pointer(**to) for at, to in b["pointers"]})
            for b in facts["buffers"]
        ]
        values = [Pointer(**v) if isinstance(v, dict) else v for v in facts["arguments"]]
        x, y, z = facts["grid"]
        shape = Recorded(data, facts["entry"], (x, y, z), values, buffers)
        return Written(facts, module, module.entry(facts["entry"]), shape)

    @property
    def work(self) -> Work:
        """The facts by which rules choose."""
        return replace(work_of(self.entry), blocks=prod(self.shape.grid))

    @property
    def outputs(self) -> list[WrittenBuffer]:
        """The buffers that the kernel may write; those that lists of arrays point to may be written too."""
        found = [o for o in outputs_of(self.entry, self.shape) if not self.shape.buffers[o.buffer].pointers]
        pointed = {to.buffer for b in self.shape.buffers for to in b.pointers.values()} - {o.buffer for o in found}
        return found + [WrittenBuffer(n, BF16, True) for n in sorted(pointed)]

    @property
    def size(self) -> int:
        """Bytes of all buffers."""
        return sum(b["size"] for b in self.facts["buffers"])

    def slots(self, addresses: list[int]) -> list[bytes]:
        """Return the arguments as bytes, for buffers at those addresses."""
        found = []
        for kind, value in zip(self.entry.function_type.params, self.shape.arguments):
            assert isinstance(kind, Tile)
            if isinstance(value, Pointer):
                found.append((addresses[value.buffer] + value.offset).to_bytes(8, "little"))
            else:
                assert isinstance(kind.element, Scalar) and not isinstance(kind.element, Ptr)
                found.append(_packed(kind.element, value))
        return found


def _is_float(value: Value) -> bool:
    return isinstance(value.type, Tile) and isinstance(value.type.element, Scalar) and value.type.element.is_float


def _packed(element: Scalar, value: Any) -> bytes:
    if element.is_float:
        name = {"f32": "<f4", "f64": "<f8", "f16": "<f2"}[element.name]
        return np.array(value, name).tobytes()
    return (int(value) & (1 << max(8, element.bits)) - 1).to_bytes(max(1, element.bits // 8), "little")


def filled(facts: dict[str, Any], number: int, device: str) -> Any:
    """Return the memory of a buffer as bytes, the same on every device."""
    fill, size = facts["buffers"][number]["fill"], facts["buffers"][number]["size"]
    if fill["kind"] == "bytes":
        data = zlib.decompress(base64.b64decode(fill["data"]))
        return torch.frombuffer(bytearray(data), dtype=torch.uint8).to(device)
    draw = np.random.default_rng(number)
    scale = SCALES.get(facts["family"], 0.5)
    if fill["kind"] == "integer":
        kind = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}[fill["width"]]
        pattern = torch.from_numpy(draw.integers(fill["low"], fill["high"] + 1, PERIOD).astype(kind))
    elif fill["element"] in TYPES:
        pattern = torch.from_numpy((scale * draw.standard_normal(PERIOD)).astype(np.float32)).to(TYPES[fill["element"]])
    else:
        pattern = torch.from_numpy(draw.integers(0, 100, PERIOD).astype(np.uint8))
    item = pattern.element_size()
    whole = pattern.view(torch.uint8).to(device)
    return whole.repeat(-(-size // (PERIOD * item)))[:size]


# ---------------------------------------------------------------- on the host


def reference(written: Written, grid: tuple[int, int, int], seconds: float) -> list[tuple[Any, bytes]] | None:
    """Return the pages that the reference engine changes on a small grid; None if it takes too long."""
    datas = [filled(written.facts, n, "cpu").numpy() for n in range(len(written.facts["buffers"]))]
    for output in written.outputs:
        if not output.is_read:
            datas[output.buffer][:] = POISON
    kept = [np.empty(len(data) + 512, np.uint8) for data in datas]
    starts = [-(-k.ctypes.data // 256) * 256 - k.ctypes.data + b.remainder for k, b in zip(kept, written.shape.buffers)]
    addresses = [k.ctypes.data + at for k, at in zip(kept, starts)]
    memory = [k[at : at + len(data)] for k, at, data in zip(kept, starts, datas)]
    for target, data, b in zip(memory, datas, written.shape.buffers):
        target[:] = data
        for at, to in b.pointers.items():
            target[at : at + 8] = np.frombuffer((addresses[to.buffer] + to.offset).to_bytes(8, "little"), np.uint8)
    values = [addresses[v.buffer] + v.offset if isinstance(v, Pointer) else v for v in written.shape.arguments]
    buffers = [(address, len(data)) for address, data in zip(addresses, datas)]
    kernel = ReferenceLoaded(written.module).kernel(written.facts["entry"])
    try:
        kernel.launch(grid, values, buffers=buffers, limits=Limits(seconds=seconds), output=lambda text: None)
    except TileError as error:
        if error.kind is ErrorKind.TIMEOUT:
            return None
        raise
    found = []
    for output in written.outputs:
        now, before = memory[output.buffer], datas[output.buffer]
        count = len(now) // PAGE
        changed = np.flatnonzero((now[: count * PAGE] != before[: count * PAGE]).reshape(count, PAGE).any(1))
        if count == 0:
            found.append((None, now.tobytes()))
            continue
        chosen = changed[np.linspace(0, len(changed) - 1, min(len(changed), PAGES)).astype(int)]
        found.append((chosen, now[: count * PAGE].reshape(count, PAGE)[chosen].tobytes()))
    return found


# ---------------------------------------------------------------- on a GPU


class OnGpu(HoldsAddresses):
    """A launch with its memory on a GPU."""

    def __init__(self, written: Written, driver: Driver) -> None:
        self.written, self.driver = written, driver
        self.kept = []
        self.memory = []
        for b in written.facts["buffers"]:
            whole = torch.empty(b["size"] + 256, dtype=torch.uint8, device=DEVICE)
            self.kept.append(whole)
            self.memory.append(whole[b["remainder"] : b["remainder"] + b["size"]])
        self.addresses = [m.data_ptr() for m in self.memory]
        for n, (m, r) in enumerate(zip(self.memory, written.shape.buffers)):
            m.copy_(filled(written.facts, n, DEVICE))
            for at, to in r.pointers.items():
                word = (self.addresses[to.buffer] + to.offset).to_bytes(8, "little")
                m[at : at + 8] = torch.frombuffer(bytearray(word), dtype=torch.uint8).to(DEVICE)
        self.outputs = written.outputs
        self.before = {o.buffer: self.memory[o.buffer].clone() for o in self.outputs if o.is_read}
        self.slots = written.slots(self.addresses)
        # the order in which blocks add floats to memory is not defined
        adds = any(o.name.startswith("atomic_") and any(_is_float(v) for v in o.operands) for o in walk(written.entry))
        self.exact = is_exact(written.entry) and not adds
        self.first: list[Any] | None = None

    def bind(self, binary: Binary, grid: tuple[int, int, int]) -> BoundLaunch:
        """Load a binary for a grid."""
        kernel = CudaKernel(CudaLoaded(self.written.module, Prebuilt(binary), self.driver), self.written.entry)
        return BoundLaunch(kernel, grid, Staged(self.driver), self.slots, 0, self)

    def reset(self) -> None:
        """Restore what the kernel reads and writes; poison what it only writes."""
        for o in self.outputs:
            if o.is_read:
                self.memory[o.buffer].copy_(self.before[o.buffer])
            else:
                self.memory[o.buffer].fill_(POISON)
        torch.cuda.synchronize()

    def launch(self) -> Launch:
        """Return the launch as engines take it."""
        values = [
            self.addresses[v.buffer] + v.offset if isinstance(v, Pointer) else v for v in self.written.shape.arguments
        ]
        return Launch(self.written.entry, self.written.shape.grid, values, buffers=self.memory)

    def is_reset(self) -> bool:
        """Tell whether the memory is what `reset` makes it."""
        return all(
            torch.equal(self.memory[o.buffer], self.before[o.buffer])
            if o.is_read
            else bool((self.memory[o.buffer] == POISON).all())
            for o in self.outputs
        )

    def against_reference(self, wanted: list[tuple[Any, bytes]]) -> str:
        """Return how the memory differs from the pages of the reference engine."""
        for o, (pages, data) in zip(self.outputs, wanted):
            memory = self.memory[o.buffer]
            if pages is None:
                found = memory.cpu().numpy().tobytes()
            else:
                rows = memory[: len(memory) // PAGE * PAGE].view(-1, PAGE)
                found = rows[torch.from_numpy(pages).to(DEVICE)].cpu().numpy().tobytes()
            if words := difference(o.element, data, found, exact=self.exact):
                return f"{self._name(o)}: {words}"
        return ""

    def against_first(self) -> str:
        """Return how the memory differs from what the first variant left there."""
        if self.first is None:
            self.first = [self.memory[o.buffer].clone() for o in self.outputs]
            return ""
        for o, wanted in zip(self.outputs, self.first):
            if words := self._differ(o, wanted, self.memory[o.buffer]):
                return f"{self._name(o)}: {words}"
        return ""

    def _differ(self, o: WrittenBuffer, wanted: Any, found: Any) -> str:
        if torch.equal(wanted, found):
            return ""
        kind = TYPES.get(o.element.name)
        if kind is None:
            return f"{int((wanted != found).sum())} bytes differ"
        item = kind.itemsize
        size = len(found) // item * item
        # a slice may start at any byte
        a, b = (t[:size].clone().view(kind).float() for t in (wanted, found))
        same = (a == b) | (a.isnan() & b.isnan())
        if bool((a.isnan() != b.isnan()).any()):
            return f"{int((a.isnan() != b.isnan()).sum())} elements are NaN on one side only"
        if self.exact and not bool(same.all()):
            return f"{int((~same).sum())} elements differ"
        zero = torch.zeros((), device=a.device)
        away = torch.where(same, zero, a - b)
        error = float(away.norm() / torch.where(a.isfinite(), a, zero).norm().clamp_min(1e-30))
        bound = BOUNDS.get(o.element.name, NARROW_BOUND)
        return "" if error <= bound else f"the relative error is {error:.1e}, and {bound:g} is allowed"

    def _name(self, o: WrittenBuffer) -> str:
        return ", ".join(self.written.shape.buffers[o.buffer].names) or f"buffer {o.buffer}"
