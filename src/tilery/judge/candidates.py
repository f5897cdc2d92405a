"""From a candidate's file to a submission: data is read here, programs are compiled in a jail."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..diag import ErrorKind, TileError
from ..source.input import Input, Kind, read_file
from .header import BESIDE, make_program, parse_table, read_header
from .jail import Jail
from .memory import OFFSET, span_of, strides_of
from .problem import Problem, Shape
from .program import MOST_BYTECODE, Submission, parse_submission
from .results import MachineError

CPP = (".cu", ".cpp", ".cxx", ".cc")
TRITON = re.compile(r"^\s*(?:import triton\b|from triton\b)", re.MULTILINE)
NARROW = ("bf16", "f8")
"""How types begin that NumPy has only with a package."""
MOST_SOURCE = 1 << 22
"""The most bytes of a candidate in Python or C++."""


def compile_file(path: str | Path, problem: Problem, jail: Jail) -> Submission:
    """Compile a candidate for every shape of a problem. TileError says what is wrong with it."""
    name = str(path)
    try:
        data = read_file(name)
        beside = name + BESIDE
        header = read_file(beside).decode("utf-8", "replace") if Path(beside).is_file() else None
    except OSError as error:
        raise TileError(f"cannot read it: {error.strerror}", file=name, kind=ErrorKind.FILE) from None
    return compile_source(data, name, problem, jail, header=header)


def compile_source(data: bytes, name: str, problem: Problem, jail: Jail, *, header: str | None = None) -> Submission:
    """Compile a candidate that is in memory; `name` tells what it is. `header` replaces its `judge:` lines."""
    if name.endswith((".py", *CPP)):
        if len(data) > MOST_SOURCE:
            raise TileError(f"the source has {len(data)} bytes; the limit is {MOST_SOURCE}", kind=ErrorKind.MEMORY)
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            raise TileError("this is not text: it is not UTF-8", kind=ErrorKind.SYNTAX) from None
        if name.endswith(".py"):
            return _compile_python(text, name, problem, jail)
        return _compile_cpp(text, name, problem, jail, header)
    return _read_module(data, name, problem, header)


def _compile_python(text: str, name: str, problem: Problem, jail: Jail) -> Submission:
    kind = "triton" if TRITON.search(text) else "cutile"
    if kind == "cutile" and find_spec("ml_dtypes") is None:
        for each in {each.type for shape in problem.shapes for each in problem.typed(shape) if each.is_array}:
            if each.startswith(NARROW):
                raise MachineError(f"arrays of {each} need the package ml_dtypes", kind=ErrorKind.MISSING_TOOL)
    shapes = [_described(problem, shape) for shape in problem.shapes]
    answer = jail.ask({"kind": kind, "source": text, "name": name, "shapes": shapes})
    made = parse_submission(answer, _arrays(problem), len(shapes))
    return replace(made, jail=jail.how)


def _compile_cpp(text: str, name: str, problem: Problem, jail: Jail, header: str | None) -> Submission:
    table = read_header(text) if header is None else parse_table(header)
    instances = table.get("instances", [])
    if not isinstance(instances, list) or not all(isinstance(each, str) for each in instances):
        raise TileError("judge: 'instances' must be a list of names")
    answer = jail.ask({"kind": "cpp", "source": text, "name": Path(name).name, "instances": instances})
    modules = parse_submission({**answer, "programs": []}, _arrays(problem), 0).modules
    symbols = answer.get("symbols")
    known = {str(key): str(value) for key, value in symbols.items()} if isinstance(symbols, dict) else {}
    made = Submission(modules, [_named(make_program(table, problem, s), known) for s in problem.shapes], jail.how)
    return made


def _named(program: Any, symbols: Mapping[str, str]) -> Any:
    """Replace C++ names of kernels by their symbols."""
    program.launches = [replace(each, entry=symbols.get(each.entry, each.entry)) for each in program.launches]
    return program


def _read_module(data: bytes, name: str, problem: Problem, header: str | None) -> Submission:
    """Read text or bytecode. It is verified later, with everything else that came out of a jail."""
    if len(data) > MOST_BYTECODE:
        raise TileError(f"the file has {len(data)} bytes; the limit is {MOST_BYTECODE}", kind=ErrorKind.MEMORY)
    source = Input(data, file=name)
    if source.kind is Kind.BYTECODE:
        table, code = parse_table(header or ""), data
    else:
        table = parse_table(header) if header is not None else read_header(data.decode("utf-8", "replace"))
        from ..bytecode.writer import write
        from ..verifier.explain import read_legal

        code = write(read_legal(source))
    return Submission([code], [make_program(table, problem, shape) for shape in problem.shapes])


def _arrays(problem: Problem) -> list[str]:
    return [each.name for each in problem.arguments if each.is_array]


def _described(problem: Problem, shape: Shape) -> list[dict[str, Any]]:
    """Describe the arguments of a shape for a frontend: everything but the data."""
    found: list[dict[str, Any]] = []
    for argument in problem.typed(shape):
        if not argument.is_array:
            found.append({"name": argument.name, "value": problem.scalar(argument, shape)})
            continue
        extents = problem.extents(argument, shape)
        strides = strides_of(extents, shape.layout)
        offset = OFFSET if shape.layout == "offset" else 0
        facts = {"name": argument.name, "type": argument.type, "shape": list(extents), "strides": list(strides)}
        found.append({**facts, "span": span_of(extents, strides), "offset": offset})
    return found
