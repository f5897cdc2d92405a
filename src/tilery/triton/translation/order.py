"""The order of a program's memory accesses, as tokens. docs/guides/triton-memory.md describes both models.

The default is program order: an access follows every earlier one that it could conflict with. The strict order has
only what a GPU promises: barriers and atomic operations, accesses through the same pointers, and data that other
threads had to compute first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from ...builder import Builder
from ...ir import Value
from ..mlir import MlirValue, TBlock, TOp, walk

READS = frozenset({"tt.load", "tt.descriptor_load", "tt.descriptor_gather"})
WRITES = frozenset({"tt.store", "tt.descriptor_store", "tt.descriptor_scatter"})
BARRIERS = frozenset(
    {
        *("tt.atomic_rmw", "tt.atomic_cas", "tt.atomic_poll", "tt.atomic_load", "tt.atomic_store"),
        *("tt.print", "gpu.barrier", "ttg.barrier", "ttg.local_barrier", "tt.descriptor_reduce"),
        *("tt.grid_dependency_wait", "tt.gdc_wait", "tt.grid_dependency_launch_dependents"),
    }
)
DEPENDENCIES = {"wait": "tt.gdc_wait", "launch_dependents": "tt.grid_dependency_launch_dependents"}
"""The operations for PTX's `griddepcontrol`, which releases of Triton before 3.9 write as inline PTX."""
SHARING = frozenset({"tt.reduce", "tt.scan", "tt.dot", "tt.dot_scaled", "tt.gather", "tt.histogram"})
"""Operations whose results depend on elements of other threads, so these must have been computed before."""


@dataclass(slots=True)
class Effects:
    """The accesses of some blocks: whether they read, write or wait, and the pointers that they use."""

    reads: bool = False
    writes: bool = False
    barriers: bool = False
    pointers: list[MlirValue] = field(default_factory=list)

    @property
    def any(self) -> bool:
        return self.reads or self.writes or self.barriers


def effects(regions: Iterable[list[TBlock]], functions: dict[str, TOp]) -> Effects:
    """Return the accesses in regions and in the functions that they call."""
    found = Effects()
    inside: set[MlirValue] = set()
    todo = list(regions)
    called: set[str] = set()
    while todo:
        blocks = todo.pop()
        for block in blocks:
            inside.update(block.args)
        for op in walk(blocks):
            inside.update(op.results)
            inside.update(arg for region in op.regions for block in region for arg in block.args)
            found.reads |= op.name in READS
            found.writes |= op.name in WRITES
            found.barriers |= op.name in BARRIERS or op.attrs.get("isVolatile") is True
            if op.name in READS or op.name in WRITES:
                found.pointers.append(op.operands[0])
            callee = op.attrs.get("callee") if op.name == "tt.call" else None
            if callee in functions and callee not in called:
                called.add(callee)
                todo.append(functions[callee].regions[0])
    found.pointers = list(dict.fromkeys(p for p in found.pointers if p not in inside))
    return found


def name_dependencies(blocks: list[TBlock]) -> None:
    """Give inline PTX that is about other launches the name of its operation."""
    for op in walk(blocks):
        if op.name == "tt.elementwise_inline_asm":
            text = op.attrs["asm_string"].partition("//")[0]
            if found := re.fullmatch(r"\s*griddepcontrol\.(wait|launch_dependents)\s*;?\s*", text):
                op.name = DEPENDENCIES[found[1]]


Slot = str | MlirValue
Saved = tuple[Value | None, list[Value], dict[MlirValue, list[Value]]]


@dataclass(slots=True)
class Order:
    """The tokens that the next accesses of a program must follow."""

    builder: Builder
    strict: bool = False
    base: Value | None = None
    """The token of the last barrier; in program order, of the last write."""
    since: list[Value] = field(default_factory=list)
    """Tokens of accesses after it."""
    through: dict[MlirValue, list[Value]] = field(default_factory=dict)
    """Strict: tokens of accesses after it through the same pointers."""

    def joined(self, tokens: Iterable[Value | None]) -> Value | None:
        found = list(dict.fromkeys(t for t in tokens if t is not None))
        if len(found) < 2:
            return found[0] if found else None
        return self.builder.value("join_tokens", found)

    def all(self) -> Value | None:
        return self.joined([self.base, *self.since])

    # ------------------------------------------------------------ accesses

    def before_read(self, pointer: MlirValue) -> Value | None:
        if not self.strict:
            return self.base
        return self.joined([self.base, *self.through.get(pointer, ())])

    def before_write(self, pointer: MlirValue, stored: Iterable[MlirValue]) -> Value | None:
        if not self.strict or shares(stored):
            return self.all()
        return self.joined([self.base, *self.through.get(pointer, ())])

    def after_read(self, pointer: MlirValue, token: Value) -> None:
        self.since.append(token)
        if self.strict:
            self.through.setdefault(pointer, []).append(token)

    def after_write(self, pointer: MlirValue, token: Value) -> None:
        if self.strict:
            self.since.append(token)
            self.through[pointer] = [token]
        else:
            self.wait(token)

    def wait(self, token: Value | None) -> None:
        """Let everything follow a token: that of a barrier, or of an operation that is one."""
        self.base, self.since, self.through = token, [], {}

    # ------------------------------------------------------------ regions

    def slots(self, found: Effects) -> list[Slot]:
        """Return what regions with these effects take over and hand on, as one token each."""
        if not found.any:
            return []
        if not self.strict:
            return ["all"] if found.writes or found.barriers else ["since"]
        return [*(["base"] if found.barriers else []), "since", *found.pointers]

    def pack(self, slots: list[Slot]) -> list[Value]:
        """Return the tokens of slots."""
        return [self.packed(slot) or self.builder.value("make_token") for slot in slots]

    def packed(self, slot: Slot) -> Value | None:
        match slot:
            case "all":
                return self.all()
            case "base":
                return self.base
            case "since":
                return self.joined(self.since)
            case MlirValue():
                return self.joined(self.through.get(slot, ()))
        raise AssertionError(slot)

    def unpack(self, slots: list[Slot], tokens: list[Value]) -> None:
        """Continue with the tokens of slots."""
        for slot, token in zip(slots, tokens, strict=True):
            match slot:
                case "all":
                    self.wait(token)
                case "base":
                    self.base, self.through = token, {}
                case "since":
                    self.since = [token]
                case MlirValue():
                    self.through[slot] = [token]

    def save(self) -> Saved:
        return self.base, list(self.since), {p: list(tokens) for p, tokens in self.through.items()}

    def restore(self, state: Saved) -> None:
        self.base, since, through = state
        self.since, self.through = list(since), {p: list(tokens) for p, tokens in through.items()}


def shares(values: Iterable[MlirValue]) -> bool:
    """Whether values depend on data that other threads loaded: through a reduction or product, or out of a loop."""
    seen: set[MlirValue] = set()
    todo = list(values)
    while todo:
        v = todo.pop()
        if v in seen:
            continue
        seen.add(v)
        if isinstance(v.owner, TOp):
            if v.owner.name in SHARING or v.owner.regions:
                return True
            todo += v.owner.operands
        elif v.owner is not None:  # a loop carries it; arguments of the kernel and counters of loops have no owner
            return True
    return False
