"""Small kernels on engine cpu and on the reference engine, on arrays that touch pages without access."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import tilery
from support.hostile.guarded import PAGE, Region


def partition(tile: Sequence[int], element: str, strides: Sequence[object], shape: Sequence[object] = ()) -> str:
    """Return the type of a view of a tensor, which has the shape of the tile unless given."""
    sizes = "x".join(map(str, shape or tile))
    tensor = f"tensor_view<{sizes}x{element}, strides=[{','.join(map(str, strides))}]>"
    return f"partition_view<tile=({'x'.join(map(str, tile))}), {tensor}>"


def whole(name: str, pointer: str, tile: Sequence[int], element: str, strides: Sequence[int] = ()) -> str:
    """Return the lines that make `%name`, a view with one tile, whose type is VIEW_name in upper case."""
    if not strides:
        strides = [int(np.prod(tile[d + 1 :])) for d in range(len(tile))]
    type = partition(tile, element, strides)
    tensor = type[type.index("tensor_view") : -1]
    made = f"make_tensor_view {pointer}, shape = {list(tile)}, strides = {list(strides)} : {tensor}"
    return f"  %t_{name} = {made}\n  %{name} = make_partition_view %t_{name} : {type}\n"


def run(text: str, args: Sequence[Any], engine: str, at_end: bool = True, grid: int = 1, **options: Any) -> list[Any]:
    """Launch a kernel on copies of the arrays; return the copies."""
    regions, held = [], []
    for value in args:
        if isinstance(value, np.ndarray):
            regions.append(region := Region(-(-value.nbytes // PAGE)))
            region.clear()
            copy = region.array(value.dtype, value.size, at_end).reshape(value.shape)
            copy[...] = value
            value = copy
        held.append(value)
    kernel: Any = tilery.compile(tilery.parse(text), engine=engine, **options)
    if engine == "cpu":
        assert kernel.lowered is not None
    kernel.launch(grid, held)
    return [x.copy() for x in held if isinstance(x, np.ndarray)]


def assert_same(text: str, args: Sequence[Any], exact: bool = True, grid: int = 1) -> None:
    """Check that both engines leave the same bits in arrays that begin after and end before a forbidden page."""
    wanted = run(text, args, "reference", grid=grid)
    for at_end in (True, False):
        found = run(text, args, "cpu", at_end, grid, exact=exact)
        for number, (x, y) in enumerate(zip(wanted, found)):
            assert x.tobytes() == y.tobytes(), (number, x, y)
