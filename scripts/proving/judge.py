"""A second opinion on verdicts, that shares nothing with residues and enclosures: runs of both programs in f64."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tilery import Module
from tilery.attrs import Dense
from tilery.diag import TileError
from tilery.engines.common.tiles import Array
from tilery.engines.kernel import ExecutionError, Limits
from tilery.engines.reference.launch import load
from tilery.prove import Program
from tilery.prove.inputs import KINDS, draw
from tilery.prove.programs import REAL, Comparison, matched
from tilery.prove.running.retype import retype
from tilery.types import F64, Ptr, Tile

CLOSE = 1e-9
CLOSE_CONSTANTS = 1e-6
"""Where constants of f32 are read as log2(e) or 1/n, f64 shows how they were rounded."""
SEEDS = (901, 902, 903)


def in_f64(module: Module) -> Module:
    """Return a module with f64 for every float, and the same constants."""
    made = retype(module)
    for o, (values, _) in made.constants.items():
        o.value = Dense.of(Tile(values.shape, F64), [float(x) for x in values.ravel()])  # type: ignore[attr-defined]
    return made.module


def run(
    case: Comparison, side: str, reals: Mapping[str, Array], modules: dict[int, Module], poison: float
) -> dict[str, Array]:
    """Run a program in f64; undefined outputs and scratch hold a given number."""
    program: Program = case.a if side == "a" else case.b
    buffers = case.all_buffers(side)
    data: dict[str, Array] = {}
    for name, buffer in buffers.items():
        if buffer.content == REAL:
            data[name] = np.array(reals[name])
        elif buffer.data is not None:
            data[name] = buffer.data.astype(np.float64)
        else:
            data[name] = np.full(buffer.shape, poison)
    for stage in program.stages:
        if id(stage.module) not in modules:
            modules[id(stage.module)] = in_f64(stage.module)
        values: list[Any] = []
        for value, kind in matched(stage, buffers):
            if not isinstance(value, str):
                values.append(value)
            else:
                values.append(data[value] if isinstance(kind, Ptr) else float(data[value].reshape(-1)[0]))
        kernel = load(modules[id(stage.module)]).kernel(stage.entry)
        kernel.launch(stage.grid, values, limits=Limits(steps=2_000_000), output=lambda text: None)
    return {name: data[name] for name in case.outs}


def distance(case: Comparison, reals: Mapping[str, Array]) -> float:
    """Return how far two programs are apart on some inputs, relative to the largest value; infinite if one faults."""
    results = []
    for side in "ab":
        try:
            with np.errstate(all="ignore"):
                results.append(run(case, side, reals, {}, 5.5))
        except ExecutionError:
            return np.inf
        except TileError:
            return np.nan
    worst = 0.0
    for name in case.outs:
        x, y = results[0][name], results[1][name]
        both = np.isfinite(x) & np.isfinite(y)
        if ((np.isfinite(x) != np.isfinite(y)) | (~both & ~(np.isnan(x) & np.isnan(y)) & (x != y))).any():
            return np.inf
        largest = float(np.abs(x[both]).max(initial=0.0)) or 1.0
        worst = max(worst, float(np.abs(np.where(both, x - y, 0.0)).max(initial=0.0)) / largest)
    return worst


def judge(case: Comparison, close: float = CLOSE) -> str:
    """Return `apart` if f64 tells two programs apart on some inputs, else `alike`, or `none` if it cannot run them."""
    for seed, kind in zip(SEEDS, ("normal", "negative", "positive")):
        found = distance(case, draw(case, KINDS[kind], seed))
        if np.isnan(found):
            return "none"
        if found > close:
            return "apart"
    return "alike"
