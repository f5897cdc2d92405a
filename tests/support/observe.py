"""Seeing every value that occurs while the reference engine executes a module."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from support.contract import run_contract
from tilery.engines.common.tiles import Array
from tilery.engines.reference.ops import RUNS
from tilery.ir import Op, Value
from tilery.ops import Module
from tilery.smith import Contract
from tilery.types import I4, Tile

See = Callable[[Op, Value, Array], None]
"""Called with an operation, one of its operands or results, and the elements: the lanes first, then the tile."""


def observe(module: Module, contract: Contract, see: See, seed: int = 0) -> None:
    """Execute a module by its contract and show all operands and results of its operations, except of control flow."""
    with _watching(see):
        run_contract(module, contract, seed=seed)


def integers(value: Value, array: Array) -> Array:
    """The elements of an integer tile as signed integers; an i1 is 0 or 1."""
    assert isinstance(value.type, Tile)
    if value.type.element is I4:
        return (array.astype(np.int8) ^ 8) - 8  # the engine holds the four bits in a byte
    return array.astype(np.int8) if array.dtype == bool else array


@contextmanager
def _watching(see: See) -> Iterator[None]:
    before = dict(RUNS)
    try:
        for cls, run in before.items():
            RUNS[cls] = replace(run, function=_showing(run.function, run.batch, see))
        yield
    finally:
        RUNS.update(before)


def _showing(function: Callable[..., Any], batch: bool, see: See) -> Callable[..., Any]:
    def run(o: Op, *args: Any, **options: Any) -> Any:
        # Operands come first: the result may overwrite them.
        _show(o, [f.attr for f in o.opdef.operands], args[1:] if batch else args, see)
        results = function(o, *args, **options)
        fields = [f.attr for f in o.opdef.outs]
        _show(o, fields, results if len(fields) > 1 else [results], see)
        return results

    return run


def _show(o: Op, fields: list[str], found: Any, see: See) -> None:
    for field, arrays in zip(fields, found):
        values = getattr(o, field)
        if values is None:
            continue
        pairs = zip(values, arrays) if isinstance(values, tuple) else [(values, arrays)]
        for value, array in pairs:
            if isinstance(array, np.ndarray):
                see(o, value, array)
