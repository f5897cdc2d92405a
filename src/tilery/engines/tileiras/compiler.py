"""Run tileiras: find it, choose a bytecode version that it reads, and map its errors back to operations."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from ...attrs import FileLineCol
from ...bytecode.writer import write
from ...child import run_program
from ...diag import ErrorKind, TileError
from ...ir import Op, Refused, clone, walk
from ...ops import Module
from ...passes.debug_scopes import synthesize_debug_info_scopes
from ...rewrite import Report
from ...version import SUPPORTED, Version

TIMEOUT = 300.0
"""Seconds after which a compilation is given up."""
LEVELS = range(4)
TAG = "op"
"""The file that locations name when tileiras is asked about operations; the line is the operation's number."""
_PLACE = re.compile(r'loc\("' + TAG + r'":(\d+):1\)')
_ERROR = re.compile(r"(?:^|: )error: (.*)$", re.MULTILINE)
_GENERAL = ("failed to compile Tile IR program", "verification failed", "input does not correspond")
"""Lines that tileiras adds to the error itself."""


class TimedOut(TileError):
    """A tool took too long."""

    def __init__(self, message: str) -> None:
        super().__init__(message, kind=ErrorKind.TIMEOUT)


@cache
def find_tool(name: str = "tileiras") -> Path:
    """Return the path of a tool of NVIDIA: from the variable of its name, an installed wheel, or PATH."""
    given = os.environ.get(name.upper())
    found = [Path(given)] if given else []
    spec = importlib.util.find_spec("nvidia")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        found += sorted(Path(folder).glob(f"*/bin/{name}"), reverse=True)
    if on_path := shutil.which(name):
        found.append(Path(on_path))
    for path in found:
        if os.access(path, os.X_OK):
            return path
    how = "install it with: pip install 'tilery[nvidia]'" if name == "tileiras" else "the CUDA Toolkit has it"
    raise TileError(f"NVIDIA's {name} is not installed", kind=ErrorKind.MISSING_TOOL, notes=(how,))


@cache
def tool_version(tool: Path) -> str:
    """Return the release of a tool, such as 13.4.92."""
    said = _run([str(tool), "--version"], 60).stdout
    found = re.search(r"V(\d+(?:\.\d+)+)", said)
    return found[1] if found else "unknown"


@cache
def readable_versions(tool: Path) -> tuple[Version, ...]:
    """Return the bytecode versions that a compiler reads: those it lists, or those up to its release.

    A tileiras before 13.4 cannot list them. All versions are returned for a program that says neither.
    """
    try:
        done = _run([str(tool), "--list-versions"], 60)
    except TimedOut:
        return SUPPORTED
    listed = [v for v in SUPPORTED if str(v) in done.stdout.split()] if not done.returncode else []
    if listed:
        return tuple(listed)
    release = [int(part) for part in tool_version(tool).split(".")[:2] if part.isdecimal()]
    return tuple(v for v in SUPPORTED if len(release) < 2 or v <= Version(*release))


@cache
def architectures(tool: Path) -> tuple[str, ...]:
    """Return the architectures that a tileiras compiles for, as its help lists them."""
    return tuple(re.findall(r"^ +=(sm_\w+)", _run([str(tool), "--help"], 60).stdout, re.MULTILINE))


def disassemble(image: bytes) -> str:
    """Return a cubin as text, by NVIDIA's nvdisasm."""
    with tempfile.TemporaryDirectory(prefix="tilery") as folder:
        source = Path(folder, "module.cubin")
        source.write_bytes(image)
        done = _run([str(find_tool("nvdisasm")), str(source)], TIMEOUT)
    if done.returncode:
        raise TileError(
            f"nvdisasm: {done.stderr.strip() or f'it ended with status {done.returncode}'}", kind=ErrorKind.COMPILER
        )
    return done.stdout


def encode(module: Module, versions: tuple[Version, ...]) -> bytes:
    """Return bytecode in the module's own version, or else in the oldest of `versions` that can express it."""
    if module.version in versions:
        return write(module, module.version)
    refusal: TileError | None = None
    for version in versions:
        try:
            return write(module, version)
        except TileError as error:
            refusal = error
    raise refusal or TileError("this tileiras reads no bytecode version that tilery writes", kind=ErrorKind.VERSION)


def assemble(
    module: Module, target: str, *, level: int = 3, tool: Path | None = None, timeout: float = TIMEOUT
) -> bytes:
    """Compile a module to a cubin for an architecture such as sm_90.

    A TileError carries what tileiras says; where it blames an operation, it is `Refused` with that operation.
    """
    if level not in LEVELS:
        raise TileError(f"tileiras has optimization levels 0 to {LEVELS[-1]}, got {level}")
    tool = tool or find_tool()
    options = ["--gpu-name", target, "--opt-level", str(level)]
    cubin, said = _compile(tool, encode(module, readable_versions(tool)), options, timeout)
    if cubin is not None:
        return cubin
    # Compiled once more with a location for each operation, tileiras names the one that it refuses.
    tagged, order = _tagged(module)
    _, again = _compile(tool, encode(tagged, readable_versions(tool)), options, timeout)
    raise _explain(said, again, list(walk(module)), order)


def compile_tagged(
    module: Module, target: str, *, level: int = 3, tool: Path, timeout: float = TIMEOUT
) -> tuple[str, list[Op]]:
    """Compile a module with a location for each operation; return the remarks of tileiras, and the operations.

    In the remarks, `op:N:1` is the location of the operation N, counted from 1.
    """
    ops = list(walk(module))
    tagged, order = _tagged(module)
    options = ["--gpu-name", target, "--opt-level", str(level), "--remarks=all", "--remark-format=yaml"]
    with tempfile.TemporaryDirectory(prefix="tilery") as folder:
        log = Path(folder, "remarks.yaml")
        options += ["--remarks-output-file", str(log)]
        cubin, said = _compile(tool, encode(tagged, readable_versions(tool)), options, timeout)
        if cubin is None:
            raise _explain(said, said, ops, order)
        return (log.read_text("utf-8", "replace") if log.exists() else ""), ops


def _tagged(module: Module) -> tuple[Module, int]:
    tagged: Module = clone(module)
    number = 0
    for number, o in enumerate(walk(tagged), 1):
        o.loc = FileLineCol(TAG, number, 1)
    synthesize_debug_info_scopes(tagged, Report())
    return tagged, number


def _compile(tool: Path, bytecode: bytes, options: list[str], timeout: float) -> tuple[bytes | None, str]:
    """Return the cubin, or None, and what the compiler said. It runs in a child: it can crash."""
    with tempfile.TemporaryDirectory(prefix="tilery") as folder:
        source, target = Path(folder, "module.tileirbc"), Path(folder, "module.cubin")
        source.write_bytes(bytecode)
        done = _run([str(tool), *options, str(source), "-o", str(target)], timeout)
        if done.returncode == 0 and target.is_file():
            return target.read_bytes(), done.stderr
    if done.returncode < 0:
        return None, f"error: it crashed with signal {-done.returncode}\n{done.stderr}"
    return None, done.stderr or f"error: it ended with status {done.returncode}"


def _run(command: list[str], timeout: float) -> subprocess.CompletedProcess[str]:
    env = dict(os.environ)
    if Path(command[0]).with_name("ptxas").exists():
        # tileiras prefers the toolkit of CUDA_HOME to its own, and fails where that one is older.
        for name in ("CUDA_HOME", "CUDA_PATH"):
            env.pop(name, None)
    try:
        done = run_program(command, timeout, env=env)
    except subprocess.TimeoutExpired:
        raise TimedOut(f"{Path(command[0]).name} did not finish within {timeout:g} seconds") from None
    except OSError as error:
        raise TileError(f"cannot run {command[0]}: {error.strerror}", kind=ErrorKind.MISSING_TOOL) from None
    out, said = (data.decode("utf-8", "replace").replace("\r\n", "\n") for data in (done.stdout, done.stderr))
    return subprocess.CompletedProcess(command, done.returncode, out, said)


def _explain(said: str, tagged: str, ops: list[Op], count: int) -> TileError:
    """Return the error that a failed compilation means, at the operation that the tagged compilation blames."""
    messages = _ERROR.findall(said) or [said.strip() or "it failed without a word"]
    special = [text for text in messages if not text.startswith(_GENERAL)]
    message = f"tileiras: {(special or messages)[0]}"
    notes = tuple(special[1:])
    numbers = [int(text) for text in _PLACE.findall(tagged)]
    if numbers and 1 <= numbers[0] <= min(count, len(ops)):
        o = ops[numbers[0] - 1]
        return Refused(o, message, *((o, note) for note in notes), kind=ErrorKind.COMPILER)
    return TileError(message, kind=ErrorKind.COMPILER, notes=notes)
