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

from ..bytecode.reader import read
from ..bytecode.writer import write
from ..child import Child, ChildError, Ending, ended
from ..diag import ErrorKind, TileError
from ..engines.common.kernel import Kernel
from ..engines.registry import DEFAULT, compile_kernel
from ..ops import Module
from ..passes.rename_symbol import rename_symbols
from ..source.input import Input, read_file
from ..verifier.explain import read_legal
from ..version import LATEST, Version
from .errors import Said, errors, located, read_log
from .headers import PRELUDE, standard_headers
from .names import name_kernels, normalized, stable_symbol
from .tile_part import Sources, read_sources
from .toolkit import INSTALL, SUPPORTED, Toolkit, find_toolkit

TIMEOUT = 120.0
"""Seconds that a compilation may take."""
MEMORY = 8 << 30
"""Bytes of address space that a compilation may take."""
TEXT_NAME = "source.cu"
"""The name of C++ that is given as a text."""
NO_KERNEL = "__$dummy_kernel"
"""The entry that NVRTC makes where a file has no kernel."""
MAX_ROUNDS = 20
"""How often a program with host code is compiled, each time without declarations that the compiler refused."""
MAX_LEFT_OUT = 4
"""The most declarations left out as host code that an error names."""
_MISSING = re.compile(r'cannot open source file "([^"]+)"')
_UNREFERENCED = re.compile(r'function ".*" was declared but never referenced')
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
    text, file, name = read_text(source, file)
    toolkit = find_toolkit()
    folders = [os.fspath(folder) for folder in include]
    for given in (*instances, *define, *options, *folders, gpu, std):
        if not given or _CONTROL.search(given):
            raise TileError(f"an instance, folder or option cannot be {given!r}")
    request = {
        "library": str(toolkit.library),
        "name": name,
        "instances": list(dict.fromkeys(instances)),
        "options": [
            "--enable-tile",
            "-lineinfo",
            f"--pre-include={PRELUDE}",
            f"--std={std}",
            f"--gpu-architecture={gpu}",
            *(f"-D{each}" for each in define),
            *(f"-I{folder}" for folder in (*folders, *map(str, toolkit.headers))),
            *options,
        ],
    }
    sources = read_sources(name, text, folders, [str(each) for each in toolkit.headers])
    answer, left_out = _compile(request, sources, timeout)
    return _program(answer, sources, file, toolkit, left_out)


def _compile(request: dict[str, Any], sources: Sources, timeout: float) -> tuple[dict[str, Any], list[Said]]:
    """Compile the tile code of a program; return the answer, and the errors of what was left out as host code.

    Declarations that may be host code are left out when the compiler refuses them, if the program has other host code.
    """
    left_out: list[Said] = []
    empty: dict[str, str] = {}
    for _ in range(MAX_ROUNDS):
        request["source"] = sources.main.tile_text
        request["headers"] = standard_headers() | empty
        if sources.is_mixed:
            request["headers"] |= {
                name: f'#line 1 "{header.file}"\n{header.tile_text}' for name, header in sources.headers.items()
            }
        answer = _ask(request, timeout)
        if not sources.is_mixed:
            break
        wrong = [each for each in read_log(answer.get("log", "")) if each.is_error]
        missing = {found[1]: "" for each in wrong if (found := _MISSING.fullmatch(each.text))}
        refused = [each for each in wrong if sources.drop(each.file, each.line)]
        if not refused and not missing.keys() - empty.keys():
            break
        left_out += refused
        empty |= missing
    return answer, left_out


def read_text(source: str | PathLike[str], file: str) -> tuple[str, str, str]:
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


def _program(
    answer: dict[str, Any], sources: Sources, file: str, toolkit: Toolkit, left_out: Sequence[Said]
) -> Program:
    text, name = sources.main.text, sources.main.file
    said = read_log(answer.get("log", ""))
    if (error := errors(said, text, name, file)) is not None:
        error.notes += [f"left out as host code, line {each.line}: {each.text}" for each in left_out[:MAX_LEFT_OUT]]
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
    code = base64.b64decode(answer["code"])
    _require_readable(code, toolkit, ".".join(map(str, answer["version"])), file)
    code, symbols = stable_names(code, answer["symbols"])
    own = {source.file for source in sources.all}
    # A kernel in an unnamed namespace is never called, and that is no mistake.
    shown = [each for each in said if each.file in own and not _UNREFERENCED.fullmatch(each.text)]
    warnings = [located(each, text, name, file) for each in shown if each.kind == "warning"]
    program = Program(code, file, symbols, warnings)
    if list(program.kernels.values()) == [NO_KERNEL]:
        note = "a kernel is a __tile_global__ function; a template has kernels only for the instances asked for"
        raise TileError("there is no kernel", file=file, notes=(note,))
    return program


def _require_readable(code: bytes, toolkit: Toolkit, release: str, file: str) -> None:
    """Refuse bytecode that is too new in words for those who have a compiler, not a file."""
    written = Version(*code[8:10])
    if written <= LATEST:
        return
    try:
        read(code)
    except TileError as error:
        raise TileError(
            f"{toolkit.library} is NVRTC {release}, which wrote bytecode {written} that tilery does not read",
            kind=ErrorKind.VERSION,
            file=file,
            notes=(error.message, *error.notes[:1], SUPPORTED),
        ) from None


def stable_names(code: bytes, symbols: dict[str, str]) -> tuple[bytes, dict[str, str]]:
    """Return bytecode and the symbols of instances with names that are the same in every compilation.

    NVRTC writes the number of its process into the symbols of an unnamed namespace.
    """
    if b"_GLOBAL__N__" not in code and b"_INTERNAL_" not in code:
        return code, symbols
    module = Input(code).read()
    rename_symbols(module, stable_symbol)
    module.layout = None  # which has the old names in its table of strings
    return write(module), {name: stable_symbol(symbol) for name, symbol in symbols.items()}
