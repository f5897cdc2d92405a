"""Whole programs: compile the host code of a `.cu` file with a C++ compiler, and run it with its tile kernels here."""

from __future__ import annotations

import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from .. import child
from ..diag import ErrorKind, TileError
from . import compiler
from .host_part import MARKERS, TAG, host_code
from .names import UNNAMED
from .tile_part import read_sources
from .toolkit import find_toolkit

RUNTIME = Path(__file__).parent / "runtime"
TIMEOUT = 300.0
"""Seconds that the C++ compiler may take for one step."""
MAX_TEXT = 1 << 28
"""The most bytes of preprocessed code."""
VARIABLE = "TILERY_CXX"
"""The environment variable that names the C++ compiler; it must know the options of GCC."""
_KERNEL = re.compile(rb"(?<![\x21-\x7e])\*?Z([\x21-\x7e]{1,4096})E%d%s\0" % (len(TAG), TAG.encode()))
_FLOAT = re.compile(r"\((float|double)\)\[([0-9a-f]+)\]")
"""A template argument as demangled symbols show it: its bits."""
_ERROR = re.compile(r"(.+?):(\d+):(?:(\d+):)? (?:fatal )?error: (.*)")
_UNDEFINED = re.compile(r"undefined (?:reference to|symbol:) [`']?([^'\n]+?)'?(?:\n|$)")


@dataclass(slots=True)
class HostProgram:
    """The compiled host code of a program, and the bytecode of its kernels; the files are in a temporary folder."""

    library: Path
    bytecode: bytes
    symbols: Mapping[str, str]
    """The symbols of kernels in the bytecode, by their symbols in the library."""
    warnings: Sequence[TileError] = ()


def has_main(source: str | PathLike[str], include: Sequence[str | PathLike[str]] = ()) -> bool:
    """Whether a C++ file defines `main`, so that it is a program."""
    text, _, name = compiler.read_text(source, "")
    return any(each.main for each in read_sources(name, text, [os.fspath(each) for each in include]).all)


def build_program(
    source: str | PathLike[str],
    folder: str | PathLike[str],
    *,
    include: Sequence[str | PathLike[str]] = (),
    define: Sequence[str] = (),
    gpu: str = "sm_100",
    std: str = "c++20",
    options: Sequence[str] = (),
) -> HostProgram:
    """Compile a program: its host code into a library in a folder, and its tile kernels to bytecode.

    The instances of templates are those that the host code uses. The other options are those of `build`.
    """
    text, file, name = compiler.read_text(source, "")
    library = compile_host(name, text, Path(folder), [*include], define, std)
    used = kernels_of(library)
    demangled = {symbol: demangle(symbol) for symbol in used}
    expressions = {symbol: name_expression(shown) for symbol, shown in demangled.items() if is_instance(shown)}
    instances = sorted(set(expressions.values()))
    made = compiler.build(source, instances, include=include, define=define, gpu=gpu, std=std, options=options)
    known = {comparable(demangle(symbol)): symbol for symbol in made.kernels.values()}
    symbols = {}
    for symbol, shown in demangled.items():
        asked = expressions.get(symbol)
        found = made.instances.get(asked) if asked else known.get(comparable(shown))
        if found is None:
            raise TileError(f"the kernel '{shown}' that the host code launches has no tile code", file=file)
        symbols[symbol] = found
    return HostProgram(library, made.bytecode, symbols, made.warnings)


def run_program(
    program: HostProgram,
    arguments: Sequence[str] = (),
    *,
    name: str = "program",
    engine: str = "reference",
    sanitize: str | None = None,
    seconds: float | None = None,
    exact: bool = False,
) -> int:
    """Run a compiled program in a process of its own, with this process's streams; return its exit status.

    A launch that fails is reported on stderr, and makes the status 1 if the program returns 0. TileError tells of a
    program that a signal ended.
    """
    folder = program.library.parent
    (folder / "kernels.tileirbc").write_bytes(program.bytecode)
    facts = {
        "library": str(program.library),
        "bytecode": str(folder / "kernels.tileirbc"),
        "symbols": dict(program.symbols),
        "arguments": [name, *arguments],
        "engine": engine,
        "exact": exact,
        "sanitize": sanitize,
        "seconds": seconds,
    }
    (folder / "run.json").write_text(json.dumps(facts))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    alive, held = os.pipe()
    command = [sys.executable, "-m", "tilery.cpp.hosted", str(folder / "run.json"), str(alive)]
    try:
        status = subprocess.run(command, env=environment, check=False, pass_fds=(alive,)).returncode
    finally:
        os.close(alive)
        os.close(held)
    if status < 0:
        raise TileError(f"the program was ended by {signal.Signals(-status).name}", kind=ErrorKind.COMPILER_CRASH)
    return status


# ---------------------------------------------------------------- host code


def find_compiler() -> str:
    """Return the C++ compiler of TILERY_CXX, or else g++, or else clang++."""
    for name in filter(None, (os.environ.get(VARIABLE), "g++", "clang++")):
        if found := shutil.which(name):
            return found
    raise TileError(
        "there is no C++ compiler for the host code",
        kind=ErrorKind.MISSING_TOOL,
        notes=(f"install g++, or name a compiler in {VARIABLE}",),
    )


def compile_host(
    name: str, text: str, folder: Path, include: Sequence[str | PathLike[str]], define: Sequence[str], std: str
) -> Path:
    """Compile the host code of a file into a library in a folder."""
    cxx = find_compiler()
    system = [f"-isystem{each}" for each in find_toolkit().headers]
    common = [f"-std={std}", "-w", "-fPIC", f"-I{RUNTIME}", *system]
    marks = [f"-D{word}={mark}" for word, mark in MARKERS.items()]
    folders = [f"-I{os.fspath(each)}" for each in include]
    source, unit, library = folder / "source.cu", folder / "host.ii", folder / "program.so"
    source.write_text(f'#line 1 "{name}"\n{text}', "utf-8", "surrogateescape")
    includes = ["-iquote", os.path.dirname(name), *folders, *(f"-D{each}" for each in define)]
    _call([cxx, "-E", "-x", "c++", *common, *marks, *includes, "-include", "tilery_host.h", source, "-o", unit])
    if unit.stat().st_size > MAX_TEXT:
        raise TileError(f"the preprocessed program has more than {MAX_TEXT} bytes", file=name)
    unit.write_text(host_code(unit.read_text("utf-8", "surrogateescape")), "utf-8", "surrogateescape")
    _call([cxx, "-c", "-O1", "-x", "c++-cpp-output", f"-std={std}", "-w", "-fPIC", unit, "-o", folder / "host.o"])
    _call([cxx, "-c", "-O1", *common, RUNTIME / "runtime.cpp", "-o", folder / "runtime.o"])
    objects = [folder / "host.o", folder / "runtime.o"]
    _call([cxx, "-shared", "-Wl,-z,defs", *objects, "-lpthread", "-ldl", "-lm", "-o", library])
    return library


def _call(command: Sequence[str | Path]) -> None:
    """Run a step of the C++ compiler; its first error is raised as a TileError."""
    try:
        made = child.run_program([str(each) for each in command], TIMEOUT)
    except subprocess.TimeoutExpired:
        raise TileError(f"{command[0]} did not finish within {TIMEOUT:g} seconds", kind=ErrorKind.TIMEOUT) from None
    if made.returncode == 0:
        return
    said = made.stderr.decode(errors="replace")
    if undefined := sorted(set(_UNDEFINED.findall(said))):
        notes = (
            "`tilery cpp run` has the memory, streams, events and launches of CUDA's runtime, and no other library",
        )
        raise TileError(f"the host code uses {', '.join(undefined[:8])}, which is missing here", notes=notes)
    for line in said.splitlines():
        if found := _ERROR.fullmatch(line):
            raise host_error(found[1], int(found[2]), int(found[3] or 1), found[4])
    raise TileError(f"{command[0]} failed with status {made.returncode}", notes=(said[-2000:],))


def host_error(file: str, line: int, column: int, message: str) -> TileError:
    """Return an error of the C++ compiler at its line, if that line can be read."""
    from .errors import Said, read_header, span

    text = read_header(file)
    if text is None:
        return TileError(message, kind=ErrorKind.SYNTAX, file=f"{file}:{line}")
    start, end = span(Said("error", file, line, message, column), text)
    return TileError(message, kind=ErrorKind.SYNTAX, file=file, source=text, start=start, end=end)


# ---------------------------------------------------------------- names


def kernels_of(library: Path) -> list[str]:
    """Return the symbols of the kernels that a library launches: each stub has the name of a type inside it."""
    return sorted({"_Z" + found.decode() for found in _KERNEL.findall(library.read_bytes())})


def demangle(symbol: str) -> str:
    """Return a symbol as C++ spells it; the symbol itself if it is no C++.

    >>> demangle("_Z5scaleIfLi64EEvPT_S0_")
    'void scale<float, 64>(float*, float)'
    """
    library = ctypes.CDLL("libstdc++.so.6")
    library.__cxa_demangle.restype = ctypes.c_void_p
    status = ctypes.c_int()
    found = library.__cxa_demangle(symbol.encode(), None, None, ctypes.byref(status))
    if not found:
        return symbol
    try:
        return ctypes.string_at(found).decode(errors="replace")
    finally:
        ctypes.CDLL(None).free(ctypes.c_void_p(found))


def name_expression(shown: str) -> str:
    """Return the name of a function, with template arguments, of its demangled symbol.

    >>> name_expression("void a::(anonymous namespace)::scale<float, (Mode)2>(float*, float)")
    'a::scale<float, (Mode)2>'
    >>> name_expression("k(float*)")
    'k'
    >>> name_expression("void k<(float)[3727c5ac]>()")
    'k<__builtin_bit_cast(float, 0x3727c5ac)>'
    """
    shown = _FLOAT.sub(r"__builtin_bit_cast(\1, 0x\2)", shown.replace(f"{UNNAMED}::", ""))
    depth, start = 0, 0
    for at, letter in enumerate(shown):
        if letter in "<([":
            if letter == "(" and depth == 0:
                return shown[start:at]
            depth += 1
        elif letter in ">)]":
            depth -= 1
        elif letter == " " and depth == 0:
            start = at + 1
    return shown[start:]


def is_instance(shown: str) -> bool:
    """Whether a demangled symbol is an instance of a template."""
    return name_expression(shown).endswith(">")


def comparable(shown: str) -> str:
    """Return a demangled symbol as both compilers spell it: the integers of 64 bits are `long` or `long long`."""
    return shown.replace("long long", "long")
