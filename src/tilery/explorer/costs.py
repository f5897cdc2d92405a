"""Costs of a kernel by its text, and the remarks of NVIDIA's compiler."""

from __future__ import annotations

from math import prod
from typing import Any

from ..cost import GPUS, KernelCost, Roofline, find_gpu, static_cost
from ..diag import TileError
from ..source.symbols import function_name
from .documents import Opened

MAX_GRID = (1 << 24) - 1


def gpus() -> list[dict[str, Any]]:
    """List the GPUs of the table."""
    return [{"name": g.name, "target": g.target, "bandwidth": g.bandwidth, "peaks": g.peaks} for g in GPUS.values()]


def costs(opened: Opened, gpu: str, grid: list[int]) -> dict[str, Any]:
    """Count bytes and float operations of each kernel on a grid, and what a GPU can make of them at best."""
    if not 1 <= len(grid) <= 3 or not all(1 <= extent <= MAX_GRID for extent in grid):
        raise TileError(f"a grid is one to three integers from 1 to {MAX_GRID}")
    module, found = opened.legal(), find_gpu(gpu)
    kernels = [static_cost(entry, prod(grid)) for entry in module.entries]
    return {"gpu": found.name, "kernels": [_kernel(opened, cost, Roofline(cost, found)) for cost in kernels]}


def _kernel(opened: Opened, cost: KernelCost, roof: Roofline) -> dict[str, Any]:
    data = cost.as_dict()
    data["operations"] = [
        {
            "op": opened.ids[o.op],
            "name": o.op.name,
            "times": o.times,
            "flops": o.flops,
            "bytes_read": o.bytes_read,
            "bytes_written": o.bytes_written,
            "ceiling": o.ceiling,
        }
        for o in cost.ops
    ]
    return data | {"shown": function_name(cost.name), "roofline": roof.as_dict()}


def has_tileiras() -> bool:
    """Tell whether remarks are available."""
    from ..engines.tileiras.compiler import find_tool

    try:
        find_tool()
    except TileError:
        return False
    return True


def compiler_remarks(opened: Opened, target: str, level: int) -> dict[str, Any]:
    """Compile with tileiras, and return its remarks."""
    from ..engines.tileiras.remarks import remarks

    found = []
    for remark in remarks(opened.legal(), target, level=level, timeout=60):
        data = remark.as_dict()
        data["op"] = -1 if remark.op is None else opened.ids.get(remark.op, -1)
        found.append(data)
    return {"target": target, "remarks": found}
