"""The arguments that `tilery run` makes from the command line, and shows and saves afterwards."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import numpy as np

from .attrs import RoundingMode
from .cli_files import Stop, reason, write_output
from .diag import TileError
from .exec.numerics.convert import float_to_float, to_f64
from .exec.tiles import Array, carrier
from .types import F64, Scalar

KINDS = ("zeros", "ones", "arange", "rand", "randn")


@dataclass
class Argument:
    """An argument and its label; `element` is its type where the command line names one."""

    name: str
    value: Any
    element: Scalar | None = None


def make_arguments(specs: list[str], seed: int) -> list[Argument]:
    if seed < 0:
        raise Stop(f"--seed: expected 0 or more, got {seed}")
    rng = np.random.default_rng(seed)
    arguments: list[Argument] = []
    for number, text in enumerate(specs):
        name, given, spec = text.partition("=")
        if not given or ":" in name or name.startswith("@"):
            name, spec = str(number), text
        if any(a.name == name for a in arguments):
            raise Stop(f"--arg: '{name}' is given twice")
        arguments.append(make_argument(name, spec, rng))
    return arguments


def make_argument(name: str, spec: str, rng: np.random.Generator) -> Argument:
    if spec.startswith("@"):
        return Argument(name, read_array(spec[1:]))
    parts = spec.split(":")
    if len(parts) == 3 and parts[0] in KINDS:
        element = element_type(parts[1])
        try:
            return Argument(name, make_array(parts[0], element, shape_of(parts[2]), rng), element)
        except (MemoryError, OverflowError, ValueError) as error:  # too many elements, or dimensions
            raise Stop(f"--arg: cannot make '{spec}': {error}") from None
    if len(parts) == 2:
        element = element_type(parts[0])
        return Argument(name, number_of(parts[1], element), element)
    raise Stop(f"--arg: expected @FILE, KIND:TYPE:SHAPE or TYPE:VALUE, got '{spec}'")


def element_type(name: str) -> Scalar:
    try:
        return Scalar(name)
    except TileError as error:
        raise Stop(f"--arg: {error.message}") from None


def shape_of(text: str) -> tuple[int, ...]:
    try:
        shape = tuple(int(part) for part in text.split("x"))
    except ValueError:
        shape = (-1,)
    if any(extent < 0 for extent in shape):
        raise Stop(f"--arg: expected a shape such as 64x64, got '{text}'")
    return shape


def number_of(text: str, element: Scalar) -> int | float:
    try:
        return int(text, 0) if element.is_int else float(text)
    except ValueError:
        raise Stop(f"--arg: '{text}' is no value of {element}") from None


def read_array(file: str) -> Array:
    try:
        with open(file, "rb") as opened:
            array: Array = np.lib.format.read_array(opened, allow_pickle=False)
    except OSError as error:
        raise Stop(f"cannot read '{file}': {reason(error)}") from None
    except Exception:  # a header is a piece of Python, and what NumPy raises for a broken one is not said
        raise Stop(f"cannot read '{file}': it is no .npy file of numbers") from None
    return array


def make_array(kind: str, element: Scalar, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """A new array as memory holds it: types that NumPy does not have as their bits."""
    dtype = carrier(element)
    if element.is_int and kind == "rand":
        bits = rng.integers(0, 256, (*shape, dtype.itemsize), np.uint8)
        return bits[..., 0] & 1 == 1 if element.bits == 1 else bits.view(dtype)[..., 0]
    values = make_values(kind, shape, rng)
    if element.is_int:
        return values.astype(np.int64).astype(dtype)
    return float_to_float(values, F64, element, RoundingMode.NEAREST_EVEN)


def make_values(kind: str, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    match kind:
        case "rand":
            return rng.random(shape)
        case "randn":
            return rng.standard_normal(shape)
        case "arange":
            return np.arange(np.prod(shape, dtype=int), dtype=np.float64).reshape(shape)
    return np.full(shape, float(kind == "ones"))


# ---------------------------------------------------------------- results


def find(arguments: list[Argument], name: str, option: str) -> Argument:
    found = next((a for a in arguments if a.name == name), None)
    if found is None:
        raise Stop(f"{option}: there is no argument '{name}', only {', '.join(a.name for a in arguments) or 'none'}")
    return found


def split_save(text: str, arguments: list[Argument]) -> tuple[Argument, str]:
    name, given, file = text.partition("=")
    if not given:
        raise Stop(f"--save: expected NAME=FILE, got '{text}'")
    return find(arguments, name, "--save"), file


def save(argument: Argument, file: str) -> None:
    data = io.BytesIO()
    np.save(data, argument.value)
    write_output(file, data.getvalue())


def numbers(argument: Argument) -> Array:
    """An argument as numbers that NumPy can show."""
    value = np.asarray(argument.value)
    element = argument.element
    if element is None or element.is_int or value.dtype.kind == "f" or not value.ndim:
        return value
    return to_f64(value, element)


def as_text(argument: Argument) -> str:
    return np.array2string(numbers(argument), threshold=100, prefix=f"{argument.name} = ")


def as_data(argument: Argument) -> object:
    return numbers(argument).tolist()
