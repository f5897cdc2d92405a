"""Transpose the right operand of matrix products ahead: tensor cores take some types in one order of memory only.

The kernel gets a further parameter, the address of the transposed matrix, and loads the same tiles from there. What it
computes stays the same, bit for bit, since the copy holds the same elements. Another kernel makes the copy before each
launch, so its time counts. This is not a pass of `tilery opt`: whoever launches the result must make the copy.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..analysis.alignment import axis_info
from ..analysis.ranges import ranges
from ..analysis.roles import parameter_roles
from ..attrs import DivBy
from ..enums import MemoryOrderingSemantics
from ..ir import Op, Value, clone, walk
from ..ops import (
    Assume,
    Entry,
    LoadViewTko,
    MakePartitionView,
    MakeTensorView,
    MakeToken,
    MmaF,
    MmaFScaled,
    MmaI,
    Module,
    Permute,
)
from ..text.parse.parser import parse
from ..types import DYNAMIC, Function, PartitionView, Ptr, Scalar, TensorView, Tile
from .common.kernel import find_entry
from .cuda.contract import Extent

ALIGNMENT = 16
Product = MmaF | MmaI | MmaFScaled
SIZES = {1: 128, 2: 64, 4: 64}
"""The side of the tiles that are transposed, by the bytes of an element."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """A matrix that is transposed ahead: the parameter that holds its address, its sizes and the stride of its rows."""

    source: int
    element: Scalar
    rows: Extent
    columns: Extent
    stride: Extent
    aligned: bool
    """Whether sizes are multiples of 16."""

    @property
    def item(self) -> int:
        """Bytes of an element."""
        return self.element.row.memory_bits // 8

    @property
    def side(self) -> int:
        """Rows and columns that a tile block copies."""
        return SIZES[self.item]


def transpose_ahead(module: Module, name: str) -> tuple[Module, Matrix] | None:
    """Return a copy of a module whose kernel takes a matrix transposed, and which one; None if that is not possible.

    It is possible if a right operand of products is loaded from a matrix that the kernel only reads, at a time that
    no token fixes.
    """
    copy: Module = clone(module)
    entry = find_entry(copy, name)
    if (found := _find(entry)) is None:
        return None
    _redirect(entry, *found)
    return copy, found[-1]


def is_transposable(entry: Entry) -> bool:
    """Tell whether a matrix can be transposed ahead."""
    return _find(entry) is not None


Found = tuple[MakeTensorView, MakePartitionView, list[LoadViewTko], Matrix]


def _find(entry: Entry) -> Found | None:
    """Return a matrix that can be transposed ahead, its views and their loads."""
    for product in (o for o in walk(entry.body) if isinstance(o, MmaF) and needs_transpose(o)):
        load = _loaded(product.rhs)
        if load is None or not isinstance(view := load.view.owner, MakePartitionView):
            continue
        tensor = view.tensor_view.owner
        if isinstance(tensor, MakeTensorView) and (matrix := _matrix(entry, tensor, view)) is not None:
            loads = [o for o in walk(entry.body) if isinstance(o, LoadViewTko) and o.view is view.result]
            if all(_is_free(o) for o in loads):
                return tensor, view, loads, matrix
    return None


def needs_transpose(o: Product) -> bool:
    """Tell whether memory has the right operand in an order that tensor cores do not take.

    They take 16-bit operands in any order, others only if the summed dimension is the inner one.
    """
    assert isinstance(o.lhs.type, Tile) and isinstance(o.lhs.type.element, Scalar)
    element = o.lhs.type.element
    return element.is_float and (element.bits <= 8 or element.name == "tf32") and not _is_inner_summed(o.rhs)


def _is_inner_summed(value: Value) -> bool:
    """Whether memory holds the last but one dimension of a tile as its inner one."""
    swapped = False
    while isinstance(owner := value.owner, Op):
        if isinstance(owner, Permute):
            order = owner.permutation
            swapped ^= order[-2:] == (len(order) - 1, len(order) - 2)
        elif isinstance(owner, LoadViewTko):
            view = owner.view.type
            dims = view.dim_map if isinstance(view, PartitionView) else ()
            return swapped ^ (len(dims) > 1 and dims[-1] < dims[-2])
        if len(owner.operands) != 1:
            return False
        value = owner.operands[0]
    return False


def _loaded(value: Value) -> LoadViewTko | None:
    """The load that a value is a conversion of."""
    while isinstance(owner := value.owner, Op):
        if isinstance(owner, LoadViewTko):
            return owner if value is owner.tile else None
        if len(owner.operands) != 1:
            return None
        value = owner.operands[0]
    return None


def _is_free(load: LoadViewTko) -> bool:
    """Whether nothing in the kernel comes before a load."""
    token = load.token
    weak = load.memory_ordering_semantics is MemoryOrderingSemantics.WEAK
    return weak and (token is None or isinstance(token.owner, MakeToken))


def _root(value: Value) -> Value:
    while isinstance(value.owner, Assume):
        value = value.owner.value
    return value


def _matrix(entry: Entry, tensor: MakeTensorView, view: MakePartitionView) -> Matrix | None:
    type, kind = tensor.result.type, view.result.type
    assert isinstance(type, TensorView) and isinstance(kind, PartitionView)
    parameters = {p: i for i, p in enumerate(entry.body.args)}
    source = parameters.get(_root(tensor.base))
    if source is None or source in parameter_roles(entry).written or kind.dim_map != (0, 1):
        return None
    if len(type.shape) != 2 or type.strides[1] != 1 or type.element.row.memory_bits // 8 not in SIZES:
        return None
    sizes, strides = iter(tensor.dynamicShape), iter(tensor.dynamicStrides)
    values = [next(sizes) if n == DYNAMIC else n for n in type.shape]
    values.append(next(strides) if type.strides[0] == DYNAMIC else type.strides[0])
    extents = []
    for value in values:
        if isinstance(value, int):
            extents.append(Extent(value))
        elif (index := parameters.get(_root(value))) is not None:
            extents.append(Extent(parameter=index))
        else:
            return None
    info = axis_info(entry, ranges(entry))
    divisors = [value & -value if isinstance(value, int) else info[value].divisor for value in values]
    aligned = all(divisor % ALIGNMENT == 0 for divisor in divisors[:2])
    rows, columns, stride = extents
    return Matrix(source, type.element, rows, columns, stride, aligned)


def _redirect(
    entry: Entry, tensor: MakeTensorView, view: MakePartitionView, loads: list[LoadViewTko], matrix: Matrix
) -> None:
    """Let loads read the transposed matrix, whose address is a new parameter."""
    old, kind = tensor.result.type, view.result.type
    assert isinstance(old, TensorView) and isinstance(kind, PartitionView)
    pointer = Tile((), Ptr(matrix.element))
    parameter = Value(pointer)
    entry.body.args = [*entry.body.args, parameter]
    parameter.owner = entry.body
    entry.function_type = Function([*entry.function_type.params, pointer])
    assumed = Assume(value=parameter, predicate=DivBy(ALIGNMENT), result=Value(pointer))
    rows, columns = old.shape
    sizes = list(tensor.dynamicShape)
    height = sizes.pop(0) if rows == DYNAMIC else None
    swapped = [*sizes, *([height] if height is not None else [])]
    type = TensorView(matrix.element, (columns, rows), (rows, 1))
    made = MakeTensorView(
        base=assumed.result,
        dynamicShape=tuple(swapped),
        dynamicStrides=() if height is None else (height,),
        result=Value(type),
    )
    tiles = PartitionView(kind.tile_shape, type, (1, 0), kind.padding_value)
    cut = MakePartitionView(tensor_view=made.result, result=Value(tiles))
    at = next(i for i, o in enumerate(entry.body.ops) if o is view)
    entry.body.ops[at + 1 : at + 1] = [assumed, made, cut]
    for load in loads:
        load.view = cut.result


def transposing_kernel(matrix: Matrix) -> Module:
    """Return a module whose kernel copies a matrix transposed, `matrix.side` rows and columns in each tile block."""
    element, side = matrix.element.name, matrix.side
    source = f"partition_view<tile=({side}x{side}), tensor_view<?x?x{element}, strides=[?,1]>>"
    names = ("rows", "columns", "stride")
    promise = "assume div_by<16>, " if matrix.aligned else "assume bounded<0, ?>, "
    sizes = "\n".join(f"    %{name} = {promise}%{name}_0 : tile<i32>" for name in names[:2])
    text = f"""
cuda_tile.module @transposing {{
  entry @transpose(%from_0: tile<ptr<{element}>>, %to_0: tile<ptr<{element}>>,
                   {", ".join(f"%{name}_0: tile<i32>" for name in names)}) {{
    %from = assume div_by<16>, %from_0 : tile<ptr<{element}>>
    %to = assume div_by<16>, %to_0 : tile<ptr<{element}>>
{sizes}
    %stride = assume bounded<0, ?>, %stride_0 : tile<i32>
    %a = make_tensor_view %from, shape = [%rows, %columns], strides = [%stride, 1]
      : tile<i32> -> tensor_view<?x?x{element}, strides=[?,1]>
    %b = make_tensor_view %to, shape = [%columns, %rows], strides = [%rows, 1]
      : tile<i32> -> tensor_view<?x?x{element}, strides=[?,1]>
    %va = make_partition_view %a : {source}
    %vb = make_partition_view %b : {source}
    %x, %y, %z = get_tile_block_id : tile<i32>
    %t, %u = load_view_tko weak %va[%x, %y] : {source}, tile<i32> -> tile<{side}x{side}x{element}>, token
    %p = permute %t [1, 0] : tile<{side}x{side}x{element}> -> tile<{side}x{side}x{element}>
    %w = store_view_tko weak %p, %vb[%y, %x] : tile<{side}x{side}x{element}>, {source}, tile<i32> -> token
    return
  }}
}}
"""
    return parse(text)
