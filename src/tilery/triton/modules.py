"""The Tile IR of a Triton kernel, without launching it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from ..api import load
from ..diag import ErrorKind, TileError
from ..ops import Module
from ..programs.kernels import find
from ..programs.signatures import parse
from ..source.input import Input
from ..verifier.explain import read_legal
from . import versions
from .session import on

ELEMENTS = {
    **{f"i{bits}": f"i{bits}" for bits in (1, 8, 16, 32, 64)},
    **{f"u{bits}": f"u{bits}" for bits in (8, 16, 32, 64)},
    **{f"f{bits}": f"fp{bits}" for bits in (16, 32, 64)},
    "bf16": "bf16",
    "f8E4M3FN": "fp8e4nv",
    "f8E5M2": "fp8e5",
    "bool": "i1",
}
"""Element types by their names in Tile IR, and Triton's names for them."""


class Placeholder:
    """A tensor without memory, aligned to 16 bytes: Triton asks for no more to compile a kernel."""

    def __init__(self, element: str, shape: list[int], strides: list[int]) -> None:
        self.element, self.dtype, self.shape, self.strides = element, ELEMENTS[element], shape, strides

    def stride(self) -> tuple[int, ...]:
        return tuple(self.strides)

    def data_ptr(self) -> int:
        return 0

    def ptr_range(self) -> int:
        return 0


def module(kernel: Any, args: Sequence[Any] | str, *, strict: bool = False, **options: Any) -> Module:
    """Return the module that launching a kernel with these arguments would compile, with locations.

    `args` are arguments, or text such as "f32[1024], f32[1024], 1000, 256". `options` are constants by name, and
    Triton's own options, such as `num_warps`. Of an autotuned kernel it is the first configuration.
    """
    return read_legal(Input(bytecode(kernel, args, strict=strict, **options)))


def bytecode(kernel: Any, args: Sequence[Any] | str, *, strict: bool = False, **options: Any) -> bytes:
    """Return the bytecode of that module; see `module`."""
    data: bytes = compiled(kernel, args, strict=strict, **options).asm["tileirbc"]
    return data


def compiled(kernel: Any, args: Sequence[Any] | str, *, strict: bool = False, **options: Any) -> Any:
    """Return Triton's object for the compiled kernel; see `module`."""
    versions.require()
    values = parse(args, ELEMENTS, Placeholder) if isinstance(args, str) else tuple(args)
    with on("none", strict=strict):
        made = kernel.warmup(*values, grid=(1,), **options)
    made = made[0] if isinstance(made, (list, tuple)) else made
    if made is None:
        message = "Triton compiled nothing; TRITON_INTERPRET=1 runs kernels without compiling them"
        raise TileError(message, kind=ErrorKind.UNSUPPORTED)
    return made


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a compiled kernel: its name, its type, and an argument of `tilery run` that fits."""

    name: str
    type: str
    argument: str


@dataclass(frozen=True, slots=True)
class Compiled:
    """A kernel in a file, compiled for a signature."""

    bytecode: bytes
    entry: str
    parameters: list[Parameter]
    constants: dict[str, Any]
    """The values that are compiled in, by the names of the kernel's arguments."""


def compile_file(place: str, signature: str, *, strict: bool = False) -> Compiled:
    """Compile a kernel of `FILE.py::name` for arguments such as "f32[1024], f32[1024], 1000, 256".

    This runs the file, so call it in a process of its own if the file is not yours.
    """
    with on("none", strict=strict):
        made = compiled(find_kernel(place), signature, strict=strict)
        names = list(made.src.fn.arg_names)
        given = dict(zip(names, parse(signature, ELEMENTS, Placeholder)))
        entry = load(made.asm["tileirbc"]).entries[0]
        found = list(parameters(parameter_names(made), entry.function_type.params, given))
        constants = {names[path[0]]: value for path, value in made.src.constants.items() if len(path) == 1}
    return Compiled(made.asm["tileirbc"], entry.sym_name, found, constants)


def parameter_names(made: Any) -> list[str]:
    """Return the names of a compiled kernel's parameters; constants are none."""
    found = [str(name) for name in made.metadata.parameter_names]
    kinds = [kind for kind in made.src.signature.values() if kind != "constexpr"]
    if len(kinds) != len(found):
        return found  # a tuple or a descriptor is several parameters
    # Releases before 3.5 number the parameters.
    return [str(name) for name, kind in made.src.signature.items() if kind != "constexpr"]


def parameters(names: list[str], types: Sequence[Any], given: dict[str, Any]) -> Iterator[Parameter]:
    """Yield the parameters of an entry; `given` are the arguments that it was compiled for."""
    for name, kind in zip(names, types):
        value = given.get(name)
        if isinstance(value, Placeholder):
            size = "x".join(map(str, value.shape))
            yield Parameter(name, f"{value.element}[{size}]", f"rand:{value.element.replace('u', 'i', 1)}:{size}")
        else:
            element = kind.element.text
            yield Parameter(name, element, f"{element}:{0 if value is None else value}")


def find_kernel(place: str) -> Any:
    """Import the file of `FILE.py::name` and return that kernel of Triton."""
    return find(place, import_module("triton").runtime.jit.KernelInterface)
