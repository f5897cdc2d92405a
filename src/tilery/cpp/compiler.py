"""Compile CUDA Tile C++ to Tile IR with NVRTC, in a child process that may fail in any way."""

from __future__ import annotations

import base64
import linecache
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

from ..child import Child, ChildError, Ending, ended
from ..diag import ErrorKind, TileError
from ..engines.common.kernel import Kernel
from ..engines.registry import DEFAULT, compile_kernel
from ..ops import Module
from ..source.input import Input, read_file
from ..verifier.explain import read_legal
from .errors import errors, located, read_log
from .names import name_kernels, normalized
from .toolkit import INSTALL, Toolkit, find_toolkit

TIMEOUT = 120.0
"""Seconds that a compilation may take."""
MEMORY = 8 << 30
"""Bytes of address space that a compilation may take."""
TEXT_NAME = "source.cu"
"""The name of C++ that is given as a text."""
NO_KERNEL = "__$dummy_kernel"
"""The entry that NVRTC makes where a file has no kernel."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass
class Program:
    """Compiled C++: its bytecode, its kernels, and what the compiler warned of."""

    bytecode: bytes = field(repr=False)
    file: str
    instances: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The symbols of the instances that were asked for."""
    warnings: Sequence[TileError] = field(default=(), repr=False)

    @cached_property
    def module(self) -> Module:
        """The module, with the lines of C++ as locations."""
        return read_legal(Input(self.bytecode, file=self.file))

    @cached_property
    def kernels(self) -> dict[str, str]:
        """The symbols of the kernels by their C++ names."""
        return name_kernels([entry.sym_name for entry in self.module.entries], self.instances)

    def symbol(self, name: str | None = None) -> str:
        """Return the symbol of a kernel by its C++ name, or by the symbol itself; without a name, the only kernel."""
        if name is None and len(self.kernels) == 1:
            return next(iter(self.kernels.values()))
        names = ", ".join(self.kernels)
        if name is None:
            raise TileError(f"the file has {len(self.kernels)} kernels, name one of: {names}", file=self.file)
        if name in self.kernels.values():
            return name
        wanted = normalized(name)
        for known, symbol in self.kernels.items():
            if normalized(known) == wanted:
                return symbol
        raise TileError(f"the file has no kernel '{name}', expected one of: {names}", file=self.file)

    def kernel(self, name: str | None = None, *, engine: str = DEFAULT, **options: Any) -> Kernel:
        """Compile a kernel for an engine, ready to launch; `options` belong to the engine."""
        return compile_kernel(self.module, self.symbol(name), engine=engine, **options)


def module(source: str | PathLike[str], instances: Sequence[str] = (), **options: Any) -> Module:
    """Return the module of a C++ file, or of C++ text; see `build`."""
    return build(source, instances, **options).module


def bytecode(source: str | PathLike[str], instances: Sequence[str] = (), **options: Any) -> bytes:
    """Return the bytecode of a C++ file, or of C++ text, as the compiler wrote it; see `build`."""
    return build(source, instances, **options).bytecode


def build(
    source: str | PathLike[str],
    instances: Sequence[str] = (),
    *,
    include: Sequence[str | PathLike[str]] = (),
    define: Sequence[str] = (),
    gpu: str = "sm_100",
    std: str = "c++20",
    options: Sequence[str] = (),
    file: str = "",
    timeout: float = TIMEOUT,
) -> Program:
    """Compile CUDA Tile C++.

    A string with a line break is C++ text, which errors call `file`; anything else is the name of a file. `instances`
    are names of template instances, such as "scale<float, 64>": a template has no kernels without them. `include` are
    folders of headers, `define` macros such as "N=64", and `options` go to NVRTC as they are. A TileError has the line
    at which the compiler found the first error.
    """
    text, file, name = _read(source, file)
    toolkit = find_toolkit()
    for given in (*instances, *define, *options, *(os.fspath(folder) for folder in include), gpu, std):
        if not given or _CONTROL.search(given):
            raise TileError(f"an instance, folder or option cannot be {given!r}")
    folders = [*include, *toolkit.headers]
    request = {
        "library": str(toolkit.library),
        "source": text,
        "name": name,
        "instances": list(dict.fromkeys(instances)),
        "options": [
            "--enable-tile",
            "-lineinfo",
            f"--std={std}",
            f"--gpu-architecture={gpu}",
            *(f"-D{each}" for each in define),
            *(f"-I{os.fspath(folder)}" for folder in folders),
            *options,
        ],
    }
    return _program(_ask(request, timeout), text, file, name, toolkit)


def _read(source: str | PathLike[str], file: str) -> tuple[str, str, str]:
    """Return the C++ text, what errors call it, and what the compiler calls it."""
    if isinstance(source, str) and "\n" in source:
        text, file = source, file or TEXT_NAME
        name = os.path.abspath(file)
    else:
        path = os.fspath(source)
        text, file, name = read_file(path).decode("utf-8", "surrogateescape"), file or path, os.path.abspath(path)
    if "\0" in text:
        raise TileError("this is not C++: it has zero bytes", file=file)
    # Errors quote these lines, wherever the file is.
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    return text, file, name


def _ask(request: dict[str, Any], timeout: float) -> dict[str, Any]:
    """Send a request to a new child and return its answer; a crash is an answer with an error."""
    child = Child(str(Path(__file__).with_name("child.py")), flags=("-I",))
    try:
        return child.ask(request, seconds=timeout, memory=MEMORY, cpu_seconds=int(timeout) + 1)[0]
    except ChildError as error:
        if error.ending is Ending.LATE:
            return {"error": f"NVRTC did not finish within {timeout:g} seconds", "kind": "timeout"}
        last = error.said.strip().splitlines()[-1:]
        return {"error": f"NVRTC crashed with {ended(error.status)}", "log": "\n".join(last)[:300]}
    finally:
        child.stop()


def _program(answer: dict[str, Any], text: str, file: str, name: str, toolkit: Toolkit) -> Program:
    said = read_log(answer.get("log", ""))
    if (error := errors(said, text, name, file)) is not None:
        raise error
    if "error" in answer:
        kind = ErrorKind(answer.get("kind", "compiler-crash"))
        raise TileError(answer["error"], kind=kind, file=file, notes=tuple(filter(None, [answer.get("log", "")])))
    if "status" not in answer:
        found = ".".join(map(str, answer["version"]))
        raise TileError(
            f"{toolkit.library} is NVRTC {found}, which has no CUDA Tile C++; 13.3 has",
            kind=ErrorKind.VERSION,
            notes=(INSTALL,),
        )
    if answer["status"]:
        message = f"NVRTC failed with status {answer['status']}"
        raise TileError(message, kind=ErrorKind.COMPILER, file=file, notes=(answer["log"][:2000],))
    warnings = [located(each, text, name, file) for each in said if each.kind == "warning"]
    program = Program(base64.b64decode(answer["code"]), file, answer["symbols"], warnings)
    if list(program.kernels.values()) == [NO_KERNEL]:
        note = "a kernel is a __tile_global__ function; a template has kernels only for the instances asked for"
        raise TileError("there is no kernel", file=file, notes=(note,))
    return program
