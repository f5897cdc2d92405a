"""Arguments of `tilery run`: made from the command line, then printed and saved."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..attrs import RoundingMode
from ..diag import TileError, did_you_mean
from ..engines.common.numerics.convert import float_to_float, to_f64
from ..engines.common.tiles import Array, carrier, packed, unpacked
from ..types import F64, SCALARS, Ptr, Scalar
from .files import CommandFailed, reason, write_output

KINDS = ("zeros", "ones", "arange", "rand", "randn", "uninit", "output")


@dataclass
class ArgumentSpec:
    """An argument and its label; `element` is its type, if the command line or the kernel names it."""

    name: str
    value: Any
    element: Scalar | None = None
    is_uninit: bool = False
    """Whether its memory counts as never written, for the sanitizer."""
    is_output: bool = False
    """Whether a launch must also write all of it."""


def make_arguments(specs: list[str], seed: int) -> list[ArgumentSpec]:
    rng = np.random.default_rng(seed)
    arguments: list[ArgumentSpec] = []
    for number, text in enumerate(specs):
        name, given, spec = text.partition("=")
        if not given or ":" in name or name.startswith("@"):
            name, spec = str(number), text
        if any(a.name == name for a in arguments):
            raise CommandFailed(f"--arg: '{name}' is given twice")
        arguments.append(make_argument(name, spec, rng))
    return arguments


def make_argument(name: str, spec: str, rng: np.random.Generator) -> ArgumentSpec:
    if spec.startswith("@"):
        return ArgumentSpec(name, read_array(spec[1:]))
    parts = spec.split(":")
    if len(parts) == 3 and parts[0] in KINDS:
        element, shape = element_type(parts[1]), shape_of(parts[2])
        try:
            array = make_array(parts[0], element, shape, rng)
            return ArgumentSpec(name, array, element, parts[0] == "uninit", parts[0] == "output")
        except (MemoryError, OverflowError, ValueError):  # NumPy's limits
            raise CommandFailed(f"--arg: an array such as '{spec}' does not fit in memory") from None
    if len(parts) == 2 and parts[0] not in KINDS:
        element = element_type(parts[0])
        return ArgumentSpec(name, number_of(parts[1], element), element)
    if len(parts) == 1 and (number := plain_number(spec)) is not None:
        return ArgumentSpec(name, number)
    hint = did_you_mean(parts[0], KINDS) if len(parts) == 3 else ""
    raise CommandFailed(f"--arg: expected @FILE, KIND:TYPE:SHAPE, TYPE:VALUE or VALUE, got '{spec}'{hint}")


def plain_number(text: str) -> int | float | None:
    """Return a number whose type is that of the parameter, or None if it is none.

    >>> plain_number("500"), plain_number("0.5"), plain_number("x")
    (500, 0.5, None)
    """
    for read in (lambda: int(text, 0), lambda: float(text)):
        try:
            return read()
        except ValueError:
            pass
    return None


def element_type(name: str) -> Scalar:
    try:
        return Scalar(name)
    except TileError as error:
        hint = did_you_mean(name, [*SCALARS])
        raise CommandFailed(f"--arg: {error.message}{hint}") from None


def shape_of(text: str) -> tuple[int, ...]:
    try:
        shape = tuple(int(part) for part in text.split("x"))
    except ValueError:
        shape = (-1,)
    if any(extent < 0 for extent in shape):
        raise CommandFailed(f"--arg: expected a shape such as 64x64, got '{text}'")
    return shape


def number_of(text: str, element: Scalar) -> int | float:
    try:
        return int(text, 0) if element.is_int else float(text)
    except ValueError:
        raise CommandFailed(f"--arg: '{text}' is not a value of {element}") from None


def read_array(file: str) -> Array:
    try:
        array = np.load(file, allow_pickle=False)
    except OSError as error:
        raise CommandFailed(f"cannot read '{file}': {reason(error)}") from None
    except MemoryError:
        raise CommandFailed(f"cannot read '{file}': it does not fit in memory") from None
    except Exception:  # the header is Python source, and what NumPy raises for a broken one is not documented
        array = None
    if not isinstance(array, np.ndarray):  # an .npz file is several arrays
        raise CommandFailed(f"cannot read '{file}': it is not a .npy file of numbers")
    if array.dtype.kind == "V" and array.dtype.names is None and array.dtype.itemsize in (1, 2, 4, 8):
        return array.view(f"u{array.dtype.itemsize}")  # NumPy saves bf16 and narrower types as untyped bytes
    return array


def make_array(kind: str, element: Scalar, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Make an array as it is in memory; types that NumPy lacks are represented by their bits."""
    if element.bits != 4:
        return make_elements(kind, element, shape, rng)
    if not shape or shape[-1] % 2:
        raise CommandFailed(f"--arg: two elements of {element} share a byte, so the last extent must be even")
    elements = make_elements(kind, element, shape, rng)
    return packed(elements.reshape(-1)).reshape(*shape[:-1], shape[-1] // 2)


def make_elements(kind: str, element: Scalar, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Make elements, one per item of the array."""
    dtype = carrier(element)
    if element.is_int and kind == "rand":
        bits = rng.integers(0, 256, (*shape, dtype.itemsize), np.uint8)
        return bits[..., 0] & 1 == 1 if element.bits == 1 else bits.view(dtype)[..., 0]
    if kind in ("uninit", "output"):
        bits = np.full((*shape, dtype.itemsize), 1 if element.bits == 1 else 255, np.uint8)
        return bits.view(dtype)[..., 0]
    same = kind in ("zeros", "ones")  # one element is enough, and zeros take no memory until they are used
    values = float_values(kind, (1,) if same else shape, rng)
    if element.is_int:
        elements = values.astype(np.int64).astype(dtype)
    else:
        elements = float_to_float(values, F64, element, RoundingMode.NEAREST_EVEN)
    if not same:
        return elements
    return np.full(shape, elements[0]) if kind == "ones" else np.zeros(shape, dtype)


def float_values(kind: str, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    match kind:
        case "rand":
            return rng.random(shape)
        case "randn":
            return rng.standard_normal(shape)
        case "arange":
            return np.arange(np.prod(shape, dtype=int), dtype=np.float64).reshape(shape)
    return np.full(shape, float(kind == "ones"))


def check_types(arguments: list[ArgumentSpec], params: Sequence[Any], convention: str | None) -> None:
    """Compare the types on the command line with the kernel's, and fill in those it leaves out."""
    at = 0
    for a in arguments:
        is_array = hasattr(a.value, "ndim")
        if at >= len(params):
            return  # too many arguments are reported later
        param = params[at].element
        at += 1 if convention is None or not is_array else 1 + 2 * a.value.ndim
        if isinstance(param, Ptr) != is_array:
            continue  # an address, or a mismatch that is reported later
        wanted = param.pointee if is_array else param
        if a.element is None:
            a.element = wanted
            if isinstance(a.value, int) and wanted.is_float:
                a.value = float(a.value)
            elif isinstance(a.value, float) and wanted.is_int:
                raise CommandFailed(f"--arg: '{a.value}' is not a value of {wanted}, which '{a.name}' has")
        elif a.element is not wanted:
            raise CommandFailed(f"--arg: '{a.name}' has type {a.element}, the kernel takes {param}")


# ---------------------------------------------------------------- results


def find(arguments: list[ArgumentSpec], name: str, option: str) -> ArgumentSpec:
    found = next((a for a in arguments if a.name == name), None)
    if found is None:
        names = [a.name for a in arguments]
        hint = did_you_mean(name, names)
        raise CommandFailed(f"{option}: there is no argument '{name}', only {', '.join(names) or 'none'}{hint}")
    return found


def split_save(text: str, arguments: list[ArgumentSpec]) -> tuple[ArgumentSpec, str]:
    name, given, file = text.partition("=")
    if not given or not file:
        raise CommandFailed(f"--save: expected NAME=FILE, got '{text}'")
    if not os.path.isdir(os.path.dirname(file) or "."):  # checked now, not after hours of execution
        raise CommandFailed(f"cannot write '{file}': there is no such directory")
    return find(arguments, name, "--save"), file


def save(argument: ArgumentSpec, file: str) -> None:
    data = io.BytesIO()
    np.save(data, argument.value)
    write_output(file, data.getvalue())


def numbers(argument: ArgumentSpec) -> Array:
    """Return an argument as numbers that NumPy can print."""
    value = np.asarray(argument.value)
    element = argument.element
    if element is None or value.dtype.kind != "u" or not value.ndim:
        return value
    if element.bits == 4:
        value = unpacked(value)
    return to_f64(value.view(carrier(element)), element) if element.is_float else value


def as_text(argument: ArgumentSpec) -> str:
    return np.array2string(numbers(argument), threshold=100, prefix=f"{argument.name} = ")


def as_data(argument: ArgumentSpec) -> object:
    """Return an argument for JSON, in which infinities and NaN are strings."""
    value = numbers(argument)
    if value.dtype.kind != "f" or np.isfinite(value).all():
        return value.tolist()
    words = value.astype(object)
    for word, where in (("NaN", np.isnan(value)), ("Infinity", value == np.inf), ("-Infinity", value == -np.inf)):
        words[where] = word
    return words.tolist()
