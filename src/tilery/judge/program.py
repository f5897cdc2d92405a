"""A candidate as data: launches of Tile IR over named buffers. Nothing else of a candidate is ever executed.

The jail returns programs as JSON. `parse_programs` accepts nothing that could be more than that.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..diag import ErrorKind, TileError
from ..engines.common.launch import check_grid
from .results import file_name

MOST_LAUNCHES = 64
MOST_SLOTS = 1024
MOST_MODULES = 256
MOST_SCRATCH = 1 << 28
"""The most bytes of scratch memory."""
MOST_OFFSET = 1 << 40
MOST_CONTENT = 1 << 20
"""The most bytes that a candidate may put into its scratch memory before the launches."""
MOST_BYTECODE = 1 << 22
"""The most bytes of all modules of a candidate. Reading bytecode takes up to 400 times as much memory."""
MOST_BUFFERS = 256
"""The most pieces of scratch memory."""
LONGEST_NAME = 4096
"""The longest name of a kernel; those of C++ templates are long."""
SCRATCH_NAME = re.compile(r"[A-Za-z_]\w{0,63}", re.ASCII)


@dataclass(frozen=True, slots=True)
class ArgumentSlot:
    """A parameter of a launch: a place in a buffer, or a number."""

    buffer: str = ""
    offset: int = 0
    value: int | float | bool = 0


@dataclass(frozen=True, slots=True)
class SubmittedLaunch:
    """A launch of an entry of a module."""

    module: int
    entry: str
    grid: tuple[int, int, int]
    slots: tuple[ArgumentSlot, ...]


@dataclass(frozen=True, slots=True)
class Scratch:
    """Memory of the candidate's own: undefined, unless it has a content."""

    size: int
    content: bytes | None = None


@dataclass(slots=True)
class CandidateProgram:
    """The launches of a candidate for one shape."""

    launches: list[SubmittedLaunch] = field(default_factory=list)
    scratch: dict[str, Scratch] = field(default_factory=dict)


@dataclass(slots=True)
class Submission:
    """A compiled candidate: modules as bytecode, and a program for each shape."""

    modules: list[bytes]
    programs: list[CandidateProgram]
    jail: str = "none: the file is data"
    """How the frontend was confined."""


def as_json(made: Submission) -> dict[str, Any]:
    """Return a submission as JSON can hold it."""
    return {
        "modules": [base64.b64encode(each).decode() for each in made.modules],
        "programs": [
            {
                "launches": [
                    {
                        "module": each.module,
                        "entry": each.entry,
                        "grid": list(each.grid),
                        "slots": [[s.buffer, s.offset] if s.buffer else [s.value] for s in each.slots],
                    }
                    for each in program.launches
                ],
                "scratch": {
                    name: [each.size, None if each.content is None else base64.b64encode(each.content).decode()]
                    for name, each in program.scratch.items()
                },
            }
            for program in made.programs
        ],
    }


def keep_submission(made: Submission, shapes: Sequence[str], folder: Path, candidate: str) -> None:
    """Write a submission to a folder: its modules as bytecode, and a JSON file with the launches for each shape."""
    stem = file_name(candidate)
    names = [f"{stem}.{number}.tileirbc" for number in range(len(made.modules))]
    facts = {"modules": names, "shapes": list(shapes), "programs": as_json(made)["programs"]}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, code in zip(names, made.modules):
            (folder / name).write_bytes(code)
        (folder / f"{stem}.launches.json").write_text(json.dumps(facts, indent=1) + "\n", "utf-8")
    except OSError as error:
        raise TileError(f"cannot write to '{folder}': {error.strerror}", kind=ErrorKind.FILE) from None


def parse_submission(data: Mapping[str, Any], names: Sequence[str], shapes: int) -> Submission:
    """Check and return what a jail answered. `names` are the arrays of the problem, `shapes` is their number."""
    try:
        modules = [_decoded(each, MOST_BYTECODE) for each in _list(data["modules"], MOST_MODULES)]
        if sum(map(len, modules)) > MOST_BYTECODE:
            raise _refused(f"the modules have more than {MOST_BYTECODE} bytes", ErrorKind.MEMORY)
        programs = [_program(each, names, len(modules)) for each in _list(data["programs"], shapes)]
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise _refused("what came out of the jail is not a list of launches") from None
    if len(programs) != shapes:
        raise _refused(f"there are launches for {len(programs)} of {shapes} shapes")
    return Submission(modules, programs)


def _refused(message: str, kind: ErrorKind = ErrorKind.COMPILER) -> TileError:
    return TileError(message, kind=kind)


def _list(value: Any, most: int) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError
    if len(value) > most:
        raise _refused(f"a list has {len(value)} items; the limit is {most}", ErrorKind.MEMORY)
    return value


def _decoded(value: Any, most: int) -> bytes:
    if not isinstance(value, str):
        raise TypeError
    if len(value) > 2 * most:
        raise _refused(f"more than {most} bytes", ErrorKind.MEMORY)
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error:
        raise ValueError from None


def _program(data: Any, names: Sequence[str], modules: int) -> CandidateProgram:
    made = CandidateProgram()
    total = 0
    scratch = data["scratch"].items()
    if len(scratch) > MOST_BUFFERS:
        raise _refused(f"the candidate asks for more than {MOST_BUFFERS} pieces of scratch memory", ErrorKind.MEMORY)
    for name, (size, content) in scratch:
        if name in names or not SCRATCH_NAME.fullmatch(name) or type(size) is not int or size < 0:
            raise ValueError
        total += size
        if total > MOST_SCRATCH:
            raise _refused(f"the candidate asks for more than {MOST_SCRATCH} bytes of scratch memory", ErrorKind.MEMORY)
        made.scratch[name] = Scratch(size, None if content is None else _decoded(content, MOST_CONTENT))
    launches = _list(data["launches"], MOST_LAUNCHES)
    if not launches:
        raise _refused("the candidate launches nothing")
    for each in launches:
        made.launches.append(_launch(each, {*names, *made.scratch}, modules))
    return made


def _launch(data: Any, buffers: set[str], modules: int) -> SubmittedLaunch:
    module, entry = data["module"], data["entry"]
    if type(module) is not int or not 0 <= module < modules or not isinstance(entry, str):
        raise ValueError
    if len(entry) > LONGEST_NAME or not entry.isprintable():  # a lone surrogate could not be printed
        raise ValueError
    slots = tuple(_slot(each, buffers) for each in _list(data["slots"], MOST_SLOTS))
    return SubmittedLaunch(module, entry, check_grid(_list(data["grid"], 3)), slots)


def _slot(data: Any, buffers: set[str]) -> ArgumentSlot:
    match data:
        case [str() as name, int() as offset] if name in buffers and 0 <= offset <= MOST_OFFSET:
            return ArgumentSlot(name, offset)
        case [bool() | int() | float() as value] if not isinstance(value, int) or abs(value) < 1 << 64:
            return ArgumentSlot(value=value)
    raise ValueError
