"""The limits of a launch, and its statistics."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on a launch: steps (one operation on a batch is one step), seconds, and bytes held at once.

    The memory limit applies to tiles and `alloca` together, and separately to printed text.
    """

    steps: int | None = None
    seconds: float | None = None
    memory: int = 8 << 30


@dataclass(slots=True)
class Stats:
    """Tile blocks that a launch finished, operations over all tile blocks, steps, splits and merges of batches.

    Steps, splits and merges depend on the batch size. Flops and bytes count what every tile block asks for, even where
    the engine does the work once for all of them. An engine leaves at 0 what it does not count; `known` tells those
    apart from a count of 0.
    """

    blocks: int = 0
    operations: int = 0
    steps: int = 0
    splits: int = 0
    merges: int = 0
    flops: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    device_nanoseconds: int = 0
    """The time that the kernel took on a GPU, by the device's own clock."""
    complete: bool = False
    """Whether everything but the time on a GPU was counted."""

    def _repr_html_(self) -> str:
        from ... import markup

        rows = [(name.replace("_", " "), "not counted" if n is None else f"{n:,}") for name, n in self.known().items()]
        return markup.table(["statistic", "amount"], rows, numbers=[1])

    def known(self) -> dict[str, int | None]:
        """Return the statistics by name; None for what the engine did not count.

        >>> Stats(blocks=4).known()["flops"], Stats(blocks=4, complete=True).known()["flops"]
        (None, 0)
        """
        numbers = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "complete"}
        always = self.complete
        return {name: n if n or (always and name != "device_nanoseconds") else None for name, n in numbers.items()}
