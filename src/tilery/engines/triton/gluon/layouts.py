"""How tiles lie in registers and in shared memory, as Gluon spells it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod

from ..emit import Val, type_text

AUTO = "#gluon.auto_encoding"
"""A layout that Gluon finds from those of the operations around."""
BARRIER = "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>"
WIDEST = 256
"""The most columns of an instruction."""
WARP = 32
BARE = re.compile(r"tensor<((?:\d+x)+(?:!tt\.ptr<[^<>]*>|[^<>,x]+))>")
"""A tile whose type names no layout."""


def with_auto_layouts(text: str) -> str:
    """Leave the layouts of tiles that have none to Gluon.

    >>> with_auto_layouts("%1 = arith.addf %0, %0 : tensor<8x4xf32>")
    '%1 = arith.addf %0, %0 : tensor<8x4xf32, #gluon.auto_encoding>'
    """
    return BARE.sub(rf"tensor<\1, {AUTO}>", text)


def typed(value: Val, layout: str) -> str:
    """The type of a tile with a layout."""
    return f"{type_text(value.shape, value.element)[:-1]}, {layout}>"


def accumulator(shape: Sequence[int], warps: int, bits: int, most: int = WIDEST) -> str:
    """The layout of accumulators; `bits` are those of an operand, and `most` are the columns of an instruction."""
    rows, columns = shape
    down = min(warps, rows // 16)
    widest = min(columns // max(1, warps // down), most, WIDEST)
    wide = max(n for n in range(8, widest + 1, 8) if columns % n == 0)
    return (
        f"#ttg.nvidia_mma<{{versionMajor = 3, versionMinor = 0, warpsPerCTA = [{down}, {warps // down}], "
        f"instrShape = [16, {wide}, {256 // bits}]}}>"
    )


def operand(parent: str, bits: int) -> str:
    """The layout of a left operand in registers."""
    return f"#ttg.dot_op<{{opIdx = 0, parent = {parent}, kWidth = {32 // bits}}}>"


def rows_of_memory(shape: Sequence[int], warps: int, bits: int) -> str:
    """A layout in which threads side by side access 16 bytes each."""
    rank = len(shape)
    each, lanes, groups = [1] * rank, [1] * rank, [1] * rank
    each[-1] = min(shape[-1], max(1, 128 // bits))
    left, threads = WARP, warps
    for dim in reversed(range(rank)):
        lanes[dim] = min(left, max(1, shape[dim] // each[dim]))
        left //= lanes[dim]
    lanes[0] *= left
    for dim in range(rank):
        groups[dim] = min(threads, max(1, shape[dim] // (each[dim] * lanes[dim])))
        threads //= groups[dim]
    groups[0] *= threads
    parts = ("sizePerThread", each), ("threadsPerWarp", lanes), ("warpsPerCTA", groups)
    lists = ", ".join(f"{name} = {list(numbers)}" for name, numbers in parts)
    return f"#ttg.blocked<{{{lists}, order = {list(reversed(range(rank)))}}}>"


def shared(shape: Sequence[int], bits: int, transposed: bool = False) -> str:
    """The layout in which copies of tensor maps leave a box in shared memory."""
    inner = shape[-1] * bits // 8
    swizzle = next((n for n in (128, 64, 32) if inner % n == 0), 0)
    if prod(shape[:-1]) < 8:
        swizzle = 0
    rank = f", rank = {len(shape)}" if len(shape) != 2 else ""
    return (
        f"#ttg.nvmma_shared<{{swizzlingByteWidth = {swizzle}, transposed = {str(transposed).lower()}, "
        f"elementBitWidth = {bits}{rank}}}>"
    )


def memory(shape: Sequence[int], element: str, layout: str, allocated: Sequence[int] = ()) -> str:
    """The type of a tile in shared memory; `allocated` is the shape of the memory that it is a part of."""
    part = f", {'x'.join(map(str, allocated))}" if allocated else ""
    return f"!ttg.memdesc<{'x'.join(map(str, shape))}x{element}, {layout}, #ttg.shared_memory, mutable{part}>"
