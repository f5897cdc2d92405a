"""The cost of a kernel as data: per operation, and in all."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from ..ir import Op
from ..source.lines import Place, shown_places


@dataclass
class OpCost:
    """The cost of one operation: how often it is executed, and the bytes and float operations of all executions."""

    op: Op = field(repr=False)
    times: int | None
    """None if it is in a loop of unknown length: the amounts are then those of one iteration in each tile block."""
    flops: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    ceiling: str = ""
    """The unit and type that do the float operations, such as "tensor f16" or "vector f32"."""

    @property
    def place(self) -> Place | None:
        """The source line."""
        return next(iter(shown_places(self.op.loc)), None)

    def as_dict(self) -> dict[str, object]:
        """Return the cost as plain data, for `--json`."""
        place = self.place
        return {
            "operation": self.op.name,
            "times": self.times,
            "flops": self.flops,
            "bytes_read": self.bytes_read,
            "bytes_written": self.bytes_written,
            "ceiling": self.ceiling or None,
            "place": None if place is None else {"file": place.file, "line": place.line, "column": place.column},
        }


@dataclass(repr=False)
class KernelCost:
    """The cost of a kernel: of one tile block as far as its text tells, or exactly, of a launch."""

    name: str
    ops: list[OpCost] = field(repr=False)
    tiles: dict[str, int]
    """How often each type of tile occurs among the results."""
    blocks: int = 1
    """The number of tile blocks that are counted."""
    exact: bool = False
    """Whether it was counted in a launch: masks, bounds and trip counts are then those of the arguments."""
    distinct_read: int | None = None
    distinct_written: int | None = None
    """The bytes of memory that were touched, each counted once; known of a launch alone."""

    def __repr__(self) -> str:
        moved = f"{self.bytes_read:,} bytes read, {self.bytes_written:,} written"
        return f"<cost of {self.name}, {self.blocks:,} tile blocks: {moved}, {self.flops:,} flops>"

    def _repr_html_(self) -> str:
        from .. import markup

        rows = []
        for o in self.ops:
            where = f"{o.place.file}:{o.place.line}" if o.place else ""
            amounts = (f"{n:,}" for n in (o.bytes_read, o.bytes_written, o.flops))
            rows.append((o.op.name, "unknown" if o.times is None else f"{o.times:,}", *amounts, where))
        head = ["operation", "times", "bytes read", "bytes written", "flops", "source"]
        return markup.line(repr(self)[1:-1], strong=True) + markup.table(head, rows, numbers=[1, 2, 3, 4])

    @property
    def flops(self) -> int:
        return sum(o.flops for o in self.ops)

    @property
    def bytes_read(self) -> int:
        return sum(o.bytes_read for o in self.ops)

    @property
    def bytes_written(self) -> int:
        return sum(o.bytes_written for o in self.ops)

    @property
    def bytes(self) -> int:
        """The bytes that are asked for, read and written."""
        return self.bytes_read + self.bytes_written

    @property
    def distinct_bytes(self) -> int | None:
        """The bytes that must move even if nothing is read twice."""
        if self.distinct_read is None or self.distinct_written is None:
            return None
        return self.distinct_read + self.distinct_written

    @property
    def is_partial(self) -> bool:
        """Whether loops of unknown length are counted as one iteration."""
        return any(o.times is None for o in self.ops)

    @property
    def intensity(self) -> float | None:
        """Float operations per byte that is asked for; None if no memory is accessed."""
        return self.flops / self.bytes if self.bytes else None

    def by_ceiling(self) -> dict[str, int]:
        """Return the float operations by the unit that does them."""
        found: Counter[str] = Counter()
        for o in self.ops:
            if o.flops:
                found[o.ceiling] += o.flops
        return dict(found)

    def as_dict(self) -> dict[str, object]:
        """Return the cost as plain data, for `--json`."""
        return {
            "kernel": self.name,
            "exact": self.exact,
            "partial": self.is_partial,
            "blocks": self.blocks,
            "flops": self.flops,
            "bytes_read": self.bytes_read,
            "bytes_written": self.bytes_written,
            "distinct_bytes_read": self.distinct_read,
            "distinct_bytes_written": self.distinct_written,
            "intensity": self.intensity,
            "flops_by_ceiling": self.by_ceiling(),
            "tiles": self.tiles,
            "operations": [o.as_dict() for o in self.ops],
        }
