"""Modules, entries, constants, and operations on the shape of tiles."""

from __future__ import annotations

from collections.abc import Mapping

from .. import hooks
from ..attrs import Attr, Dense, OptimizationHints, SymbolVisibility
from ..checking import TYPE_CHECKING
from ..declare.constraints import (
    AnyTile,
    BoolTile,
    I8Tile,
    IntTile,
    NumberTile,
    NumberTile4,
    PtrTile,
    ScalarI32,
    ScalarPtr,
)
from ..declare.fields import AttrKind, attr, flag, operand, optional_attr, out, outs, region, state, variadic
from ..declare.operation import Op, op
from ..declare.relations import (
    CONSTANT,
    ELEMENTWISE,
    FUNCTION,
    ISOLATED,
    NO_REGION_ARGS,
    PURE,
    REGION_EFFECTS,
    SYMBOL,
    SYMBOL_TABLE,
    TOP_LEVEL,
    Objection,
    same_element,
    same_rank,
    same_shape,
    same_type,
    uniform,
)
from ..diag import TileError, suggest
from ..ir import Block, Value
from ..types import Function, Ptr, Scalar, Tile, Type, quoted
from ..version import V13_3, V13_4, Version
from .checks import (
    Answer,
    aggregate,
    aggregate_body,
    commas,
    function_arguments,
    grid_position,
    inferred,
    packing,
    permuted,
    tile_element,
    tile_shape,
    tile_type,
)
from .common import HINTS_DOC
from .scopes import body_locations, function_location, global_locations

if TYPE_CHECKING:
    from ..bytecode.wire import FileLayout
    from ..rewrite.edit import Edit
    from ..source.input import Input

GROUP = "Core"
RESHAPING = "$source attr-dict `:` type($source) `->` type($result)"


@op("broadcast", 0x0B, group=GROUP, traits=[PURE],
    rules=[same_rank("source", "result"), uniform("element type", "source", "result")],
    format=RESHAPING, hint="bcast",
    example="""
        %row = reshape %n : tile<i32> -> tile<1xi32>
        %0 = broadcast %row : tile<1xi32> -> tile<8xi32>""")
class Broadcast(Op):
    """Repeat a tile along dimensions of size one."""

    source: Value = operand(AnyTile, "The tile.")
    result: Value = out(AnyTile, "The larger tile.")

    def check(self) -> Answer:
        source, result = tile_shape(self.source), tile_shape(self.result)
        if all(a in (b, 1) for a, b in zip(source, result)):
            return None
        return (
            "expects the shape of source tile to be compatible with that of the result tile, "
            f"but got: {commas(source)} and {commas(result)}"
        )


@op("cat", 0x0C, group=GROUP, traits=[PURE],
    rules=[same_rank("lhs", "rhs", "result"), same_element("lhs", "rhs", "result")],
    format="$lhs `,` $rhs `dim` `=` $dim attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)",
    example="""
        %a = iota : tile<4xi32>
        %0 = cat %a, %a dim = 0 : tile<4xi32>, tile<4xi32> -> tile<8xi32>""")
class Cat(Op):
    """Join two tiles along a dimension."""

    lhs: Value = operand(AnyTile, "The first tile.")
    rhs: Value = operand(AnyTile, "The second tile.")
    dim: int = attr(AttrKind.I64, "The dimension.")
    result: Value = out(AnyTile, "The joined tile.")

    def check(self) -> Answer:
        lhs, rhs, result, dim = tile_shape(self.lhs), tile_shape(self.rhs), tile_shape(self.result), self.dim
        if not 0 <= dim < len(lhs):
            return Objection(f"expect dim to be [0, {len(lhs)}), but got: {dim}", "dim")
        if lhs[dim] + rhs[dim] != result[dim]:
            return f"invalid concat at position {dim}, expected: {lhs[dim] + rhs[dim]} but got: {result[dim]}"
        for other, shape in (("rhs", rhs), ("result", result)):
            for index, (a, b) in enumerate(zip(lhs, shape)):
                if index != dim and a != b:
                    where = f"lhs and {other} shapes to match at non-concat position {index}"
                    return f"expect {where}, expected: {a} but got: {b}"
        return None


@op("constant", 0x10, group=GROUP, traits=[PURE, CONSTANT], format="dense($value, $result) attr-dict", hint="cst",
    example="%0 = constant <i32: [1, 2, 3, 4]> : tile<4xi32>")
class Constant(Op):
    """A constant tile."""

    value: Dense = attr(AttrKind.DENSE, "The elements.")
    result: Value = out(NumberTile, "The tile.", infer=lambda o: o.value.type)

    def check(self) -> Answer:
        if self.value.type is not self.result.type:
            return "failed to verify that all of {value, result} have same type"
        return None


@op("entry", 0x16, group=GROUP, traits=[ISOLATED, SYMBOL, FUNCTION, TOP_LEVEL], implicit="return", format="custom",
    syntax="$sym_name `(` %parameter `:` type($function_type) `,` ... `)` "
           "(`optimization_hints` `=` $optimization_hints^)? blocks($body) attr-dict",
    example="""
        entry @k(%p: tile<ptr<f32>>) optimization_hints=<sm_100 = {num_cta_in_cga = 2}> {
          return
        }""")
class Entry(Op):
    """A kernel, which the host launches as a grid of tile blocks.

    Parameters are scalars; there are no results.
    """

    sym_name: str = attr(AttrKind.SYM_NAME, "The name.")
    function_type: Function = attr(AttrKind.TYPE, "The types of the parameters.")
    arg_attrs: tuple[Attr, ...] | None = optional_attr(AttrKind.ARRAY, "Attributes of the parameters.")
    res_attrs: tuple[Attr, ...] | None = optional_attr(AttrKind.ARRAY, "Attributes of the results.")
    optimization_hints: OptimizationHints | None = optional_attr(
        AttrKind.HINTS, HINTS_DOC, hints=["num_cta_in_cga", "num_worker_warps_per_cta", "occupancy"]
    )
    body: Block = region("The code; its arguments are the parameters.")
    param_names: tuple[str, ...] | None = state("The names that the builder gave the parameters, or None.")

    def check(self) -> Answer:
        if self.function_type.results:
            return "entry op must not return values"
        if any(isinstance(t, Tile) and t.rank for t in self.function_type.params):
            return "entry op must have scalar types (rank 0 !cuda_tile.tile)"
        return function_arguments(self, self.body) or function_location(self)

    def check_locations(self, inside: set[Attr | None]) -> Answer:
        return body_locations(self, inside)


@op("extract", 0x26, group=GROUP, traits=[PURE], rules=[same_rank("source", "result")],
    format="$source `[` $indices `]` attr-dict `:` type($source) `->` type($result)",
    example="""
        %a = iota : tile<8xi32>
        %0 = extract %a[%n] : tile<8xi32> -> tile<2xi32>""")
class Extract(Op):
    """Extract a part of a tile.

    The source is divided into a grid of tiles of the result's shape; the indices select one of them.
    """

    source: Value = operand(AnyTile, "The larger tile.")
    indices: tuple[Value, ...] = variadic(ScalarI32, "The position in the grid, one index per dimension.")
    result: Value = out(AnyTile, "The smaller tile.")

    def check(self) -> Answer:
        return grid_position(self.source, self.result, self.indices, "source", "result")


@op("get_global", 0x2C, group=GROUP, traits=[PURE], format="$name attr-dict `:` type($result)",
    example="""
        global @table <f32: [1.0, 2.0]> : tile<2xf32>
        entry @k() {
          %0 = get_global @table : tile<ptr<f32>>
          return
        }""")
class GetGlobal(Op):
    """The address of a global variable."""

    name_: str = attr(AttrKind.SYM_REF, "The variable.")
    result: Value = out(ScalarPtr, "A pointer to its first element.")

    def check_symbols(self, known: Mapping[str, Global]) -> Answer:
        target = known.get(self.name_)
        if target is None:
            hint = suggest(self.name_, known)
            return Objection(f"'{self.name_}' does not reference a valid global", "name", notes=hint)
        pointer = self.result.type.element if isinstance(self.result.type, Tile) else None
        if isinstance(pointer, Ptr) and target.value.element is not pointer.pointee:
            return (
                f"pointee type of result type {quoted(pointer)} does not match type {quoted(target.value.element)} "
                f"of the global @{self.name_}"
            )
        return None


@op("get_num_tile_blocks", 0x2E, group=GROUP, traits=[PURE], format="attr-dict `:` type($gridSize_x)",
    example="%x0, %y0, %z0 = get_num_tile_blocks : tile<i32>")
class GetNumTileBlocks(Op):
    """The size of the grid."""

    gridSize_x: Value = out(ScalarI32, "Tile blocks along x.")
    gridSize_y: Value = out(ScalarI32, "Tile blocks along y.")
    gridSize_z: Value = out(ScalarI32, "Tile blocks along z.")


@op("get_tile_block_id", 0x30, group=GROUP, traits=[PURE], format="attr-dict `:` type($blockId_x)",
    example="%x0, %y0, %z0 = get_tile_block_id : tile<i32>")
class GetTileBlockId(Op):
    """The position of this tile block in the grid."""

    blockId_x: Value = out(ScalarI32, "The position along x.")
    blockId_y: Value = out(ScalarI32, "The position along y.")
    blockId_z: Value = out(ScalarI32, "The position along z.")


@op("global", 0x31, group=GROUP, traits=[SYMBOL, TOP_LEVEL],
    format="visibility($symbol_visibility) (`constant` $constant^)? $sym_name (`alignment` `=` $alignment^)? "
           "attr-dict dense($value)",
    example="global @table alignment = 16 <f32: [1.0, 2.0]> : tile<2xf32>")
class Global(Op):
    """A variable in device memory that lives as long as the module."""

    sym_name: str = attr(AttrKind.SYM_NAME, "The name.")
    value: Dense = attr(AttrKind.DENSE, "The initial content, a tile of rank one.")
    alignment: int = attr(AttrKind.I64, "The alignment in bytes; 0 leaves it to the compiler.", default=0)
    constant: bool = flag("The variable is never written.", since=V13_3)
    symbol_visibility: SymbolVisibility = attr(
        SymbolVisibility, "Whether it is visible outside the module.", default=SymbolVisibility.PUBLIC, since=V13_3
    )

    def check(self) -> Answer:
        return None if self.value.type.rank == 1 else "type must have rank 1"


@op("insert", 0x76, since=V13_4, group=GROUP, traits=[PURE], rules=[same_type("destination", "result")],
    format="$source `,` $destination `[` $indices `]` attr-dict `:` type($source) `,` type($destination)",
    example="""
        %a = iota : tile<2xi32>
        %b = iota : tile<8xi32>
        %0 = insert %a, %b[%n] : tile<2xi32>, tile<8xi32>""")
class Insert(Op):
    """Replace a part of a tile.

    The destination is divided into a grid of tiles of the source's shape; the indices select the one to replace.
    """

    source: Value = operand(AnyTile, "The smaller tile.")
    destination: Value = operand(AnyTile, "The larger tile.")
    indices: tuple[Value, ...] = variadic(ScalarI32, "The position in the grid, one index per dimension.")
    result: Value = out(AnyTile, "The larger tile with the part replaced.")

    def check(self) -> Answer:
        return grid_position(self.destination, self.source, self.indices, "result", "source")


@op("iota", 0x3A, group=GROUP, traits=[PURE], format="attr-dict `:` type($result)",
    example="%0 = iota : tile<128xi32>")
class Iota(Op):
    """The integers 0, 1, 2, and so on."""

    result: Value = out(IntTile, "A tile of rank one.")

    def check(self) -> Answer:
        shape, element = tile_shape(self.result), tile_element(self.result)
        if len(shape) != 1:
            return "expects result type to be 1-d tile"
        if shape[0] > 1 << element.bits:
            return f"the number of elements {shape[0]} exceeds the maximum value of element type {quoted(element)}"
        return None


@op("module", 0x4B, group=GROUP, traits=[ISOLATED, SYMBOL, SYMBOL_TABLE, NO_REGION_ARGS, TOP_LEVEL], format="custom",
    syntax="$sym_name (`attributes` `{` `producer` `=` $producer^ `}`)? blocks($body)",
    example="""
        cuda_tile.module @kernels {
          entry @k() {
            return
          }
        }""")
class Module(Op):
    """The content of a file: globals and entries."""

    sym_name: str = attr(AttrKind.SYM_NAME, "The name, which bytecode does not store.", default="kernels")
    producer: str | None = optional_attr(AttrKind.STR, "The program that produced the module.", since=V13_3)
    body: Block = region("The globals and entries.")
    version: Version | None = state("The bytecode version that the module was read from, or None.")
    layout: FileLayout | None = state("The layout of the bytecode, so that it can be written back unchanged.")
    source: Input | None = state("The text that the module was parsed from, for the positions of errors.")

    @property
    def entries(self) -> list[Entry]:
        """The kernels, in order."""
        return [o for o in self.body.ops if isinstance(o, Entry)]

    @property
    def globals(self) -> list[Global]:
        """The global variables, in order."""
        return [o for o in self.body.ops if isinstance(o, Global)]

    def entry(self, name: str) -> Entry:
        """Return the kernel with a name; raise TileError if there is none."""
        for o in self.entries:
            if o.sym_name == name:
                return o
        there = ", ".join(f"'{o.sym_name}'" for o in self.entries) or "none"
        raise TileError(f"the module has no kernel '{name}'; its kernels: {there}")

    def edit(self) -> Edit:
        """Start an edit, which knows uses and parents and keeps them up to date: `with module.edit() as edit:`."""
        started: Edit = hooks.edit(self)
        return started

    def __str__(self) -> str:
        """Return the text, as tileirdisasm prints it, but with the names that the builder gave parameters."""
        return hooks.show(self)

    def __repr__(self) -> str:
        names = ", ".join(o.sym_name for o in self.entries[:4]) + (", ..." if len(self.entries) > 4 else "")
        return f"<module @{self.sym_name}: {f'kernels {names}' if names else 'no kernels'}>"

    def check(self) -> Answer:
        return global_locations(self)


@op("offset", 0x51, group=GROUP, traits=[PURE, ELEMENTWISE],
    rules=[same_type("result", "ptr"), uniform("shape", "ptr", "offset", "result")],
    format="$ptr `,` $offset attr-dict `:` type($ptr) `,` type($offset) `->` type($result)",
    example="%0 = offset %ptr, %n : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>")
class Offset(Op):
    """Advance pointers by a number of elements."""

    ptr: Value = operand(PtrTile, "The pointers.")
    offset: Value = operand(IntTile, "The number of elements, signed.")
    result: Value = out(PtrTile, "The advanced pointers.")


@op("pack", 0x6F, since=V13_3, group=GROUP, traits=[PURE], rules=[same_rank("source", "result")], format=RESHAPING,
    example="""
        %a = constant <f4E2M1FN: 1.0> : tile<64xf4E2M1FN>
        %0 = pack %a : tile<64xf4E2M1FN> -> tile<32xi8>""")
class Pack(Op):
    """Pack the bits of narrow elements into bytes, first elements in the low bits."""

    source: Value = operand(NumberTile4, "A tile of rank one.")
    result: Value = out(I8Tile, "The bytes.")

    def check(self) -> Answer:
        return packing(self.source, self.result)


@op("permute", 0x53, group=GROUP, traits=[PURE],
    rules=[same_element("source", "result"), same_rank("source", "result")],
    format="$source $permutation attr-dict `:` type($source) `->` type($result)",
    example="""
        %a = constant <i32: 0> : tile<2x4xi32>
        %0 = permute %a [1, 0] : tile<2x4xi32> -> tile<4x2xi32>""")
class Permute(Op):
    """Reorder the dimensions: dimension i of the result is dimension `permutation[i]` of the source."""

    source: Value = operand(AnyTile, "The tile.")
    permutation: tuple[int, ...] = attr(AttrKind.I32_ARRAY, "The new order.")
    result: Value = out(
        AnyTile,
        "The same elements in the new order.",
        infer=lambda o: Tile([o.source.type.shape[i] for i in o.permutation], o.source.type.element),
    )

    def check(self) -> Answer:
        return permuted(self.source, self.result, self.permutation)


def _reduced(o: Reduce) -> list[Type]:
    types = [v.type for v in o.operands_]
    return [Tile((*t.shape[: o.dim], *t.shape[o.dim + 1 :]), t.element) for t in types if isinstance(t, Tile)]


@op("reduce", 0x58, group=GROUP, traits=[REGION_EFFECTS], rules=[uniform("shape", "operands", of="operands")],
    implicit="yield", hint="reduce",
    format="$operands attr-dict ` ` `dim` `` `=` `` $dim `identities` `` `=` `` $identities "
           "`:` type($operands) `->` type($results) arguments($body)",
    example="""
        %a = constant <f32: 1.0> : tile<8xf32>
        %0 = reduce %a dim=0 identities=[0.0 : f32] : tile<8xf32> -> tile<f32>
        (%lhs: tile<f32>, %rhs: tile<f32>) {
          %s = addf %lhs, %rhs : tile<f32>
          yield %s : tile<f32>
        }""")
class Reduce(Op):
    """Combine all elements along a dimension, in an unspecified order.

    The body takes two values of each operand, first what comes before, and yields their combination. It must be
    associative, and each identity must be neutral: how often identities enter the result is the compiler's choice.
    """

    operands_: tuple[Value, ...] = variadic(AnyTile, "The tiles, all of the same shape.")
    dim: int = attr(AttrKind.I32, "The dimension.", minimum=0)
    identities: tuple[Attr, ...] = attr(AttrKind.ARRAY, "The neutral element of each operand.")
    results_: tuple[Value, ...] = outs(AnyTile, "The tiles without that dimension.", infer=_reduced)
    body: Block = region("Combines two elements of each operand.")

    def check(self) -> Answer:
        return aggregate(self)

    def check_regions(self) -> Answer:
        return inferred(self, _reduced(self)) or aggregate_body(self)


@op("reshape", 0x5B, group=GROUP, traits=[PURE], rules=[uniform("element type", "source", "result")],
    format=RESHAPING, hint="reshape", example="%0 = reshape %n : tile<i32> -> tile<1x1xi32>")
class Reshape(Op):
    """Change the shape and keep the elements in row-major order."""

    source: Value = operand(AnyTile, "The tile.")
    result: Value = out(AnyTile, "The tile in the new shape.")

    def check(self) -> Answer:
        if tile_type(self.source).size != tile_type(self.result).size:
            return "expected source tile and result tile to have the same number of elements"
        return None


def _unchanged(o: Scan) -> Answer:
    for index, (operand_, result) in enumerate(zip(o.operands_, o.results_)):
        if operand_.type is not result.type:
            return f"expect same type for operand at index: {index} and result at index: {index}"
    return None


@op("scan", 0x5E, group=GROUP, traits=[REGION_EFFECTS], rules=[uniform("shape", "operands", of="operands")],
    implicit="yield",
    format="$operands attr-dict ` ` `dim` `` `=` `` $dim `reverse` `` `=` `` $reverse `identities` `` `=` `` "
           "$identities `:` type($operands) `->` type($results) arguments($body)",
    example="""
        %a = constant <f32: 1.0> : tile<8xf32>
        %0 = scan %a dim=0 reverse=false identities=[0.0 : f32] : tile<8xf32> -> tile<8xf32>
        (%acc: tile<f32>, %element: tile<f32>) {
          %s = addf %acc, %element : tile<f32>
          yield %s : tile<f32>
        }""")
class Scan(Op):
    """Combine each element with all elements before it along a dimension, as in an inclusive prefix sum.

    The body takes two values of each operand, first what comes before, and yields their combination. It must be
    associative, and each identity must be neutral: whether identities enter the result is the compiler's choice.
    """

    operands_: tuple[Value, ...] = variadic(AnyTile, "The tiles, all of the same shape.")
    dim: int = attr(AttrKind.I32, "The dimension.", minimum=0)
    reverse: bool = attr(AttrKind.BOOL, "Start at the last element.")
    identities: tuple[Attr, ...] = attr(AttrKind.ARRAY, "The neutral element of each operand.")
    results_: tuple[Value, ...] = outs(
        AnyTile, "The combined elements.", infer=lambda o: [v.type for v in o.operands_]
    )
    body: Block = region("Combines two elements of each operand.")

    def check(self) -> Answer:
        return aggregate(self) or _unchanged(self)

    def check_regions(self) -> Answer:
        return inferred(self, [v.type for v in self.operands_]) or aggregate_body(self)


@op("select", 0x5F, group=GROUP, traits=[PURE, ELEMENTWISE],
    rules=[same_type("val_if_true", "val_if_false", "result"),
           same_shape("cond", "val_if_true", "val_if_false", "result")],
    format="$cond `,` $val_if_true `,` $val_if_false attr-dict `:` type($cond) `,` type($result)",
    example="%0 = select %c, %n, %n : tile<i1>, tile<i32>")
class Select(Op):
    """Choose between two tiles, element by element."""

    cond: Value = operand(BoolTile, "The condition.")
    val_if_true: Value = operand(AnyTile, "Chosen where `cond` is true.")
    val_if_false: Value = operand(AnyTile, "Chosen where `cond` is false.")
    result: Value = out(AnyTile, "The chosen elements.")

    def check(self) -> Answer:
        element = tile_type(self.result).element
        if isinstance(element, Scalar) and element.is_packed:
            return f"cannot operate on sub-byte type {element.name.upper()}"
        return None


@op("unpack", 0x70, since=V13_3, group=GROUP, traits=[PURE], rules=[same_rank("source", "result")], format=RESHAPING,
    example="""
        %a = constant <i8: 0> : tile<32xi8>
        %0 = unpack %a : tile<32xi8> -> tile<64xf4E2M1FN>""")
class Unpack(Op):
    """Unpack narrow elements from bytes, first elements from the low bits."""

    source: Value = operand(I8Tile, "A tile of rank one.")
    result: Value = out(NumberTile4, "The elements.")

    def check(self) -> Answer:
        return packing(self.source, self.result)
