"""The translator: walks Triton IR and builds Tile IR, with the state that the rules of all operations share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...builder import Builder
from ...diag import ErrorKind, TileError
from ...ir import Block, Op, Value
from ...ops import Constant
from ...source.lines import excerpt
from ...types import Ptr, Scalar, Tile
from ..mlir import MlirValue, TBlock, TOp, read
from ..places import LocationReader
from .order import Order, name_dependencies
from .table import load_table
from .types import constant, tile_of


class Translator:
    """The state of one translation."""

    def __init__(self, text: str, strict: bool = False) -> None:
        found = read(text)
        name_dependencies(found.module.regions[0])
        self.functions = {
            op.attrs["sym_name"]: op for op in found.module.regions[0][0].ops if op.name == "tt.func" and op.regions
        }
        kernels = [f for f in self.functions.values() if f.attrs.get("sym_visibility") == "public"]
        if not kernels:
            raise TileError("Triton IR: the module has no kernel")
        self.entry = kernels[0]
        self.name: str = self.entry.attrs["sym_name"]
        self.places = LocationReader(found.locs, self.name)
        self.builder = Builder()
        self.builder.on_insert = self.locate
        self.order = Order(self.builder, strict)
        self.values: dict[MlirValue, Value] = {}
        self.loc: Any = None
        self.table = load_table()
        self.used: set[str] = set()
        self.calls: list[str] = []

    # ------------------------------------------------------------ places and errors

    def locate(self, op: Op, block: Block, parent: Op | None) -> None:
        if op.loc is None:
            op.loc = self.loc

    def error(self, message: str) -> TileError:
        """Return an error at the line of the operation that is being translated."""
        made = TileError(message, kind=ErrorKind.UNSUPPORTED)
        made.excerpt = excerpt(self.loc)
        return made

    # ------------------------------------------------------------ values and types

    def __getitem__(self, v: MlirValue) -> Value:
        found = self.values.get(v)
        if found is None:
            raise self.error(f"the value {v.name} is used before it is defined")
        return found

    def all(self, values: Sequence[MlirValue]) -> list[Value]:
        return [self[v] for v in values]

    def tile(self, v: MlirValue) -> Tile:
        """Return the type of a value of Triton IR."""
        try:
            return tile_of(v.type)
        except TileError as error:
            raise self.error(error.message) from None

    def result(self, op: TOp, index: int = 0) -> Tile:
        """Return the type of a result."""
        return self.tile(op.results[index])

    def constant(self, value: Any, kind: Tile) -> Value:
        """Build a constant that an attribute describes."""
        return self.builder.emit(Constant(value=constant(value, kind))).result

    def full(self, like: Value, number: float | bool) -> Value:
        """Build a constant of the type of another value, all elements the same number."""
        return self.builder.const(number, like.type)

    # ------------------------------------------------------------ operations

    def op(self, op: TOp) -> None:
        """Translate one operation."""
        self.loc = self.places.of(op.loc)
        self.used.add(op.name)
        rule = self.table.get(op.name)
        if rule is None:
            raise self.error(f"'{op.name}' has no translation to Tile IR")
        try:
            made = rule(self, op, *self.all(op.operands))
        except TileError as error:
            if not error.excerpt:
                error.excerpt = excerpt(self.loc)
            raise
        if op.results:
            for v, value in zip(op.results, made if isinstance(made, (list, tuple)) else [made], strict=True):
                self.values[v] = value

    def ops(self, block: TBlock) -> None:
        """Translate the operations of a block but the last one, which ends it."""
        for op in block.ops[:-1]:
            self.op(op)


def tile_type(value: Value) -> Tile:
    """Return the type of a value that is a tile, as all values of Triton are."""
    assert isinstance(value.type, Tile)
    return value.type


def scalar(value: Value) -> Scalar:
    """Return the element type of a value that is a tile of numbers."""
    element = tile_type(value).element
    assert isinstance(element, Scalar)
    return element


def is_pointer(value: Value) -> bool:
    return isinstance(tile_type(value).element, Ptr)
