"""A comparison as text: sizes, buffers, and the launches of both programs. A plan is a TOML file or options."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..diag import TileError
from ..ops import Module
from .expressions import evaluate, items
from .programs import GIVEN, REAL, UNDEFINED, Argument, Buffer, Program, Stage
from .shapes import Made

SPEC = re.compile(r"(real|out|zeros|arange)(?:\[(.*)\])?", re.DOTALL)
NAME = re.compile(r"[A-Za-z_]\w*")
MOST_ELEMENTS = 1 << 26


@dataclass(slots=True)
class StagePlan:
    """A launch in a plan; everything but the file may depend on sizes."""

    file: str
    grid: str = "1"
    args: str = ""
    entry: str | None = None
    sig: str = ""
    """The signature of a cuTile kernel; `{m}` is the value of a size."""


Opened = tuple[Module, str | None, str | None]
"""A module, the entry that is meant, and the calling convention."""
Opener = Callable[[StagePlan, Mapping[str, int]], Opened]


@dataclass(slots=True)
class ProofPlan:
    """Two programs, over buffers whose shapes depend on sizes."""

    buffers: dict[str, str]
    """Specifications by name: `real[m, k]`, `out[m, n]`, `zeros[m, n]`, `arange[n]`, `@file.npy`, or `real`."""
    a: list[StagePlan]
    b: list[StagePlan]
    sizes: dict[str, list[int]] = field(default_factory=dict)
    scratch: dict[str, dict[str, str]] = field(default_factory=lambda: {"a": {}, "b": {}})
    outs: list[str] = field(default_factory=list)
    """The arrays to compare; by default those specified as `out` or `zeros`."""

    def make(self, open_module: Opener, sizes: Mapping[str, int]) -> Made:
        """Return what `reals` takes, for some sizes."""
        inputs: dict[str, Any] = {}
        outs: dict[str, Any] = {}
        for name, spec in self.buffers.items():
            buffer = make_buffer(name, spec, sizes)
            is_out = name in self.outs or (not self.outs and spec.startswith(("out", "zeros")))
            (outs if is_out else inputs)[name] = buffer
        if unknown := [name for name in self.outs if name not in self.buffers]:
            raise TileError(f"the output '{unknown[0]}' is not a buffer; the buffers are {', '.join(self.buffers)}")
        if not outs:
            raise TileError("nothing is compared: specify a buffer as out[...] or zeros[...], or name one with --out")
        programs = []
        for side, stages in (("a", self.a), ("b", self.b)):
            scratch = {n: make_buffer(n, spec, sizes) for n, spec in self.scratch[side].items()}
            names = {*self.buffers, *scratch}
            made = [_stage(stage, open_module(stage, sizes), names, sizes) for stage in stages]
            programs.append(Program(made, scratch))
        return programs[0], programs[1], inputs, outs


def _stage(plan: StagePlan, opened: Opened, names: set[str], sizes: Mapping[str, int]) -> Stage:
    module, entry, convention = opened
    grid = [evaluate(part, sizes) for part in items(plan.grid)]
    args = [argument(text, names, sizes) for text in items(plan.args)]
    return Stage(module, grid, args, entry, convention)


def argument(text: str, names: set[str], sizes: Mapping[str, int]) -> Argument:
    """Return an argument of a launch: a buffer's name, a number, or an expression of sizes."""
    if text in names:
        return text
    if text in ("true", "false"):
        return text == "true"
    try:
        return int(text, 0)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return evaluate(text, sizes)


def make_buffer(name: str, spec: str, sizes: Mapping[str, int]) -> Buffer:
    """Return the buffer of a specification.

    >>> make_buffer("c", "out[m, 8]", {"m": 3}).shape
    (3, 8)
    """
    if spec.startswith("@"):
        data = _read(spec[1:])
        return Buffer(data.shape, GIVEN, data)
    found = SPEC.fullmatch(spec.strip())
    if found is None:
        raise TileError(
            f"{name}: expected real[...], out[...], zeros[...], arange[...], real or @FILE.npy, got '{spec}'"
        )
    kind, dims = found[1], found[2]
    shape = tuple(evaluate(part, sizes) for part in items(dims or ""))
    if any(n < 0 for n in shape) or np.prod([float(n) for n in shape]) > MOST_ELEMENTS:
        raise TileError(f"{name}: a shape of {shape} is negative or too large")
    match kind:
        case "real":
            return Buffer(shape, REAL)
        case "out":
            return Buffer(shape, UNDEFINED)
        case "zeros":
            return Buffer(shape, GIVEN, np.zeros(shape))
    return Buffer(shape, GIVEN, np.arange(int(np.prod(shape))).reshape(shape))


def _read(file: str) -> Any:
    try:
        data = np.load(file, allow_pickle=False)
    except Exception as error:  # the header of a file is Python source, and NumPy raises anything for a broken one
        raise TileError(f"cannot read '{file}' as a .npy file: {error}") from None
    if not isinstance(data, np.ndarray):
        raise TileError(f"cannot read '{file}': it is not one array")
    return data


# ---------------------------------------------------------------- files


def parse_plan(text: str) -> ProofPlan:
    """Read a plan from TOML: tables `sizes`, `buffers`, `scratch.a`, `scratch.b`, and arrays of tables `a` and `b`."""
    try:
        facts = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise TileError(f"this is not a plan: {error}") from None
    known = {"sizes", "buffers", "scratch", "a", "b", "outs"}
    if unknown := sorted(facts.keys() - known):
        raise TileError(f"a plan has no '{unknown[0]}', only {', '.join(sorted(known))}")
    scratch = _table(facts.get("scratch", {}), "scratch")
    if unknown := sorted(scratch.keys() - {"a", "b"}):
        raise TileError(f"a plan has no 'scratch.{unknown[0]}', only scratch.a and scratch.b")
    outs = facts.get("outs", [])
    if not isinstance(outs, list):
        raise TileError("a plan's 'outs' must be a list of names")
    return ProofPlan(
        _texts(facts.get("buffers", {}), "buffers"),
        _stages(facts.get("a"), "a"),
        _stages(facts.get("b"), "b"),
        {name: parse_sizes(name, values) for name, values in _table(facts.get("sizes", {}), "sizes").items()},
        {side: _texts(scratch.get(side, {}), f"scratch.{side}") for side in "ab"},
        list(map(str, outs)),
    )


def parse_sizes(name: str, values: Any) -> list[int]:
    """Return the values of a size: an integer, a list, or an empty list for ragged ones."""
    listed: Sequence[Any] = values if isinstance(values, list) else [values]
    if not NAME.fullmatch(name) or not all(isinstance(n, int) and n > 0 for n in listed):
        raise TileError(f"size '{name}': expected positive integers, got {values!r}")
    return list(listed)


def _table(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TileError(f"a plan's '{what}' must be a table")
    return value


def _texts(value: Any, what: str) -> dict[str, str]:
    return {name: str(text) for name, text in _table(value, what).items()}


def _stages(value: Any, side: str) -> list[StagePlan]:
    if not isinstance(value, list) or not value:
        raise TileError(f"a plan needs [[{side}]], a launch with a file, a grid and args")
    made = []
    for each in value:
        facts = {name: str(text) for name, text in _table(each, side).items()}
        if "file" not in facts or (unknown := facts.keys() - {"file", "grid", "args", "entry", "sig"}):
            wrong = "no file" if "file" not in facts else f"no '{min(unknown)}'"
            raise TileError(f"[[{side}]]: a launch has file, grid, args, entry and sig, this one has {wrong}")
        made.append(StagePlan(**facts))
    return made
