"""Programs to compare: launches one after the other, over named buffers that both programs share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..diag import TileError
from ..engines.common.kernel import find_entry
from ..engines.common.launch import check_grid
from ..engines.common.tiles import Array
from ..ops import Entry, Module
from ..types import Ptr, Scalar, Tile

Argument = str | int | float | bool
"""An argument of a launch: the name of a buffer or of a real number, or a number."""


@dataclass(slots=True)
class Stage:
    """A launch of a kernel."""

    module: Module
    grid: int | Sequence[int]
    args: Sequence[Argument]
    entry: str | None = None
    convention: str | None = None
    """`cutile`: an array is passed as its pointer, shape and strides."""


@dataclass(slots=True)
class Program:
    """Launches in order. `scratch` are buffers of its own: a shape for undefined contents, or an array."""

    stages: Sequence[Stage]
    scratch: Mapping[str, Any] = field(default_factory=dict)

    @staticmethod
    def of(
        module: Module,
        grid: int | Sequence[int],
        args: Sequence[Argument],
        *,
        entry: str | None = None,
        convention: str | None = None,
    ) -> Program:
        """Make a program of one launch."""
        return Program([Stage(module, grid, args, entry, convention)])


REAL, UNDEFINED, GIVEN = "real", "undefined", "given"


@dataclass(slots=True)
class Buffer:
    """Memory that both programs see, or a real number if it has no shape.

    `content` is `real` (any real numbers), `undefined`, or `given`: then `data` has it.
    """

    shape: tuple[int, ...]
    content: str
    data: Array | None = None
    element: Scalar | None = None
    """The narrowest element type that a kernel declares; set when the programs are known."""

    @property
    def is_float(self) -> bool:
        return self.element is not None and self.element.is_float


@dataclass(slots=True)
class Comparison:
    """Two programs, the buffers they share, and which of them are compared."""

    a: Program
    b: Program
    buffers: dict[str, Buffer]
    outs: list[str]
    scratch: dict[str, dict[str, Buffer]] = field(default_factory=dict)
    """Buffers of one program only, for `a` and `b`."""

    def sides(self) -> Iterator[tuple[str, Program]]:
        yield "a", self.a
        yield "b", self.b

    def all_buffers(self, side: str) -> dict[str, Buffer]:
        return {**self.buffers, **self.scratch[side]}


def make_case(a: Program, b: Program, inputs: Mapping[str, Any], outs: Mapping[str, Any] | Sequence[str]) -> Comparison:
    """Check and complete two programs: find the type of every buffer, and make those that are outputs only."""
    buffers = {name: _buffer(name, given, REAL) for name, given in inputs.items()}
    if isinstance(outs, Mapping):
        buffers |= {name: _buffer(name, given, UNDEFINED) for name, given in outs.items() if name not in buffers}
    for name in outs:
        if name not in buffers:
            raise TileError(f"prove: nothing says which shape the output '{name}' has")
    case = Comparison(a, b, buffers, list(outs))
    for side, program in case.sides():
        case.scratch[side] = {n: _buffer(n, given, UNDEFINED) for n, given in program.scratch.items()}
        known = case.all_buffers(side)
        if not program.stages:
            raise TileError("prove: a program needs at least one launch")
        for stage in program.stages:
            _check_grid(stage)
            for name, kind in parameters(stage, known):
                _note_type(known[name], name, kind)
    for name in case.outs:
        if buffers[name].element is None:
            raise TileError(f"prove: neither program takes the output '{name}'")
    return case


def _check_grid(stage: Stage) -> None:
    try:
        check_grid(stage.grid)
    except TileError as error:
        raise TileError(f"prove: a launch of @{entry_of(stage).sym_name}: {error.message}") from None


def _buffer(name: str, given: Any, content: str) -> Buffer:
    if isinstance(given, Buffer):
        _check_numbers(name, given.data)
        return Buffer(given.shape, given.content, given.data)
    if isinstance(given, np.ndarray):
        _check_numbers(name, given)
        return Buffer(given.shape, GIVEN, given)
    if isinstance(given, (tuple, list)) and all(isinstance(n, (int, np.integer)) and n >= 0 for n in given):
        return Buffer(tuple(int(n) for n in given), content)
    raise TileError(f"prove: expected a shape or an array for '{name}', got {given!r}")


def _check_numbers(name: str, data: Array | None) -> None:
    if data is not None and data.dtype.kind not in "biuf":
        raise TileError(f"prove: '{name}' has elements of type {data.dtype}, expected integers or floats")


def _note_type(buffer: Buffer, name: str, kind: Scalar | Ptr) -> None:
    if isinstance(kind, Scalar) and (buffer.shape or buffer.content != REAL or not kind.is_float):
        raise TileError(f"prove: '{name}' is passed as a number of type {kind}: expected `real`, or the number itself")
    element = kind.pointee if isinstance(kind, Ptr) else kind
    known = buffer.element
    if known is not None and (known.is_float != element.is_float or (element.is_int and known is not element)):
        raise TileError(f"prove: the kernels see '{name}' as {known} and as {element}")
    if known is None or element.bits < known.bits:
        buffer.element = element


def parameters(stage: Stage, buffers: Mapping[str, Buffer]) -> Iterator[tuple[str, Scalar | Ptr]]:
    """Yield the names that a launch passes, each with the type of its parameter."""
    for value, param in matched(stage, buffers):
        if isinstance(value, str):
            yield value, param


def matched(stage: Stage, buffers: Mapping[str, Buffer]) -> Iterator[tuple[Argument, Scalar | Ptr]]:
    """Yield the arguments of a launch with the types of their parameters; shapes and strides of arrays are left out."""
    entry = find_entry(stage.module, stage.entry)
    params = entry.function_type.params
    at = 0
    for value in stage.args:
        if at >= len(params):
            raise TileError(f"prove: @{entry.sym_name} has {len(params)} parameters, and more arguments were given")
        param = params[at]
        assert isinstance(param, Tile)
        kind = param.element
        at += 1
        if isinstance(value, str):
            if value not in buffers:
                raise TileError(f"prove: a launch of @{entry.sym_name} takes '{value}', which nothing describes")
            if stage.convention == "cutile" and isinstance(kind, Ptr):
                at += 2 * len(buffers[value].shape)
        elif isinstance(kind, Ptr):
            raise TileError(f"prove: @{entry.sym_name} takes a pointer, and {value!r} names no buffer")
        yield value, kind
    if at != len(params):
        raise TileError(f"prove: @{entry.sym_name} has {len(params)} parameters, the arguments make {at}")


def entry_of(stage: Stage) -> Entry:
    """Return the entry that a stage launches."""
    return find_entry(stage.module, stage.entry)
