"""The reference that defines results: a Python function on NumPy arrays, or another kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np

from ..diag import ErrorKind, TileError
from .problem import Argument, Problem, Shape
from .stages.noise import Noise, Precision, precision
from .values import Array, from_f64, widen

SAMPLES = 6
"""How often the reference is computed with errors, to see how large they become."""
SAFETY = 6.0
"""How many times the largest error that was seen is allowed."""

Execute = Callable[[Mapping[str, Array]], Mapping[str, Array]]
"""Runs a kernel on the bits of its inputs, and returns the bits of its outputs."""


@dataclass(slots=True)
class Expected:
    """The expected output: numbers, how far off they may be, and where nothing can be said."""

    exact: Array
    tolerance: Array
    decided: Array


def load_function(place: str, folder: Path) -> Callable[..., Any]:
    """Import the function of `FILE.py::name`; the name may be left out where the file has only one function.

    The file is the author's of the problem, so it runs here.
    """
    file, _, name = place.partition("::")
    path = folder / file
    if not path.is_file():
        raise TileError(f"there is no file '{path}'", kind=ErrorKind.FILE)
    spec = spec_from_file_location(f"reference_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    loaded = module_from_spec(spec)
    try:
        spec.loader.exec_module(loaded)
    except Exception as error:
        raise TileError(f"the reference cannot be imported: {type(error).__name__}: {error}", file=str(path)) from None
    functions: dict[str, Callable[..., Any]] = {
        key: value
        for key, value in vars(loaded).items()
        if callable(value) and getattr(value, "__module__", "") == loaded.__name__ and not key.startswith("_")
    }
    if not name and len(functions) == 1:
        return next(iter(functions.values()))
    if name not in functions:
        raise TileError(f"'{file}' has no function '{name}'", notes=(f"its functions: {', '.join(functions)}",))
    return functions[name]


def precision_of(problem: Problem, arguments: Sequence[Argument]) -> Precision:
    """Return the precision that a candidate may use: what the problem declares, or that of its arguments."""
    floats = [each.element for each in arguments if each.element.is_float]
    widest = max(floats, key=lambda each: (each.bits, each.format.mantissa)).name if floats else "f32"
    return precision(problem.compute or widest, problem.accumulate or ("f64" if widest == "f64" else "f32"))


def expect(
    function: Callable[..., Any], problem: Problem, shape: Shape, inputs: Mapping[str, Array], seed: int
) -> dict[str, Expected]:
    """Return what a reference function says about each output, in higher precision than the candidate's."""
    arguments = problem.typed(shape)
    bounds = precision_of(problem, arguments)
    is_double = any(each.element.name == "f64" for each in arguments)
    wide = np.longdouble if is_double else np.float64
    exact = _call(function, problem, shape, arguments, inputs, lambda a: a.astype(wide) if a.dtype.kind == "f" else a)
    moved = [
        _call(function, problem, shape, arguments, inputs, _noisy(Noise(bounds, seed + sample)))
        for sample in range(SAMPLES)
    ]
    return {each.name: _expected(each, exact[each.name], [m[each.name] for m in moved]) for each in _outputs(arguments)}


def _noisy(noise: Noise) -> Callable[[Array], Any]:
    return lambda array: noise.array(array) if array.dtype.kind == "f" else array


def _outputs(arguments: Sequence[Argument]) -> list[Argument]:
    return [each for each in arguments if each.is_written]


def _call(
    function: Callable[..., Any],
    problem: Problem,
    shape: Shape,
    arguments: Sequence[Argument],
    inputs: Mapping[str, Array],
    make: Callable[[Array], Any],
) -> dict[str, Array]:
    values = []
    for each in arguments:
        if not each.is_array:
            values.append(problem.scalar(each, shape))
        elif each.is_read:
            values.append(make(widen(inputs[each.name], each).copy()))
    try:
        with np.errstate(all="ignore"):
            result = function(*values)
    except Exception as error:
        raise TileError(f"the reference failed: {type(error).__name__}: {error}") from error
    outputs = _outputs(arguments)
    found = result if isinstance(result, (tuple, list)) else (result,)
    if len(found) != len(outputs):
        raise TileError(f"the reference returns {len(found)} arrays, the problem has {len(outputs)} outputs")
    made = {}
    for argument, array in zip(outputs, found):
        plain = np.asarray(array).view(np.ndarray)
        extents = problem.extents(argument, shape)
        if plain.shape != extents:
            raise TileError(f"the reference returns '{argument.name}' of shape {plain.shape}, expected {extents}")
        made[argument.name] = plain
    return made


def _expected(argument: Argument, exact: Array, moved: Sequence[Array]) -> Expected:
    if not argument.element.is_float:
        decided = np.all([each == exact for each in moved], axis=0)
        return Expected(exact, np.zeros(exact.shape), decided)
    exact = exact.astype(np.float64) if exact.dtype != np.longdouble else exact
    with np.errstate(all="ignore"):
        same = [
            (np.isnan(each) == np.isnan(exact)) & (np.isinf(each) == np.isinf(exact))
            & ((np.signbit(each) == np.signbit(exact)) | ~np.isinf(exact))
            for each in moved
        ]  # fmt: skip
        error = np.max([np.where(np.isfinite(each) & np.isfinite(exact), np.abs(each - exact), 0) for each in moved], 0)
    return Expected(exact, (SAFETY * error + spacing(argument, exact)).astype(np.float64), np.all(same, axis=0))


def spacing(argument: Argument, numbers: Array) -> Array:
    """Return the distance between neighbours of an output's type, at these numbers."""
    form = argument.element.format
    with np.errstate(all="ignore"):
        _, exponent = np.frexp(np.where(np.isfinite(numbers), numbers, 0).astype(np.float64))
    made: Array = np.ldexp(1.0, np.maximum(exponent - 1, 1 - form.bias) - form.mantissa)
    return made


def expect_of_kernel(
    execute: Execute, problem: Problem, shape: Shape, inputs: Mapping[str, Array], seed: int
) -> dict[str, Expected]:
    """Return what a reference kernel says: its results, and how far they move if inputs change by a rounding error."""
    arguments = problem.typed(shape)
    bounds = precision_of(problem, arguments)
    outputs = _outputs(arguments)
    exact = execute(inputs)
    moved = []
    for sample in range(SAMPLES):
        rng = np.random.default_rng(seed + sample)
        shaken = {each.name: _shaken(each, inputs[each.name], bounds, rng) for each in arguments if each.name in inputs}
        moved.append(execute(shaken))
    found = {}
    for each in outputs:
        wide = [widen(run[each.name], each) for run in (exact, *moved)]
        made = _expected(each, wide[0], wide[1:])
        if each.element.is_float:  # two kernels may round each step differently
            made.tolerance = made.tolerance * 2
        found[each.name] = made
    return found


def _shaken(argument: Argument, bits: Array, bounds: Precision, rng: np.random.Generator) -> Array:
    if not argument.element.is_float:
        return bits
    numbers = widen(bits, argument)
    error = max(bounds.compute, 2.0 ** -(argument.element.format.mantissa + 1))
    with np.errstate(all="ignore"):
        return from_f64(numbers * (1 + 2 * error * rng.uniform(-1, 1, numbers.shape)), argument.element)
