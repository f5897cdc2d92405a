"""Simpler launches: fewer tile blocks, smaller arrays, simpler numbers, fewer parameters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ..analysis.uses import Uses
from ..attrs import Dense, FloatAttr
from ..diag import TileError
from ..ops import Constant
from ..types import I1, TF32, Function, Ptr, Scalar, Tile, Type
from .case import Case, CaseLaunch


def simpler_launches(case: Case) -> Iterator[Case | None]:
    """Yield copies with a simpler launch."""
    launch = case.launch
    if launch is None:
        return
    for grid in _grids(launch.grid):
        yield replace(case, launch=replace(launch, grid=grid))
    params = case.module.entry(launch.entry).function_type.params
    for number, (argument, param) in enumerate(zip(launch.args, params)):
        options = _simpler_arrays(argument, param) if hasattr(argument, "ndim") else _simpler_numbers(argument)
        for value in options:
            yield replace(case, launch=_with_argument(launch, number, value))


def _grids(grid: tuple[int, int, int]) -> Iterator[tuple[int, int, int]]:
    total = grid[0] * grid[1] * grid[2]
    for small in ((1, 1, 1), (2, 1, 1)):
        if small[0] < total:
            yield small
    for axis in range(3):
        for extent in (1, 2, grid[axis] // 2):
            if 1 <= extent < grid[axis]:
                yield (*grid[:axis], extent, *grid[axis + 1 :])  # type: ignore[misc]  # three items


def _with_argument(launch: CaseLaunch, number: int, value: Any) -> CaseLaunch:
    return replace(launch, args=(*launch.args[:number], value, *launch.args[number + 1 :]))


def _simpler_arrays(array: Any, param: Type) -> Iterator[Any]:
    import numpy as np

    if not array.size:
        return
    if array.view(f"u{array.itemsize}").any():
        yield np.zeros_like(array)
        if (pattern := one(param)) is not None:
            yield filled(array, pattern)
    if array.ndim == 1:
        for count in sorted({1, 16, array.size // 2}):
            if count < array.size:
                yield array[:count].copy()


def one(param: Type) -> int | None:
    """Return the bits of one, as an array that is passed for a parameter has them; None for elements of four bits."""
    assert isinstance(param, Tile) and isinstance(param.element, Ptr)
    element = param.element.pointee
    if element.bits < 8 and element is not I1:
        return None
    if element.is_int:
        return 1
    try:
        return FloatAttr.of(element, 1.0).bits << (13 if element is TF32 else 0)
    except TileError:  # the type lacks the number
        return None


def filled(array: Any, pattern: int) -> Any:
    """Return an array like another one whose elements all have these bits."""
    import numpy as np

    return np.full(array.shape, pattern, f"u{array.itemsize}").view(array.dtype)


def _simpler_numbers(number: Any) -> Iterator[Any]:
    zero = type(number)(0)
    if number != zero:
        yield zero
        if number != zero + 1:
            yield zero + 1


# ---------------------------------------------------------------- parameters


def fewer_parameters(case: Case) -> Iterator[Case | None]:
    """Yield copies with fewer parameters: unused ones dropped, used ones replaced by constants."""
    unused = [
        (e, number)
        for e, entry in enumerate(case.module.entries)
        for number, value in enumerate(entry.body.args)
        if value not in Uses(entry)
    ]
    if len(unused) > 1:
        yield _dropped(case, unused)
    for place in unused:
        yield _dropped(case, [place])
    for e, entry in enumerate(case.module.entries):
        for number, value in enumerate(entry.body.args):
            if isinstance(value.type, Tile) and isinstance(value.type.element, Scalar) and (e, number) not in unused:
                yield _as_constant(case, e, number)


def _dropped(case: Case, places: list[tuple[int, int]]) -> Case:
    case = case.copy()
    launch = case.launch
    for e, number in sorted(places, reverse=True):
        entry = case.module.entries[e]
        del entry.body.args[number]
        entry.function_type = Function([v.type for v in entry.body.args])
        if launch is not None and launch.entry == entry.sym_name:
            args = launch.args[:number] + launch.args[number + 1 :]
            uninit, outputs = (
                frozenset(n - (n > number) for n in some if n != number) for some in (launch.uninit, launch.outputs)
            )
            launch = replace(launch, args=args, uninit=uninit, outputs=outputs)
    return replace(case, launch=launch)


def _as_constant(case: Case, e: int, number: int) -> Case | None:
    """Return a copy with a constant in the place of a scalar parameter: what the launch passes, or zero."""
    from ..rewrite.editing import replace_uses

    case = case.copy()
    entry = case.module.entries[e]
    value = entry.body.args[number]
    launch = case.launch
    assert isinstance(value.type, Tile) and isinstance(value.type.element, Scalar)
    passed: Any = 0
    if launch is not None and launch.entry == entry.sym_name:
        passed = launch.args[number]
    wanted = float(passed) if value.type.element.is_float and passed else int(passed)  # zero by its bits
    try:
        made = Constant(value=Dense.of(value.type, [wanted]))
    except TileError:  # the type lacks the number
        return None
    entry.body.ops.insert(0, made)
    replace_uses(entry, {value: made.result})
    return _dropped(case, [(e, number)])
