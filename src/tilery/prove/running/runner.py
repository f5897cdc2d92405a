"""Running a program: with codes of an arithmetic for its floats, or in its own types."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from ...attrs import RoundingMode
from ...engines.common.numerics.convert import float_to_float, to_f64
from ...engines.common.tiles import Array, carrier, packed, unpacked
from ...engines.kernel import Limits
from ...engines.reference.launch import ReferenceLoaded, load
from ...ops import Module
from ...types import F64, Ptr, Scalar
from ..arithmetic.numbers import Numbers, U
from ..programs import GIVEN, REAL, Buffer, Comparison, Program, Stage, entry_of, matched
from .machine import NumberMachine, floats
from .retype import Retyped, retype

STEPS, SECONDS = 5_000_000, 300.0
"""The most steps and the longest time of a launch, against loops that do not end."""


class Runner:
    """Runs programs; keeps the retyped copies of their modules."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits(STEPS, SECONDS)
        self._retyped: dict[int, tuple[Module, Retyped]] = {}

    def retyped(self, module: Module) -> Retyped:
        """Return the retyped copy of a module."""
        found = self._retyped.get(id(module))
        if found is None:  # the module is kept, so that its id is not used again
            found = self._retyped[id(module)] = (module, retype(module))
        return found[1]

    def run(self, program: Program, buffers: Mapping[str, Buffer], data: dict[str, Array], numbers: Numbers) -> None:
        """Run a program on an arithmetic; `data` has codes for floats, and changes."""
        kept: dict[int, ReferenceLoaded] = {}
        for stage in program.stages:
            made = self.retyped(stage.module)
            if id(made) not in kept:
                kept[id(made)] = _load(made, numbers)
            self._launch(stage, made, kept[id(made)], buffers, data, numbers)

    def _launch(
        self,
        stage: Stage,
        made: Retyped,
        loaded: ReferenceLoaded,
        buffers: Mapping[str, Buffer],
        data: dict[str, Array],
        numbers: Numbers,
    ) -> None:
        kernel = loaded.kernel(stage.entry)
        values: list[Any] = []
        signs: dict[Any, int] = {}
        for value, kind in matched(stage, buffers):
            if isinstance(value, str):
                array = data[value]
                values.append(array if isinstance(kind, Ptr) else array.reshape(-1)[0])
            elif isinstance(kind, Scalar) and kind.is_float:
                number = float(rounded_to(np.array([float(value)]), kind)[0])
                values.append(floats(numbers.constant(np.array([number]), kind))[0])
                if stage.convention is None:
                    signs[kernel.entry.body.args[len(values) - 1]] = (number > 0) - (number < 0)
            else:
                values.append(value)
        machine = partial(NumberMachine, numbers, made, signs)
        kernel.launch(
            stage.grid, values, machine=machine, limits=self.limits, convention=stage.convention, output=_nowhere
        )


def _nowhere(text: str) -> None:
    """Print nothing: what a kernel prints is not compared."""


def _load(made: Retyped, numbers: Numbers) -> ReferenceLoaded:
    loaded = load(made.module)
    for name, (values, element) in made.globals.items():
        segment = loaded.memory.at(loaded.globals[name])
        assert segment is not None
        segment.typed(np.dtype(np.uint64))[1][:] = numbers.constant(values, element).reshape(-1)
    return loaded


def rounded_to(values: Array, element: Scalar) -> Array:
    """Round f64 to a type and back."""
    if element is F64:
        return values
    return to_f64(float_to_float(values, F64, element, RoundingMode.NEAREST_EVEN), element)


# ---------------------------------------------------------------- contents


def undefined_integers(buffer: Buffer) -> Array:
    """Return contents that no program should depend on."""
    assert buffer.element is not None
    dtype = carrier(buffer.element)
    pattern = np.full(int(np.prod(buffer.shape)) * dtype.itemsize, 1 if dtype.kind == "b" else 0x5A, np.uint8)
    return pattern.view(dtype).reshape(buffer.shape)


def contents(case: Comparison, side: str, reals: Mapping[str, Array], numbers: Numbers) -> dict[str, Array]:
    """Return new contents of every buffer of a program; `reals` has the codes of real inputs."""
    made: dict[str, Array] = {}
    for name, buffer in case.all_buffers(side).items():
        if buffer.element is not None and buffer.element.is_int:
            made[name] = undefined_integers(buffer) if buffer.data is None else as_integers(buffer)
        elif buffer.content == REAL:
            made[name] = floats(reals[name].copy())
        elif buffer.content == GIVEN:
            assert buffer.data is not None
            made[name] = floats(numbers.literal(buffer.data.astype(np.float64)).reshape(buffer.shape))
        else:
            made[name] = floats(np.full(buffer.shape, U(numbers.undefined)))
    return made


def as_integers(buffer: Buffer) -> Array:
    """Return the given contents of a buffer of integers, in the type of its elements."""
    assert buffer.data is not None and buffer.element is not None
    return buffer.data.astype(carrier(buffer.element)).reshape(buffer.shape).copy()


# ---------------------------------------------------------------- in the program's own types


def own_types(program: Program, buffers: Mapping[str, Buffer]) -> dict[str, Scalar]:
    """Return the element type of each buffer, as a program declares it."""
    found: dict[str, Scalar] = {}
    for stage in program.stages:
        for value, kind in matched(stage, buffers):
            if isinstance(value, str):
                found[value] = kind.pointee if isinstance(kind, Ptr) else kind
    return found


def to_own(values: Array, element: Scalar) -> Array:
    """Return f64 as memory holds a type."""
    made = float_to_float(np.ascontiguousarray(values, np.float64), F64, element, RoundingMode.NEAREST_EVEN)
    return packed(made.reshape(-1)) if element.bits == 4 else made


def from_own(values: Array, element: Scalar, shape: tuple[int, ...]) -> Array:
    """Return as f64 what memory holds of a type."""
    values = unpacked(values) if element.bits == 4 else values
    return to_f64(values.reshape(-1).view(carrier(element)), element).reshape(shape)


def run_own(
    case: Comparison, side: str, reals: Mapping[str, Array], sanitize: Any = None, limits: Limits | None = None
) -> dict[str, Array]:
    """Run a program on the reference engine as it is. Real inputs are given as f64, outputs returned as f64."""
    program = case.a if side == "a" else case.b
    buffers = case.all_buffers(side)
    types = own_types(program, buffers)
    memory: dict[str, Array] = {}
    for name, buffer in buffers.items():
        element = types.get(name)
        if element is None:
            continue
        memory[name] = _own_content(buffer, element, reals.get(name))
        if sanitize is not None and buffer.content == "undefined":
            sanitize.declare_uninit(memory[name])
    kept: dict[int, ReferenceLoaded] = {}
    for stage in program.stages:
        loaded = kept.setdefault(id(stage.module), load(stage.module))
        values: list[Any] = []
        for value, kind in matched(stage, buffers):
            if not isinstance(value, str):
                values.append(float(value) if isinstance(kind, Scalar) and kind.is_float else value)
            elif isinstance(kind, Ptr):
                values.append(memory[value])
            else:
                values.append(float(np.asarray(reals[value]).reshape(-1)[0]))
        loaded.kernel(entry_of(stage).sym_name).launch(
            stage.grid,
            values,
            sanitize=sanitize,
            limits=limits or Limits(STEPS, SECONDS),
            convention=stage.convention,
            output=_nowhere,
        )
    return {
        name: from_own(memory[name], types[name], buffers[name].shape) if types[name].is_float else memory[name]
        for name in case.outs
        if name in memory
    }


def _own_content(buffer: Buffer, element: Scalar, reals: Array | None) -> Array:
    if element.is_int:
        return undefined_integers(buffer) if buffer.data is None else as_integers(buffer)
    if buffer.content == REAL:
        assert reals is not None
        return to_own(reals.reshape(buffer.shape), element)
    data = np.zeros(buffer.shape) if buffer.data is None else buffer.data.astype(np.float64)
    return to_own(data, element)
