"""How a file of text, bytecode or C++ is launched: `judge:` lines in its comments, or a file beside it, in TOML.

    // judge: grid = ["cdiv(N, 64)"]
    // judge: args = ["x", "y", "N"]

Without `args`, a kernel gets the arguments of the problem in their order, arrays as pointers.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from ..diag import ErrorKind, TileError, did_you_mean
from .expressions import evaluate
from .memory import strides_of
from .problem import Argument, Problem, Shape, element_named
from .program import ArgumentSlot, CandidateProgram, Scratch, SubmittedLaunch

LINE = re.compile(r"^[ \t]*(?://|#)[ \t]*judge:[ \t]?(.*)$", re.MULTILINE)
KEYS = ("entry", "grid", "args", "convention", "instances", "scratch", "launch")
LAUNCH_KEYS = ("entry", "grid", "args", "convention")
BESIDE = ".judge.toml"
"""The ending of a file beside a candidate."""


def read_header(text: str) -> dict[str, Any]:
    """Return the table that the `judge:` lines of a text make up.

    >>> read_header("// judge: grid = [4]\\nentry @k() { return }")
    {'grid': [4]}
    """
    return parse_table("\n".join(LINE.findall(text)))


def parse_table(text: str) -> dict[str, Any]:
    """Return a table, which must have known keys only."""
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise TileError(f"the judge: lines are not TOML: {error}", kind=ErrorKind.SYNTAX) from None
    for key in table:
        if key not in KEYS:
            raise TileError(f"judge: unknown key '{key}', expected {', '.join(KEYS)}{did_you_mean(key, KEYS)}")
    return table


def make_program(table: Mapping[str, Any], problem: Problem, shape: Shape) -> CandidateProgram:
    """Return the launches that a header describes for a shape; they are of the only module."""
    scratch, types = _scratch(table.get("scratch", {}), shape)
    launches = table.get("launch", [table])
    if not isinstance(launches, list) or not all(isinstance(each, dict) for each in launches):
        raise TileError("judge: 'launch' must be a list of tables: write [[launch]]")
    made = CandidateProgram(scratch=scratch)
    arguments = problem.typed(shape)
    for each in launches:
        made.launches.append(_launch(each, arguments, problem, shape, types))
    return made


def _launch(
    table: Mapping[str, Any], arguments: Sequence[Argument], problem: Problem, shape: Shape, scratch: Mapping[str, Any]
) -> SubmittedLaunch:
    grid = table.get("grid", [1])
    grid = grid if isinstance(grid, list) else [grid]
    extents = [evaluate(each, shape.sizes) for each in grid]
    given = table.get("args", [each.name for each in arguments])
    if not isinstance(given, list) or not 1 <= len(extents) <= 3:
        raise TileError("judge: 'grid' and 'args' must be lists, the grid with one to three extents")
    convention = table.get("convention", "pointers")
    if convention not in ("pointers", "cutile"):
        raise TileError(f"judge: the convention is {convention!r}, expected pointers or cutile")
    slots: list[ArgumentSlot] = []
    for name in given:
        slots += _slots(name, arguments, problem, shape, convention == "cutile", scratch)
    x, y, z = [*extents, 1, 1][:3]
    return SubmittedLaunch(0, str(table.get("entry", "")), (x, y, z), tuple(slots))


def _slots(
    name: Any, arguments: Sequence[Argument], problem: Problem, shape: Shape, spread: bool, scratch: Mapping[str, Any]
) -> list[ArgumentSlot]:
    if isinstance(name, str) and name in scratch:
        return [ArgumentSlot(name), *_layout(scratch[name], strides_of(scratch[name], "dense"), spread)]
    found = next((each for each in arguments if each.name == name), None)
    if found is None:
        if isinstance(name, float):
            return [ArgumentSlot(value=name)]
        return [ArgumentSlot(value=evaluate(name, _names(arguments, problem, shape)))]
    if not found.is_array:
        return [ArgumentSlot(value=problem.scalar(found, shape))]
    extents = problem.extents(found, shape)
    return [ArgumentSlot(found.name), *_layout(extents, strides_of(extents, shape.layout), spread)]


def _layout(extents: Sequence[int], strides: Sequence[int], spread: bool) -> list[ArgumentSlot]:
    return [ArgumentSlot(value=n) for n in (*extents, *strides)] if spread else []


def _names(arguments: Sequence[Argument], problem: Problem, shape: Shape) -> dict[str, int]:
    """Return the names that expressions of arguments may use: sizes, and strides as `x_stride0`."""
    names = dict(shape.sizes)
    for each in arguments:
        if each.is_array:
            strides = strides_of(problem.extents(each, shape), shape.layout)
            names |= {f"{each.name}_stride{axis}": stride for axis, stride in enumerate(strides)}
    return names


def _scratch(table: Any, shape: Shape) -> tuple[dict[str, Scratch], dict[str, list[int]]]:
    if not isinstance(table, dict):
        raise TileError('judge: \'scratch\' must be a table such as { partial = { type = "f32", shape = ["N"] } }')
    made: dict[str, Scratch] = {}
    shapes: dict[str, list[int]] = {}
    for name, facts in table.items():
        if not isinstance(facts, dict) or not isinstance(facts.get("shape"), list):
            raise TileError(f"judge: scratch '{name}' needs a shape")
        extents = shapes[name] = [evaluate(each, shape.sizes) for each in facts["shape"]]
        try:
            element = element_named(facts.get("type", "f32"))
        except KeyError:
            raise TileError(f"judge: scratch '{name}' has an unknown type {facts.get('type')!r}") from None
        zero = b"\0" if facts.get("fill") == 0 else None
        made[name] = Scratch(prod(extents) * max(8, element.row.memory_bits) // 8, zero)
    return made, shapes
