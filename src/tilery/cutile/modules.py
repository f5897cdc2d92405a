"""The Tile IR of a cuTile kernel, without launching it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from ..diag import TileError
from ..ops import Module
from ..programs.arrays import host_argument
from ..programs.kernels import find
from ..programs.signatures import EXAMPLE
from ..source.input import Input
from ..verifier.explain import read_legal
from . import versions
from .session import on
from .signatures import parse_signature


def module(kernel: Any, args: Sequence[Any] | str, *, version: str | None = None, gpu: str | None = "sm_100") -> Module:
    """Return the module that `ct.launch` would compile for these arguments, with locations.

    `args` are arguments, or text such as "f32[64, 128], 16". `version` is a bytecode version, by default the latest
    that this cuTile writes; `gpu` selects whose optimization hints apply.
    """
    return read_legal(Input(bytecode(kernel, args, version=version, gpu=gpu)))


def bytecode(
    kernel: Any, args: Sequence[Any] | str, *, version: str | None = None, gpu: str | None = "sm_100"
) -> bytes:
    """Return the bytecode of that module; see `module`."""
    versions.require()
    values = parse_signature(args) if isinstance(args, str) else tuple(args)
    compiler, compilation = import_module("cuda.tile._compile"), import_module("cuda.tile.compilation")
    check_count(kernel, values)
    with on("none"):
        signature = signature_of(kernel, host_argument(values), compilation)
        number = compiler._SUPPORTED_VERSIONS[-1] if version is None else compiler.parse_bytecode_version(version)
        result = compiler.compile_tile(
            kernel._annotated_function,
            [signature],
            sm_arch=gpu,
            compiler_options=kernel._compiler_options,
            bytecode_version=number,
            return_bytecode=True,
            return_cubin=False,
        )
    return bytes(result.bytecode)


def check_count(kernel: Any, values: Sequence[Any]) -> None:
    """Refuse a number of arguments that the kernel does not take."""
    names = list(kernel._annotated_function.pysig.parameters)
    if len(values) != len(names):
        note = f"describe the arguments of a launch, on the command line by --sig: {EXAMPLE}"
        given = "none was" if not values else f"{len(values)} were"
        raise TileError(f"the kernel takes {len(names)} arguments ({', '.join(names)}), {given} given", notes=(note,))


def signature_of(kernel: Any, values: tuple[Any, ...], compilation: Any) -> Any:
    """Return the signature that cuTile derives from arguments, in the oldest calling convention that supports it."""
    conventions = compilation.CallingConvention
    try:
        return compilation.KernelSignature.from_kernel_args(kernel, values, conventions.cutile_python_v1())
    except ValueError:
        return compilation.KernelSignature.from_kernel_args(kernel, values, conventions.cutile_python_v2())


def find_kernel(place: str) -> Any:
    """Import the file of `FILE.py::name`, with its directory on the path, and return that kernel.

    The name may be left out where the file has only one kernel.
    """
    return find(place, import_module("cuda.tile").kernel)
