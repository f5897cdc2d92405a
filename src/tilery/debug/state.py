"""A launch that is stopped before an operation: where it is, and the values of the tile block in focus."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..diag import TileError
from ..engines.common.arguments import Buffers
from ..engines.common.limits import Limits
from ..engines.common.watch import watched
from ..engines.reference.batch import Batch
from ..engines.reference.launch import ReferenceKernel
from ..engines.reference.program import RegionCode, tile_bytes
from ..ir import Op
from ..observe.arrays import ArrayArgument, array_arguments
from ..observe.expressions import evaluate
from ..observe.names import Source
from ..source.lines import Place
from .machine import SteppingMachine
from .marks import marker_file
from .variables import Environment, Slots, Variable

LANES = 64
"""Tile blocks that run together, if not told otherwise."""
HELD = 1 << 28
"""Bytes that the values of tile blocks that run together may take: values are kept until their region ends."""

Block = tuple[int, ...]


class SteppedLaunch:
    """A launch on the reference engine, whose machine executes one instruction at a time."""

    program: RegionCode
    slots: Slots

    def __init__(
        self,
        kernel: Any,
        grid: int | Sequence[int],
        args: Sequence[Any],
        *,
        names: Sequence[str],
        convention: str | None,
        buffers: Buffers,
        arrays: Sequence[ArrayArgument] | None,
        batch: int | None,
        limits: Limits | None,
        output: Callable[[str], None] | None,
    ) -> None:
        if not isinstance(kernel, ReferenceKernel):
            raise TileError("only kernels of the reference engine can be debugged")
        self.kernel, self.source = kernel, Source(kernel.loaded.module, marker_file())
        made: list[SteppingMachine] = []

        def machine(*given: Any, **options: Any) -> SteppingMachine:
            made.append(SteppingMachine(*given, **options))
            return made[0]

        kernel.launch(
            grid,
            args,
            names=names,
            convention=convention,
            buffers=buffers,
            batch=batch or _lanes(kernel),
            limits=limits,
            output=output,
            machine=machine,
        )
        self.machine = made[0]
        self.args = args  # keeps memory alive
        self.arrays = list(array_arguments(kernel.params, args, names, convention) if arrays is None else arrays)
        """The arrays among the arguments."""
        self.rank = 0
        """The number of the tile block in focus."""
        self.failure: TileError | None = None
        """The error that the next operation raises, once it has been tried."""

    # ------------------------------------------------------------ where it is

    @property
    def ended(self) -> bool:
        """Whether every tile block has finished."""
        return self.machine.done

    @property
    def position(self) -> int:
        return self.machine.count

    @property
    def op(self) -> Op | None:
        """The operation that executes next; None at the end."""
        return None if self.ended else self.machine.instruction.op

    @property
    def place(self) -> Place | None:
        """The source line of the operation that executes next."""
        return None if self.op is None else self.source.place(self.op)

    @property
    def block(self) -> Block:
        """The position of the tile block in focus."""
        return self.block_of(self.rank)

    def block_of(self, rank: int) -> Block:
        gx, gy, _ = self.machine.grid
        return rank % gx, rank // gx % gy, rank // (gx * gy)

    def rank_of(self, block: Sequence[int]) -> int:
        """Return the number of a tile block; coordinates that are left out are 0."""
        x, y, z = (*block, 0, 0, 0)[:3]
        gx, gy, gz = self.machine.grid
        if len(block) > 3 or not (0 <= x < gx and 0 <= y < gy and 0 <= z < gz):
            raise TileError(f"tile block {tuple(block)} is not in the grid {self.machine.grid}")
        return x + gx * (y + gy * z)

    @property
    def lane(self) -> int:
        assert self.machine.current is not None
        found = np.flatnonzero(self.machine.current.ranks == self.rank)
        return int(found[0]) if len(found) else 0

    def together(self) -> list[Block]:
        """Return the tile blocks that are about to execute the same operation."""
        batch = self.machine.current
        return [] if batch is None else [self.block_of(int(rank)) for rank in batch.ranks]

    def waiting(self) -> list[tuple[Block, Op]]:
        """Return the other tile blocks that have started, with the operation before which each is."""
        found = []
        for batch in self.machine.active:
            if batch is not self.machine.current:
                found += [(self.block_of(int(rank)), batch.program.code[batch.pc].op) for rank in batch.ranks]
        return found

    # ------------------------------------------------------------ values

    def variables(self) -> list[Variable]:
        """Return the values of the tile block in focus, in the order of the text."""
        batch = self.machine.current
        return [] if batch is None else self.slots.variables(batch, self.lane)

    def look_at(self, rank: int) -> None:
        """Focus on a tile block that has started; do nothing for others."""
        if self._batch_of(rank) is not None:
            self.rank = rank

    def op_of(self, rank: int) -> Op | None:
        """Return the operation that a tile block executes next; None if it does not run."""
        batch = self._batch_of(rank)
        return None if batch is None else batch.program.code[batch.pc].op

    def variables_of(self, rank: int) -> list[Variable]:
        """Return the values of a tile block that runs."""
        batch = self._batch_of(rank)
        return [] if batch is None else self.slots.variables(batch, int(np.flatnonzero(batch.ranks == rank)[0]))

    def _batch_of(self, rank: int) -> Batch | None:
        running = [] if self.machine.current is None else [self.machine.current]
        return next((batch for batch in (*running, *self.machine.active) if rank in batch.ranks), None)

    def value(self, name: str) -> Variable:
        """Return the value of a name; `%` may be left out."""
        found = {variable.name: variable for variable in self.variables()}
        for key in (name, f"%{name}"):
            if key in found:
                return found[key]
        raise TileError(f"there is no value '{name}' here", notes=(f"there are {', '.join(found) or 'none'}",))

    def scope(self, lane: int | None = None) -> Environment:
        """Return what names mean in expressions."""
        batch = self.machine.current
        if batch is None:
            return Environment([], self.arrays, self.machine.memory, self.block, self.machine.grid)
        lane = self.lane if lane is None else lane
        block = self.block_of(int(batch.ranks[lane]))
        values = self.slots.variables(batch, lane)
        return Environment(values, self.arrays, self.machine.memory, block, self.machine.grid)

    def evaluate(self, text: str) -> Any:
        """Evaluate an expression over tiles and arrays, see `tilery.observe.expressions`."""
        return evaluate(text, self.scope())

    def _focus(self) -> None:
        batch = self.machine.current
        if batch is not None and self.rank not in batch.ranks:
            self.rank = int(batch.ranks[0])

    @contextmanager
    def _running(self) -> Iterator[None]:
        with np.errstate(all="ignore"), watched(self.machine._ask):
            yield


def _lanes(kernel: ReferenceKernel) -> int:
    """Choose how many tile blocks run together, so that their values fit when all of them are kept."""
    size = sum(tile_bytes(value.type) for value in kernel.program.slots)
    return max(1, min(LANES, HELD // max(1, size)))
