"""Breakpoints: where and when execution stops."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from ..engines.reference.program import Branch, Compute, CopyAndJump, Finish, Instruction, Observed, RegionCode, Test
from ..observe.names import Source


@dataclass(slots=True, eq=False)
class Breakpoint:
    """Where to stop: a line, the operations of a name, those that define a value. All that are given must agree."""

    number: int
    file: str = ""
    line: int = 0
    op: str = ""
    value: str = ""
    block: tuple[int, ...] | None = None
    """The only tile block in which to stop."""
    condition: str = ""
    """An expression that must hold for a tile block."""
    ignore: int = 0
    """How many hits to pass by."""
    message: str = ""
    """Print this instead of stopping; `{expression}` is replaced by its value."""
    enabled: bool = True
    hits: int = 0
    positions: list[int] = field(default_factory=list)
    """The positions in the program where it may stop."""

    def __str__(self) -> str:
        what = f"{os.path.basename(self.file)}:{self.line}" if self.file else f"line {self.line}" if self.line else ""
        parts = [what, self.op, f"defines {self.value}" if self.value else ""]
        if self.block is not None:
            parts.append(f"block {','.join(map(str, self.block))}")
        if self.condition:
            parts.append(f"if {self.condition}")
        return " ".join(part for part in parts if part) or "everywhere"


@dataclass(slots=True, eq=False)
class Watchpoint:
    """An element of an array: stop when it is written."""

    number: int
    text: str
    address: int
    bytes: int
    half: int
    """Which half of the byte an element of four bits is."""
    condition: str = ""
    enabled: bool = True
    hits: int = 0


def is_visible(instruction: Instruction) -> bool:
    """Tell whether people see an instruction as an operation: joins, and the entry of a loop, are not."""
    if isinstance(instruction, Observed):
        return is_visible(instruction.inner)
    return isinstance(instruction, (Compute, Branch, Test, Finish)) or (
        isinstance(instruction, CopyAndJump) and not instruction.op.blocks
    )


def bind(point: Breakpoint, program: RegionCode, source: Source) -> None:
    """Find the positions of a breakpoint. A line stands for its first operation, once for each stretch of the code."""
    point.positions = []
    last: tuple[str, int] | None = None
    wanted = {point.value, point.value.removeprefix("%"), f"%{point.value}"}
    for pc, instruction in enumerate(program.code):
        if not is_visible(instruction):
            continue
        o = instruction.op
        place = source.place(o)
        here = (place.file, place.line) if place is not None else None
        fits = not point.op or o.name == point.op
        if point.value:
            fits = fits and any(source.names.get(value) in wanted for value in o.results)
        if point.line:
            at_line = here is not None and here[1] == point.line and same_file(here[0], point.file)
            fits = fits and at_line and (bool(point.op or point.value) or here != last)
        if fits:
            point.positions.append(pc)
        last = here


def same_file(file: str, wanted: str) -> bool:
    """Tell whether a file is the one that was asked for: by its path, or by the end of it."""
    if not wanted or file == wanted:
        return True
    if os.path.isabs(wanted) and os.path.exists(wanted) and os.path.exists(file):
        return os.path.realpath(wanted) == os.path.realpath(file)
    return ("/" + file.replace(os.sep, "/")).endswith("/" + wanted.replace(os.sep, "/").removeprefix("./"))
