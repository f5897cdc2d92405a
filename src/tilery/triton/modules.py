"""The Tile IR of a Triton kernel, without launching it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from ..diag import TileError
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
        self.dtype, self.shape, self.strides = ELEMENTS[element], shape, strides

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
        raise TileError("Triton compiled nothing; TRITON_INTERPRET=1 runs kernels without compiling them")
    return made


def find_kernel(place: str) -> Any:
    """Import the file of `FILE.py::name` and return that kernel of Triton."""
    return find(place, import_module("triton").runtime.jit.KernelInterface)
