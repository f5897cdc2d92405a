"""The parameters of kernels, and arguments to start with: shapes from types, sizes from the tiles that are accessed."""

from __future__ import annotations

from math import prod
from typing import Any

from ...ir import Op, Value, walk
from ...ops import (
    Entry,
    GetTileBlockId,
    LoadPtrTko,
    LoadViewTko,
    MakeTensorView,
    StorePtrTko,
    StoreViewTko,
)
from ...types import Ptr, Scalar, TensorView, Tile
from ..documents import Opened

BLOCKS = 4
"""The tile blocks of a first launch."""
SMALLEST, LARGEST = 16, 1 << 16
"""The fewest and the most elements of an array that is suggested."""


def forms(opened: Opened) -> list[dict[str, Any]]:
    """Return for each kernel its parameters, an argument for each, and a grid."""
    return [_form(opened, entry) for entry in opened.module.entries]


def _form(opened: Opened, entry: Entry) -> dict[str, Any]:
    size = _accessed(entry) * BLOCKS
    made = []
    for number, value in enumerate(entry.body.args):
        name = opened.names.get(value, f"%{number}").removeprefix("%")
        shown = name if name.isidentifier() else f"arg{number}"
        made.append({"name": shown, "type": value.type.text, "spec": _suggest(value, entry, size)})
    return {"entry": entry.sym_name, "id": opened.ids[entry], "grid": _grid(entry), "params": made}


def _grid(entry: Entry) -> list[int]:
    """Return a grid with as many dimensions as the kernel asks for."""
    used = {v for o in walk(entry.body) for v in o.operands}
    blocks = [o for o in walk(entry.body) if isinstance(o, GetTileBlockId)]
    rank = max((n + 1 for o in blocks for n, v in enumerate(o.results) if v in used), default=1)
    return [BLOCKS] * rank


def _accessed(entry: Entry) -> int:
    """Return the most elements that one operation loads or stores."""
    sizes = [SMALLEST]
    for o in walk(entry.body):
        if isinstance(o, (LoadPtrTko, LoadViewTko)):
            sizes += [v.type.size for v in o.results if isinstance(v.type, Tile)]
        elif isinstance(o, (StorePtrTko, StoreViewTko)):
            sizes += [v.type.size for v in o.operands if isinstance(v.type, Tile)]
    return min(max(sizes), LARGEST // BLOCKS)


def _suggest(value: Value, entry: Entry, size: int) -> str:
    if not isinstance(value.type, Tile):
        return ""
    element = value.type.element
    if isinstance(element, Scalar):
        return str(size) if element.is_int and element.bits > 8 else "1"
    if not isinstance(element, Ptr) or not isinstance(element.pointee, Scalar):
        return ""
    shape, read = _use(value, entry)
    kind = "rand" if read and element.pointee.is_float else "arange" if read else "zeros"
    return f"{kind}:{element.pointee.text}:{shape or size}"


def _use(pointer: Value, entry: Entry) -> tuple[str, bool]:
    """Follow a pointer to its accesses: return the shape of its tensor, if it is static, and whether it is read."""
    derived, shape, read = {pointer}, "", False
    for o in walk(entry.body):
        if not any(v in derived for v in o.operands):
            continue
        if isinstance(o, (LoadPtrTko, LoadViewTko)):
            read = True
        elif not o.nested and _carries(o):
            derived.update(o.results)
        if isinstance(o, MakeTensorView):
            shape = shape or _static_shape(o)
    return shape, read


def _carries(o: Op) -> bool:
    """Return whether results may be addresses that come from the operands."""
    return any(
        (isinstance(v.type, Tile) and isinstance(v.type.element, Ptr)) or hasattr(v.type, "tensor_view") or
        isinstance(v.type, TensorView) for v in o.results
    )  # fmt: skip


def _static_shape(o: MakeTensorView) -> str:
    shape = getattr(o.results[0].type, "shape", ())
    return "x".join(map(str, shape)) if shape and min(shape) > 0 and prod(shape) <= LARGEST else ""
