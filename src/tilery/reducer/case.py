"""A case to reduce: a module and, if it is executed, its launch. Its size, its digest, and its form on disk."""

from __future__ import annotations

import hashlib
import pickle
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ..bytecode.writer import write
from ..diag import TileError
from ..ir import Op, UnknownOp, clone, walk
from ..ops import Constant, Entry, Module
from ..source.input import Input
from ..types import Ptr, Scalar, Tile, TileView, Type
from ..version import Version

PLAIN = ("i32", "f32")
ALIGN = 256
"""The alignment of the arrays of a launch in bytes, as in the CUDA driver."""
STEPS = 30_000
"""Steps after which the reference engine gives a launch up of which nothing is known."""
USUAL = ("i1", "i8", "i16", "i64", "f16", "f64")


@dataclass(frozen=True, slots=True, eq=False)
class CaseLaunch:
    """A launch of an entry: its grid, and an array or a number for each parameter.

    `uninit` are the positions of arrays that count as never written, `outputs` of those that it must also write. After
    so many `steps` (an operation on a batch of tile blocks is one) the reference engine gives it up.
    """

    entry: str
    grid: tuple[int, int, int] = (1, 1, 1)
    args: tuple[Any, ...] = ()
    uninit: frozenset[int] = frozenset()
    outputs: frozenset[int] = frozenset()
    steps: int = STEPS

    def copies(self, backwards: bool = False) -> list[Any]:
        """Return the arguments, with a copy of each array; in memory, the first array comes first, or last."""
        import numpy as np

        room = [-(-a.nbytes // ALIGN) * ALIGN + ALIGN if hasattr(a, "ndim") else 0 for a in self.args]
        memory = np.zeros(sum(room) + ALIGN, np.uint8)
        at = -memory.ctypes.data % ALIGN
        made = list(self.args)
        for n in reversed(range(len(made))) if backwards else range(len(made)):
            if room[n]:
                made[n] = memory[at : at + made[n].nbytes].view(made[n].dtype).reshape(made[n].shape)
                made[n][...] = self.args[n]
                at += room[n]
        return made


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A module that shows a fault, and the launch that shows it, if it takes one."""

    module: Module
    launch: CaseLaunch | None = None

    def copy(self) -> Case:
        """Return a copy whose module may be changed."""
        return replace(self, module=clone(self.module))

    @property
    def operations(self) -> int:
        """The number of operations in kernels, and of globals. Modules and entries only hold them."""
        return count_operations(self.module)

    def encode(self, version: Version | None = None) -> bytes:
        """Return everything as bytes, for another process; bytecode where possible, else text."""
        from ..text.print.printer import show

        try:
            content: bytes | str = write(self.module, version)
        except TileError:  # an illegal module may have no encoding
            content = show(self.module, style="generic")
        return pickle.dumps((content, self.module.version, self.launch))

    @staticmethod
    def decode(data: bytes) -> Case:
        """Read what `encode` wrote."""
        content, version, launch = pickle.loads(data)
        source = Input(text=content) if isinstance(content, str) else Input(content)
        module = source.read()
        module.version = version or module.version
        return Case(module, launch)


def count_operations(module: Module) -> int:
    """Count the operations in kernels, and globals."""
    return sum(1 for o in walk(module) if not isinstance(o, (Module, Entry)))


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


class Size(NamedTuple):
    """The size of a case: what comes first matters most. A candidate is taken only if it is smaller."""

    operations: int
    computing: int
    """operations that are not constants"""
    values: int
    """operands, results, and arguments of blocks"""
    blocks: int
    """tile blocks of the launch"""
    elements: int
    """elements of all tiles"""
    ranks: int
    unusual: int
    """how unusual the element types are"""
    attributes: int
    locations: int
    data: int
    """elements of the arrays of the launch"""
    numbers: int
    """how many numbers of the launch, and of constants, are not zero; one counts less than others"""
    names: int


def measure(case: Case) -> Size:
    """Return the size of a case."""
    size = dict.fromkeys(Size._fields, 0)
    for o in walk(case.module):
        _measure(o, size)
    launch = case.launch
    if launch is not None:
        size["blocks"] = launch.grid[0] * launch.grid[1] * launch.grid[2]
        for a in launch.args:
            if hasattr(a, "ndim"):
                size["data"] += a.size
                size["numbers"] += 2 * int((a.view(f"u{a.itemsize}") != 0).sum()) if a.size else 0
            else:
                size["numbers"] += _number(a)
    return Size(**size)


def _number(value: Any) -> int:
    return 0 if value == 0 else 1 if value == 1 else 2


def _measure(o: Op, size: dict[str, int]) -> None:
    if not isinstance(o, (Module, Entry)):
        size["operations"] += 1
        size["computing"] += not isinstance(o, Constant)
    if isinstance(o, Constant):
        size["numbers"] += min(sum(map(_number, o.value.stored())), 4096)
    results = [v for block in o.blocks for v in block.args] + o.results
    size["values"] += len(o.operands) + len(results)
    for value in results:
        _measure_type(value.type, size)
    size["attributes"] += len(o.attributes)
    size["locations"] += o.loc is not None
    if not isinstance(o, UnknownOp):
        size["names"] += sum(len(v) for f in o.opdef.attrs if isinstance(v := getattr(o, f.attr), str))


def _measure_type(type: Type, size: dict[str, int]) -> None:
    if isinstance(type, Tile):
        size["elements"] += type.size
        size["ranks"] += type.rank
        element: Type = type.element.pointee if isinstance(type.element, Ptr) else type.element
        size["unusual"] += isinstance(type.element, Ptr) and type.element.ptr_attr is not None
    elif isinstance(type, TileView):
        size["elements"] += type.tile_type.size
        size["ranks"] += type.tile_type.rank
        element = type.tensor_view.element
        size["unusual"] += type.padding_value is not None
    else:
        return
    if isinstance(element, Scalar):
        size["unusual"] += 0 if element.name in PLAIN else 1 if element.name in USUAL else 2
