"""The values of a tile block where it stopped: by name, as tiles with a type and statistics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..engines.common.memory import Memory
from ..engines.common.tiles import Array
from ..engines.reference.batch import Batch
from ..engines.reference.program import Compute, Observed, RegionCode, Test
from ..ir import Value
from ..observe.arrays import ArrayArgument
from ..observe.names import Source
from ..observe.numbers import lane_of, numbers, show
from ..types import Tile, Type


@dataclass(slots=True)
class Variable:
    """A named value of a tile block."""

    name: str
    type: Type
    raw: Any
    """The value as the engine holds it, without the axis of lanes."""
    stale: bool = False
    """Whether it is of the iteration before: this one has not got there yet."""

    @property
    def is_tile(self) -> bool:
        return isinstance(self.type, Tile) and isinstance(self.raw, (np.ndarray, np.generic))

    @property
    def tile(self) -> Array:
        """The elements as numbers."""
        return numbers(self.type, self.raw)

    def __str__(self) -> str:
        return show(self.type, self.raw)


class Slots:
    """Which value is in which slot of a program, and where it is defined."""

    def __init__(self, program: RegionCode, source: Source) -> None:
        self.source = source
        self.values: dict[int, Value] = {slot: value for value, slot in program.slots.items()}
        self.defined: dict[int, int] = {}
        """The position that defines the value of a slot."""
        for pc, each in enumerate(program.code):
            instruction = each.inner if isinstance(each, Observed) else each
            if isinstance(instruction, Compute):
                for outs in instruction.outs:
                    for slot in outs if isinstance(outs, tuple) else () if outs is None else (outs,):
                        self.defined[slot] = pc
            elif isinstance(instruction, Test):
                self.defined[instruction.variable] = pc

    def variables(self, batch: Batch, lane: int) -> list[Variable]:
        """Return the values of a tile block in the order of the text, each name once: the last that was defined."""
        found: dict[str, tuple[tuple[bool, int], Variable]] = {}
        env, defined = batch.env, self.defined
        here = batch.program.code[batch.pc]
        here = here.inner if isinstance(here, Observed) else here
        if isinstance(here, Test):  # the head of a loop: show the iteration that starts
            env, defined = {**env, here.variable: env[here.counter]}, {**defined, here.variable: -1}
        for slot in sorted(slot for slot in env if slot in self.values):
            value = self.values[slot]
            stale = defined.get(slot, -1) >= batch.pc
            one = Variable(self.source.name(value), value.type, lane_of(env[slot], lane), stale)
            rank = (not stale, slot)
            if one.name not in found or found[one.name][0] < rank:
                found[one.name] = (rank, one)
        return [one for _, one in found.values()]


def named(variables: Sequence[Variable]) -> list[Variable]:
    """Leave out what the author did not name, if there are variables of a source: their names have no `%`."""
    found = [variable for variable in variables if not variable.name.startswith("%")]
    return found or list(variables)


class Environment(Mapping[str, Any]):
    """The meanings of names in an expression: values, arrays of the launch, `block` and `grid`."""

    def __init__(
        self, variables: Sequence[Variable], arrays: Sequence[ArrayArgument], memory: Memory, block: Sequence[int],
        grid: Sequence[int],
    ) -> None:  # fmt: skip
        self._variables = {variable.name: variable for variable in variables}
        self._arrays = {array.name: array for array in arrays}
        self._memory = memory
        self._own = {"block": np.array(block), "grid": np.array(grid)}

    def __getitem__(self, name: str) -> Any:
        for key in (name, f"%{name}"):
            if key in self._variables:
                variable = self._variables[key]
                return variable.tile if variable.is_tile else variable.raw
            if key in self._arrays:
                return self._arrays[key].read(self._memory)
        return self._own[name]

    def __iter__(self) -> Iterator[str]:
        return iter((*self._variables, *self._arrays, *self._own))

    def __len__(self) -> int:
        return len(self._variables) + len(self._arrays) + len(self._own)
